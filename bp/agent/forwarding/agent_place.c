/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places bundles: for an endpoint of this node, in the queue of a link (RFC 9171 §5.4, as the
 * router answers), or without a route until a time. Queued bundles move to another route when a
 * link goes up or down, or when the router or its routes change. A forwarded bundle that returns
 * pauses, each time twice as long, so that bundles in a routing loop are not lost and do not fill
 * the links. Bundles without a route (restored before the routes were set, or after a route was
 * removed) wait until a route appears or they expire.
 */
#include <assert.h>

#include "bp/agent/agent_impl.h"

bool agent_is_here(const struct agent *a, const struct eid *e)
{
    return eid_same_node(e, &a->config.node);
}

void agent_await_route(struct agent *a, struct forwarding *f, const struct agent_head *h,
                       tick until)
{
    assert(f->queue == NULL && f->booking == 0);
    assert(f->state == STATE_DISPATCH_PENDING || f->state == STATE_NO_ROUTE);
    const bool known = f->state == STATE_NO_ROUTE;
    f->state = STATE_NO_ROUTE;
    kind_enter(a, f, h);
    forwarding_set_timer(a, f, tick_min(f->bundle->expires, until));
    room_enter(a, f);
    if (!known) /* once, however often it is asked for */
        emit_step(a, BUNDLE_WAITING, f);
    memory_rest(a, f);
    (void)memory_make_room(a, f, 0);
}

/* NULL: no memory. */
static struct queue *queue_of(struct agent *a, const struct forwarding *f,
                              const struct agent_head *h)
{
    if (f->link != TO_ENDPOINT)
        return &link_at(a, f->link)->queue;
    struct endpoint *e = endpoint_get(a, &h->destination);
    return e == NULL ? NULL : &e->queue;
}

/* Which of its queues: the first rule of the link that fits decides, else the bundle itself. */
static enum bundle_priority priority_of(const struct agent *a, const struct forwarding *f,
                                        const struct agent_head *h)
{
    const struct link *l = f->link == TO_ENDPOINT ? NULL : link_at(a, f->link);
    const struct rule_subject s = {.to = &h->destination,
                                   .from = &h->id.source,
                                   .bytes = f->bundle->bytes,
                                   .flags = h->flags,
                                   .priority = f->bundle->qos.priority};
    const struct rule_set *rules = l == NULL ? NULL : l->rules;
    for (size_t i = 0; rules != NULL && i < rules->len; i++) {
        if (rule_fits(&rules->of[i].rule, &s))
            return rules->of[i].queue;
    }
    assert(f->bundle->qos.priority < BUNDLE_PRIORITIES);
    return f->bundle->qos.priority;
}

static void place_copy(struct agent *a, struct forwarding *c, const struct agent_head *h, int link,
                       uint64_t booking, bool again)
{
    assert(forwarding_is_copy(c) && c->queue == NULL);
    c->link = link;
    struct queue *q = queue_of(a, c, h);
    assert(q != NULL); /* the caller saw to it */
    forwarding_set_timer(a, c, c->bundle->expires);
    queue_add(a, q, c, priority_of(a, c, h), NULL);
    emit_step(a, BUNDLE_QUEUED, c);
    const struct ask_answer answer = {.link = link, .booking = booking};
    ask_placed(a, c, &answer);
    if (again && link != TO_ENDPOINT) {
        queue_pause(a, c, tick_add(a->now.now, c->pause));
        c->rank = 0;
    }
}

/* For a group: can this node reassemble or deliver it for registrations here? */
static bool enter_here(struct agent *a, const struct record *r, const struct agent_head *h,
                       struct reassembly **as)
{
    if (h->id.fragment)
        return fragment_enter(a, h, &r->holder, false, as) == REFUSE_NONE;
    return endpoint_get(a, &h->destination) != NULL;
}

static void place_here(struct agent *a, struct forwarding *c, const struct agent_head *h,
                       struct reassembly *as)
{
    if (as != NULL)
        fragment_gather(a, c, h, as);
    else if (fragment_outrun(a, h))
        forwarding_end(a, c, END_REDUNDANT);
    else
        place_copy(a, c, h, TO_ENDPOINT, 0, false);
}

/* A bundle with several routes; or a fragment for a group: its copy is reassembled here, and it is
 * also forwarded. */
static void place_copies(struct agent *a, struct forwarding *f, const struct agent_head *h,
                         const struct ask_answer *answer)
{
    assert(!forwarding_is_copy(f) && answer->also_len <= ROUTER_COPIES_MAX);
    assert(answer->link >= 0 || (answer->here && answer->also_len == 0));
    struct reassembly *as = NULL;
    /* Without room to reassemble its fragments they are only forwarded. */
    const bool here = answer->here && enter_here(a, f->bundle, h, &as);
    const uint64_t links = answer->link >= 0 ? 1 + answer->also_len : 0, n = links + here;
    struct list *it = n > 0 && copies_room(a, n) ? copies_make(a, f, n) : NULL;
    if (it == NULL) {
        if (as != NULL)
            fragment_leave(a, as, END_NOT_STORED);
        f->link = NO_ROUTE;
        agent_await_route(a, f, h, tick_add(a->now.now, a->config.retry_max));
        return;
    }
    const bool again = f->again;
    f->again = false;
    f->bundle->fan->gathered = as != NULL;
    for (uint64_t i = 0; i < n; i++) {
        struct forwarding *c = container_of(it, struct forwarding, sibling);
        it = it->next;
        c->pause = f->pause;
        if (i == links)
            place_here(a, c, h, as); /* the last one: it may end with that, and so may the bundle */
        else if (i == 0)
            place_copy(a, c, h, answer->link, answer->booking, again);
        else
            place_copy(a, c, h, (int)answer->also[i - 1].link, answer->also[i - 1].booking, again);
    }
}

static void place_by(struct agent *a, struct forwarding *f, const struct agent_head *h,
                     const struct ask_answer *answer)
{
    assert(f->queue == NULL && state_is_live(f->state));
    if (answer->too_late && f->link != NO_ROUTE_IN_TIME) { /* once, until there is a route */
        a->counters.too_late++;
        late_note(a, h, f->bundle->expires, answer->arrival, NO_LINK);
    }
    f->link = answer->too_late                            ? NO_ROUTE_IN_TIME
              : answer->link == NO_ROUTE && !answer->none ? NO_CONTACT
                                                          : answer->link;
    if (answer->also_len > 0 || answer->here) {
        place_copies(a, f, h, answer);
        return;
    }
    if (answer->link == NO_ROUTE) {
        agent_await_route(a, f, h, answer->until);
        return;
    }
    if (f->link == TO_ENDPOINT && fragment_place(a, f, h))
        return;
    struct queue *q = queue_of(a, f, h);
    if (q == NULL) {
        agent_await_route(a, f, h, tick_add(a->now.now, a->config.retry_max));
        return;
    }
    forwarding_set_timer(a, f, f->bundle->expires);
    queue_add(a, q, f, priority_of(a, f, h), h);
    emit_step(a, BUNDLE_QUEUED, f);
    ask_placed(a, f, answer);
    if (f->again && f->link != TO_ENDPOINT) {
        queue_pause(a, f, tick_add(a->now.now, f->pause));
        f->rank = 0; /* it had no turn for this */
    }
    f->again = false;
}

static void place_head(struct agent *a, struct forwarding *f, const struct agent_head *h)
{
    assert(f->queue == NULL && list_empty(&f->node));
    room_leave(f);
    kind_leave(a, f);
    memory_wake(a, f);
    const struct ask_answer answer = ask_router(a, f, h);
    place_by(a, f, h, &answer);
}

void agent_place(struct agent *a, struct forwarding *f)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    place_head(a, f, &h);
}

static bool is_elsewhere(const struct forwarding *f, const struct ask_answer *answer)
{
    const int link = f->queue == NULL ? NO_ROUTE : f->link;
    if (f->queue != NULL && f->queue->gone)
        return true; /* a new link may have its index */
    return answer->link != link || answer->also_len > 0 || answer->here;
}

bool agent_goes_elsewhere(const struct agent *a, const struct forwarding *f)
{
    struct agent_head h;
    record_head(f->bundle, &h);
    const struct ask_answer answer = ask_router(a, f, &h);
    return is_elsewhere(f, &answer);
}

/* True: it moved to another link, or has no route. Else at most its booking changed. */
static bool place_again(struct agent *a, struct forwarding *f)
{
    assert(state_is_queued(f->state) && f->link != TO_ENDPOINT);
    if (forwarding_is_copy(f))
        return false; /* the route of this one is this link */
    struct agent_head h;
    record_head(f->bundle, &h);
    const struct ask_answer answer = ask_router(a, f, &h);
    if (!is_elsewhere(f, &answer)) {
        ask_placed(a, f, &answer);
        return false;
    }
    forwarding_load_done(a, f); /* the result of a running load is not needed */
    queue_leave(a, f);
    f->state = STATE_DISPATCH_PENDING;
    place_by(a, f, &h, &answer);
    return true;
}

void agent_leave_link(struct agent *a, struct forwarding *f)
{
    assert(f->queue != NULL && f->link != TO_ENDPOINT);
    if (forwarding_is_copy(f)) {
        copies_abandon(a, f);
        return;
    }
    forwarding_load_done(a, f);
    queue_leave(a, f);
    f->state = STATE_DISPATCH_PENDING;
    agent_place(a, f);
}

/* What the peer refused, or the link lost, used the link: its next turn is as dear as the last one.
 * What was refused again goes behind its source's other bundles. What paused before its first turn
 * has not had it. All else stands where it stood. */
static void stand_again(struct agent *a, struct forwarding *f)
{
    if (f->rank == 0 || (f->pays && f->tries > f->losses + 1))
        queue_behind(a, f);
    else if (f->pays)
        queue_again(a, f);
    else
        queue_return(a, f);
}

void agent_proceed(struct agent *a, struct forwarding *f)
{
    if (!place_again(a, f))
        stand_again(a, f);
}

/* A bundle that fails repeatedly has had its turn: it must not precede all later bundles. */
void agent_retry(struct agent *a, struct forwarding *f)
{
    if (place_again(a, f))
        return;
    if (f->tries > 1)
        queue_behind(a, f);
    else
        stand_again(a, f);
}

/* Questions for a link's kinds (kinds_due) do not include bundles at the heads of its queues. A
 * bundle in a kind has no booking. */
static bool must_ask(const struct agent *a, const struct forwarding *f)
{
    const bool books = a->router.ops->note != NULL && (f->kind == NULL || f->kind->rest);
    return !f->queue->open || kinds_due(a) || (books && f->booking == 0);
}

void agent_go_on(struct agent *a, struct forwarding *f)
{
    if (f->link != TO_ENDPOINT && must_ask(a, f))
        agent_proceed(a, f);
    else
        stand_again(a, f);
}

/* The last one first: bundles beyond the room at the heads of the queues go behind them. The queues
 * give no bundles until all are back. Returns what is left of n. */
static uint64_t resume_some(struct agent *a, uint64_t n)
{
    while (n > 0 && !list_empty(&a->resuming)) {
        struct queue *q = container_of(list_first(&a->resuming), struct queue, resuming);
        if (list_empty(&q->resumed)) {
            list_sub(&q->resuming);
            queue_wake(a, q);
            continue;
        }
        agent_go_on(a, container_of(q->resumed.prev, struct forwarding, node));
        n--;
    }
    return n;
}

void agent_resume(struct agent *a, struct queue *q)
{
    queue_resume(a, q);
    (void)resume_some(a, a->config.place_slice);
}

bool agent_place_again(struct agent *a, struct forwarding *f)
{
    assert(f->kind == NULL);
    if (f->state != STATE_NO_ROUTE)
        return place_again(a, f);
    agent_place(a, f);
    return true;
}

/* The bundles of one list that have a better route now. */
static void place_list_again(struct agent *a, struct list *l)
{
    list_for_each_safe (it, l)
        place_again(a, container_of(it, struct forwarding, node));
}

/* The few at the head of its queues at once, all others in slices. */
static void place_link_again(struct agent *a, struct link *l)
{
    bands_each_front(&l->queue.bands, place_list_again, a);
    kinds_ask(a, &l->kinds);
}

void agent_place_touched(struct agent *a)
{
    const struct router_ops *ops = a->router.ops;
    if (ops->touches == NULL) {
        agent_place_anew(a);
        return;
    }
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL && ops->touches(a->router.state, (int)i))
            place_link_again(a, a->links[i]);
    }
    if (ops->touches(a->router.state, ROUTER_NO_LINK))
        kinds_ask(a, &a->unrouted_kinds);
    agent_place_slice(a);
}

/* Bundles with answers that `touches` does not concern, and that may have this link in them. */
static void place_alike(struct agent *a, uint32_t link)
{
    if (a->router.ops->alike == NULL)
        return;
    if (!ask_link_nodes(a, link))
        kinds_ask_alike(a);
    agent_place_heads(a);
}

void agent_place_longer(struct agent *a, uint32_t link, uint64_t least)
{
    const struct router_ops *ops = a->router.ops;
    if (ops->alike == NULL) {
        if (!ask_link_nodes(a, link))
            agent_reroute(a);
        return;
    }
    if (ops->uses == NULL || ops->uses(a->router.state, link)) {
        kinds_ask_longer(a, &a->unrouted_kinds, least);
        for (uint32_t i = 0; i < a->links_cap; i++) {
            if (a->links[i] == NULL)
                continue;
            bands_each_front(&a->links[i]->queue.bands, place_list_again, a);
            kinds_ask_longer(a, &a->links[i]->kinds, least);
        }
    }
    place_alike(a, link);
}

void agent_link_changed(struct agent *a, uint32_t link)
{
    const struct router_ops *ops = a->router.ops;
    struct link *own = link_at(a, link);
    const bool changed = ask_changed(a, link);
    if (changed && ops->touches == NULL)
        agent_place_all(a);
    else if (changed)
        agent_place_touched(a);
    if (ops->touches != NULL) {
        place_alike(a, link);
        return;
    }
    if (ask_link_nodes(a, link)) {
        agent_place_heads(a);
        return;
    }
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (i == link || a->links[i] == NULL)
            continue;
        struct link *l = a->links[i];
        struct link *from = own->queue.open ? l : own; /* to this one, as their best; or away */
        bool waits = from->queue.bundles > 0 && (own->queue.open || l->queue.open);
        if (!waits || (ops->meet != NULL && !ops->meet(a->router.state, link, i))) /* dear: last */
            continue;
        place_link_again(a, from);
        if (from == own)
            break; /* all other routes were examined */
    }
    agent_place_slice(a);
}

static void place_unbooked_again(struct agent *a, struct list *l)
{
    list_for_each_safe (it, l) {
        struct forwarding *f = container_of(it, struct forwarding, node);
        if (f->booking == 0)
            place_again(a, f);
    }
}

void agent_place_heads(struct agent *a)
{
    a->heads = false;
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL)
            bands_each_front(&a->links[i]->queue.bands, place_unbooked_again, a);
    }
    agent_place_slice(a);
}

void agent_place_anew(struct agent *a)
{
    a->anew = a->heads = false;
    for (uint32_t i = 0; i < a->links_cap; i++) {
        if (a->links[i] != NULL)
            place_link_again(a, a->links[i]);
    }
    kinds_ask_moving(a);
    agent_place_all(a);
}

uint64_t agent_life_ms(const struct agent *a, struct agent_now now)
{
    return a->life_begun ? a->life_base_ms + now.now / TICK_MS : now.dtn_ms;
}

uint64_t agent_left_ms(const struct agent *a, uint64_t key, struct agent_now now)
{
    const struct forwarding *f = forwarding_find(a, key);
    if (f == NULL || f->bundle->expires <= now.now)
        return 0;
    return f->bundle->expires == TICK_NEVER
               ? UINT64_MAX
               : (f->bundle->expires - now.now + TICK_MS - 1) / TICK_MS;
}

uint64_t agent_life(const struct agent *a)
{
    return agent_life_ms(a, a->now);
}

uint64_t agent_until_ms(const struct agent *a, tick expires)
{
    return expires == TICK_NEVER ? UINT64_MAX : a->life_base_ms + expires / TICK_MS;
}

uint64_t record_until_ms(const struct agent *a, const struct record *r)
{
    return agent_until_ms(a, r->expires);
}

tick agent_expiry(const struct agent *a, uint64_t expires_ms)
{
    uint64_t now_ms = agent_life(a);
    if (expires_ms <= now_ms)
        return a->now.now;
    uint64_t left = expires_ms - now_ms;
    return left > TICK_NEVER / TICK_MS ? TICK_NEVER : tick_add(a->now.now, left * TICK_MS);
}

/* A restored bundle gets the time. Its head may be of a release whose lifetimes expired by the wall
 * clock: it stays at most for its lifetime here, too. */
static void wake_up(const struct agent *a, struct record *r, const struct agent_head *h)
{
    r->arrived = a->now.now;
    uint64_t life = agent_life(a);
    r->rest_ms = life > h->arrived_ms ? life - h->arrived_ms : 0;
    r->expires = agent_expiry(a, h->expires_ms);
    uint64_t age = record_age_ms(a, r, h->age_ms);
    uint64_t left = age < h->lifetime_ms ? h->lifetime_ms - age : 0;
    if (h->lifetime_ms != UINT64_MAX && left < UINT64_MAX - life)
        r->expires = tick_min(r->expires, agent_expiry(a, life + left));
}

static void place_restored(struct agent *a)
{
    struct forwarding *f = container_of(list_first(&a->restored), struct forwarding, node);
    struct agent_head h;
    list_sub(&f->node);
    record_head(f->bundle, &h);
    wake_up(a, f->bundle, &h);
    place_head(a, f, &h);
}

bool agent_places(const struct agent *a)
{
    return !list_empty(&a->leaving) || !list_empty(&a->resuming) || !list_empty(&a->restored);
}

void agent_place_slice(struct agent *a)
{
    uint64_t n = links_leave(a, a->config.place_slice);
    n = resume_some(a, n);
    for (; n > 0 && !list_empty(&a->restored); n--)
        place_restored(a);
    kinds_step(a, n);
}

void agent_place_all(struct agent *a)
{
    a->place = false;
    kinds_ask(a, &a->unrouted_kinds);
    agent_place_slice(a);
}

uint64_t record_age_ms(const struct agent *a, const struct record *r, uint64_t age_ms)
{
    uint64_t stay = r->rest_ms + (a->now.now - r->arrived) / TICK_MS;
    return stay > UINT64_MAX - age_ms ? UINT64_MAX : age_ms + stay;
}
