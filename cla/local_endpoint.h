/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local endpoints of all adapters, the common part. A local endpoint is a local address with its
 * socket, and the links of one adapter and one node that share it. It begins with its first link
 * and ends with its last one:
 *
 *   local_endpoint_begin ──► links enter and leave ──last one leaves──► ending ──► memory is freed
 */
#ifndef CLA_LOCAL_ENDPOINT_H
#define CLA_LOCAL_ENDPOINT_H

#include "base/list.h"
#include "cla/cla.h"

/* The first member of the adapter's own struct. */
struct local_endpoint {
    struct local_endpoint *next; /* in *anchor */
    void **anchor;               /* cla_env.shared; NULL: no other link can share it */
    struct list links;           /* struct cla.node */
    struct list leaving;         /* links that have left; their `closed` is due */
    bool ending;                 /* no links are left */
};

/* Begins an endpoint whose struct is zeroed; later links of this node can find it. shared:
 * cla_env.shared. */
void local_endpoint_begin(struct local_endpoint *e, void **shared);
/* The first endpoint of *shared, and the one after e; NULL: there are no more. */
struct local_endpoint *local_endpoint_first(void **shared);

/* Adds the link at the end of e->links. */
void local_endpoint_enter(struct local_endpoint *e, struct cla *c);
/* Moves the link to e->leaving. True: it was the last one, and e ends. */
bool local_endpoint_leave(struct local_endpoint *e, struct cla *c);
/* No link can find e any more. For an endpoint whose last link left, or whose first link failed to
 * open. */
void local_endpoint_end(struct local_endpoint *e);
/* Frees the links in e->leaving, and calls their `closed`. */
void local_endpoint_tell_left(struct local_endpoint *e);

/* One of the links, for calls that concern all of them. e->links must not be empty. */
static inline struct cla *local_endpoint_link(const struct local_endpoint *e)
{
    return container_of(list_first(&e->links), struct cla, node);
}

#endif
