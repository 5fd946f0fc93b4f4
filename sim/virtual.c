/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing happens by itself here: the owner advances the clock, lets alarms go off and datagrams
 * arrive, and settles what was closed. What can go wrong: two ports want one address; memory.
 */
#include "sim/virtual.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/err.h"

#define EPHEMERAL 49152 /* the first port of those that are given */

static struct virtual_world *virtual_of(const struct world *w)
{
    return container_of((struct world *)(uintptr_t)w, struct virtual_world, world);
}

static tick read_now(const struct world *w)
{
    return virtual_of(w)->now;
}

static tick read_processor(const struct world *w)
{
    const struct virtual_world *v = virtual_of(w);
    assert(v->stalled <= v->now);
    return v->now - v->stalled;
}

static uint64_t read_wall(const struct world *w)
{
    const struct virtual_world *v = virtual_of(w);
    return v->wall == 0 ? 0 : v->wall + v->now;
}

static uint64_t draw_random(struct world *w)
{
    return rng_u64(virtual_of(w)->rng);
}

/* ---- ports ---- */

static struct virtual_port *port_in(struct port *p)
{
    return container_of(p, struct virtual_port, port);
}

static bool carry_datagram(void *context, const struct address *to, struct slice head,
                           struct slice data)
{
    struct virtual_port *p = context;
    return p->world->carry(p->world->context, p, to, head, data);
}

static bool has_port(const struct virtual_world *v, const struct address *address)
{
    list_for_each (it, &v->ports) {
        if (address_equal(&container_of(it, struct virtual_port, node)->self, address))
            return true;
    }
    return false;
}

/* Who asks for no port gets one, as from the kernel. */
static struct address own_address(const struct virtual_world *v, const struct address *local)
{
    struct address a = *local;
    if (address_port(local) != 0)
        return a;
    for (uint32_t port = EPHEMERAL; port <= UINT16_MAX; port++) {
        address_set_port(&a, (uint16_t)port);
        if (!has_port(v, &a))
            break;
    }
    return a;
}

/* A socket that is bound to any address gets the local address of the route to the peer, as on the
 * loopback interface. */
static void connect_port(void *context, const struct address *to)
{
    struct virtual_port *p = context;
    struct address any = address_any(to), self = *to;
    address_set_port(&any, address_port(&p->self));
    address_set_port(&self, address_port(&p->self));
    if (address_equal(&any, &p->self) && !has_port(p->world, &self))
        p->self = self;
}

static void watch_port(struct port *p, bool read, bool write)
{
    (void)write; /* nothing is ever kept */
    port_in(p)->watched = read;
}

static void close_port(struct port *port, void (*closed)(void *context), void *context)
{
    struct virtual_port *p = port_in(port);
    p->closed = closed;
    p->closed_context = context;
    list_sub(&p->node);
    list_add_tail(&p->world->closing, &p->node);
}

static const struct port_ops port_ops = {.watch = watch_port, .close = close_port};

static int open_port(struct world *w, struct port **out, const struct address *local, bool segments)
{
    struct virtual_world *v = virtual_of(w);
    struct virtual_port *p = calloc(1, sizeof *p);
    (void)segments; /* each datagram is sent alone */
    if (p == NULL)
        return HELIO_ENOMEM;
    struct udp_carrier carrier = {.send = carry_datagram, .connect = connect_port, .context = p};
    p->self = own_address(v, local);
    int r = has_port(v, &p->self) ? helio_from_errno(EADDRINUSE) : 0;
    if (r == 0)
        r = udp_open_carried(&p->port.io, &carrier, address_port(&p->self));
    if (r != 0) {
        free(p);
        return r;
    }
    p->port.world = w;
    p->port.ops = &port_ops;
    p->world = v;
    p->number = ++v->next_port;
    p->owner = w->owner;
    list_add_tail(&v->ports, &p->node);
    *out = &p->port;
    return 0;
}

static const struct world_ops ops = {
    .now = read_now,
    .processor = read_processor,
    .wall = read_wall,
    .random = draw_random,
    .port_open = open_port,
    .streams = &pipe_ops,
};

/* ---- for the owner ---- */

void virtual_init(struct virtual_world *v, uint64_t wall, struct rng *rng, tick stream_delay)
{
    *v = (struct virtual_world){.wall = wall, .rng = rng};
    world_init(&v->world, &ops, true);
    pipes_init(&v->pipes, &v->world, stream_delay);
    list_init(&v->ports);
    list_init(&v->closing);
}

void virtual_settle(struct virtual_world *v)
{
    for (struct list *l; (l = list_first(&v->closing)) != NULL;) {
        struct virtual_port *p = container_of(l, struct virtual_port, node);
        list_sub(l);
        udp_close(p->port.io);
        if (p->closed != NULL)
            p->closed(p->closed_context);
        free(p);
    }
}

void virtual_fini(struct virtual_world *v)
{
    virtual_settle(v);
    pipes_fini(&v->pipes);
    assert(list_empty(&v->ports) && list_empty(&v->world.alarms));
}

tick virtual_due(struct virtual_world *v)
{
    tick due = world_due(&v->world);
    return due > v->now ? due : v->now;
}

void virtual_fire(struct virtual_world *v)
{
    (void)world_fire(&v->world, v->now, 1);
}

void virtual_fire_soon(struct virtual_world *v)
{
    (void)world_fire(&v->world, 0, UINT_MAX);
}

void virtual_advance(struct virtual_world *v, tick due)
{
    assert(due != TICK_NEVER);
    v->now = due > v->now ? due : v->now;
}

/* To look at each alarm is not needed when none can be the next thing. */
static tick alarms_due(void *context, tick before)
{
    struct virtual_world *v = context;
    return v->world.earliest < before ? virtual_due(v) : TICK_NEVER;
}

static void fire_alarm(void *context)
{
    virtual_fire(context);
}

struct world_source virtual_alarms(struct virtual_world *v)
{
    return (struct world_source){alarms_due, fire_alarm, v};
}

static void advance_clock(void *context, tick due)
{
    virtual_advance(context, due);
}

static void end_round(void *context)
{
    struct virtual_world *v = context;
    world_end_round(&v->world);
}

struct world_run virtual_run(struct virtual_world *v, const struct world_source *sources,
                             size_t len)
{
    return (struct world_run){sources, len, advance_clock, end_round, v};
}

/* What its user does not read is lost: `data` is the caller's. */
void virtual_arrive(struct virtual_port *p, const struct address *from, struct slice data)
{
    if (!p->watched) {
        p->world->unread++;
        return;
    }
    p->world->world.owner = p->owner;
    udp_arrive(p->port.io, from, data);
    p->port.ready(p->port.context, true, false);
    while (udp_fill(p->port.io, 1))
        continue;
}

struct virtual_port *virtual_port_at(const struct virtual_world *v, uint64_t number)
{
    list_for_each (it, &v->ports) {
        struct virtual_port *p = container_of(it, struct virtual_port, node);
        if (p->number == number)
            return p;
    }
    return NULL;
}
