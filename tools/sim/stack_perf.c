/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications in virtual time: helio-perf's client and server as they are, and a ping, which sends
 * to an echo endpoint and measures the time until the bundle is back. They have registered with
 * their nodes at time zero, or begin later. What can go wrong then: an endpoint that is taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack.h"
#include "tools/sim/stack_words.h"

#define PING_BYTES 64

static const char *const names[] = {"client", "server", "ping"};

static tick now_of(const struct stack_app *a)
{
    return world_now(&a->stack->world.world);
}

static void on_done(void *context)
{
    struct stack_app *a = context;
    a->done = true;
}

/* ---- pings ---- */

/* The payload: when it was sent, and its number. */
static void send_ping(struct stack_app *a, tick now)
{
    struct stack_ping *p = &a->ping;
    uint64_t head[PING_BYTES / 8] = {now, p->sent};
    struct aap2_adu adu = {.destination = p->destination,
                           .lifetime_ms = p->lifetime / TICK_MS,
                           .head = slice_of((const uint8_t *)head, sizeof head)};
    if (aap2_client_send(p->link.tx, &adu) == 0)
        p->sent++;
}

static void read_pings(struct stack_app *a, tick now)
{
    struct stack_ping *p = &a->ping;
    struct aap2_arrival in;
    while (aap2_client_next(p->link.tx, &in) == 1)
        aap2_arrival_fini(&in);
    while (aap2_client_next(p->link.rx, &in) == 1) {
        uint64_t sent;
        if (in.payload->len == PING_BYTES) {
            memcpy(&sent, buf_data(in.payload), sizeof sent);
            p->received++;
            hist_add(&p->rtt, now - sent);
        }
        aap2_arrival_fini(&in);
        (void)aap2_client_answer(p->link.rx, true);
    }
}

static tick ping_time(const struct stack_app *a, uint64_t n)
{
    return a->start + n * a->ping.interval;
}

/* From the start: the n-th at n intervals; the last one has its lifetime to come back. */
static tick ping_turn(struct stack_app *a, tick now)
{
    struct stack_ping *p = &a->ping;
    read_pings(a, now);
    if (p->sent < p->count && now >= ping_time(a, p->sent))
        send_ping(a, now);
    (void)aap2_client_flush(p->link.rx);
    (void)aap2_client_flush(p->link.tx);
    tick last = tick_add(ping_time(a, p->count - 1), p->lifetime);
    a->done = p->received >= p->count || now >= last;
    return a->done ? TICK_NEVER : p->sent < p->count ? ping_time(a, p->sent) : last;
}

static void on_ping(void *context)
{
    struct stack_app *a = context;
    tick now = now_of(a);
    if (a->done)
        return;
    if (a->ping.begun) {
        alarm_set(&a->ping.alarm, ping_turn(a, now));
        return;
    }
    int rc = perf_link_turn(&a->ping.link, now);
    a->done = rc < 0;
    a->ping.begun = rc == 1;
    if (rc == 1)
        alarm_set(&a->ping.alarm, now);
}

/* ---- opening ---- */

static void begin_client(void *context)
{
    struct stack_app *a = context;
    struct perf_link *l = &a->client.link;
    l->give_up_at = l->told_at = tick_add(now_of(a), PERF_LINK_WAIT); /* it begins now */
    perf_client_start(&a->client, false, on_done, a);
}

static int start_client(struct stack_app *a, const uint64_t seed[2])
{
    int rc = perf_client_init(&a->client, &a->stack->world.world, &a->options, seed);
    a->client.quiet = true;
    if (rc == 0 && a->start == 0)
        begin_client(a);
    else if (rc == 0)
        alarm_set(&a->begin, a->start);
    return rc;
}

static int start_server(struct stack_app *a, const uint64_t seed[2])
{
    int rc = perf_server_init(&a->server, &a->stack->world.world, &a->options, seed);
    a->server.quiet = true;
    if (rc == 0)
        perf_server_start(&a->server, on_done, a);
    return rc;
}

static int start_ping(struct stack_app *a, const uint64_t seed[2])
{
    struct stack_ping *p = &a->ping;
    struct world *w = &a->stack->world.world;
    hist_init(&p->rtt);
    perf_link_init(&p->link, w, &a->options, seed[1], 64, PING_BYTES, on_ping, a);
    alarm_init(&p->alarm, w, ALARM_APP, on_ping, a);
    on_ping(a);
    return 0;
}

static const struct perf_link *link_of(const struct stack_app *a)
{
    return a->kind == STACK_CLIENT   ? &a->client.link
           : a->kind == STACK_SERVER ? &a->server.link
                                     : &a->ping.link;
}

int stack_app_open(struct stack_app *a)
{
    uint64_t seed[2] = {rng_u64(&a->stack->rng), rng_u64(&a->stack->rng)};
    a->open = true;
    alarm_init(&a->begin, &a->stack->world.world, ALARM_APP, begin_client, a);
    a->options.socket = a->host->place;
    int rc = a->kind == STACK_CLIENT   ? start_client(a, seed)
             : a->kind == STACK_SERVER ? start_server(a, seed)
                                       : start_ping(a, seed);
    if (rc == 0 && a->kind == STACK_CLIENT && a->start > 0)
        return 0;
    while (rc == 0 && link_of(a)->tx == NULL && pipes_step(&a->stack->world.pipes))
        world_end_round(&a->stack->world.world);
    if (rc == 0 && link_of(a)->tx != NULL)
        return 0;
    fprintf(stderr, "helio-sim: --%s: %s\n", names[a->kind], link_of(a)->why);
    return rc < 0 ? rc : HELIO_EEXIST;
}

/* ---- the end ---- */

void stack_app_end(struct stack_app *a)
{
    if (a->kind == STACK_SERVER)
        perf_server_end(&a->server);
    if (a->kind == STACK_CLIENT)
        a->client.interrupted = !a->done;
}

uint64_t stack_app_missing(const struct stack_app *a)
{
    if (a->kind == STACK_CLIENT)
        return perf_client_missing(&a->client);
    return a->kind == STACK_PING ? a->ping.count - a->ping.received : 0;
}

void stack_app_free(struct stack_app *a)
{
    if (a->open)
        alarm_fini(&a->begin);
    if (a->open && a->kind == STACK_CLIENT)
        perf_client_fini(&a->client);
    if (a->open && a->kind == STACK_SERVER)
        perf_server_fini(&a->server);
    if (a->open && a->kind == STACK_PING) {
        perf_link_fini(&a->ping.link);
        alarm_fini(&a->ping.alarm);
    }
    stack_words_free(a->words);
    free(a);
}

void stack_app_assert(const struct stack_app *a)
{
    if (a->kind == STACK_CLIENT)
        perf_client_check(&a->client);
    else if (a->kind == STACK_SERVER)
        perf_server_check(&a->server);
    else
        perf_link_check(&a->ping.link);
}
