/* SPDX-License-Identifier: Apache-2.0
 * Threads beside the loop. Signals are the loop's: a thread that is started here takes none. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <pthread.h>

/* Starts run(context). 0, or an error of the system with *out unset. The caller joins or detaches
 * *out, and keeps what context points to until the thread has ended. */
int thread_start(pthread_t *out, void *(*run)(void *context), void *context);

#endif
