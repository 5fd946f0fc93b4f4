/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of one peer that were right, for as long as they could be right again: what is
 * recorded on the way and sent again does not bind. Private to sle/ and csts/.
 *
 * Credentials are a time, a random number and their hash; nothing says to which message they
 * belong. So a provider remembers those of every message, and a BIND may have none of them; a user
 * remembers those of returns of BIND. Within an association the same may come again, since some
 * peers make one for a millisecond.
 *
 * The memory is bounded: those whose time is over are forgotten, and the oldest when it is full.
 * From then on nothing that was made at that time or before it binds. So a wall clock that is set
 * back makes nothing right again.
 */
#ifndef SLE_REPLAY_H
#define SLE_REPLAY_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/tick.h"

enum { REPLAY_MAX = 65536 }; /* credentials of a peer */

struct replay_seen;

struct replay {
    struct hash table;
    struct replay_seen *ring; /* in the order in which they came */
    size_t cap, first, len;
    uint64_t horizon; /* Unix time, ns: what was made then or before is as if it were known */
    bool open;
};

/* Nothing is allocated before the first replay_add. */
void replay_init(struct replay *r);
void replay_fini(struct replay *r);

/* Are credentials that were made at this Unix time with this random number known? */
bool replay_has(const struct replay *r, uint64_t made_ns, uint32_t random);
/* Remembers them, if they are not known, until `delay` behind the time at which they were made;
 * after that they are below the horizon. Without memory all up to `made_ns` are as if they were
 * known. */
void replay_add(struct replay *r, uint64_t made_ns, uint32_t random, uint64_t now_ns, tick delay,
                uint64_t seed);
/* Its own invariants, asserted. */
void replay_check(const struct replay *r);

#endif
