/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's socket. A connection asks one line at a time and reads the answer; it is read on
 * when the answer is written, so that nothing queues. What can go wrong: a line that is too long
 * ends the connection.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/list.h"
#include "tools/node/control.h"
#include "tools/node/local_socket.h"

#define VISITORS_MAX 32

struct control {
    struct node *node;
    uv_pipe_t *server; /* freed by its close callback */
    struct list all;   /* struct visitor */
    size_t visitors;
};

struct visitor {
    struct list node;
    struct control *control;
    uv_pipe_t pipe;
    uv_write_t write;
    char *answer; /* being written; NULL: none */
    size_t len;
    char line[CONTROL_LINE_MAX];
};

static void on_closed(uv_handle_t *h)
{
    struct visitor *v = h->data;
    free(v->answer);
    free(v);
}

static void visitor_close(struct visitor *v)
{
    if (uv_is_closing((uv_handle_t *)&v->pipe))
        return;
    list_sub(&v->node);
    v->control->visitors--;
    uv_close((uv_handle_t *)&v->pipe, on_closed);
}

static void take_line(struct visitor *v);

static void on_written(uv_write_t *w, int status)
{
    struct visitor *v = w->data;
    if (uv_is_closing((uv_handle_t *)&v->pipe))
        return;
    free(v->answer);
    v->answer = NULL;
    if (status < 0)
        visitor_close(v);
    else
        take_line(v);
}

static void send_answer(struct visitor *v, struct json_t *answer)
{
    size_t len = json_dumpb(answer, NULL, 0, JSON_COMPACT);
    v->answer = malloc(len + 1);
    if (v->answer == NULL) {
        visitor_close(v);
        return;
    }
    json_dumpb(answer, v->answer, len, JSON_COMPACT);
    v->answer[len] = '\n';
    uv_buf_t buf = {.base = v->answer, .len = len + 1};
    v->write.data = v;
    if (uv_write(&v->write, (uv_stream_t *)&v->pipe, &buf, 1, on_written) < 0)
        visitor_close(v);
}

/* Answers the first whole line, unless an answer is being written. */
static void take_line(struct visitor *v)
{
    char *end = memchr(v->line, '\n', v->len);
    if (v->answer != NULL)
        return;
    if (end == NULL) {
        if (v->len == sizeof v->line)
            visitor_close(v);
        return;
    }
    size_t n = (size_t)(end - v->line);
    struct json_t *answer = control_answer(v->control->node, v->line, n);
    v->len -= n + 1;
    memmove(v->line, end + 1, v->len);
    if (answer == NULL) {
        visitor_close(v);
        return;
    }
    send_answer(v, answer);
    json_decref(answer);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *out)
{
    struct visitor *v = h->data;
    (void)suggested;
    out->base = v->line + v->len;
    out->len = sizeof v->line - v->len;
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct visitor *v = s->data;
    (void)buf;
    if (n < 0) {
        visitor_close(v);
        return;
    }
    v->len += (size_t)n;
    take_line(v);
}

static void on_connection(uv_stream_t *server, int status)
{
    struct control *c = server->data;
    struct visitor *v = status < 0 ? NULL : calloc(1, sizeof *v);
    if (v == NULL)
        return;
    v->control = c;
    c->visitors++;
    list_add_tail(&c->all, &v->node);
    uv_pipe_init(server->loop, &v->pipe, 0);
    v->pipe.data = v;
    if (uv_accept(server, (uv_stream_t *)&v->pipe) < 0 || c->visitors > VISITORS_MAX ||
        uv_read_start((uv_stream_t *)&v->pipe, on_alloc, on_read) < 0)
        visitor_close(v);
}

static void on_server_closed(uv_handle_t *h)
{
    free(h);
}

int control_open(struct control **out, struct node *n, const char *path, char *why, size_t why_cap)
{
    int err = local_socket_claim(path, why, why_cap);
    if (err < 0)
        return err;
    struct control *c = calloc(1, sizeof *c);
    uv_pipe_t *server = calloc(1, sizeof *server);
    if (c == NULL || server == NULL) {
        snprintf(why, why_cap, "out of memory");
        free(c);
        free(server);
        return HELIO_ENOMEM;
    }
    c->node = n;
    c->server = server;
    list_init(&c->all);
    uv_pipe_init(n->loop, server, 0);
    server->data = c;
    err = uv_pipe_bind(server, path);
    if (err == 0)
        err = uv_listen((uv_stream_t *)server, 16, on_connection);
    if (err < 0) {
        snprintf(why, why_cap, "%s: %s", path, uv_strerror(err));
        uv_close((uv_handle_t *)server, on_server_closed);
        free(c);
        return HELIO_EIO;
    }
    *out = c;
    return 0;
}

void control_close(struct control *c)
{
    uv_close((uv_handle_t *)c->server, on_server_closed);
    list_for_each_safe (l, &c->all)
        visitor_close(container_of(l, struct visitor, node));
}

void control_free(struct control *c)
{
    free(c);
}
