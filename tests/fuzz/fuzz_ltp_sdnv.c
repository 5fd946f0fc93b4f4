/* SPDX-License-Identifier: Apache-2.0 */
/* What is read as an SDNV is written so that it reads the same, never longer. */
#include <assert.h>
#include <stddef.h>

#include "ltp/sdnv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *p = data, *end = len == 0 ? data : data + len;
    uint64_t v = 0, back = 0;
    if (sdnv_get(&p, end, &v) != VERDICT_OK) {
        assert(p == data && v == 0);
        return 0;
    }
    uint8_t out[SDNV_MAX];
    const uint8_t *q = out, *out_end = sdnv_put(out, v);
    assert(out_end - out <= p - data && (size_t)(out_end - out) == sdnv_len(v));
    assert(sdnv_get(&q, out_end, &back) == VERDICT_OK && back == v && q == out_end);
    return 0;
}
