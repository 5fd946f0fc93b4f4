/* SPDX-License-Identifier: Apache-2.0 */
/* Capsules lie within the block, one behind the other, and what is left over is none. Units here
 * are a byte that says how many follow it. */
#include <assert.h>

#include "ltp/sda.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t counted(uint64_t client_service, struct slice rest)
{
    return client_service % 7 == 0 ? 0 : (size_t)rest.data[0] + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct slice rest = slice_of(data, len);
    struct sda_capsule c;
    const uint8_t *at = data;
    int n = 0, r;
    while ((r = sda_next(&rest, counted, &c)) == 1) {
        assert(c.unit.len > 0 && c.unit.data > at && c.unit.data - at <= SDNV_MAX);
        at = c.unit.data + c.unit.len;
        assert(rest.data == at && at + rest.len == data + len);
        n++;
    }
    assert(r == 0 ? rest.len == 0 : rest.len > 0);
    int whole = sda_count(slice_of(data, len), counted, UINT32_MAX);
    assert(whole == (r == 0 && n > 0 ? n : HELIO_EFORMAT));
    return 0;
}
