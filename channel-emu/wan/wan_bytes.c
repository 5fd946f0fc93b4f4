/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk returns to the pool with its last octet, so the most recently used chunk is used next.
 * What can go wrong: no memory. */
#include "channel-emu/wan/wan_bytes.h"

#include <assert.h>
#include <stdlib.h>

struct wan_chunk {
    struct wan_chunk *next;
    uint8_t octets[WAN_CHUNK_BYTES - sizeof(struct wan_chunk *)];
};
static_assert(sizeof(struct wan_chunk) == WAN_CHUNK_BYTES, "its memory is accounted for");

#define ROOM sizeof((struct wan_chunk *)0)->octets

void wan_pool_init(struct wan_pool *p)
{
    *p = (struct wan_pool){.spare = NULL};
}

void wan_pool_fini(struct wan_pool *p)
{
    assert(p->chunks == 0);
    while (p->spare != NULL) {
        struct wan_chunk *c = p->spare;
        p->spare = c->next;
        free(c);
    }
}

static struct wan_chunk *lend_chunk(struct wan_pool *p)
{
    struct wan_chunk *c = p->spare;
    if (c != NULL) {
        p->spare = c->next;
        p->spare_len--;
    } else {
        c = malloc(sizeof *c);
    }
    if (c == NULL)
        return NULL;
    c->next = NULL;
    p->chunks++;
    p->chunks_most = p->chunks > p->chunks_most ? p->chunks : p->chunks_most;
    return c;
}

static void take_chunk_back(struct wan_pool *p, struct wan_chunk *c)
{
    assert(p->chunks > 0);
    p->chunks--;
    if (p->spare_len >= WAN_POOL_SPARE) {
        free(c);
        return;
    }
    c->next = p->spare;
    p->spare = c;
    p->spare_len++;
}

void wan_bytes_init(struct wan_bytes *b, struct wan_pool *pool)
{
    *b = (struct wan_bytes){.pool = pool};
}

static void drop_first(struct wan_bytes *b)
{
    struct wan_chunk *c = b->first;
    b->first = c->next;
    b->last = b->first == NULL ? NULL : b->last;
    b->from = 0;
    take_chunk_back(b->pool, c);
}

void wan_bytes_fini(struct wan_bytes *b)
{
    while (b->first != NULL)
        drop_first(b);
    b->len = 0;
}

uint8_t *wan_bytes_space(struct wan_bytes *b, size_t *len)
{
    if (b->last == NULL || b->to == ROOM) {
        struct wan_chunk *c = lend_chunk(b->pool);
        if (c == NULL)
            return NULL;
        if (b->last == NULL)
            b->first = c;
        else
            b->last->next = c;
        b->last = c;
        b->to = 0;
    }
    *len = ROOM - b->to;
    return b->last->octets + b->to;
}

void wan_bytes_add(struct wan_bytes *b, size_t len)
{
    assert(b->last != NULL && len <= ROOM - b->to);
    b->to += len;
    b->len += len;
}

static size_t chunk_end(const struct wan_bytes *b, const struct wan_chunk *c)
{
    return c == b->last ? b->to : ROOM;
}

size_t wan_bytes_parts(const struct wan_bytes *b, uint64_t most, struct slice *parts, size_t max)
{
    size_t n = 0, from = b->from;
    for (const struct wan_chunk *c = b->first; c != NULL && n < max && most > 0; c = c->next) {
        size_t len = chunk_end(b, c) - from;
        len = len < most ? len : (size_t)most;
        if (len > 0)
            parts[n++] = slice_of(c->octets + from, len);
        most -= len;
        from = 0;
    }
    return n;
}

void wan_bytes_sub(struct wan_bytes *b, uint64_t len)
{
    assert(len <= b->len);
    b->len -= len;
    while (len > 0) {
        size_t here = chunk_end(b, b->first) - b->from;
        size_t gone = len < here ? (size_t)len : here;
        b->from += gone;
        len -= gone;
        if (gone == here)
            drop_first(b);
    }
}
