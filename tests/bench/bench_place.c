/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of routes or links costs an agent with COUNT waiting bundles for few, and for many
 * destinations: CPU time of all its calls until nothing is left to place, and of the longest one.
 * "each" is a router of which the agent does not know that it answers by destination. Then what it
 * costs that the pauses of COUNT bundles end. JSON on standard output.
 *
 *   bench_place [COUNT]     [1000000]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bp/agent/agent.h"

#define DTN_MS UINT64_C(800000000000)

static const struct agent_now now = {.now = TICK_S, .dtn_ms = DTN_MS};

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_place: %s\n", what);
    exit(1);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

struct cost {
    double all_ms, longest_ms;
    unsigned calls;
    uint64_t moved; /* bundles that are for the link now */
};

/* The change was made at `start`, by one call. */
static struct cost settle(struct agent *a, double start, uint32_t link)
{
    struct cost c = {.calls = 1, .longest_ms = cpu_ms() - start};
    while (agent_deadline(a) <= now.now) {
        const double before = cpu_ms();
        agent_expire(a, now);
        const double took = cpu_ms() - before;
        c.longest_ms = took > c.longest_ms ? took : c.longest_ms;
        c.calls++;
    }
    c.all_ms = cpu_ms() - start;
    struct agent_backlog b[BUNDLE_PRIORITIES];
    must(agent_backlog(a, link, b), "backlog");
    c.moved = b[BUNDLE_NORMAL].bundles;
    return c;
}

static struct router_answer ask_routes(void *routes, const struct router_query *q)
{
    const struct router *r = routes;
    return r->ops->ask(r->state, q);
}

static const struct router_ops each_ops = {.ask = ask_routes};

static void fill(struct agent *a, uint64_t count, uint64_t destinations)
{
    for (uint64_t i = 0; i < count; i++) {
        struct agent_request q = {.source = eid_ipn(0, 1, 7),
                                  .destination = eid_ipn(0, 100 + i % destinations, 9),
                                  .report_to = eid_none(),
                                  .crc = -1};
        struct agent_action x;
        q.payload = buf_new(BUNDLE_HEAD_MAX, 1 + BUNDLE_TAIL_MAX);
        must(q.payload != NULL, "no memory");
        *buf_append(q.payload, 1) = 0;
        must(agent_send(a, &q, now, NULL) == REFUSE_NONE, "send");
        while (agent_poll(a, &x) == 1) {
            if (x.kind == AGENT_STORE)
                agent_stored(a, x.key, true, now);
            buf_drop(x.bundle);
        }
    }
}

static struct agent *begin(uint64_t count, uint64_t memory, struct router *routes, bool each)
{
    struct agent *a;
    struct eid_pattern all;
    const struct agent_config c = {.node = eid_ipn(0, 1, 0),
                                   .seed = 1,
                                   .memory_bytes = memory,
                                   .held_bundles = count + 1,
                                   .held_bytes = UINT64_C(1) << 40};
    must(agent_new(&a, &c) == 0, "agent");
    for (uint32_t i = 0; i < 2; i++) {
        const struct eid peer = eid_ipn(0, 2 + i, 0);
        must(agent_link_add(a, i, &peer, 64) == 0, "link");
    }
    must(eid_pattern_parse("*", &all) == 0 && agent_route_add(a, &all, 0) == 0, "route");
    *routes = agent_routes(a);
    const struct router asked = {&each_ops, routes};
    if (each)
        agent_router(a, &asked);
    return a;
}

static void print(const char *name, const struct cost *c, const char *end)
{
    printf(
        "\"%s\": {\"cpu_ms\": %.3f, \"longest_call_ms\": %.3f, \"calls\": %u, \"moved\": %llu}%s",
        name, c->all_ms, c->longest_ms, c->calls, (unsigned long long)c->moved, end);
}

static void measure(uint64_t count, uint64_t destinations, bool each, const char *end)
{
    struct router routes;
    struct eid_pattern one, none, all;
    struct agent *a = begin(count, 1000000, &routes, each);
    double start = cpu_ms();
    fill(a, count, destinations);
    const double fill_us = 1e3 * (cpu_ms() - start) / (double)count;
    must(eid_pattern_parse("ipn:105.*", &one) == 0 && eid_pattern_parse("ipn:9.*", &none) == 0 &&
             eid_pattern_parse("*", &all) == 0,
         "patterns");

    start = cpu_ms();
    must(agent_route_add(a, &none, 1) == 0, "route");
    agent_expire(a, now);
    const struct cost nothing = settle(a, start, 1);

    start = cpu_ms();
    must(agent_route_add(a, &one, 1) == 0, "route");
    agent_expire(a, now);
    const struct cost added = settle(a, start, 1); /* link 1 is down, and the most specific way */

    start = cpu_ms();
    agent_link(a, 0, true, now); /* the one that is up */
    const struct cost up = settle(a, start, 1);

    must(agent_route_add(a, &all, 1) == 0, "route");
    agent_expire(a, now);
    settle(a, start, 1);
    agent_link(a, 1, true, now);
    settle(a, start, 1);
    start = cpu_ms();
    agent_link(a, 0, false, now);
    const struct cost everything = settle(a, start, 1);

    printf("{\"bundles\": %llu, \"destinations\": %llu, \"router\": \"%s\", "
           "\"accept_and_queue_us_each\": %.3f,\n ",
           (unsigned long long)count, (unsigned long long)destinations,
           each ? "each" : "by destination", fill_us);
    print("a_route_for_nobody", &nothing, ",\n ");
    print("a_route_for_one_destination", &added, ",\n ");
    print("a_link_up", &up, ",\n ");
    print("all_move", &everything, ",\n ");

    start = cpu_ms();
    must(agent_link_remove(a, 1, now) == 0, "remove");
    const struct cost removed = settle(a, start, 0);
    print("a_link_removed", &removed, end);
    agent_free(a);
}

/* A link that takes all of them, and brings none: then its neighbour is heard again. */
static void measure_pauses(uint64_t count)
{
    struct router routes;
    struct agent *a = begin(count, UINT64_C(1) << 40, &routes, false);
    struct agent_action x;
    uint64_t given = 0;
    agent_window(a, 0, (uint32_t)count, now);
    fill(a, count, 10);
    agent_link(a, 0, true, now);
    while (given < count && agent_poll(a, &x) == 1) {
        given += x.kind == AGENT_SEND;
        buf_drop(x.bundle);
    }
    for (uint64_t key = 1; key <= count; key++)
        agent_failed(a, key, NULL, now);
    agent_window(a, 0, 64, now);
    const double start = cpu_ms();
    agent_heard(a, 0, now);
    const struct cost c = settle(a, start, 0);
    printf("{\"bundles\": %llu,\n ", (unsigned long long)count);
    print("pauses_end", &c, "}");
    agent_free(a);
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    printf("[");
    for (int each = 0; each < 2; each++) {
        measure(count, 10, each, "},\n ");
        measure(count, 10000, each, "},\n ");
    }
    measure_pauses(count);
    printf("]\n");
    return 0;
}
