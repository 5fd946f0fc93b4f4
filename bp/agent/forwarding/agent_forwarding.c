/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A forwarding is found by its key, has the bundle's bytes while they are in memory, and one timer.
 * The binder names it by its key: for the store, and for the outcome of a link or an application.
 */
#include "bp/agent/forwarding/agent_forwarding.h"

#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define FIT_MAX (16 << 10) /* a longer bundle is not worth to be moved */
#define FIT_LEAST 256      /* nor one for less than so many bytes */
static_assert(FIT_LEAST >= BUNDLE_HEAD_IPN, "room of the usual size is not taken back");

/* Keys are consecutive numbers: records that follow each other are neighbours in the table. */
static uint64_t key_hash(uint64_t key)
{
    return key;
}

struct forwarding *forwarding_find(const struct agent *a, uint64_t key)
{
    struct hash_node *n = hash_find(&a->by_key, key_hash(key));
    for (; n != NULL; n = hash_next(n)) {
        struct forwarding *f = container_of(n, struct forwarding, by_key);
        if (f->key == key)
            return f;
    }
    return NULL;
}

void forwarding_init(struct agent *a, struct forwarding *f, struct record *bundle, uint64_t key)
{
    assert(key != 0 && forwarding_find(a, key) == NULL);
    f->key = key;
    f->bundle = bundle;
    f->avoid.index = NO_LINK;
    list_init(&f->node);
    list_init(&f->answer);
    list_init(&f->alike);
    list_init(&f->resting);
    heap_node_init(&f->timer);
    hash_add(&a->by_key, &f->by_key, key_hash(key));
    assert(f->queue == NULL && f->buf == NULL);
}

struct forwarding *forwarding_copy(struct agent *a, struct record *bundle)
{
    assert(forwarding_stored(&bundle->forwarding));
    if (agenda_reserve(&a->timers, (size_t)(a->counters.bundles + a->copies) + 1) < 0)
        return NULL;
    struct forwarding *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    forwarding_init(a, f, bundle, a->next_key++);
    f->state = STATE_DISPATCH_PENDING;
    f->avoid = bundle->forwarding.avoid;
    assert(forwarding_is_copy(f));
    return f;
}

void forwarding_free(struct forwarding *f)
{
    if (f->bundle == NULL || forwarding_is_copy(f))
        free(f);
    else
        free(f->bundle);
}

bool forwarding_can_load(const struct forwarding *f)
{
    return f->bundle->role != ROLE_WHOLE;
}

void forwarding_hold(struct agent *a, struct forwarding *f, struct buf *b)
{
    assert(f->buf == NULL);
    f->buf = b;
    assert(b->refs > 0);
    a->counters.memory_bytes += b->cap;
    memory_rest(a, f);
}

void forwarding_fit(struct agent *a, struct forwarding *f)
{
    assert(f->buf != NULL && a->counters.memory_bytes >= f->buf->cap);
    if (f->buf->refs != 1 || f->buf->len > FIT_MAX || f->buf->cap <= f->buf->len + FIT_LEAST)
        return;
    a->counters.memory_bytes -= f->buf->cap;
    f->buf = buf_fit(f->buf);
    a->counters.memory_bytes += f->buf->cap;
}

void forwarding_release(struct agent *a, struct forwarding *f)
{
    if (f->buf == NULL)
        return;
    assert(a->counters.memory_bytes >= f->buf->cap);
    memory_wake(a, f);
    a->counters.memory_bytes -= f->buf->cap;
    buf_drop(f->buf);
    f->buf = NULL;
}

void forwarding_load_done(struct agent *a, struct forwarding *f)
{
    assert(!f->loading || a->loading_bytes >= f->bundle->bytes);
    if (f->loading)
        a->loading_bytes -= f->bundle->bytes;
    f->loading = false;
}

void forwarding_set_timer(struct agent *a, struct forwarding *f, tick due)
{
    /* Timers of one moment are served by priority. */
    const unsigned rank = BUNDLE_PRIORITIES - 1u - f->bundle->qos.priority;
    int rc = agenda_set(&a->timers, &f->timer, due, rank);
    assert(rc == 0); /* record_new reserved its place */
    (void)rc;
}
