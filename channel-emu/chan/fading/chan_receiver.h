/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver that produces erasures. An interleaver spreads each step over the following steps: the
 * step is lost when the mean power over them is below the threshold. A block interleaver spreads
 * each codeword evenly over a block: symbols with a power below the threshold are erased, and all
 * codewords of the block are lost when the code cannot correct so many. After a loss the receiver
 * may need time to acquire the signal again.
 */
#ifndef CHANNEL_EMU_CHAN_RECEIVER_H
#define CHANNEL_EMU_CHAN_RECEIVER_H

#include <stddef.h>

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RECEIVER_DEPTH_MAX UINT64_C(10000000)

struct receiver_config {
    double margin_db; /* mean power over the sensitivity, dB */
    double fec_db;    /* what the code gains on top */
    tick interleaver; /* depth, ns; 0 and less than a step: none */
    tick reacquire;   /* stays bad for so long after a loss, ns */
    tick block;       /* length of a block interleaver's blocks, ns; 0 and less than a step: none */
    double correct;   /* share of each codeword's symbols that its code corrects, 0 to 1 */
};

/* What is wrong with it at that step; NULL: nothing. */
const char *receiver_fault(const struct receiver_config *c, tick step);

/* The least power that is received, relative to the mean: 10^(-(margin + fec) / 10). */
double receiver_threshold(const struct receiver_config *c);

struct receiver {
    double threshold, sum;
    double *ring; /* the last `depth` powers */
    size_t depth, have, at;
    uint64_t hold, lost; /* steps */
    /* Block interleaver: steps of a block, permitted erasures, and both counts of the present
     * block; was the last whole block lost? */
    uint64_t block, most, done, erased;
    bool block_lost;
};

/* 0, HELIO_ENOMEM, HELIO_EINVAL (deeper than RECEIVER_DEPTH_MAX steps). */
int receiver_init(struct receiver *r, const struct receiver_config *c, double threshold, tick step);
/* Frees what receiver_init allocated. */
void receiver_fini(struct receiver *r);

/* Processes the power of one step (>= 0, finite). Returns the state of the step depth - 1 before
 * this one: 0 (good) or 1 (bad). Returns -1 for the first depth - 1 calls. With blocks the depth is
 * that of a block. */
int receiver_input(struct receiver *r, double power);

/* Makes the trace of n powers, one per step, in an empty *t. The trace loops: the interleaver
 * continues with the first power. Returns 0, HELIO_ENOMEM, HELIO_EINVAL (as receiver_init; n is
 * 0). */
int receiver_trace(struct trace *t, const struct receiver_config *c, double threshold,
                   const double *power, size_t n);

#ifdef __cplusplus
}
#endif

#endif
