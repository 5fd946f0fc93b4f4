/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retransmission cycles of a session, by its sender's checkpoints and reports. One cycle is a
 * report with gaps and the repetition that answers it. Cycles that follow one another add up; those
 * that run side by side (several reports that answer one checkpoint, early checkpoints) are one: so
 * mean cycles x the length of one is time. A checkpoint that closes a repetition has the cycles of
 * the report that it answers and one more; a report has those of the checkpoint that it answers.
 */
#ifndef SIM_ROUNDS_H
#define SIM_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUNDS_MAX 16384 /* serial numbers of a session that are followed; further ones have 0 */

struct round;

/* Of one session; all zero is empty. */
struct rounds {
    struct round *at;
    size_t len, cap;
    uint32_t most; /* the session's cycles */
};

void rounds_fini(struct rounds *r); /* forgets the serial numbers; `most` stays */

/* A checkpoint that closes a repetition was sent for the first time. False: no memory. */
bool rounds_sent(struct rounds *r, uint64_t cp_serial, uint64_t rpt_serial);

/* A new report arrived. False: no memory. */
bool rounds_reported(struct rounds *r, uint64_t cp_serial, uint64_t rpt_serial);

#endif
