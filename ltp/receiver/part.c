/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an arriving block: one buffer each for the red and the green part. Segments are
 * copied into it once, and the user gets it without a further copy. It grows with the data. The
 * first allocation is guessed from the size of the last block, so blocks of equal size seldom need
 * more.
 *
 * An offset is only trusted when about as much data has arrived: the buffer ends at most WINDOW
 * beyond twice the received bytes. Data farther ahead (the start was lost, or the offset is false)
 * is kept in separate pieces until the buffer reaches it. So memory follows the received bytes.
 *
 * What can go wrong: the limit of held bytes, and memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "ltp/engine.h"

#define PART_MIN 16384
#define WINDOW 65536   /* beyond twice what was received */
#define PIECE_COST 16  /* of an allocation, besides itself */
#define GUESS_SHARE 16 /* of what a peer may hold, for guesses at block sizes */
#define PASSES_MAX 32  /* to take in pieces when memory is short */

/* Data far ahead of the buffer. */
struct piece {
    struct list node;
    uint64_t at; /* within the part */
    size_t len;
    uint8_t bytes[];
};

void ltp_part_init(struct part *p)
{
    list_init(&p->pieces);
}

static struct part *part_of(struct import *im, bool red)
{
    return red ? &im->red : &im->green;
}

static uint64_t cap_of(const struct part *p)
{
    return p->buf == NULL ? 0 : p->buf->cap;
}

static uint64_t piece_cost(size_t len)
{
    return sizeof(struct piece) + len + PIECE_COST;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How far the buffer may reach. */
static uint64_t reach_of(const struct part *p, uint64_t received)
{
    return 2 * (p->received + received) + WINDOW;
}

/* The guess at a block that has just begun. */
static uint64_t guess_length(const struct ltp *l, const struct import *im, bool red, uint64_t room)
{
    const struct peer *peer = im->s.peer;
    uint64_t cap = peer->hint[red], most = l->config.held_bytes / GUESS_SHARE;
    if (peer->unconfigured != NULL || peer->guessed >= most)
        return PART_MIN;
    /* a guess must leave room for the others */
    cap = least_of(least_of(cap, most - peer->guessed), room / 8);
    return cap < PART_MIN ? PART_MIN : cap;
}

static void end_guess(struct import *im, struct part *p)
{
    im->s.peer->guessed -= p->guessed;
    p->guessed = 0;
}

/* A buffer of `cap` bytes. */
static enum verdict resize_part(struct ltp *l, struct import *im, struct part *p, uint64_t cap)
{
    uint64_t have = cap_of(p);
    struct buf *b = p->buf == NULL ? buf_new(0, (size_t)cap) : buf_resize(p->buf, (size_t)cap);
    if (b == NULL)
        return VERDICT_NO_MEMORY;
    p->buf = b;
    ltp_held_add(l, im->s.peer, cap - have);
    return VERDICT_OK;
}

/* Extends the buffer to `need`, and beyond if that is sensible. */
static enum verdict grow_part(struct ltp *l, struct import *im, bool red, uint64_t need, bool last)
{
    struct part *p = part_of(im, red);
    uint64_t have = cap_of(p), room = ltp_held_room(l, im->s.peer);
    if (need - have > room)
        return VERDICT_LIMIT_BYTES;
    uint64_t cap = have == 0 ? guess_length(l, im, red, room) : least_of(2 * have, reach_of(p, 0));
    cap = least_of(cap, im->s.peer->span.block_max);
    cap = least_of(cap, need + (room + have - need) / 8);
    cap = last || cap < need ? need : cap;
    enum verdict v = resize_part(l, im, p, cap);
    if (v == VERDICT_OK)
        end_guess(im, p);
    if (v == VERDICT_OK && have == 0) {
        p->guessed = cap - need;
        im->s.peer->guessed += p->guessed;
    }
    return v;
}

static void free_piece(struct ltp *l, struct import *im, struct piece *c)
{
    list_sub(&c->node);
    ltp_held_sub(l, im->s.peer, piece_cost(c->len));
    free(c);
}

/* Copies the pieces that the buffer has reached, and drops them. */
static void take_pieces(struct ltp *l, struct import *im, struct part *p)
{
    if (p->buf == NULL)
        return;
    list_for_each_safe (it, &p->pieces) {
        struct piece *c = container_of(it, struct piece, node);
        if (c->at + c->len > cap_of(p))
            continue;
        memcpy(p->buf->mem + c->at, c->bytes, c->len);
        free_piece(l, im, c);
    }
    if (list_empty(&p->pieces))
        p->high = 0;
}

bool ltp_part_gather(struct ltp *l, struct import *im, bool red)
{
    struct part *p = part_of(im, red);
    /* pieces moved into the buffer permit a larger buffer */
    for (int i = 0; i < PASSES_MAX && !list_empty(&p->pieces); i++) {
        uint64_t room = ltp_held_room(l, im->s.peer);
        uint64_t cap = least_of(p->high, cap_of(p) + room);
        if (cap <= cap_of(p) || resize_part(l, im, p, cap) != VERDICT_OK)
            return false;
        take_pieces(l, im, p);
    }
    return list_empty(&p->pieces);
}

/* Stores [at, at + len) outside the buffer. */
static enum verdict put_piece(struct ltp *l, struct import *im, struct part *p, uint64_t at,
                              struct slice data)
{
    if (ltp_held_room(l, im->s.peer) < piece_cost(data.len))
        return VERDICT_LIMIT_BYTES;
    struct piece *c = malloc(sizeof *c + data.len);
    if (c == NULL)
        return VERDICT_NO_MEMORY;
    c->at = at;
    c->len = data.len;
    memcpy(c->bytes, data.data, data.len);
    list_init(&c->node);
    list_add_tail(&p->pieces, &c->node);
    p->high = at + data.len > p->high ? at + data.len : p->high;
    ltp_held_add(l, im->s.peer, piece_cost(data.len));
    return VERDICT_OK;
}

enum verdict ltp_part_put(struct ltp *l, struct import *im, const struct ltp_segment *s, bool last)
{
    bool red = segment_is_red(s);
    struct part *p = part_of(im, red);
    if (p->buf == NULL && list_empty(&p->pieces)) /* green data begin where what is red ends */
        p->base = red ? 0 : im->red_len != EVENT_NONE ? im->red_len : im->red_high;
    uint64_t at = s->offset - p->base, end = at + s->data.len;
    uint64_t room = ltp_held_room(l, im->s.peer);
    enum verdict v = VERDICT_OK;
    bool near = end <= cap_of(p) || end <= reach_of(p, s->data.len);
    if (!near && p->buf == NULL && list_empty(&p->pieces))
        near = end <= guess_length(l, im, red, room);
    if (near && end > cap_of(p)) {
        v = grow_part(l, im, red, end, last);
        take_pieces(l, im, p);
        /* gathering will make room, if it is possible step by step */
        near = v != VERDICT_LIMIT_BYTES || list_empty(&p->pieces);
        v = near ? v : VERDICT_OK;
    }
    if (v == VERDICT_OK && near) {
        assert(p->buf != NULL && end <= cap_of(p));
        memcpy(p->buf->mem + at, s->data.data, s->data.len);
    } else if (v == VERDICT_OK)
        v = put_piece(l, im, p, at, s->data);
    if (v != VERDICT_OK)
        return v;
    p->received += s->data.len;
    /* when memory is short this waits: at the latest until the part is whole */
    if (!list_empty(&p->pieces) && p->high <= reach_of(p, 0) &&
        p->high - cap_of(p) <= ltp_held_room(l, im->s.peer))
        (void)ltp_part_gather(l, im, red);
    return VERDICT_OK;
}

void ltp_part_copy(const struct part *p, const struct buf *buf, uint64_t from, uint64_t len,
                   uint8_t *out)
{
    uint64_t at = from - p->base, end = at + len, cap = buf == NULL ? 0 : buf->cap;
    if (at < cap)
        memcpy(out, buf->mem + at, (size_t)(least_of(end, cap) - at));
    list_for_each (it, &p->pieces) {
        const struct piece *c = container_of(it, struct piece, node);
        uint64_t lo = c->at > at ? c->at : at, hi = least_of(c->at + c->len, end);
        if (lo < hi)
            memcpy(out + (lo - at), c->bytes + (lo - c->at), (size_t)(hi - lo));
    }
}

uint64_t ltp_part_held(const struct part *p)
{
    uint64_t sum = cap_of(p);
    list_for_each (it, &p->pieces)
        sum += piece_cost(container_of(it, struct piece, node)->len);
    return sum;
}

bool ltp_part_same(const struct import *im, bool red, uint64_t offset, struct slice bytes)
{
    const struct part *p = red ? &im->red : &im->green;
    uint64_t at = offset - p->base;
    if (p->buf == NULL || !list_empty(&p->pieces) || at + bytes.len > cap_of(p))
        return true;
    return memcmp(p->buf->mem + at, bytes.data, bytes.len) == 0;
}

struct buf *ltp_part_take(struct ltp *l, struct import *im, bool red, uint64_t from, uint64_t len)
{
    struct part *p = part_of(im, red);
    struct buf *b = p->buf;
    assert(from >= p->base && from - p->base + len <= b->cap);
    b->off = (size_t)(from - p->base);
    b->len = (size_t)len;
    p->buf = NULL;
    end_guess(im, p);
    ltp_held_sub(l, im->s.peer, b->cap);
    ltp_held_add(l, NULL, b->cap);
    return b;
}

void ltp_part_drop(struct ltp *l, struct import *im, bool red)
{
    struct part *p = part_of(im, red);
    list_for_each_safe (it, &p->pieces)
        free_piece(l, im, container_of(it, struct piece, node));
    if (p->buf == NULL)
        return;
    end_guess(im, p);
    ltp_held_sub(l, im->s.peer, p->buf->cap);
    buf_drop(p->buf);
    p->buf = NULL;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void ltp_part_check(const struct part *p)
{
    uint64_t high = 0;
    list_for_each (it, &p->pieces) {
        const struct piece *c = container_of(it, struct piece, node);
        assert(c->len > 0 && c->at + c->len > cap_of(p));
        high = c->at + c->len > high ? c->at + c->len : high;
    }
    assert(high == p->high && p->guessed <= cap_of(p));
}
