/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history is drawn so that things meet: transfers of a few round trips, with ends and gaps within
 * them, and gaps longer than every timeout.
 */
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf_value.h"
#include "tests/sim/histories.h"

static bool draw_chance(struct rng *r, double share)
{
    return rng_chance(r, share);
}

static tick draw_between(struct rng *r, tick from, tick to)
{
    return from + rng_below(r, to - from + 1);
}

static void draw_link(struct history_case *c, struct rng *r)
{
    static const tick delays[] = {TICK_MS, 10 * TICK_MS, 100 * TICK_MS, TICK_S};
    static const uint64_t aggregates[] = {2000, 20000};
    c->delay = delays[rng_below(r, 4)];
    struct ltp_link_config k = {0};
    if (conf_options_default(ltp_link_options, &k, conf_option_set) != 0)
        abort();
    conf_options_free(ltp_link_options, &k); /* its texts are all empty */
    k.rto = 2 * c->delay + draw_between(r, TICK_MS, 50 * TICK_MS);
    k.pace.rate = draw_chance(r, 0.5) ? 0 : UINT64_C(1000000) << rng_below(r, 6);
    k.segment = UINT64_C(128) << rng_below(r, 3);
    k.sessions = draw_chance(r, 0.2) ? 0 : 1 + rng_below(r, 8);
    k.recovery = draw_chance(r, 0.5)   ? LTP_LINK_DEFAULT
                 : draw_chance(r, 0.6) ? LTP_LINK_PLAIN
                                       : LTP_LINK_OWN;
    k.retries = 2 + rng_below(r, 20);
    k.claims = draw_chance(r, 0.2) ? 1 + rng_below(r, 3) : 256;
    k.colour = draw_chance(r, 0.15) ? LTP_LINK_ORANGE : LTP_LINK_RED;
    k.resend = 1000000;
    k.orange_wait = k.rto + TICK_S / 2; /* segments of a slow link are apart */
    if (draw_chance(r, 0.3)) {
        k.aggregate = aggregates[rng_below(r, 2)];
        k.aggregate_time = draw_chance(r, 0.5) ? 0 : 20 * TICK_MS;
    }
    if (draw_chance(r, 0.5))
        k.idle_timeout = k.rto * draw_between(r, 2, 30);
    if (draw_chance(r, 0.5))
        k.closed_time = k.rto * draw_between(r, 1, 30);
    if (k.recovery == LTP_LINK_OWN) {
        k.rto_auto = draw_chance(r, 0.5);
        k.merge_claims = draw_chance(r, 0.5);
        k.oldest_first = draw_chance(r, 0.5);
        k.closing = rng_below(r, 3);
        k.copies = rng_below(r, 4);
        k.report_copies = rng_below(r, 4);
        k.checkpoint_segments = rng_below(r, 12);
        k.resend_wait = draw_chance(r, 0.5) ? 0 : k.rto / 4;
    }
    c->link[0] = c->link[1] = k;
    if (draw_chance(r, 0.2))
        c->link[1].recovery = LTP_LINK_PLAIN;
}

static int compare_events(const void *a, const void *b)
{
    const struct history_event *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void add_event(struct history_case *c, tick at, enum history_what what, size_t node)
{
    if (c->events < HISTORY_EVENTS)
        c->event[c->events++] = (struct history_event){at, what, node};
}

/* When one ended it stays away for a moment, or for longer than anything waits. */
static void draw_end(struct history_case *c, struct rng *r, tick span)
{
    size_t node = rng_below(r, 2);
    tick at = rng_below(r, span), rto = c->link[0].rto;
    tick away = draw_chance(r, 0.7) ? rng_below(r, 3 * rto) : rng_below(r, 100 * rto);
    add_event(c, at, draw_chance(r, 0.5) ? HISTORY_KILL : HISTORY_STOP, node);
    add_event(c, at + 2 * TICK_MS + away, HISTORY_START, node); /* no process begins sooner */
}

static void draw_gap(struct history_case *c, struct rng *r, tick span)
{
    tick at = rng_below(r, span), rto = c->link[0].rto;
    /* blocks are sent again all the time: the fewer the longer that takes */
    tick most = c->link[0].colour == LTP_LINK_ORANGE ? 1000 * rto : 1000 * rto + 70 * TICK_S;
    tick length = draw_chance(r, 0.5) ? rng_below(r, 10 * rto) : rng_below(r, most);
    add_event(c, at, HISTORY_DARK, 0);
    for (size_t i = 0; i < 2; i++) {
        if (draw_chance(r, 0.5))
            continue;
        tick slip = draw_chance(r, 0.5) ? 0 : rng_below(r, 2 * rto);
        add_event(c, at + slip, HISTORY_DOWN, i);
        add_event(c, at + length + slip, HISTORY_UP, i);
    }
    add_event(c, at + length, HISTORY_LIGHT, 0);
}

static void draw_bundles(struct history_case *c, struct rng *r, tick span)
{
    c->bundles = 1 + rng_below(r, draw_chance(r, 0.2) ? HISTORY_BUNDLES : 8);
    bool both = draw_chance(r, 0.3);
    uint32_t size = 1 + (uint32_t)rng_below(r, draw_chance(r, 0.2) ? 12000 : 1500);
    tick at = 0;
    for (size_t i = 0; i < c->bundles; i++) {
        at += draw_chance(r, 0.5) ? 0 : rng_below(r, 1 + span / c->bundles);
        c->bundle[i] = (struct history_bundle){at, both && draw_chance(r, 0.5), size};
    }
}

/* Small segments and windows, so that ends fall between any two things. */
static void draw_tcpcl(struct history_case *c, struct rng *r)
{
    bool both = draw_chance(r, 0.3);
    for (size_t i = 0; i < 2; i++) {
        unsigned long long self = i + 1, other = 2 - i;
        char at[96] = "", to[96] = "";
        if (i == 1 || both)
            snprintf(at, sizeof at, "local: 10.0.0.%llu, tls: off, ", self);
        if (i == 0 || both)
            snprintf(to, sizeof to, "remote: 10.0.0.%llu, ", other);
        unsigned long long sessions = draw_between(r, 1, 4), held = draw_between(r, 1, 40000),
                           bytes = draw_between(r, 1, 40000), window = draw_between(r, 1, 20),
                           mru = draw_between(r, 60, 5000), segment = draw_between(r, 60, 5000),
                           reconnect = draw_between(r, 10, 3000), ending = draw_between(r, 1, 5000),
                           idle = draw_chance(r, 0.5) ? 0 : draw_between(r, 30, 100),
                           keepalive = draw_between(r, 15, 60); /* s: above any round trip */
        snprintf(c->keys[i], sizeof c->keys[i],
                 "adapter: tcpcl, %s%skeepalive: %llus, timers: {idle: %llus, timeout: 60s, "
                 "ending: %llums, reconnect: %llums, reconnect_max: 20s}, segment: %lluB, "
                 "window: %llu, limits: {segment_mru: %lluB, window_bytes: %lluB, "
                 "held_bytes: %lluB}, sessions: %llu",
                 at, to, keepalive, idle, ending, reconnect, segment, window, mru, bytes, held,
                 sessions);
    }
    c->resets = draw_chance(r, 0.5) ? 0 : 0.5;
}

/* One datagram each, so that what is missing can be counted. */
static void draw_udp(struct history_case *c, struct rng *r)
{
    unsigned long long window = draw_between(r, 1, 20), rate = draw_between(r, 1, 100);
    for (size_t i = 0; i < 2; i++)
        snprintf(c->keys[i], sizeof c->keys[i],
                 "adapter: udp, local: 10.0.0.%zu, remote: 10.0.0.%zu, window: %llu, "
                 "rate: %lluMbit/s",
                 i + 1, 2 - i, window, rate);
    for (size_t i = 0; i < c->bundles; i++)
        c->bundle[i].size = 1 + c->bundle[i].size % 1200;
}

void history_draw(struct history_case *c, enum history_adapter adapter, uint64_t seed)
{
    static const double shares[] = {0, 0, 0.01, 0.05, 0.2};
    struct rng r;
    rng_init(&r, seed);
    *c = (struct history_case){.seed = seed, .adapter = adapter};
    draw_link(c, &r);
    if (adapter != HISTORY_LTP)
        c->link[0].colour = LTP_LINK_RED;
    for (size_t i = 0; i < 2; i++) {
        c->durability[i] = draw_chance(&r, 0.6)   ? STORE_SYNC
                           : draw_chance(&r, 0.5) ? STORE_ASYNC
                                                  : STORE_NONE;
        c->store_time[i] = draw_chance(&r, 0.5) ? 0 : rng_below(&r, 2 * c->delay + 5 * TICK_MS);
    }
    c->clockless = draw_chance(&r, 0.15);
    c->app_time = draw_chance(&r, 0.5) ? 0 : rng_below(&r, 2 * c->delay);
    c->loss = shares[rng_below(&r, 5)];
    if (c->link[0].colour == LTP_LINK_ORANGE && c->loss > 0.01) /* a block is lost by one frame */
        c->loss = 0.01;
    c->twice = draw_chance(&r, 0.3) ? 0.05 : 0;
    c->late = draw_chance(&r, 0.4) ? 0.05 : 0;
    c->later = rng_below(&r, 4 * c->link[0].rto + 1);
    tick span = draw_between(&r, 2, 40) * c->delay + 10 * TICK_MS;
    draw_bundles(c, &r, span);
    for (size_t n = rng_below(&r, 6); n > 0; n--)
        draw_end(c, &r, span);
    for (size_t n = draw_chance(&r, 0.5) ? 0 : 1 + rng_below(&r, 3); n > 0; n--)
        draw_gap(c, &r, span);
    if (adapter == HISTORY_TCPCL)
        draw_tcpcl(c, &r);
    else if (adapter == HISTORY_UDP)
        draw_udp(c, &r);
    qsort(c->event, c->events, sizeof *c->event, compare_events);
}

void history_describe(const struct history_case *c, char *out, size_t cap)
{
    static const char *const keeps[] = {"sync", "async", "none"};
    static const char *const sets[] = {"plain", "default", "own"};
    const struct ltp_link_config *k = &c->link[0];
    if (c->adapter != HISTORY_LTP) {
        snprintf(out, cap,
                 "%zu bundles of %u bytes, %s and %s, delay %.0f ms, loss %.0f %%, %s, %zu events",
                 c->bundles, c->bundle[0].size, keeps[c->durability[0]], keeps[c->durability[1]],
                 (double)c->delay / 1e6, 100 * c->loss, c->keys[0], c->events);
        return;
    }
    snprintf(out, cap,
             "%zu bundles of %u bytes, %s, recovery %s, %s and %s, delay %.0f ms, rto %.0f ms, "
             "segment %u, aggregate %u, idle %.1f s, closed %.1f s, loss %.0f %%, twice %.0f %%, "
             "late %.0f %%, %s, %zu events",
             c->bundles, c->bundle[0].size, k->colour == LTP_LINK_ORANGE ? "orange" : "red",
             sets[k->recovery], keeps[c->durability[0]], keeps[c->durability[1]],
             (double)c->delay / 1e6, (double)k->rto / 1e6, (unsigned)k->segment,
             (unsigned)k->aggregate, (double)k->idle_timeout / 1e9, (double)k->closed_time / 1e9,
             100 * c->loss, 100 * c->twice, 100 * c->late, c->clockless ? "no clocks" : "clocks",
             c->events);
}
