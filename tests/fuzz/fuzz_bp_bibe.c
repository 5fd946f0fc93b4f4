/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of an encapsulating bundle that can be read can be written and read again; and the
 * depth of any bytes is found. */
#include <stdlib.h>
#include <string.h>

#include "bp/codec/bibe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bibe_payload p, again;
    if (bibe_depth(slice_of(data, size), 4) > 4)
        abort();
    if (bibe_decode(slice_of(data, size), &p) != 0)
        return 0;
    struct buf *b = buf_new(BIBE_HEAD_MAX, p.data.len);
    if (b == NULL)
        return 0;
    if (p.data.len > 0)
        memcpy(buf_append(b, p.data.len), p.data.data, p.data.len);
    if (bibe_encode(&p, b) != 0 || bibe_decode(buf_slice(b), &again) != 0 ||
        again.segment != p.segment || again.offset != p.offset || again.total != p.total ||
        again.transfer != p.transfer || !slice_equal(again.data, p.data))
        abort();
    buf_drop(b);
    return 0;
}
