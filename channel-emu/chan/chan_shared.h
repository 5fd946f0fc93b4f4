/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transmitter for several channels: one rate and one FIFO queue, with the queue disciplines of
 * a channel. A frame is queued behind those of the other channels. After the line has taken it, the
 * losses and the delay of its own channel apply, which also counts it. Examples: the uplink of a
 * ground station to two spacecraft; two virtual channels of one laser.
 *
 * A call for one channel runs the line for all channels. After it, call chan_fate for each, and
 * take the earliest chan_deadline of all. Times of inputs, changes and outages must not decrease
 * over all channels: a caller with several sources sorts them by time of arrival. The order of
 * frames does not depend on their channels.
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
/* Returns 0, HELIO_ENOMEM, HELIO_EINVAL (no rate, CoDel without a target, unsorted changes, or
 * changes of other keys). It must exist as long as the channels whose config.shared it is. */
int chan_shared_new(struct chan_shared **out, const struct chan_shared_config *config);
/* Frees the line, after all its channels. NULL is allowed. */
void chan_shared_free(struct chan_shared *s);

/* Sets a rate (>= 1) for frames whose transmission begins at `now` or later; now must not be before
 * the last call. Returns 0; HELIO_ENOMEM, HELIO_EINVAL: nothing is changed. */
int chan_shared_change(struct chan_shared *s, uint64_t rate_bps, tick now);

/* A channel's share of a line: its frames, their bytes with overhead, and their queueing times.
 * Only for channels with undecided queued frames (chan.h `live`); others are not counted. */
struct chan_part {
    uint64_t frames, bytes;
    tick waited, waited_max; /* the sum; of one frame */
};
/* The channel's share so far. */
struct chan_part chan_part(const struct chan *c);

/* Jain's index of fairness of these amounts: 1 when they are equal, 1/n when one has all; 1 when
 * all are 0. */
double chan_shared_fairness(const uint64_t *amounts, size_t n);

#ifdef __cplusplus
}
#endif

#endif
