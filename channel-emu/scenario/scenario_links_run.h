/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the links of a file have between them while they run, on whatever clock: whose channels a
 * frame takes that is handed over, transmitters and what each direction had of them, and the
 * account of both. Sockets, channels and their logs are the owner's.
 */
#ifndef CHANNEL_EMU_SCENARIO_LINKS_RUN_H
#define CHANNEL_EMU_SCENARIO_LINKS_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "channel-emu/chan/chan_hand.h"
#include "channel-emu/scenario/scenario_links.h"

/* What a link that is handed over sent by another one, and what of it came out there. */
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
struct links_way {
    const struct chan *chan; /* set by the owner when it begins; NULL before */
    struct links_line *line; /* NULL: its own */
    struct chan_hand hand;   /* count 0: it takes its own channels */
    tick last;               /* the latest frame that was handed over: time is held */
    struct links_via *via;   /* of each link of the file; NULL: it is not handed over */
    uint64_t gap;            /* came when it was handed over, and went nowhere */
};

struct links_one {
    const char *name;            /* borrowed from the file */
    struct chan_handover *overs; /* of the link, on the channels' clock */
    tick *cuts; /* of its channels; those that go over them write them down there */
    size_t cut_count;
    struct links_way way[2];
};

struct links_run {
    const struct scenario_links *file; /* borrowed */
    struct links_one *at;              /* of each link of the file */
    struct links_line *line;           /* of each transmitter */
};

/* The run began at `started` on the channels' clock, when the time of day was `wall`. 0 or
 * HELIO_ENOMEM; links_run_fini in any case, after the channels are gone. */
int links_run_init(struct links_run *r, const struct scenario_links *file, tick started, tick wall);
void links_run_fini(struct links_run *r);

/* What a channel of this direction is told of transmitter and cuts. */
void links_run_fit(const struct links_run *r, size_t link, int dir, struct chan_config *config);
/* The link whose channel a frame of this link takes that comes at `at` (its own, unless it is
 * handed over), counted; CHAN_NOWHERE: none takes it. */
uint32_t links_run_enter(struct links_run *r, size_t link, int dir, tick at);
/* It came out of the channel of `over`. */
void links_run_leave(struct links_run *r, size_t link, int dir, size_t over);

/* scenario_links_account.c. Of all transmitters: {NAME: {rate_bps, bytes, fairness, members}}. */
json_t *links_run_shared(const struct links_run *r);
/* Of a link that is handed over: {planned, done, forward, return}; NULL: it is not. */
json_t *links_run_handover(const struct links_run *r, size_t link, tick now);
/* For people: a line for a transmitter, or for a link that is handed over. */
void links_run_say_shared(const struct links_run *r, size_t line, FILE *to);
void links_run_say_handover(const struct links_run *r, size_t link, tick now, FILE *to);

#endif
