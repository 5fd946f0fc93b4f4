/* SPDX-License-Identifier: Apache-2.0 */
/* What can go wrong: no process or no memory, or the program is not there. */
#include "os/process/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

extern char **environ;

/* It hears signals even when we put them off. */
static int start_program(pid_t *pid, const char *const *argv)
{
    posix_spawnattr_t how;
    sigset_t none;
    sigemptyset(&none);
    if (posix_spawnattr_init(&how) != 0)
        return -1;
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    int rc = posix_spawnp(pid, argv[0], NULL, &how, (char **)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&how);
    return rc;
}

static int wait_for(pid_t pid, int *status)
{
    while (waitpid(pid, status, 0) < 0) {
        if (errno != EINTR)
            return helio_from_errno(errno);
    }
    return 0;
}

int child_run(const char *const *argv)
{
    pid_t pid;
    int status;
    if (start_program(&pid, argv) != 0 || wait_for(pid, &status) != 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void be_the_child(void (*run)(void *ctx), void *ctx)
{
    static const int fatal[] = {SIGBUS, SIGSEGV, SIGABRT};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    run(ctx);
    fflush(stdout);
    _exit(0);
}

int child_call(void (*run)(void *ctx), void *ctx)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        return helio_from_errno(errno);
    if (pid == 0)
        be_the_child(run, ctx);
    int rc = wait_for(pid, &status);
    if (rc != 0)
        return rc;
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) != 0 ? SIGSEGV : 0;
}

void *child_share(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED ? p : NULL;
}

void child_unshare(void *p, size_t bytes)
{
    if (p != NULL)
        munmap(p, bytes);
}
