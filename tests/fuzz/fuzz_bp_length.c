/* SPDX-License-Identifier: Apache-2.0 */
/* The end that is found depends on the bundle's own bytes only, and what decodes as a bundle ends
 * where it ends. */
#include <assert.h>

#include "bp/codec/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bundle b;
    size_t n = bundle_length(slice_of(data, len));
    assert(n <= len);
    if (n > 0) {
        assert(bundle_length(slice_of(data, n)) == n);
        assert(bundle_length(slice_of(data, n - 1)) == 0);
    }
    if (bundle_decode(data, len, BUNDLE_STRICT, &b, NULL) == 0)
        assert(n == len || n == 0); /* 0: an extension block's number of items may be odd */
    return 0;
}
