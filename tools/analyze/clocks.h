/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock differences of two nodes, from their logs. A segment in both logs has a time at its sender
 * and one at its receiver. Their difference is the one-way delay plus the time by which the
 * receiver's clock is ahead. Data goes in one direction, reports in the other (or data of the other
 * node). So half the difference of the two is the clocks' offset if both directions have equal
 * delays. In any case the error is at most half the round trip, because no delay is negative. The
 * change of the offset is the drift. Pure: rows are pushed, estimates are pulled. Memory is
 * bounded.
 */
#ifndef TOOLS_CLOCKS_H
#define TOOLS_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "tools/analyze/input/seglog_row.h"

#define CLOCKS_PAIRS_MAX 64
#define CLOCKS_BINS 64
#define CLOCKS_WAITING_MAX                                                                         \
    16384 /* segments of which one end's row was seen; then each second one                        \
           * is left out, and so on: whatever the clocks' distance is */
#define CLOCKS_FIXES_MAX 64

/* The least differences in a part of the time, in both directions: [0] near to far, [1] far to
 * near. */
struct clocks_bin {
    int64_t least[2];
    tick at[2]; /* by near's clock */
    bool seen[2];
};

struct clocks_pair {
    uint64_t near, far; /* nodes, near < far */
    tick base, width;   /* of the bins, by near's clock */
    uint64_t segments[2];
    struct clocks_bin bins[CLOCKS_BINS];
};

struct clocks {
    struct hash waiting; /* of struct clocks_segment */
    unsigned level;      /* only segments whose hash ends in so many zeros are followed */
    struct clocks_pair *pairs[CLOCKS_PAIRS_MAX];
    size_t len; /* of more pairs nothing is said */
};

/* Of one pair. Without both directions only `before` has a meaning. */
struct clocks_estimate {
    uint64_t near, far;
    uint64_t segments[2];
    bool both;         /* there were segments in both directions */
    bool before;       /* some arrived before it was sent: the clocks differ for certain */
    tick from, to;     /* by near's clock */
    double offset_ns;  /* far's clock less near's, at `from`; constant unless the drift is proven */
    double error_ns;   /* half of the least round trip */
    bool drift_known;  /* the log is long enough, and has enough segments */
    double drift;      /* of far's clock against near's: seconds a second; 0 when not known */
    bool drift_proven; /* both directions show it in each quarter of the time */
    double drift_error;
    double delay_rate; /* how the delay grows meanwhile, seconds a second */
};

/* Returns 0 or HELIO_ENOMEM. */
int clocks_init(struct clocks *c);
void clocks_fini(struct clocks *c);

/* Pushes a row of any node. Rows of one node are in the order of its log, rows of different nodes
 * in any order. Returns 0 or HELIO_ENOMEM. */
int clocks_row(struct clocks *c, const struct seglog_row *r);

struct clocks_estimate clocks_pair_estimate(const struct clocks_pair *p);

/* Is the drift larger than its error and than a possible growth of the delay in one direction? */
bool clocks_may_drift(const struct clocks_estimate *e);

/* And can queues or a busy machine not be what shows? */
bool clocks_drifts(const struct clocks_estimate *e);

/* Do the clocks differ for any possible delays? */
bool clocks_certain(const struct clocks_estimate *e);

/* Is the offset more than a twentieth of the delay? The directions' delays may differ by that
 * much. */
bool clocks_offset_shows(const struct clocks_estimate *e);

/* Is it worth a word: certainly wrong, perhaps drifting, or an offset that shows? */
bool clocks_differ(const struct clocks_estimate *e);

/* How the times of one node's log become those of another clock. */
struct clocks_fix {
    uint64_t node;
    tick at;          /* by the node's own clock */
    double offset_ns; /* what it is ahead then */
    double drift;     /* what it gains, seconds a second of its own */
};

/* By the clock of the least node of each group that is connected; clocks whose offset
 * does not show are taken to agree, and drifts that are not proven are none. Returns their number;
 * nodes that are the reference, or agree with it, or of which nothing is known, have none. */
size_t clocks_fixes(const struct clocks *c, struct clocks_fix out[CLOCKS_FIXES_MAX]);

/* The time by the reference's clock; 0 for what would be before it began. */
tick clocks_correct(const struct clocks_fix *f, tick now);

/* The node's; NULL: its times stay. */
const struct clocks_fix *clocks_fix_find(const struct clocks_fix *fixes, size_t len, uint64_t node);

#endif
