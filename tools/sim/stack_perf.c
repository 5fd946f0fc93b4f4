/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications in virtual time: helio-perf's client and server, and helio-ping, as they are. They
 * have registered with their nodes at time zero, or begin later. What can go wrong then: an
 * endpoint that is taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack.h"
#include "tools/sim/stack_words.h"

static const char *const names[] = {"client", "client", "server", "ping"};

static tick now_of(const struct stack_app *a)
{
    return world_now(&a->stack->world.world);
}

static void on_done(void *context)
{
    struct stack_app *a = context;
    a->done = true;
}

/* ---- opening ---- */

static void begin_link(const struct stack_app *a, struct perf_link *l)
{
    l->give_up_at = l->told_at = tick_add(now_of(a), PERF_LINK_WAIT); /* it begins now */
}

static void begin_app(void *context)
{
    struct stack_app *a = context;
    if (a->kind == STACK_PING) {
        ping_start(&a->ping);
        return;
    }
    if (a->kind == STACK_REVERSE) {
        begin_link(a, &a->reverse.server.link);
        perf_reverse_start(&a->reverse, on_done, a);
        return;
    }
    begin_link(a, &a->client.link);
    perf_client_start(&a->client, a->options.intervals && a->options.interval > 0, on_done, a);
}

static int start_client(struct stack_app *a, const uint64_t seed[2])
{
    int rc = perf_client_init(&a->client, &a->stack->world.world, &a->options, seed);
    a->client.quiet = true;
    return rc;
}

/* As with clients, intervals are kept if they were requested. */
static int start_reverse(struct stack_app *a, const uint64_t seed[2])
{
    if (!a->options.intervals)
        a->options.interval = 0;
    int rc = perf_reverse_init(&a->reverse, &a->stack->world.world, &a->options, seed);
    a->reverse.quiet = true;
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
    a->ping_options.socket = a->host->place;
    a->ping_options.destination = a->destination;
    return ping_init(&a->ping, &a->stack->world.world, &a->ping_options, seed[1], NULL, on_done, a);
}

static const struct perf_link *link_of(const struct stack_app *a)
{
    return a->kind == STACK_CLIENT    ? &a->client.link
           : a->kind == STACK_REVERSE ? &a->reverse.server.link
           : a->kind == STACK_SERVER  ? &a->server.link
                                      : &a->ping.link;
}

int stack_app_open(struct stack_app *a)
{
    uint64_t seed[2] = {rng_u64(&a->stack->rng), rng_u64(&a->stack->rng)};
    a->open = true;
    alarm_init(&a->begin, &a->stack->world.world, ALARM_APP, begin_app, a);
    a->options.socket = a->host->place;
    int rc = a->kind == STACK_CLIENT    ? start_client(a, seed)
             : a->kind == STACK_REVERSE ? start_reverse(a, seed)
             : a->kind == STACK_SERVER  ? start_server(a, seed)
                                        : start_ping(a, seed);
    if (rc == 0 && a->start > 0) {
        alarm_set(&a->begin, a->start);
        return 0;
    }
    if (rc == 0 && a->kind != STACK_SERVER)
        begin_app(a);
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
    if (a->kind == STACK_REVERSE)
        a->reverse.interrupted = !a->done;
}

uint64_t stack_app_missing(const struct stack_app *a)
{
    if (a->kind == STACK_CLIENT)
        return perf_client_missing(&a->client);
    return a->kind == STACK_PING ? a->ping_options.count - a->ping.received : 0;
}

void stack_app_free(struct stack_app *a)
{
    if (a->open)
        alarm_fini(&a->begin);
    if (a->open && a->kind == STACK_CLIENT)
        perf_client_fini(&a->client);
    if (a->open && a->kind == STACK_REVERSE)
        perf_reverse_fini(&a->reverse);
    if (a->open && a->kind == STACK_SERVER)
        perf_server_fini(&a->server);
    if (a->open && a->kind == STACK_PING)
        ping_fini(&a->ping);
    free(a->destination);
    stack_words_free(a->words);
    free(a);
}

void stack_app_assert(const struct stack_app *a)
{
    if (a->kind == STACK_CLIENT)
        perf_client_check(&a->client);
    else if (a->kind == STACK_REVERSE)
        perf_reverse_check(&a->reverse);
    else if (a->kind == STACK_SERVER)
        perf_server_check(&a->server);
    else
        ping_check(&a->ping);
}
