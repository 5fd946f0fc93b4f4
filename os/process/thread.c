/* SPDX-License-Identifier: Apache-2.0 */
#include "os/process/thread.h"

#include <signal.h>

#include "base/err.h"

int thread_start(pthread_t *out, void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(out, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helio_from_errno(r);
}

void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t inherit;
    pthread_mutexattr_init(&inherit);
    (void)pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &inherit);
    pthread_mutexattr_destroy(&inherit);
}
