/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array, searched from its start: a testbed has a handful of routes. What can go wrong is
 * memory for a new route.
 */
#include "bp/agent/forwarding/routes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void routes_init(struct routes *t)
{
    *t = (struct routes){0};
}

void routes_fini(struct routes *t)
{
    free(t->at);
    *t = (struct routes){0};
}

int routes_add(struct routes *t, const struct eid_pattern *pattern, uint32_t link)
{
    assert(t->len <= t->cap && t->len <= ROUTES_MAX);
    if (t->len == ROUTES_MAX)
        return HELIO_EAGAIN;
    if (t->len == t->cap) {
        size_t cap = t->cap == 0 ? 8 : 2 * t->cap;
        struct route *grown = realloc(t->at, cap * sizeof *grown);
        if (grown == NULL)
            return HELIO_ENOMEM;
        t->at = grown;
        t->cap = cap;
    }
    int rank = eid_pattern_rank(pattern);
    size_t i = t->len;
    while (i > 0 && t->at[i - 1].rank < rank)
        i--;
    assert(i <= t->len && t->len < t->cap);
    memmove(t->at + i + 1, t->at + i, (t->len - i) * sizeof *t->at);
    t->at[i] = (struct route){.pattern = *pattern, .rank = rank, .link = link};
    t->len++;
    assert((i == 0 || t->at[i - 1].rank >= rank) && (i + 1 == t->len || t->at[i + 1].rank < rank));
    return 0;
}

static void remove_at(struct routes *t, size_t i)
{
    assert(i < t->len);
    t->len--;
    memmove(t->at + i, t->at + i + 1, (t->len - i) * sizeof *t->at);
}

int routes_remove(struct routes *t, const struct eid_pattern *pattern, uint32_t link)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->at[i].link == link && eid_pattern_equal(&t->at[i].pattern, pattern)) {
            remove_at(t, i);
            return 0;
        }
    }
    return HELIO_ENOENT;
}

void routes_remove_link(struct routes *t, uint32_t link)
{
    for (size_t i = t->len; i-- > 0;) {
        if (t->at[i].link == link)
            remove_at(t, i);
    }
}

/* Is it one of several links for this bundle? */
static bool is_member(const struct route *r, const struct router_query *q, bool group)
{
    if ((int)r->link == q->came_from || router_declined(q, r->link) ||
        !eid_pattern_match(&r->pattern, q->destination))
        return false;
    const struct router_link l = q->links->at(q->links->context, r->link);
    if (l.forbidden || (q->whole && l.bundle_max != 0 && q->bytes > l.bundle_max))
        return false;
    return group ? !r->pattern.any : l.up;
}

static bool has_copy(const struct routes *t, const struct router_answer *a, uint32_t link)
{
    bool has = a->verdict == ROUTER_LINK && a->link == link;
    for (size_t i = 0; i < a->also_len && !has; i++)
        has = t->also[i].link == link;
    return has;
}

/* ROUTER_NONE: there is none. */
static struct router_answer ask_all(struct routes *t, const struct router_query *q, bool group)
{
    struct router_answer a = {.verdict = ROUTER_NONE, .also = t->also};
    for (size_t i = 0; i < t->len && a.also_len < ROUTER_COPIES_MAX; i++) {
        const struct route *r = &t->at[i];
        if (!is_member(r, q, group) || has_copy(t, &a, r->link))
            continue;
        if (a.verdict == ROUTER_LINK)
            t->also[a.also_len++] = (struct router_copy){.link = r->link};
        a.link = a.verdict == ROUTER_LINK ? a.link : r->link;
        a.verdict = ROUTER_LINK;
    }
    assert(a.also_len == 0 || a.verdict == ROUTER_LINK);
    return a;
}

static struct router_answer ask_routes(void *router, const struct router_query *q)
{
    struct routes *t = router;
    uint64_t number, service;
    const bool group = eid_imc(q->destination, &number, &service);
    if (group || q->critical) {
        const struct router_answer all = ask_all(t, q, group);
        if (all.verdict == ROUTER_LINK)
            return all;
    }
    int first = ROUTER_NO_LINK, up = ROUTER_NO_LINK;
    bool too_long = false;
    for (size_t i = 0; i < t->len; i++) {
        const struct route *r = &t->at[i];
        if (router_declined(q, r->link) || !eid_pattern_match(&r->pattern, q->destination))
            continue;
        int link = (int)r->link;
        if (group && link == q->came_from)
            continue; /* they have it */
        const struct router_link l = q->links->at(q->links->context, r->link);
        if (l.forbidden || (q->onward && l.back))
            continue;
        bool open = l.up;
        if (q->whole && l.bundle_max != 0 && q->bytes > l.bundle_max) {
            too_long = true;
            continue;
        }
        if (open && link != q->avoid)
            return (struct router_answer){.verdict = ROUTER_LINK, .link = r->link};
        up = open && up == ROUTER_NO_LINK ? link : up;
        first = first == ROUTER_NO_LINK ? link : first;
    }
    if (first == ROUTER_NO_LINK)
        return (struct router_answer){.verdict = ROUTER_NONE, .too_long = too_long};
    return (struct router_answer){.verdict = ROUTER_LINK,
                                  .link = (uint32_t)(up != ROUTER_NO_LINK ? up : first)};
}

static bool routes_meet(const void *router, uint32_t link, uint32_t other)
{
    const struct routes *t = router;
    for (size_t i = 0; i < t->len; i++) {
        for (size_t k = 0; t->at[i].link == link && k < t->len; k++) {
            if (t->at[k].link == other && eid_pattern_meet(&t->at[i].pattern, &t->at[k].pattern))
                return true;
        }
    }
    return false;
}

static bool routes_only(const void *router, uint32_t link)
{
    (void)router;
    (void)link;
    return true;
}

struct router routes_router(struct routes *t)
{
    static const struct router_ops ops = {
        .by_destination = true, .by_routes = routes_only, .ask = ask_routes, .meet = routes_meet};
    return (struct router){.ops = &ops, .state = t};
}
