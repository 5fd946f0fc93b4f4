/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/agent: bundles that are being stored. */
#ifndef BP_AGENT_STORING_H
#define BP_AGENT_STORING_H

#include "base/list.h"
#include "bp/agent/agent.h"
#include "bp/agent/forwarding/agent_turn.h"

struct record;

/* Bundles that are being stored (agent_storing.c). */
struct storing {
    struct list ready;     /* to be returned by the next poll */
    struct turns waiting;  /* until fewer are being stored */
    uint64_t given;        /* cost of those in `ready`, or with the binder */
    uint64_t party;        /* the party of the latest one */
    tick shared_until;     /* until then the store is shared: another party used it recently */
    uint64_t sequence_end; /* highest note that was stored with a bundle */
};

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
