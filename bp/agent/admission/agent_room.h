/* SPDX-License-Identifier: Apache-2.0 */
/* Room for new bundles, and what was refused for lack of it. Private to bp/agent. */
#ifndef BP_AGENT_ROOM_H
#define BP_AGENT_ROOM_H

#include "bp/agent/agent_record.h"

/* Bundles to displace for a new one. */
#define ROOM_MAX 256
struct room {
    struct record *of[ROOM_MAX];
    size_t len;
};
/* enter: the bundle waits for a link or an endpoint, so it may be displaced. leave: it may not. */
void room_enter(struct agent *a, struct forwarding *f);
void room_leave(struct forwarding *f);
/* Finds room for a new bundle. room_take makes it, by ending the bundles to displace; room_cancel
 * leaves them. */
enum agent_refusal room_find(struct agent *a, const struct agent_head *h, struct holder *holder,
                             uint64_t bytes, struct room *out);
void room_take(struct agent *a, struct room *room);
void room_cancel(struct agent *a, struct room *room);

/* Compares a new bundle with every limit: REFUSE_NONE, FULL, QUEUE or QUOTA. Displaces nothing. */
enum agent_refusal record_room(const struct agent *a, struct holder *holder, uint64_t bytes);
/* What a new bundle would use of the limit of bytes. */
uint64_t record_expect_charge(const struct agent *a, uint64_t bytes);
/* Has the node as a whole, or its unreserved part, no room? If so, writes the reason. */
bool record_lacks(const struct agent *a, uint64_t bytes, struct agent_shortage *out);
/* Memory of all stored and arriving bundles; is there room for this many bytes more? */
uint64_t record_memory_max(const struct agent *a);
uint64_t
record_places_cost(const struct agent *a); /* memory of endpoints, backlogs, reassemblies */
uint64_t record_memory_used(const struct agent *a);
bool record_memory_room(const struct agent *a, uint64_t more);
/* Could there be room for it if bundles of other accounts were displaced? */
bool record_room_elsewhere(const struct agent *a, uint64_t bytes);
/* Is it for an endpoint here whose backlog has reached its limit? */
bool record_backlog_full(const struct agent *a, const struct holder *holder, uint64_t bytes);
bool record_source_has_room(const struct agent *a, const struct holder *holder, uint64_t bytes);

/* agent_shortage.c: records that there was no room for a bundle. fragment: it is a fragment for
 * this node, and a limit of fragments is reached; begun: other fragments of its bundle are here. */
struct shortage_of {
    const struct agent_head *head;
    const struct holder *holder;
    uint64_t bytes;
    int from;
    bool fragment, begun;
};
void shortage_note(struct agent *a, const struct shortage_of *of, enum agent_refusal refusal);
/* Records that no route is in time. from: the link whose bundle is refused for that, or NO_LINK. */
void late_note(struct agent *a, const struct agent_head *h, tick expires, tick arrival, int from);

#endif
