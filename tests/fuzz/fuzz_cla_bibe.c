/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of a few transfers, in any order and contradicting each other: nothing grows beyond its
 * limits, and what is whole is as long as it said. Five bytes a step: transfer, offset, length,
 * total, time; then the bytes. */
#include <stdlib.h>

#include "cla/bibe/bibe_join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bibe_joins j;
    struct eid from = eid_ipn(0, 1, 12), to = eid_ipn(0, 3, 12);
    tick now = 0;
    bibe_joins_init(&j, 3, 600, 250);
    while (size >= 6) {
        size_t len = 1 + data[2] % (size - 5);
        struct bibe_payload p = {.segment = true,
                                 .transfer = data[0] % 4,
                                 .offset = data[1],
                                 .total = data[1] + len + data[3],
                                 .data = slice_of(data + 5, len)};
        struct buf *whole = NULL;
        from.service = data[0] >> 7;
        enum bibe_verdict v =
            bibe_joins_add(&j, &from, &to, &p, (struct bibe_times){now, now + data[4]}, &whole);
        if ((v == BIBE_COMPLETE) != (whole != NULL) || (whole != NULL && whole->len != p.total))
            abort();
        buf_drop(whole);
        now += data[4] / 16;
        bibe_joins_expire(&j, now);
        bibe_joins_check(&j);
        data += 5 + len;
        size -= 5 + len;
    }
    bibe_joins_fini(&j);
    return 0;
}
