/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal links share bundles. A search finds one of several equal routes, always the same while
 * nothing is queued. So its neighbour is excluded, and the next answer is an alternative if it
 * arrives as early or nearly so, with no more hops and equal confidence. Of these the link is used
 * whose neighbour got fewest bytes by such choices. For a destination without an alternative, no
 * second search is made. What can go wrong: after an absence of one neighbour the counts differ
 * much; then the difference is limited.
 */
#include "route/plan_router_impl.h"

#define AGAIN TICK_S
#define NEARLY 100 /* parts of the time until the arrival, */
#define NEARLY_MAX TICK_S
#define LEAD_BUNDLES 4 /* of the length of the one in question, and */
#define LEAD_BYTES (UINT64_C(256) << 10)

static size_t slot_of(uint64_t to, uint64_t neighbour)
{
    return hash_mix(1, to, neighbour) % BALANCE_SLOTS;
}

bool balance_looks(const struct plan_router *r, uint64_t to, uint64_t neighbour, tick now)
{
    const struct balance_slot *s = &r->alone[slot_of(to, neighbour)];
    return s->to != to || s->neighbour != neighbour || now >= s->until;
}

void balance_alone(struct plan_router *r, uint64_t to, uint64_t neighbour, tick now)
{
    r->alone[slot_of(to, neighbour)] =
        (struct balance_slot){.to = to, .neighbour = neighbour, .until = tick_add(now, AGAIN)};
}

static bool waits_for_a_contact(const struct plan_route *route)
{
    return route->hop[0].why == PLAN_CONTACT || route->hop[0].why == PLAN_RANGE;
}

bool balance_equal(const struct plan_route *first, const struct plan_route *other, tick now)
{
    const tick until = first->arrival > now ? first->arrival - now : 0;
    const tick later = tick_min(until / NEARLY, NEARLY_MAX);
    return other->arrival <= tick_add(first->arrival, later) && other->hops <= first->hops &&
           other->confidence >= first->confidence &&
           (!waits_for_a_contact(other) || waits_for_a_contact(first));
}

bool balance_prefers(struct next_hop *next_hop, struct next_hop *other, uint64_t bytes)
{
    struct next_hop *more = next_hop->given > other->given ? next_hop : other,
                    *less = more == next_hop ? other : next_hop;
    const uint64_t lead = LEAD_BUNDLES * bytes > LEAD_BYTES ? LEAD_BUNDLES * bytes : LEAD_BYTES;
    if (more->given - less->given > lead)
        less->given = more->given - lead;
    return other->given < next_hop->given;
}
