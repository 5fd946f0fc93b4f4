/* SPDX-License-Identifier: Apache-2.0 */
#include "os/lock.h"

void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t inherit;
    pthread_mutexattr_init(&inherit);
    (void)pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &inherit);
    pthread_mutexattr_destroy(&inherit);
}
