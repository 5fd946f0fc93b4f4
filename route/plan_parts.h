/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle that no contact can transmit as a whole is divided into parts for several contacts (RFC
 * 9171 §5.8). This computes the size of the first part. Nothing is transmitted unless all parts can
 * arrive in time.
 */
#ifndef ROUTE_PLAN_PARTS_H
#define ROUTE_PLAN_PARTS_H

#include "route/plan_route.h"

#define PLAN_PARTS_MAX 64       /* parts of one bundle */
#define PLAN_PARTS_SEARCHES 256 /* for all of these; mostly three for each */
#define PLAN_PART_MIN 4096 /* bytes: shorter remainders of a contact are left to other bundles */
#define PLAN_PART_HEAD 160 /* bytes of overhead of each part, approximately */

struct plan_parts {
    struct plan *plan;
    /* plan_route_find with the caller's conditions, for example without some neighbours. */
    enum plan_reason (*find)(void *context, struct plan_query *q, struct plan_route *out);
    void *context;
};

/* Can all of q->bytes be routed in parts, over unbooked volume? Returns the bytes of the first
 * part, with its route in *out; else 0 (also for lack of memory). q->bytes and q->priority are
 * changed; bookings are unchanged. */
uint64_t plan_parts_first(const struct plan_parts *p, struct plan_query *q, struct plan_route *out);

#endif
