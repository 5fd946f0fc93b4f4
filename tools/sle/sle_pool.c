/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong is memory. That a buffer is free shows in its references: the pool has the only
 * one. */
#include "tools/sle/sle_pool.h"

#include <assert.h>
#include <stdlib.h>

#include "tools/sle/sle_numbered.h"

#define POOL_ROOM (64u * 1024u)

struct pool *pool_new(uint32_t frame, uint32_t gap, bool numbered)
{
    struct pool *p = calloc(1, sizeof *p);
    uint32_t fit = POOL_ROOM / (gap + frame);
    if (p == NULL)
        return NULL;
    p->users = 1;
    p->frame = frame;
    p->gap = gap;
    p->numbered = numbered;
    p->room = (size_t)(fit > 0 ? fit : 1) * (gap + frame);
    return p;
}

struct pool *pool_keep(struct pool *p)
{
    assert(p->users > 0);
    p->users++;
    return p;
}

void pool_drop(struct pool *p)
{
    if (p == NULL || --p->users > 0)
        return;
    buf_drop(p->current);
    for (size_t i = 0; i < p->count; i++)
        buf_drop(p->bufs[i]);
    free(p);
}

static struct buf *make_buf(const struct pool *p)
{
    const struct numbered fill = {.length = p->frame, .vcids = 1};
    struct buf *b = buf_new(0, p->room);
    for (size_t at = p->gap; b != NULL && p->numbered && at < p->room; at += p->gap + p->frame)
        numbered_fill(&fill, b->mem + at);
    return b;
}

/* One that nobody holds, likely one that is still in the processor's cache: those that come back
 * soon move to the front. NULL: none. */
static struct buf *find_free(struct pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct buf *b = p->bufs[i];
        if (b->refs > 1)
            continue;
        p->bufs[i] = p->bufs[i / 2];
        p->bufs[i / 2] = b;
        return buf_keep(b);
    }
    return NULL;
}

bool pool_turn(struct pool *p)
{
    buf_drop(p->current);
    p->current = find_free(p);
    if (p->current == NULL) {
        p->current = make_buf(p);
        if (p->current != NULL && p->count < POOL_BUFS)
            p->bufs[p->count++] = buf_keep(p->current);
    }
    if (p->current != NULL)
        p->current->len = 0;
    return p->current != NULL;
}

uint8_t *pool_take(struct pool *p, size_t len)
{
    size_t all = p->gap + len;
    assert(len <= p->frame);
    if ((p->current == NULL || p->room - p->current->len < all) && !pool_turn(p))
        return NULL;
    uint8_t *at = p->current->mem + p->current->len + p->gap;
    p->current->len += all;
    assert(p->current->len <= p->room);
    return at;
}
