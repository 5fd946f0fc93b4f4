/* SPDX-License-Identifier: Apache-2.0 */
/* Good and bad states that follow each other in time, with exponential dwell times
 * (Gilbert-Elliott). */
#ifndef CHANNEL_EMU_CHAN_BURST_H
#define CHANNEL_EMU_CHAN_BURST_H

#include "base/rng.h"
#include "channel-emu/chan/chan.h"

struct chan_burst_state {
    double good, bad; /* mean dwell times, ns */
    struct rng dwell;
    bool is_bad;
    tick until; /* end of the present state */
};

/* Begins at `from` with a state drawn by its share of the time; both means > 0. */
void chan_burst_init(struct chan_burst_state *b, const struct chan_burst *means, uint64_t seed,
                     tick from);

/* Does any part of [from, to) (or the instant `from` when empty) meet the bad state? `from` does
 * not go back. The states do not depend on what was asked before, unless nothing was for more than
 * CHAN_BURST_SKIP mean cycles: then they begin anew. */
bool chan_burst_meets(struct chan_burst_state *b, tick from, tick to);

#define CHAN_BURST_SKIP 65536.0

#endif
