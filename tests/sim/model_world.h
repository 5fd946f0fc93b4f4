/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that sends blocks, a receiver (a model, or a second engine) and the two lines between
 * them, in virtual time. The user sends a cancelled block again until it is done.
 */
#ifndef TESTS_SIM_MODEL_WORLD_H
#define TESTS_SIM_MODEL_WORLD_H

#include "channel-emu/chan/chan.h"
#include "tests/sim/model_receiver.h"

struct model_case {
    struct ltp_span span;              /* of the sender, peer 2 */
    const struct model_traits *model;  /* NULL: an engine of ours with the sender's span */
    const struct ltp_recovery *theirs; /* of an engine of ours; NULL: as the sender's */
    struct chan_config out, back;      /* seeds are drawn */
    tick measure_from;                 /* what `later` counts */
    uint64_t seed;
    size_t blocks;
    uint64_t block;       /* bytes of each */
    tick time_max;        /* it fails then */
    uint64_t cancels_max; /* … or after so many cancelled sessions */
};

struct model_result {
    size_t delivered;          /* blocks that arrived, each counted once, and compared */
    size_t done;               /* … and that the sender knows of */
    uint64_t cancelled_remote; /* sessions */
    uint64_t cancelled_local;
    uint64_t again;                     /* blocks that arrived a second time */
    uint64_t reports;                   /* radiated by the receiver */
    uint64_t serials;                   /* … of different serials */
    uint64_t reports_later, done_later; /* from measure_from on */
    uint64_t malformed;
    bool wrong; /* bytes differ */
    tick end;   /* when all was done */
    struct ltp_support support;
    uint64_t narrowed;
};

void model_play(const struct model_case *c, struct model_result *out);

#endif
