/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues in front of links and endpoints: first in, first out, every step O(1). A bundle whose
 * turn is near but whose bytes are only in the store is asked for ahead of time (PREFETCH), so that
 * a link with a full window never waits for the medium; under memory pressure at least the one at
 * the head is loaded, so that a queue always moves. Deliveries keep their bytes until they are
 * answered, and anybody can name an endpoint: under pressure one that nobody registered has none in
 * memory, and a registered one has one.
 */
#include <assert.h>

#include "bp/agent_impl.h"

void lane_init(struct lane *l, uint64_t window)
{
    *l = (struct lane){.window = window};
    list_init(&l->node);
    list_init(&l->front);
    list_init(&l->back);
    list_init(&l->busy);
    assert(window > 0);
    list_init(&l->paused);
}

bool lane_empty(const struct lane *l)
{
    return list_empty(&l->front) && list_empty(&l->back) && list_empty(&l->busy) &&
           list_empty(&l->paused);
}

void lane_wake(struct agent *a, struct lane *l)
{
    if (l->open && list_empty(&l->node) && (!list_empty(&l->front) || !list_empty(&l->back)))
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

static bool front_has_room(const struct lane *l)
{
    return l->front_len + count_given(l) < l->window + PREFETCH;
}

static void to_front(struct lane *l, struct record *r, bool first)
{
    assert(list_empty(&r->node) && r->lane == l);
    r->state = STATE_FRONT;
    l->front_len++;
    if (first)
        list_add_head(&l->front, &r->node);
    else
        list_add_tail(&l->front, &r->node);
}

/* May the bundle's bytes stay in memory, or come there, although the memory is full? */
static bool keeps_bytes(const struct lane *l, const struct record *r)
{
    if (r->link == TO_ENDPOINT)
        return l->open && l->front_len + count_given(l) == 0;
    return l->front_len == 0;
}

void lane_add(struct agent *a, struct lane *l, struct record *r)
{
    assert(r->lane == NULL);
    r->lane = l;
    l->bundles++;
    l->bytes += r->bytes;
    bool stays = r->link != TO_ENDPOINT || keeps_bytes(l, r) || !lane_memory_full(a, 0);
    if (r->buf != NULL && stays && list_empty(&l->back) && front_has_room(l)) {
        to_front(l, r, false);
    } else {
        r->state = STATE_BACK;
        list_add_tail(&l->back, &r->node);
        if (lane_memory_full(a, 0))
            record_release(a, r);
    }
    lane_wake(a, l);
}

static void take_out(struct record *r)
{
    struct lane *l = r->lane;
    assert(l != NULL && r->state >= STATE_FRONT && r->state < STATE_GONE);
    assert(r->state != STATE_FRONT || l->front_len > 0);
    assert(r->state != STATE_BUSY || l->busy_len > 0);
    list_sub(&r->node);
    if (r->state == STATE_FRONT)
        l->front_len--;
    else if (r->state == STATE_BUSY)
        l->busy_len--;
    if (r->recalled)
        list_sub(&r->answer);
    r->recalled = false;
}

void lane_leave(struct agent *a, struct record *r)
{
    struct lane *l = r->lane;
    assert(l->bundles > 0 && l->bytes >= r->bytes);
    take_out(r);
    l->bundles--;
    l->bytes -= r->bytes;
    r->lane = NULL;
    ask_ended(a, r, ROUTER_TAKEN_BACK);
    if (r->link == TO_ENDPOINT)
        endpoint_tidy(a, l);
    else
        lane_wake(a, l);
}

void lane_return(struct agent *a, struct record *r)
{
    take_out(r);
    to_front(r->lane, r, true);
    record_set_timer(a, r, r->expires);
    lane_wake(a, r->lane);
}

void lane_pause(struct agent *a, struct record *r, tick until)
{
    struct lane *l = r->lane;
    take_out(r);
    r->state = STATE_PAUSED;
    list_add_tail(&l->paused, &r->node);
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
    return r->whole ? fragment_join(a, r, out) : lane_load(a, r, out);
}

/* Moves bundles up from the back; 1 when one must be loaded for it. */
static int fill_ahead(struct agent *a, struct lane *l, struct agent_action *out)
{
    while (!list_empty(&l->back) && front_has_room(l)) {
        struct record *r = container_of(list_first(&l->back), struct record, node);
        if (r->buf == NULL && !keeps_bytes(l, r) && lane_memory_full(a, r->bytes))
            break;
        take_out(r);
        to_front(l, r, false);
        if (r->buf == NULL && load_record(a, r, out))
            return 1;
    }
    return 0;
}

static int give_next(struct agent *a, struct record *r, struct agent_action *out)
{
    assert(r->state == STATE_FRONT && r->buf != NULL);
    struct lane *l = r->lane;
    take_out(r);
    r->state = STATE_BUSY;
    l->busy_len++;
    list_add_tail(&l->busy, &r->node);
    record_set_timer(a, r, r->expires);
    return r->link == TO_ENDPOINT ? endpoint_action(a, r, out) : link_action(a, r, out);
}

int lane_poll(struct agent *a, struct lane *l, struct agent_action *out)
{
    while (l->open) {
        if (list_empty(&l->front) && list_empty(&l->back))
            return 0;
        if (!list_empty(&l->front)) {
            struct record *r = container_of(list_first(&l->front), struct record, node);
            if (r->buf != NULL && count_given(l) < l->window) {
                if (give_next(a, r, out))
                    return 1;
                continue;
            }
            if (r->buf == NULL && !r->loading) {
                if (load_record(a, r, out))
                    return 1;
                if (r->buf != NULL || r->state != STATE_FRONT)
                    continue;
            }
        }
        size_t before = l->front_len;
        if (fill_ahead(a, l, out))
            return 1;
        if (l->front_len == before || before > 0)
            return 0;
    }
    return 0;
}

/* It asserts in every build, with NDEBUG too: tests rely on it. */
#undef NDEBUG
#include <assert.h>

/* Counts a list whose records are all in this state. */
static void check_list(const struct list *l, enum record_state state, uint64_t *bundles,
                       uint64_t *bytes)
{
    list_for_each (it, l) {
        const struct record *r = container_of(it, struct record, node);
        assert(r->state == state);
        ++*bundles;
        *bytes += r->bytes;
    }
}

void lane_check(const struct lane *l)
{
    uint64_t bundles = 0, bytes = 0;
    check_list(&l->front, STATE_FRONT, &bundles, &bytes);
    assert(bundles == l->front_len);
    check_list(&l->busy, STATE_BUSY, &bundles, &bytes);
    assert(bundles == l->front_len + l->busy_len);
    check_list(&l->back, STATE_BACK, &bundles, &bytes);
    check_list(&l->paused, STATE_PAUSED, &bundles, &bytes);
    assert(bundles == l->bundles && bytes == l->bytes);
}
