/* SPDX-License-Identifier: Apache-2.0 */
/* What can happen in a planned run. What is predicted for a bundle is looked
 * up when it is sent, in plans of this file's own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/plan/plan_draft.h"
#include "tests/sim/flights.h"
#include "tests/sim/planned.h"

#define START_WALL ((DTN_EPOCH_UNIX * 1000 + PLANNED_DTN) * TICK_MS)
#define DATAGRAM 1442   /* bytes on the air, of a link with segment: 1400B */
#define CHECK_EVERY 256 /* steps; all nodes assert their invariants */

void planned_complain(struct planned *p, const char *what)
{
    if (p->wrong == NULL)
        p->wrong = what;
}

static struct plan *new_plan(bool bare)
{
    struct plan_config c;
    struct plan *p;
    plan_config_default(&c);
    c.overhead_ppm = bare ? 0 : PLANNED_OVERHEAD;
    c.overhead_min = bare ? 0 : c.overhead_min;
    c.margin = !bare;
    if (plan_new(&p, &c) != 0)
        abort();
    return p;
}

void planned_init(struct planned *p, uint64_t seed, size_t nodes)
{
    *p = (struct planned){.len = nodes};
    rng_init(&p->rng, seed);
    virtual_init(&p->world, START_WALL, &p->rng, 0);
    planned_net_init(p);
    p->plan = new_plan(false);
    p->bare = new_plan(true);
    p->nodes = calloc(nodes, sizeof *p->nodes);
    p->bundle = calloc(PLANNED_BUNDLES, sizeof *p->bundle);
    if (p->nodes == NULL || p->bundle == NULL)
        abort();
    snprintf(p->path, sizeof p->path, "/tmp/planned-%ld-XXXXXX", (long)getpid());
    int fd = mkstemp(p->path);
    if (fd < 0 || close(fd) < 0)
        abort();
}

void planned_contact(struct planned *p, uint64_t a, uint64_t b, tick start, tick end, uint64_t rate,
                     tick owlt)
{
    const struct plan_contact there = {a, b, start, end, rate, 1},
                              back = {b, a, start, end, rate, 1};
    const struct plan_range light = {a, b, start, end, owlt, false};
    uint64_t id;
    for (int i = 0; i < 2; i++) {
        struct plan *plan = i == 0 ? p->plan : p->bare;
        /* Two that were drawn may overlap: the second one is none. */
        if (plan_add(plan, &there, &id) == 0 &&
            (plan_add(plan, &back, &id) != 0 || plan_add_range(plan, &light) != 0))
            abort();
    }
}

void planned_begin(struct planned *p, const char *keys, bool store)
{
    struct plan_lost lost;
    char date[PLAN_TIME_CAP];
    FILE *f = fopen(p->path, "w");
    /* By dates: nodes that start later have the same plan. */
    if (f == NULL || fprintf(f, "@ %s\n", plan_date_text(START_WALL, true, date)) < 0)
        abort();
    if (plan_write(f, p->plan, PLAN_ION, 0, &lost) != 0 || fclose(f) != 0)
        abort();
    for (size_t i = 0; i < p->len; i++) {
        struct planned_node *n = &p->nodes[i];
        n->run = p;
        n->index = i;
        n->apps.owner = n->storage.owner = n;
        list_init(&n->apps.answers);
        list_init(&n->storage.kept);
        planned_node_configure(n, keys, store);
    }
    for (size_t i = 0; i < p->len; i++)
        planned_start(&p->nodes[i]);
}

void planned_bundle(struct planned *p, tick at, size_t from, size_t to, uint32_t size,
                    tick lifetime)
{
    if (p->bundles == PLANNED_BUNDLES)
        abort();
    size_t i = p->bundles++;
    for (; i > 0 && p->bundle[i - 1].at > at; i--)
        p->bundle[i] = p->bundle[i - 1];
    p->bundle[i] = (struct planned_bundle){
        .at = at, .from = from, .to = to, .size = size, .lifetime = lifetime};
}

/* A link sends a datagram when the line is free, at once: each hop is ahead of its line by one. */
static tick ahead_of_line(const struct plan *p, const struct plan_route *r)
{
    tick ahead = 0;
    for (size_t i = 0; i < r->hops; i++)
        ahead += DATAGRAM * 8 * TICK_S / plan_get(p, r->hop[i].contact)->rate + 1;
    return ahead;
}

/* What both plans say: not before the one, in the last contact of the other. */
static void predict_arrival(struct planned *p, struct planned_bundle *b)
{
    struct plan_query q = {.from = b->from + 1,
                           .to = b->to + 1,
                           .bytes = b->size,
                           .priority = PLAN_NORMAL,
                           .now = p->world.now,
                           .expiry = TICK_NEVER};
    struct plan_route r;
    b->arrival = b->earliest = b->window = TICK_NEVER;
    if (plan_route_find(p->bare, &q, &r) == PLAN_FOUND)
        b->earliest = r.arrival - ahead_of_line(p->bare, &r);
    q.expiry = tick_add(p->world.now, b->lifetime);
    q.bytes += 64; /* of the other blocks */
    if (plan_route_find(p->plan, &q, &r) != PLAN_FOUND)
        return;
    const struct plan_hop *last = &r.hop[r.hops - 1];
    b->arrival = r.arrival;
    b->window = tick_add(plan_get(p->plan, last->contact)->end, r.arrival - last->last_sent);
}

static void send_next(struct planned *p)
{
    struct planned_bundle *b = &p->bundle[p->next];
    struct planned_node *n = &p->nodes[b->from];
    predict_arrival(p, b);
    p->next++;
    if (n->alive)
        planned_node_send(n, p->next - 1);
}

/* ---- what happens, in the order of ties ---- */

static tick bundle_due(void *context, tick before)
{
    const struct planned *p = context;
    return p->next < p->bundles ? p->bundle[p->next].at : before;
}

static void step_bundle(void *context)
{
    send_next(context);
}

static tick net_due(void *context, tick before)
{
    const struct planned *p = context;
    (void)before;
    return flights_due(&p->flying);
}

static void step_net(void *context)
{
    struct planned *p = context;
    (void)flights_step(&p->flying, &p->world);
}

bool planned_until(struct planned *p, tick end)
{
    const struct world_source sources[] = {
        {bundle_due, step_bundle, p}, {net_due, step_net, p}, virtual_alarms(&p->world)};
    const struct world_run run = virtual_run(&p->world, sources, sizeof sources / sizeof *sources);
    while (p->wrong == NULL && world_run_step(&run, tick_add(end, 1))) {
        for (size_t i = 0; i < p->len; i++) {
            struct planned_node *n = &p->nodes[i];
            if (!n->alive)
                continue;
            if (list_first(&n->apps.answers) != NULL) {
                planned_node_answer(n);
                world_end_round(&p->world.world);
            }
            if (p->steps % CHECK_EVERY == 0)
                node_check(&n->node);
        }
        p->steps++;
    }
    virtual_advance(&p->world, end);
    return p->wrong == NULL;
}

void planned_fini(struct planned *p)
{
    for (size_t i = 0; i < p->len; i++)
        planned_node_fini(&p->nodes[i]);
    flights_fini(&p->flying);
    virtual_fini(&p->world);
    plan_free(p->plan);
    plan_free(p->bare);
    (void)unlink(p->path);
    free(p->bundle);
    free(p->nodes);
}
