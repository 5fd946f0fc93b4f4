/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/statm has the pages that are resident, and those of them that belong to files or are
 * shared (proc(5)). What can go wrong: descriptors are out. */
#include "os/process/memory_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/process.h"

#define STATM_MAX 128

int memory_guard_open(struct memory_guard *g, uint64_t bound)
{
    *g = (struct memory_guard){.bound = bound, .next = bound};
    g->fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    return g->fd >= 0 || errno == ENOENT ? 0 : helio_from_errno(errno);
}

static void set_above(struct memory_guard *g, bool above)
{
    if (g->above != above)
        memory_return_long(above);
    g->above = above;
}

void memory_guard_close(struct memory_guard *g)
{
    if (g->fd >= 0)
        close(g->fd);
    g->fd = -1;
    set_above(g, false);
}

/* Bytes; 0: not known. */
static uint64_t anonymous_memory(int fd)
{
    char text[STATM_MAX];
    unsigned long long resident, shared;
    const ssize_t len = pread(fd, text, sizeof text - 1, 0);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    if (sscanf(text, "%*u %llu %llu", &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool memory_guard_look(struct memory_guard *g, tick now)
{
    if (g->fd < 0 || now < g->due)
        return false;
    g->due = tick_add(now, MEMORY_GUARD_EVERY);
    const uint64_t used = anonymous_memory(g->fd);
    if (used > g->bound || used < g->bound - g->bound / 8)
        set_above(g, used > g->bound);
    if (used <= g->bound)
        g->next = g->bound;
    if (used <= g->next)
        return false;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    const uint64_t left = anonymous_memory(g->fd);
    g->next = left > g->bound ? left + MEMORY_GUARD_STEP : g->bound;
    g->times++;
    return true;
}
