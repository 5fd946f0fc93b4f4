/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common state of a file's links while they run, on any clock: hand-over (which channel a frame
 * uses), transmitters and their use by each direction, and the account of both. The caller owns
 * sockets, channels and their logs.
 */
#ifndef CHANNEL_EMU_SCENARIO_LINKS_RUN_H
#define CHANNEL_EMU_SCENARIO_LINKS_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "channel-emu/chan/chan_hand.h"
#include "channel-emu/scenario/scenario_links.h"

/* Frames that a handed-over link sent over another one, and those that arrived. */
struct links_via {
    uint64_t in, out;
};

/* A transmitter, and the directions that take it. */
struct links_line {
    const char *name; /* borrowed from the file */
    struct chan_shared *shared;
    size_t count;
    struct links_member {
        size_t link;
        int dir;
        void *owner; /* of the channel: whatever the caller puts there */
    } * member;
};

/* One direction of a link. */
struct links_direction {
    const struct chan *chan; /* set by the owner when it begins; NULL before */
    struct links_line *line; /* NULL: its own */
    struct chan_hand hand;   /* count 0: it takes its own channels */
    tick last;               /* the latest frame that was handed over: time is held */
    struct links_via *via;   /* of each link of the file; NULL: it is not handed over */
    uint64_t gap;            /* frames that arrived during a hand-over, and were dropped */
};

struct links_one {
    const char *name;            /* borrowed from the file */
    struct chan_handover *overs; /* of the link, on the channels' clock */
    tick *cuts;                  /* of its channels; also for links that use them */
    size_t cut_count;
    struct links_direction directions[2];
};

struct links_run {
    const struct scenario_links *file; /* borrowed */
    struct links_one *at;              /* of each link of the file */
    struct links_line *line;           /* of each transmitter */
};

/* The run began at `started` on the channels' clock, at the time of day `wall`. Returns 0 or
 * HELIO_ENOMEM; always call links_run_fini, after the channels are freed. */
int links_run_init(struct links_run *r, const struct scenario_links *file, tick started, tick wall);
void links_run_fini(struct links_run *r);

/* Sets transmitter and cuts in the configuration of a channel of this direction. */
void links_run_fit(const struct links_run *r, size_t link, int dir, struct chan_config *config);
/* Returns the link whose channel a frame of this link uses at `at` (its own, unless it is handed
 * over), and counts it; CHAN_NOWHERE: none. */
uint32_t links_run_enter(struct links_run *r, size_t link, int dir, tick at);
/* A frame left the channel of `over`. */
void links_run_leave(struct links_run *r, size_t link, int dir, size_t over);

/* scenario_links_account.c. Of all transmitters: {NAME: {rate_bps, bytes, fairness, members}}. */
json_t *links_run_shared(const struct links_run *r);
/* For a link that is handed over: {planned, done, forward, return}; NULL: it is not. */
json_t *links_run_handover(const struct links_run *r, size_t link, tick now);
/* For people: a line for a transmitter, or for a link that is handed over. */
void links_run_say_shared(const struct links_run *r, size_t line, FILE *to);
void links_run_say_handover(const struct links_run *r, size_t link, tick now, FILE *to);

#endif
