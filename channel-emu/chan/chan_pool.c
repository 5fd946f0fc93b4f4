/* SPDX-License-Identifier: Apache-2.0 */
/* Free lists by size: steps of 128 bytes up to 2 KiB, where datagrams live, then powers of two.
 * The last frame given is the first taken: it is still in the cache. Only memory can fail. */
#include "channel-emu/chan/chan_pool.h"

#include <assert.h>
#include <stdlib.h>

#define FINE_STEP ((size_t)128)
#define FINE_CLASSES 16u

static unsigned class_of(size_t len)
{
    if (len <= FINE_STEP * FINE_CLASSES)
        return len == 0 ? 0 : (unsigned)((len - 1) / FINE_STEP);
    unsigned n = FINE_CLASSES;
    for (size_t room = 2 * FINE_STEP * FINE_CLASSES; room < len; room *= 2)
        n++;
    return n;
}

static size_t class_room(unsigned size_class)
{
    if (size_class < FINE_CLASSES)
        return (size_t)(size_class + 1) * FINE_STEP;
    return (size_t)(2 * FINE_STEP * FINE_CLASSES) << (size_class - FINE_CLASSES);
}

void chan_pool_init(struct chan_pool *p)
{
    for (int i = 0; i < CHAN_POOL_CLASSES; i++)
        list_init(&p->free[i]);
}

void chan_pool_fini(struct chan_pool *p)
{
    for (int i = 0; i < CHAN_POOL_CLASSES; i++) {
        list_for_each_safe (it, &p->free[i])
            free(container_of(it, struct chan_frame, link));
        list_init(&p->free[i]);
    }
}

struct chan_frame *chan_pool_take(struct chan_pool *p, size_t kept)
{
    unsigned size_class = class_of(kept);
    assert(size_class < CHAN_POOL_CLASSES);
    struct chan_frame *f;
    struct list *first = list_first(&p->free[size_class]);
    if (first != NULL) {
        list_sub(first);
        f = container_of(first, struct chan_frame, link);
    } else {
        f = malloc(sizeof *f + class_room(size_class));
        if (f == NULL)
            return NULL;
        list_init(&f->link);
        list_init(&f->note);
        heap_node_init(&f->node);
        f->size_class = (uint8_t)size_class;
    }
    assert(kept <= class_room(size_class));
    f->kept = (uint32_t)kept;
    f->notes = 0;
    f->lost = f->by_rule = false;
    return f;
}

void chan_pool_give(struct chan_pool *p, struct chan_frame *f)
{
    assert(f->size_class < CHAN_POOL_CLASSES && f->kept <= class_room(f->size_class));
    list_sub(&f->link);
    list_sub(&f->note);
    list_add_head(&p->free[f->size_class], &f->link);
}
