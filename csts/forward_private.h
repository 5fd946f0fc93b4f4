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
    struct csts_window window; /* sequence-controlled */
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
    /* sequence-controlled (sequence.c) */
    uint32_t next_id; /* the number that is expected */
    bool locked;      /* nothing is accepted before a reset, or STOP and START */
    bool resetting;   /* a reset was accepted, and is not done: its invoke id, the next number */
    uint32_t reset_invoke, reset_to;
};

struct unit *assoc_forward_first(const struct forward *f); /* NULL: none is queued */
struct csts_procedure assoc_forward_prime(bool sequenced);
void assoc_forward_notify(struct csts_service *v, const struct csts_name *event,
                          struct slice values, tick now);
/* A copy at the end of the queue; NULL: no memory. */
struct unit *assoc_forward_queue(struct forward *f, uint32_t id, bool report, struct slice data,
                                 tick now);
void assoc_forward_discard(struct csts_service *v); /* all that is queued */
void assoc_forward_discard_first(struct forward *f, uint64_t *count);

/* sequence.c: PDUs but START, of which it reads the first number, and STOP */
bool assoc_sequence_read_start(const struct csts_pdu *p, uint32_t *first);
void assoc_sequence_take(struct csts_link *l, const struct csts_pdu *p, tick now);
/* May the first of the queue begin now? One that is too late expires. */
bool assoc_sequence_due(struct csts_service *v, tick now);
void assoc_sequence_keep(struct csts_service *v, tick now); /* the time of the first one */
bool assoc_sequence_expire(struct csts_service *v, tick now);
void assoc_sequence_done(struct csts_service *v, tick now); /* nothing is processed any more */
/* After the change was notified; `interrupted`: one was being processed. */
void assoc_sequence_production(struct csts_service *v, bool interrupted, tick now);
void assoc_sequence_stop(struct csts_link *l, tick now); /* before the procedure ends */

/* Is this PDU of the procedure? */
bool assoc_forward_takes(const struct csts_link *l, const struct csts_pdu *p);
void assoc_forward_take(struct csts_link *l, const struct csts_pdu *p, tick now);
void assoc_forward_leave(struct csts_service *v); /* the procedure is no longer active */
bool assoc_forward_expire(struct csts_service *v, tick now);
void assoc_forward_free(struct csts_service *v);

#endif
