/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A local address from its first link to its last, and its turns: what arrived is given to the
 * links, what waits is sent, then the port and an alarm say when to go on. What can go wrong at the
 * beginning: the address cannot be bound.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/udp/udpcl_link.h"

#define INPUT_BYTES (512 * 1024) /* per turn, so that sending has its turn */
#define LATE TICK_MS             /* what is usual on a machine that has time is below */

void udpcl_kick(struct udpcl_port *p)
{
    if (!p->common.ending)
        alarm_set(&p->alarm, 0);
}

static struct udpcl_link *untold(struct udpcl_port *p)
{
    list_for_each (it, &p->common.links) {
        struct udpcl_link *l = container_of(it, struct udpcl_link, cla.node);
        if (!l->cla.told || l->cla.told_up != l->up)
            return l;
    }
    return NULL;
}

static void tell_links(struct udpcl_port *p)
{
    struct udpcl_link *l;
    while ((l = untold(p)) != NULL)
        cla_tell_link(&l->cla, l->up);
}

static void read_clock(struct udpcl_port *p)
{
    p->now = world_now(p->world);
    if (p->now <= p->due)
        return;
    p->late_ns += p->now - p->due;
    p->late_wakeups += p->now - p->due > LATE;
}

static void take_turn(struct udpcl_port *p, bool writable)
{
    struct slice datagram;
    tick wake = TICK_NEVER;
    assert(!p->common.ending && !list_empty(&p->common.links));
    read_clock(p);
    if (udp_fill(p->io, INPUT_BYTES))
        while (!p->common.ending && udp_next(p->io, &datagram))
            udpcl_input(p, datagram, udp_from(p->io));
    if (writable && udp_pending(p->io))
        (void)udp_flush(p->io);
    if (!p->common.ending)
        tell_links(p);
    if (!p->common.ending)
        udpcl_output(p, &wake);
    if (p->common.ending)
        return;
    local_endpoint_tell_left(&p->common);
    port_watch(p->port, true, udp_pending(p->io));
    p->due = wake;
    if (wake < alarm_due(&p->alarm))
        alarm_set(&p->alarm, wake);
    assert(alarm_due(&p->alarm) <= wake);
}

static void on_alarm(void *context)
{
    take_turn(context, false);
}

static void on_ready(void *context, bool readable, bool writable)
{
    (void)readable; /* it is read in any turn */
    take_turn(context, writable);
}

static void free_port(void *context)
{
    struct udpcl_port *p = context;
    assert(p->common.ending && list_empty(&p->common.links));
    local_endpoint_tell_left(&p->common);
    free(p);
}

static void end_port(struct udpcl_port *p)
{
    assert(p->common.ending);
    alarm_fini(&p->alarm);
    port_close(p->port, free_port, p);
}

static struct udpcl_port *find_port(const struct udpcl_link *l)
{
    const struct address *local = &l->config->udp.local;
    struct local_endpoint *e = local_endpoint_first(l->env.shared);
    for (; e != NULL && address_port(local) != 0; e = e->next) {
        struct udpcl_port *p = container_of(e, struct udpcl_port, common);
        if (address_equal(&p->local, local))
            return p;
    }
    return NULL;
}

static int open_port(struct udpcl_port **out, const struct udpcl_link *l, char *why, size_t why_cap)
{
    char text[ADDRESS_TEXT_MAX];
    struct udpcl_port *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->world = l->env.world;
    p->due = TICK_NEVER;
    p->local = l->config->udp.local;
    int r = port_open(p->world, &p->port, &p->local, l->config->udp.batch, on_ready, p);
    if (r != 0) {
        snprintf(why, why_cap, "local: cannot bind %s: %s", address_write(&p->local, text),
                 helio_strerror(r));
        free(p);
        return r;
    }
    p->io = p->port->io;
    alarm_init(&p->alarm, p->world, ALARM_LINK, on_alarm, p);
    port_watch(p->port, true, false);
    local_endpoint_begin(&p->common, l->env.shared);
    *out = p;
    return 0;
}

int udpcl_join(struct udpcl_link *l, char *why, size_t why_cap)
{
    const struct udpcl_config *k = l->config;
    struct udpcl_port *p = find_port(l);
    snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
    int r = p == NULL ? open_port(&p, l, why, why_cap) : 0;
    if (r != 0)
        return r;
    list_for_each (it, &p->common.links) {
        const struct udpcl_link *other = container_of(it, struct udpcl_link, cla.node);
        if (!host_address_equal(&other->config->udp.remote, &k->udp.remote))
            continue;
        snprintf(why, why_cap, "remote: another link of this local address goes there");
        return HELIO_EEXIST;
    }
    uint64_t rx, tx, want = udp_keys_buffer(&k->udp, &k->pace, 50 * TICK_MS, 0);
    l->port = p;
    local_endpoint_enter(&p->common, &l->cla);
    bucket_init(&l->bucket, k->pace.rate, k->pace.burst, k->pace.slack, world_now(p->world));
    if (!udp_buffers(p->io, want, want, &rx, &tx))
        cla_say(&l->cla, 1,
                "socket buffers of %llu bytes are wanted, the kernel allows %llu and %llu",
                (unsigned long long)want, (unsigned long long)rx, (unsigned long long)tx);
    udpcl_kick(p);
    return 0;
}

void udpcl_leave(struct udpcl_link *l)
{
    struct udpcl_port *p = l->port;
    udp_forget(p->io, &l->to);
    udpcl_forget(l);
    if (local_endpoint_leave(&p->common, &l->cla))
        end_port(p);
    else
        udpcl_kick(p);
}
