/* SPDX-License-Identifier: Apache-2.0 */
/* A receiver of one virtual channel against any frames: 24 octets each, the header's count, pointer
 * and zone as they come. What it tells is in the zone, and its counts add up. */
#include <assert.h>

#include "frames/mpdu_extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LENGTH = 24, ZONE = 16, LONGEST = 60 };

static void check_counts(const struct mpdu_extract *x, uint64_t inputs)
{
    const struct mpdu_counts *n = &x->counts;
    assert(n->frames + n->repeated == inputs);
    assert(n->gaps <= n->lost && n->gaps + n->backward <= n->frames);
    assert(n->skipped_frames <= n->frames && n->skipped_bytes <= n->frames * ZONE);
    assert(n->pointer <= 2 * n->frames);
    assert(n->bad_version + n->bad_length + n->too_long <= n->frames);
    assert(n->cut <= n->frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct frame_format format = {.kind = FRAME_AOS, .length = LENGTH};
    static uint8_t buffer[LONGEST];
    struct packet_join join = {.buffer = buffer, .room = sizeof buffer};
    struct mpdu_extract x;
    uint64_t inputs = 0, packets = 0, begun = 0;
    mpdu_extract_init(&x, LONGEST);
    for (; len >= LENGTH; data += LENGTH, len -= LENGTH) {
        struct frame f;
        struct packet_piece piece;
        struct slice payload;
        enum frame_verdict v = frame_parse(&format, data, LENGTH, &f);
        if (v != FRAME_OK_VERDICT && v != FRAME_IDLE_VERDICT)
            continue;
        inputs++;
        mpdu_extract_input(&x, &f);
        while (mpdu_extract_next(&x, &piece)) {
            if (piece.abandoned) {
                assert(begun == 1);
                begun = 0;
            } else {
                assert(piece.data.len == 0 ||
                       (piece.data.data >= f.zone.data &&
                        piece.data.data + piece.data.len <= f.zone.data + f.zone.len));
                assert(!piece.packet->idle && (piece.offset == 0 || begun == 1));
                begun = !piece.last;
            }
            packets += packet_join(&join, &piece, &payload);
        }
        check_counts(&x, inputs);
    }
    assert(packets == x.counts.packets); /* all that are whole can be joined */
    assert(mpdu_extract_reset(&x) == (begun == 1));
    return 0;
}
