/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake-ups of a local endpoint: its port is ready, or its alarm fires (soon if work is left). After
 * few datagrams that need no answer and arrived in a short interval, the port is not watched for a
 * while (`gather`): a wake-up for each datagram of a paced sender costs many times the datagram's
 * processing. Not in a world where wake-ups cost nothing.
 *
 * What can go wrong at the beginning: the address cannot be bound, or there are no descriptors. The
 * local endpoint is freed when its port has closed.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cla/ltp/ltp_link.h"

/* More than this in one reading is not little: 2.5 Gbit/s, gathered for 100 us. */
#define GATHER_BYTES 32768

/* Reads the port when it is ready, or when what gathered there has waited for long enough. */
static void begin_turn(struct ltp_endpoint *h, bool readable)
{
    struct ltp_endpoint_gather *g = &h->gather;
    ltp_endpoint_turn_begin(h);
    g->little = false;
    if (!readable && g->until > h->now)
        return;
    uint64_t before = udp_counters(h->io)->rx_bytes;
    g->until = TICK_NEVER;
    if (!ltp_endpoint_input(h))
        return;
    bool often = h->now - g->came <= 4 * g->wait;
    g->little = often && udp_counters(h->io)->rx_bytes - before < GATHER_BYTES;
    g->came = h->now;
}

static void on_alarm(void *context)
{
    struct ltp_endpoint *h = context;
    begin_turn(h, false);
    ltp_endpoint_turn_end(h);
}

static void on_ready(void *context, bool readable, bool writable)
{
    struct ltp_endpoint *h = context;
    begin_turn(h, readable);
    if (writable && udp_pending(h->io))
        (void)udp_flush(h->io);
    ltp_endpoint_turn_end(h);
}

void ltp_endpoint_watch(struct ltp_endpoint *h)
{
    assert(!h->common.ending);
    port_watch(h->port, h->gather.until == TICK_NEVER, udp_pending(h->io));
}

/* An alarm that is set too early costs one turn: it is left. */
void ltp_endpoint_arm(struct ltp_endpoint *h, tick wake)
{
    struct ltp_endpoint_gather *g = &h->gather;
    if (g->little && h->quiet && g->wait > 0)
        g->until = tick_add(h->now, g->wait);
    wake = tick_min(wake, g->until);
    if (wake < alarm_due(&h->alarm))
        alarm_set(&h->alarm, wake);
    assert(alarm_due(&h->alarm) <= wake);
}

/* Another local endpoint of this local address; after `last`, NULL: the first. */
static struct ltp_endpoint *find_sibling(const struct ltp_endpoint *h, const struct link *l,
                                         struct ltp_endpoint *last)
{
    struct local_endpoint *e =
        last != NULL ? last->common.next : local_endpoint_first(l->env.shared);
    for (; e != NULL; e = e->next) {
        struct ltp_endpoint *x = container_of(e, struct ltp_endpoint, common);
        if (x != h && address_equal(&x->local, &h->local))
            return x;
    }
    return NULL;
}

static bool has_other_wire(const struct ltp_endpoint *h, const struct ltp_endpoint *x)
{
    return ltp_link_other_wire(&h->frames, &h->remote, &x->remote) ||
           (h->frames.wire != FRAME_WIRE_FILE && (h->source != x->source || h->dscp != x->dscp));
}

/* The port of a local endpoint that has another virtual channel of the same physical one; NULL:
 * there is no such local endpoint. False: there is one that has this channel, or other frames. */
static bool find_line(const struct ltp_endpoint *h, const struct link *l, const struct port **out)
{
    const struct frame_keys *k = &h->frames;
    const char *key;
    *out = NULL;
    if (address_port(&h->local) == 0)
        return true;
    for (struct ltp_endpoint *x = find_sibling(h, l, NULL); x != NULL; x = find_sibling(h, l, x)) {
        if (frame_keys_conflict(k, &x->frames, &key) != NULL || has_other_wire(h, x))
            return false;
        *out = x->port;
    }
    return true;
}

static void on_state(void *context, bool leaves, bool arrives)
{
    struct ltp_endpoint *h = context;
    ltp_endpoint_turn_begin(h);
    h->leaves = leaves;
    h->arrives = arrives;
    ltp_endpoint_directions(h);
    ltp_endpoint_turn_end(h);
}

static void on_say(void *context, int level, const char *text)
{
    const struct ltp_endpoint *h = context;
    if (!list_empty(&h->common.links))
        cla_say(local_endpoint_link(&h->common), level, "%s", text);
}

static const struct frame_port_events frame_events = {.state = on_state, .say = on_say};

static int open_frames(struct ltp_endpoint *h, const struct link *l, char why[FRAME_SECURE_WHY])
{
    const struct ltp_link_config *k = l->config;
    const struct port *sibling;
    struct frame_wire_sle sle;
    struct frame_port_config c;
    if (!find_line(h, l, &sibling))
        return HELIO_EEXIST;
    frame_keys_config(&k->frames, &c);
    frame_keys_sle(&k->frames, &sle);
    c.events = &frame_events;
    c.secure.why = why;
    c.wire.sle = &sle;
    c.wire.local = h->local;
    c.wire.remote = k->udp.remote.address;
    c.wire.source = (enum address_check)k->source;
    c.wire.segments = k->udp.batch;
    c.wire.dscp = (uint8_t)k->udp.dscp;
    int r = frame_port_open(h->world, &h->port, &c, sibling, on_ready, h);
    if (r == 0)
        h->leaves = frame_port_able(h->port, &h->arrives);
    return r;
}

/* A socket, or CCSDS frames; `why`: what their security is not opened for. */
static int open_port(struct ltp_endpoint *h, const struct link *l, char why[FRAME_SECURE_WHY])
{
    const struct ltp_link_config *k = l->config;
    assert(h->port == NULL && !h->common.ending);
    h->frames = k->frames;
    h->source = k->source;
    h->dscp = k->udp.dscp;
    h->remote = k->udp.remote.address;
    frame_keys_forget(&h->frames);
    h->leaves = h->arrives = true;
    h->framed = k->frames.out.kind != FRAMES_OFF;
    if (h->framed)
        return open_frames(h, l, why);
    return port_open(h->world, &h->port, &h->local, k->udp.batch, on_ready, h);
}

int ltp_endpoint_wake_open(struct ltp_endpoint *h, const struct link *l, char *why, size_t why_cap)
{
    char text[ADDRESS_TEXT_MAX];
    assert(h->port == NULL);
    h->world = l->env.world;
    h->gather = (struct ltp_endpoint_gather){.wait = h->world->wakeups_free ? 0 : l->config->gather,
                                             .until = TICK_NEVER};
    char insecure[FRAME_SECURE_WHY] = "";
    int r = open_port(h, l, insecure);
    if (r != 0 && *insecure != '\0') {
        snprintf(why, why_cap, "frames.sdls: %s", insecure);
        return r;
    }
    if (r != 0 && h->framed && (r == HELIO_EEXIST || r == HELIO_EINVAL)) {
        snprintf(
            why, why_cap,
            "frames: another link of %s has this frames.vcid, another remote, source or "
            "pacing.dscp, or other keys of frames, cadu or sle; links of one address have each a "
            "virtual channel of their own, and the rest alike",
            address_write(&h->local, text));
        return r;
    }
    if (r != 0 && l->config->frames.wire == FRAME_WIRE_FILE && h->framed) {
        snprintf(why, why_cap, "frames: cannot open frames.record or frames.replay: %s",
                 helio_strerror(r));
        return r;
    }
    if (r != 0) {
        snprintf(why, why_cap, "local: cannot bind %s: %s", address_write(&h->local, text),
                 helio_strerror(r));
        return r;
    }
    h->io = h->port->io;
    alarm_init(&h->alarm, h->world, ALARM_LINK, on_alarm, h);
    ltp_endpoint_watch(h);
    return 0;
}

int ltp_endpoint_renew(struct ltp_endpoint *h, const struct link *l, bool *changed, char *why,
                       size_t why_cap)
{
    char wrong[FRAME_SECURE_WHY] = "";
    struct frame_port_config c;
    assert(l->endpoint == h);
    *changed = false;
    if (h->common.ending || h->port == NULL || !h->framed)
        return 0;
    frame_keys_config(&l->config->frames, &c);
    const int r = frame_port_renew(h->port, &c, changed, wrong, sizeof wrong);
    if (r != 0)
        snprintf(why, why_cap, "frames.sdls: %s", wrong);
    return r;
}

static void on_closed(void *context)
{
    ltp_endpoint_free(context);
}

void ltp_endpoint_wake_close(struct ltp_endpoint *h)
{
    assert(h->common.ending && h->port != NULL);
    alarm_fini(&h->alarm);
    port_close(h->port, on_closed, h);
}
