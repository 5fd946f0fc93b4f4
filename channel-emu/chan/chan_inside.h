/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a channel, for the files that make it: chan.c has its face, chan_line.c what
 * happens to a frame. */
#ifndef CHANNEL_EMU_CHAN_INSIDE_H
#define CHANNEL_EMU_CHAN_INSIDE_H

#include "base/rng.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_burst.h"
#include "channel-emu/chan/chan_change.h"
#include "channel-emu/chan/chan_codel.h"
#include "channel-emu/chan/chan_contact.h"
#include "channel-emu/chan/chan_jitter.h"
#include "channel-emu/chan/chan_pool.h"

#define CHAN_NOTES_MAX 3 /* corrupted, duplicated, the copy corrupted */

struct chan {
    struct chan_config config;
    struct chan_counters counters;
    struct trace_clock clock;
    struct chan_contact contact;
    struct chan_contact_at contact_now, contact_line;
    struct chan_burst_state burst;
    struct rng loss, burst_loss, duplicate, power, jitter[2];
    struct chan_jitter_state jitters[2]; /* by a law */
    struct chan_flips flips[2];
    bool use_loss, use_duplicate; /* else nothing is drawn for it */
    struct chan_changes changes;
    struct chan_codel codel;
    uint64_t frame_max; /* bytes on the air of the longest one, for CoDel */
    bool begun;
    bool reorders;          /* frames may overtake: they wait in the heap */
    bool defers;            /* frames wait for the line with their fates undecided */
    tick free_at;           /* when the line is free ... */
    uint64_t free_fraction; /* ... and this many 1/rate_bps of a ns */
    tick held_for;          /* without a rate: the contact for which frames wait, */
    uint64_t held_bytes;    /* and these are so many */
    tick last_input, last_leaves, last_due;
    size_t point;           /* place in the delay's table */
    struct list waiting;    /* frames for the line, when it defers */
    uint64_t waiting_bytes; /* theirs, overhead counted */
    uint64_t air_rate;      /* of the frame on the air, when it defers */
    tick turn;              /* when the line takes the first that waits; TICK_NEVER: none waits */
    struct list line;       /* frames in order of arrival */
    struct heap order;      /* the same, when they may overtake */
    struct chan_pool pool;
    struct list held;  /* frames whose data was lent to the caller */
    struct list gone;  /* frames that were lost after they had waited, until that is asked for */
    struct list noted; /* frames that are not lost, but of which there is something to tell */
    bool down;
    tick down_since;
    struct chan_fate last; /* of the last input, with these reasons */
    uint8_t last_ecn;
    uint8_t notes[CHAN_NOTES_MAX], note_count, notes_told;
};

/* chan_line.c: a frame, c->last, has entered. */
void chan_line_input(struct chan *c, bool by_rule);
/* The line takes what it may take at or before `until`. */
void chan_line_run(struct chan *c, tick until);
/* The frame has been lost inside: its fate waits to be asked for. */
void chan_line_lose(struct chan *c, struct chan_frame *f, enum chan_reason reason);

#endif
