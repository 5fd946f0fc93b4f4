/* SPDX-License-Identifier: Apache-2.0 */
/* What arrives at a link with CADUs: any octets, in pieces, through the stream and the reader as a
 * link has them, over several streams. Each octet is in a unit, skipped, or left; what comes out
 * has the frame's length; a frame's own unit, sent behind all that, is read. The first octet
 * chooses the format, the second the pieces, the third the ends of streams. Codes are made once:
 * their tables take longer than an input.
 */
#include <assert.h>

#include "cla/framed/frame_code.h"
#include "frames/fecf.h"
#include "frames/frame_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum {
    FRAME = 40,
    BLOCK = 128,
    BLOCK_TURBO = 223,
    UNIT_MAX = 8 * (CADU_MARKER_MAX + 2 * BLOCK), /* soft symbols */
    ROOM = 2 * UNIT_MAX
};

static const struct frame_code_config configs[] = {
    {.kind = FRAME_CODE_UNCODED},
    {.kind = FRAME_CODE_UNCODED, .randomiser = FRAME_CODE_SHORT, .marker_errors = 4},
    {.kind = FRAME_CODE_UNCODED, .marker = CADU_MARKER_64, .marker_errors = 8},
    {FRAME_CODE_RS_223, 1, RS_DUAL, FRAME_CODE_PLAIN, CADU_MARKER_32, 4, false, 0},
    {FRAME_CODE_RS_223, 2, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 0, false, 0},
    {FRAME_CODE_RS_239, 1, RS_CONVENTIONAL, FRAME_CODE_LONG, CADU_MARKER_32, 8, false, 0},
    {FRAME_CODE_RS_239, 2, RS_DUAL, FRAME_CODE_PLAIN, CADU_MARKER_64, 4, false, 0},
    {FRAME_CODE_LDPC_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, false, 0},
    {FRAME_CODE_LDPC_4_5, 1, RS_DUAL, FRAME_CODE_PLAIN, CADU_MARKER_64, 0, false, 0},
    {FRAME_CODE_TURBO_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 4, false, 0},
    {FRAME_CODE_LDPC_1_2, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_64, 8, true, 0},
    {FRAME_CODE_RS_223, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 4, false,
     FRAME_CODE_CONV_3_4},
    {FRAME_CODE_UNCODED, 1, RS_DUAL, FRAME_CODE_SHORT, CADU_MARKER_32, 4, true,
     FRAME_CODE_CONV_1_2},
};
enum { CONFIGS = sizeof configs / sizeof configs[0] };

static struct frame_code *codes[2][CONFIGS]; /* that read, that write */

/* A frame of LDPC and turbo codes is a block. */
static uint32_t frame_of(size_t config)
{
    return configs[config].kind == FRAME_CODE_TURBO_1_2 ? BLOCK_TURBO
           : frame_code_is_block(&configs[config])      ? BLOCK
                                                        : FRAME;
}

static struct frame_code *code_of(bool writes, size_t config)
{
    struct frame_code **c = &codes[writes][config];
    if (*c == NULL)
        *c = frame_code_new(&configs[config], frame_of(config));
    assert(*c != NULL);
    return *c;
}

static void read_frames(struct frame_code *c, uint32_t frame_len)
{
    struct slice frame;
    enum frame_code_result r;
    while ((r = frame_code_next(c, &frame)) != FRAME_CODE_NONE)
        assert(r == FRAME_CODE_WORK || frame.len == frame_len);
}

static void end_stream(struct frame_code *c, uint32_t frame_len)
{
    frame_code_end(c);
    read_frames(c, frame_len);
}

/* All that the stream has, to the reader. */
static void read_all(struct frame_stream *s, struct frame_code *c, uint32_t frame_len)
{
    struct slice octets;
    while (frame_stream_next(s, &octets)) {
        frame_code_feed(c, octets);
        read_frames(c, frame_len);
    }
}

/* Another stream begins with a unit. */
static void read_own(size_t config)
{
    static uint8_t sent[BLOCK_TURBO] = "which nobody else has made";
    struct frame_code *c = code_of(false, config);
    struct slice frame;
    const uint32_t len = frame_of(config);
    const uint16_t check = fecf_crc(FECF_INIT, sent, len - 2); /* the turbo decoder looks at it */
    sent[len - 2] = (uint8_t)(check >> 8);
    sent[len - 1] = (uint8_t)check;
    end_stream(c, len);
    if (configs[config].conv != FRAME_CODE_CONV_OFF)
        return; /* units are a stream: one alone is not decided */
    frame_code_feed(c, frame_code_write(code_of(true, config), slice_of(sent, len)));
    assert(frame_code_next(c, &frame) == FRAME_CODE_FRAME);
    assert(frame.len == len && memcmp(frame.data, sent, frame.len) == 0);
    assert(frame_code_next(c, &frame) == FRAME_CODE_NONE);
    end_stream(c, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t buffer[ROOM];
    if (len < 3)
        return 0;
    const size_t config = data[0] % CONFIGS, ends = data[2];
    const uint32_t frame_len = frame_of(config);
    const size_t unit = frame_code_len(&configs[config], frame_len), step = 1 + data[1];
    struct frame_code *c = code_of(false, config);
    const struct cadu_counts before = *frame_code_counts(c), *now = frame_code_counts(c);
    struct frame_stream s;
    size_t n;
    assert(unit <= UNIT_MAX && frame_code_fitting(&configs[config], frame_len) == frame_len);
    frame_stream_init(&s, FRAME_STREAM_OCTETS, (uint32_t)unit, buffer, 2 * unit);
    for (size_t at = 3; at < len; at += n) {
        size_t room;
        uint8_t *to = frame_stream_space(&s, &room);
        n = step < room ? step : room;
        n = n < len - at ? n : len - at;
        memcpy(to, data + at, n);
        frame_stream_fed(&s, n);
        read_all(&s, c, frame_len);
        if (ends > 0 && at / 64 % ends == 1)
            end_stream(c, frame_len);
    }
    const uint64_t frames = now->frames - before.frames;
    /* one may begin in the last bits of the one before, and symbols vary in number */
    const size_t less = configs[config].soft || configs[config].conv != 0 ? 8 : 1;
    assert(frames * (unit - less) <= len);
    assert(now->erred - before.erred <= frames && now->sync_losses - before.sync_losses <= frames);
    assert(s.skipped == 0 && now->skipped_bits - before.skipped_bits <= 8 * len);
    read_own(config);
    return 0;
}
