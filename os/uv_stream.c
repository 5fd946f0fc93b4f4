/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the kernel's world. A socket is asked for what it has when libuv says that it is
 * ready, and given what it takes when its user writes; what it does not take stays with the user,
 * and libuv is asked when there is room.
 *
 * What can go wrong: a path that is too long or an address that is none (HELIO_EINVAL), what the
 * system says of sockets; descriptors run out: then connections that come are ended at once, for
 * which one descriptor is kept in reserve, some of them after each pause. Without that one, or
 * memory, connections are accepted after a pause.
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
#include "os/address.h"
#include "os/udp_io.h"
#include "os/uv_world_private.h"

#define BACKLOG 1024   /* connections that the kernel holds; a flood must not keep others out */
#define ACCEPTS_MAX 16 /* of a listener, before others have their turn */
#define ACCEPT_PAUSE_MS 100 /* when descriptors or memory have run out */
#define READS_MAX 32        /* from one stream, before others have their turn */

struct uv_stream {
    struct stream base;
    uv_poll_t poll;
    int fd;
    int events; /* that poll waits for */
    bool reading;
    bool full; /* a write waits for room, or for the connection */
    bool connecting;
    bool closed;
    bool shut; /* nothing is written any more: the urgent octet was sent, or the end */
    bool half; /* the peer's end was read and told; the other way goes on */
    bool over; /* `ended` is due, or was told */
    bool told; /* it was */
    int error; /* of it, as its argument */
};

struct uv_listener {
    struct stream_listener base;
    uv_poll_t poll;
    uv_timer_t pause;
    uv_loop_t *loop;
    struct world *world;
    int fd, spare;            /* spare: open, to be given up when there are no others */
    struct sockaddr_un local; /* family 0: none */
};

struct place {
    struct sockaddr_storage address;
    socklen_t len;
};

static int resolve_place(const struct stream_place *p, struct place *out)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&out->address;
    *out = (struct place){.len = sizeof *un};
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

static_assert(STREAM_PATH_MAX + 1 == sizeof((struct sockaddr_un *)0)->sun_path, "as the kernel");

static int open_socket(const struct place *p)
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
    bool both = s->half && s->shut; /* the kernel would tell so for ever */
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

/* The end is told from the loop. */
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

/* Tells its user the urgent octet, if that can be read. After a reset it cannot, but is announced
 * for ever, ahead of the error: who does not read would never hear of that. */
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

/* From the loop: what is ready is done, then the end is told, if it has come. */
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

static struct stream *stream_new(uv_loop_t *loop, int fd, bool connecting)
{
    struct uv_stream *s = calloc(1, sizeof *s);
    if (s == NULL || uv_poll_init(loop, &s->poll, fd) < 0) {
        free(s);
        close(fd);
        return NULL;
    }
    s->base.ops = &uv_stream_ops;
    s->poll.data = s;
    s->fd = fd;
    s->connecting = connecting;
    watch_stream(s);
    return &s->base;
}

static int connect_stream(struct world *w, struct stream **out, const struct stream_place *to)
{
    struct place p;
    int r = resolve_place(to, &p);
    int fd = r < 0 ? r : open_socket(&p);
    if (fd < 0)
        return fd;
    r = connect(fd, (const struct sockaddr *)&p.address, p.len) == 0 ? 0 : helio_from_errno(errno);
    if (r != 0 && helio_errno(r) != EINPROGRESS) {
        close(fd);
        return r;
    }
    *out = stream_new(uv_world_loop(w), fd, r != 0);
    return *out == NULL ? HELIO_ENOMEM : 0;
}

static void read_stream(struct stream *base, bool on)
{
    struct uv_stream *s = uv_stream_of(base);
    assert(!s->closed);
    s->reading = on && !s->half;
    watch_stream(s);
}

static size_t write_some(struct uv_stream *s, const struct slice *parts, size_t n)
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
    ssize_t got = sendmsg(s->fd, &m, MSG_NOSIGNAL);
    /* ENOBUFS: the kernel is short of memory for a moment, nothing is wrong with the connection */
    if (got < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
        end_stream(s, helio_from_errno(errno));
    return got < 0 ? 0 : (size_t)got;
}

static size_t write_stream(struct stream *base, const struct slice *parts, size_t n)
{
    struct uv_stream *s = uv_stream_of(base);
    size_t want = 0, got = 0;
    assert(!s->closed && n <= STREAM_PARTS_MAX);
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
    assert(!s->closed && !s->shut);
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

/* ---- listeners ---- */

static struct uv_listener *uv_listener_of(struct stream_listener *l)
{
    return container_of(l, struct uv_listener, base);
}

static void on_connection(uv_poll_t *h, int status, int events);

static void on_pause(uv_timer_t *h)
{
    struct uv_listener *l = h->data;
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
}

/* The connection stays ready to be accepted, which must not keep the loop busy. */
static void pause_listener(struct uv_listener *l)
{
    uv_poll_stop(&l->poll);
    uv_timer_start(&l->pause, on_pause, ACCEPT_PAUSE_MS, 0);
}

/* Out of descriptors: who waits is told so, by the end of the connection. False: not even that. */
static bool turn_away(struct uv_listener *l)
{
    if (l->spare < 0)
        l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC); /* one may be free again */
    if (l->spare < 0)
        return false;
    close(l->spare);
    int fd = accept(l->fd, NULL, NULL);
    if (fd >= 0)
        close(fd);
    l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* A socket, or -1: nobody else is to be accepted now. A peer that connects again and again, while
 * there are no descriptors, does not keep the loop busy either: a few are turned away, then comes
 * the pause. */
static int accept_one(struct uv_listener *l)
{
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool gone = fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED);
    bool full = fd < 0 && (errno == EMFILE || errno == ENFILE);
    l->world->no_descriptor += full;
    for (int i = 0; full && i < ACCEPTS_MAX && turn_away(l); i++)
        ;
    if (fd < 0 && !gone)
        pause_listener(l);
    return fd;
}

/* The listener may end with each connection: it is not closed while one is told. */
static void on_connection(uv_poll_t *h, int status, int events)
{
    struct uv_listener *l = h->data;
    int one = 1;
    (void)events;
    for (int i = 0; status >= 0 && i < ACCEPTS_MAX && !uv_is_closing((uv_handle_t *)h); i++) {
        int fd = accept_one(l);
        if (fd < 0)
            return;
        if (l->local.sun_family != AF_UNIX)
            (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct stream *s = stream_new(l->loop, fd, false);
        if (s != NULL)
            l->base.accepted(l->base.context, s);
    }
}

static void free_listener(uv_handle_t *h)
{
    free(h->data);
}

static void close_pause(uv_handle_t *h)
{
    struct uv_listener *l = h->data;
    uv_close((uv_handle_t *)&l->pause, free_listener);
}

/* A UNIX socket's file outlives it. */
static void remove_file(const struct place *p)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&p->address;
    if (un->sun_family == AF_UNIX)
        (void)unlink(un->sun_path);
}

/* Nobody can connect before listen(), and the file is its owner's alone until its group is set:
 * bind() takes the mode of the socket itself, less the umask. */
static bool open_file_to(const struct place *p, const struct stream_place *at)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&p->address;
    if (un->sun_family != AF_UNIX)
        return true;
    return (!at->has_group || lchown(un->sun_path, (uid_t)-1, (gid_t)at->group) == 0) &&
           chmod(un->sun_path, (mode_t)(at->mode != 0 ? at->mode : STREAM_MODE)) == 0;
}

static int bind_socket(const struct place *p, const struct stream_place *at)
{
    int one = 1;
    int fd = open_socket(p);
    if (fd < 0)
        return fd;
    if (p->address.ss_family != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    else
        (void)fchmod(fd, S_IRUSR | S_IWUSR);
    bool bound = bind(fd, (const struct sockaddr *)&p->address, p->len) == 0;
    if (bound && open_file_to(p, at) && listen(fd, BACKLOG) == 0)
        return fd;
    int error = helio_from_errno(errno);
    if (bound)
        remove_file(p);
    close(fd);
    return error;
}

static int listen_at(struct world *w, struct stream_listener **out, const struct stream_place *at)
{
    struct place p;
    int r = resolve_place(at, &p);
    int fd = r < 0 ? r : bind_socket(&p, at);
    if (fd < 0)
        return fd;
    struct uv_listener *l = calloc(1, sizeof *l);
    if (l == NULL || uv_poll_init(uv_world_loop(w), &l->poll, fd) < 0) {
        free(l);
        remove_file(&p);
        close(fd);
        return HELIO_ENOMEM;
    }
    l->base.ops = &uv_stream_ops;
    l->poll.data = l;
    l->loop = uv_world_loop(w);
    l->world = w;
    uv_timer_init(l->loop, &l->pause);
    l->pause.data = l;
    l->fd = fd;
    l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (at->path != NULL)
        memcpy(&l->local, &p.address, sizeof l->local);
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
    *out = &l->base;
    return 0;
}

static void stop_listening(struct stream_listener *base)
{
    struct uv_listener *l = uv_listener_of(base);
    if (l->local.sun_family == AF_UNIX)
        (void)unlink(l->local.sun_path);
    uv_close((uv_handle_t *)&l->poll, close_pause);
    close(l->fd);
    if (l->spare >= 0)
        close(l->spare);
}

const struct stream_ops uv_stream_ops = {
    .listen = listen_at,
    .unlisten = stop_listening,
    .connect = connect_stream,
    .read = read_stream,
    .write = write_stream,
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
