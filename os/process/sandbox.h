/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Permanently restricts the process: it can open only files below certain places (Landlock), and
 * make only the system calls of a list (seccomp). Each is one call; the kernel may lack either. New
 * threads and processes inherit both.
 */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* A file, or a directory with all below it. */
struct sandbox_place {
    const char *path;
    bool write; /* read, written, made and removed; else read only */
};

/*
 * Restricts the calling thread to files below these places. They are looked up now; missing ones
 * are ignored. Call it before other threads exist. It does not affect sockets, pipes and open
 * files. Returns the version of the kernel's Landlock (1 or more), or an error: helio_errno ENOSYS
 * (the kernel has none) or another; then nothing is restricted.
 */
int sandbox_files(const struct sandbox_place *places, size_t len);

/*
 * All threads can make only the system calls that a network program needs which starts no other:
 * a call that is not in the list fails with EPERM, one that the list's author did not know with
 * ENOSYS. Sockets are UNIX, IPv4, IPv6 and netlink ones; no namespaces are made. 0; HELIO_ENOSYS:
 * the kernel, or this file for this processor, has no such filter; or another error.
 */
int sandbox_calls(void);

#endif
