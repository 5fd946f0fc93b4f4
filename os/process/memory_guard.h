/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the anonymous memory of a process that the allocator keeps after free(): blocks freed
 * between used ones stay in the heap. After many unfinished bundles this can be as much memory
 * again as is in use. Above the bound memory_guard returns such memory to the kernel. New long
 * blocks then go back as soon as they are freed (memory_return_long), until memory is an eighth
 * below the bound.
 */
#ifndef OS_MEMORY_GUARD_H
#define OS_MEMORY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

#define MEMORY_GUARD_EVERY (10 * TICK_MS)
/* The next attempt needs at least so much more memory than the last one without effect. */
#define MEMORY_GUARD_STEP (UINT64_C(4) << 20)

struct memory_guard {
    int fd;         /* of /proc/self/statm; -1: not open, or there is none */
    uint64_t bound; /* bytes */
    uint64_t next;  /* bytes, >= bound: above it, memory is returned to the kernel */
    tick due;       /* no look before it */
    bool above;     /* long blocks go back as soon as they are freed */
    uint64_t times; /* number of times that memory was returned */
};

/* Returns 0 or HELIO_E*. Without /proc nothing happens. */
int memory_guard_open(struct memory_guard *g, uint64_t bound);
void memory_guard_close(struct memory_guard *g);

/* Checks, if the last check was MEMORY_GUARD_EVERY ago. True: memory was returned to the kernel. */
bool memory_guard_look(struct memory_guard *g, tick now);

#endif
