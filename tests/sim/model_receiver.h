/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receivers of red blocks of other implementations, in virtual time: the peers of the sender's
 * engine in the field. A model is driven like an engine: its user pushes what arrived and when, and
 * asks what to send and when to wake it. It shares nothing with ltp/ except the reading and writing
 * of segments. It sends no data, keeps everything that arrives, and trusts its peer: it is for
 * tests.
 */
#ifndef TESTS_SIM_MODEL_RECEIVER_H
#define TESTS_SIM_MODEL_RECEIVER_H

#include "base/buf.h"
#include "ltp/ltp.h"

struct model;

/* What a receiver does. */
struct model_traits {
    const char *name;
    /* A checkpoint that arrives again: */
    bool report_each; /* a new report with a new serial, while the red part is not reported whole */
    bool repeat;      /* the same reports again, as RFC 5326 §6.8 has it, those not acknowledged */
    bool repeat_acked; /* … the others too */
    /* Limits, beyond which the session is cancelled with RLEXC; 0: none. */
    uint32_t answers_max; /* checkpoints answered */
    bool none_before_end; /* … none at all before the end of the red part has arrived */
    uint32_t repeats_max; /* times that one report is sent, by timer or for copies, beside the first
                           */
    bool at_end;          /* an unsolicited report when the red part is complete (checkpoint 0) */
    uint32_t claims_max;  /* in one report; more go into further ones */
    tick report_delay;    /* between a checkpoint and its report, ns */
    tick rto;             /* of reports and cancels, ns */
    double malformed;     /* probability of a damaged datagram when a report is repeated by timer */
    uint32_t forgets;     /* closed sessions remembered beside the latest; older ones are new */
    bool acks_cancel;     /* answers a sender's cancel of a session that it does not know */
};

/* As observed and as their sources read; rto is the one-way light time twice and their margins. The
 * limit of ION's reports follows from its configured loss rate and the block: 2 at least. */
struct model_traits model_ion(uint32_t answers_max, tick round_trip);
struct model_traits model_hdtn(tick round_trip, tick deferred);
struct model_traits model_strict(tick round_trip);
struct model_traits model_licklider(tick round_trip);

struct model_config {
    uint64_t engine;
    uint64_t seed;
    struct model_traits traits; /* copied */
};

/* Returns NULL without memory; so do all others' failures end the test. */
struct model *model_new(const struct model_config *config);
void model_free(struct model *m);

/* It restarts without its state; its sent segments stay in transit. */
void model_restart(struct model *m);

void model_input(struct model *m, const uint8_t *data, size_t len, tick now);
void model_expire(struct model *m, tick now);
tick model_deadline(const struct model *m);

/* The next datagram to send: its length, 0 when there is none. cap >= 2048. */
size_t model_output(struct model *m, uint8_t *out, size_t cap, tick now);

/* A red block that is whole. The caller's: drop it. NULL: no further one. */
struct buf *model_block(struct model *m, struct ltp_session_id *id);

struct model_counters {
    uint64_t blocks, reports, repeats, cancels, malformed, ignored;
};
const struct model_counters *model_counters(const struct model *m);

/* Sessions open and cancels not acknowledged. */
size_t model_open(const struct model *m);

#endif
