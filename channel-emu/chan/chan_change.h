/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that change during a run: a list of changes, and the present values. */
#ifndef CHANNEL_EMU_CHAN_CHANGE_H
#define CHANNEL_EMU_CHAN_CHANGE_H

#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_flip.h"

/* What holds for a frame. */
struct chan_values {
    uint64_t rate_bps;
    tick delay;
    double loss, duplicate, bit_error_rate;
    struct chan_flip_odds flip;
};

struct chan_changes {
    struct chan_change *list; /* owned */
    size_t count, next;       /* those before `next` are in the values */
    struct chan_values values;
};

/* Rising, not too many, and each a change of something that is there? */
bool chan_changes_valid(const struct chan_config *config);

/* May a value, or all of them, ever be in force? */
bool chan_changes_any(const struct chan_config *config, enum chan_key key);

/* Returns 0 or HELIO_ENOMEM. Times count from 0 until chan_changes_begin sets the origin. */
int chan_changes_init(struct chan_changes *c, const struct chan_config *config);
void chan_changes_fini(struct chan_changes *c);
void chan_changes_begin(struct chan_changes *c, tick origin);

/* What is in force at t, which is no earlier than in the call before. */
const struct chan_values *chan_changes_at(struct chan_changes *c, tick t);

/* Puts one in at its time, which is no earlier than that of chan_changes_at; without times yet it
 * is in force at once, and those that are configured come after it. 0 or HELIO_ENOMEM. */
int chan_changes_add(struct chan_changes *c, const struct chan_change *change, bool begun);

#endif
