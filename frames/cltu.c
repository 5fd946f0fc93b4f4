/* SPDX-License-Identifier: Apache-2.0 */
/* Writing is one pass; reading looks for the start sequence and decodes until a codeblock is
 * rejected, which is how the tail sequence ends a CLTU. What can go wrong is a verdict. */
#include "frames/cltu.h"

#include <assert.h>
#include <string.h>

#include "frames/pn.h"

static const uint8_t start_sequence[CLTU_START_LEN] = {0xeb, 0x90};
static const uint8_t tail_sequence[CLTU_TAIL_LEN] = {0xc5, 0xc5, 0xc5, 0xc5,
                                                     0xc5, 0xc5, 0xc5, 0x79};

static_assert(CLTU_TAIL_LEN == BCH_CODEBLOCK, "the tail sequence is as long as a codeblock");

size_t cltu_size(size_t len)
{
    size_t blocks = len / BCH_INFORMATION + (len % BCH_INFORMATION != 0);
    return CLTU_START_LEN + blocks * BCH_CODEBLOCK + CLTU_TAIL_LEN;
}

/* Codeblocks of `from`, which may lie in `to` so far behind that it is read before it is written
 * over. Returns where they end. */
static uint8_t *encode_blocks(const uint8_t *from, size_t len, uint8_t *to)
{
    for (size_t n; len > 0; from += n, len -= n, to += BCH_CODEBLOCK) {
        n = len < BCH_INFORMATION ? len : BCH_INFORMATION;
        memmove(to, from, n);
        memset(to + n, CLTU_FILL, BCH_INFORMATION - n);
        to[BCH_INFORMATION] = bch_parity(to);
    }
    return to;
}

size_t cltu_write(const void *data, size_t len, bool randomise, void *out, size_t room)
{
    const uint8_t *from = data;
    uint8_t *to = out;
    size_t size = cltu_size(len);
    if (len == 0 || room < size)
        return 0;
    if (randomise) { /* at the end of the room: each codeblock adds one octet, and 10 go before */
        pn_apply(PN_TC, data, to + size - len, len);
        from = to + size - len;
    }
    memcpy(to, start_sequence, CLTU_START_LEN);
    to = encode_blocks(from, len, to + CLTU_START_LEN);
    memcpy(to, tail_sequence, CLTU_TAIL_LEN);
    assert((size_t)(to - (uint8_t *)out) + CLTU_TAIL_LEN == size);
    return size;
}

static bool is_start(const uint8_t *p, enum bch_mode mode)
{
    unsigned wrong = (unsigned)((p[0] ^ start_sequence[0]) << 8 | (p[1] ^ start_sequence[1]));
    return wrong == 0 || (mode == BCH_CORRECT && (wrong & (wrong - 1)) == 0);
}

static size_t find_start(const uint8_t *data, size_t len, enum bch_mode mode)
{
    size_t at = 0;
    while (at + CLTU_START_LEN <= len && !is_start(data + at, mode))
        at++;
    return at;
}

/* From c->used on, until one is rejected. */
static enum cltu_verdict decode_blocks(const uint8_t *data, size_t len, enum bch_mode mode,
                                       uint8_t *out, size_t room, struct cltu *c)
{
    uint8_t information[BCH_INFORMATION];
    for (; len - c->used >= BCH_CODEBLOCK; c->used += BCH_CODEBLOCK) {
        enum bch_result r = bch_decode(data + c->used, mode, information);
        if (r == BCH_REJECTED)
            return c->len == 0 ? CLTU_EMPTY : CLTU_OK;
        if (room - c->len < BCH_INFORMATION)
            return CLTU_LONG;
        memcpy(out + c->len, information, BCH_INFORMATION);
        c->len += BCH_INFORMATION;
        c->corrected += r == BCH_CORRECTED;
    }
    return CLTU_NO_TAIL;
}

enum cltu_verdict cltu_read(const void *data, size_t len, enum bch_mode mode, bool randomised,
                            void *out, size_t room, struct cltu *c)
{
    *c = (struct cltu){.used = find_start(data, len, mode)};
    assert(c->used <= len);
    if (len - c->used < CLTU_START_LEN) {
        c->used = len;
        return CLTU_NO_START;
    }
    c->used += CLTU_START_LEN;
    enum cltu_verdict v = decode_blocks(data, len, mode, out, room, c);
    /* The rejected codeblock is the tail, or may hide the next start sequence: it is looked at. */
    if (v != CLTU_NO_TAIL && len - c->used >= CLTU_TAIL_LEN &&
        cltu_is_tail((const uint8_t *)data + c->used))
        c->used += CLTU_TAIL_LEN;
    else if (v == CLTU_NO_TAIL)
        c->used = len;
    if (randomised)
        pn_apply(PN_TC, out, out, c->len);
    assert(c->used <= len && c->len <= room && c->corrected <= c->len / BCH_INFORMATION);
    return v;
}

bool cltu_is_tail(const uint8_t *octets)
{
    return memcmp(octets, tail_sequence, CLTU_TAIL_LEN) == 0;
}

const char *cltu_verdict_name(enum cltu_verdict v)
{
    static const char *const names[] = {"ok", "no_start", "empty", "no_tail", "long"};
    assert((size_t)v < sizeof names / sizeof names[0]);
    return names[v];
}
