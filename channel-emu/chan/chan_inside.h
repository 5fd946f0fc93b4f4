/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a channel, for the files that make it: chan.c has its face, chan_line.c what
 * happens to a frame. */
#ifndef CHANNEL_EMU_CHAN_INSIDE_H
#define CHANNEL_EMU_CHAN_INSIDE_H

#include "base/rng.h"
#include "channel-emu/chan/chan.h"
#include "channel-emu/chan/chan_change.h"
#include "channel-emu/chan/chan_codel.h"
#include "channel-emu/chan/chan_jitter.h"
#include "channel-emu/chan/chan_pool.h"
#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/chan/chan_table.h"
#include "channel-emu/chan/fading/chan_burst.h"

#define CHAN_NOTES_MAX 3 /* corrupted, duplicated, the copy corrupted */

/* The line and what waits for it: of one channel, or of all that share a transmitter. */
struct chan_queue {
    uint64_t bytes_max; /* limits of what waits; 0: none */
    tick time_max, mark_above;
    struct chan_codel codel;    /* interval 0: off */
    struct chan_changes *rates; /* of the channel, or of the transmitter */
    struct list waiting;        /* frames for the line, when they wait with their fates undecided */
    uint64_t waiting_bytes;     /* theirs, overhead counted */
    uint64_t frame_max;         /* bytes on the air of the longest one, for CoDel */
    uint64_t air_rate;          /* of the frame on the air, when they wait */
    tick turn;    /* when the line takes the first, or a cut loses one; TICK_NEVER: none waits */
    tick cut;     /* no later than the first cut of what waits; TICK_NEVER: there is none */
    tick free_at; /* when the line is free ... */
    uint64_t free_fraction; /* ... and this many 1/rate_bps of a ns */
};

struct chan_shared {
    struct chan_queue queue;
    struct chan_changes rates;
    struct chan_config config; /* what of it is of the line */
    unsigned members;
    tick last_change;
};

struct chan {
    struct chan_config config;
    struct chan_counters counters;
    struct trace_clock clock, seen; /* the latter is chan_look_at's, far behind the former */
    struct chan_contact contact;
    struct chan_contact_at contact_now, contact_line;
    struct chan_burst_state burst;
    struct rng loss, burst_loss, duplicate, power, jitter[2];
    struct chan_jitter_state jitters[2]; /* by a law */
    struct chan_flips flips[2];
    bool use_loss, use_duplicate; /* else nothing is drawn for it */
    struct chan_changes changes;
    struct chan_queue own, *queue; /* the latter is the former, or the transmitter's */
    struct chan_part part;
    size_t cut; /* those before it are behind the frames that enter */
    bool begun;
    bool reorders;       /* frames may overtake: they wait in the heap */
    bool defers;         /* frames wait for the line with their fates undecided */
    tick held_for;       /* without a rate: the contact for which frames wait, */
    uint64_t held_bytes; /* and these are so many */
    tick last_input, last_leaves, last_due;
    size_t point;      /* index in the delay's table */
    struct list line;  /* frames in order of arrival */
    struct heap order; /* the same, when they may overtake */
    struct chan_pool pool;
    struct list held;  /* frames whose data the caller may still use */
    struct list gone;  /* frames that were lost after they had waited, until that is asked for */
    struct list noted; /* frames that are not lost, but have a fate to report */
    bool down;
    tick down_since;
    struct chan_fate last; /* of the last input, with these reasons */
    uint8_t last_ecn;
    uint8_t notes[CHAN_NOTES_MAX], note_count, notes_told;
};

/* chan_line.c: a frame, c->last, has entered. */
void chan_line_input(struct chan *c, bool by_rule);
/* The line takes what it may take at or before `until`. */
void chan_line_run(struct chan_queue *q, tick until);
/* Nothing waits, and the line is free. */
void chan_queue_init(struct chan_queue *q, const struct chan_config *config,
                     struct chan_changes *rates);
/* May CoDel and marks have what they look at? */
bool chan_queue_valid(const struct chan_config *k);
/* Takes what waits of this channel out of the line's queue, into `out`. */
void chan_queue_leave(struct chan *c, struct list *out);
/* The frame has been lost inside: its fate waits to be asked for. */
void chan_line_lose(struct chan *c, struct chan_frame *f, enum chan_reason reason);

#endif
