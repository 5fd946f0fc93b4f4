/* SPDX-License-Identifier: Apache-2.0 */
/* A file of one COSE_Key or a COSE_KeySet: keys that keep the promises of their header, or a
 * reason. */
#include "key_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[600] = "";
    static struct security_key k;
    size_t count = 1;
    if (size == 0 || size > SECURITY_KEY_FILE)
        return 0;
    char *text = malloc(size); /* of its own: reads behind it are found */
    require(text != NULL);
    memcpy(text, data, size);
    require(security_key_is_cose(text, size) == (data[0] >= 0x80 && data[0] < 0xc0));
    for (size_t i = 0; i < count; i++) {
        const int err = security_key_parse_cose(text, size, i, &count, &k, why, sizeof why);
        require(count <= SECURITY_KEYS_MAX && (err != 0 || count > i));
        check_outcome(err, &k, why, sizeof why);
    }
    free(text);
    return 0;
}
