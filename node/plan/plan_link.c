/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The light time is looked up some time ahead, so that a timer that starts now is long enough for
 * an answer over a later, longer path: the timer grows a little early, and shrinks on time. Nothing
 * can go wrong; without a known light time none is set.
 */
#include "node/plan/plan_link.h"

#include <assert.h>

/* What is sent now is answered within twice the light time and this. */
#define AHEAD (100 * TICK_MS)
/* Light times of a table that are looked at at once; one with finer steps is followed step by step.
 */
#define PIECES_MAX 64

/* The longest light time in force from t until `ahead` later; the next one where none is. *until:
 * it holds so long. TICK_NEVER: there is none. */
static tick longest_light(const struct plan *p, uint64_t from, uint64_t to, tick t, tick ahead,
                          tick *until)
{
    struct plan_range r;
    tick longest = TICK_NEVER, at = t, end = tick_add(t, ahead);
    for (int i = 0; i < PIECES_MAX && at != TICK_NEVER; i++) {
        if (plan_range_at(p, from, to, at, &r) < 0)
            break;
        if (r.start > end && longest != TICK_NEVER) {
            *until = tick_min(*until, r.start - ahead);
            break;
        }
        longest = longest == TICK_NEVER || r.owlt > longest ? r.owlt : longest;
        if (r.start > t && i == 0)
            *until = tick_min(*until, r.start); /* it begins then: looked at again */
        if (r.end > t)
            *until = tick_min(*until, r.end);
        at = r.end;
    }
    assert(*until > t);
    return longest;
}

/* When a signal that leaves at t arrives. */
static tick light_arrives(const struct plan *p, uint64_t from, uint64_t to, tick t)
{
    struct plan_range r;
    return plan_range_at(p, from, to, t, &r) < 0 ? t : tick_add(t, r.owlt);
}

/* When the last signal of a contact that ends at t arrives. */
static tick end_arrives(const struct plan *p, uint64_t from, uint64_t to, tick t)
{
    struct plan_range r;
    if (t == TICK_NEVER)
        return TICK_NEVER;
    return plan_range_at(p, from, to, t - 1, &r) < 0 ? t : tick_add(t, r.owlt);
}

static void look_out(const struct plan *p, uint64_t node, uint64_t neighbour, tick now,
                     struct plan_link *out)
{
    const struct plan_contact *c = plan_get(p, plan_at(p, node, neighbour, now));
    out->last_ended = c == NULL;
    out->transmit = c != NULL && c->start <= now;
    out->rate = c == NULL ? 0 : c->rate;
    out->next = c == NULL ? TICK_NEVER : c->start > now ? c->start : now;
    if (c != NULL)
        out->until = tick_min(out->until, c->start > now ? c->start : c->end);
}

/* Does a signal of any contact of the neighbour arrive now? Goes through those that may still
 * arrive, and the first later one; each may limit out->until. */
static void look_in(const struct plan *p, uint64_t node, uint64_t neighbour, tick now, tick ago,
                    struct plan_link *out)
{
    tick t = now > ago ? now - ago : 0;
    out->silent = true;
    const struct plan_contact *c = plan_get(p, plan_at(p, neighbour, node, t));
    for (; c != NULL; c = plan_get(p, plan_at(p, neighbour, node, c->end))) {
        tick first = light_arrives(p, neighbour, node, c->start);
        tick last = end_arrives(p, neighbour, node, c->end);
        out->receive = out->receive || (first <= now && now < last);
        out->silent = out->silent && last <= now;
        if (first > now || last > now)
            out->until = tick_min(out->until, first > now ? first : last);
        if (c->start > now)
            break;
    }
}

void plan_link_at(const struct plan *p, uint64_t node, uint64_t neighbour, tick now,
                  struct plan_link *out)
{
    *out = (struct plan_link){.round_trip = TICK_NEVER, .next = TICK_NEVER, .until = TICK_NEVER};
    out->known = plan_meets(p, node, neighbour) || plan_meets(p, neighbour, node);
    if (!out->known)
        return;
    tick forth = longest_light(p, node, neighbour, now, 0, &out->until);
    tick back = longest_light(p, neighbour, node, now, 0, &out->until);
    tick light = tick_min(forth > back ? forth : back, TICK_NEVER / 4);
    tick ahead = tick_add(2 * light, AHEAD);
    if (forth != TICK_NEVER && back != TICK_NEVER)
        out->round_trip = tick_add(longest_light(p, node, neighbour, now, ahead, &out->until),
                                   longest_light(p, neighbour, node, now, ahead, &out->until));
    look_out(p, node, neighbour, now, out);
    /* What arrives now left no earlier, unless light times halve at once. */
    look_in(p, node, neighbour, now, forth == TICK_NEVER ? 0 : ahead, out);
    assert(out->until > now);
}
