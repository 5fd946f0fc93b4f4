/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulated experiment measures of each of its sessions, and the figures made of them. */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include "base/hash.h"
#include "base/ranges.h"
#include "ltp/event.h"
#include "sim/rounds.h"

/* Equal parts of the window in which the transmitted bytes are counted: their spread gives the
 * error of the whole. */
#define SIM_STATS_PARTS 20

struct sim_session {
    struct hash_node node;
    struct sim_session *next;
    struct sim_session *first_try; /* of its block; itself when it is the first */
    uint64_t number;
    tick first_tx;        /* its first segment was radiated; TICK_NEVER before */
    tick delivered;       /* the block was whole at the receiver; TICK_NEVER before */
    tick closed;          /* the report that completes it arrived; TICK_NEVER before */
    struct rounds rounds; /* its cycles; their serial numbers until it is closed */
    uint32_t checkpoints, checkpoints_lost;
    bool lossy;            /* a data segment was lost */
    uint32_t losses;       /* of a first try: tries of the block that were lost */
    bool over;             /* closed, lost or cancelled */
    bool settled;          /* likewise: the sender has done with the block */
    bool whole;            /* this try made its block whole at the receiver */
    struct ranges missing; /* bytes that were sent and have not passed the channel; until over and
                              the fate of the last segment is known */
    bool gaps;             /* there were such at that time */
    tick passed;           /* its last data segment that was not lost was sent */
    uint32_t carried[SIM_STATS_PARTS]; /* bytes that passed it for the first time, by the part of
                                          the window; a block is shorter than 2^32 bytes */
};

struct sim_stats {
    struct hash table;
    struct sim_session *first;                  /* latest first */
    struct sim_session *last;                   /* of the last event; NULL when it had none */
    uint64_t full_bytes, full_data, full_count; /* whole segments sent for the first time */
    uint64_t air_bytes;                         /* of all segments */
    uint64_t copy_bytes, copies, repeat_bytes, repeats;
    uint64_t first_data; /* block bytes sent for the first time */
    uint64_t rto_firings, cancelled;
    uint64_t lost, resent, given_up; /* sessions, sessions, blocks */
    uint32_t begun, begun_max;       /* sessions that have sent a segment and are not over */
    tick window_from, window_to;     /* of sim_stats_carried, set by the run; equal: not wanted */
    tick transit;                    /* likewise: the longest from sent to arrived */
    uint64_t offset, length;         /* of the data that was sent last */
    bool fresh;                      /* for the first time */
    bool out_of_memory;
};

int sim_stats_init(struct sim_stats *s, uint64_t seed);
void sim_stats_fini(struct sim_stats *s);

/* An event of the sender's engine. `segment_max` distinguishes full segments from shorter ones. */
void sim_stats_event(struct sim_stats *s, const struct event *e, uint32_t segment_max);

/* The segment of the last event was lost in the channel; or, sent at `now`, was not. */
void sim_stats_lost(struct sim_stats *s, int type);
void sim_stats_passed(struct sim_stats *s, int type, tick now);

/* The receiver has the session's block. */
void sim_stats_delivered(struct sim_stats *s, uint64_t number, tick now);

/* Orange blocks: the session was lost; returns whether its block may go again, having been lost at
 * most `resend` times, and then its first try in *first. again: session `number` is such a try. */
bool sim_stats_block_lost(struct sim_stats *s, uint64_t number, uint64_t resend, uint64_t *first);
void sim_stats_again(struct sim_stats *s, uint64_t number, uint64_t first);

/* Of a set of times, in ms; all 0 when there are none. Percentiles by nearest rank. */
struct sim_spread {
    double mean, sd, p50, p90, p99;
};

struct sim_figures {
    uint64_t sessions;       /* closed, of which the spreads and means are */
    uint64_t sessions_ended; /* closed up to the end of the run, set by the run */
    uint64_t delivered;      /* blocks; each once */
    double delivered_share;  /* of the blocks that the sender has done with */
    struct sim_spread session, delivery;
    double cycles_mean, checkpoints_mean, checkpoints_lost_mean, lossy_share;
};

/* Of the sessions that began in [from, to). Returns 0 or HELIO_ENOMEM. */
int sim_stats_figures(const struct sim_stats *s, tick from, tick to, struct sim_figures *out);

/* Block bytes that the channel transmitted for the first time, sent in the window: of blocks that
 * are complete at the receiver, whose session is still open, or of which, `now` being the end,
 * nothing was lost and the last segment is still in transit. */
uint64_t sim_stats_carried(const struct sim_stats *s, tick now);

/* The same of each part of the window, in order of time: the Ith begins at sim_stats_part(s, I). */
void sim_stats_parts(const struct sim_stats *s, tick now, uint64_t parts[SIM_STATS_PARTS]);
tick sim_stats_part(const struct sim_stats *s, unsigned index);

/* A session that began in [from, to) and is still open; NULL: there is none. Sessions are looked at
 * from the latest back, or, for a look after `to`, on from the one that the last look found. */
const struct sim_session *sim_stats_open(const struct sim_stats *s, const struct sim_session *found,
                                         tick from, tick to);

#endif
