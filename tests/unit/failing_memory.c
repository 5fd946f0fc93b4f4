/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the linker puts before the library's. */
#include "tests/unit/failing_memory.h"

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

struct failing_memory memory = {.countdown = -1};
_Thread_local uint64_t memory_allocations;

static bool refuse_memory(size_t size)
{
    memory_allocations++;
    if ((memory.refuses == NULL || !memory.refuses(size)) &&
        (memory.countdown < 0 || memory.countdown-- > 0))
        return false;
    memory.failed++;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return refuse_memory(n) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse_memory(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return refuse_memory(n) ? NULL : __real_realloc(p, n);
}
