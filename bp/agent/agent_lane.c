/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues in front of links and endpoints, by priority (agent_queue.c), in which neighbours, users
 * and sources take turns (agent_turn.c); what one source brought goes first in, first out. A
 * bundle whose turn is near but whose bytes are only in the store is asked for ahead of time
 * (PREFETCH), so that a link with a full window never waits for the medium; under memory pressure
 * at least the one at the head is loaded, so that a queue always moves. Deliveries keep their bytes
 * until they are answered, and anybody can name an endpoint: under pressure one that nobody
 * registered has none in memory, and a registered one has one of each priority at most.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

void lane_init(struct lane *l, uint64_t window)
{
    *l = (struct lane){.window = window};
    list_init(&l->node);
    queues_init(&l->queues);
    list_init(&l->busy);
    assert(window > 0);
    list_init(&l->paused);
    list_init(&l->resumed);
    list_init(&l->resuming);
}

void lane_fini(struct lane *l)
{
    list_sub(&l->resuming);
    queues_fini(&l->queues);
}

void lane_free_spent(struct agent *a)
{
    while (!list_empty(&a->spent)) {
        struct list *n = list_first(&a->spent);
        list_sub(n);
        free(container_of(n, struct queue, node));
    }
    assert(list_empty(&a->spent));
}

bool lane_empty(const struct lane *l)
{
    return l->queues.waiting == 0 && list_empty(&l->busy) && list_empty(&l->paused) &&
           list_empty(&l->resumed);
}

void lane_wake(struct agent *a, struct lane *l)
{
    if (l->open && list_empty(&l->node) && l->queues.waiting > 0)
        list_add_tail(&a->ready, &l->node);
}

static uint64_t count_given(const struct lane *l)
{
    return l->busy_len + l->owed;
}

bool lane_memory_full(const struct agent *a, uint64_t more)
{
    uint64_t used = a->counters.memory_bytes + a->loading_bytes;
    return more > a->config.memory_bytes || used > a->config.memory_bytes - more;
}

/* ahead: bundles of its priority that are ready before it. */
static bool front_has_room(const struct lane *l, const struct queue *q, uint64_t ahead)
{
    return ahead + q->front_len + count_given(l) < l->window + PREFETCH;
}

/* May the bundle's bytes stay in memory, or come there, although the memory is full? */
static bool keeps_bytes(const struct lane *l, const struct queue *q, uint64_t ahead,
                        const struct record *r)
{
    if (r->link == TO_ENDPOINT)
        return l->open && ahead + q->front_len + count_given(l) == 0;
    return ahead + q->front_len == 0;
}

/* The few at the head of a link's queues are in none. */
static void enter_kind(struct agent *a, struct record *r, const struct agent_head *h)
{
    if (r->link != TO_ENDPOINT && !r->copy)
        kind_enter(a, r, h);
}

void lane_add(struct agent *a, struct lane *l, struct record *r, enum bundle_priority band,
              const struct agent_head *h)
{
    assert(r->lane == NULL && band < BUNDLE_PRIORITIES);
    struct queue *q = queues_get(&l->queues, band, r->qos.ordinal);
    r->lane = l;
    r->band = band;
    l->bundles++;
    l->bytes += r->bytes;
    l->backlog[band].bundles++;
    l->backlog[band].bytes += r->bytes;
    bool stays = r->link != TO_ENDPOINT || keeps_bytes(l, q, 0, r) || !lane_memory_full(a, 0);
    bool ahead = r->buf != NULL && stays && q->back.waiting == 0 && front_has_room(l, q, 0);
    queues_add(a, &l->queues, q, r, !ahead, false);
    if (!ahead)
        enter_kind(a, r, h);
    room_enter(a, r);
    if (!ahead && lane_memory_full(a, 0) && record_can_load(r))
        record_release(a, r);
    lane_wake(a, l);
    assert(l->bundles >= l->queues.waiting && l->backlog[band].bundles > 0);
}

static void take_out(struct agent *a, struct record *r)
{
    struct lane *l = r->lane;
    assert(l != NULL && r->state >= STATE_FRONT && r->state < STATE_GONE);
    assert(r->state != STATE_BUSY || l->busy_len > 0);
    kind_leave(a, r);
    turns_leave(a, r);
    if (r->state == STATE_FRONT || r->state == STATE_BACK) {
        queues_sub(a, &l->queues, r);
    } else {
        list_sub(&r->node);
        l->busy_len -= r->state == STATE_BUSY;
    }
    if (r->recalled)
        list_sub(&r->answer);
    r->recalled = false;
    endpoint_release(r);
    assert(r->queue == NULL && list_empty(&r->node));
}

void lane_leave(struct agent *a, struct record *r)
{
    struct lane *l = r->lane;
    assert(l->bundles > 0 && l->bytes >= r->bytes && l->backlog[r->band].bundles > 0);
    take_out(a, r);
    room_leave(r);
    l->bundles--;
    l->bytes -= r->bytes;
    l->backlog[r->band].bundles--;
    l->backlog[r->band].bytes -= r->bytes;
    r->lane = NULL;
    ask_ended(a, r, ROUTER_TAKEN_BACK);
    if (r->link == TO_ENDPOINT)
        endpoint_tidy(a, l);
    else
        lane_wake(a, l);
}

/* However many come back, those at the head of a queue are few: the last of them goes behind. */
static void trim_front(struct agent *a, struct lane *l, struct queue *q)
{
    if (q->front_len <= l->window + PREFETCH)
        return;
    struct record *last = container_of(q->front.prev, struct record, node);
    record_load_done(a, last);
    queues_move_back(a, &l->queues, last);
    enter_kind(a, last, NULL);
    if (last->buf != NULL && lane_memory_full(a, 0) && record_can_load(last))
        record_release(a, last);
}

void lane_return(struct agent *a, struct record *r)
{
    struct lane *l = r->lane;
    take_out(a, r);
    struct queue *q = queues_get(&l->queues, r->band, r->qos.ordinal);
    queues_add(a, &l->queues, q, r, false, true);
    room_enter(a, r);
    record_set_timer(a, r, r->expires);
    trim_front(a, l, q);
    lane_wake(a, l);
}

void lane_resume(struct agent *a, struct lane *l)
{
    list_move_all(&l->paused, l->resumed.prev);
    if (!list_empty(&l->resumed) && list_empty(&l->resuming))
        list_add_tail(&a->resuming, &l->resuming);
    assert(list_empty(&l->paused));
}

void lane_pause(struct agent *a, struct record *r, tick until)
{
    struct lane *l = r->lane;
    take_out(a, r);
    room_enter(a, r);
    r->state = STATE_PAUSED;
    list_add_tail(&l->paused, &r->node);
    enter_kind(a, r, NULL);
    record_set_timer(a, r, tick_min(r->expires, until));
    lane_wake(a, l);
}

void lane_retry(struct agent *a, struct record *r)
{
    const struct agent_config *c = &a->config;
    r->pause = r->pause == 0 ? c->retry_min : tick_min(tick_add(r->pause, r->pause), c->retry_max);
    assert(r->pause > 0);
    lane_pause(a, r, tick_add(a->now.now, r->pause));
}

int lane_load(struct agent *a, struct record *r, struct agent_action *out)
{
    assert(r->buf == NULL && !r->loading && r->stored);
    r->loading = true;
    a->loading_bytes += r->bytes;
    *out = (struct agent_action){.kind = AGENT_LOAD, .key = r->key};
    return 1;
}

static int load_record(struct agent *a, struct record *r, struct agent_action *out)
{
    if (r->copy)
        return copies_load(a, r, out);
    return r->whole ? fragment_join(a, r, out) : lane_load(a, r, out);
}

/* Moves bundles up from the back; 1 when one must be loaded for it. */
static int fill_ahead(struct agent *a, struct lane *l, struct queue *q, uint64_t ahead,
                      struct agent_action *out)
{
    while (q->back.waiting > 0 && front_has_room(l, q, ahead)) {
        struct record *r = turns_first(a, &q->back, l->window + PREFETCH);
        if (r->buf == NULL && !keeps_bytes(l, q, ahead, r) && lane_memory_full(a, r->bytes))
            break;
        kind_leave(a, r);
        queues_move_up(a, &l->queues, r);
        if (r->buf == NULL && load_record(a, r, out))
            return 1;
    }
    return 0;
}

static int give_next(struct agent *a, struct record *r, struct agent_action *out)
{
    assert(r->state == STATE_FRONT && r->buf != NULL);
    struct lane *l = r->lane;
    const enum bundle_priority band = r->band;
    struct turn *place = r->place; /* until it is done */
    r->place = NULL;
    take_out(a, r);
    r->place = place;
    room_leave(r);
    r->state = STATE_BUSY;
    l->busy_len++;
    list_add_tail(&l->busy, &r->node);
    record_set_timer(a, r, r->expires);
    if (!(r->link == TO_ENDPOINT ? endpoint_action(a, r, out) : link_action(a, r, out)))
        return 0;
    assert(out->kind == AGENT_SEND || out->kind == AGENT_DELIVER);
    queues_served(&l->queues, band, out->bundle->len);
    l->backlog[band].given++;
    l->backlog[band].given_bytes += out->bundle->len;
    return 1;
}

/* The head of a queue comes to memory, and what follows it. 1: an action; else *moved: there may be
 * something to give now. */
static int ready_queue(struct agent *a, struct lane *l, struct queue *q, uint64_t ahead,
                       struct agent_action *out, bool *moved)
{
    const uint64_t before = q->front_len;
    if (before > 0) {
        struct record *r = container_of(list_first(&q->front), struct record, node);
        if (r->buf == NULL && !r->loading) {
            if (load_record(a, r, out))
                return 1;
            if (r->buf != NULL || r->state != STATE_FRONT) {
                *moved = true;
                return 0;
            }
        }
    }
    if (fill_ahead(a, l, q, ahead, out))
        return 1;
    *moved = *moved || (before == 0 && q->front_len > 0);
    return 0;
}

/* The same of a priority: first the queue that goes first, then those behind it, so that the next
 * ordinal is there when its turn comes. */
static int make_ready(struct agent *a, struct lane *l, enum bundle_priority p,
                      struct agent_action *out, bool *moved)
{
    uint64_t ahead = 0;
    const uint64_t most = l->window + PREFETCH;
    struct queue *next, *q = queues_first(&l->queues, p);
    for (; q != NULL && ahead < most && !*moved; q = next) {
        next = queues_behind(&l->queues, p, q); /* q may be empty, and spent, afterwards */
        if (ready_queue(a, l, q, ahead, out, moved))
            return 1;
        ahead += q->front_len;
        if (q->back.waiting > 0)
            break; /* no room, or no memory, for more */
    }
    return 0;
}

int lane_poll(struct agent *a, struct lane *l, struct agent_action *out)
{
    if (!list_empty(&l->resumed))
        return 0; /* those that come back go first, in their order; then it is woken */
    for (bool moved = true; l->open && moved && l->queues.waiting > 0;) {
        const enum bundle_priority next = queues_turn(&l->queues);
        if (next != BUNDLE_PRIORITIES && count_given(l) < l->window) {
            struct queue *q = queues_first(&l->queues, next);
            if (give_next(a, container_of(list_first(&q->front), struct record, node), out))
                return 1;
            continue;
        }
        moved = false;
        for (int p = BUNDLE_PRIORITIES - 1; p >= 0 && !moved; p--) {
            if (make_ready(a, l, (enum bundle_priority)p, out, &moved))
                return 1;
        }
    }
    return 0;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

/* Places that parties have, and bundles of the lane that have one. */
static void check_places(const struct lane *l)
{
    uint64_t places = 0, taken = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        const struct queue *q = &l->queues.of[p];
        list_for_each (it, &q->back.ring)
            places += container_of(it, struct turn, node)->places;
        list_for_each (it, &q->front)
            taken += container_of(it, struct record, node)->place != NULL;
    }
    list_for_each (it, &l->busy)
        taken += container_of(it, struct record, node)->place != NULL;
    assert(places == taken);
}

/* Of a list whose records are all in this state. */
static void check_list(const struct list *l, enum record_state state, const struct queue *q,
                       struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    list_for_each (it, l) {
        const struct record *r = container_of(it, struct record, node);
        assert(r->state == state && r->queue == q && r->band < BUNDLE_PRIORITIES);
        sum[r->band].bundles++;
        sum[r->band].bytes += r->bytes;
    }
}

static uint64_t count_sum(const struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    uint64_t bundles = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        bundles += sum[p].bundles;
    return bundles;
}

static void check_queue(const struct queue *q, struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    const uint64_t before = count_sum(sum);
    check_list(&q->front, STATE_FRONT, q, sum);
    assert(count_sum(sum) == before + q->front_len);
    turns_check(&q->back);
    list_for_each (p, &q->back.ring) {
        const struct turn *party = container_of(p, struct turn, node);
        list_for_each (s, &party->ring)
            check_list(&container_of(s, struct turn, node)->ring, STATE_BACK, q, sum);
    }
    assert(count_sum(sum) == before + q->front_len + q->back.waiting);
}

void lane_check(const struct lane *l)
{
    struct agent_backlog sum[BUNDLE_PRIORITIES] = {{0}};
    uint64_t bytes = 0;
    unsigned above = UINT8_MAX + 1;
    list_for_each (it, &l->queues.ranks) {
        const struct queue *rank = container_of(it, struct queue, node);
        assert(rank->ordinal > 0 && rank->ordinal < above &&
               rank->front_len + rank->back.waiting > 0);
        above = rank->ordinal;
        check_queue(rank, sum);
    }
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        check_queue(&l->queues.of[p], sum);
    assert(count_sum(sum) == l->queues.waiting);
    check_places(l);
    check_list(&l->busy, STATE_BUSY, NULL, sum);
    assert(count_sum(sum) == l->queues.waiting + l->busy_len);
    check_list(&l->paused, STATE_PAUSED, NULL, sum);
    check_list(&l->resumed, STATE_PAUSED, NULL, sum);
    assert(list_empty(&l->resumed) || !list_empty(&l->resuming));
    assert(!l->gone || (!l->open && l->busy_len == 0));
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        assert(sum[p].bundles == l->backlog[p].bundles && sum[p].bytes == l->backlog[p].bytes);
        bytes += sum[p].bytes;
    }
    assert(count_sum(sum) == l->bundles && bytes == l->bytes);
}
