/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a block while it arrives: one buffer each for the red and the green part, which
 * grows to what the data needs; the size of the last block guesses the first allocation, so blocks
 * of equal size never grow, unless memory gets short. What can go wrong: the engine's limit of held
 * bytes, and memory.
 */
#include <assert.h>

#include "ltp/engine.h"

#define PART_MIN 16384

static uint64_t wanted(const struct peer *peer, const struct part *p, bool red, uint64_t need,
                       bool last)
{
    if (last)
        return need;
    uint64_t cap = p->buf == NULL ? peer->hint[red] : 2 * (uint64_t)p->buf->cap;
    cap = cap < PART_MIN ? PART_MIN : cap;
    cap = cap > peer->span.block_max ? peer->span.block_max : cap;
    return cap < need ? need : cap;
}

static uint64_t rest(uint64_t most, uint64_t used)
{
    return used < most ? most - used : 0;
}

uint64_t ltp_held_room(const struct ltp *l, const struct peer *p)
{
    uint64_t all = rest(l->config.held_bytes, l->held);
    if (PORT_LIKELY(p == NULL || p->guest == NULL))
        return all;
    uint64_t share = rest(l->config.guest_bytes, l->guests.held);
    return share < all ? share : all;
}

enum verdict ltp_part_reserve(struct ltp *l, struct import *im, bool red, uint64_t end, bool last)
{
    struct part *p = red ? &im->red : &im->green;
    if (p->buf == NULL) /* green data cannot begin below the end of what is red */
        p->base = red ? 0 : im->red_len != EVENT_NONE ? im->red_len : im->red_high;
    uint64_t need = end - p->base;
    uint64_t have = p->buf == NULL ? 0 : p->buf->cap;
    if (PORT_LIKELY(p->buf != NULL && need <= have))
        return VERDICT_OK;
    uint64_t room = ltp_held_room(l, im->s.peer) + have;
    uint64_t cap = wanted(im->s.peer, p, red, need, last);
    if (need > room)
        return VERDICT_LIMIT_BYTES;
    /* what is only expected must leave room for what others need */
    uint64_t most = need + (room - need) / 8;
    cap = cap < most ? cap : most;
    struct buf *b = p->buf == NULL ? buf_new(0, (size_t)cap) : buf_resize(p->buf, (size_t)cap);
    if (b == NULL)
        return VERDICT_NO_MEMORY;
    p->buf = b;
    ltp_held_add(l, im->s.peer, cap - have);
    return VERDICT_OK;
}

bool ltp_part_same(const struct import *im, bool red, uint64_t offset, struct slice bytes)
{
    const struct part *p = red ? &im->red : &im->green;
    if (p->buf == NULL)
        return true;
    assert(offset >= p->base && offset - p->base + bytes.len <= p->buf->cap);
    return memcmp(p->buf->mem + (offset - p->base), bytes.data, bytes.len) == 0;
}

struct buf *ltp_part_take(struct ltp *l, struct import *im, bool red, uint64_t from, uint64_t len)
{
    struct part *p = red ? &im->red : &im->green;
    struct buf *b = p->buf;
    assert(from >= p->base && from - p->base + len <= b->cap);
    b->off = (size_t)(from - p->base);
    b->len = (size_t)len;
    p->buf = NULL;
    ltp_held_sub(l, im->s.peer, b->cap);
    ltp_held_add(l, NULL, b->cap);
    return b;
}

void ltp_part_drop(struct ltp *l, struct import *im, bool red)
{
    struct part *p = red ? &im->red : &im->green;
    if (p->buf == NULL)
        return;
    ltp_held_sub(l, im->s.peer, p->buf->cap);
    buf_drop(p->buf);
    p->buf = NULL;
}
