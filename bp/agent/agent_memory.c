/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of queued bundles whose turn is not near: bundles behind the front of a queue, in a pause,
 * without a route, and all bundles in a closed queue. The store has their bytes, so they are
 * dropped from memory when others need it. The backlog (agent_quota.c) with most bytes loses them
 * first, within a factor of two, and there the latest bundle first, because its turn is last. So a
 * backlog that does not move cannot force a flow that moves to read its bundles from the store. To
 * load a bundle displaces none before it in its own queue. Backlogs are sorted by the power of two
 * of their bytes: each change is a step of constant cost.
 *
 * A bundle that is given to a link leaves its bytes to the store, too, when half of the memory is
 * used by bundles that do not rest: what links have in hand for long takes no more than that.
 *
 * What can go wrong: all memory is used by bundles that links and applications have, and by those
 * that are next. Then a queue has at least one bundle in memory, within the rules of agent_queue.c
 * and agent_sending.c.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

void memory_init(struct agent *a)
{
    for (size_t i = 0; i < MEMORY_SIZES; i++)
        list_init(&a->resting[i]);
    assert(a->counters.resting_bytes == 0);
}

static size_t size_of(uint64_t bytes)
{
    size_t size = 0;
    while ((bytes >>= 1) > 0)
        size++;
    return size;
}

static void sort_backlog(struct agent *a, struct account *x, uint64_t bytes)
{
    const bool same =
        bytes > 0 && x->resting_bytes > 0 && size_of(bytes) == size_of(x->resting_bytes);
    a->counters.resting_bytes += bytes - x->resting_bytes;
    x->resting_bytes = bytes;
    if (same)
        return;
    list_sub(&x->by_resting);
    if (bytes > 0)
        list_add_tail(&a->resting[size_of(bytes)], &x->by_resting);
}

static bool is_resting(const struct forwarding *f)
{
    if (f->buf == NULL || !forwarding_can_load(f))
        return false;
    return f->state == STATE_NO_ROUTE || f->state == STATE_BACK || f->state == STATE_PAUSED ||
           (f->state == STATE_FRONT && !f->queue->open);
}

/* NULL: of what fragments made together. */
static struct account *backlog_of(const struct forwarding *f)
{
    return f->bundle->holder.backlog;
}

static void enter_backlog(struct agent *a, struct forwarding *f, bool first)
{
    if (!is_resting(f) || !list_empty(&f->resting))
        return;
    struct account *x = backlog_of(f);
    if (first)
        list_add_head(&x->resting, &f->resting);
    else
        list_add_tail(&x->resting, &f->resting);
    sort_backlog(a, x, x->resting_bytes + f->bundle->bytes);
}

void memory_rest(struct agent *a, struct forwarding *f)
{
    enter_backlog(a, f, false);
}

void memory_wake(struct agent *a, struct forwarding *f)
{
    if (list_empty(&f->resting))
        return;
    struct account *x = backlog_of(f);
    assert(x->resting_bytes >= f->bundle->bytes);
    list_sub(&f->resting);
    sort_backlog(a, x, x->resting_bytes - f->bundle->bytes);
}

/* NULL: none rests. */
static struct forwarding *find_last(const struct agent *a)
{
    size_t size = MEMORY_SIZES;
    while (size > 0 && list_empty(&a->resting[size - 1]))
        size--;
    if (size == 0)
        return NULL;
    const struct list *first = list_first(&a->resting[size - 1]);
    const struct account *x = container_of(first, struct account, by_resting);
    return container_of(x->resting.prev, struct forwarding, resting);
}

bool memory_make_room(struct agent *a, const struct forwarding *f, uint64_t more)
{
    const struct account *own = backlog_of(f);
    if (more > a->config.memory_bytes)
        return false;
    while (memory_full(a, more)) {
        struct forwarding *last = find_last(a);
        /* What is loaded does not displace what is before it in its queue. */
        if (last == NULL || (more > 0 && last->state == STATE_FRONT && backlog_of(last) == own))
            return false;
        forwarding_release(a, last);
    }
    return true;
}

void memory_shrink(struct agent *a)
{
    struct forwarding *last;
    while (memory_full(a, 0) && (last = find_last(a)) != NULL)
        forwarding_release(a, last);
}

bool memory_full(const struct agent *a, uint64_t more)
{
    const uint64_t used = a->counters.memory_bytes + a->loading_bytes;
    return more > a->config.memory_bytes || used > a->config.memory_bytes - more;
}

bool memory_crowded(const struct agent *a)
{
    const struct agent_counters *n = &a->counters;
    return n->memory_bytes - n->resting_bytes > a->config.memory_bytes / 2;
}

/* They go before all others when the queue opens: the last one first, so that they keep their
 * order. */
static void rest_list(struct agent *a, struct list *l)
{
    for (struct list *it = l->prev; it != l; it = it->prev)
        enter_backlog(a, container_of(it, struct forwarding, node), true);
}

static void wake_list(struct agent *a, struct list *l)
{
    list_for_each (it, l)
        memory_wake(a, container_of(it, struct forwarding, node));
}

void memory_open(struct agent *a, struct queue *q, bool open)
{
    if (q->open == open)
        return;
    q->open = open;
    bands_each_front(&q->bands, open ? wake_list : rest_list, a);
    if (!open)
        memory_shrink(a);
}

/* They assert in every build, with NDEBUG too: tests rely on them. */
#undef NDEBUG
#include <assert.h>

void memory_check_one(const struct forwarding *f)
{
    assert(is_resting(f) == !list_empty(&f->resting));
}

void memory_check(const struct agent *a, uint64_t resting)
{
    uint64_t all = 0;
    for (size_t i = 0; i < MEMORY_SIZES; i++) {
        list_for_each (it, &a->resting[i]) {
            const struct account *x = container_of(it, struct account, by_resting);
            uint64_t bytes = 0;
            list_for_each (n, &x->resting) {
                const struct forwarding *f = container_of(n, struct forwarding, resting);
                assert(backlog_of(f) == x);
                bytes += f->bundle->bytes;
            }
            assert(bytes > 0 && bytes == x->resting_bytes && size_of(bytes) == i);
            all += bytes;
        }
    }
    assert(all == a->counters.resting_bytes && all == resting);
}
