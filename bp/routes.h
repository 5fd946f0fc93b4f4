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
/* The link of the best route, or HELIO_ENOENT. */
int routes_find(const struct routes *t, const struct eid *destination);

#endif
