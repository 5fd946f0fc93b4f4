/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders that only one user may read, such as keys. */
#ifndef OS_PRIVATE_FILE_H
#define OS_PRIVATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define PRIVATE_FILE_OTHERS "other users may read or write it; chmod go= it"

/* Does an open file or folder give nobody but its owner, this user and root access? fd -1: as far
 * as its mode says. A credential of systemd does not: an access control list lets the service's
 * user read it, and stat shows the list's mask as permissions of the group. */
bool private_file_is(int fd, const struct stat *st, uid_t user);
/* … and is its owner this user or root? NULL, or what would be right (static). */
const char *private_file_judge(int fd, const struct stat *st, uid_t user);

/* The same of an access control list, in the form of the extended attribute
 * "system.posix_acl_access". What is no list that is known gives others access. */
bool private_file_acl(const void *acl, size_t len, uid_t user);

#endif
