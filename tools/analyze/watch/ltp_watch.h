/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the LTP segments of a capture to the rows that the log of the capturing node would have:
 * sessions opened and closed, why a segment was sent, what happened to it on arrival, timers that
 * expired (docs/helio-analyze.md, "Captures"). Pure: segments are pushed, rows are pulled. The
 * first segments of a pair of addresses show where it was captured; they are held back until then.
 */
#ifndef TOOLS_LTP_WATCH_H
#define TOOLS_LTP_WATCH_H

#include "tools/analyze/input/seglog_row.h"

/* Numbers from here on stand for engines that a capture does not name. */
#define WATCH_UNKNOWN (UINT64_MAX - 4096)

#define WATCH_PAIRS_MAX 256    /* of addresses; the segments of further ones are other traffic */
#define WATCH_FLOWS_MAX 512    /* one-way; likewise */
#define WATCH_HELD_MAX 262144  /* segments that wait for the decision where they were seen */
#define WATCH_CLOSED_MAX 65536 /* sessions that are closed and remembered */
#define WATCH_TRIAL 4          /* datagrams that must be segments on a port that is not LTP's */

/* An address (IPv4 in its first 4 bytes) and its UDP port. */
struct watch_end {
    uint8_t ip[16];
    uint8_t family; /* 4 or 6 */
    uint16_t port;
};

enum watch_place { WATCH_AUTO, WATCH_SENDER, WATCH_RECEIVER };

/* How it is known at which end a pair was captured. */
enum watch_how {
    WATCH_OPEN,      /* not yet */
    WATCH_ASSUMED,   /* nothing says it */
    WATCH_GIVEN,     /* by the user */
    WATCH_NOTED,     /* the capture has it for each packet */
    WATCH_BY_TIMES,  /* which answers follow at once, and which after a round trip */
    WATCH_BY_PASSAGE /* through which pairs sessions pass, one after another */
};

/* What a pair was taken for. */
struct watch_view {
    uint64_t sender, receiver; /* engines; `sender`: the one that sent more data */
    struct watch_end far;      /* where the receiver is */
    enum watch_place place;    /* whose end it is */
    enum watch_how how;
};

struct watch_engine {
    struct watch_end end; /* port 0: any */
    uint64_t number;
};

struct watch_options {
    const uint16_t *ports; /* none: 1113, and others on which all is LTP */
    size_t ports_len;
    const struct watch_engine *engines; /* given by the user */
    size_t engines_len;
    tick rto; /* TICK_NEVER: not known, then the least time to an answer; an earlier repetition is a
                 copy */
};

struct watch_counters {
    uint64_t packets, segments, damaged, other;
    uint64_t fragments, fragments_lost; /* IP fragments; datagrams that were never whole */
    uint64_t snapped, snapped_unusable; /* cut by the capture */
    uint64_t pairs, undecided;
    uint64_t one_way; /* pairs with red data of which one direction was never seen */
};

/* A UDP datagram as it was seen. */
struct watch_datagram {
    tick now;
    struct watch_end from, to;
    enum watch_place at;
    int outgoing; /* 1: its sender captured it, 0: its receiver, -1: not known */
    const uint8_t *data;
    size_t have, len; /* bytes captured, bytes that there were */
};

struct watch;

/* Returns NULL when memory is out. The options are kept, not copied. */
struct watch *watch_new(const struct watch_options *options);
void watch_free(struct watch *w);

/* Takes a datagram. 0 or HELIO_ENOMEM. */
int watch_input(struct watch *w, const struct watch_datagram *d);

/* No more segments will follow: what is undecided is decided now. */
int watch_end(struct watch *w);

/* The next row: 1, 0 when there is none now, or HELIO_ENOMEM. *row stays until the next call. */
int watch_row(struct watch *w, const struct seglog_row **row);

struct watch_counters *watch_counters(struct watch *w);

/* The pairs of which segments have become rows: how many, the first `max` of them in `out`. */
size_t watch_views(const struct watch *w, struct watch_view *out, size_t max);

#endif
