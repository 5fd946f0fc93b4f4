/* SPDX-License-Identifier: Apache-2.0 */
/* flock: it needs no clean-up after a crash. What can go wrong: the directory, which is said. */
#include "os/process/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

int store_lock(const char *path, bool make, const char *advice, char *why, size_t cap)
{
    char file[4096];
    if (make && mkdir(path, 0700) < 0 && errno != EEXIST) {
        snprintf(why, cap, "%s cannot be made: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    if (snprintf(file, sizeof file, "%s/lock", path) >= (int)sizeof file) {
        snprintf(why, cap, "the path is too long");
        return HELIO_EINVAL;
    }
    int fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EROFS || errno == EACCES)) /* to read one that cannot be written */
        fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, cap, "%s cannot be opened: %s", file, strerror(errno));
        return HELIO_EIO;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        snprintf(why, cap, "%s is in use by another heliod; %s", path, advice);
        close(fd);
        return HELIO_EEXIST;
    }
    return fd;
}
