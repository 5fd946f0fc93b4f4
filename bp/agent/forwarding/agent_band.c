/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the priority that is next.
 *
 * Strict: the highest priority with a bundle. Weighted, so that none starves: each priority has a
 * virtual time up to which it was served; it advances by bytes / weight. The priority whose next
 * bundle would end first is next. A priority without bundles gains no credit. This is self-clocked
 * fair queueing. It has advantages over deficit rounds: a bundle longer than a round's share needs
 * no rounds without service, no share must be chosen, and short bundles are first when all begin at
 * once. Between two turns of one priority, another one with k times its weight sends at most k
 * times the bytes, and one bundle more.
 *
 * Expedited bundles have a band for each used ordinal: at most 254. What can go wrong: no memory
 * for a band; its bundles are served with those of ordinal 0.
 */
#include "bp/agent/forwarding/agent_band.h"

#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

#define TURN_SCALE (UINT64_C(1) << 20) /* above AGENT_WEIGHT_MAX, so that each byte counts */

static_assert(TURN_SCALE > AGENT_WEIGHT_MAX, "a byte of the heaviest priority takes time");

static void init_band(struct band *b, uint8_t ordinal)
{
    *b = (struct band){.ordinal = ordinal};
    list_init(&b->node);
    list_init(&b->front);
    turns_init(&b->back);
}

void bands_init(struct bands *b)
{
    *b = (struct bands){.weight = BAND_WEIGHTS};
    list_init(&b->ranks);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        init_band(&b->of[p], 0);
    assert(b->waiting == 0 && b->weight[BUNDLE_BULK] > 0);
}

static bool is_empty(const struct band *b)
{
    return b->front_len + b->back.waiting == 0;
}

struct band *bands_get(struct bands *b, enum bundle_priority p, uint8_t ordinal)
{
    assert(p < BUNDLE_PRIORITIES);
    if (p != BUNDLE_EXPEDITED || ordinal == 0)
        return &b->of[p];
    struct list *before = &b->ranks; /* position before which it is inserted */
    list_for_each (it, &b->ranks) {
        struct band *rank = container_of(it, struct band, node);
        before = it;
        if (rank->ordinal == ordinal)
            return rank;
        if (rank->ordinal < ordinal)
            break;
        before = &b->ranks;
    }
    struct band *rank = malloc(sizeof *rank);
    if (rank == NULL)
        return &b->of[p];
    init_band(rank, ordinal);
    list_add_tail(before, &rank->node);
    assert(rank->ordinal > 0 && is_empty(rank));
    return rank;
}

/* From this list node on. */
static struct band *find_filled(const struct bands *b, enum bundle_priority p, struct list *from)
{
    const struct band *own = &b->of[p];
    for (struct list *it = from; p == BUNDLE_EXPEDITED && it != &b->ranks; it = it->next) {
        struct band *rank = container_of(it, struct band, node);
        if (!is_empty(rank))
            return rank;
    }
    return is_empty(own) ? NULL : (struct band *)own;
}

struct band *bands_first(const struct bands *b, enum bundle_priority p)
{
    assert(p < BUNDLE_PRIORITIES);
    return find_filled(b, p, b->ranks.next);
}

struct band *bands_behind(const struct bands *b, enum bundle_priority p, struct band *before)
{
    assert(p < BUNDLE_PRIORITIES);
    return before == &b->of[p] ? NULL : find_filled(b, p, before->node.next);
}

static uint64_t rank_at(const struct list *n)
{
    return container_of(n, struct forwarding, node)->rank;
}

/* By rank; from both ends, since most come in order, up or down. */
static void enter_front(struct band *to, struct forwarding *f)
{
    struct list *up = to->front.next, *down = to->front.prev;
    while (up != &to->front && rank_at(up) < f->rank && rank_at(down) >= f->rank) {
        up = up->next;
        down = down->prev;
    }
    if (up == &to->front || rank_at(up) >= f->rank)
        list_add_tail(up, &f->node); /* in front of it */
    else
        list_add_head(down, &f->node); /* behind it */
    to->front_len++;
    f->state = STATE_FRONT;
}

void bands_add(struct agent *a, struct bands *b, struct band *to, struct forwarding *f, bool back)
{
    assert(list_empty(&f->node) && f->band == NULL);
    f->band = to;
    b->waiting++;
    if (back) {
        f->state = STATE_BACK;
        f->rank = 0;
        turns_add(a, &to->back, f);
        return;
    }
    f->rank = ++a->ranks;
    enter_front(to, f);
    assert(b->waiting > 0 && !is_empty(to));
}

void bands_return(struct agent *a, struct bands *b, struct band *to, struct forwarding *f,
                  bool pays)
{
    assert(list_empty(&f->node) && f->band == NULL);
    if (f->rank == 0)
        f->rank = list_empty(&to->front) ? ++a->ranks : rank_at(list_first(&to->front));
    f->band = to;
    b->waiting++;
    if (pays || turns_older(a, &to->back, f)) {
        f->state = STATE_BACK;
        turns_return(a, &to->back, f, pays);
    } else {
        enter_front(to, f);
    }
    assert(b->waiting > 0 && !is_empty(to));
}

void bands_move_up(struct agent *a, struct bands *b, struct forwarding *f)
{
    struct band *own = f->band;
    assert(own != NULL && f->state == STATE_BACK && b->waiting > 0);
    (void)b; /* asserted only */
    if (own->ordinal == 0)
        turns_take_place(a, &own->back, f);
    else /* a rank may be freed before the bundle */
        turns_take(a, &own->back, f);
    if (f->rank == 0 || f->pays)
        f->rank = ++a->ranks;
    enter_front(own, f);
}

void bands_move_back(struct agent *a, struct bands *b, struct forwarding *f)
{
    struct band *own = f->band;
    assert(own != NULL && f->state == STATE_FRONT && own->front_len > 0 && b->waiting > 0);
    assert(own->front.prev == &f->node);
    (void)b; /* asserted only */
    list_sub(&f->node);
    turns_leave(a, f);
    own->front_len--;
    f->state = STATE_BACK;
    turns_return(a, &own->back, f, false);
}

void bands_sub(struct agent *a, struct bands *b, struct forwarding *f)
{
    struct band *from = f->band;
    assert(from != NULL && b->waiting > 0 && !is_empty(from));
    assert(f->state == STATE_FRONT || f->state == STATE_BACK);
    if (f->state == STATE_BACK) {
        turns_sub(a, &from->back, f);
    } else {
        list_sub(&f->node);
        from->front_len--;
    }
    b->waiting--;
    f->band = NULL;
    if (from->ordinal == 0 || !is_empty(from))
        return;
    list_sub(&from->node);
    list_add_tail(&a->spent, &from->node);
}

static uint64_t cost_of(const struct bands *b, enum bundle_priority p, uint64_t bytes)
{
    assert(b->weight[p] > 0);
    return bytes * TURN_SCALE / b->weight[p];
}

static bool is_before(uint64_t time, uint64_t other)
{
    return (int64_t)(time - other) < 0;
}

/* NULL: none waits, or the first one's bytes are not in memory. */
static const struct forwarding *find_ready(const struct bands *b, enum bundle_priority p)
{
    const struct band *first = bands_first(b, p);
    if (first == NULL || list_empty(&first->front))
        return NULL;
    const struct forwarding *f = container_of(list_first(&first->front), struct forwarding, node);
    return f->buf != NULL ? f : NULL;
}

enum bundle_priority bands_turn(const struct bands *b)
{
    enum bundle_priority next = BUNDLE_PRIORITIES;
    uint64_t best = 0;
    for (int i = BUNDLE_PRIORITIES - 1; i >= 0; i--) {
        const enum bundle_priority p = (enum bundle_priority)i;
        const struct forwarding *f = find_ready(b, p);
        if (f == NULL)
            continue;
        const uint64_t end = b->served[p] + cost_of(b, p, f->bundle->bytes);
        if (next == BUNDLE_PRIORITIES || (!b->strict && is_before(end, best))) {
            next = p;
            best = end;
        }
    }
    return next;
}

void bands_served(struct bands *b, enum bundle_priority p, uint64_t bytes)
{
    assert(p < BUNDLE_PRIORITIES);
    b->served[p] += cost_of(b, p, bytes);
    if (is_before(b->clock, b->served[p]))
        b->clock = b->served[p];
    for (int i = 0; i < BUNDLE_PRIORITIES; i++) {
        if (bands_first(b, (enum bundle_priority)i) == NULL && is_before(b->served[i], b->clock))
            b->served[i] = b->clock;
    }
    assert(!is_before(b->clock, b->served[p]));
}

static void visit_band(struct band *b, void (*fn)(struct agent *a, struct list *l), struct agent *a)
{
    fn(a, &b->front);
    turns_each(&b->back, fn, a);
}

void bands_each(struct bands *b, void (*fn)(struct agent *a, struct list *l), struct agent *a)
{
    list_for_each_safe (it, &b->ranks)
        visit_band(container_of(it, struct band, node), fn, a);
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--)
        visit_band(&b->of[p], fn, a);
}

void bands_each_front(struct bands *b, void (*fn)(struct agent *a, struct list *l), struct agent *a)
{
    list_for_each_safe (it, &b->ranks)
        fn(a, &container_of(it, struct band, node)->front);
    for (int p = BUNDLE_PRIORITIES - 1; p >= 0; p--)
        fn(a, &b->of[p].front);
}

void bands_fini(struct bands *b)
{
    list_for_each_safe (it, &b->ranks) {
        list_sub(it);
        free(container_of(it, struct band, node));
    }
    assert(list_empty(&b->ranks));
}
