/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What wakes a hub up: its port is ready, or its alarm goes off, soon when there is work left over.
 * When what came wanted no answer, was little and came soon after what came before, the port is not
 * watched for a while (`gather`): a wake-up for each datagram of a paced sender costs many times
 * what the datagram does, except in a world where it costs nothing. What can go wrong at the
 * beginning: the address cannot be bound, or descriptors are out. The hub's memory goes when its
 * port has closed.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cla/ltp/ltp_link.h"

/* More than this in one reading is not little: 2.5 Gbit/s, gathered for 100 us. */
#define GATHER_BYTES 32768

/* Reads the port when it is ready, or when what gathered there has waited for long enough. */
static void begin_turn(struct hub *h, bool readable)
{
    struct hub_gather *g = &h->gather;
    hub_turn_begin(h);
    g->little = false;
    if (!readable && g->until > h->now)
        return;
    uint64_t before = udp_counters(h->io)->rx_bytes;
    g->until = TICK_NEVER;
    if (!hub_input(h))
        return;
    bool often = h->now - g->came <= 4 * g->wait;
    g->little = often && udp_counters(h->io)->rx_bytes - before < GATHER_BYTES;
    g->came = h->now;
}

static void on_alarm(void *context)
{
    struct hub *h = context;
    begin_turn(h, false);
    hub_turn_end(h);
}

static void on_ready(void *context, bool readable, bool writable)
{
    struct hub *h = context;
    begin_turn(h, readable);
    if (writable && udp_pending(h->io))
        (void)udp_flush(h->io);
    hub_turn_end(h);
}

void hub_watch(struct hub *h)
{
    assert(!h->ending);
    port_watch(h->port, h->gather.until == TICK_NEVER, udp_pending(h->io));
}

/* An alarm that is set too early costs one turn: it is left. */
void hub_arm(struct hub *h, tick wake)
{
    struct hub_gather *g = &h->gather;
    if (g->little && h->quiet && g->wait > 0)
        g->until = tick_add(h->now, g->wait);
    wake = tick_min(wake, g->until);
    if (wake < alarm_due(&h->alarm))
        alarm_set(&h->alarm, wake);
    assert(alarm_due(&h->alarm) <= wake);
}

/* A socket, or CCSDS frames over one. */
static int open_port(struct hub *h, const struct ltp_link_config *k)
{
    struct frame_port_config c;
    h->framed = k->frames.kind != FRAMES_OFF;
    if (!h->framed)
        return port_open(h->world, &h->port, &h->local, k->udp.batch, on_ready, h);
    frame_keys_config(&k->frames, &c);
    c.remote = k->udp.remote;
    c.dscp = (uint8_t)k->udp.dscp;
    return frame_port_open(h->world, &h->port, &h->local, k->udp.batch, &c, on_ready, h);
}

int hub_wake_open(struct hub *h, const struct link *l, char *why, size_t why_cap)
{
    char text[ADDRESS_TEXT_MAX];
    assert(h->port == NULL);
    h->world = l->env.world;
    h->gather = (struct hub_gather){.wait = h->world->wakeups_free ? 0 : l->config->gather,
                                    .until = TICK_NEVER};
    int r = open_port(h, l->config);
    if (r != 0) {
        snprintf(why, why_cap, "local: cannot bind %s: %s", address_write(&h->local, text),
                 helio_strerror(r));
        return r;
    }
    h->io = h->port->io;
    alarm_init(&h->alarm, h->world, ALARM_LINK, on_alarm, h);
    hub_watch(h);
    return 0;
}

static void on_closed(void *context)
{
    hub_free(context);
}

void hub_wake_close(struct hub *h)
{
    assert(h->ending && h->port != NULL);
    alarm_fini(&h->alarm);
    port_close(h->port, on_closed, h);
}
