/* SPDX-License-Identifier: Apache-2.0 */
/* For porting: the permitted system calls, if this processor's kernel has them, and names that
 * older headers lack. Only for os/process/sandbox.c. */
#ifndef OS_SANDBOX_CALLS_H
#define OS_SANDBOX_CALLS_H

#include <linux/audit.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define SANDBOX_ARCH AUDIT_ARCH_RISCV64
#else
#define SANDBOX_ARCH 0 /* its numbers were not tried */
#endif

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static const int sandbox_allowed[] = {
    /* the loop and its sockets */
    SYS_epoll_pwait,
    SYS_recvmmsg,
    SYS_sendmmsg,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_recvfrom,
    SYS_sendto,
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_futex,
    SYS_clock_gettime,
    SYS_epoll_ctl,
    SYS_epoll_create1,
    SYS_eventfd2,
    SYS_pipe2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_signalfd4,
    SYS_accept,
    SYS_accept4,
    SYS_bind,
    SYS_listen,
    SYS_connect,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_ioctl,
    SYS_fcntl,
    SYS_dup,
    SYS_dup3,
    SYS_close,
    SYS_close_range,
    /* files */
    SYS_openat,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_lseek,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_truncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_flock,
    SYS_fstat,
    SYS_fgetxattr, /* access control lists of keys */
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_linkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_umask,
    SYS_sync_file_range,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_msync,
    SYS_newfstatat,
    SYS_chdir,
    SYS_renameat2,
    /* memory, threads, signals */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_mlock,
    SYS_munlock,
    SYS_clone,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_membarrier,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getpriority,
    SYS_setpriority,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_tgkill,
    SYS_kill,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    /* time, and user ids */
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_prlimit64,
    SYS_prctl,
    SYS_getcpu,
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_open /* calls that younger processors never had */
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_mkdir,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_chmod,
    SYS_chown,
    SYS_getdents,
    SYS_poll,
    SYS_select,
    SYS_pipe,
    SYS_dup2,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_time,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_utimes,
    SYS_arch_prctl,
#endif
};

/* The last call of the list that these lines are of: later ones are answered as a kernel would that
 * has them not. */
#define SANDBOX_LAST_KNOWN 449

#endif
