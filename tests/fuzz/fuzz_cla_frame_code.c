/* SPDX-License-Identifier: Apache-2.0 */
/* What arrives at a link with CADUs: any octets, in pieces, through the stream and the reader as a
 * link has them, over several streams. Each octet is in a unit, skipped, or left; what comes out
 * has the frame's length; a frame's own unit, sent behind all that, is read. The first octet
 * chooses code and randomiser, the second the marker errors and the pieces, the third the marker
 * and the ends of streams.
 */
#include <assert.h>

#include "cla/framed/frame_code.h"
#include "frames/frame_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { FRAME = 40, UNIT_MAX = CADU_MARKER_MAX + FRAME + 4 * 32, ROOM = 2 * UNIT_MAX };

/* All that the stream has, to the reader. */
static void read_all(struct frame_stream *s, struct frame_code *c)
{
    struct slice octets, frame;
    while (frame_stream_next(s, &octets)) {
        frame_code_feed(c, octets);
        while (frame_code_next(c, &frame))
            assert(frame.len == FRAME);
    }
}

/* Two units, since what came before may look like the beginning of one. */
static void read_own(const struct frame_code_config *config, struct frame_code *c)
{
    static const uint8_t sent[FRAME] = "which nobody else has made";
    struct frame_code *writer = frame_code_new(config, FRAME);
    struct slice frame;
    bool came = false;
    assert(writer != NULL);
    frame_code_end(c);
    for (int i = 0; i < 2; i++) {
        frame_code_feed(c, frame_code_write(writer, slice_of(sent, FRAME)));
        while (frame_code_next(c, &frame))
            came |= memcmp(frame.data, sent, FRAME) == 0;
    }
    assert(came);
    frame_code_free(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t buffer[ROOM];
    if (len < 3)
        return 0;
    const struct frame_code_config config = {
        .kind = (enum frame_code_kind)(1 + data[0] % 3),
        .interleave = 1U << (data[0] >> 2 & 1),
        .basis = (enum rs_basis)(data[0] >> 3 & 1),
        .randomiser = (enum frame_code_randomiser)((data[0] >> 4) % 3),
        .marker = data[2] & 0x80 ? CADU_MARKER_64 : CADU_MARKER_32,
        .marker_errors = data[1] % (CADU_MARKER_ERRORS_MAX + 1)};
    struct frame_code *c = frame_code_new(&config, FRAME);
    struct frame_stream s;
    size_t unit = frame_code_len(&config, FRAME), step = 1 + data[1] / 3, ends = data[2] & 0x7f, n;
    assert(c != NULL && unit <= UNIT_MAX && frame_code_fitting(&config, FRAME) == FRAME);
    frame_stream_init(&s, FRAME_STREAM_OCTETS, (uint32_t)unit, buffer, 2 * unit);
    for (size_t at = 3; at < len; at += n) {
        size_t room;
        uint8_t *to = frame_stream_space(&s, &room);
        n = step < room ? step : room;
        n = n < len - at ? n : len - at;
        memcpy(to, data + at, n);
        frame_stream_fed(&s, n);
        read_all(&s, c);
        if (ends > 0 && at / 64 % ends == 1)
            frame_code_end(c);
    }
    const struct cadu_counts *counts = frame_code_counts(c);
    assert(counts->frames * (unit - 4) <= len); /* a marker may be missing */
    assert(counts->erred <= counts->frames && counts->sync_losses <= counts->frames);
    assert(s.skipped == 0 && counts->skipped_bits <= 8 * len);
    read_own(&config, c);
    frame_code_free(c);
    return 0;
}
