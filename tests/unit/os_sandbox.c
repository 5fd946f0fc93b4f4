/* SPDX-License-Identifier: Apache-2.0 */
/* What a process cannot do any more, and what it still can; each case in a process of its own. A
 * kernel without a feature says so, and then nothing is forbidden. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/sandbox.h"
#include "tests/unit/suite.h"

static char folder[64], inside[80], shown[80], outside[80];

static void put_file(const char *directory, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/os-sandbox-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *const made[] = {inside, shown, outside};
    static const char *const names[] = {"inside", "shown", "outside"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(made[i], sizeof inside, "%.60s/%s", folder, names[i]);
        ck_assert_int_eq(mkdir(made[i], 0700), 0);
        put_file(made[i], "file");
    }
}

static void teardown(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The error of opening a file of a directory. */
static int try_open(const char *directory, const char *name, int flags)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int try_unlink(const char *directory, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return unlink(path) == 0 ? 0 : errno;
}

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void apart(void (*run)(void))
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        run();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void use_files(void)
{
    const struct sandbox_place places[] = {
        {inside, true}, {shown, false}, {"/nowhere/at/all", true}};
    const int version = sandbox_files(places, 3);
    MUST(version > 0 || helio_errno(version) == ENOSYS || helio_errno(version) == EOPNOTSUPP);
    const int forbidden = version > 0 ? EACCES : 0;
    MUST(try_open(inside, "file", O_RDWR) == 0);
    MUST(try_open(inside, "new", O_RDWR | O_CREAT) == 0);
    MUST(try_unlink(inside, "new") == 0);
    MUST(try_open(shown, "file", O_RDONLY) == 0);
    MUST(try_open(shown, "file", O_WRONLY) == forbidden);
    MUST(try_open(shown, "new", O_RDWR | O_CREAT) == forbidden);
    MUST(try_open(outside, "file", O_RDONLY) == forbidden);
    MUST(try_unlink(outside, "file") == forbidden);
    MUST(try_open("/etc", "passwd", O_RDONLY) == forbidden);
}

START_TEST(files)
{
    apart(use_files);
}
END_TEST

static void *be_a_thread(void *arg)
{
    (void)arg;
    /* it was there before the filter was */
    return socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM ? NULL : (void *)folder;
}

static pthread_barrier_t begun;

static void *wait_and_try(void *arg)
{
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&begun);
    return be_a_thread(arg);
}

static int try_socket(int family)
{
    int fd = socket(family, SOCK_DGRAM, 0);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static void use_calls(void)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    pthread_t early, late;
    void *wrong = NULL;
    MUST(pthread_barrier_init(&begun, NULL, 2) == 0);
    MUST(pthread_create(&early, NULL, wait_and_try, NULL) == 0);
    pthread_barrier_wait(&begun);
    const int rc = sandbox_calls();
    pthread_barrier_wait(&begun);
    if (helio_errno(rc) == ENOSYS)
        _exit(0); /* nothing to see on this machine */
    MUST(rc == 0);
    MUST(pthread_join(early, &wrong) == 0 && wrong == NULL);
    MUST(pthread_create(&late, NULL, be_a_thread, NULL) == 0);
    MUST(pthread_join(late, &wrong) == 0 && wrong == NULL);
    MUST(try_socket(AF_INET) == 0 && try_socket(AF_INET6) != EPERM && try_socket(AF_UNIX) == 0);
    MUST(try_socket(AF_PACKET) == EPERM);
    MUST(execv("/bin/true", argv) == -1 && errno == EPERM);
    MUST(unshare(CLONE_NEWUSER) == -1 && errno == EPERM);
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM);
    MUST(chroot(folder) == -1 && errno == EPERM);
    MUST(setuid(getuid()) == -1 && errno == EPERM);
    MUST(try_open(inside, "file", O_RDWR) == 0);
    void *memory = malloc(100 << 20);
    MUST(memory != NULL);
    free(memory);
}

START_TEST(calls)
{
    apart(use_calls);
}
END_TEST

SUITE(os_sandbox, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, files);
    tcase_add_test(t, calls);
}
