/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation holds the counter and the bytes; what can go wrong is memory running out. */
#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>

struct buf *buf_new(size_t head, size_t room)
{
    if (head > SIZE_MAX / 4 || room > SIZE_MAX / 4)
        return NULL;
    struct buf *b = malloc(sizeof *b + head + room);
    if (b == NULL)
        return NULL;
    b->refs = 1;
    b->cap = head + room;
    b->off = head;
    b->len = 0;
    return b;
}

struct buf *buf_keep(struct buf *b)
{
    assert(b->refs > 0 && b->refs < UINT32_MAX);
    b->refs++;
    return b;
}

struct buf *buf_resize(struct buf *b, size_t cap)
{
    assert(b->refs == 1 && cap >= b->off + b->len);
    if (cap > SIZE_MAX / 4)
        return NULL;
    struct buf *sized = realloc(b, sizeof *b + cap);
    if (sized != NULL)
        sized->cap = cap;
    return sized;
}

#define GROW_LEAST (UINT64_C(1) << 20) /* up to so long it has its room at once */
#define GROW_NEXT (UINT64_C(40) << 20) /* above the longest block of the heap: os/process/ */
#ifdef __SANITIZE_ADDRESS__            /* has an eighth of it in real memory */
#define GROW_FAR GROW_NEXT
#else
#define GROW_FAR (UINT64_C(1) << 30) /* longer than what is free between blocks of the heap */
#endif

static uint64_t next_room(uint64_t have, uint64_t most, uint64_t step)
{
    if (have < GROW_LEAST)
        return most < GROW_LEAST ? most : GROW_LEAST;
    return 2 * have < step ? step : 2 * have;
}

static struct buf *take_room(struct buf *b, uint64_t room)
{
    return b == NULL ? buf_new(0, (size_t)room) : buf_resize(b, b->off + (size_t)room);
}

/* A room of GROW_FAR is address space of its own: its pages are taken as they are written, it grows
 * without a copy, which would stop a loop, and goes back to the system whole. A shorter one may lie
 * where blocks of the heap were, whose pages would be in use again, all of them. It is for where
 * address space is limited. */
struct buf *buf_grow(struct buf *b, uint64_t most)
{
    if (b == NULL && most <= GROW_LEAST)
        return buf_new(0, (size_t)most);
    const uint64_t have = b == NULL ? 0 : b->len, far = next_room(have, most, GROW_FAR),
                   near = next_room(have, most, GROW_NEXT);
    assert(most > have && near > have);
    struct buf *grown = take_room(b, far);
    return grown != NULL || near == far ? grown : take_room(b, near);
}

struct buf *buf_fit(struct buf *b)
{
    assert(b->refs == 1);
    if (b->off > 0)
        memmove(b->mem, b->mem + b->off, b->len);
    b->off = 0;
    struct buf *fitted = buf_resize(b, b->len);
    return fitted != NULL ? fitted : b;
}

void buf_drop(struct buf *b)
{
    if (b == NULL)
        return;
    assert(b->refs > 0);
    if (--b->refs == 0)
        free(b);
}

uint8_t *buf_prepend(struct buf *b, size_t n)
{
    if (n > b->off)
        return NULL;
    b->off -= n;
    b->len += n;
    return b->mem + b->off;
}

uint8_t *buf_append(struct buf *b, size_t n)
{
    if (n > buf_tailroom(b))
        return NULL;
    uint8_t *p = b->mem + b->off + b->len;
    b->len += n;
    return p;
}
