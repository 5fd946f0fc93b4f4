/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail, for a test in a program that is linked with --wrap=malloc,calloc,realloc
 * (each *_memory.c is). Check itself allocates: nothing is asserted while the countdown runs. */
#ifndef TESTS_UNIT_FAILING_MEMORY_H
#define TESTS_UNIT_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern struct failing_memory {
    long countdown;               /* so many succeed, then one fails; below 0: none fails */
    bool (*refuses)(size_t size); /* a suite's own rule, asked first; NULL: there is none */
    uint64_t failed;
} memory;
extern _Thread_local uint64_t memory_allocations; /* by this thread */

/* The library's functions: they never refuse. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);

#endif
