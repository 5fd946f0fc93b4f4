/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of helio-cfdp: it is read, or there is an error. */
#include <assert.h>

#include "base/err.h"
#include "tools/cfdp/cfdp_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct conf_errors errors;
    struct settings s;
    conf_errors_init(&errors, "fuzz.yaml");
    if (cfdp_settings_parse(&s, (const char *)data, len, &errors) == 0) {
        assert(errors.total == 0 && s.remotes_len > 0);
        cfdp_settings_free(&s);
    } else {
        assert(errors.total > 0);
    }
    return 0;
}
