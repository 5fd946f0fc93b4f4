/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a contact plan says of one link of a node at a time: who transmits, at which rate, and how
 * long light takes there and back. Contacts are in the transmitter's time: what the neighbour sends
 * until its contact ends arrives as much later as light takes. Pure.
 */
#ifndef NODE_PLAN_LINK_H
#define NODE_PLAN_LINK_H

#include "route/plan.h"

struct plan_link {
    bool known; /* the plan has a contact of the two, in either direction, at any time */
    bool transmit, receive; /* now */
    bool last_ended;        /* this node has no contact with the neighbour from now on */
    bool silent;            /* nothing of the neighbour arrives from now on */
    uint64_t rate;          /* bit/s of the contact that is, or of the next one; 0: no limit */
    tick round_trip; /* light time there and back: the longest that can meet what is sent now, or
                        soon; TICK_NEVER: not known */
    tick next;       /* when this node's next contact with the neighbour begins, or now in one;
                        TICK_NEVER: none does */
    tick until;      /* > now: all of it holds so long */
};

void plan_link_at(const struct plan *p, uint64_t node, uint64_t neighbour, tick now,
                  struct plan_link *out);

#endif
