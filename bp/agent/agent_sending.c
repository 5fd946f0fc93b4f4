/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that links have in transmission: of bundles given to them whose outcome is open. Bytes that
 * are only there (the store has the bundle, or it was encoded again) count in
 * counters.sending_bytes, and so in the memory of all bundles.
 *
 * A link gets a further bundle while its own bytes, with that bundle, are at most what all links
 * together leave of half of the memory of all bundles. So a link whose peer acknowledges nothing
 * leaves at least as much to each other link. Several such links leave less, each a half. So each
 * link also has an equal part of FLOOR, beyond that limit. One bundle is always permitted: every
 * blocked link has an open outcome, which wakes it. Bytes that return wake other blocked links,
 * too.
 *
 * What can go wrong: bundles and ids use all of the memory. Then links share FLOOR.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

#define FLOOR_PART 16
#define FLOOR_MAX (UINT64_C(32) << 20)
#define WAKES 16 /* blocked links that are asked again when bytes return; each costs one poll */

static uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

static uint64_t floor_of(const struct agent *a)
{
    return least(record_memory_max(a) / FLOOR_PART, FLOOR_MAX);
}

/* What a link may have, whatever others have. */
static uint64_t own_part(const struct agent *a)
{
    const uint64_t others = 2; /* shares for endpoints, and for bundles without a route */
    return a->route_shares > others ? floor_of(a) / (a->route_shares - others) : 0;
}

/* The limit for all links together. */
static uint64_t limit_all(const struct agent *a)
{
    const uint64_t max = record_memory_max(a), used = record_memory_used(a);
    const uint64_t left = max > used ? max - used : 0;
    const uint64_t all = least(max / 2, a->counters.sending_bytes + left);
    const uint64_t floor = floor_of(a);
    return all > floor ? all : floor;
}

bool sending_permits(const struct agent *a, const struct queue *q, const struct record *r)
{
    if (q->sending == 0 || record_memory_max(a) == UINT64_MAX)
        return true;
    if (!r->rewrite && !memory_crowded(a))
        return true; /* the link refers to the bytes in memory */
    const uint64_t limit = limit_all(a), all = a->counters.sending_bytes;
    const uint64_t left = limit > all ? limit - all : 0;
    const uint64_t part = split_limit(a, r);
    const uint64_t bytes = part != 0 && part < r->bytes ? part : r->bytes;
    return (bytes <= left && q->sending <= left - bytes) || q->sending + bytes <= own_part(a);
}

void sending_wait(struct agent *a, struct queue *q)
{
    if (list_empty(&q->sending_wait))
        list_add_tail(&a->sending_waits, &q->sending_wait);
}

void sending_add(struct agent *a, struct record *r, const struct buf *out)
{
    assert(r->sending == 0 && r->queue != NULL);
    if (out == r->buf)
        return;
    r->sending = out->cap;
    r->queue->sending += out->cap;
    a->counters.sending_bytes += out->cap;
}

static void wake_waits(struct agent *a)
{
    for (unsigned n = 0; n < WAKES && !list_empty(&a->sending_waits); n++) {
        struct list *first = list_first(&a->sending_waits);
        list_sub(first);
        queue_wake(a, container_of(first, struct queue, sending_wait));
    }
}

void sending_sub(struct agent *a, struct record *r)
{
    if (r->sending == 0)
        return;
    assert(r->queue->sending >= r->sending && a->counters.sending_bytes >= r->sending);
    r->queue->sending -= r->sending;
    a->counters.sending_bytes -= r->sending;
    r->sending = 0;
    wake_waits(a);
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void sending_check(const struct queue *q)
{
    uint64_t sending = 0;
    list_for_each (it, &q->busy)
        sending += container_of(it, struct record, node)->sending;
    assert(sending == q->sending);
    /* It is woken by an outcome, or was. */
    assert(list_empty(&q->sending_wait) || sending > 0 || !q->open || q->bands.waiting == 0 ||
           !list_empty(&q->node));
}
