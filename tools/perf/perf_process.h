/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of a program that is an application of a node: the kernel's world, and the signals
 * that stop the program. Open it, start the work, run it. The work calls end when it is done, from
 * within the world or not. Close it in any case.
 */
#ifndef TOOLS_PERF_PROCESS_H
#define TOOLS_PERF_PROCESS_H

#include <stdbool.h>

#include "os/uv_signals.h"
#include "os/uv_world.h"

/* Zeroed before it is opened. */
struct perf_process {
    struct world *world; /* NULL: not open */
    struct uv_signals *signals;
    bool ended;
};

/* SIGINT and SIGTERM call on_signal until the end. 0, or what the system refused, which was said on
 * standard error in the program's name. */
int perf_process_open(struct perf_process *p, const char *program,
                      void (*on_signal)(void *context, int number), void *context);

/* Until perf_process_end, and until all that was opened in the world has closed. */
void perf_process_run(struct perf_process *p);

/* After this no signal and no alarm calls a function. A second call does nothing. */
void perf_process_end(struct perf_process *p);

/* Ends, waits for what is closing, and frees. Of one that is not open: nothing. */
void perf_process_close(struct perf_process *p);

#endif
