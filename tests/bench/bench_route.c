/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes through drawn contact plans. JSON: for each size of plan the processor time of one route
 * without the cache (every query another), and in streams of bundles from one node to all others in
 * turn, 10 us apart, one in a hundred booked: of 500 kB, and of 400 to 600 kB; how many of them the
 * cache answers, and how long these and the others take. And how long a text of ION's lines takes
 * to become a plan. Times include the clock's own, some 0.2 us.
 *
 *   bench_route [--quick]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "node/plan/plan_draft.h"
#include "route/plan_route.h"

#define DAY (86400 * TICK_S)

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * TICK_S + (uint64_t)t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_times(const char *name, uint64_t *ns, size_t n)
{
    if (n == 0) {
        printf("\"%s\": null", name);
        return;
    }
    qsort(ns, n, sizeof *ns, compare_times);
    printf("\"%s\": {\"queries\": %zu, \"p50_us\": %.3f, \"p90_us\": %.3f, \"p99_us\": %.3f, "
           "\"max_us\": %.3f}",
           name, n, (double)ns[n / 2] / 1e3, (double)ns[n * 9 / 10] / 1e3,
           (double)ns[n * 99 / 100] / 1e3, (double)ns[n - 1] / 1e3);
}

/* Contacts of 5 to 15 minutes within a day; each node meets some eight others, both ways. */
static struct plan *draw_plan(struct rng *r, size_t nodes, size_t contacts)
{
    struct plan_config config;
    struct plan *p;
    uint64_t id;
    plan_config_default(&config);
    if (plan_new(&p, &config) < 0)
        abort();
    for (size_t i = 0; i < contacts;) {
        uint64_t a = rng_below(r, nodes), b = (a + 1 + rng_below(r, 8) * (nodes / 8 + 1)) % nodes;
        struct plan_contact c = {a, b, rng_below(r, DAY), 0, 10000000 + rng_below(r, 500) * 1000000,
                                 1};
        c.end = c.start + 300 * TICK_S + rng_below(r, 600 * TICK_S);
        if (a == b || plan_add(p, &c, &id) < 0)
            c.start = rng_below(r, DAY);
        else
            i++;
        struct plan_range range = {a, b, 0, TICK_NEVER, rng_below(r, 10) * TICK_MS, false};
        plan_add_range(p, &range);
    }
    return p;
}

static void bench_cold(struct plan *p, struct rng *r, size_t nodes, uint64_t *ns, size_t n)
{
    struct plan_route route;
    size_t found = 0, hops = 0;
    for (size_t i = 0; i < n; i++) {
        struct plan_query q = {.from = rng_below(r, nodes),
                               .to = rng_below(r, nodes),
                               .bytes = 1000 + rng_below(r, 10000000),
                               .priority = PLAN_NORMAL,
                               .now = rng_below(r, DAY / 2),
                               .expiry = TICK_NEVER};
        uint64_t start = clock_ns();
        enum plan_reason reason = plan_route_search(p, &q, &route);
        ns[i] = clock_ns() - start;
        found += reason == PLAN_FOUND;
        hops += reason == PLAN_FOUND ? route.hops : 0;
    }
    print_times("cold", ns, n);
    printf(", \"found\": %.4f, \"hops\": %.2f", (double)found / (double)n,
           (double)hops / (double)(found > 0 ? found : 1));
}

/* A stream from one node to all others in turn. */
static void bench_stream(struct plan *p, struct rng *r, size_t nodes, uint64_t *ns, size_t n,
                         const char *name, uint64_t spread)
{
    struct plan_route route;
    struct plan_totals t;
    tick now = DAY / 4;
    size_t warm = nodes * 6, hits = 0, misses = 0;
    for (size_t i = 0; i < n + warm; i++, now += 10 * TICK_US) {
        struct plan_query q = {.from = 0,
                               .to = 1 + i % (nodes - 1),
                               .bytes = 500000 - spread / 2 + rng_below(r, spread + 1),
                               .priority = PLAN_NORMAL,
                               .now = now,
                               .expiry = TICK_NEVER};
        plan_totals(p, &t);
        uint64_t before = t.hits, start = clock_ns();
        enum plan_reason reason = plan_route_find(p, &q, &route);
        uint64_t took = clock_ns() - start;
        plan_totals(p, &t);
        if (i >= warm && t.hits > before)
            ns[hits++] = took;
        else if (i >= warm)
            ns[n - ++misses] = took;
        if (reason == PLAN_FOUND && i % 100 == 0)
            plan_book(p, &route, q.priority);
    }
    printf(", \"%s\": {\"hits\": %.5f, ", name, (double)hits / (double)n);
    print_times("hit", ns, hits);
    printf(", ");
    print_times("miss", ns + hits, misses);
    printf("}");
}

static void bench_size(size_t nodes, size_t contacts, size_t queries, bool last)
{
    struct rng r;
    rng_init(&r, 1);
    uint64_t *ns = calloc(queries * 10, sizeof *ns);
    struct plan *p = draw_plan(&r, nodes, contacts);
    if (ns == NULL)
        abort();
    printf("    {\"nodes\": %zu, \"contacts\": %zu, ", nodes, contacts);
    bench_cold(p, &r, nodes, ns, queries);
    bench_stream(p, &r, nodes, ns, queries * 10, "stream", 0);
    bench_stream(p, &r, nodes, ns, queries * 10, "stream_of_sizes", 200000);
    printf("}%s\n", last ? "" : ",");
    fflush(stdout);
    plan_free(p);
    free(ns);
}

/* Lines in no order, as a plan of many passes has them. */
static char *draw_text(size_t contacts, size_t *len)
{
    struct rng r;
    char *text;
    rng_init(&r, 2);
    FILE *f = open_memstream(&text, len);
    if (f == NULL)
        abort();
    size_t nodes = 1000, pairs = nodes * 10;
    for (size_t i = 0; i < contacts; i++) {
        uint64_t pair = (i * 7919) % pairs, at = (i / pairs) * 1000 + rng_below(&r, 300);
        fprintf(
            f, "a contact +%" PRIu64 ".%03" PRIu64 " +%" PRIu64 " %" PRIu64 " %" PRIu64 " %d 1.0\n",
            at, rng_below(&r, 1000), at + 300 + rng_below(&r, 300), pair % nodes + 1,
            (pair % nodes + pair / nodes * 13 + 1) % nodes + 1, 62500000);
    }
    fclose(f);
    return text;
}

static void bench_load(size_t contacts, bool last)
{
    size_t len;
    char *text = draw_text(contacts, &len);
    struct plan_config config;
    struct plan_draft d;
    struct plan_totals t;
    struct plan *p;
    struct conf_errors *e = malloc(sizeof *e);
    plan_config_default(&config);
    if (e == NULL || plan_new(&p, &config) < 0)
        abort();
    conf_errors_init(e, "text");
    plan_draft_init(&d, 0);
    uint64_t start = clock_ns();
    plan_ion_read(&d, text, len, e);
    uint64_t read = clock_ns();
    plan_draft_build(&d, p, e);
    plan_draft_fini(&d);
    uint64_t built = clock_ns();
    plan_totals(p, &t);
    if (e->total > 0 || t.contacts != contacts) {
        fprintf(stderr, "%s\n", e->total > 0 ? e->text[0] : "contacts are missing");
        exit(1);
    }
    printf("    {\"contacts\": %zu, \"text_bytes\": %zu, \"read_s\": %.3f, \"build_s\": %.3f, "
           "\"load_s\": %.3f}%s\n",
           contacts, len, (double)(read - start) / 1e9, (double)(built - read) / 1e9,
           (double)(built - start) / 1e9, last ? "" : ",");
    plan_free(p);
    free(text);
    free(e);
}

int main(int argc, char **argv)
{
    static const size_t sizes[][2] = {{10, 1000},   {50, 1000},    {50, 10000},   {200, 1000},
                                      {200, 10000}, {200, 100000}, {1000, 10000}, {1000, 100000}};
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    size_t n = sizeof sizes / sizeof sizes[0];
    printf("{\"routes\": [\n");
    for (size_t i = 0; i < n; i++)
        bench_size(sizes[i][0], sizes[i][1], quick ? 200 : 2000, i == n - 1);
    printf("  ], \"loads\": [\n");
    for (size_t contacts = 10000; contacts <= 1000000; contacts *= 10)
        bench_load(contacts, contacts == 1000000);
    printf("  ]}\n");
    return 0;
}
