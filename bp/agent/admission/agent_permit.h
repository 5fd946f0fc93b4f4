/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: ingress and egress rules. */
#ifndef BP_AGENT_PERMIT_H
#define BP_AGENT_PERMIT_H

#include "bp/agent/agent_impl.h"

/* Judges a bundle from a link before it is verified. It is charged to the rule, and a refusal is
 * counted. how: as in agent_offer. AGAIN: it was charged when it was first offered. LAST: a refusal
 * by rate is not counted. */
enum agent_refusal permit_arrival(struct agent *a, int from, const struct bundle *b, uint64_t bytes,
                                  unsigned how);
/* Judges the same bundle after the security policy has decrypted blocks: its priority may be known
 * only now. A refusal is counted. */
enum agent_refusal permit_decrypted(struct agent *a, int from, const struct bundle *b);
/* Judges a bundle of an application before it is encoded. user 0: the node itself. */
enum agent_refusal permit_request(struct agent *a, uint64_t user, const struct bundle *b);
/* May a bundle with this head be transmitted over the link? */
bool permit_leaves(const struct agent *a, const struct link *l, const struct agent_head *h);
/* Counts a bundle whose only routes are over links that it must not use. */
void permit_stays(struct agent *a, uint32_t link, const struct agent_head *h);
void permits_fini(struct agent *a);

#endif
