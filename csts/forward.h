/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward Frame (CCSDS 922.3-B-1) with buffered data processing (921.1-B-2 §4.7): a user sends
 * frames (data units, each with its number), one by one or several in a forward buffer; a provider
 * queues them, its host radiates them, and the user is notified of processed frames if it has
 * asked for that. Neither book was at hand: what rests on other implementations is in the
 * conformance table.
 *
 *   user:      csts_start_forward → CSTS_TOLD_STARTED → csts_send_frames … → csts_stop_forward
 *   provider:  CSTS_TOLD_UNITS → csts_forward_next (now it is being processed) → csts_forward_done
 *
 * A provider's queue, and what is processed, belong to the association:
 *
 *   inactive ──START──► active: queued ──next──► processing ──done──► processed
 *                         ▲  │                      └─interrupted─► interrupted
 *                         └──┴── STOP, UNBIND, abort: what is queued is discarded
 *
 * Production (the host says what it is): operational: frames are taken from the queue; configured,
 * interrupted: the queue waits; halted: the queue is discarded, and START is refused.
 *
 * A queue that is full: timely mode discards the oldest frames; complete mode reads no more from
 * the user until there is room (back-pressure). So frames, STOP and UNBIND behind them wait.
 *
 * With sequence-controlled data processing (§4.8) each frame has a return: it is accepted only with
 * the number that is expected, with room in the queue, and before its latest time. It is processed
 * from its earliest time on (CSTS_TOLD_UNITS tells when). If it has not begun at its latest time,
 * or production is halted, or interrupted while one is processed, the procedure is *locked*: the
 * queue is discarded, and nothing is accepted until the directive "reset", or STOP and START.
 *
 * With buffered data processing frames that are refused or discarded are not notified. One
 * exception: if the frame received last is refused, or discarded because of its age, and wants a
 * report, it is reported as interrupted when no frame before it is queued or processed. Otherwise
 * its user would wait for a report.
 */
#ifndef CSTS_FORWARD_H
#define CSTS_FORWARD_H

#include "csts/engine.h"

/* 0 takes the default in brackets. */
struct csts_forward_config {
    bool timely;        /* else complete */
    bool sequenced;     /* sequence-controlled instead of buffered data processing; not timely */
    uint32_t queue_max; /* octets that are queued, with CSTS_UNIT_COST for each frame [4 MiB] */
    uint32_t units_max; /* frames of a forward buffer; more: PEER-ABORT 70 [256] */
    uint32_t frame_min; /* octets of a frame: others are discarded, counted [1] */
    uint32_t frame_max; /* [65,535] */
    tick latency;       /* timely: frames that are queued longer are discarded; 0: never */
    struct csts_oid resource;        /* functional resource type that changes of production name */
    struct csts_oid change;          /* their event [csts_production_change of the resource] */
    enum csts_production production; /* at first [CSTS_CONFIGURED] */
};
enum { CSTS_UNIT_COST = 128 };

/* Makes it a service of Forward Frame. Its id.type is CSTS_FORWARD_FRAME, or what the peer has for
 * it, but not CSTS_MONITORED_DATA. It must not be bound. HELIO_EINVAL, HELIO_ENOMEM. */
int csts_forward_set(struct csts_service *v, const struct csts_forward_config *config);

struct csts_unit {
    uint32_t id;       /* data unit id */
    bool report;       /* its completion is to be notified */
    struct slice data; /* of a provider: until csts_forward_done, or the service is freed */
};
/* The next frame to be radiated: it is being processed from now on. False: there is none now
 * (queue, production, or one is being processed). */
bool csts_forward_next(struct csts_service *v, struct csts_unit *out, tick now);
/* What was being processed: radiated (true), or its radiation failed: it counts as interrupted. Its
 * user may have gone. Poll and write the link after this (csts_service_link). */
void csts_forward_done(struct csts_service *v, bool radiated, tick now);
/* A change is notified: all but "operational" at once, and "operational" if an interruption was
 * notified. What is being processed when production is no longer operational is interrupted:
 * csts_forward_done must not be called for it. */
void csts_forward_production(struct csts_service *v, enum csts_production production, tick now);

#define CSTS_FORWARD_COUNTS(X)                                                                     \
    X(received, "frames received")                                                                 \
    X(processed, "frames radiated")                                                                \
    X(interrupted, "frames whose radiation was interrupted")                                       \
    X(discarded, "frames discarded: STOP, the end of an association, or production halted")        \
    X(overrun, "frames discarded by later ones: timely mode")                                      \
    X(late, "frames discarded because they were queued for too long: timely mode, or expired")     \
    X(refused, "frames refused or discarded: too short, too long, without memory, or not "         \
               "accepted")
struct csts_forward_counts {
#define CSTS_FORWARD_FIELD(name, text) uint64_t name;
    CSTS_FORWARD_COUNTS(CSTS_FORWARD_FIELD)
#undef CSTS_FORWARD_FIELD
};
const struct csts_forward_counts *csts_forward_counts(const struct csts_service *v);
size_t csts_forward_queued(const struct csts_service *v); /* frames */

/* ---- a user's calls; results as of the others in csts/engine.h ---- */

int csts_start_forward(struct csts_link *l, tick now);
/* Sequence-controlled: the number of the first frame. */
int csts_start_sequence(struct csts_link *l, uint32_t first, tick now);
int csts_stop_forward(struct csts_link *l, tick now);
/* One PROCESS-DATA, or a forward buffer (count > 1). 0, HELIO_ESTOPPED: not active; HELIO_EINVAL:
 * none, or more octets than a message may have; HELIO_ENOMEM. The queue has no limit of its own:
 * see csts_link_backlog. */
int csts_send_frames(struct csts_link *l, const struct csts_unit *units, size_t count, tick now);
/* Sequence-controlled: one frame, processed within the window. CSTS_TOLD_ANSWER follows. */
int csts_send_unit(struct csts_link *l, const struct csts_unit *u, const struct csts_window *w,
                   tick now);
/* Sequence-controlled: the provider discards what is queued, accepts frames again, and expects this
 * number. CSTS_TOLD_DIRECTIVE follows: the acknowledgement; if that is positive, another one when
 * it is done. */
int csts_reset(struct csts_link *l, uint32_t next, tick now);

#endif
