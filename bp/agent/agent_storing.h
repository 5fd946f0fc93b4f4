/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: bundles that are being stored. */
#ifndef BP_AGENT_STORING_H
#define BP_AGENT_STORING_H

#include "bp/agent/agent_impl.h"

/* enter: the bundle was accepted. leave: it is no longer in STATE_STORING. */
void storing_init(struct storing *s);
void storing_enter(struct agent *a, struct forwarding *f);
void storing_leave(struct agent *a, struct forwarding *f);
int storing_poll(struct agent *a, struct agent_action *out);
/* given: cost of all bundles in STATE_STORING that do not wait; waiting: number of those that
 * do. */
void storing_check(const struct agent *a, uint64_t given, uint64_t waiting);
uint64_t storing_cost(const struct record *r);

#endif
