/* SPDX-License-Identifier: Apache-2.0 */
/* Light between nodes: as long as the plan says at the time at which a datagram leaves, and only in
 * a contact. What is for a node that is not there is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/planned.h"

struct flight {
    struct list node;
    tick due;
    struct address from;
    size_t to, len;
    uint8_t bytes[];
};

static size_t node_of(const struct address *a)
{
    char text[ADDRESS_TEXT_MAX];
    unsigned high = 0, low = 0;
    if (sscanf(address_write(a, text), "10.0.%u.%u:", &high, &low) != 2)
        abort();
    return high * 256 + low - 1;
}

static bool carry_frame(void *context, struct virtual_port *port, const struct address *to,
                        struct slice head, struct slice data)
{
    struct planned *p = context;
    size_t a = port->owner, b = node_of(to);
    tick now = p->world.now;
    struct plan_range light;
    const struct plan_contact *c = plan_get(p->bare, plan_at(p->bare, a + 1, b + 1, now));
    p->frames++;
    if (c == NULL || c->start > now || plan_range_at(p->bare, a + 1, b + 1, now, &light) < 0) {
        p->stray++;
        if (!p->loose)
            planned_complain(p, "a datagram left outside of its contact");
        return true;
    }
    if ((a + 1 == p->dark[0] && b + 1 == p->dark[1]) ||
        (b + 1 == p->dark[0] && a + 1 == p->dark[1]))
        return true;
    struct flight *f = malloc(sizeof *f + head.len + data.len);
    if (f == NULL)
        abort();
    *f = (struct flight){.due = now + light.owlt, .from = port->self, .to = b};
    f->len = head.len + data.len;
    memcpy(f->bytes, head.data, head.len);
    if (data.len > 0)
        memcpy(f->bytes + head.len, data.data, data.len);
    struct list *before = &p->flying;
    while (before->prev != &p->flying &&
           container_of(before->prev, struct flight, node)->due > f->due)
        before = before->prev;
    list_add_tail(before, &f->node);
    return true;
}

void planned_net_init(struct planned *p)
{
    list_init(&p->flying);
    p->world.carry = carry_frame;
    p->world.context = p;
}

static struct flight *first_flight(const struct planned *p)
{
    struct list *l = list_first(&p->flying);
    return l == NULL ? NULL : container_of(l, struct flight, node);
}

tick planned_net_due(const struct planned *p)
{
    const struct flight *f = first_flight(p);
    return f == NULL ? TICK_NEVER : f->due;
}

void planned_net_step(struct planned *p)
{
    struct flight *f = first_flight(p);
    list_sub(&f->node);
    list_for_each_safe (it, &p->world.ports) {
        struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (port->owner == f->to) {
            virtual_arrive(port, &f->from, slice_of(f->bytes, f->len));
            break;
        }
    }
    free(f);
}

void planned_net_fini(struct planned *p)
{
    for (struct list *l; (l = list_first(&p->flying)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct flight, node));
    }
}
