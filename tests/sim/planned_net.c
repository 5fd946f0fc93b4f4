/* SPDX-License-Identifier: Apache-2.0 */
/* Light between nodes: as long as the plan says at the time at which a datagram leaves, and only in
 * a contact. What is for a node that is not there is lost. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/flights.h"
#include "tests/sim/planned.h"

static size_t node_of(const struct address *a)
{
    char text[ADDRESS_TEXT_MAX];
    unsigned high = 0, low = 0;
    if (sscanf(address_write(a, text), "10.0.%u.%u:", &high, &low) != 2)
        abort();
    return high * 256 + low - 1;
}

/* When light that leaves now is there; TICK_NEVER: never. */
static tick light_between(struct planned *p, size_t a, size_t b)
{
    tick now = p->world.now;
    struct plan_range light;
    const struct plan_contact *c = plan_get(p->bare, plan_at(p->bare, a + 1, b + 1, now));
    p->frames++;
    if (c == NULL || c->start > now || plan_range_at(p->bare, a + 1, b + 1, now, &light) < 0) {
        p->stray++;
        return TICK_NEVER;
    }
    bool dark = (a + 1 == p->dark[0] && b + 1 == p->dark[1]) ||
                (b + 1 == p->dark[0] && a + 1 == p->dark[1]) ||
                (p->loss > 0 && rng_chance(&p->rng, p->loss));
    return dark ? TICK_NEVER : now + light.owlt;
}

static bool carry_frame(void *context, struct virtual_port *port, const struct address *to,
                        struct slice head, struct slice data)
{
    struct planned *p = context;
    size_t there = node_of(to);
    uint64_t stray = p->stray;
    tick due = light_between(p, port->owner, there);
    if (p->stray > stray && !p->loose)
        planned_complain(p, "a datagram left outside of its contact");
    if (due != TICK_NEVER)
        flight_datagram(&p->flying, due, port, there, head, data);
    return true;
}

/* TCP does not know of contacts: what it sends again outside of them is lost. */
static void carry_stream(void *context, size_t from, size_t to, struct slice frame)
{
    struct planned *p = context;
    tick due = light_between(p, from, to);
    if (due != TICK_NEVER)
        flight_stream(&p->flying, due, frame);
}

static bool always(void *context, size_t from, size_t to)
{
    (void)context;
    return from != to;
}

void planned_net_init(struct planned *p)
{
    list_init(&p->flying);
    p->wire = (struct pipe_wire){.between = always, .carry = carry_stream, .context = p};
    p->world.pipes.wire = &p->wire;
    p->world.carry = carry_frame;
    p->world.context = p;
}
