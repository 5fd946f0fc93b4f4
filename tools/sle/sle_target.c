/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong: the file takes nothing, or a part (then its reader sees a short record); a
 * datagram that the network does not take. A pipe without a reader is an error when it is opened,
 * not a wait; one with a reader is written like a file.
 */
#include "tools/sle/sle_target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "os/address.h"

void target_init(struct target *t)
{
    *t = (struct target){.fd = -1};
}

int target_open(struct target *t, struct world *w, const char *path, const struct address *to)
{
    target_init(t);
    if (address_given(to))
        return datagrams_open_port(&t->udp, w, to);
    t->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (t->fd < 0)
        return helio_from_errno(errno);
    const int flags = fcntl(t->fd, F_GETFL);
    return fcntl(t->fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? helio_from_errno(errno) : 0;
}

void target_close(struct target *t)
{
    datagrams_close(&t->udp);
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

bool target_put(struct target *t, struct slice data)
{
    errno = 0;
    if (datagrams_is_open(&t->udp)) {
        datagrams_put(&t->udp, data);
        return datagrams_fire(&t->udp);
    }
    if (t->fd < 0)
        return true;
    if (data.len > TARGET_MAX)
        return false;
    uint8_t head[4] = {0, (uint8_t)(data.len >> 16), (uint8_t)(data.len >> 8), (uint8_t)data.len};
    const struct iovec parts[] = {{head, sizeof head}, {(void *)(uintptr_t)data.data, data.len}};
    return writev(t->fd, parts, 2) == (ssize_t)(sizeof head + data.len);
}
