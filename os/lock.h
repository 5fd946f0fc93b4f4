/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <pthread.h>

/* A lock that a real-time thread shares with normal ones: who holds it runs with the priority of
 * who waits for it (PTHREAD_PRIO_INHERIT), so that no third thread keeps both waiting. Freed with
 * pthread_mutex_destroy. */
void lock_init(pthread_mutex_t *lock);

#endif
