/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: rules of ingress and egress at the agent. */
#ifndef BP_AGENT_PERMIT_H
#define BP_AGENT_PERMIT_H

#include "bp/agent/agent_impl.h"

/* A bundle of a link, before it is verified: charged, and counted when it is refused. how: as
 * agent_offer has it. AGAIN: it was charged when it was offered first. LAST: not counted when its
 * rate refuses it. */
enum agent_refusal permit_arrival(struct agent *a, int from, const struct bundle *b, uint64_t bytes,
                                  unsigned how);
/* The same bundle after the security policy has decrypted blocks of it: its priority may be known
 * only now. Counted when it is refused. */
enum agent_refusal permit_decrypted(struct agent *a, int from, const struct bundle *b);
/* A bundle of an application, which is not encoded yet. user 0 is the node itself. */
enum agent_refusal permit_request(struct agent *a, uint64_t user, const struct bundle *b);
/* May a bundle with this head leave over the link? */
bool permit_leaves(const struct agent *a, const struct link *l, const struct agent_head *h);
/* It has no way but over links that may not have it: counted. */
void permit_stays(struct agent *a, uint32_t link, const struct agent_head *h);
void permits_fini(struct agent *a);

#endif
