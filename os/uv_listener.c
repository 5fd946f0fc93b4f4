/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners of the kernel's world: each connection becomes a stream (uv_stream.c). What can go
 * wrong: no descriptors; then new connections are closed at once, a few after each pause, with one
 * reserved descriptor. Without that one, or without memory, connections are accepted after a pause.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "os/uv_world_private.h"

#define BACKLOG 1024   /* connections that the kernel holds; a flood must not keep others out */
#define ACCEPTS_MAX 16 /* of a listener, before others have their turn */
#define ACCEPT_PAUSE_MS 100 /* when descriptors or memory have run out */

struct uv_listener {
    struct stream_listener base;
    uv_poll_t poll;
    uv_timer_t pause;
    uv_loop_t *loop;
    struct world *world;
    int fd, spare;            /* spare: an open descriptor in reserve */
    struct sockaddr_un local; /* family 0: none */
};

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

/* Without free descriptors: closes a waiting connection. False: not even that is possible. */
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

/* Returns a socket; -1: no further one may be accepted now. While there are no descriptors, a peer
 * that connects repeatedly must not keep the loop busy: a few connections are closed, then a pause
 * follows. */
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

/* The listener may be ended by each connection: it is not freed during the call. */
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
        struct stream *s = uv_stream_new(l->world, fd, false);
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
static void remove_file(const struct uv_place *p)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&p->address;
    if (un->sun_family == AF_UNIX)
        (void)unlink(un->sun_path);
}

/* Before listen() no client can connect, and only the owner has access to the file until its group
 * is set: bind() applies the mode of the socket, less the umask. */
static bool open_file_to(const struct uv_place *p, const struct stream_place *at)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)(const void *)&p->address;
    if (un->sun_family != AF_UNIX)
        return true;
    return (!at->has_group || lchown(un->sun_path, (uid_t)-1, (gid_t)at->group) == 0) &&
           chmod(un->sun_path, (mode_t)(at->mode != 0 ? at->mode : STREAM_MODE)) == 0;
}

static int bind_socket(const struct uv_place *p, const struct stream_place *at)
{
    int one = 1;
    int fd = uv_open_socket(p);
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

int uv_listener_open(struct world *w, struct stream_listener **out, const struct stream_place *at)
{
    struct uv_place p;
    int r = uv_resolve_place(at, &p);
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

void uv_listener_close(struct stream_listener *base)
{
    struct uv_listener *l = uv_listener_of(base);
    if (l->local.sun_family == AF_UNIX)
        (void)unlink(l->local.sun_path);
    uv_close((uv_handle_t *)&l->poll, close_pause);
    close(l->fd);
    if (l->spare >= 0)
        close(l->spare);
}
