/* SPDX-License-Identifier: Apache-2.0 */
/* One datagram per message, without blocking: a manager that does not read loses messages. */
#include "os/process/notify.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

int notify_send(const char *socket_name, const char *text)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (socket_name == NULL || *socket_name == '\0')
        return 0;
    size_t len = strlen(socket_name);
    if (len >= sizeof a.sun_path)
        return HELIO_EINVAL;
    memcpy(a.sun_path, socket_name, len);
    if (*socket_name == '@')
        a.sun_path[0] = '\0'; /* abstract address: its length delimits it */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return helio_from_errno(errno);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t n = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&a, size);
    int err = n < 0 ? helio_from_errno(errno) : 0;
    close(fd);
    return err;
}
