/* SPDX-License-Identifier: Apache-2.0 */
/* One-way flows of datagrams in a capture, the pairs of ends that they belong to, and what must be
 * known of a pair before its segments can become rows. */
#ifndef TOOLS_WATCH_PAIR_H
#define TOOLS_WATCH_PAIR_H

#include "tools/analyze/watch/ltp_watch.h"
#include "tools/analyze/watch/watch_session.h"

/* A checkpoint, its report, and the acknowledgement of that. */
struct watch_probe {
    int stage;     /* what was seen last: 0 none, 1 the checkpoint, 2 the report */
    bool again[3]; /* it was seen more than once, by stage */
    uint64_t originator, session, serial;
    tick at, response;
};

#define WATCH_SEEN 64 /* checkpoints that are known again */

/* What the times between checkpoints, reports and acknowledgements show about a pair. */
struct watch_times {
    uint32_t votes[2];               /* for either end as the place of the capture */
    struct watch_probe probe[2];     /* of sessions of either end */
    uint64_t seen[2][WATCH_SEEN][2]; /* the last checkpoints: session and serial */
    uint32_t seen_next[2];
    /* The least times of sessions of either end: from checkpoint to report, from that to its
     * answer; of those that were sent once, and of all. */
    tick response[2][2], loose[2][2];
};

/* Datagrams from one address to another; on one machine from one port to another. */
struct watch_flow {
    struct watch_end from, to;
    bool by_port;  /* its port says that it is LTP */
    uint32_t pair; /* which pair's, */
    int end;       /* and which end of it sends */
};

/* Two ends that exchange LTP segments. */
struct watch_pair {
    uint64_t engine[2];
    enum watch_place at;
    int local;               /* the end at which it was captured; -1: not yet known */
    enum watch_how how;      /* what says so */
    bool ltp, refused;       /* it is, it is not; neither: on trial */
    bool named;              /* names of engines and times are not waited for any more */
    bool started;            /* segments of it have become rows */
    bool joined;             /* its flows belong to another pair now; it is nothing any more */
    uint32_t flows[2];       /* sent by either end */
    uint32_t trial, waiting; /* datagrams so far; segments in the queue */
    uint64_t data_bytes[2];  /* sent by either end */
    bool red;                /* red data or its reports were seen */
    struct watch_times times;
};

struct watch_pairs {
    const struct watch_options *options;
    struct watch_flow *flows;
    struct watch_pair *pairs;
    size_t flows_len, pairs_len, last;
};

/* 0 or HELIO_ENOMEM. */
int watch_pairs_init(struct watch_pairs *w, const struct watch_options *options);
void watch_pairs_fini(struct watch_pairs *w);

/* The flow of a datagram; NULL: there are too many. */
struct watch_flow *watch_flow_of(struct watch_pairs *w, const struct watch_datagram *d);

/* The end of the pair that sends, and the one at which sessions of the segment's originator are
 * sent. */
int watch_from(const struct watch_pairs *w, const struct watch_segment *g);
int watch_sending_end(const struct watch_pairs *w, const struct watch_segment *g);
struct watch_pair *watch_pair_of(const struct watch_pairs *w, const struct watch_segment *g);

/* Evidence of a segment about its pair. `outgoing` as in struct watch_datagram. */
void watch_study(struct watch_pairs *w, const struct watch_segment *g, int outgoing);
void watch_times_begin(struct watch_times *t);
void watch_study_times(struct watch_pairs *w, const struct watch_segment *g);

/* Is all known that is needed, or is it not waited for any more? */
bool watch_decided(struct watch_pair *p);
void watch_force(struct watch_pair *p); /* there will be no more evidence */

/* The end that sent more data. */
int watch_most_data(const struct watch_pair *p);

/* Of one of its two directions nothing was seen. */
bool watch_one_way(const struct watch_pair *p);

static inline bool watch_known(uint64_t engine)
{
    return engine < WATCH_UNKNOWN;
}

/* Flows without exchanged addresses but with the same sessions: nodes that send from another socket
 * than they receive on, relays that change ports. */

/* From the segments that wait (in `held`): puts pairs together of which each has one direction
 * only; when sessions pass several pairs, finds at which of them their sender is, and at which
 * their receiver; gives these the same names. 0 or HELIO_ENOMEM. */
int watch_join(struct watch_pairs *w, struct list *held);

#endif
