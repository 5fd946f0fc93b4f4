/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the kernel's world. A socket is read when libuv reports it ready, and written when its
 * user writes. What the socket does not accept stays with the user, and libuv reports when there is
 * room. Large writes may be done by another thread (uv_world_writers): it has the descriptor and
 * the parts; the rest of the stream belongs to the loop. So the loop reads from a socket while a
 * thread writes to it, and waits for the thread before it closes the socket. What can go wrong: a
 * path that is too long, or an invalid address (HELIO_EINVAL); errors of the system's sockets.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "os/net/address.h"
#include "os/net/udp_io.h"
#include "os/uv_world_private.h"

#define READS_MAX 32 /* from one stream, before others have their turn */

struct uv_stream {
    struct stream base;
    uv_poll_t poll;
    struct world *world;
    struct stream_beside *beside; /* that another thread writes; NULL: none */
    int fd;
    int events; /* that poll waits for */
    bool reading;
    bool full; /* a write waits for room, or for the connection */
    bool connecting;
    bool closed;
    bool shut; /* nothing is written any more: the urgent octet was sent, or the end */
    bool half; /* the peer's end was read and reported; the other direction is open */
    bool over; /* `ended` is due, or was called */
    bool told; /* it was */
    int error; /* of it, as its argument */
};

int uv_resolve_place(const struct stream_place *p, struct uv_place *out)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&out->address;
    *out = (struct uv_place){.len = sizeof *un};
    if (p->path == NULL) {
        out->len = address_len(p->address);
        memcpy(&out->address, p->address, out->len);
        return 0;
    }
    un->sun_family = AF_UNIX;
    if (strlen(p->path) >= sizeof un->sun_path)
        return helio_from_errno(ENAMETOOLONG);
    memcpy(un->sun_path, p->path, strlen(p->path) + 1);
    return 0;
}

static_assert(sizeof(struct uv_stream *) <= ADDRESS_KEY_HOST, "work of a stream is known by it");
static_assert(STREAM_PATH_MAX + 1 == sizeof((struct sockaddr_un *)0)->sun_path, "as the kernel");

int uv_open_socket(const struct uv_place *p)
{
    int one = 1;
    int fd = socket(p->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && p->address.ss_family != AF_UNIX)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd < 0 ? helio_from_errno(errno) : fd;
}

/* ---- one stream ---- */

static struct uv_stream *uv_stream_of(struct stream *s)
{
    return container_of(s, struct uv_stream, base);
}

static void on_poll(uv_poll_t *h, int status, int events);

static void watch_stream(struct uv_stream *s)
{
    bool both = s->half && s->shut; /* the kernel would report it for ever */
    bool readable = s->reading && !s->half && !s->connecting && !s->over;
    bool writable = s->full || s->connecting || (s->over && !s->told);
    bool urgent = s->base.urgent != NULL && !s->connecting && !s->over && !both;
    int events =
        (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0) | (urgent ? UV_PRIORITIZED : 0);
    if (events == s->events || s->closed)
        return;
    s->events = events;
    int r = events == 0 ? uv_poll_stop(&s->poll) : uv_poll_start(&s->poll, events, on_poll);
    assert(r == 0);
    (void)r;
}

/* The end is reported by the loop. */
static void end_stream(struct uv_stream *s, int error)
{
    if (s->over)
        return;
    s->over = true;
    s->error = error;
    watch_stream(s);
}

/* At most *left octets. False: nothing more is to be read now. */
static bool read_piece(struct uv_stream *s, size_t *left)
{
    size_t len = 0;
    uint8_t *at = s->base.user->space(s->base.context, &len);
    if (at == NULL) {
        end_stream(s, HELIO_ENOMEM);
        return false;
    }
    len = len < *left ? len : *left;
    ssize_t n = read(s->fd, at, len);
    if (n > 0) {
        *left -= (size_t)n;
        s->base.user->fed(s->base.context, (size_t)n);
        return (size_t)n == len && *left > 0 && !s->closed && s->reading && !s->over;
    }
    if (n == 0 && s->base.half != NULL) {
        s->half = true;
        s->reading = false;
        s->base.half(s->base.context);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        end_stream(s, n == 0 ? 0 : helio_from_errno(errno));
    }
    return false;
}

static int take_socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    bool known = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0;
    return helio_from_errno(known ? error : errno);
}

static void free_stream(uv_handle_t *h)
{
    free(h->data);
}

static void tell_end(struct uv_stream *s)
{
    s->told = true;
    s->base.user->ended(s->base.context, s->error);
}

/* Reports the urgent octet to the user, if it can be read. After a reset it cannot, but the kernel
 * reports it for ever, before the error: a user that does not read would never learn of the
 * error. */
static void read_urgent(struct uv_stream *s)
{
    uint8_t octet;
    if (s->base.urgent == NULL)
        return;
    ssize_t n = recv(s->fd, &octet, 1, MSG_OOB | MSG_DONTWAIT);
    if (n == 1) {
        s->base.urgent(s->base.context, octet);
        return;
    }
    if (n < 0 && errno == ENOTCONN && !s->reading) {
        int error = take_socket_error(s->fd);
        end_stream(s, error != 0 ? error : HELIO_ESTOPPED);
    }
}

/* Called by the loop: processes what is ready, then reports the end, if it was reached. */
static void on_poll(uv_poll_t *h, int status, int events)
{
    struct uv_stream *s = h->data;
    if (status < 0) { /* libuv has stopped the handle: an error is pending, which reading gives */
        s->events = 0;
        events = UV_READABLE | UV_WRITABLE | UV_PRIORITIZED;
    }
    if (s->connecting) {
        int error = take_socket_error(s->fd);
        s->connecting = false;
        if (error != 0)
            end_stream(s, error);
    }
    if ((events & UV_PRIORITIZED) != 0 && !s->over)
        read_urgent(s);
    size_t left = uv_world_read_share(h->loop);
    for (int i = 0;
         (events & UV_READABLE) != 0 && !s->closed && s->reading && !s->over && i < READS_MAX; i++)
        if (!read_piece(s, &left) || s->closed)
            break;
    if (left == 0)
        uv_world_read_more(h->loop);
    if (!s->closed && !s->over && status < 0) {
        int error = take_socket_error(s->fd);
        if (error != 0)
            end_stream(s, error);
    }
    if (!s->closed && !s->over && (events & UV_WRITABLE) != 0 && s->full) {
        s->full = false;
        s->base.user->writable(s->base.context);
    }
    if (!s->closed && s->over && !s->told)
        tell_end(s);
    if (!s->closed)
        watch_stream(s);
}

struct stream *uv_stream_new(struct world *w, int fd, bool connecting)
{
    struct uv_stream *s = calloc(1, sizeof *s);
    if (s == NULL || uv_poll_init(uv_world_loop(w), &s->poll, fd) < 0) {
        free(s);
        close(fd);
        return NULL;
    }
    s->base.ops = &uv_stream_ops;
    s->poll.data = s;
    s->world = w;
    s->fd = fd;
    s->connecting = connecting;
    watch_stream(s);
    return &s->base;
}

static int connect_stream(struct world *w, struct stream **out, const struct stream_place *to)
{
    struct uv_place p;
    int r = uv_resolve_place(to, &p);
    int fd = r < 0 ? r : uv_open_socket(&p);
    if (fd < 0)
        return fd;
    r = connect(fd, (const struct sockaddr *)&p.address, p.len) == 0 ? 0 : helio_from_errno(errno);
    if (r != 0 && helio_errno(r) != EINPROGRESS) {
        close(fd);
        return r;
    }
    *out = uv_stream_new(w, fd, r != 0);
    return *out == NULL ? HELIO_ENOMEM : 0;
}

static void read_stream(struct stream *base, bool on)
{
    struct uv_stream *s = uv_stream_of(base);
    assert(!s->closed);
    s->reading = on && !s->half;
    watch_stream(s);
}

/* Octets that were taken, or HELIO_E*. Also from threads. */
static ssize_t send_parts(int fd, const struct slice *parts, size_t n)
{
    struct iovec iov[STREAM_PARTS_MAX];
    for (size_t i = 0; i < n; i++) {
        union { /* sendmsg does not write to it */
            const uint8_t *in;
            void *out;
        } at = {.in = parts[i].data};
        iov[i] = (struct iovec){.iov_base = at.out, .iov_len = parts[i].len};
    }
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
    ssize_t got = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    /* ENOBUFS: the kernel is short of memory for a moment, nothing is wrong with the connection */
    if (got < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
        return 0;
    return got < 0 ? helio_from_errno(errno) : got;
}

static size_t write_some(struct uv_stream *s, const struct slice *parts, size_t n)
{
    ssize_t got = send_parts(s->fd, parts, n);
    if (got < 0)
        end_stream(s, (int)got);
    return got < 0 ? 0 : (size_t)got;
}

static size_t write_stream(struct stream *base, const struct slice *parts, size_t n)
{
    struct uv_stream *s = uv_stream_of(base);
    size_t want = 0, got = 0;
    assert(!s->closed && n <= STREAM_PARTS_MAX && s->beside == NULL);
    for (size_t i = 0; i < n; i++)
        want += parts[i].len;
    if (n == 0)
        s->full = !s->over && !s->shut; /* `writable` is asked for */
    if (want == 0) {
        watch_stream(s);
        return 0;
    }
    if (!s->connecting && !s->over && !s->full && !s->shut)
        got = write_some(s, parts, n);
    assert(got <= want);
    s->full = got < want && !s->shut;
    watch_stream(s);
    return got;
}

static void run_beside(struct work *w)
{
    struct stream_beside *b = container_of(w, struct stream_beside, work);
    b->prepare(b);
    ssize_t got = send_parts(b->fd, b->parts, b->parts_len);
    b->error = got < 0 ? (int)got : 0;
    b->got = got < 0 ? 0 : (size_t)got;
}

/* The thread has left it. */
static void end_beside(struct uv_stream *s)
{
    const struct stream_beside *b = s->beside;
    size_t want = 0;
    for (size_t i = 0; i < b->parts_len; i++)
        want += b->parts[i].len;
    assert(b->got <= want && !s->full);
    s->beside = NULL;
    if (b->error < 0)
        end_stream(s, b->error);
    s->full = b->got < want && !s->over;
    watch_stream(s);
}

static void on_beside(struct work *w)
{
    struct stream_beside *b = container_of(w, struct stream_beside, work);
    end_beside(uv_stream_of(b->stream));
    b->written(b, b->got);
}

static bool write_beside(struct stream *base, struct stream_beside *b)
{
    struct uv_stream *s = uv_stream_of(base);
    struct work_pool *pool = uv_world_write_pool(s->world);
    assert(!s->closed && s->beside == NULL && b->parts_len >= 1);
    if (pool == NULL || s->connecting || s->over || s->full || s->shut)
        return false;
    b->work = (struct work){.run = run_beside, .done = on_beside};
    memcpy(b->work.host, &s, sizeof s); /* each stream has its turn */
    b->stream = base;
    b->fd = s->fd;
    b->error = 0;
    b->got = 0;
    s->beside = b;
    work_pool_give(pool, &b->work);
    return true;
}

static unsigned count_waiting(const struct stream *base)
{
    const struct uv_stream *s =
        container_of((struct stream *)(uintptr_t)base, struct uv_stream, base);
    const struct work_pool *pool = uv_world_write_pool(s->world);
    return pool == NULL ? 0 : work_pool_waiting(pool);
}

static size_t settle_beside(struct stream *base)
{
    struct uv_stream *s = uv_stream_of(base);
    struct stream_beside *b = s->beside;
    if (b == NULL)
        return 0;
    if (!work_pool_recall(uv_world_write_pool(s->world), &b->work))
        b->prepare(b);
    end_beside(s);
    return b->got;
}

static void grow_buffers(struct stream *base, uint32_t bytes)
{
    const struct uv_stream *s = uv_stream_of(base);
    int size = bytes > INT32_MAX ? INT32_MAX : (int)bytes;
    if (setsockopt(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

static int choose_congestion(struct stream *base, const char *name)
{
    const struct uv_stream *s = uv_stream_of(base);
    return setsockopt(s->fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0
               ? 0
               : helio_from_errno(errno);
}

static uint64_t count_unheard(const struct stream *base)
{
    const struct uv_stream *s =
        container_of((struct stream *)(uintptr_t)base, struct uv_stream, base);
    int octets = 0;
    return ioctl(s->fd, SIOCOUTQ, &octets) == 0 && octets > 0 ? (uint64_t)octets : 0;
}

static bool find_peer(const struct stream *base, struct address *out)
{
    const struct uv_stream *s =
        container_of((struct stream *)(uintptr_t)base, struct uv_stream, base);
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    return getpeername(s->fd, (struct sockaddr *)&at, &len) == 0 &&
           address_from(slice_of(&at, len), out) == 0;
}

static bool find_user(const struct stream *base, struct stream_peer *out)
{
    const struct uv_stream *s =
        container_of((struct stream *)(uintptr_t)base, struct uv_stream, base);
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || len != sizeof who ||
        who.pid == 0)
        return false;
    *out = (struct stream_peer){(unsigned)who.pid, (unsigned)who.uid, (unsigned)who.gid};
    return true;
}

static bool is_member(const struct stream *base, unsigned group)
{
    const struct uv_stream *s =
        container_of((struct stream *)(uintptr_t)base, struct uv_stream, base);
    struct stream_peer who;
    socklen_t len = 0;
    if (find_user(base, &who) && who.gid == group)
        return true;
    if (getsockopt(s->fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
        return false;
    gid_t *groups = malloc(len);
    bool found = false;
    if (groups != NULL && getsockopt(s->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
        for (size_t i = 0; i < len / sizeof *groups && !found; i++)
            found = groups[i] == group;
    free(groups);
    return found;
}

static int send_urgent(struct stream *base, uint8_t octet)
{
    struct uv_stream *s = uv_stream_of(base);
    assert(!s->closed && !s->shut);
    s->shut = true;
    s->full = false;
    assert(s->beside == NULL);
    ssize_t n = s->connecting || s->over ? 0 : send(s->fd, &octet, 1, MSG_OOB | MSG_NOSIGNAL);
    int error = n < 0 ? helio_from_errno(errno) : n == 0 ? HELIO_ESTOPPED : 0;
    if (!s->over && shutdown(s->fd, SHUT_WR) != 0 && error == 0)
        error = helio_from_errno(errno);
    watch_stream(s);
    return error;
}

static int finish_stream(struct stream *base)
{
    struct uv_stream *s = uv_stream_of(base);
    assert(!s->closed && !s->shut && s->beside == NULL);
    s->shut = true;
    s->full = false;
    int r = s->over || shutdown(s->fd, SHUT_WR) == 0 ? 0 : helio_from_errno(errno);
    watch_stream(s);
    return r;
}

static void close_stream(struct stream *base)
{
    struct uv_stream *s = uv_stream_of(base);
    assert(!s->closed);
    if (s->beside != NULL)
        (void)work_pool_recall(uv_world_write_pool(s->world), &s->beside->work);
    s->closed = true;
    uv_close((uv_handle_t *)&s->poll, free_stream);
    close(s->fd);
}

static void reset_stream(struct stream *base)
{
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(uv_stream_of(base)->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close_stream(base);
}

const struct stream_ops uv_stream_ops = {
    .listen = uv_listener_open,
    .unlisten = uv_listener_close,
    .connect = connect_stream,
    .read = read_stream,
    .write = write_stream,
    .write_beside = write_beside,
    .waiting = count_waiting,
    .settle = settle_beside,
    .buffers = grow_buffers,
    .congestion = choose_congestion,
    .unheard = count_unheard,
    .peer = find_peer,
    .user_of = find_user,
    .member = is_member,
    .urgent = send_urgent,
    .finish = finish_stream,
    .reset = reset_stream,
    .close = close_stream,
};
