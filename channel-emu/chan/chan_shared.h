/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transmitter for several channels: one rate, one queue, first come, first served, with the
 * disciplines that a channel's own queue has. A frame waits for the line behind those of the other
 * channels, takes it, and from then on has the losses and the delay of its own channel, which
 * counts it. Such as: the uplink of a ground station to two spacecraft, two virtual channels of one
 * laser.
 *
 * A call of one channel runs the line for all of them: after it, ask chan_fate of each, and take
 * chan_deadline over all (each tells the line's turn). Times of inputs, changes and outages go back
 * from one to the next at none of them: a caller with several sources sorts by time of arrival
 * before. Which channel a frame belongs to does not matter for its turn.
 */
#ifndef CHANNEL_EMU_CHAN_SHARED_H
#define CHANNEL_EMU_CHAN_SHARED_H

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct chan_shared_config {
    uint64_t rate_bps; /* >= 1 */
    uint64_t queue_bytes;
    tick queue_time;
    tick codel_target, codel_interval;
    bool codel_marks;
    tick mark_above;                   /* all of these as of struct chan_config */
    tick origin;                       /* of the changes */
    const struct chan_change *changes; /* of the rate, copied; as of struct chan_config */
    size_t change_count;
};

struct chan_shared;
/* 0, HELIO_ENOMEM, HELIO_EINVAL (no rate, CoDel without a target, changes out of order or of
 * something else). It outlives the channels whose config.shared it is. */
int chan_shared_new(struct chan_shared **out, const struct chan_shared_config *config);
void chan_shared_free(struct chan_shared *s);

/* Another rate (>= 1) for frames whose time on the air begins at `now` or later; no earlier than
 * the last call. 0, or HELIO_ENOMEM, HELIO_EINVAL, and nothing is changed. */
int chan_shared_change(struct chan_shared *s, uint64_t rate_bps, tick now);

/* A channel's part of a line: frames that took it, their bytes, overhead counted, and how long they
 * had waited for it. Of channels whose frames wait with their fates undecided (chan.h); of the
 * others nothing is counted. */
struct chan_part {
    uint64_t frames, bytes;
    tick waited, waited_max; /* the sum; of one frame */
};
struct chan_part chan_part(const struct chan *c);

/* Jain's index of fairness of these amounts: 1 when they are equal, 1/n when one has all; 1 when
 * all are 0. */
double chan_shared_fairness(const uint64_t *amounts, size_t n);

#ifdef __cplusplus
}
#endif

#endif
