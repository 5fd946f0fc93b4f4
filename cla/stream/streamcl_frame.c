/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header is parsed when it is complete. The rest of a long bundle is read directly to its place;
 * short bundles, and the start of long ones, are copied. What can go wrong: a length above the
 * limit; a CBOR item that is no byte string, or has no definite length (then its end is unknown);
 * memory.
 */
#include "cla/stream/streamcl_frame.h"

#include <assert.h>
#include <string.h>

#define STCP_HEAD 4u

/* CBOR (RFC 8949 §3): the initial octet of a byte string, and its additional information. */
#define CBOR_BYTES 0x40u
#define CBOR_MAJOR 0xe0u
#define CBOR_INFO 0x1fu
#define CBOR_SHORT 24u /* below: the length itself */
#define CBOR_LONG 27u  /* up to here: 1, 2, 4 or 8 octets follow; above: reserved, indefinite */

static void put_number(uint8_t *to, uint64_t v, size_t octets)
{
    for (size_t i = 0; i < octets; i++)
        to[i] = (uint8_t)(v >> 8 * (octets - 1 - i));
}

static uint64_t get_number(const uint8_t *from, size_t octets)
{
    uint64_t v = 0;
    for (size_t i = 0; i < octets; i++)
        v = v << 8 | from[i];
    return v;
}

size_t streamcl_head(enum streamcl_framing f, uint64_t len, uint8_t out[STREAMCL_HEAD_MAX])
{
    if (f == STREAMCL_STCP) {
        assert(len <= UINT32_MAX);
        put_number(out, len, STCP_HEAD);
        return STCP_HEAD;
    }
    if (len < CBOR_SHORT) {
        out[0] = (uint8_t)(CBOR_BYTES | len);
        return 1;
    }
    const unsigned code = len <= UINT8_MAX ? 0 : len <= UINT16_MAX ? 1 : len <= UINT32_MAX ? 2 : 3;
    out[0] = (uint8_t)(CBOR_BYTES | (CBOR_SHORT + code));
    put_number(out + 1, len, (size_t)1 << code);
    return 1 + ((size_t)1 << code);
}

void streamcl_input_init(struct streamcl_input *in, enum streamcl_framing f, uint64_t bundle_max)
{
    assert(bundle_max >= 1);
    memset(in, 0, offsetof(struct streamcl_input, scratch));
    in->framing = f;
    in->bundle_max = bundle_max;
}

void streamcl_input_fini(struct streamcl_input *in)
{
    buf_drop(in->bundle);
    in->bundle = NULL;
}

/* False: memory is out, and nothing of the bundle is kept. */
static bool make_room(struct streamcl_input *in)
{
    assert(in->open && !in->skip && in->left > 0);
    if (in->bundle != NULL && buf_tailroom(in->bundle) > 0)
        return true;
    const uint64_t have = in->bundle == NULL ? 0 : in->bundle->len;
    struct buf *b = buf_grow(in->bundle, have + in->left);
    if (b == NULL)
        return false;
    in->bundle = b;
    return true;
}

static size_t at_most(uint64_t n, size_t max)
{
    return n < max ? (size_t)n : max;
}

uint8_t *streamcl_space(struct streamcl_input *in, size_t *len)
{
    const size_t rest = in->have - in->at;
    in->direct = rest == 0 && in->open && !in->skip && in->left >= STREAMCL_DIRECT && make_room(in);
    if (in->direct) {
        *len = at_most(in->left, buf_tailroom(in->bundle));
        return buf_data(in->bundle) + in->bundle->len;
    }
    assert(rest < STREAMCL_HEAD_MAX);
    memmove(in->scratch, in->scratch + in->at, rest);
    in->at = 0;
    in->have = rest;
    *len = STREAMCL_SCRATCH - rest;
    assert(*len >= 1);
    return in->scratch + rest;
}

void streamcl_fed(struct streamcl_input *in, size_t len)
{
    if (in->direct) {
        assert(len <= in->left);
        (void)buf_append(in->bundle, len);
        in->left -= len;
        in->direct = false;
    } else {
        in->have += len;
        assert(in->have <= STREAMCL_SCRATCH);
    }
}

void streamcl_shed(struct streamcl_input *in)
{
    if (!in->open)
        return;
    in->dropped += streamcl_held(in);
    buf_drop(in->bundle);
    in->bundle = NULL;
    in->skip = true;
}

/* The octets that a head has by its first one; 0: none begins with that. */
static size_t head_length(enum streamcl_framing f, uint8_t first)
{
    if (f == STREAMCL_STCP)
        return STCP_HEAD;
    const unsigned info = first & CBOR_INFO;
    if ((first & CBOR_MAJOR) != CBOR_BYTES || info > CBOR_LONG)
        return 0;
    return info < CBOR_SHORT ? 1 : 1 + ((size_t)1 << (info - CBOR_SHORT));
}

static enum streamcl_step take_head(struct streamcl_input *in)
{
    const uint8_t *p = in->scratch + in->at;
    const size_t rest = in->have - in->at;
    if (rest == 0)
        return STREAMCL_MORE;
    const size_t octets = head_length(in->framing, p[0]);
    if (octets == 0)
        return STREAMCL_MALFORMED;
    assert(octets <= STREAMCL_HEAD_MAX);
    if (rest < octets)
        return STREAMCL_MORE;
    const bool whole = in->framing == STREAMCL_STCP; /* else the first octet is not of the number */
    const uint64_t len = whole         ? get_number(p, octets)
                         : octets == 1 ? p[0] & CBOR_INFO
                                       : get_number(p + 1, octets - 1);
    in->at += octets;
    if (len == 0)
        return STREAMCL_KEEPALIVE;
    if (len > in->bundle_max)
        return STREAMCL_TOO_LONG;
    in->open = true;
    in->left = len;
    return STREAMCL_BUNDLE;
}

/* Octets of the scratch that are of the bundle. */
static enum streamcl_step take_data(struct streamcl_input *in)
{
    while (in->left > 0 && in->at < in->have) {
        size_t n = at_most(in->left, in->have - in->at);
        if (!in->skip && !make_room(in)) {
            streamcl_shed(in);
            return STREAMCL_NO_ROOM;
        }
        if (!in->skip) {
            n = at_most(n, buf_tailroom(in->bundle));
            memcpy(buf_append(in->bundle, n), in->scratch + in->at, n);
        } else {
            in->dropped += n;
        }
        in->at += n;
        in->left -= n;
        assert(in->at <= in->have && (in->skip || in->bundle->len + in->left <= in->bundle_max));
    }
    return in->left > 0 ? STREAMCL_MORE : in->skip ? STREAMCL_SKIPPED : STREAMCL_BUNDLE;
}

enum streamcl_step streamcl_next(struct streamcl_input *in, struct buf **out)
{
    enum streamcl_step step = in->open ? STREAMCL_BUNDLE : take_head(in);
    if (!in->open)
        return step;
    step = take_data(in);
    if (step == STREAMCL_BUNDLE) {
        struct buf *b = in->bundle;
        assert(b != NULL && b->len >= 1 && in->left == 0);
        *out = b->cap - b->len > b->len / 8 ? buf_fit(b) : b;
        in->bundle = NULL;
    }
    if (step == STREAMCL_BUNDLE || step == STREAMCL_SKIPPED)
        in->open = in->skip = false;
    return step;
}

/* These assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void streamcl_input_check(const struct streamcl_input *in)
{
    assert(in->at <= in->have && in->have <= STREAMCL_SCRATCH && in->bundle_max >= 1);
    assert(in->open || (in->bundle == NULL && !in->skip && in->left == 0));
    assert(!in->skip || in->bundle == NULL);
    assert(in->left <= in->bundle_max && streamcl_held(in) <= in->bundle_max - in->left);
}
