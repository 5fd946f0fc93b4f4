/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of whole nodes by one plan. usage: sim_planned RUN [SEED]
 *
 * day: 100 nodes, a day of contacts of minutes; each bundle arrives once, not before the earliest
 * time that is possible, and in the contact that was predicted when it was sent.
 *
 * line: six nodes in a row, contacts of 20 to 60 ms, one bundle at a time; each arrives not after
 * the predicted time.
 *
 * diamond: two ways, whose contacts take turns of 30 ms; the same, and both ways are used.
 *
 * equal: a diamond of two equal ways; each gets half of the bundles.
 *
 * cut: a contact of a diamond is removed while bundles are on it; all arrive, by the other way.
 *
 * critical: the better way of a diamond is dark, and nobody knows; critical bundles arrive by the
 * other one, others do not.
 *
 * restarts: five nodes, a day, 100 B to 5 MB, nodes killed and started again; everything that was
 * accepted is delivered, once, and nothing is left.
 *
 * mixed, long: the same for 3 hours, or 24, with links by LTP and by TCPCL, a hundredth of all
 * frames lost, and lifetimes of 3 hours, so that memory comes to rest: it stays flat, and so do
 * ports and streams; what was accepted is delivered, once, or has expired and is counted.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/planned.h"

#define S(n) ((n)*TICK_S)
#define MS(n) ((n)*TICK_MS)
#define MBIT UINT64_C(1000000)
#define DAY S(86400)
#define KEYS "owlt: 1ms, sessions: 64, segment: 1400B, pacing: {burst: 0s, slack: 0s}"

static size_t count_delivered(const struct planned *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->bundles; i++)
        n += p->bundle[i].delivered > 0;
    return n;
}

/* Each arrived once, in the contact that was predicted; alone: and not after the predicted time,
 * since nothing else was on its way. */
static void judge_arrivals(struct planned *p, bool alone)
{
    size_t routes = 0, on_time = 0;
    for (size_t i = 0; i < p->bundles; i++) {
        const struct planned_bundle *b = &p->bundle[i];
        routes += b->arrival != TICK_NEVER;
        if ((b->delivered > 0) != (b->arrival != TICK_NEVER))
            planned_complain(p, b->delivered > 0 ? "a bundle arrived for which there was no route"
                                                 : "a bundle did not arrive that had a route");
        if (b->delivered == 0)
            continue;
        if (b->came < b->earliest)
            planned_complain(p, "a bundle arrived before it could");
        if (b->came > b->window)
            planned_complain(p, "a bundle arrived after the contact that was predicted");
        if (alone && b->came > b->arrival)
            planned_complain(p, "a bundle arrived after the predicted time");
        on_time += b->came <= b->arrival;
    }
    printf("%zu bundles, %zu with a route, %zu arrived, %zu not after the predicted time\n",
           p->bundles, routes, count_delivered(p), on_time);
    if (routes == 0)
        planned_complain(p, "no bundle had a route");
}

static int finish(struct planned *p, const char *name, uint64_t seed)
{
    printf("%s, seed %" PRIu64 ": %" PRIu64 " steps, %" PRIu64 " datagrams, %" PRIu64
           " refused%s%s\n",
           name, seed, p->steps, p->frames, p->refused, p->wrong != NULL ? "; WRONG: " : "",
           p->wrong != NULL ? p->wrong : "");
    int code = p->wrong == NULL ? 0 : 1;
    planned_fini(p);
    return code;
}

static tick draw_between(struct planned *p, tick low, tick high)
{
    return low + rng_below(&p->rng, high - low);
}

static int run_day(uint64_t seed)
{
    struct planned p;
    planned_init(&p, seed, PLANNED_NODES);
    for (uint64_t pair = 0; pair < 2 * PLANNED_NODES; pair++) {
        uint64_t a = 1 + pair % PLANNED_NODES, b = 1 + rng_below(&p.rng, PLANNED_NODES);
        tick owlt = draw_between(&p, MS(1), MS(300));
        for (tick at = draw_between(&p, 0, S(7200)); a != b && at < DAY;
             at += draw_between(&p, S(1800), S(14400)))
            planned_contact(&p, a, b, at, at + draw_between(&p, S(60), S(900)),
                            MBIT * (1 + rng_below(&p.rng, 10)), owlt);
    }
    for (int i = 0; i < 1500; i++) {
        size_t from = rng_below(&p.rng, PLANNED_NODES), to = rng_below(&p.rng, PLANNED_NODES);
        if (from != to)
            planned_bundle(&p, draw_between(&p, 0, DAY), from, to,
                           (uint32_t)draw_between(&p, 1, 20000), DAY);
    }
    planned_begin(&p, KEYS, false);
    if (planned_until(&p, 2 * DAY))
        judge_arrivals(&p, false);
    return finish(&p, "day", seed);
}

static int run_line(uint64_t seed)
{
    struct planned p;
    planned_init(&p, seed, 6);
    for (uint64_t a = 1; a < 6; a++)
        for (tick at = draw_between(&p, 0, MS(100)); at < S(170);
             at += draw_between(&p, MS(70), MS(200)))
            planned_contact(&p, a, a + 1, at, at + draw_between(&p, MS(20), MS(60)), 50 * MBIT,
                            MS(3));
    for (tick i = 0; i < 160; i++) /* one under way at a time */
        planned_bundle(&p, S(i), i % 2 == 0 ? 0 : 5, i % 2 == 0 ? 5 : 0,
                       (uint32_t)draw_between(&p, 1, 10000), S(60));
    planned_begin(&p, KEYS, false);
    if (planned_until(&p, S(300)))
        judge_arrivals(&p, true);
    return finish(&p, "line", seed);
}

/* 1 meets 2 and 3, both of which meet 4: taking turns, or (steady) at all times. */
static void add_diamond(struct planned *p, tick end)
{
    for (tick at = 0; at < end; at += MS(80)) {
        planned_contact(p, 1, 2, at, at + MS(30), 50 * MBIT, MS(2));
        planned_contact(p, 2, 4, at + MS(10), at + MS(45), 50 * MBIT, MS(2));
        planned_contact(p, 1, 3, at + MS(40), at + MS(70), 50 * MBIT, MS(4));
        planned_contact(p, 3, 4, at + MS(50), at + MS(85), 50 * MBIT, MS(4));
    }
}

static uint64_t received_from(const struct planned *p, size_t node, const char *link)
{
    const struct node_link *l = node_link_find(&p->nodes[node].node, link);
    return l == NULL ? 0 : l->received;
}

static int run_diamond(uint64_t seed)
{
    struct planned p;
    planned_init(&p, seed, 4);
    add_diamond(&p, S(62));
    for (tick i = 0; i < 300; i++)
        planned_bundle(&p, MS(200) * i + draw_between(&p, 0, MS(80)), 0, 3,
                       (uint32_t)draw_between(&p, 1, 10000), S(60));
    planned_begin(&p, KEYS, false);
    if (planned_until(&p, S(200)))
        judge_arrivals(&p, true);
    if (received_from(&p, 3, "to-2") < 50 || received_from(&p, 3, "to-3") < 50)
        planned_complain(&p, "a way of the diamond was not used");
    return finish(&p, "diamond", seed);
}

/* Two ways that are the same all the time: with bundles one at a time, and 20 at once, each gets
 * half of them. */
static int run_equal(uint64_t seed)
{
    struct planned p;
    planned_init(&p, seed, 4);
    for (uint64_t between = 2; between <= 3; between++) {
        planned_contact(&p, 1, between, 0, S(400), 10 * MBIT, MS(2));
        planned_contact(&p, between, 4, 0, S(400), 10 * MBIT, MS(2));
    }
    for (tick i = 0; i < 200; i++)
        planned_bundle(&p, i < 100 ? S(1) + i * S(1) : S(110) + i / 20 * S(5), 0, 3, 50000,
                       S(3600));
    planned_begin(&p, KEYS, false);
    if (planned_until(&p, S(400)))
        judge_arrivals(&p, false);
    const uint64_t two = received_from(&p, 3, "to-2"), three = received_from(&p, 3, "to-3");
    printf("equal: %" PRIu64 " by 2, %" PRIu64 " by 3\n", two, three);
    if (two + three != 200 || two < 80 || three < 80)
        planned_complain(&p, "equal ways did not share the bundles");
    return finish(&p, "equal", seed);
}

/* The contact from 1 to 2 of 10 s is cut in its midst, and all later ones; nobody tells 2. */
static int run_cut(uint64_t seed)
{
    struct planned p;
    struct conf_errors *e = calloc(1, sizeof *e);
    planned_init(&p, seed, 4);
    planned_contact(&p, 1, 2, 0, S(10), MBIT, MS(2));
    planned_contact(&p, 2, 4, 0, S(60), MBIT, MS(2));
    planned_contact(&p, 1, 3, S(20), S(60), MBIT, MS(2));
    planned_contact(&p, 3, 4, S(20), S(60), MBIT, MS(2));
    for (int i = 0; i < 50; i++) /* 500 kB take 4 s */
        planned_bundle(&p, 0, 0, 3, 10000, S(3600));
    p.loose = true;
    planned_begin(&p, KEYS, false);
    if (e == NULL || !planned_until(&p, S(2)))
        planned_complain(&p, "it did not run");
    size_t before = count_delivered(&p);
    const uint64_t id = plan_at(p.bare, 1, 2, 0), back = plan_at(p.bare, 2, 1, 0);
    conf_errors_init(e, "cut");
    if (plan_remove(p.bare, id) != 0 || plan_remove(p.bare, back) != 0 ||
        node_plan_remove_contact(&p.nodes[0].node, 1, 2, "0s", e) != 0 ||
        node_plan_remove_contact(&p.nodes[0].node, 2, 1, "0s", e) != 0)
        planned_complain(&p, "the contact could not be cut");
    (void)planned_until(&p, S(100));
    printf("cut: %zu came before, %zu in all, %" PRIu64 " by 3\n", before, count_delivered(&p),
           received_from(&p, 3, "to-3"));
    if (before == 0 || before > 40 || count_delivered(&p) != 50)
        planned_complain(&p, "not all came, or the cut was not in their midst");
    if (received_from(&p, 3, "to-3") < 50 - before - 5)
        planned_complain(&p, "what the cut left did not go the other way");
    free(e);
    return finish(&p, "cut", seed);
}

static int run_critical(uint64_t seed)
{
    struct planned p;
    size_t critical = 0, others = 0;
    planned_init(&p, seed, 4);
    planned_contact(&p, 1, 2, 0, S(10), MBIT, MS(2));
    planned_contact(&p, 2, 4, 0, S(60), MBIT, MS(2));
    planned_contact(&p, 1, 3, S(20), S(60), MBIT, MS(2));
    planned_contact(&p, 3, 4, S(20), S(60), MBIT, MS(2));
    for (int i = 0; i < 40; i++)
        planned_bundle(&p, S(1), 0, 3, 1000, S(3600));
    for (size_t i = 0; i < p.bundles; i++)
        p.bundle[i].critical = i % 2 == 0;
    p.dark[0] = 2;
    p.dark[1] = 4;
    planned_begin(&p, KEYS, false);
    (void)planned_until(&p, S(50));
    for (size_t i = 0; i < p.bundles; i++) {
        critical += p.bundle[i].critical && p.bundle[i].delivered == 1;
        others += !p.bundle[i].critical && p.bundle[i].delivered > 0;
    }
    printf("critical: %zu of 20 arrived, %zu of the others\n", critical, others);
    if (critical != 20 || others != 0)
        planned_complain(&p, "critical bundles did not go all ways, or others did");
    return finish(&p, "critical", seed);
}

/* What came in went out, is held, or has ended for a reason: agent_check asserts it of each node;
 * here of all of them, from outside. */
static void judge_restarts(struct planned *p)
{
    size_t confirmed = 0, delivered = 0, held = 0, expired = 0;
    for (size_t i = 0; i < p->len; i++) {
        const struct agent_counters *c = agent_counters(p->nodes[i].node.agent);
        held += c->bundles;
        expired += c->ended[END_EXPIRED];
    }
    for (size_t i = 0; i < p->bundles; i++) {
        const struct planned_bundle *b = &p->bundle[i];
        confirmed += b->confirmed;
        delivered += b->delivered > 0;
        if (b->delivered > 0 && !b->confirmed)
            planned_complain(p, "a bundle was delivered that was not accepted");
    }
    printf("restarts: %zu bundles, %zu accepted, %zu delivered, %zu held, %zu expired\n",
           p->bundles, confirmed, delivered, held, expired);
    if (expired != 0)
        planned_complain(p, "a bundle expired whose lifetime is 30 days");
    if (delivered != confirmed)
        planned_complain(p, "not everything that was accepted was delivered");
    if (held != 0)
        planned_complain(p, "something is held although all was delivered");
}

static int run_restarts(uint64_t seed)
{
    struct planned p;
    uint64_t kills = 0;
    planned_init(&p, seed, 5);
    p.loose = true; /* what a dead node's neighbours send is lost */
    for (uint64_t a = 1; a <= 5; a++)
        for (uint64_t b = a + 1; b <= 5; b++)
            for (tick at = draw_between(&p, 0, S(3600)); (a + b) % 3 != 0 && at < 2 * DAY;
                 at += draw_between(&p, S(900), S(5400)))
                planned_contact(&p, a, b, at, at + draw_between(&p, S(30), S(600)), 20 * MBIT,
                                MS(100));
    static const uint32_t sizes[] = {100, 1000, 20000, 100000, 5000000};
    for (int i = 0; i < 2000; i++) {
        size_t from = rng_below(&p.rng, 5), to = rng_below(&p.rng, 5);
        if (from != to)
            planned_bundle(&p, draw_between(&p, 0, DAY), from, to,
                           sizes[i % 100 == 0 ? 4 : rng_below(&p.rng, 4)] +
                               (uint32_t)rng_below(&p.rng, 100),
                           30 * DAY);
    }
    planned_begin(&p, KEYS, true);
    for (tick t = 0; t < DAY && p.wrong == NULL;) {
        struct planned_node *n = &p.nodes[rng_below(&p.rng, 5)];
        t += draw_between(&p, S(60), S(1800));
        (void)planned_until(&p, t);
        planned_kill(n);
        kills++;
        t += draw_between(&p, MS(10), S(120));
        (void)planned_until(&p, t);
        planned_start(n);
    }
    printf("%" PRIu64 " kills\n", kills);
    if (planned_until(&p, 2 * DAY))
        judge_restarts(&p);
    return finish(&p, "restarts", seed);
}

struct growth {
    uint64_t memory, ports; /* most, of each half of the time */
};

static size_t count_list(const struct list *head)
{
    size_t n = 0;
    list_for_each (it, head)
        n++;
    return n;
}

static void look_at_growth(struct planned *p, struct growth *g)
{
    for (size_t i = 0; i < p->len; i++)
        planned_node_forget(&p->nodes[i], PLANNED_DTN + p->world.now / TICK_MS);
    struct mallinfo2 m = mallinfo2();
    uint64_t memory = m.uordblks + m.hblkhd;
    uint64_t ports = count_list(&p->world.ports) + count_list(&p->world.pipes.ends) +
                     count_list(&p->world.pipes.listeners);
    g->memory = memory > g->memory ? memory : g->memory;
    g->ports = ports > g->ports ? ports : g->ports;
}

/* Each was delivered or has expired, and what nodes counted says so; memory has come to rest. */
static void judge_long(struct planned *p, const struct growth half[2])
{
    size_t confirmed = 0, delivered = 0, held = 0;
    for (size_t i = 0; i < p->len; i++)
        held += agent_counters(p->nodes[i].node.agent)->bundles;
    for (size_t i = 0; i < p->bundles; i++) {
        confirmed += p->bundle[i].confirmed;
        delivered += p->bundle[i].delivered > 0;
    }
    for (size_t i = 0; i < p->len; i++)
        for (size_t k = 0; k < END_COUNT; k++)
            p->ended[k] += agent_counters(p->nodes[i].node.agent)->ended[k];
    printf("%zu accepted = %zu delivered + %" PRIu64 " expired + %zu held; %" PRIu64
           " forwarded; %.1f MB, then %.1f MB of memory; %" PRIu64 ", then %" PRIu64
           " ports and streams\n",
           confirmed, delivered, p->ended[END_EXPIRED], held, p->ended[END_FORWARDED],
           (double)half[0].memory / 1e6, (double)half[1].memory / 1e6, half[0].ports,
           half[1].ports);
    if (confirmed < p->bundles / 2 || confirmed > delivered + p->ended[END_EXPIRED] || held != 0)
        planned_complain(p, "not everything that was accepted was delivered or expired");
    if (half[1].memory > half[0].memory + half[0].memory / 5)
        planned_complain(p, "memory grows");
    if (half[1].ports > half[0].ports + 4)
        planned_complain(p, "ports or streams grow");
}

static void draw_traffic(struct planned *p, tick span)
{
    static const uint32_t sizes[] = {100, 1000, 20000, 100000, 3000000};
    for (uint64_t a = 1; a <= 5; a++)
        for (uint64_t b = a + 1; b <= 5; b++)
            for (tick at = draw_between(p, 0, S(600)); at < span + S(7200);
                 at += draw_between(p, S(300), S(1800)))
                planned_contact(p, a, b, at, at + draw_between(p, S(30), S(600)), 20 * MBIT,
                                MS(100));
    for (tick at = S(10); at < span; at += S(10)) {
        size_t from = rng_below(&p->rng, 5), to = rng_below(&p->rng, 5);
        if (from != to)
            planned_bundle(p, at, from, to,
                           sizes[at % S(1000) == 0 ? 4 : rng_below(&p->rng, 4)] +
                               (uint32_t)rng_below(&p->rng, 100),
                           S(10800));
    }
}

static int run_hours(const char *name, tick span, uint64_t seed)
{
    struct planned p;
    struct growth half[2] = {{0}};
    uint64_t kills = 0;
    tick shown = 0;
    planned_init(&p, seed, 5);
    p.loose = p.mixed = true;
    p.loss = 0.01;
    draw_traffic(&p, span);
    planned_begin(&p, KEYS, true);
    for (tick t = 0; t < span && p.wrong == NULL;) {
        struct planned_node *n = &p.nodes[rng_below(&p.rng, 5)];
        t += draw_between(&p, S(60), S(1200));
        (void)planned_until(&p, t);
        look_at_growth(&p, &half[t > span / 2 + S(3600)]);
        planned_kill(n);
        kills++;
        t += draw_between(&p, MS(10), S(120));
        (void)planned_until(&p, t);
        planned_start(n);
        if (t - shown >= S(3600))
            printf("%" PRIu64 " h, %" PRIu64 " kills\n", (shown = t) / S(3600), kills);
    }
    if (planned_until(&p, span + S(11000)))
        judge_long(&p, half);
    return finish(&p, name, seed);
}

static int run_mixed(uint64_t seed)
{
    return run_hours("mixed", S(3 * 3600), seed);
}

static int run_long(uint64_t seed)
{
    return run_hours("long", DAY, seed);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(uint64_t seed);
    } runs[] = {{"day", run_day},           {"line", run_line},   {"diamond", run_diamond},
                {"equal", run_equal},       {"cut", run_cut},     {"critical", run_critical},
                {"restarts", run_restarts}, {"mixed", run_mixed}, {"long", run_long}};
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof runs / sizeof *runs; i++)
        if (strcmp(runs[i].name, argv[1]) == 0)
            return runs[i].run(seed);
    fprintf(stderr,
            "usage: sim_planned day|line|diamond|equal|cut|critical|restarts|mixed|long [SEED]\n");
    return 2;
}
