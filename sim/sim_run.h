/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The experiment in virtual time: node 1 sends blocks to node 2 through an erasure channel for the
 * whole duration, as many at a time as there are permitted sessions. The return direction has a
 * channel of its own. Pure; the same parameters give the same events.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "channel-emu/chan/chan.h"
#include "channel-emu/scenario/ltp_rules.h"
#include "ltp/event.h"
#include "ltp/ltp.h"
#include "sim/sim_stats.h"

enum sim_colour { SIM_RED, SIM_GREEN, SIM_ORANGE };

struct sim_params {
    const struct trace *trace;      /* erasures of the forward direction, or NULL */
    tick trace_offset;              /* where in the trace the run starts */
    double loss;                    /* independent erasures of the forward direction, 0..1 */
    const struct trace *back_trace; /* erasures of the return direction, or NULL */
    tick back_offset;               /* where in it the run starts */
    double back_loss;               /* independent erasures of the return direction, 0..1 */
    uint64_t back_rate_bps; /* bit/s; 0: segments of the return direction take no time to send */
    const char *back_name;  /* of the trace, for the report */
    const struct ltp_rule
        *drop[2]; /* losses by segment type, forward and in the return direction */
    size_t drop_count[2];
    uint64_t rate_bps; /* nominal, bits on the air, >= 1 */
    uint32_t overhead; /* bytes on the air beside each segment */
    tick delay;        /* in each direction */
    tick jitter;       /* forward: uniform extra delay of each segment, which may overtake */
    /* What is agreed, the same at both ends; its peer, import_sessions, block_max and ranges_max
     * follow from the experiment. export_sessions 1..65536: the most, if they adjust themselves;
     * rto >= 100 µs: the first, if it does. */
    struct ltp_span span;
    enum sim_colour colour;
    uint64_t resend;           /* orange: times that a lost block is sent again */
    const char *recovery_name; /* of the set that recovery started from, for the report */
    uint64_t bundle;           /* bytes of a block, 1..2^32-1 */
    tick duration;             /* >= 1 */
    tick warmup;               /* not counted for the goodput, < duration */
    bool
        follow; /* sessions that began between warm-up and end are followed to theirs (for four
                 * times the duration at most): their spreads and means are of these, all of them */
    uint64_t seed;
    /* Gets each event with its node's number, 1 or 2; NULL: none. */
    void (*log)(void *context, uint64_t node, const struct event *e);
    void *log_context;
    /* Gets the fate of single segments, forward (0) or in the return direction (1); NULL: none. */
    void (*fate)(void *context, int direction, const struct chan_fate *f);
    void *fate_context;
    /* Asked now and then with the virtual time; true ends the run there. NULL: never. */
    bool (*look)(void *context, tick now);
    void *look_context;
};

struct sim_result {
    struct sim_figures figures;
    tick until;             /* of virtual time: the duration, or where `look` ended it */
    double good_share;      /* of the channel's time (or frames) after the warm-up */
    double payload_share;   /* block bytes of what a whole segment takes on the air */
    double reachable_share; /* of the capacity, in the mean, if whole segments follow each other:
                               one that overlaps a bad step is lost. 1 without a trace */
    double capacity_bps;    /* rate x payload share x good share */
    double goodput_bps;     /* of blocks delivered between warm-up and end */
    double efficiency;      /* goodput / capacity */
    double carried_bps;   /* of block bytes that passed the channel for the first time, sent then */
    double carried_share; /* of the capacity: 1 at most, but for chance losses */
    double
        carried_parts[SIM_STATS_PARTS]; /* of it, that of each part of the time; their mean is it */
    size_t carried_parts_len;           /* of these, over when the run ended */
    double carried_se;                  /* standard error of the share, by its parts */

    bool cut; /* followed, and some did not close all the same */

    uint64_t rto_firings, cancelled;
    uint64_t lost, resent, given_up; /* orange: sessions, tries, blocks */
    uint64_t frames, frames_lost;    /* forward, by rule included */
    uint64_t back_frames, back_lost; /* the same in the return direction */
    uint64_t rule_drops[2];          /* forward and in the return direction */
    uint64_t air_bytes;              /* forward, overhead included */
    uint64_t copy_bytes;             /* of these, proactive copies */
    uint64_t repeat_bytes;           /* of these, data again after a report or a timer */
    uint64_t first_data;             /* block bytes sent for the first time */
    uint32_t sessions_max;           /* open at once */
    uint32_t begun_max;              /* of these, had sent a segment */
    uint64_t held_max;               /* most bytes of blocks that the receiver held, sampled */
};

/* Returns 0, HELIO_EINVAL (a parameter out of its range), HELIO_ENOENT (it ended before the end of
 * the warm-up: nothing was measured) or HELIO_ENOMEM. */
int sim_run_experiment(const struct sim_params *p, struct sim_result *out);

/* The span of one of its nodes to `peer`, which may open so many sessions. */
struct ltp_span sim_span(const struct sim_params *p, uint64_t peer, uint64_t imports);

struct rng;
/* The channels there and back, with seeds that `rng` draws. */
void sim_channels(const struct sim_params *p, struct rng *rng, struct chan_config *forward,
                  struct chan_config *back);

/* Whether every parameter is in its range. */
bool sim_params_valid(const struct sim_params *p);

/* Whether `look`, asked once in a few thousand steps (counted from 1), ends the run at `now`. */
bool sim_looked(const struct sim_params *p, uint64_t steps, tick now);

#endif
