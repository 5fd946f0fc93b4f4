/* SPDX-License-Identifier: Apache-2.0 */
/* A list in order of time. Of two with the same time, the one that was sent first arrives first. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/flights.h"

static struct flight *new_flight(struct list *flying, tick due, struct slice head,
                                 struct slice data)
{
    struct flight *f = calloc(1, sizeof *f + head.len + data.len);
    if (f == NULL)
        abort();
    f->due = due;
    f->len = head.len + data.len;
    memcpy(f->bytes, head.data, head.len);
    if (data.len > 0)
        memcpy(f->bytes + head.len, data.data, data.len);
    struct list *before = flying;
    while (before->prev != flying && container_of(before->prev, struct flight, node)->due > due)
        before = before->prev;
    list_add_tail(before, &f->node);
    return f;
}

void flight_datagram(struct list *flying, tick due, const struct virtual_port *from, size_t to,
                     struct slice head, struct slice data)
{
    struct flight *f = new_flight(flying, due, head, data);
    f->from = from->self;
    f->to = to;
}

void flight_stream(struct list *flying, tick due, struct slice frame)
{
    new_flight(flying, due, frame, slice_of(NULL, 0))->stream = true;
}

static struct flight *first_flight(const struct list *flying)
{
    struct list *l = list_first(flying);
    return l == NULL ? NULL : container_of(l, struct flight, node);
}

tick flights_due(const struct list *flying)
{
    const struct flight *f = first_flight(flying);
    return f == NULL ? TICK_NEVER : f->due;
}

static bool arrive_flight(struct virtual_world *w, const struct flight *f)
{
    struct slice bytes = slice_of(f->bytes, f->len);
    if (f->stream) {
        pipes_arrive(&w->pipes, bytes);
        return true;
    }
    list_for_each (it, &w->ports) {
        struct virtual_port *p = container_of(it, struct virtual_port, node);
        if (p->owner != f->to)
            continue;
        virtual_arrive(p, &f->from, bytes);
        return true;
    }
    return false;
}

bool flights_step(struct list *flying, struct virtual_world *w)
{
    struct flight *f = first_flight(flying);
    list_sub(&f->node);
    bool there = arrive_flight(w, f);
    free(f);
    return there;
}

void flights_fini(struct list *flying)
{
    for (struct flight *f; (f = first_flight(flying)) != NULL;) {
        list_sub(&f->node);
        free(f);
    }
}
