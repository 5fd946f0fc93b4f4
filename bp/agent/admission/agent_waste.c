/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that connects makes work: its next bundles are read from the store and encoded for it.
 * This work is paid by octets that the peer takes. If it leaves, or refuses them, the work was
 * wasted: a long bundle costs the node as much as if it was forwarded. Without TLS anyone can
 * connect in the name of an absent neighbour, as often as the node answers.
 *
 * Wasted octets are those of a transmission that failed, if they were encoded for it; and when a
 * link closes, those that it had loaded, unless memory has room to keep them. A bundle in
 * transmission by a link that goes on with it when it opens again is not wasted.
 *
 * A link that stays open does not rest: its peer may refuse the bundles of one source and take all
 * others, and bundles may end in transmission. What it wastes so counts when it closes, less what
 * its peer has taken since.
 *
 * So all links together may waste WASTE_RATE octets in a second, which is a small part of the
 * node's time. A link that has wasted more rests until its waste, and all waste before, is paid.
 * Others do not wait. WASTE_FREE is the time that is free: links that fail now and then do not
 * rest, nor do those whose bundles are short.
 *
 * What can go wrong: a neighbour's link fails while others waste. Then it waits for these as well.
 */
#include "bp/agent/admission/agent_waste.h"

#include <assert.h>

#include "bp/agent/agent_impl.h"

/* Of either sum of a link. Bundles that ended otherwise are not deducted: the sums must not grow
 * for months. */
#define SUM_MAX (UINT64_C(512) << 20)

void waste_init(struct waste *w)
{
    *w = (struct waste){0};
    list_init(&w->node);
}

void wastes_init(struct wastes *all)
{
    *all = (struct wastes){0};
    list_init(&all->resting);
}

static tick free_from(const struct wastes *all)
{
    return all->paid > WASTE_FREE ? all->paid - WASTE_FREE : 0;
}

/* The ends of rests only become later, so the list stays in order. */
static void begin_rest(struct agent *a, struct queue *q)
{
    q->waste.until = free_from(&a->wastes);
    list_sub(&q->waste.node);
    if (waste_rests(a, q))
        list_add_tail(&a->wastes.resting, &q->waste.node);
}

void waste_begin(struct agent *a, struct queue *q)
{
    begin_rest(a, q);
}

void waste_loaded(struct queue *q, uint64_t octets)
{
    q->waste.loaded += least(octets, SUM_MAX - q->waste.loaded);
}

void waste_taken(struct queue *q, uint64_t octets)
{
    q->waste.loaded -= least(octets, q->waste.loaded);
    q->waste.failed -= least(octets, q->waste.failed);
}

void waste_lost(struct agent *a, struct queue *q, uint64_t octets)
{
    if (octets == 0)
        return;
    const tick now = a->now.now, from = a->wastes.paid > now ? a->wastes.paid : now;
    const uint64_t most = least(octets, SUM_MAX);
    a->wastes.paid = tick_add(from, most * (TICK_S / 1000) / (WASTE_RATE / 1000));
    begin_rest(a, q);
}

void waste_failed(struct agent *a, struct queue *q, uint64_t octets)
{
    if (q->open)
        q->waste.failed += least(octets, SUM_MAX - q->waste.failed);
    else
        waste_lost(a, q, octets);
}

void waste_close(struct agent *a, struct queue *q)
{
    const uint64_t loaded = q->waste.loaded, failed = q->waste.failed;
    q->waste.loaded = q->waste.failed = 0;
    waste_lost(a, q, failed);
    if (memory_full(a, a->config.memory_bytes / 4))
        waste_lost(a, q, loaded);
}

bool waste_rests(const struct agent *a, const struct queue *q)
{
    return q->waste.until > a->now.now;
}

void waste_expire(struct agent *a)
{
    while (waste_due(a) <= a->now.now) {
        struct list *first = list_first(&a->wastes.resting);
        list_sub(first);
        queue_wake(a, container_of(first, struct queue, waste.node));
    }
}

tick waste_due(const struct agent *a)
{
    const struct list *first = list_first(&a->wastes.resting);
    return first == NULL ? TICK_NEVER : container_of(first, struct queue, waste.node)->waste.until;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

void waste_check(const struct agent *a)
{
    tick before = 0;
    list_for_each (it, &a->wastes.resting) {
        const struct waste *w = container_of(it, struct waste, node);
        assert(w->until >= before && w->until <= a->wastes.paid && w->loaded <= SUM_MAX);
        assert(w->failed <= SUM_MAX);
        before = w->until;
    }
}
