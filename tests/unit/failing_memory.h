/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail, for a test that is linked with --wrap=malloc,calloc,realloc (each
 * *_memory.c is). Check itself allocates: nothing is asserted while the countdown runs. */
#ifndef TESTS_UNIT_FAILING_MEMORY_H
#define TESTS_UNIT_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long countdown = -1; /* so many succeed, then one fails; below 0: none fails */
static uint64_t failed;
static _Thread_local uint64_t allocations; /* by this thread */

static bool refuse_memory(void)
{
    allocations++;
    if (countdown < 0 || countdown-- > 0)
        return false;
    failed++;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return refuse_memory() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse_memory() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse_memory() ? NULL : __real_realloc(p, n);
}

#endif
