/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints of this node, and registrations of applications. Private to bp/agent. */
#ifndef BP_AGENT_ENDPOINT_H
#define BP_AGENT_ENDPOINT_H

#include "base/hash.h"
#include "base/list.h"
#include "bp/agent/admission/agent_quota.h"
#include "bp/agent/forwarding/agent_queue.h"

/* Exists while it is registered or bundles are queued for it. */
struct endpoint {
    struct hash_node by_eid;
    struct eid eid;
    enum agent_sharing sharing;
    struct list regs; /* the next one in turn is first */
    tick took;        /* when one of them last took a bundle; 0: never */
    tick queued;      /* when a bundle last arrived while none was here */
    struct pace pace; /* of the bundles that they took; only the windows are used */
    /* Open while there are registrations. With AGENT_SHARE_ALL its bundles move to the
     * registrations' own queues. */
    struct queue queue;
};

struct registration {
    struct hash_node by_reg;
    struct list node; /* of endpoint.regs */
    struct endpoint *endpoint;
    uint64_t reg, window;
    /* Deliveries without an answer; those of them that were taken back. */
    uint64_t given, owed;
    struct queue queue; /* AGENT_SHARE_ALL */
};

/* Which endpoints may have several registrations. */
struct sharing_rule {
    struct eid_pattern pattern;
    enum agent_sharing sharing;
};
#define SHARING_RULES_MAX 4096

/* agent_deliver.c */
struct endpoint *endpoint_find(const struct agent *a, const struct eid *e);
struct endpoint *endpoint_get(struct agent *a, const struct eid *e); /* NULL: no memory */
void endpoint_tidy(struct agent *a, struct queue *q);                /* frees it if it is unused */
/* Has an application here registered this group (imc)? */
bool endpoint_joined(const struct agent *a, const struct eid *destination);
/* Ends the delivery of a bundle in an endpoint's queue. */
void endpoint_release(struct forwarding *f);
void endpoints_free(struct agent *a);
/* Call it before a delivery without an answer is ended. */
void endpoint_take_back(struct forwarding *f);
int endpoint_open_admin(struct agent *a); /* 0 or HELIO_ENOMEM */
/* The administrative endpoint has no application: it accepts only administrative records. */
bool endpoint_takes(const struct agent *a, const struct eid *destination, uint64_t flags);
/* The receiver of this endpoint's bundles. */
enum receiver endpoint_receiver(struct agent *a, const struct eid *destination);
/* Departures to its applications in the last 10 to 20 s. */
struct tally endpoint_took(struct agent *a, const struct eid *destination);
int endpoint_action(struct agent *a, struct forwarding *f, struct agent_action *out);

#endif
