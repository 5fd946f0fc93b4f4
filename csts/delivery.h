/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered data delivery (921.1-B-2 §4.5), the prime procedure of a service: a user asks for data,
 * the provider's host gives them, and they are sent in return buffers: several data with numbers,
 * and notifications in their places between them. The text of the book was not at hand: what rests
 * on another implementation is in the conformance table.
 *
 *   user:      csts_start_delivery → CSTS_TOLD_STARTED → CSTS_TOLD_DATA, CSTS_TOLD_EVENT …
 *              → csts_stop_delivery
 *   provider:  CSTS_TOLD_STARTED → csts_deliver … → csts_delivery_end
 *
 *   inactive ──START──► active ──STOP, or the end of the association──► inactive
 *
 * A return buffer is sent when it is full, behind a notification, at STOP, and when its first
 * element is as old as the latency limit.
 *
 * Complete mode: START has both times. Nothing is discarded: while the user is slow, csts_deliver
 * does not take data. Real-time mode: times may be left out. While the user is slow, the data of
 * the return buffer are discarded, and "data discarded due to excessive backlog" is notified in
 * their place. A user is slow while more than backlog_max octets are queued for it.
 */
#ifndef CSTS_DELIVERY_H
#define CSTS_DELIVERY_H

#include "csts/engine.h"

/* 0 takes the default in brackets. */
struct csts_delivery_config {
    bool real_time;           /* else complete */
    struct csts_oid type;     /* of a derived procedure [BUFFERED_DATA_DELIVERY] */
    uint32_t buffer_max;      /* elements of a return buffer [20] */
    tick latency;             /* [1 s] */
    struct csts_oid resource; /* functional resource type that changes of production name */
    struct csts_oid change;   /* their event [csts_production_change of the resource] */
    struct csts_oid events; /* above DELIVERY_DISCARDED and the two behind it [as these have it] */
    enum csts_production production; /* at first [CSTS_CONFIGURED] */
};

/* Makes it a service with this procedure. It must have no other prime procedure, and not be bound.
 * HELIO_EINVAL, HELIO_ENOMEM. */
int csts_delivery_set(struct csts_service *v, const struct csts_delivery_config *config);

/* The identifier of DELIVERY_DISCARDED, OVERFLOW or END below this one; `events` empty: itself. */
struct csts_oid csts_delivery_event(const struct csts_oid *events, enum csts_known which);

/* The generation times that the user wants, both included, between START and STOP. NULL: it is not
 * active. */
const struct csts_window *csts_delivery_window(const struct csts_service *v);

/* A datum for the user; it is copied. Numbers are counted from 0 on from START. HELIO_OK: it will
 * be delivered, or it is outside of the window; HELIO_ESTOPPED: not active, or its data have ended;
 * HELIO_EAGAIN: complete mode, the user is slow: give it again when the link was written
 * (csts_link_wrote); HELIO_EINVAL: longer than a message may be; HELIO_ENOMEM. Poll and write the
 * link after this and the calls below (csts_service_link). */
int csts_deliver(struct csts_service *v, struct sle_time generated, const struct csts_data *data,
                 tick now);
/* There are no more data until STOP and START: the user is notified, behind all data. Results as of
 * csts_deliver. */
int csts_delivery_end(struct csts_service *v, tick now);
/* The host has lost data that it had not given: "recording buffer overflow" is notified. */
void csts_delivery_overflow(struct csts_service *v, tick now);
/* A change is notified. START is refused while production is halted. */
void csts_delivery_production(struct csts_service *v, enum csts_production production, tick now);

#define CSTS_DELIVERY_COUNTS(X)                                                                    \
    X(offered, "data given by the host")                                                           \
    X(filtered, "data outside of the window")                                                      \
    X(delivered, "data in return buffers that were queued")                                        \
    X(discarded, "data discarded because the user was slow")                                       \
    X(dropped, "data in a return buffer when the association ended")                               \
    X(refused, "data too long, or without memory")
struct csts_delivery_counts {
#define CSTS_DELIVERY_FIELD(name, text) uint64_t name;
    CSTS_DELIVERY_COUNTS(CSTS_DELIVERY_FIELD)
#undef CSTS_DELIVERY_FIELD
};
const struct csts_delivery_counts *csts_delivery_counts(const struct csts_service *v);

/* ---- a user's calls; results as of the others in csts/engine.h ---- */

/* `type` NULL: BUFFERED_DATA_DELIVERY itself, not a derived procedure. HELIO_EINVAL: it is active.
 * HELIO_ESTOPPED also: STOP of what is not active. */
int csts_start_delivery(struct csts_link *l, const struct csts_oid *type,
                        const struct csts_window *w, tick now);
int csts_stop_delivery(struct csts_link *l, tick now);

#endif
