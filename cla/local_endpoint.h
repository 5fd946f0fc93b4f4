/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that local endpoints of all adapters have in common. A local endpoint is a local address
 * and the socket there, with the links of one adapter and one node that share it. It begins with
 * its first link and ends with its last one:
 *
 *   local_endpoint_begin ──► links come and leave ──the last one leaves──► ending ──► its memory
 */
#ifndef CLA_LOCAL_ENDPOINT_H
#define CLA_LOCAL_ENDPOINT_H

#include "base/list.h"
#include "cla/cla.h"

/* First in the adapter's own struct. */
struct local_endpoint {
    struct local_endpoint *next; /* in *anchor */
    void **anchor;               /* cla_env.shared; NULL: no other link can share it */
    struct list links;           /* struct cla.node */
    struct list leaving;         /* likewise: `closed` is due */
    bool ending;                 /* no links are left */
};

/* Zeroes before; the next links of this node can find it. shared: cla_env.shared. */
void local_endpoint_begin(struct local_endpoint *e, void **shared);
/* The first one of *shared, and the one after e; NULL: there are no more. */
struct local_endpoint *local_endpoint_first(void **shared);

/* The link counts among e's links, at the end. */
void local_endpoint_enter(struct local_endpoint *e, struct cla *c);
/* The link is in e->leaving from now on. True: it was the last one, and e ends. */
bool local_endpoint_leave(struct local_endpoint *e, struct cla *c);
/* No other link finds it any more. For one whose last link left, or that did not get its first. */
void local_endpoint_end(struct local_endpoint *e);
/* Frees the links in e->leaving, and calls `closed` of each. */
void local_endpoint_tell_left(struct local_endpoint *e);

/* One of the links, for what concerns all of them; there is one. */
static inline struct cla *local_endpoint_link(const struct local_endpoint *e)
{
    return container_of(list_first(&e->links), struct cla, node);
}

#endif
