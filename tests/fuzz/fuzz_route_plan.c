/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are calls of a plan: contacts and ranges come, change and go, routes are asked for,
 * booked and given back. The plan stays whole, and the cache answers what a search does. */
#include <stdlib.h>
#include <string.h>

#include "route/plan_route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct bytes {
    const uint8_t *at, *end;
};

static uint64_t take(struct bytes *b, uint64_t below)
{
    return b->at < b->end ? *b->at++ % below : 0;
}

static struct plan_contact take_contact(struct bytes *b)
{
    static const uint64_t rates[] = {8000000000, 2666666666, 0, 1};
    struct plan_contact c = {.from = take(b, 6), .to = take(b, 6), .start = take(b, 200)};
    c.end = c.start + take(b, 60);
    c.rate = rates[take(b, 4)];
    c.confidence = (double)take(b, 5) / 4;
    return c;
}

static void ask(struct plan *p, struct bytes *b, struct plan_route *r, struct plan_route *cold)
{
    struct plan_query q = {.from = take(b, 6),
                           .to = take(b, 6),
                           .bytes = take(b, 40),
                           .priority = (enum plan_priority)take(b, PLAN_PRIORITIES),
                           .now = take(b, 150),
                           .expiry = TICK_NEVER};
    enum plan_reason warm = plan_route_find(p, &q, r);
    if (warm != plan_route_search(p, &q, cold))
        abort();
    if (warm != PLAN_FOUND)
        return;
    if (r->arrival != cold->arrival)
        abort();
    switch (take(b, 3)) {
    case 0:
        if (plan_book(p, r, q.priority) != 0)
            abort();
        break;
    case 1:
        plan_unbook(p, r, q.priority);
        break;
    default:
        plan_route_several(p, &q, r, 3);
        plan_route_all(p, &q, r, 3);
    }
}

static void step(struct plan *p, struct bytes *b, struct plan_route *r)
{
    struct plan_contact c = take_contact(b);
    struct plan_range range = {c.from, c.to, c.start, c.end, take(b, 40), false};
    uint64_t id = plan_at(p, c.from, c.to, c.start);
    switch (take(b, 8)) {
    case 0:
        plan_remove(p, id);
        break;
    case 1:
        plan_change(p, id, &c);
        break;
    case 2:
        plan_remove_range(p, c.from, c.to, c.start);
        break;
    case 3:
        plan_drop_past(p, c.start / 2);
        break;
    case 4:
        plan_add_range(p, &range);
        break;
    case 5:
        plan_add(p, &c, &id);
        break;
    default:
        ask(p, b, r, r + 3);
    }
    plan_check(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bytes b = {data, data + len};
    struct plan_config config;
    struct plan *p;
    struct plan_route *r = calloc(4, sizeof *r);
    plan_config_default(&config);
    config.overhead_ppm = config.overhead_min = 0;
    config.cache_max = 3;
    if (r == NULL || plan_new(&p, &config) < 0)
        abort();
    while (b.at < b.end)
        step(p, &b, r);
    plan_free(p);
    free(r);
    return 0;
}
