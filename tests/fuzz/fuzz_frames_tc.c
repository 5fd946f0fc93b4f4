/* SPDX-License-Identifier: Apache-2.0 */
/* A receiver of TC frames against any: the first octet says how the channel is managed, then each
 * frame has an octet of its length. What it tells is whole packets, and its counts add up. */
#include <assert.h>

#include "frames/tc_extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LENGTH = 64, LONGEST = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t buffer[LONGEST];
    struct tc_extract x;
    uint64_t inputs = 0, packets = 0;
    if (len == 0)
        return 0;
    struct frame_format format = {.kind = FRAME_TC, .length = LENGTH, .segments = data[0] & 1};
    struct tc_extract_config c = {.numbered = data[0] & 2, .buffer = buffer, .room = sizeof buffer};
    tc_extract_init(&x, &c);
    for (data++, len--; len > 1;) {
        size_t n = data[0] < len - 1 ? data[0] : len - 1;
        struct frame f;
        struct packet_piece piece;
        if (frame_parse(&format, data + 1, n, &f) == FRAME_OK_VERDICT) {
            inputs++;
            (void)tc_extract_input(&x, &f);
            while (tc_extract_next(&x, &piece)) {
                assert(piece.offset == 0 && piece.last && !piece.packet->idle);
                assert(piece.data.len < LONGEST);
                packets++;
            }
        }
        data += n + 1;
        len -= n + 1;
    }
    const struct mpdu_counts *counts = &x.counts;
    assert(counts->frames + counts->repeated + counts->no_packets == inputs);
    assert(counts->packets == packets && counts->gaps <= counts->lost);
    assert(counts->skipped_frames <= counts->frames);
    return 0;
}
