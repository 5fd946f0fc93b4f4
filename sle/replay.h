/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Valid credentials of one peer, for as long as they could be accepted again: recorded credentials
 * cannot be replayed in a BIND. Private to sle/ and csts/.
 *
 * Credentials are a time, a random number and their hash; they are not bound to a message. So a
 * provider remembers those of every message, and a BIND must have new ones; a user remembers those
 * of returns of BIND. Within an association credentials may repeat, because some peers make one
 * pair per millisecond.
 *
 * The memory is bounded: expired credentials are dropped, and the oldest when it is full. From then
 * on no credentials made at that time or earlier are accepted in a BIND. So setting the wall clock
 * back makes no credentials valid again.
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
    struct replay_seen *ring; /* in order of arrival */
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
