/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications at the node: AAP 2.0 on a UNIX socket. Connections that name the same endpoint and
 * secret share it: one of them may subscribe to its bundles, or several where the endpoint is
 * shared; any number may send.
 */
#ifndef NODE_APPS_H
#define NODE_APPS_H

#include "node/node.h"

/* Applications may connect at this place of n->world, a path. 0, or an error with the reason in
 * why. */
int apps_open(struct apps **out, struct node *n, const struct stream_place *at, char *why,
              size_t why_cap);

/* Actions of the agent. apps_deliver answers with agent_delivered, now or later. */
void apps_deliver(struct apps *apps, const struct agent_action *a);
/* The agent has taken a delivery back: its application's answer is for agent_recalled. */
void apps_recall(struct apps *apps, const struct agent_action *a);
void apps_answer(struct apps *apps, const struct agent_action *a);

/* Writes what was answered since the last call, and reads on where reading had stopped. */
void apps_flush(struct apps *apps);

/* Once a second: keepalives. */
void apps_tick(struct apps *apps, tick now);

#define APP_CONNECTIONS_MAX 512 /* below the usual limit of 1024 descriptors */

struct apps_counters {
    uint64_t connections;         /* now */
    uint64_t refused_connections; /* beyond the limit */
    uint64_t refused_user;        /* whose was the latest: id + 1; 0: unknown */
    uint64_t malformed;           /* streams that ended because of their content */
    uint64_t requests, unanswered, unanswered_bytes; /* bundles from applications */
    uint64_t reading_bytes;                          /* of payloads that are under way */
    uint64_t refused;                                /* requests answered with an error */
    uint64_t pauses; /* reading stopped until earlier requests were answered */
    uint64_t deliveries, undelivered;
    uint64_t taken_back; /* deliveries whose bundle ended before their answer */
    uint64_t keepalives_missed;
    uint64_t stalled;      /* connections whose payload stopped while others waited for memory */
    uint64_t unconfigured; /* connections that had their time to be */
};
const struct apps_counters *apps_counters(const struct apps *apps);

/* No new connections and requests; then the end of all connections, after their writes. */
void apps_stop(struct apps *apps);
void apps_close(struct apps *apps);
void apps_free(struct apps *apps); /* when the agent has no actions for them any more */

/* Their own invariants, asserted. NULL is allowed. */
void apps_check(const struct apps *apps);

#endif
