/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the loop, and their locks. Signals are the loop's: a thread that is started here
 * takes none. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <pthread.h>

/* Starts run(context). Returns 0, or a system error with *out unset. The caller joins or detaches
 * *out, and must keep the context valid until the thread has ended. */
int thread_start(pthread_t *out, void *(*run)(void *context), void *context);

/* A lock that a real-time thread shares with normal threads. Its holder inherits the priority of a
 * waiting thread (PTHREAD_PRIO_INHERIT), so that no third thread can delay both. Freed with
 * pthread_mutex_destroy. */
void lock_init(pthread_mutex_t *lock);

#endif
