/* SPDX-License-Identifier: Apache-2.0 */
/* An array that is sorted when it is taken from: rounds of reading are short, and each socket's
 * frames come in order. What can go wrong: memory. */
#include "channel-emu/emu/emu_stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void emu_stage_fini(struct emu_stage *s)
{
    free(s->frame);
    free(s->bytes);
    *s = (struct emu_stage){.frame = NULL};
}

static int make_room(struct emu_stage *s, size_t len)
{
    if (s->count == s->cap) {
        size_t cap = s->cap == 0 ? 256 : 2 * s->cap;
        struct emu_staged *more = realloc(s->frame, cap * sizeof *more);
        if (more == NULL)
            return HELIO_ENOMEM;
        s->frame = more;
        s->cap = cap;
    }
    if (s->room - s->used < len) {
        size_t room = 2 * s->room + len;
        uint8_t *more = realloc(s->bytes, room);
        if (more == NULL)
            return HELIO_ENOMEM;
        s->bytes = more;
        s->room = room;
    }
    return 0;
}

int emu_stage_put(struct emu_stage *s, const struct emu_staged *f, const uint8_t *data)
{
    int rc = make_room(s, f->len);
    if (rc < 0)
        return rc;
    struct emu_staged *place = &s->frame[s->count++];
    *place = *f;
    place->order = s->order++;
    place->at = s->used;
    if (f->len > 0)
        memcpy(s->bytes + s->used, data, f->len);
    s->used += f->len;
    assert(s->count <= s->cap && s->used <= s->room);
    return 0;
}

static int compare_frames(const void *a, const void *b)
{
    const struct emu_staged *x = a, *y = b;
    if (x->arrival != y->arrival)
        return x->arrival < y->arrival ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

size_t emu_stage_sort(struct emu_stage *s, tick until)
{
    size_t n = 0;
    if (s->count > 1)
        qsort(s->frame, s->count, sizeof *s->frame, compare_frames);
    while (n < s->count && s->frame[n].arrival <= until)
        n++;
    return n;
}

void emu_stage_drop(struct emu_stage *s, size_t n)
{
    assert(n <= s->count);
    s->count -= n;
    if (s->count == 0) {
        s->used = 0;
        return;
    }
    if (n == 0)
        return;
    memmove(s->frame, s->frame + n, s->count * sizeof *s->frame);
    size_t least = s->used;
    for (size_t i = 0; i < s->count; i++)
        least = s->frame[i].at < least ? s->frame[i].at : least;
    memmove(s->bytes, s->bytes + least, s->used - least);
    for (size_t i = 0; i < s->count; i++)
        s->frame[i].at -= least;
    s->used -= least;
    assert(s->used <= s->room);
}
