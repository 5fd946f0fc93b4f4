/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as slices: heads in chunks of its own, data where it is. Messages with transfer buffers
 * are used again, with their memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

enum { CHUNK_MIN = 8192 };

static struct chunk *new_chunk(size_t size)
{
    struct chunk *c = malloc(sizeof *c + size);
    if (c != NULL) {
        c->next = NULL;
        c->size = size;
        c->used = 0;
    }
    return c;
}

struct out *out_new(size_t first_chunk)
{
    struct out *o = calloc(1, sizeof *o);
    if (o == NULL)
        return NULL;
    list_init(&o->node);
    o->stamped = TICK_NEVER;
    o->chunks = o->at = new_chunk(first_chunk);
    if (o->chunks == NULL) {
        free(o);
        return NULL;
    }
    return o;
}

static void drop_owners(struct out *o)
{
    for (uint32_t i = 0; i < o->owner_count; i++)
        buf_drop(o->owners[i]);
    o->owner_count = 0;
}

void out_reset(struct out *o)
{
    assert(list_empty(&o->node));
    drop_owners(o);
    assert(o->owner_count == 0);
    struct chunk *first = o->chunks;
    while (first->next != NULL && first->next->next != NULL) { /* two are enough for most */
        struct chunk *more = first->next;
        first->next = more->next;
        free(more);
    }
    for (struct chunk *c = o->chunks; c != NULL; c = c->next)
        c->used = 0;
    o->at = o->chunks;
    o->part_count = o->stamp_count = o->part_done = 0;
    o->part_off = o->octets = o->written = 0;
    o->stamped = TICK_NEVER;
    o->buffer = o->exposed = false;
    o->frames = o->syncs = o->good = 0;
    o->frame_octets = 0;
}

void out_free(struct out *o)
{
    if (o == NULL)
        return;
    drop_owners(o);
    while (o->chunks != NULL) {
        struct chunk *c = o->chunks;
        o->chunks = c->next;
        free(c);
    }
    free(o->parts);
    free(o->owners);
    free(o->stamps);
    free(o);
}

static bool grow_array(void *array, uint32_t count, uint32_t *room, size_t size, uint32_t more)
{
    void **p = array;
    if (count + more <= *room)
        return true;
    uint32_t n = *room == 0 ? 4 : 2 * *room;
    void *q = realloc(*p, n * size);
    if (q == NULL)
        return false;
    *p = q;
    *room = n;
    return true;
}

bool out_reserve(struct out *o, size_t n)
{
    if (!grow_array(&o->parts, o->part_count, &o->part_room, sizeof *o->parts, 2) ||
        !grow_array(&o->owners, o->owner_count, &o->owner_room, sizeof *o->owners, 1) ||
        !grow_array(&o->stamps, o->stamp_count, &o->stamp_room, sizeof *o->stamps, 2))
        return false;
    if (n <= o->at->size - o->at->used)
        return true;
    if (o->at->next == NULL || o->at->next->size < n) {
        struct chunk *c = new_chunk(n > CHUNK_MIN ? n : CHUNK_MIN);
        if (c == NULL)
            return false;
        c->next = o->at->next;
        o->at->next = c;
    }
    o->at = o->at->next;
    assert(o->at->used == 0);
    return true;
}

uint8_t *out_place(struct out *o)
{
    return o->at->octets + o->at->used;
}

void out_add(struct out *o, size_t n)
{
    uint8_t *p = out_place(o);
    assert(n <= o->at->size - o->at->used);
    o->at->used += n;
    o->octets += n;
    if (o->part_count > 0) {
        struct slice *last = &o->parts[o->part_count - 1];
        if (last->data + last->len == p) {
            last->len += n;
            return;
        }
    }
    assert(o->part_count < o->part_room);
    o->parts[o->part_count++] = slice_of(p, n);
}

void out_refer(struct out *o, struct slice data, struct buf *owner)
{
    assert(data.len > 0 && o->part_count < o->part_room && o->owner_count < o->owner_room);
    bool same = o->owner_count > 0 && o->owners[o->owner_count - 1] == owner;
    o->octets += data.len;
    if (!same)
        o->owners[o->owner_count++] = buf_keep(owner);
    if (same && o->part_count > 0) {
        struct slice *last = &o->parts[o->part_count - 1];
        if (last->data + last->len == data.data) {
            last->len += data.len;
            return;
        }
    }
    o->parts[o->part_count++] = data;
}
