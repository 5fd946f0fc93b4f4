/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mean session as a sum (docs/helio-analyze.md, "Decomposition"): an ideal session, the
 * retransmission cycles, the waits for lost checkpoints, and what these leave unexplained.
 */
#ifndef TOOLS_ANALYZE_MODEL_H
#define TOOLS_ANALYZE_MODEL_H

#include "tools/analyze/analyze.h"

/* What the user says; TICK_NEVER, 0 or NAN: nothing. */
struct analyze_model {
    tick ideal, cycle, rto;
    double capacity_bps; /* of payload */
    double rate_bps;     /* of bits on the air */
    double good_share;   /* of the trace, 0..1; 1 without one */
    uint64_t overhead;   /* bytes on the air beside each segment */
};

/* Milliseconds; NAN: not known. */
struct analyze_split {
    double ideal, cycle, rto;                       /* the expected values */
    const char *ideal_from, *cycle_from, *rto_from; /* static words; NULL: not known */
    double mean, retx, checkpoint;
    double delta_penalties, delta_ideal;
};

struct analyze_split analyze_split_flow(const struct analyze_flow *f,
                                        const struct analyze_model *m);

/* One session: its penalties, and what is left of its duration. Milliseconds, NAN: not known. */
struct analyze_penalties {
    double retx, checkpoint, delta;
};
struct analyze_penalties analyze_split_session(const struct analyze_session *s,
                                               const struct analyze_split *of_flow);

/* Payload that the link can carry in this flow, bit/s; NAN: not known. */
double analyze_capacity(const struct analyze_flow *f, const struct analyze_model *m);

#endif
