/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: the security policy at the agent. */
#ifndef BP_AGENT_SECURITY_H
#define BP_AGENT_SECURITY_H

#include "bp/agent/agent_impl.h"

/* What the security policy says of an arriving bundle. *made: the bundle without
 * the operations that were accepted, which *b views then; NULL: as it came. */
enum agent_refusal secure_arrival(struct agent *a, struct buf *whole, struct bundle *b,
                                  struct buf **made, struct security_outcome *why);
/* The same for one that starts here, encoded; b->payload views *made then. */
enum agent_refusal secure_origin(struct agent *a, struct buf *whole, struct bundle *b,
                                 struct buf **made);
/* A piece of an assembly is in memory: what verifying the whole needs of it is kept. 0 or
 * HELIO_ENOMEM. */
int secure_piece(struct agent *a, struct assembly *as, const struct record *piece);
/* A whole whose turn has come. True: it waits for agent_verify before it goes on. */
bool secure_waits(struct agent *a, struct record *whole);

#endif
