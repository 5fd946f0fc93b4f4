/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP's congestion control for one direction of a stream: a window that grows with acknowledgements
 * and shrinks with losses. Reno (RFC 5681, with one reduction for all losses of a round trip as in
 * RFC 6582 and 6675) and CUBIC (RFC 9438), with an initial window of ten segments (RFC 6928). Not
 * implemented: HyStart, pacing, delayed acknowledgements.
 *
 * Pure: octets and times are arguments. The window grows only while it limits the sender.
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
    uint64_t most;       /* octets in transit that the buffers of both ends permit */
    uint64_t under;      /* octets in transit, as the sender knows */
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

/* May so many octets be sent? Always true with nothing in transit. */
bool flow_room(struct flow *f, uint32_t octets);
/* The window permits more, and there is nothing to send. */
void flow_idle(struct flow *f);
void flow_sent(struct flow *f, uint32_t octets);
/* The send buffer in octets if the user has not set it: twice the window, as in Linux. */
uint64_t flow_buffer(const struct flow *f);
/* An acknowledgement of octets that were sent a round trip ago. */
void flow_acked(struct flow *f, uint32_t octets, tick round_trip, tick now);
/* The sender knows that frame `number` is lost; `frames` have gone so far. */
void flow_lost(struct flow *f, uint32_t octets, uint64_t number, uint64_t frames);
/* No acknowledgement arrived: everything in transit counts as lost. */
void flow_timeout(struct flow *f, uint64_t frames);

/* Its own invariants, asserted. */
void flow_check(const struct flow *f);

#endif
