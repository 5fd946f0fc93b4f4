/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a bundle goes: to an endpoint of this node, or to the link of the best route (RFC 9171
 * §5.4): the best one that is up. What waits for a
 * link that is down goes on when another one that leads there comes up; the link that a bundle came
 * from, or that failed it last, is the last choice among those. One that comes again although it
 * was forwarded pauses, each time twice as long, so that what goes in a circle is not lost and does
 * not fill the links. Bundles without a way (restored before the routes were told, or their route
 * is gone from the configuration) wait apart until a route comes or they expire.
 */
#include <assert.h>

#include "bp/agent_impl.h"

bool agent_is_here(const struct agent *a, const struct eid *e)
{
    return eid_same_node(e, &a->config.node);
}

int agent_target(const struct agent *a, const struct eid *destination, int avoid, int *link)
{
    if (agent_is_here(a, destination)) {
        *link = TO_ENDPOINT;
        return 0;
    }
    size_t at = 0;
    int first = NO_LINK, up = NO_LINK, found;
    while ((found = routes_next(&a->routes, destination, &at)) >= 0) {
        bool open = a->links[found].lane.open;
        if (open && found != avoid) {
            *link = found;
            return 0;
        }
        up = open && up == NO_LINK ? found : up;
        first = first == NO_LINK ? found : first;
    }
    if (first == NO_LINK)
        return HELIO_ENOENT;
    *link = up != NO_LINK ? up : first;
    return 0;
}

void agent_set_aside(struct agent *a, struct record *r, tick until)
{
    r->state = STATE_UNPLACED;
    list_add_tail(&a->unplaced, &r->node);
    record_set_timer(a, r, tick_min(r->expires, until));
}

void agent_place(struct agent *a, struct record *r)
{
    struct agent_head h;
    record_head(r, &h);
    if (agent_target(a, &h.destination, r->avoid, &r->link) < 0) {
        agent_set_aside(a, r, TICK_NEVER);
        return;
    }
    if (r->link == TO_ENDPOINT && fragment_place(a, r, &h))
        return;
    struct lane *l;
    if (r->link == TO_ENDPOINT) {
        struct endpoint *e = endpoint_get(a, &h.destination);
        if (e == NULL) {
            agent_set_aside(a, r, tick_add(a->now.now, a->config.retry_max));
            return;
        }
        l = &e->lane;
    } else {
        l = &a->links[r->link].lane;
    }
    record_set_timer(a, r, r->expires);
    lane_add(a, l, r);
    if (r->again && r->link != TO_ENDPOINT)
        lane_pause(a, r, tick_add(a->now.now, r->pause));
    r->again = false;
}

void agent_place_again(struct agent *a, struct record *r)
{
    assert(r->state >= STATE_FRONT && r->state < STATE_GONE && r->link != TO_ENDPOINT);
    record_load_done(a, r); /* what is being loaded comes for nobody */
    lane_leave(a, r);
    r->state = STATE_UNPLACED;
    agent_place(a, r);
}

/* Those of one list that have a better way now. */
static void place_list_again(struct agent *a, struct list *l)
{
    list_for_each_safe (it, l) {
        struct record *r = container_of(it, struct record, node);
        struct agent_head h;
        int link;
        record_head(r, &h);
        if (agent_target(a, &h.destination, r->avoid, &link) == 0 && link != r->link)
            agent_place_again(a, r);
    }
}

static void place_lane_again(struct agent *a, struct lane *l)
{
    if (list_empty(&l->front) && list_empty(&l->back) && list_empty(&l->paused))
        return;
    place_list_again(a, &l->front);
    place_list_again(a, &l->back);
    place_list_again(a, &l->paused);
}

void agent_link_changed(struct agent *a, uint32_t link)
{
    struct lane *own = &a->links[link].lane;
    for (uint32_t i = 0; i < LINKS_MAX; i++) {
        struct lane *l = &a->links[i].lane;
        if (i == link || !a->links[i].used || !routes_meet(&a->routes, link, i))
            continue;
        if (own->open)
            place_lane_again(a, l); /* to this one, when it is their best */
        else if (l->open)
            place_lane_again(a, own);
    }
}

uint64_t agent_life_ms(const struct agent *a, struct agent_now now)
{
    return a->life_begun ? a->life_base_ms + now.now / TICK_MS : now.dtn_ms;
}

uint64_t agent_life(const struct agent *a)
{
    return agent_life_ms(a, a->now);
}

uint64_t record_until_ms(const struct agent *a, const struct record *r)
{
    return r->expires == TICK_NEVER ? UINT64_MAX : a->life_base_ms + r->expires / TICK_MS;
}

tick agent_expiry(const struct agent *a, uint64_t expires_ms)
{
    uint64_t now_ms = agent_life(a);
    if (expires_ms <= now_ms)
        return a->now.now;
    uint64_t left = expires_ms - now_ms;
    return left > TICK_NEVER / TICK_MS ? TICK_NEVER : tick_add(a->now.now, left * TICK_MS);
}

/* A restored bundle meets the clock for the first time. Its head may be of a release whose
 * lifetimes ended by the wall clock: it stays for its lifetime at most here, too. */
static void wake_up(struct agent *a, struct record *r)
{
    struct agent_head h;
    record_head(r, &h);
    r->restored = false;
    r->arrived = a->now.now;
    uint64_t life = agent_life(a);
    r->rest_ms = life > h.arrived_ms ? life - h.arrived_ms : 0;
    r->expires = agent_expiry(a, h.expires_ms);
    uint64_t age = record_age_ms(a, r, h.age_ms);
    uint64_t left = age < h.lifetime_ms ? h.lifetime_ms - age : 0;
    if (h.lifetime_ms != UINT64_MAX && left < UINT64_MAX - life)
        r->expires = tick_min(r->expires, agent_expiry(a, life + left));
}

void agent_place_all(struct agent *a)
{
    struct list all;
    list_init(&all);
    a->place = false;
    while (!list_empty(&a->unplaced)) {
        struct list *n = list_first(&a->unplaced);
        list_sub(n);
        list_add_tail(&all, n);
    }
    while (!list_empty(&all)) {
        struct record *r = container_of(list_first(&all), struct record, node);
        list_sub(&r->node);
        if (r->restored)
            wake_up(a, r);
        agent_place(a, r);
    }
}

uint64_t record_age_ms(const struct agent *a, const struct record *r, uint64_t age_ms)
{
    uint64_t stay = r->rest_ms + (a->now.now - r->arrived) / TICK_MS;
    return stay > UINT64_MAX - age_ms ? UINT64_MAX : age_ms + stay;
}
