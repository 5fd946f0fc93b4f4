/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds parts one after the other: the route on which a short part arrives first, and as much as
 * its contacts have left. Each part is booked until the last one is found, so that the next one
 * sees what is left. Then all are unbooked, and only the first is the answer: after its
 * transmission the router is asked for the rest. What can go wrong: a part has no route, or there
 * are too many parts, or too many searches for them; memory.
 */
#include "route/plan_parts.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 16 /* of one part, each an eighth shorter */

struct look {
    const struct plan_parts *parts;
    unsigned searches;
};

static bool find_route(struct look *l, struct plan_query *q, struct plan_route *out)
{
    if (l->searches == PLAN_PARTS_SEARCHES)
        return false;
    l->searches++;
    return l->parts->find(l->parts->context, q, out) == PLAN_FOUND;
}

/* A part that fills a contact to its end is acknowledged after the contact, and the rest waits
 * until then. If it costs little, the part is shortened so that the answer arrives within the
 * contact. */
static uint64_t leave_answer(const struct plan_parts *p, const struct plan_route *r, uint64_t room)
{
    const struct plan_contact *c = plan_get(p->plan, r->hop[0].contact);
    assert(c != NULL && r->hops > 0 && r->hop[0].first_arrives >= r->hop[0].first_sent);
    const tick trip = tick_add(r->hop[0].first_arrives - r->hop[0].first_sent,
                               r->hop[0].first_arrives - r->hop[0].first_sent);
    const double spare = (double)trip * (double)c->rate / (8.0 * (double)TICK_S);
    return spare <= (double)room / 4 ? room - (uint64_t)spare : room;
}

/* Bytes of the next part of `rest`; 0: there is none. */
static uint64_t find_part(struct look *l, struct plan_query *q, uint64_t rest,
                          struct plan_route *out)
{
    const struct plan_parts *p = l->parts;
    q->bytes = rest < PLAN_PART_MIN ? rest : PLAN_PART_MIN;
    if (!find_route(l, q, out))
        return 0;
    uint64_t room = leave_answer(p, out, plan_room(p->plan, out->limit)), least = q->bytes;
    q->bytes = room < rest ? room : rest;
    for (int i = 0; i < TRIES_MAX && q->bytes >= least; i++) {
        if (find_route(l, q, out))
            return q->bytes;
        q->bytes -= q->bytes / 8 + 1;
    }
    q->bytes = least;
    return find_route(l, q, out) ? least : 0;
}

static struct plan_route *copy_route(const struct plan_route *r)
{
    /* All of the struct, so that it can be passed on; only the hops that there are. */
    struct plan_route *copy = malloc(sizeof *copy);
    if (copy != NULL)
        memcpy(copy, r, offsetof(struct plan_route, hop) + r->hops * sizeof r->hop[0]);
    return copy;
}

static uint64_t rest_after(uint64_t rest, uint64_t part)
{
    assert(part <= rest && part > 0);
    if (part == rest)
        return 0;
    return part > 2 * PLAN_PART_HEAD ? rest - part + PLAN_PART_HEAD : rest;
}

uint64_t plan_parts_first(const struct plan_parts *p, struct plan_query *q, struct plan_route *out)
{
    struct plan_route *booked[PLAN_PARTS_MAX];
    uint64_t rest = q->bytes, first = 0;
    struct look look = {.parts = p};
    size_t n = 0;
    q->priority = PLAN_BULK; /* only unbooked volume: further bookings would displace others */
    while (rest > 0 && n < PLAN_PARTS_MAX) {
        uint64_t part = find_part(&look, q, rest, out);
        booked[n] = part == 0 ? NULL : copy_route(out);
        if (booked[n] == NULL)
            break;
        first = n == 0 ? part : first;
        rest = rest_after(rest, part);
        if (plan_book(p->plan, booked[n], q->priority) < 0) {
            free(booked[n]);
            break;
        }
        n++;
    }
    for (size_t i = n; i-- > 0;)
        plan_unbook(p->plan, booked[i], q->priority);
    bool all = rest == 0 && n > 0;
    if (all)
        memcpy(out, booked[0],
               offsetof(struct plan_route, hop) + booked[0]->hops * sizeof booked[0]->hop[0]);
    for (size_t i = 0; i < n; i++)
        free(booked[i]);
    return all ? first : 0;
}
