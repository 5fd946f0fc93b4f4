/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the loop, and their locks. Signals are the loop's: a thread that is started here
 * takes none. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include <pthread.h>

/* Starts run(context). 0, or an error of the system with *out unset. The caller joins or detaches
 * *out, and keeps what context points to until the thread has ended. */
int thread_start(pthread_t *out, void *(*run)(void *context), void *context);

/* A lock that a real-time thread shares with normal ones: who holds it runs with the priority of
 * who waits for it (PTHREAD_PRIO_INHERIT), so that no third thread keeps both waiting. Freed with
 * pthread_mutex_destroy. */
void lock_init(pthread_mutex_t *lock);

#endif
