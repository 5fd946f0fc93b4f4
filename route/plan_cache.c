/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest route for each destination, class and order of size. An answer from the cache has the
 * arrival that a search would find, never a later one.
 *
 * Why this can be known without a search: a query that starts later, is larger, or meets more
 * bookings or backlog does not arrive earlier. So a search once gives two bounds for all such
 * queries: `floor` for every route, and `rest` for every route but the one found. The cached route
 * is computed again for the query (a few hops). It is the best if it arrives at `floor` with no
 * more hops than any other route, or before `rest`. A change that might make another route earlier
 * drops the entries that it could reach (cache_ease); changes that make routes worse need no
 * action.
 *
 * Queries with yields (struct plan_yield) meet fewer bookings, each others. They have entries of
 * their own, whose bounds are those of a query for which all bookings of its class yield.
 *
 * `rest` costs a search for each hop, so it is computed only if the floor was not sufficient, and
 * where it paid. A bound of the same kind, `late`, shows without a search that a bundle is too
 * late. An entry without hops shows that there is no route: bundles without a route cost no more
 * than others. What can go wrong: memory; then nothing is cached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "route/plan_impl.h"

/* How often an unused bound is computed again. */
#define REST_EVERY 16
/* How often `late` is looked for anew, where it did not do. */
#define LATE_EVERY TICK_S

/* Eighths of powers of two. */
static unsigned size_of(uint64_t volume)
{
    unsigned high = 63U - (unsigned)__builtin_clzll(volume | 8);
    return high << 3 | (unsigned)(volume >> (high - 3) & 7);
}

static uint64_t hash_key(const struct plan *p, const struct search *s)
{
    uint64_t kind = (uint64_t)(s->query->yields_len > 0) << 24 | (uint64_t)s->cargo.priority << 16 |
                    size_of(s->cargo.volume);
    return hash_mix(hash_mix(p->by_key.seed, s->from->number, kind), s->to->number, kind);
}

static struct entry *find_entry(const struct plan *p, const struct search *s, uint64_t key)
{
    struct hash_node *n = hash_find(&p->by_key, key);
    for (; n != NULL; n = hash_next(n)) {
        struct entry *e = container_of(n, struct entry, by_key);
        if (e->from == s->from && e->to == s->to && e->priority == s->cargo.priority &&
            e->size == size_of(s->cargo.volume) && e->yields == (s->query->yields_len > 0))
            return e;
    }
    return NULL;
}

static void drop_entry(struct plan *p, struct entry *e)
{
    hash_sub(&p->by_key, &e->by_key);
    list_sub(&e->used);
    free(e);
}

void cache_clear(struct plan *p)
{
    list_for_each_safe (it, &p->used)
        drop_entry(p, container_of(it, struct entry, used));
}

void cache_ease(struct plan *p, tick earliest)
{
    list_for_each_safe (it, &p->used) {
        struct entry *e = container_of(it, struct entry, used);
        if (e->rest > earliest)
            drop_entry(p, e);
    }
}

void cache_forget_contact(struct plan *p, const struct contact *c)
{
    list_for_each_safe (it, &p->used) {
        struct entry *e = container_of(it, struct entry, used);
        bool has = false;
        for (size_t i = 0; i < e->hops; i++)
            has |= e->via[i] == c;
        if (has)
            drop_entry(p, e);
    }
}

/* Is the entry's route the best for this query? */
static bool try_entry(const struct entry *e, const struct search *s, struct crossing *via)
{
    if (e->hops == 0 || s->start.arrival < e->now || s->cargo.volume < e->volume)
        return false;
    if (query_excludes(s->query, e->via[0]->pair->to->number))
        return false;
    if (!search_follow(s, e->via, e->hops, via))
        return false;
    tick arrival = via[e->hops - 1].last_arrives;
    return (arrival <= e->floor && e->hops <= e->floor_hops) || arrival < e->rest;
}

/* The first arrival of `volume` bytes when nothing waits and none is excluded, by contacts that are
 * not banned. *hops: the fewest of those that arrive then; NULL: not asked for. */
static tick quiet_arrival(const struct search *like, uint64_t volume, uint64_t ban, size_t *hops)
{
    struct search s = *like;
    struct plan_query quiet = *like->query;
    struct crossing via[PLAN_HOPS_MAX];
    quiet.backlog_len = quiet.excluded_len = 0;
    s.query = &quiet;
    s.cargo.volume = volume;
    s.cargo.ban = ban;
    s.cargo.relaxed = like->query->yields_len > 0;
    if (!search_run(&s))
        return TICK_NEVER;
    if (hops != NULL)
        *hops = search_fewest(&s, via);
    return s.to->label.arrival;
}

static tick rest_arrival(const struct search *s, const struct entry *e)
{
    tick rest = TICK_NEVER;
    for (size_t i = 0; i < e->hops; i++) {
        /* Any other route does without one of its contacts. */
        e->via[i]->banned = ++s->plan->bans;
        rest = tick_min(rest, quiet_arrival(s, e->volume, s->plan->bans, NULL));
    }
    return rest;
}

static void put_entry(struct plan *p, struct entry *e, struct entry *old, uint64_t key)
{
    if (old != NULL)
        drop_entry(p, old);
    else if (p->by_key.len >= p->config.cache_max)
        drop_entry(p, container_of(p->used.prev, struct entry, used));
    hash_add(&p->by_key, &e->by_key, key);
    list_add_head(&p->used, &e->used);
}

/* An entry for the search, with `hops` contacts to fill in. NULL: no memory. */
static struct entry *make_entry(const struct search *s, size_t hops)
{
    struct entry *e = malloc(sizeof *e + hops * sizeof e->via[0]);
    if (e == NULL)
        return NULL;
    *e = (struct entry){.late_at = TICK_NEVER,
                        .from = s->from,
                        .to = s->to,
                        .priority = s->cargo.priority,
                        .size = size_of(s->cargo.volume),
                        .now = s->start.arrival,
                        .volume = s->cargo.volume,
                        .yields = s->query->yields_len > 0,
                        .hops = hops};
    return e;
}

/* Keeps a route of `hops` hops; `old` is the entry that did not do, or NULL. NULL: no memory. */
static struct entry *keep_route(const struct search *s, uint64_t key, struct entry *old,
                                const struct crossing *via, size_t hops)
{
    struct plan *p = s->plan;
    struct entry *e = make_entry(s, hops);
    if (e == NULL)
        return NULL;
    e->tries = old == NULL ? 0 : old->tries + 1;
    for (size_t i = 0; i < hops; i++)
        e->via[i] = via[i].contact;
    if (old != NULL && old->hits > 0 && old->volume < e->volume)
        e->volume = old->volume;
    bool quiet =
        s->query->backlog_len == 0 && s->query->excluded_len == 0 && s->query->yields_len == 0;
    e->floor_hops = hops;
    e->floor = quiet && e->volume == s->cargo.volume
                   ? via[hops - 1].last_arrives
                   : quiet_arrival(s, e->volume, 0, &e->floor_hops);
    e->rest = e->floor;
    if (old != NULL && (old->hits > old->hops || old->tries % REST_EVERY == 0))
        e->rest = rest_arrival(s, e);
    assert(e->floor <= e->rest);
    put_entry(p, e, old, key);
    return e;
}

/* There is no route: also for others, to whom nothing is closed and for whom nothing waits? Then
 * that is kept. NULL: it is not. */
static struct entry *keep_none(const struct search *s, uint64_t key, struct entry *old)
{
    struct plan *p = s->plan;
    if ((s->query->excluded_len > 0 || s->query->backlog_len > 0 || s->query->yields_len > 0) &&
        quiet_arrival(s, s->cargo.volume, 0, NULL) != TICK_NEVER)
        return NULL;
    struct entry *e = make_entry(s, 0);
    if (e == NULL)
        return NULL;
    e->floor = e->rest = TICK_NEVER;
    put_entry(p, e, old, key);
    return e;
}

static bool try_none(const struct entry *e, const struct search *s)
{
    return e->hops == 0 && s->start.arrival >= e->now && s->cargo.volume >= e->volume;
}

/* ---- why not ---- */

static void find_late(const struct search *like, struct entry *e)
{
    struct search s = *like;
    s.cargo.empty = true;
    e->late_at = s.start.arrival;
    e->late = quiet_arrival(&s, e->volume, 0, NULL);
    e->short_routes = e->late == TICK_NEVER && quiet_arrival(&s, 1, 0, NULL) != TICK_NEVER;
}

/* The entry, which may be NULL, has answered that nothing arrives in time. */
static enum plan_reason find_reason(const struct search *s, struct entry *e)
{
    const struct plan_query *q = s->query;
    const tick now = s->start.arrival;
    if (e == NULL || s->cargo.volume < e->volume)
        return search_reason(s->plan, q);
    if (e->late_at > now || (e->late < q->expiry && now - e->late_at >= LATE_EVERY))
        find_late(s, e);
    if (e->hops > 0 && e->late >= q->expiry)
        return PLAN_TOO_LATE;
    if (e->hops == 0 && e->late == TICK_NEVER && !e->short_routes)
        return PLAN_NO_ROUTE;
    return search_reason(s->plan, q);
}

static void use_entry(struct plan *p, struct entry *e)
{
    e->hits++;
    p->hits++;
    list_sub(&e->used);
    list_add_head(&p->used, &e->used);
}

enum plan_reason plan_route_find(struct plan *p, const struct plan_query *q, struct plan_route *out)
{
    struct search s;
    struct crossing via[PLAN_HOPS_MAX];
    if (!search_begin(&s, p, q))
        return PLAN_NO_ROUTE;
    if (s.from == s.to || p->config.cache_max == 0)
        return plan_route_search(p, q, out);
    uint64_t key = hash_key(p, &s);
    struct entry *e = find_entry(p, &s, key);
    size_t hops;
    if (e != NULL && try_none(e, &s)) {
        use_entry(p, e);
        return find_reason(&s, e);
    }
    if (e != NULL && try_entry(e, &s, via)) {
        use_entry(p, e);
        hops = e->hops;
    } else {
        p->misses++;
        if (!search_run(&s))
            return find_reason(&s, keep_none(&s, key, e));
        hops = search_fewest(&s, via);
        e = keep_route(&s, key, e, via, hops);
    }
    if (via[hops - 1].last_arrives >= q->expiry)
        return find_reason(&s, e);
    route_write(out, via, hops, &s.cargo, q->now);
    return PLAN_FOUND;
}
