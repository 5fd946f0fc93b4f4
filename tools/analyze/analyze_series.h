/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over bins of time, kept for those bins only in which something happened. */
#ifndef TOOLS_ANALYZE_SERIES_H
#define TOOLS_ANALYZE_SERIES_H

#include <stddef.h>

#include "base/tick.h"

struct series_bin {
    int64_t index;                     /* bins after that of the first row; before: negative */
    uint64_t done_bytes, sessions;     /* blocks completed */
    uint64_t tx_bytes, resent_bytes;   /* data sent, and what of it was a repetition */
    uint64_t rx_bytes;                 /* new data at the receiver */
    uint64_t cp_sent, timeouts, drops; /* checkpoints, their timers; data segments dropped */
};

/* Sorted by index. */
struct series {
    struct series_bin *at;
    size_t len, cap;
};

void series_fini(struct series *s);

/* The bin of that index, made when it was not there; NULL when memory is out. */
struct series_bin *series_bin(struct series *s, int64_t index);

/* Bins `by` times as long: of each so many indices, one; bin 0 begins where it did. */
void series_coarsen(struct series *s, int64_t by);

#endif
