/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of a bundle with several routes. Private to bp/agent. */
#ifndef BP_AGENT_COPY_H
#define BP_AGENT_COPY_H

#include "base/list.h"
#include "bp/agent/agent.h"

struct agent;
struct forwarding;
struct record;

#define COPIES_MAX 262144 /* copies of all bundles with several routes */

/* The copies of a bundle with several routes (agent_copy.c). */
struct fan {
    struct record *original; /* its own forwarding is COPIED */
    struct list copies;
    /* Number of copies, and one more while they are iterated: the bundle ends with the last. */
    uint64_t len;
    uint64_t delivered, forwarded; /* copies that ended so */
    /* One of the copies is in a reassembly: it is a fragment of a group's bundle. */
    bool gathered;
    enum agent_end last; /* how the latest copy ended */
};

/* agent_copy.c. For a bundle in no queue, or a copy that becomes several: creates n copies with its
 * bytes, if they are in memory, in no queue. Returns the list node of the first; the others follow.
 * NULL: no memory, and nothing changed. The bundle is then COPIED. */
struct list *copies_make(struct agent *a, struct forwarding *f, uint64_t n);
bool copies_room(const struct agent *a, uint64_t more);
/* A copy has ended: removes it from its bundle, which ends with the last one. */
void copies_sub(struct agent *a, struct forwarding *c, enum agent_end why);
/* Ends a copy that was replaced by others, without an outcome. */
void copies_replace(struct agent *a, struct forwarding *c);
/* The link or registration of a copy was removed, or declines it. True: it was the last copy, and
 * the bundle is placed again. */
bool copies_abandon(struct agent *a, struct forwarding *c);
/* Calls fn for each copy; fn may end it. The bundle may end with that. */
void copies_each(struct agent *a, struct record *original,
                 void (*fn)(struct agent *a, struct forwarding *c));
/* As queue_load, for a copy. */
int copies_load(struct agent *a, struct forwarding *c, struct agent_action *out);
/* The requested bytes arrived, and the original has the position of the payload; bytes NULL: they
 * did not. */
void copies_loaded(struct agent *a, struct record *original, const struct buf *bytes, bool damaged);
void copies_check(const struct record *original);

#endif
