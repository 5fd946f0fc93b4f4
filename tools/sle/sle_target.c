/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can go wrong: the file takes nothing, or a part (then its reader sees a short record); the
 * network does not take a datagram, or its receiver refuses it. A pipe without a reader is an error
 * when it is opened, not a wait; one with a reader is written like a file.
 */
#include "tools/sle/sle_target.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"
#include "os/net/address.h"

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
    if (fcntl(t->fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return 0;
    const int e = helio_from_errno(errno);
    target_close(t);
    return e;
}

void target_close(struct target *t)
{
    datagrams_close(&t->udp);
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

int target_put(struct target *t, struct slice data)
{
    if (datagrams_is_open(&t->udp))
        return datagrams_send(&t->udp, data);
    if (t->fd < 0)
        return 0;
    if (data.len > TARGET_MAX)
        return helio_from_errno(EMSGSIZE);
    uint8_t head[4] = {0, (uint8_t)(data.len >> 16), (uint8_t)(data.len >> 8), (uint8_t)data.len};
    const struct iovec parts[] = {{head, sizeof head}, {(void *)(uintptr_t)data.data, data.len}};
    const ssize_t n = writev(t->fd, parts, 2);
    if (n < 0)
        return helio_from_errno(errno);
    return n == (ssize_t)(sizeof head + data.len) ? 0 : helio_from_errno(ENOSPC);
}

/* ---- the air ---- */

tick air_begin(struct air *a, size_t octets, tick ready, tick now)
{
    tick begin = tick_max(ready, a->until);
    assert(!a->busy);
    if (begin > now || now - begin > AIR_LATE_MAX)
        begin = now;
    a->busy = true;
    a->until = begin + (a->rate == 0 ? 0 : octets * 8 * TICK_S / a->rate);
    return begin;
}

void air_end(struct air *a, tick pause)
{
    assert(a->busy);
    a->busy = false;
    a->until = tick_add(a->until, pause);
}

void air_stop(struct air *a, tick now)
{
    a->busy = false;
    a->until = now;
}
