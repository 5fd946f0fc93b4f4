/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's bundles that wait for an acknowledgement: their number, which are overdue, and the
 * delays of the others. An overdue bundle leaves the window and counts as lost until its
 * acknowledgement arrives after all. Pure: time is an argument.
 */
#ifndef TOOLS_PERF_WINDOW_H
#define TOOLS_PERF_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

struct perf_slot {
    tick sent;
    uint32_t bytes;
    uint8_t state;
};

struct perf_window {
    uint64_t window; /* bundles out at once, at least 1 */
    struct perf_slot *slots;
    uint64_t mask;   /* of slots, a power of two less one: what is remembered */
    uint64_t next;   /* sequence number of the next bundle */
    uint64_t oldest; /* no bundle below it is out */
    uint64_t out;    /* waiting now; out <= window */
    uint64_t acked, lost, late, repeated; /* late: acked after having been counted lost */
    uint64_t acked_bytes;
    /* the time limit: fixed, or from the delays seen, doubled by each limit that nothing met */
    tick fixed, initial, limit_max;
    double mean, deviation;
    uint32_t doublings;
};

/* fixed: the limit, ns, or 0 for an adaptive one, which is `initial` before the first
 * acknowledgement and never above limit_max. Returns 0 or HELIO_ENOMEM. */
int perf_window_init(struct perf_window *w, uint64_t window, tick fixed, tick initial,
                     tick limit_max);
void perf_window_fini(struct perf_window *w);

/* May another bundle be sent? */
bool perf_window_open(const struct perf_window *w);

/* Bundle w->next is sent now; returns its sequence number. Only when the window is open. */
uint64_t perf_window_sent(struct perf_window *w, uint32_t bytes, tick now);

/* An acknowledgement: 1 = the first for that bundle, with its delay; 0 = a repeated, too old or
 * unknown one. */
int perf_window_ack(struct perf_window *w, uint64_t seq, tick now, tick *delay);

/* When the oldest bundle that is out is overdue; TICK_NEVER when none is out. */
tick perf_window_deadline(const struct perf_window *w);

/* Removes overdue ones as lost. */
void perf_window_expire(struct perf_window *w, tick now);

/* The invariants above, asserted. */
void perf_window_check(const struct perf_window *w);

#endif
