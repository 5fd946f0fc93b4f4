/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process can still do, from now on and for ever: open files only below certain places
 * (Landlock), and make only system calls of a list (seccomp). Each is one call; the kernel may lack
 * either. Threads and processes that are made later have both.
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
 * The calling thread can open nothing but what lies at these places, which are looked up now: one
 * that does not exist is left out. For a process before it has other threads. Sockets, pipes and
 * what is open already are not concerned. The version of the kernel's Landlock (1 or more);
 * an error: helio_errno ENOSYS (the kernel has none), or another: nothing is forbidden then.
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
