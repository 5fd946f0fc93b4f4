/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine of ours as an end of a duo, with the little that its user has to do: it takes a block
 * when it has stored it, which may take a while, and sends a block that was cancelled again.
 */
#ifndef TESTS_SIM_OURS_H
#define TESTS_SIM_OURS_H

#include "ltp/ltp.h"
#include "tests/sim/duo.h"

struct ours {
    struct ltp_config config;
    struct ltp_span span;
    struct ltp *ltp;
    uint32_t lives; /* so far */
    /* As sender: */
    struct buf *block; /* NULL: sends nothing */
    bool orange, open, done;
    uint32_t sends, sends_max; /* of the block, so far and in all */
    tick pause;                /* before it is sent again */
    tick again_at;             /* TICK_NEVER: it is not */
    uint32_t ended;            /* without success */
    /* As receiver: */
    tick store_time;           /* from the block's arrival to its being stored */
    struct ltp_session_id got; /* waits for that */
    tick stored_at;            /* TICK_NEVER: nothing waits */
    /* A block is stored. */
    void (*stored)(void *context, struct slice data);
    struct buf *kept; /* what waits to be stored */
    void *context;
};

/* A new engine, without memory of an earlier one; then the block is sent, if there is one. */
void ours_start(struct ours *o, uint64_t seed, tick now);
void ours_stop(struct ours *o);
void ours_link(struct ours *o, bool up, tick now);

extern const struct duo_ops ours_ops; /* self: struct ours */

#endif
