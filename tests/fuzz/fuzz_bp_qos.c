/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a priority block holds: what can be read can be written and read again. */
#include <stdlib.h>

#include "bp/codec/qos.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle_qos q, again;
    uint8_t out[QOS_CONTENT_MAX];
    if (size == 0)
        return 0;
    struct bundle b;
    bundle_init(&b);
    b.others[0] = (struct bundle_block){.type = data[0] & 1 ? BLOCK_QOS : BLOCK_HDTN_PRIORITY,
                                        .number = 2,
                                        .data = slice_of(data + 1, size - 1)};
    b.others_len = 1;
    if (bundle_qos(&b, &q) != bundle_qos_block(&b, 0))
        abort();
    size_t len = qos_encode(&q, out);
    if (qos_decode(slice_of(out, len), &again) != 0 || again.priority != q.priority ||
        again.ordinal != q.ordinal || again.flags != q.flags || again.label != q.label)
        abort();
    return 0;
}
