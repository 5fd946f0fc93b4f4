/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: the security policy at the agent. */
#ifndef BP_AGENT_SECURITY_H
#define BP_AGENT_SECURITY_H

#include "bp/agent/agent_impl.h"

/* Applies the security policy to an arriving bundle. *made: the bundle without the accepted
 * operations. NULL with undo->placed: `whole` was changed to it. Then *b views it. NULL without
 * undo->placed: unchanged. */
enum agent_refusal secure_arrival(struct agent *a, struct buf *whole, struct bundle *b,
                                  struct buf **made, struct security_undo *undo,
                                  struct security_outcome *why);
/* Omits the payload CRC of a bundle that starts here, if a security operation would remove it. */
void secure_check_values(const struct agent *a, struct bundle *b);
/* Applies the policy to an encoded bundle that starts here. b->payload then views *made, or
 * `whole`, in which the payload is not moved. */
enum agent_refusal secure_origin(struct agent *a, struct buf *whole, struct bundle *b,
                                 struct buf **made);
/* A piece of a reassembly is in memory: keeps what the verification of the joined bundle needs.
 * Returns 0 or HELIO_ENOMEM. */
int secure_piece(struct agent *a, struct reassembly *as, const struct forwarding *piece);
/* The turn of a joined bundle has come. True: it waits for agent_verify first. */
bool secure_waits(struct agent *a, struct forwarding *whole);

#endif
