/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: no memory, no descriptors. */
#include "tools/perf/perf_process.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>

#include "base/err.h"

int perf_process_open(struct perf_process *p, const char *program,
                      void (*on_signal)(void *context, int number), void *context)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    assert(p->world == NULL && !p->ended);
    int rc = uv_world_open(&p->world);
    if (rc == 0) {
        p->signals = uv_signals_open(p->world, numbers, 2, on_signal, context);
        rc = p->signals == NULL ? HELIO_ENOMEM : 0;
    }
    if (rc == HELIO_ENOMEM)
        fprintf(stderr, "%s: %s\n", program, helio_strerror(rc));
    else if (rc != 0)
        fprintf(stderr, "%s: cannot wait for events: %s\n", program, helio_strerror(rc));
    if (rc != 0)
        perf_process_close(p);
    assert(rc != 0 || (p->world != NULL && p->signals != NULL));
    return rc;
}

void perf_process_run(struct perf_process *p)
{
    uv_world_run(p->world);
}

void perf_process_end(struct perf_process *p)
{
    if (p->ended || p->world == NULL)
        return;
    p->ended = true;
    uv_signals_close(p->signals);
    p->signals = NULL;
    uv_world_end(p->world);
}

void perf_process_close(struct perf_process *p)
{
    if (p->world == NULL)
        return;
    perf_process_end(p);
    assert(p->signals == NULL);
    uv_world_run(p->world);
    (void)uv_world_free(p->world);
    p->world = NULL;
}
