/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle that no contact takes as a whole, in parts over several of them (RFC 9171 §5.8): how
 * much of it goes first. Nothing of it goes unless all of it can arrive in time.
 */
#ifndef ROUTE_PLAN_PARTS_H
#define ROUTE_PLAN_PARTS_H

#include "route/plan_route.h"

#define PLAN_PARTS_MAX 64  /* parts of one bundle */
#define PLAN_PART_MIN 4096 /* bytes: a shorter stay of a contact is left to other bundles */
#define PLAN_PART_HEAD 160 /* bytes of each part that are its own head, more or less */

struct plan_parts {
    struct plan *plan;
    /* plan_route_find, as the caller wants it: without some neighbours, say. */
    enum plan_reason (*find)(void *context, struct plan_query *q, struct plan_route *out);
    void *context;
};

/* Are there ways for all of q->bytes in parts, by what nobody has booked? Then the bytes of the
 * first, with its route in *out; else 0 (also without memory for the look). q->bytes and priority
 * are others afterwards; bookings are as before. */
uint64_t plan_parts_first(const struct plan_parts *p, struct plan_query *q, struct plan_route *out);

#endif
