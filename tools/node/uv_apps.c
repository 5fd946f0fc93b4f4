/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of applications. Bytes are read straight to where they belong: a payload into the
 * buffer that becomes the bundle. Messages and payloads are gathered into one write. Reading stops
 * while a connection has enough unanswered requests, or the node enough unstored bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "tools/node/app.h"
#include "tools/node/app_message.h"
#include "tools/node/local_socket.h"

#define SOCKET_BYTES (4 << 20)
#define FLIGHT_MAX 32

struct conn {
    struct app app;
    uv_pipe_t pipe;
    uv_write_t write;
    struct app_out *flight[FLIGHT_MAX];
    size_t flight_len;
    bool reading, closing;
};

static struct conn *conn_of(struct app *c)
{
    return container_of(c, struct conn, app);
}

static void on_closed(uv_handle_t *h)
{
    free(h->data);
}

static void conn_close(struct conn *c)
{
    if (c->closing)
        return;
    c->closing = true;
    app_fini(&c->app);
    uv_close((uv_handle_t *)&c->pipe, on_closed);
}

static void wake(struct conn *c)
{
    if (list_empty(&c->app.flush))
        list_add_tail(&c->app.apps->flush, &c->app.flush);
    node_wake(c->app.apps->node);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *out)
{
    struct conn *c = h->data;
    (void)suggested;
    size_t len;
    out->base = (char *)aap2_reader_space(&c->app.reader, &len);
    out->len = len > APP_READ_FULL && app_memory_full(c->app.apps) ? APP_READ_FULL : len;
}

static void read_stop(struct conn *c)
{
    if (!c->reading)
        return;
    uv_read_stop((uv_stream_t *)&c->pipe);
    c->reading = false;
    c->app.apps->counters.pauses++;
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = s->data;
    (void)buf;
    if (n == 0)
        return;
    if (n < 0) {
        conn_close(c);
        return;
    }
    app_fed(&c->app, (size_t)n);
    if (!app_may_read(&c->app))
        read_stop(c);
}

static void on_written(uv_write_t *w, int status)
{
    struct conn *c = w->data;
    for (size_t i = 0; i < c->flight_len; i++) {
        if (!c->closing)
            c->app.out_bytes -= c->flight[i]->len;
        message_free(c->flight[i]);
    }
    c->flight_len = 0;
    if (c->closing)
        return;
    if (status < 0)
        conn_close(c);
    else
        wake(c);
}

static void write_some(struct conn *c)
{
    uv_buf_t bufs[2 * FLIGHT_MAX];
    unsigned n = 0;
    for (struct list *l; c->flight_len < FLIGHT_MAX && (l = list_first(&c->app.out)) != NULL;) {
        struct app_out *o = container_of(l, struct app_out, node);
        list_sub(l);
        c->flight[c->flight_len++] = o;
        bufs[n++] = uv_buf_init((char *)o->bytes, (unsigned)o->len);
        if (o->payload.len > 0)
            bufs[n++] =
                (uv_buf_t){.base = (char *)(uintptr_t)o->payload.data, .len = o->payload.len};
    }
    if (n == 0)
        return;
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->pipe, bufs, n, on_written) < 0) {
        on_written(&c->write, UV_EPIPE);
    }
}

static void conn_flush(struct conn *c)
{
    if (c->flight_len == 0)
        write_some(c);
    if (c->closing)
        return;
    if (c->app.failed) {
        read_stop(c);
        if (c->app.dead || (c->flight_len == 0 && list_empty(&c->app.out)))
            conn_close(c);
        return;
    }
    if (c->reading || !app_may_read(&c->app))
        return;
    app_fed(&c->app, 0);
    if (app_may_read(&c->app))
        c->reading = uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read) == 0;
}

void apps_flush(struct apps *a)
{
    for (struct list *l; (l = list_first(&a->flush)) != NULL;) {
        list_sub(l);
        conn_flush(conn_of(container_of(l, struct app, flush)));
    }
}

static void on_connection(uv_stream_t *server, int status)
{
    struct apps *a = server->data;
    struct conn *c = status < 0 ? NULL : calloc(1, sizeof *c);
    if (c == NULL)
        return;
    uv_pipe_init(server->loop, &c->pipe, 0);
    c->pipe.data = c;
    if (uv_accept(server, (uv_stream_t *)&c->pipe) < 0 || a->stopped ||
        a->counters.connections >= APP_CONNECTIONS_MAX) {
        a->counters.refused_connections++;
        c->closing = true;
        uv_close((uv_handle_t *)&c->pipe, on_closed);
        return;
    }
    int size = SOCKET_BYTES;
    uv_send_buffer_size((uv_handle_t *)&c->pipe, &size);
    size = SOCKET_BYTES;
    uv_recv_buffer_size((uv_handle_t *)&c->pipe, &size);
    app_init(&c->app, a);
    struct app_out *welcome = message_welcome(&a->node->config->node);
    if (welcome == NULL) {
        conn_close(c);
        return;
    }
    list_add_tail(&c->app.out, &welcome->node);
    c->app.out_bytes += welcome->len;
    wake(c);
}

static void on_server_closed(uv_handle_t *h)
{
    free(h);
}

int apps_open(struct apps **out, struct node *n, const char *path, char *why, size_t why_cap)
{
    int err = local_socket_claim(path, why, why_cap);
    if (err < 0)
        return err;
    struct apps *a = calloc(1, sizeof *a);
    uv_pipe_t *server = calloc(1, sizeof *server);
    if (a == NULL || server == NULL || hash_init(&a->requests, n->started) < 0) {
        snprintf(why, why_cap, "out of memory");
        free(a);
        free(server);
        return HELIO_ENOMEM;
    }
    a->node = n;
    a->next_token = a->next_reg = NODE_FIRST;
    a->server = server;
    list_init(&a->all);
    list_init(&a->endpoints);
    list_init(&a->flush);
    uv_pipe_init(n->loop, server, 0);
    server->data = a;
    err = uv_pipe_bind(server, path);
    if (err == 0)
        err = uv_listen((uv_stream_t *)server, 128, on_connection);
    if (err < 0) {
        snprintf(why, why_cap, "%s: %s", path, uv_strerror(err));
        uv_close((uv_handle_t *)server, on_server_closed);
        hash_fini(&a->requests);
        free(a);
        return HELIO_EIO;
    }
    *out = a;
    return 0;
}

void apps_tick(struct apps *a, tick now)
{
    list_for_each_safe (l, &a->all)
        app_keepalive(container_of(l, struct app, node), now);
}

const struct apps_counters *apps_counters(const struct apps *a)
{
    return &a->counters;
}

void apps_stop(struct apps *a)
{
    if (a->stopped)
        return;
    a->stopped = true;
    uv_close((uv_handle_t *)a->server, on_server_closed);
    list_for_each (l, &a->all)
        read_stop(conn_of(container_of(l, struct app, node)));
}

void apps_close(struct apps *a)
{
    apps_flush(a);
    list_for_each_safe (l, &a->all)
        conn_close(conn_of(container_of(l, struct app, node)));
}

void apps_free(struct apps *a)
{
    if (a == NULL)
        return;
    struct hash_node *next;
    for (struct hash_node *h = hash_walk(&a->requests, NULL); h != NULL; h = next) {
        next = hash_walk(&a->requests, h);
        free(container_of(h, struct app_request, by_token));
    }
    hash_fini(&a->requests);
    free(a);
}
