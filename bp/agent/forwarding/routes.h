/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static routes: destination patterns, each with a link. The answer is the most specific matching
 * route whose link is up; among equal ones the first added. The link to avoid is used only if no
 * other one is up. If no link is up, the most specific route is used. A link is no route for a
 * bundle that exceeds its limit and must not be fragmented.
 *
 * A bundle to a group (imc) is transmitted over all links with a pattern of that group or of
 * groups, up or down, except the one that received it: these lead to the group's members. A
 * critical bundle (QOS_CRITICAL) is transmitted over all matching links that are up, except the one
 * that received it. At most ROUTER_COPIES_MAX + 1 links are used.
 */
#ifndef BP_ROUTES_H
#define BP_ROUTES_H

#include "bp/agent/router.h"

#define ROUTES_MAX 4096

struct route {
    struct eid_pattern pattern;
    int rank;
    uint32_t link;
};

struct routes {
    struct route *at; /* most specific first, then in order of addition */
    size_t len, cap;
    struct router_copy also[ROUTER_COPIES_MAX]; /* of the latest answer */
};

void routes_init(struct routes *t);
void routes_fini(struct routes *t);
/* 0, HELIO_ENOMEM, HELIO_EAGAIN (ROUTES_MAX). */
int routes_add(struct routes *t, const struct eid_pattern *pattern, uint32_t link);
/* Removes the first added of equal routes. Returns 0 or HELIO_ENOENT. */
int routes_remove(struct routes *t, const struct eid_pattern *pattern, uint32_t link);
/* Removes all routes over this link. */
void routes_remove_link(struct routes *t, uint32_t link);
/* The table as a router, valid as long as the table. */
struct router routes_router(struct routes *t);

#endif
