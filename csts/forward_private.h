/* SPDX-License-Identifier: Apache-2.0 */
/* What forward.c has for the engine. */
#ifndef CSTS_FORWARD_PRIVATE_H
#define CSTS_FORWARD_PRIVATE_H

#include "csts/engine_private.h"
#include "csts/forward.h"

struct unit {
    struct list node;
    tick arrived;
    uint32_t id;
    bool report;
    size_t len;
    uint8_t octets[];
};

static inline size_t cost_of(const struct unit *u)
{
    return u->len + CSTS_UNIT_COST;
}

struct forward {
    struct csts_forward_config c;
    struct csts_service *service;
    bool active;       /* between START and STOP */
    bool interruption; /* was notified, and its end was not */
    enum csts_production production;
    struct list queue; /* struct unit */
    uint32_t units;
    size_t held;                 /* octets, with CSTS_UNIT_COST for each */
    struct unit *processing;     /* NULL: none */
    bool ours;                   /* it is of the association that is active */
    struct csts_processing told; /* what a notification says */
    bool lost; /* the frame received last was refused, or is too old: to be notified of, in order */
    uint32_t lost_id;
    struct csts_forward_counts counts;
    struct kept timer; /* KEPT_LATENCY of the first */
};

/* Is this PDU of the procedure? */
bool assoc_forward_takes(const struct csts_link *l, const struct csts_pdu *p);
void assoc_forward_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_forward_leave(struct csts_service *v); /* the procedure is no longer active */
bool assoc_forward_expire(struct csts_service *v, tick now);
void assoc_forward_free(struct csts_service *v);

#endif
