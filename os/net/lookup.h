/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a host name from the system's resolver: the hosts file, DNS, or other configured
 * sources. A look-up can take many seconds; it does not block the loop.
 */
#ifndef OS_LOOKUP_H
#define OS_LOOKUP_H

#include "os/net/host_address.h"
#include "os/world.h"

#define LOOKUP_ADDRESSES_MAX 16u /* of one answer; further ones are left out */

/* How a host is asked for. DNS servers have one try of LOOKUP_BRIEF_S each, or the time that the
 * system is set up to wait. Answers that were cut at the length of a datagram are taken as they
 * are; only LOOKUP_TCP gets them whole, by a connection for which the C library may wait for ever:
 * `done` is called all the same, with an error (os/uv_lookup.h).
 */
enum lookup_grade { LOOKUP_BRIEF, LOOKUP_PATIENT, LOOKUP_HUNG, LOOKUP_TCP, LOOKUP_GRADES };
#define LOOKUP_BRIEF_S 1

/* Lies in its user's memory, which stays until `done` was called or lookup_forget. */
struct lookup {
    const char *host; /* the user's, until then */
    uint16_t port;    /* that the addresses get */
    int family;       /* AF_INET, AF_INET6; AF_UNSPEC: both */
    /* From the world's loop, once, later than the call that began it. `error` NULL: addresses[len]
     * are the answer, 1 or more, in the resolver's order (RFC 6724), none twice. Else what the
     * resolver said, a static text, and len is 0. */
    void (*done)(struct lookup *l);
    const char *error;
    struct address addresses[LOOKUP_ADDRESSES_MAX];
    size_t len;
    /* The world's: */
    void *own; /* not NULL: it runs */
    struct list node;
    enum lookup_grade grade; /* of its next question; LOOKUP_BRIEF for the first one */
};

/* Can names be looked up in this world? Virtual time has no resolver. */
static inline bool lookup_possible(const struct world *w)
{
    return w->ops->lookup != NULL;
}

/* Only where lookup_possible. 0: `done` follows. HELIO_E*: memory, descriptors or threads are out,
 * and nothing follows. */
static inline int lookup_begin(struct world *w, struct lookup *l)
{
    return w->ops->lookup(w, l);
}

/* Of one that was begun and is not done: nothing follows, and its memory is free at once. */
static inline void lookup_forget(struct world *w, struct lookup *l)
{
    w->ops->lookup_forget(w, l);
}

/* Adds an address of an answer; ignored if it is present or there is no room. */
void lookup_add(struct lookup *l, const struct address *a);

/* Blocks until the system's resolver has answered for l->host in this grade, and sets addresses
 * (with port 0), len and error. Not for the loop's thread. LOOKUP_PATIENT and LOOKUP_HUNG are
 * equivalent here. True: the name exists, but no address arrived; the answer may have been
 * truncated. */
bool lookup_resolve(struct lookup *l, enum lookup_grade grade);

#endif
