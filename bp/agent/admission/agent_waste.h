/* SPDX-License-Identifier: Apache-2.0 */
/* Work for peers that connect, or are heard, and then take nothing. Private to bp/agent. */
#ifndef BP_AGENT_WASTE_H
#define BP_AGENT_WASTE_H

#include "base/list.h"
#include "base/tick.h"

struct agent;
struct queue;

/* Of a link. It rests until `until`, in agent.wastes.resting. */
struct waste {
    struct list node;
    tick until;
    uint64_t loaded; /* octets loaded for it, of bundles that its peer has not taken */
    uint64_t failed; /* octets encoded for it, of bundles that failed while it was open */
};

/* Of all links. */
struct wastes {
    struct list resting; /* by `until` */
    tick paid;           /* when their waste so far is paid */
};

#define WASTE_RATE (UINT64_C(64) << 20) /* octets/s that all links together may waste */
#define WASTE_FREE TICK_S               /* so much of it at once without a rest */

void waste_init(struct waste *w);
void wastes_init(struct wastes *all);
/* A new link. Names of unconfigured peers come and go, so it rests like one that has wasted. */
void waste_begin(struct agent *a, struct queue *q);
/* A bundle of so many octets was loaded for it; the peer has taken one. */
void waste_loaded(struct queue *q, uint64_t octets);
void waste_taken(struct queue *q, uint64_t octets);
/* So many octets were encoded, and the peer has not taken them: the link rests. */
void waste_lost(struct agent *a, struct queue *q, uint64_t octets);
/* The same, for a bundle whose transmission failed. A link that is open rests when it closes. */
void waste_failed(struct agent *a, struct queue *q, uint64_t octets);
/* The link has closed: bundles failed before, and what was loaded leaves memory, if that is short.
 */
void waste_close(struct agent *a, struct queue *q);
/* No bundle is loaded or encoded for the link now. */
bool waste_rests(const struct agent *a, const struct queue *q);
/* Ends the rests that are due; when the next one is. */
void waste_expire(struct agent *a);
tick waste_due(const struct agent *a);
void waste_check(const struct agent *a);

#endif
