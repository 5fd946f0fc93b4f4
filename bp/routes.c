/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted array, searched from its start: a testbed has a handful of routes. What can go wrong is
 * memory for a new route.
 */
#include "bp/routes.h"

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
    memmove(t->at + i + 1, t->at + i, (t->len - i) * sizeof *t->at);
    t->at[i] = (struct route){.pattern = *pattern, .rank = rank, .link = link};
    t->len++;
    return 0;
}

int routes_next(const struct routes *t, const struct eid *destination, size_t *at)
{
    while (*at < t->len) {
        const struct route *r = &t->at[(*at)++];
        if (eid_pattern_match(&r->pattern, destination))
            return (int)r->link;
    }
    return HELIO_ENOENT;
}

bool routes_meet(const struct routes *t, uint32_t link, uint32_t other)
{
    for (size_t i = 0; i < t->len; i++) {
        for (size_t k = 0; t->at[i].link == link && k < t->len; k++) {
            if (t->at[k].link == other && eid_pattern_meet(&t->at[i].pattern, &t->at[k].pattern))
                return true;
        }
    }
    return false;
}
