/* SPDX-License-Identifier: Apache-2.0 */
/* A key file: a key that keeps the promises of its header, or a reason without a part of the
 * secret. */
#include "key_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[600] = "";
    static struct security_key k;
    if (size > SECURITY_KEY_FILE)
        return 0;
    char *text = malloc(size + 1); /* of its own: reads behind it are found */
    require(text != NULL);
    memcpy(text, data, size);
    check_outcome(security_key_parse(text, size, &k, why, sizeof why), &k, why, sizeof why);
    free(text);
    return 0;
}
