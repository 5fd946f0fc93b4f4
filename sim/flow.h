/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TCP's congestion control lets go on one direction of a stream: a window that grows with what
 * is acknowledged and shrinks with what is lost. Reno (RFC 5681, one reduction for all losses of a
 * round trip as RFC 6582 and 6675 have it) and CUBIC (RFC 9438), with an initial window of ten
 * segments (RFC 6928). Not there: HyStart, pacing, delayed acknowledgements.
 *
 * Pure: it is told octets and times. The window does not grow while it is not what bounds the
 * sender.
 */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

enum flow_kind { FLOW_NONE, FLOW_RENO, FLOW_CUBIC };

struct flow {
    enum flow_kind kind;
    uint32_t segment;    /* octets */
    uint64_t most;       /* octets that the buffers of both ends let be under way */
    uint64_t under;      /* octets under way, as the sender knows */
    double window;       /* segments */
    double threshold;    /* of slow start; segments */
    bool bound;          /* the window was what kept something from going */
    bool silent;         /* the timer has ended, and nothing was heard since */
    uint64_t recover;    /* losses of frames up to this number are those of the last reduction */
    uint64_t reductions; /* of the window, and of these by a timeout */
    uint64_t timeouts;
    struct {
        tick epoch;   /* when this growth began; TICK_NEVER: not yet */
        double most;  /* the window before the last loss, less by fast convergence; 0: none */
        double prior; /* … without that */
        double k, origin, estimate;
    } cubic;
};

/* `most` as it is in the struct; it may be changed at any time. */
void flow_init(struct flow *f, enum flow_kind kind, uint32_t segment, uint64_t most);
/* By the kernel's names: "reno", "cubic". False: there is no other. */
bool flow_kind_of(const char *name, enum flow_kind *out);

/* May so many octets go? With nothing under way they always may. */
bool flow_room(struct flow *f, uint32_t octets);
/* There is room, and nothing to send. */
void flow_idle(struct flow *f);
void flow_sent(struct flow *f, uint32_t octets);
/* Octets that a sender keeps whose buffer nobody has set: twice the window, as Linux has it. */
uint64_t flow_buffer(const struct flow *f);
/* Word of octets that have come, which went a round trip ago. */
void flow_acked(struct flow *f, uint32_t octets, tick round_trip, tick now);
/* The sender knows that frame `number` is lost; `frames` have gone so far. */
void flow_lost(struct flow *f, uint32_t octets, uint64_t number, uint64_t frames);
/* Nothing is heard: all that is under way counts as lost. */
void flow_timeout(struct flow *f, uint64_t frames);

/* Its own invariants, asserted. */
void flow_check(const struct flow *f);

#endif
