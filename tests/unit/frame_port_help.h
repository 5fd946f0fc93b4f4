/* SPDX-License-Identifier: Apache-2.0 */
/* A virtual world with ports over CCSDS frames and a line that loses some of what leaves. */
#ifndef TESTS_UNIT_FRAME_PORT_HELP_H
#define TESTS_UNIT_FRAME_PORT_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cla/framed/frame_keys.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

enum { SENT_MAX = 600, LONGEST = 3000, FLIGHTS = 4000, DELAY = 5 * TICK_MS };

struct datagram {
    size_t len;
    uint8_t bytes[LONGEST];
};

struct flight {
    tick at;
    uint64_t port;
    struct address from;
    size_t len;
    uint8_t bytes[2048];
};

struct end {
    struct port *port;
    struct address self;
    struct udp_peer peer;
    size_t got, next;     /* datagrams; the number of the next one that can come */
    bool closed, once;    /* once: it reads one batch at a time, as a link does */
    bool leaves, arrives; /* what it says of its wire */
    unsigned states;      /* how often it did */
    char said[4096];      /* to the operator, a line each */
};

static struct {
    struct virtual_world v;
    struct rng rng;
    struct end a, b;
    struct datagram sent[SENT_MAX];
    size_t sent_len;
    struct flight flight[FLIGHTS];
    size_t flying, arrived, lost;
    double erase;
    tick last; /* when a frame left */
} w;

static inline bool carry(void *context, struct virtual_port *from, const struct address *to,
                         struct slice head, struct slice data)
{
    (void)context;
    ck_assert_uint_eq(data.len, 0);
    ck_assert_uint_le(head.len, sizeof w.flight[0].bytes);
    ck_assert_uint_lt(w.flying, FLIGHTS);
    w.last = w.v.now;
    if (rng_chance(&w.rng, w.erase)) {
        w.lost++;
        return true;
    }
    list_for_each (it, &w.v.ports) {
        struct virtual_port *port = container_of(it, struct virtual_port, node);
        if (!address_equal(&port->self, to))
            continue;
        struct flight *f = &w.flight[w.flying++];
        *f = (struct flight){
            .at = w.v.now + DELAY, .port = port->number, .from = from->self, .len = head.len};
        memcpy(f->bytes, head.data, head.len);
        return true;
    }
    return false;
}

/* Each that comes is one that was sent, after those that came before. */
static inline void on_ready(void *context, bool readable, bool writable)
{
    struct end *e = context;
    struct slice got;
    (void)writable;
    for (bool more = readable; more && udp_fill(e->port->io, 1 << 20); more = !e->once) {
        while (udp_next(e->port->io, &got)) {
            while (e->next < w.sent_len && (w.sent[e->next].len != got.len ||
                                            memcmp(w.sent[e->next].bytes, got.data, got.len) != 0))
                e->next++;
            ck_assert_msg(e->next < w.sent_len, "what was never sent, or out of order");
            e->next++;
            e->got++;
        }
    }
}

static inline void on_state(void *context, bool leaves, bool arrives)
{
    struct end *e = context;
    ck_assert(e->states == 0 || e->leaves != leaves || e->arrives != arrives);
    e->leaves = leaves;
    e->arrives = arrives;
    e->states++;
}

static inline void on_say(void *context, int level, const char *text)
{
    struct end *e = context;
    size_t used = strlen(e->said);
    snprintf(e->said + used, sizeof e->said - used, "%d %s\n", level, text);
}

static inline struct frame_keys keys_of(int kind, uint64_t length, tick fill)
{
    return (struct frame_keys){.out = {.kind = kind, .length = length, .vcid = 5},
                               .in.vcid = 64,
                               .scid = 0xab,
                               .fill = fill};
}

static inline void open_end_at(struct end *e, const struct frame_keys *k, const char *self,
                               const char *peer, const struct port *sibling)
{
    static const struct frame_port_events events = {.state = on_state, .say = on_say};
    struct frame_port_config c;
    struct frame_wire_sle sle;
    const char *key;
    char why[200];
    ck_assert_int_eq(frame_keys_check(k, &key, why, sizeof why), 0);
    frame_keys_config(k, &c);
    frame_keys_sle(k, &sle);
    c.events = &events;
    c.wire.sle = &sle;
    ck_assert_int_eq(address_parse(self, &e->self), 0);
    ck_assert_int_eq(address_parse(peer, &c.wire.remote), 0);
    e->peer.address = c.wire.remote;
    c.wire.local = e->self;
    ck_assert_int_eq(frame_port_open(&w.v.world, &e->port, &c, sibling, on_ready, e), 0);
    e->leaves = frame_port_able(e->port, &e->arrives);
    port_watch(e->port, true, false);
}

static inline void open_end(struct end *e, const struct frame_keys *k, const char *self,
                            const char *peer)
{
    open_end_at(e, k, self, peer, NULL);
}

static inline void begin_world(void)
{
    memset(&w, 0, sizeof w);
    rng_init(&w.rng, 1);
    virtual_init(&w.v, 0, &w.rng, 0);
    w.v.carry = carry;
}

static inline void begin(const struct frame_keys *k)
{
    begin_world();
    open_end(&w.a, k, "127.0.0.1:1", "127.0.0.1:2");
    open_end(&w.b, k, "127.0.0.1:2", "127.0.0.1:1");
}

static inline void on_closed(void *context)
{
    ((struct end *)context)->closed = true;
}

/* Frames and alarms in their order. */
static inline void run_world(void)
{
    for (;;) {
        tick alarm = virtual_due(&w.v);
        tick frame = w.arrived < w.flying ? w.flight[w.arrived].at : TICK_NEVER;
        if (alarm == TICK_NEVER && frame == TICK_NEVER)
            return;
        virtual_advance(&w.v, tick_min(alarm, frame));
        if (frame <= alarm) {
            struct flight *f = &w.flight[w.arrived++];
            struct virtual_port *p = virtual_port_at(&w.v, f->port);
            if (p != NULL)
                virtual_arrive(p, &f->from, slice_of(f->bytes, f->len));
        } else {
            virtual_fire(&w.v);
        }
        (void)world_end_round(&w.v.world);
    }
}

static inline void end_world(void)
{
    port_close(w.a.port, on_closed, &w.a);
    port_close(w.b.port, on_closed, &w.b);
    virtual_settle(&w.v);
    ck_assert(w.a.closed && w.b.closed);
    virtual_fini(&w.v);
}

static inline void send_bytes(struct end *from, const void *bytes, size_t len)
{
    struct udp_io *io = from->port->io;
    if (!udp_room(io, LONGEST))
        ck_assert(udp_flush(io));
    size_t head = rng_below(&w.rng, len + 1);
    memcpy(udp_head(io, LONGEST), bytes, head);
    udp_add(io, &from->peer, (uint32_t)head, slice_of((const uint8_t *)bytes + head, len - head));
}

static inline void send_drawn(struct end *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct datagram *d = &w.sent[w.sent_len++];
        d->len = 1 + rng_below(&w.rng, rng_chance(&w.rng, 0.7) ? 300 : LONGEST);
        for (size_t k = 0; k < d->len; k++)
            d->bytes[k] = (uint8_t)rng_u64(&w.rng);
        send_bytes(from, d->bytes, d->len);
        if (rng_chance(&w.rng, 0.1))
            ck_assert(udp_flush(from->port->io));
        if (rng_chance(&w.rng, 0.05)) {
            ck_assert(udp_flush(from->port->io));
            run_world();
        }
    }
    ck_assert(udp_flush(from->port->io));
    run_world();
}

static inline struct frame_port_counters count_of(const struct end *e)
{
    struct frame_port_counters n;
    frame_port_count(e->port, &n);
    return n;
}

#endif
