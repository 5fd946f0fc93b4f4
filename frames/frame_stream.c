/* SPDX-License-Identifier: Apache-2.0 */
/* Each mode says how many octets the frame at the front takes, or how many are none. What can go
 * wrong: octets that are no frame, which are skipped until one can begin; of octets alone nothing.
 */
#include "frames/frame_stream.h"

#include <assert.h>

#include "frames/cltu.h"

enum { TC_LEAST = 6 };

/* What is at the front: `skip` octets that are nothing; then, when `whole`, a frame: `head` octets
 * before it, `len` octets of it. */
struct found {
    size_t skip, head, len;
    bool whole;
};

static size_t cltu_longest(uint32_t length)
{
    return cltu_size(length);
}

size_t frame_stream_unit(enum frame_stream_mode mode, uint32_t length)
{
    if (mode == FRAME_STREAM_CLTU)
        return cltu_longest(length);
    return length + (mode == FRAME_STREAM_MARKED ? (size_t)FRAME_ASM_LEN : 0);
}

void frame_stream_init(struct frame_stream *s, enum frame_stream_mode mode, uint32_t length,
                       uint8_t *buffer, size_t room)
{
    assert(length >= TC_LEAST && length <= FRAME_LENGTH_MAX);
    assert(room >= 2 * frame_stream_unit(mode, length));
    *s = (struct frame_stream){.mode = mode, .length = length, .buffer = buffer, .room = room};
}

void frame_stream_reset(struct frame_stream *s)
{
    s->skipped += s->have - s->at;
    s->before += s->have - s->at;
    s->at = s->have = 0;
}

uint8_t *frame_stream_space(struct frame_stream *s, size_t *len)
{
    size_t left = s->have - s->at;
    if (s->at > 0 && left > 0)
        memmove(s->buffer, s->buffer + s->at, left);
    s->at = 0;
    s->have = left;
    *len = s->room - left;
    assert(*len > 0); /* less than a frame is left */
    return s->buffer + left;
}

void frame_stream_fed(struct frame_stream *s, size_t len)
{
    assert(len <= s->room - s->have);
    s->have += len;
}

static struct found find_fixed(const struct frame_stream *s, size_t have)
{
    return (struct found){.len = s->length, .whole = have >= s->length};
}

static struct found find_octets(const struct frame_stream *s, size_t have)
{
    return (struct found){.len = have < s->length ? have : s->length, .whole = have > 0};
}

static struct found find_marked(const struct frame_stream *s, const uint8_t *d, size_t have)
{
    static const uint8_t marker[FRAME_ASM_LEN] = {0x1a, 0xcf, 0xfc, 0x1d};
    struct found f = {.head = FRAME_ASM_LEN, .len = s->length};
    static_assert(FRAME_ASM == 0x1acffc1d, "the marker's octets");
    while (f.skip < have) {
        size_t n = have - f.skip < FRAME_ASM_LEN ? have - f.skip : FRAME_ASM_LEN;
        if (memcmp(d + f.skip, marker, n) == 0)
            break;
        const uint8_t *next = memchr(d + f.skip + 1, marker[0], have - f.skip - 1);
        f.skip = next == NULL ? have : (size_t)(next - d);
    }
    f.whole = have - f.skip >= FRAME_ASM_LEN + (size_t)s->length;
    return f;
}

static struct found find_tc(const struct frame_stream *s, const uint8_t *d, size_t have)
{
    struct found f = {0};
    for (; have - f.skip >= 4; f.skip++) {
        const uint8_t *p = d + f.skip;
        f.len = (((size_t)(p[2] & 3) << 8) | p[3]) + 1;
        if (p[0] >> 6 == 0 && (p[0] & 0x0c) == 0 && f.len >= TC_LEAST && f.len <= s->length)
            break;
        f.len = 0;
    }
    f.whole = f.len > 0 && have - f.skip >= f.len;
    return f;
}

/* Codeblocks from a start sequence on. */
struct run {
    size_t blocks; /* accepted */
    bool ended;    /* the next one is rejected */
};

/* At most `most` codeblocks of the octets d, which are `at` octets behind buffer[s->at]. Starts are
 * tried in the order of the stream: what a former one of this phase accepted is not decoded again,
 * nor is what was accepted before more octets arrived. */
static struct run run_blocks(struct frame_stream *s, const uint8_t *d, size_t at, size_t len,
                             size_t most)
{
    uint8_t information[BCH_INFORMATION];
    const uint64_t from = s->before + at;
    uint64_t *accepted = &s->accepted[from % BCH_CODEBLOCK];
    if (*accepted < from)
        *accepted = from;
    struct run r = {.blocks = (size_t)(*accepted - from) / BCH_CODEBLOCK};
    for (; r.blocks < most && len - r.blocks * BCH_CODEBLOCK >= BCH_CODEBLOCK; r.blocks++) {
        r.ended =
            bch_decode(d + r.blocks * BCH_CODEBLOCK, BCH_CORRECT, information) == BCH_REJECTED;
        if (r.ended)
            break;
    }
    *accepted = from + r.blocks * BCH_CODEBLOCK;
    return r;
}

/* A CLTU ends with the codeblock that is rejected. While none is, it may go on, but not for longer
 * than one of the longest frame does. */
static struct found find_cltu(struct frame_stream *s, const uint8_t *d, size_t have)
{
    const size_t longest = s->length < FRAME_TC_MAX ? s->length : FRAME_TC_MAX;
    const size_t most = (longest + BCH_INFORMATION - 1) / BCH_INFORMATION;
    struct found f = {0};
    while (f.skip < have) {
        const size_t left = have - f.skip;
        if (d[f.skip] != 0xeb || (left > 1 && d[f.skip + 1] != 0x90)) {
            f.skip++;
            continue;
        }
        if (left < CLTU_START_LEN)
            break;
        const size_t at = f.skip + CLTU_START_LEN;
        const struct run r = run_blocks(s, d + at, at, have - at, most + 1);
        const size_t end = at + r.blocks * BCH_CODEBLOCK;
        f.whole = r.ended && r.blocks > 0 && r.blocks <= most;
        f.len = end + (r.ended && cltu_is_tail(d + end) ? CLTU_TAIL_LEN : 0) - f.skip;
        if (f.whole || (!r.ended && r.blocks <= most))
            break;
        f.skip += CLTU_START_LEN; /* empty, or without an end */
    }
    return f;
}

static struct found find_frame(struct frame_stream *s)
{
    const uint8_t *d = s->buffer + s->at;
    size_t have = s->have - s->at;
    switch (s->mode) {
    case FRAME_STREAM_MARKED:
        return find_marked(s, d, have);
    case FRAME_STREAM_TC:
        return find_tc(s, d, have);
    case FRAME_STREAM_CLTU:
        return find_cltu(s, d, have);
    case FRAME_STREAM_OCTETS:
        return find_octets(s, have);
    case FRAME_STREAM_FIXED:
    default:
        return find_fixed(s, have);
    }
}

static void pass_octets(struct frame_stream *s, size_t n)
{
    s->at += n;
    s->before += n;
    assert(s->at <= s->have);
}

static bool take_frame(struct frame_stream *s, struct slice *out, bool stay)
{
    if (s->at == s->have)
        return false;
    struct found f = find_frame(s);
    s->skipped += f.skip;
    pass_octets(s, f.skip);
    if (!f.whole)
        return false;
    *out = slice_of(s->buffer + s->at + f.head, f.len);
    if (!stay)
        pass_octets(s, f.head + f.len);
    assert(out->len > 0);
    return true;
}

bool frame_stream_next(struct frame_stream *s, struct slice *out)
{
    return take_frame(s, out, false);
}

bool frame_stream_ready(struct frame_stream *s)
{
    struct slice frame;
    return take_frame(s, &frame, true);
}
