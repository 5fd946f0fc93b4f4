/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: descriptors are out. */
#include "os/process/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"

static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_open(const int *signals, sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (; *signals != 0; signals++) {
        if (*signals != SIGHUP || !is_ignored(SIGHUP))
            sigaddset(&set, *signals);
    }
    sigprocmask(SIG_BLOCK, &set, before);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return fd >= 0 ? fd : helio_from_errno(errno);
}

int signals_take(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

void signals_close(int fd, const sigset_t *before)
{
    if (fd >= 0)
        close(fd);
    sigprocmask(SIG_SETMASK, before, NULL);
}
