/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is. Strict: the highest priority that has something. By weights, so that none
 * starves: each priority has a time up to which it was served, which advances by bytes / weight;
 * the one whose next bundle would end first goes; one that had nothing to send does not save up.
 * That is self-clocked fair queueing rather than rounds of deficits: a bundle longer than any
 * round's share takes no rounds without service, there is no share to choose, and what is light
 * goes first when all begin at once. Between two turns of one priority another one with k times its
 * weight sends k times the bytes of the one between them, and one bundle more, at most.
 *
 * Expedited bundles with an ordinal have a queue for each ordinal that is there: at most 254 are
 * walked. What can go wrong is memory for one; its bundles are served with those of ordinal 0.
 */
#include "bp/agent/agent_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define TURN_SCALE (UINT64_C(1) << 20) /* above AGENT_WEIGHT_MAX, so that each byte counts */

static_assert(TURN_SCALE > AGENT_WEIGHT_MAX, "a byte of the heaviest priority takes time");

static void init_queue(struct queue *q, uint8_t ordinal)
{
    *q = (struct queue){.ordinal = ordinal};
    list_init(&q->node);
    list_init(&q->front);
    turns_init(&q->back);
}

void queues_init(struct queues *q)
{
    *q = (struct queues){.weight = QUEUE_WEIGHTS};
    list_init(&q->ranks);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        init_queue(&q->of[p], 0);
    assert(q->waiting == 0 && q->weight[BUNDLE_BULK] > 0);
}

static bool is_empty(const struct queue *q)
{
    return q->front_len + q->back.waiting == 0;
}

struct queue *queues_get(struct queues *q, enum bundle_priority p, uint8_t ordinal)
{
    assert(p < BUNDLE_PRIORITIES);
    if (p != BUNDLE_EXPEDITED || ordinal == 0)
        return &q->of[p];
    struct list *before = &q->ranks; /* what it comes in front of */
    list_for_each (it, &q->ranks) {
        struct queue *rank = container_of(it, struct queue, node);
        before = it;
        if (rank->ordinal == ordinal)
            return rank;
        if (rank->ordinal < ordinal)
            break;
        before = &q->ranks;
    }
    struct queue *rank = malloc(sizeof *rank);
    if (rank == NULL)
        return &q->of[p];
    init_queue(rank, ordinal);
    list_add_tail(before, &rank->node);
    assert(rank->ordinal > 0 && is_empty(rank));
    return rank;
}

/* From this list node on. */
static struct queue *find_filled(const struct queues *q, enum bundle_priority p, struct list *from)
{
    const struct queue *own = &q->of[p];
    for (struct list *it = from; p == BUNDLE_EXPEDITED && it != &q->ranks; it = it->next) {
        struct queue *rank = container_of(it, struct queue, node);
        if (!is_empty(rank))
            return rank;
    }
    return is_empty(own) ? NULL : (struct queue *)own;
}

struct queue *queues_first(const struct queues *q, enum bundle_priority p)
{
    assert(p < BUNDLE_PRIORITIES);
    return find_filled(q, p, q->ranks.next);
}

struct queue *queues_behind(const struct queues *q, enum bundle_priority p, struct queue *before)
{
    assert(p < BUNDLE_PRIORITIES);
    return before == &q->of[p] ? NULL : find_filled(q, p, before->node.next);
}

void queues_add(struct agent *a, struct queues *q, struct queue *to, struct record *r, bool back,
                bool first)
{
    assert(list_empty(&r->node) && r->queue == NULL);
    r->state = back ? STATE_BACK : STATE_FRONT;
    r->queue = to;
    q->waiting++;
    if (back) {
        turns_add(a, &to->back, r, first);
        return;
    }
    to->front_len++;
    if (first)
        list_add_head(&to->front, &r->node);
    else
        list_add_tail(&to->front, &r->node);
    assert(q->waiting > 0 && !is_empty(to));
}

void queues_move_up(struct agent *a, struct queues *q, struct record *r)
{
    struct queue *own = r->queue;
    assert(own != NULL && r->state == STATE_BACK && q->waiting > 0);
    (void)q; /* asserted only */
    if (own->ordinal == 0)
        turns_take_place(a, &own->back, r);
    else /* a rank: it may be gone before the bundle is */
        turns_take(a, &own->back, r);
    own->front_len++;
    r->state = STATE_FRONT;
    list_add_tail(&own->front, &r->node);
}

void queues_move_back(struct agent *a, struct queues *q, struct record *r)
{
    struct queue *own = r->queue;
    assert(own != NULL && r->state == STATE_FRONT && own->front_len > 0 && q->waiting > 0);
    assert(own->front.prev == &r->node);
    (void)q; /* asserted only */
    list_sub(&r->node);
    turns_leave(a, r);
    own->front_len--;
    r->state = STATE_BACK;
    turns_add(a, &own->back, r, true);
}

void queues_sub(struct agent *a, struct queues *q, struct record *r)
{
    struct queue *from = r->queue;
    assert(from != NULL && q->waiting > 0 && !is_empty(from));
    assert(r->state == STATE_FRONT || r->state == STATE_BACK);
    if (r->state == STATE_BACK) {
        turns_sub(a, &from->back, r);
    } else {
        list_sub(&r->node);
        from->front_len--;
    }
    q->waiting--;
    r->queue = NULL;
    if (from->ordinal == 0 || !is_empty(from))
        return;
    list_sub(&from->node);
    list_add_tail(&a->spent, &from->node);
}

static uint64_t cost_of(const struct queues *q, enum bundle_priority p, uint64_t bytes)
{
    assert(q->weight[p] > 0);
    return bytes * TURN_SCALE / q->weight[p];
}

static bool is_before(uint64_t time, uint64_t other)
{
    return (int64_t)(time - other) < 0;
}

/* NULL: none waits, or the first one's bytes are not in memory. */
static const struct record *find_ready(const struct queues *q, enum bundle_priority p)
{
    const struct queue *first = queues_first(q, p);
    if (first == NULL || list_empty(&first->front))
        return NULL;
    const struct record *r = container_of(list_first(&first->front), struct record, node);
    return r->buf != NULL ? r : NULL;
}

enum bundle_priority queues_turn(const struct queues *q)
{
    enum bundle_priority next = BUNDLE_PRIORITIES;
    uint64_t best = 0;
    for (int i = BUNDLE_PRIORITIES - 1; i >= 0; i--) {
        const enum bundle_priority p = (enum bundle_priority)i;
        const struct record *r = find_ready(q, p);
        if (r == NULL)
            continue;
        const uint64_t end = q->served[p] + cost_of(q, p, r->bytes);
        if (next == BUNDLE_PRIORITIES || (!q->strict && is_before(end, best))) {
            next = p;
            best = end;
        }
    }
    return next;
}

void queues_served(struct queues *q, enum bundle_priority p, uint64_t bytes)
{
    assert(p < BUNDLE_PRIORITIES);
    q->served[p] += cost_of(q, p, bytes);
    if (is_before(q->clock, q->served[p]))
        q->clock = q->served[p];
    for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
        if (queues_first(q, (enum bundle_priority)i) == NULL && is_before(q->served[i], q->clock))
            q->served[i] = q->clock;
    }
    assert(!is_before(q->clock, q->served[p]));
}

static void visit_queue(struct queue *q, void (*fn)(struct agent *a, struct list *l),
                        struct agent *a)
{
    fn(a, &q->front);
    turns_each(&q->back, fn, a);
}

void queues_each(struct queues *q, void (*fn)(struct agent *a, struct list *l), struct agent *a)
{
    list_for_each_safe (it, &q->ranks)
        visit_queue(container_of(it, struct queue, node), fn, a);
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--)
        visit_queue(&q->of[p], fn, a);
}

void queues_each_front(struct queues *q, void (*fn)(struct agent *a, struct list *l),
                       struct agent *a)
{
    list_for_each_safe (it, &q->ranks)
        fn(a, &container_of(it, struct queue, node)->front);
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--)
        fn(a, &q->of[p].front);
}

void queues_fini(struct queues *q)
{
    list_for_each_safe (it, &q->ranks) {
        list_sub(it);
        free(container_of(it, struct queue, node));
    }
    assert(list_empty(&q->ranks));
}
