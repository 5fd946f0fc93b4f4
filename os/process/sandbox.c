/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: a set of rules, one for each place, to which the thread is restricted. All rights that
 * this kernel's version knows are handled, so that only granted rights remain. seccomp: a small BPF
 * program compares the call's number with a list; the kernel caches always permitted calls, so that
 * they cost nothing. What can go wrong: the kernel is too old, or has the feature disabled.
 */
#include "os/process/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/process/sandbox_calls.h"

/* ---- files ---- */

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_RIGHTS                                                                               \
    (READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |                \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_DIR |    \
     LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)
/* Of a file that is no directory. */
#define FILE_RIGHTS                                                                                \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |  \
     LANDLOCK_ACCESS_FS_IOCTL_DEV)

/* All rights that this version of Landlock knows. */
static uint64_t rights_of(long version)
{
    unsigned bits = version < 2 ? 13 : version < 3 ? 14 : version < 5 ? 15 : 16;
    return (UINT64_C(1) << bits) - 1;
}

static int add_rule(int rules, const struct sandbox_place *place, uint64_t handled)
{
    struct landlock_path_beneath_attr rule = {.allowed_access =
                                                  place->write ? WRITE_RIGHTS : READ_RIGHTS};
    struct stat st;
    rule.parent_fd = open(place->path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0 || fstat(rule.parent_fd, &st) < 0)
        return errno == ENOENT || errno == EACCES ? 0 : helio_from_errno(errno);
    rule.allowed_access &= handled & (S_ISDIR(st.st_mode) ? UINT64_MAX : FILE_RIGHTS);
    long rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int error = rc < 0 ? errno : 0;
    close(rule.parent_fd);
    return error == 0 ? 0 : helio_from_errno(error);
}

int sandbox_files(const struct sandbox_place *places, size_t len)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return helio_from_errno(ENOSYS);
    const struct landlock_ruleset_attr attr = {.handled_access_fs = rights_of(version)};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0)
        return helio_from_errno(errno);
    int rc = 0;
    for (size_t i = 0; i < len && rc == 0; i++)
        rc = add_rule(rules, &places[i], attr.handled_access_fs);
    if (rc == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                    syscall(SYS_landlock_restrict_self, rules, 0) < 0))
        rc = helio_from_errno(errno);
    close(rules);
    return rc == 0 ? (int)version : rc;
}

/* ---- system calls ---- */

#define ALLOWED (sizeof sandbox_allowed / sizeof *sandbox_allowed)
#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define FIRST_ARGUMENT offsetof(struct seccomp_data, args[0])
#define SECOND_ARGUMENT offsetof(struct seccomp_data, args[1])

struct program {
    struct sock_filter at[2 * ALLOWED + 64];
    unsigned short len;
};

static void put_line(struct program *p, struct sock_filter f)
{
    p->at[p->len++] = f;
}

static void load_word(struct program *p, size_t offset)
{
    put_line(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_answer(struct program *p, uint32_t what)
{
    put_line(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* The next `skip` lines are for this value alone. */
static void only_if(struct program *p, uint32_t value, uint8_t skip)
{
    put_line(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

static void allow_if(struct program *p, uint32_t value)
{
    only_if(p, value, 1);
    put_answer(p, SECCOMP_RET_ALLOW);
}

/* Calls with restricted arguments; afterwards the call's number is loaded again. */
static void put_arguments(struct program *p)
{
    static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    static const int sockets[] = {SYS_socket, SYS_socketpair};
    for (size_t i = 0; i < 2; i++) {
        only_if(p, (uint32_t)sockets[i], 10);
        load_word(p, FIRST_ARGUMENT);
        for (size_t k = 0; k < sizeof families / sizeof *families; k++)
            allow_if(p, families[k]);
        put_answer(p, SECCOMP_RET_ERRNO | EPERM);
    }
    only_if(p, SYS_clone, 3);
    load_word(p, FIRST_ARGUMENT);
    put_line(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1));
    put_answer(p, SECCOMP_RET_ERRNO | EPERM);
    load_word(p, offsetof(struct seccomp_data, nr));
    only_if(p, SYS_ioctl, 3); /* no characters are injected into a terminal (TIOCSTI) */
    load_word(p, SECOND_ARGUMENT);
    only_if(p, TIOCSTI, 1);
    put_answer(p, SECCOMP_RET_ERRNO | EPERM);
    load_word(p, offsetof(struct seccomp_data, nr));
}

static void write_program(struct program *p)
{
    p->len = 0;
    load_word(p, offsetof(struct seccomp_data, arch));
    put_line(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0));
    put_answer(p, SECCOMP_RET_ERRNO | EPERM);
    load_word(p, offsetof(struct seccomp_data, nr));
    put_arguments(p);
    for (size_t i = 0; i < ALLOWED; i++)
        allow_if(p, (uint32_t)sandbox_allowed[i]);
    only_if(p, SYS_clone3, 1); /* its arguments cannot be looked at; the C library has another */
    put_answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    put_line(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SANDBOX_LAST_KNOWN, 0, 1));
    put_answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    put_answer(p, SECCOMP_RET_ERRNO | EPERM);
}

int sandbox_calls(void)
{
    struct program p;
    if (SANDBOX_ARCH == 0)
        return helio_from_errno(ENOSYS);
    write_program(&p);
    const struct sock_fprog filter = {.len = p.len, .filter = p.at};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return helio_from_errno(errno);
    long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (rc == 0)
        return 0;
    return rc > 0            ? HELIO_EIO
           : errno == EINVAL ? helio_from_errno(ENOSYS)
                             : helio_from_errno(errno);
}
