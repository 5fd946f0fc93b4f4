/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: the security policy at the agent. */
#ifndef BP_AGENT_SECURITY_H
#define BP_AGENT_SECURITY_H

#include "bp/agent/agent_impl.h"

/* What the security policy says of an arriving bundle. *made: the bundle without
 * the operations that were accepted; NULL with undo->placed: that is what `whole` has now. Then *b
 * views it. NULL without: as it came. */
enum agent_refusal secure_arrival(struct agent *a, struct buf *whole, struct bundle *b,
                                  struct buf **made, struct security_undo *undo,
                                  struct security_outcome *why);
/* No check value of the payload of a bundle that starts here, if an operation would remove it. */
void secure_check_values(const struct agent *a, struct bundle *b);
/* The same for one that starts here, encoded; b->payload views *made then, or `whole`, in which the
 * payload stays where it is. */
enum agent_refusal secure_origin(struct agent *a, struct buf *whole, struct bundle *b,
                                 struct buf **made);
/* A piece of an assembly is in memory: what verifying the whole needs of it is kept. 0 or
 * HELIO_ENOMEM. */
int secure_piece(struct agent *a, struct assembly *as, const struct record *piece);
/* A whole whose turn has come. True: it waits for agent_verify before it goes on. */
bool secure_waits(struct agent *a, struct record *whole);

#endif
