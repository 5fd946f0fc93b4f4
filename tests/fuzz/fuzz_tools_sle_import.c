/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any octets are a file that stations exchange or a list of errors, and leave nothing behind. Two
 * files, with an octet 0 between them, are read together; what is written is then a provider's
 * configuration, or there is an error.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tools/sle/sle_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool read_part(struct sle_import *im, const uint8_t *data, size_t len, struct conf_errors *e)
{
    conf_errors_init(e, "fuzz");
    const int error = sle_import_read(im, (const char *)data, len, e);
    assert((error == HELIO_OK) == (e->total == 0));
    return error == HELIO_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sle_import im = {0};
    struct conf_errors *e = malloc(sizeof *e);
    if (e == NULL)
        return 0;
    const uint8_t *cut = len == 0 ? NULL : memchr(data, 0, len);
    const size_t first = cut == NULL ? len : (size_t)(cut - data);
    bool good = read_part(&im, data, first, e);
    if (good && cut != NULL)
        good = read_part(&im, cut + 1, len - first - 1, e);
    if (good) {
        conf_errors_init(e, "fuzz");
        char *text = sle_import_write(&im, e);
        assert((text == NULL) == (e->total > 0));
        free(text);
    }
    sle_import_free(&im);
    free(e);
    return 0;
}
