/* SPDX-License-Identifier: Apache-2.0 */
/* A socket's file outlives its server, so only a connection attempt shows whether a server is
 * there. What can go wrong: the file belongs to another program; it is not removed. */
#include "os/net/local_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

int local_socket_connect(const char *path, char *why, size_t why_cap)
{
    return local_socket_connect_within(path, 0, why, why_cap);
}

/* A connect waits for room in the server's queue up to the write timeout. */
static int connect_within(int fd, const struct sockaddr_un *a, tick timeout)
{
    struct timeval most = {.tv_sec = (time_t)(timeout / TICK_S),
                           .tv_usec = (suseconds_t)(timeout % TICK_S / TICK_US)};
    if (timeout != 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) < 0)
        return -1;
    return connect(fd, (const struct sockaddr *)a, sizeof *a);
}

int local_socket_connect_within(const char *path, tick timeout, char *why, size_t why_cap)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path) {
        snprintf(why, why_cap, "%s: the path is longer than %zu bytes", path,
                 sizeof a.sun_path - 1);
        return HELIO_EINVAL;
    }
    strcpy(a.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect_within(fd, &a, timeout) < 0) {
        int err = errno;
        snprintf(why, why_cap, "%s: %s", path,
                 err == EAGAIN ? "it is stopped, or hangs: many connections wait for it"
                 : err == EACCES
                     ? "not permitted: it is for its owner and the members of its group, "
                       "who need permission for its folder, too (ls -ld shows both)"
                     : strerror(err));
        if (fd >= 0)
            close(fd);
        return err == ECONNREFUSED || err == ENOENT ? HELIO_ENOENT : HELIO_EIO;
    }
    return fd;
}

int local_socket_claim(const char *path, char *why, size_t why_cap)
{
    struct stat st;
    if (lstat(path, &st) < 0) {
        if (errno == ENOENT)
            return 0;
        snprintf(why, why_cap, "%s: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    if (!S_ISSOCK(st.st_mode)) {
        snprintf(why, why_cap, "%s exists and is not a socket; remove it or choose another path",
                 path);
        return HELIO_EEXIST;
    }
    int fd = local_socket_connect(path, why, why_cap);
    if (fd >= 0) {
        close(fd);
        snprintf(why, why_cap, "%s is served by another program; stop it or choose another path",
                 path);
        return HELIO_EEXIST;
    }
    if (fd != HELIO_ENOENT)
        return fd;
    if (unlink(path) < 0 && errno != ENOENT) {
        snprintf(why, why_cap, "%s cannot be removed: %s", path, strerror(errno));
        return HELIO_EIO;
    }
    return 0;
}
