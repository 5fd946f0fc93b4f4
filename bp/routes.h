/* SPDX-License-Identifier: Apache-2.0 */
/* Static routes: patterns of destinations, each with the link that leads there. */
#ifndef BP_ROUTES_H
#define BP_ROUTES_H

#include "bp/eid.h"

#define ROUTES_MAX 4096

struct route {
    struct eid_pattern pattern;
    int rank;
    uint32_t link;
};

struct routes {
    struct route *at; /* the most specific first, then the first added */
    size_t len, cap;
};

void routes_init(struct routes *t);
void routes_fini(struct routes *t);
/* 0, HELIO_ENOMEM, HELIO_EAGAIN (ROUTES_MAX). */
int routes_add(struct routes *t, const struct eid_pattern *pattern, uint32_t link);
/* The links that lead there, the best first: begin with *at = 0. HELIO_ENOENT: no more. */
int routes_next(const struct routes *t, const struct eid *destination, size_t *at);
/* May one destination have routes over both links? May say yes when none has, never no. */
bool routes_meet(const struct routes *t, uint32_t link, uint32_t other);

#endif
