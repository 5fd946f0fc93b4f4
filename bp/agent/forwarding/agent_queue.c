/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of links and endpoints, by priority (agent_band.c). Neighbours, users and sources take
 * turns (agent_turn.c); bundles of one source are first in, first out.
 *
 * A bundle whose turn is near but whose bytes are only in the store is loaded ahead of time
 * (PREFETCH), so that a link with a full window never waits for the medium. Under memory pressure
 * at least the bundle at the head is loaded, so that a queue always moves; agent_memory.c selects
 * the bytes to drop.
 *
 * Deliveries keep their bytes until they are answered. Any bundle can name an endpoint. So under
 * pressure an unregistered endpoint has no bytes in memory, and a registered one has at most one
 * bundle of each priority.
 */
#include <assert.h>
#include <stdlib.h>

#include "bp/agent/agent_impl.h"

void queue_init(struct queue *q, uint64_t window)
{
    *q = (struct queue){.window = window};
    service_init(&q->service, 0);
    list_init(&q->node);
    bands_init(&q->bands);
    list_init(&q->busy);
    assert(window > 0);
    list_init(&q->paused);
    list_init(&q->resumed);
    list_init(&q->resuming);
    list_init(&q->sending_wait);
    list_init(&q->roomless);
    list_init(&q->room_wait);
    waste_init(&q->waste);
    list_init(&q->parties);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        excess_init(&q->party_bytes[p]);
}

void queue_fini(struct queue *q)
{
    list_sub(&q->resuming);
    list_sub(&q->sending_wait);
    list_sub(&q->room_wait);
    bands_fini(&q->bands);
}

void queue_free_spent(struct agent *a)
{
    while (!list_empty(&a->spent)) {
        struct list *n = list_first(&a->spent);
        list_sub(n);
        free(container_of(n, struct band, node));
    }
    assert(list_empty(&a->spent));
}

bool queue_empty(const struct queue *q)
{
    return q->bands.waiting == 0 && q->verifying == 0 && list_empty(&q->busy) &&
           list_empty(&q->paused) && list_empty(&q->resumed) && list_empty(&q->roomless);
}

void queue_wake(struct agent *a, struct queue *q)
{
    const bool any = q->bands.waiting > 0 || !list_empty(&q->roomless);
    if (q->open && list_empty(&q->node) && any)
        list_add_tail(&a->ready, &q->node);
}

static uint64_t count_given(const struct queue *q)
{
    return q->busy_len + q->owed;
}

/* Bundles that are ready, or in transmission. While the link waits for room in its bytes, few are
 * next: their bytes would stay in memory. Of a closed queue, too: when routes change, the router is
 * asked at once for those that are next. */
static uint64_t front_max(const struct queue *q)
{
    const uint64_t given = count_given(q);
    const bool waits = !q->open || (!list_empty(&q->sending_wait) && given < q->window);
    return (waits ? given : q->window) + PREFETCH;
}

/* ahead: bundles of its priority that are ready before it. */
static bool front_has_room(const struct queue *q, const struct band *b, uint64_t ahead)
{
    return ahead + b->front_len + count_given(q) < front_max(q);
}

/* May the bundle's bytes stay in memory, or come there, although the memory is full? */
static bool keeps_bytes(const struct queue *q, const struct band *b, uint64_t ahead,
                        const struct forwarding *f)
{
    if (f->link == TO_ENDPOINT)
        return q->open && ahead + b->front_len + count_given(q) + q->verifying == 0;
    return ahead + b->front_len == 0;
}

/* The few at the head of a link's queues are in none. */
static void enter_kind(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    if (f->link != TO_ENDPOINT && !forwarding_is_copy(f))
        kind_enter(a, f, h);
}

void queue_add(struct agent *a, struct queue *q, struct forwarding *f,
               enum bundle_priority priority, const struct agent_head *h)
{
    assert(f->queue == NULL && priority < BUNDLE_PRIORITIES);
    struct band *b = bands_get(&q->bands, priority, f->bundle->qos.ordinal);
    f->queue = q;
    f->priority = (uint8_t)priority;
    q->bundles++;
    q->bytes += f->bundle->bytes;
    q->backlog[priority].bundles++;
    q->backlog[priority].bytes += f->bundle->bytes;
    if (f->link != TO_ENDPOINT)
        party_enter(a, f);
    bool stays = f->link != TO_ENDPOINT || keeps_bytes(q, b, 0, f) ||
                 (q->open ? memory_make_room(a, f, 0) : !memory_full(a, 0));
    bool ahead = f->buf != NULL && stays && b->back.waiting == 0 && front_has_room(q, b, 0);
    bands_add(a, &q->bands, b, f, !ahead);
    if (!ahead)
        enter_kind(a, f, h);
    room_enter(a, f);
    memory_rest(a, f);
    (void)memory_make_room(a, f, 0);
    queue_wake(a, q);
    assert(q->bundles >= q->bands.waiting && q->backlog[priority].bundles > 0);
}

static void take_out(struct agent *a, struct forwarding *f)
{
    struct queue *q = f->queue;
    assert(q != NULL && state_is_queued(f->state));
    assert(!state_is_given(f->state) || q->busy_len > 0);
    kind_leave(a, f);
    memory_wake(a, f);
    turns_leave(a, f);
    if (f->state == STATE_FRONT || f->state == STATE_BACK) {
        bands_sub(a, &q->bands, f);
    } else if (f->state == STATE_VERIFYING) {
        turns_sub(a, &a->verifying, f);
        q->verifying--;
    } else {
        list_sub(&f->node);
        q->busy_len -= state_is_given(f->state);
        sending_sub(a, f);
        service_forget(&q->service, f->key);
        if (list_empty(&q->roomless))
            list_sub(&q->room_wait);
    }
    if (f->state == STATE_RECALLED)
        list_sub(&f->answer);
    endpoint_release(f);
    assert(f->band == NULL && list_empty(&f->node));
}

void queue_leave(struct agent *a, struct forwarding *f)
{
    struct queue *q = f->queue;
    assert(q->bundles > 0 && q->bytes >= f->bundle->bytes && q->backlog[f->priority].bundles > 0);
    take_out(a, f);
    room_leave(f);
    q->bundles--;
    q->bytes -= f->bundle->bytes;
    q->backlog[f->priority].bundles--;
    q->backlog[f->priority].bytes -= f->bundle->bytes;
    party_leave(a, f);
    f->queue = NULL;
    f->rank = 0;
    ask_ended(a, f, ROUTER_TAKEN_BACK);
    if (f->link == TO_ENDPOINT)
        endpoint_tidy(a, q);
    else
        queue_wake(a, q);
}

static void rest_behind(struct agent *a, struct forwarding *f)
{
    enter_kind(a, f, NULL);
    memory_rest(a, f);
    (void)memory_make_room(a, f, 0);
}

/* However many bundles return, few are next: the last ones move to the back. */
static void trim_front(struct agent *a, struct queue *q, struct band *b, uint64_t most)
{
    while (b->front_len > most) {
        struct forwarding *last = container_of(b->front.prev, struct forwarding, node);
        forwarding_load_done(a, last);
        bands_move_back(a, &q->bands, last);
        rest_behind(a, last);
    }
}

void queue_close(struct agent *a, struct queue *q)
{
    assert(!q->open);
    list_for_each (it, &q->bands.ranks)
        trim_front(a, q, container_of(it, struct band, node), PREFETCH);
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        trim_front(a, q, &q->bands.of[p], PREFETCH);
}

enum stand { STAND_RETURNED, STAND_AGAIN, STAND_BEHIND };

static void put_back(struct agent *a, struct forwarding *f, enum stand stand)
{
    struct queue *q = f->queue;
    take_out(a, f);
    struct band *b = bands_get(&q->bands, f->priority, f->bundle->qos.ordinal);
    if (stand == STAND_BEHIND)
        bands_add(a, &q->bands, b, f, true);
    else
        bands_return(a, &q->bands, b, f, stand == STAND_AGAIN);
    room_enter(a, f);
    forwarding_set_timer(a, f, f->bundle->expires);
    if (f->state == STATE_BACK)
        rest_behind(a, f);
    else
        trim_front(a, q, b, (q->open ? q->window : 0) + PREFETCH);
    memory_rest(a, f);
    queue_wake(a, q);
}

void queue_return(struct agent *a, struct forwarding *f)
{
    put_back(a, f, STAND_RETURNED);
}

void queue_again(struct agent *a, struct forwarding *f)
{
    put_back(a, f, STAND_AGAIN);
    assert(f->state == STATE_BACK);
}

void queue_behind(struct agent *a, struct forwarding *f)
{
    put_back(a, f, STAND_BEHIND);
    assert(f->state == STATE_BACK);
}

void queue_resume(struct agent *a, struct queue *q)
{
    list_move_all(&q->roomless, q->resumed.prev);
    list_sub(&q->room_wait);
    list_move_all(&q->paused, q->resumed.prev);
    if (!list_empty(&q->resumed) && list_empty(&q->resuming))
        list_add_tail(&a->resuming, &q->resuming);
    assert(list_empty(&q->paused));
}

void queue_pause(struct agent *a, struct forwarding *f, tick until)
{
    struct queue *q = f->queue;
    take_out(a, f);
    room_enter(a, f);
    f->state = STATE_PAUSED;
    list_add_tail(&q->paused, &f->node);
    enter_kind(a, f, NULL);
    memory_rest(a, f);
    forwarding_set_timer(a, f, tick_min(f->bundle->expires, until));
    queue_wake(a, q);
}

/* Others of its endpoint go on meanwhile. */
void queue_verify(struct agent *a, struct forwarding *whole)
{
    struct queue *q = whole->queue;
    assert(whole->state == STATE_BUSY && q->busy_len > 0 && whole->taker == NULL);
    turns_leave(a, whole);
    service_forget(&q->service, whole->key);
    list_sub(&whole->node);
    q->busy_len--;
    q->verifying++;
    whole->state = STATE_VERIFYING;
    turns_add(a, &a->verifying, whole);
}

struct forwarding *queue_verify_next(struct agent *a)
{
    struct forwarding *whole = turns_first(a, &a->verifying, 0, 0);
    if (whole == NULL)
        return NULL;
    struct queue *q = whole->queue;
    assert(whole->state == STATE_VERIFYING && q->verifying > 0);
    turns_take(a, &a->verifying, whole);
    q->verifying--;
    q->busy_len++;
    list_add_tail(&q->busy, &whole->node);
    whole->state = STATE_BUSY;
    return whole;
}

void queue_retry(struct agent *a, struct forwarding *f)
{
    const struct agent_config *c = &a->config;
    f->pause = f->pause == 0 ? c->retry_min : tick_min(tick_add(f->pause, f->pause), c->retry_max);
    assert(f->pause > 0);
    queue_pause(a, f, tick_add(a->now.now, f->pause));
}

int queue_load(struct agent *a, struct forwarding *f, struct agent_action *out)
{
    assert(f->buf == NULL && !f->loading && forwarding_stored(f));
    f->loading = true;
    a->loading_bytes += f->bundle->bytes;
    *out = (struct agent_action){.kind = AGENT_LOAD, .key = f->key};
    return 1;
}

static int load_bytes(struct agent *a, struct forwarding *f, struct agent_action *out)
{
    const int loads = forwarding_is_copy(f)    ? copies_load(a, f, out)
                      : forwarding_is_whole(f) ? fragment_join(a, f, out)
                                               : queue_load(a, f, out);
    if (loads)
        waste_loaded(f->queue, f->bundle->bytes);
    return loads;
}

/* The first of a queue is loaded although the memory is full, if it can be given then. */
static bool may_load_first(struct agent *a, const struct queue *q, const struct forwarding *f)
{
    if (f->link == TO_ENDPOINT)
        return true;
    const bool permits = sending_permits(a, q, f);
    if (permits && sending_permits_load(a, f))
        return true;
    return (permits || q->sending > 0) && memory_make_room(a, f, f->bundle->bytes);
}

static void release_list(struct agent *a, struct list *l)
{
    list_for_each (it, l) {
        struct forwarding *f = container_of(it, struct forwarding, node);
        if (forwarding_can_load(f) && memory_full(a, 0))
            forwarding_release(a, f);
    }
}

/* The first bundle of a link's queue waits for bytes to return. With none of the link's in
 * transmission it pauses, and others go on: true. */
static bool await_bytes(struct agent *a, struct queue *q, struct forwarding *first)
{
    if (q->sending == 0) {
        const tick more = tick_add(first->pause, first->pause), most = 8 * a->config.retry_min;
        const bool again = first->pause > 0;
        first->pause = first->pause == 0 ? a->config.retry_min : tick_min(more, most);
        queue_pause(a, first, tick_add(a->now.now, first->pause));
        sending_await_room(a, first, again);
        memory_shrink(a);
        return true;
    }
    const bool waits = !list_empty(&q->sending_wait);
    sending_wait(a, q);
    trim_front(a, q, first->band, PREFETCH);
    /* Once in a poll: a copy whose bytes are released takes those of another copy at once. */
    if (!waits && memory_full(a, 0))
        bands_each_front(&q->bands, release_list, a);
    return false;
}

/* Moves bundles up from the back; 1 when one must be loaded for it. */
static int fill_ahead(struct agent *a, struct queue *q, struct band *b, uint64_t ahead,
                      struct agent_action *out)
{
    while (b->back.waiting > 0 && front_has_room(q, b, ahead)) {
        struct forwarding *f =
            turns_first(a, &b->back, q->window + PREFETCH, service_octets(&q->service));
        const bool first = f->buf == NULL && keeps_bytes(q, b, ahead, f);
        if (f->buf == NULL && !first && !memory_make_room(a, f, f->bundle->bytes))
            break;
        kind_leave(a, f);
        memory_wake(a, f);
        bands_move_up(a, &q->bands, f);
        if (first && !may_load_first(a, q, f))
            break; /* ready_band sees to it */
        if (f->buf == NULL && load_bytes(a, f, out))
            return 1;
    }
    return 0;
}

static int give_next(struct agent *a, struct forwarding *f, struct agent_action *out)
{
    assert(f->state == STATE_FRONT && f->buf != NULL);
    struct queue *q = f->queue;
    const enum bundle_priority priority = f->priority;
    struct turn *place = f->place; /* until it is done */
    f->place = NULL;
    take_out(a, f);
    f->place = place;
    room_leave(f);
    f->state = STATE_BUSY;
    q->busy_len++;
    list_add_tail(&q->busy, &f->node);
    service_begin(&q->service, f->key, a->now.now);
    forwarding_set_timer(a, f, f->bundle->expires);
    if (!(f->link == TO_ENDPOINT ? endpoint_action(a, f, out) : link_action(a, f, out)))
        return 0;
    assert(out->kind == AGENT_SEND || out->kind == AGENT_DELIVER);
    bands_served(&q->bands, priority, out->bundle->len);
    q->backlog[priority].given++;
    q->backlog[priority].given_bytes += out->bundle->len;
    return 1;
}

/* Loads the head of a band, and bundles after it. 1: an action; else *moved: there may be a bundle
 * to give now. */
static int ready_band(struct agent *a, struct queue *q, struct band *b, uint64_t ahead,
                      struct agent_action *out, bool *moved)
{
    const uint64_t before = b->front_len;
    if (before > 0) {
        struct forwarding *f = container_of(list_first(&b->front), struct forwarding, node);
        if (f->buf == NULL && !f->loading) {
            if (!may_load_first(a, q, f)) {
                *moved = await_bytes(a, q, f) || *moved;
                return 0;
            }
            if (load_bytes(a, f, out))
                return 1;
            if (f->buf != NULL || f->state != STATE_FRONT) {
                *moved = true;
                return 0;
            }
        }
    }
    if (fill_ahead(a, q, b, ahead, out))
        return 1;
    *moved = *moved || (before == 0 && b->front_len > 0);
    return 0;
}

/* The same for a priority: first the first band, then those after it, so that the next ordinal is
 * loaded when its turn comes. */
static int make_ready(struct agent *a, struct queue *q, enum bundle_priority p,
                      struct agent_action *out, bool *moved)
{
    uint64_t ahead = 0;
    const uint64_t most = q->window + PREFETCH;
    struct band *next, *b = bands_first(&q->bands, p);
    for (; b != NULL && ahead < most && !*moved; b = next) {
        next = bands_behind(&q->bands, p, b); /* b may be empty, and spent, afterwards */
        if (ready_band(a, q, b, ahead, out, moved))
            return 1;
        ahead += b->front_len;
        if (b->back.waiting > 0)
            break; /* no room in the front, or no memory, for more */
    }
    return 0;
}

int queue_poll(struct agent *a, struct queue *q, struct agent_action *out)
{
    if (!list_empty(&q->resumed))
        return 0; /* those that come back go first, in their order; then it is woken */
    list_sub(&q->sending_wait);
    if (waste_rests(a, q))
        return 0;
    struct forwarding *next = q->open ? sending_next(a, q) : NULL;
    if (next != NULL && (next->buf != NULL || may_load_first(a, q, next)))
        queue_return(a, next);
    for (bool moved = true; q->open && moved && q->bands.waiting > 0;) {
        const enum bundle_priority turn = bands_turn(&q->bands);
        if (turn != BUNDLE_PRIORITIES && count_given(q) < q->window) {
            struct band *b = bands_first(&q->bands, turn);
            struct forwarding *f = container_of(list_first(&b->front), struct forwarding, node);
            if (f->link == TO_ENDPOINT || sending_permits(a, q, f)) {
                if (give_next(a, f, out))
                    return 1;
                continue;
            }
            if (await_bytes(a, q, f))
                continue;
        }
        moved = false;
        for (int p = BUNDLE_PRIORITIES - 1; p >= 0 && !moved; p--) {
            if (make_ready(a, q, (enum bundle_priority)p, out, &moved))
                return 1;
        }
    }
    return 0;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

/* Places of the parties, and bundles of the queue that use one. */
static void check_places(const struct queue *q)
{
    uint64_t places = 0, taken = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        const struct band *b = &q->bands.of[p];
        list_for_each (it, &b->back.ring)
            places += container_of(it, struct turn, node)->places;
        list_for_each (it, &b->front)
            taken += container_of(it, struct forwarding, node)->place != NULL;
    }
    list_for_each (it, &q->busy)
        taken += container_of(it, struct forwarding, node)->place != NULL;
    assert(places == taken);
}

/* For a list in which all are in this state. */
static void check_list(const struct list *l, enum forwarding_state state, const struct band *b,
                       struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    list_for_each (it, l) {
        const struct forwarding *f = container_of(it, struct forwarding, node);
        assert((f->state == state || (state == STATE_BUSY && f->state == STATE_RECALLED)) &&
               f->band == b && f->priority < BUNDLE_PRIORITIES);
        sum[f->priority].bundles++;
        sum[f->priority].bytes += f->bundle->bytes;
    }
}

static uint64_t count_sum(const struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    uint64_t bundles = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        bundles += sum[p].bundles;
    return bundles;
}

static void check_band(const struct agent *a, const struct band *b,
                       struct agent_backlog sum[BUNDLE_PRIORITIES])
{
    const uint64_t before = count_sum(sum);
    check_list(&b->front, STATE_FRONT, b, sum);
    assert(count_sum(sum) == before + b->front_len);
    turns_check(a, &b->back);
    const struct list *rings[] = {&b->back.ring, &b->back.away};
    for (size_t i = 0; i < 2; i++)
        list_for_each (p, rings[i])
            list_for_each (s, &container_of(p, struct turn, node)->ring)
                check_list(&container_of(s, struct turn, node)->ring, STATE_BACK, b, sum);
    assert(count_sum(sum) == before + b->front_len + b->back.waiting);
}

void queue_check(const struct agent *a, const struct queue *q)
{
    struct agent_backlog sum[BUNDLE_PRIORITIES] = {{0}};
    uint64_t bytes = 0;
    unsigned above = UINT8_MAX + 1;
    list_for_each (it, &q->bands.ranks) {
        const struct band *rank = container_of(it, struct band, node);
        assert(rank->ordinal > 0 && rank->ordinal < above &&
               rank->front_len + rank->back.waiting > 0);
        above = rank->ordinal;
        check_band(a, rank, sum);
    }
    for (int p = 0; p < BUNDLE_PRIORITIES; p++)
        check_band(a, &q->bands.of[p], sum);
    assert(count_sum(sum) == q->bands.waiting);
    check_places(q);
    parties_check(a, q);
    sending_check(a, q);
    check_list(&q->busy, STATE_BUSY, NULL, sum);
    assert(count_sum(sum) == q->bands.waiting + q->busy_len);
    check_list(&q->paused, STATE_PAUSED, NULL, sum);
    check_list(&q->resumed, STATE_PAUSED, NULL, sum);
    check_list(&q->roomless, STATE_PAUSED, NULL, sum);
    assert(list_empty(&q->resumed) || !list_empty(&q->resuming));
    assert(!q->gone || (!q->open && q->busy_len == 0));
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        assert(sum[p].bundles <= q->backlog[p].bundles && sum[p].bytes <= q->backlog[p].bytes);
        bytes += sum[p].bytes;
    }
    assert(count_sum(sum) + q->verifying == q->bundles);
    assert(bytes == q->bytes || (q->verifying > 0 && bytes < q->bytes));
}
