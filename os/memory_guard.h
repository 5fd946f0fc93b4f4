/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a process's anonymous memory below a bound, as far as it is the allocator that holds it:
 * blocks that were freed between others stay in the heap, and may be as much again as what is in
 * use, after many unfinished bundles. Above the bound they go back to the kernel.
 */
#ifndef OS_MEMORY_GUARD_H
#define OS_MEMORY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define MEMORY_GUARD_EVERY (10 * TICK_MS)
/* More than the last time in vain is needed for the next one: what is in use cannot be given back.
 */
#define MEMORY_GUARD_STEP (UINT64_C(4) << 20)

struct memory_guard {
    int fd;         /* of /proc/self/statm; -1: not open, or there is none */
    uint64_t bound; /* bytes */
    uint64_t next;  /* bytes, >= bound: above it, memory is given back */
    tick due;       /* no look before it */
    uint64_t times; /* that memory was given back */
};

/* 0, or HELIO_E*. Without /proc there is a guard that does nothing. */
int memory_guard_open(struct memory_guard *g, uint64_t bound);
void memory_guard_close(struct memory_guard *g);

/* Looks, if the last time is MEMORY_GUARD_EVERY ago. True: memory was given back. */
bool memory_guard_look(struct memory_guard *g, tick now);

#endif
