/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static routes: patterns of destinations, each with the link that leads there. The most specific
 * one whose link is up is the way, among equal ones the first added; the link to avoid is the last
 * choice among those; when none is up, the most specific one. A link that is too short for a bundle
 * that must not be fragmented is none.
 *
 * A group's bundle (imc) goes over all links with a pattern of that group or of groups, up or down,
 * but the one that it came from: these are the group's members, or lead to them. A critical bundle
 * (QOS_CRITICAL) goes over all links that match and are up, but the one that it came from. Of these
 * at most ROUTER_COPIES_MAX + 1.
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
    struct route *at; /* the most specific first, then the first added */
    size_t len, cap;
    struct router_copy also[ROUTER_COPIES_MAX]; /* of the last answer */
};

void routes_init(struct routes *t);
void routes_fini(struct routes *t);
/* 0, HELIO_ENOMEM, HELIO_EAGAIN (ROUTES_MAX). */
int routes_add(struct routes *t, const struct eid_pattern *pattern, uint32_t link);
/* The first added of those that are equal. 0 or HELIO_ENOENT. */
int routes_remove(struct routes *t, const struct eid_pattern *pattern, uint32_t link);
/* All routes over this link. */
void routes_remove_link(struct routes *t, uint32_t link);
/* As a router, which holds as long as the table does. */
struct router routes_router(struct routes *t);

#endif
