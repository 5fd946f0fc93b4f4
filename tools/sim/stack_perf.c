/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications in virtual time: helio-perf's client and server, and a ping, which sends to an echo
 * endpoint and measures the time until the bundle is back. Each has its turn when something came
 * for it or when it asked for one. What can go wrong at the start: an endpoint that is taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack.h"
#include "tools/sim/stack_words.h"

#define PING_BYTES 64

static int open_client(struct stack_app *a, const uint64_t seed[2])
{
    struct perf_client *c = &a->client;
    int rc = perf_client_init(c, &a->options, seed);
    c->link.world = a;
    c->quiet = true;
    rc = rc == 0 ? perf_link_open(&c->link) : rc;
    if (rc < 0)
        fprintf(stderr, "helio-sim: --client: %s\n", c->link.why);
    else
        perf_client_begin(c, false, a->stack->world.now);
    return rc;
}

static int open_server(struct stack_app *a, const uint64_t seed[2])
{
    struct perf_server *p = &a->server;
    int rc = perf_server_init(p, &a->options, seed);
    p->link.world = a;
    p->quiet = true;
    rc = rc == 0 ? perf_link_open(&p->link) : rc;
    if (rc < 0)
        fprintf(stderr, "helio-sim: --server: %s\n", p->link.why);
    return rc;
}

static int open_ping(struct stack_app *a, const uint64_t seed[2])
{
    struct stack_ping *p = &a->ping;
    hist_init(&p->rtt);
    perf_link_init(&p->link, &a->options, seed[1], 64, PING_BYTES);
    p->link.world = a;
    int rc = perf_link_open(&p->link);
    if (rc < 0)
        fprintf(stderr, "helio-sim: --ping: %s\n", p->link.why);
    return rc;
}

int stack_app_open(struct stack_app *a)
{
    uint64_t seed[2] = {rng_u64(&a->stack->rng), rng_u64(&a->stack->rng)};
    a->open = true;
    a->due = a->stack->world.now;
    return a->kind == STACK_CLIENT   ? open_client(a, seed)
           : a->kind == STACK_SERVER ? open_server(a, seed)
                                     : open_ping(a, seed);
}

/* The payload: when it was sent, and its number. */
static void send_ping(struct stack_app *a)
{
    struct stack_ping *p = &a->ping;
    uint64_t head[PING_BYTES / 8] = {a->stack->world.now, p->sent};
    struct aap2_adu adu = {.destination = p->destination,
                           .lifetime_ms = p->lifetime / TICK_MS,
                           .head = slice_of((const uint8_t *)head, sizeof head)};
    if (aap2_client_send(p->link.tx, &adu) == 0)
        p->sent++;
}

static void read_pings(struct stack_app *a)
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
            hist_add(&p->rtt, a->stack->world.now - sent);
        }
        aap2_arrival_fini(&in);
        (void)aap2_client_answer(p->link.rx, true);
    }
}

/* From the start: the n-th at n intervals; the last one has its lifetime to come back. */
static tick ping_turn(struct stack_app *a)
{
    struct stack_ping *p = &a->ping;
    tick now = a->stack->world.now;
    read_pings(a);
    if (p->sent < p->count && now >= p->sent * p->interval)
        send_ping(a);
    tick last = tick_add((p->count - 1) * p->interval, p->lifetime);
    a->done = p->received >= p->count || now >= last;
    return a->done ? TICK_NEVER : p->sent < p->count ? p->sent * p->interval : last;
}

void stack_app_turn(struct stack_app *a)
{
    tick now = a->stack->world.now;
    a->due = TICK_NEVER;
    tick next = TICK_NEVER;
    if (a->kind == STACK_SERVER) {
        next = perf_server_turn(&a->server, now);
    } else if (a->kind == STACK_PING) {
        next = ping_turn(a);
    } else if (!a->done) {
        next = perf_client_turn(&a->client, now);
        a->done = a->client.phase == PERF_DONE;
    }
    a->due = tick_min(a->due, next > now ? next : now + STACK_APP_DELAY);
}

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
    if (a->open && a->kind == STACK_CLIENT)
        perf_client_fini(&a->client);
    if (a->open && a->kind == STACK_SERVER)
        perf_server_fini(&a->server);
    if (a->open && a->kind == STACK_PING) {
        aap2_client_close(a->ping.link.tx);
        aap2_client_close(a->ping.link.rx);
    }
    stack_words_free(a->words);
    free(a);
}
