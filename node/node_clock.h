/* SPDX-License-Identifier: Apache-2.0 */
/* The node's wall clock compared with elapsed time: steps are logged and counted, and lifetimes
 * follow elapsed time (bp/agent/life_clock.h), also over restarts if there is a store. */
#ifndef NODE_CLOCK_H
#define NODE_CLOCK_H

#include "bp/agent/life_clock.h"

struct node;

struct node_clock {
    uint8_t boot[LIFE_CLOCK_BOOT];
    int64_t offset_ms; /* wall less monotonic clock, when looked at last */
    uint64_t steps;    /* detected steps, also over the start */
    int64_t step_ms;   /* the last one; forward is positive */
    uint64_t ticks;
};

/* At the start, with the store open and not started: the agent's time begins. */
void node_clock_begin(struct node *n);
void node_clock_tick(struct node *n); /* each second */
/* "72 h", "3.2 days": how long a number of ms is, without its sign. */
#define CLOCK_SPAN_MAX 48
const char *node_clock_span(int64_t ms, char out[CLOCK_SPAN_MAX]);
/* The store notes the clocks; at the end, and when the node thinks it well. */
void node_clock_note(struct node *n);

#endif
