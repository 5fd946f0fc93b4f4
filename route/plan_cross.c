/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hop: when the first and last byte leave and arrive. What is ready later never arrives
 * earlier, since the node that has it may wait: where the light time becomes shorter by more than
 * the wait, the node waits. That makes a search by node exact (plan_search.c).
 */
#include <assert.h>

#include "route/plan_impl.h"

/* SABR: nodes move apart by at most 125 miles a second during the transmission. */
#define MARGIN_OF 125
#define MARGIN_IN 186282

uint64_t plan_gross(const struct plan *p, uint64_t bytes)
{
    plan_wide share = ((plan_wide)bytes * p->config.overhead_ppm + 999999) / 1000000;
    plan_wide more = share > p->config.overhead_min ? share : p->config.overhead_min;
    return more > UINT64_MAX - bytes ? UINT64_MAX : bytes + (uint64_t)more;
}

uint64_t plan_room(const struct plan *p, uint64_t volume)
{
    plan_wide most = (plan_wide)volume * 1000000 / (1000000 + (plan_wide)p->config.overhead_ppm);
    uint64_t less = volume < p->config.overhead_min ? 0 : volume - p->config.overhead_min;
    uint64_t bytes = most < less ? (uint64_t)most : less;
    while (bytes > 0 && plan_gross(p, bytes) > volume) /* at most once, by rounding */
        bytes--;
    return volume == UINT64_MAX ? volume : bytes;
}

tick plan_sending(uint64_t bytes, uint64_t rate)
{
    if (rate == 0)
        return 0;
    if (bytes <= (UINT64_MAX - rate) / (8 * TICK_S))
        return (bytes * 8 * TICK_S + rate - 1) / rate;
    plan_wide t = ((plan_wide)bytes * (8 * TICK_S) + rate - 1) / rate;
    return t > TICK_NEVER ? TICK_NEVER : (tick)t;
}

static tick with_margin(const struct plan *p, tick owlt)
{
    if (!p->config.margin)
        return owlt;
    plan_wide margin = ((plan_wide)owlt * MARGIN_OF + MARGIN_IN - 1) / MARGIN_IN;
    return tick_add(owlt, (tick)margin);
}

uint64_t query_backlog(const struct plan_query *q, const struct pair *pair)
{
    for (size_t i = 0; i < q->backlog_len; i++) {
        if (q->backlog[i].neighbour == pair->to->number)
            return q->backlog[i].bytes;
    }
    return 0;
}

bool query_excludes(const struct plan_query *q, uint64_t neighbour)
{
    for (size_t i = 0; i < q->excluded_len; i++) {
        if (q->excluded[i] == neighbour)
            return true;
    }
    return false;
}

uint64_t plan_work(const struct plan *p)
{
    return p->work;
}

/* Crosses the ranges from `at` on. */
static bool cross_ranges(const struct plan *p, struct contact *c, tick at, tick takes, tick limit,
                         struct crossing *out)
{
    struct piece r;
    tick best = tick_add(limit, 1), from = at;
    bool found = false;
    while (tick_add(at, takes) < best && pair_range(c->pair, at, &r)) {
        at = at > r.start ? at : r.start;
        tick sent = tick_add(at, takes), light = with_margin(p, r.owlt);
        if (at >= c->is.end || sent > c->is.end || sent == TICK_NEVER)
            break;
        if (tick_add(sent, light) < best) {
            best = tick_add(sent, light);
            *out = (struct crossing){.contact = c,
                                     .first_sent = at,
                                     .last_sent = sent,
                                     .first_arrives = at + light,
                                     .last_arrives = best,
                                     .why = at > from ? PLAN_RANGE : PLAN_READY};
            found = true;
        }
        at = r.end;
    }
    return found;
}

/* Bytes that the contact's bookings leave, and those that yield to this volume. */
static uint64_t cargo_left(const struct cargo *cargo, const struct contact *c)
{
    const struct plan_query *q = cargo->query;
    const uint64_t left = contact_left(c, cargo->priority), booked = c->booked[cargo->priority];
    if (c->is.from != q->from)
        return left;
    if (cargo->relaxed)
        return left + booked;
    if (c->is.start > q->now)
        return left;
    for (size_t i = 0; i < q->yields_len; i++) {
        if (q->yields[i].neighbour == c->is.to)
            return left + (q->yields[i].bytes < booked ? q->yields[i].bytes : booked);
    }
    return left;
}

bool contact_cross(const struct plan *p, struct contact *c, const struct cargo *cargo, tick ready,
                   uint64_t backlog, tick limit, struct crossing *out)
{
    uint64_t left = cargo->empty ? c->volume : cargo_left(cargo, c);
    tick from = ready > c->is.start ? ready : c->is.start;
    if (c->is.confidence < p->config.confidence_min || left < cargo->volume)
        return false;
    tick at = tick_add(from, plan_sending(backlog, c->is.rate));
    if (at >= c->is.end)
        return false;
    if (!cross_ranges(p, c, at, plan_sending(cargo->volume, c->is.rate), limit, out))
        return false;
    if (out->why == PLAN_READY && at > ready)
        out->why = at > from ? PLAN_BACKLOG : PLAN_CONTACT;
    assert(out->first_sent >= ready && out->last_sent <= c->is.end && out->last_arrives <= limit);
    return true;
}

bool plan_yield_helps(const struct plan *p, const struct plan_query *q, const struct plan_yield *y)
{
    const struct pair *pair = plan_pair(p, q->from, y->neighbour);
    const size_t i = pair == NULL ? 0 : pair_first(pair, q->now);
    if (pair == NULL || i == pair->len || pair->at[i]->is.start > q->now)
        return false;
    struct plan_query without = *q, with = *q;
    struct crossing x;
    without.yields_len = 0;
    with.yields = y;
    with.yields_len = 1;
    struct cargo cargo = {
        .volume = plan_gross(p, q->bytes), .priority = q->priority, .query = &without};
    const uint64_t backlog = query_backlog(q, pair);
    if (contact_cross(p, pair->at[i], &cargo, q->now, backlog, TICK_NEVER - 1, &x))
        return false;
    cargo.query = &with;
    return contact_cross(p, pair->at[i], &cargo, q->now, backlog, TICK_NEVER - 1, &x);
}

/* Bytes of the backlog that the contact transmits from `ready` on (SABR: backlog relief). */
static uint64_t relieve_contact(uint64_t backlog, const struct plan_contact *c, tick ready)
{
    struct plan_contact rest = *c;
    rest.start = ready > c->start ? ready : c->start;
    uint64_t carries = contact_volume(&rest);
    return backlog > carries ? backlog - carries : 0;
}

bool pair_cross(struct plan *p, const struct pair *pair, const struct cargo *cargo, tick ready,
                uint64_t backlog, tick limit, struct crossing *out)
{
    struct crossing one;
    bool found = false;
    p->work++;
    for (size_t i = pair_first(pair, ready); i < pair->len; i++) {
        struct contact *c = pair->at[i];
        p->work++;
        if (c->is.start > limit || (found && c->is.start >= out->last_arrives))
            break;
        if ((cargo->ban == 0 || c->banned != cargo->ban) &&
            contact_cross(p, c, cargo, ready, backlog, limit, &one) &&
            (!found || one.last_arrives < out->last_arrives)) {
            *out = one;
            found = true;
        }
        if (backlog > 0)
            backlog = relieve_contact(backlog, &c->is, ready);
    }
    return found;
}
