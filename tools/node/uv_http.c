/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd has no thread here: its descriptor and its timeout wake the node's loop, and
 * answers are made in the node's thread, from what it knows at the moment. What can go wrong: the
 * address is in use; a client without the token, or one that asks for what there is not, is told
 * so; too many clients wait.
 */
#include "tools/node/uv_http.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/err.h"
#include "os/address.h"
#include "tools/node/http_answer.h"

#define CONNECTIONS_MAX 64
#define CONNECTIONS_OF_ONE 16 /* address: who holds them all keeps out nobody else */
#define IDLE_SECONDS 30

struct http {
    struct node *node;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    uv_timer_t timer;
    bool closing;
};

static void on_time(uv_timer_t *t);

static void run_daemon(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (h->closing)
        return;
    MHD_run(h->daemon);
    if (MHD_get_timeout(h->daemon, &ms) != MHD_YES)
        uv_timer_stop(&h->timer);
    else
        uv_timer_start(&h->timer, on_time, ms, 0);
}

static void on_time(uv_timer_t *t)
{
    run_daemon(t->data);
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    (void)status;
    (void)events;
    run_daemon(p->data);
}

/* The same time whatever is wrong with it. */
static bool same_token(const char *given, const char *token)
{
    size_t len = strlen(token), n = strlen(given);
    unsigned char differ = n != len;
    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(token[i] ^ given[i < n ? i : 0]);
    return differ == 0;
}

static bool is_permitted(const struct http *h, struct MHD_Connection *c)
{
    const char *token = h->node->config->http.token;
    const char *given =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (*token == '\0')
        return true;
    return given != NULL && strncmp(given, "Bearer ", 7) == 0 && same_token(given + 7, token);
}

static enum MHD_Result queue_answer(struct MHD_Connection *c, const struct http_answer *a)
{
    struct MHD_Response *r =
        a->owned ? MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->text,
                                                   MHD_RESPMEM_MUST_FREE)
                 : MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->text,
                                                   MHD_RESPMEM_PERSISTENT);
    if (r == NULL)
        return MHD_NO;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; script-src 'unsafe-inline'; style-src "
                            "'unsafe-inline'; connect-src 'self'; img-src data:; "
                            "frame-ancestors 'none'");
    if (a->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    enum MHD_Result done = MHD_queue_response(c, a->status, r);
    MHD_destroy_response(r);
    return done;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_len, void **state)
{
    static char seen; /* its address says that the head was read before */
    struct http *h = context;
    struct http_answer a;
    (void)version;
    (void)body;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (*body_len > 0) { /* nobody wants it */
        *body_len = 0;
        return MHD_YES;
    }
    bool get = strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, "HEAD") == 0;
    const char *link = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "link");
    if (!get)
        a = http_refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is understood here\n");
    else if (!http_is_open(url) && !is_permitted(h, c))
        a = http_refusal(MHD_HTTP_UNAUTHORIZED, "the token is missing or wrong\n");
    else
        a = http_answer(h->node, url, link);
    return queue_answer(c, &a);
}

/* ---- open and closed ---- */

static int begin_handles(struct http *h)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    int r = info == NULL ? UV_ENOTSUP : uv_poll_init(h->node->loop, &h->poll, info->epoll_fd);
    if (r < 0)
        return r;
    uv_timer_init(h->node->loop, &h->timer);
    h->poll.data = h->timer.data = h;
    return uv_poll_start(&h->poll, UV_READABLE, on_ready);
}

static int bytes_family(const struct address *a)
{
    struct sockaddr head;
    memcpy(&head, address_bytes(a).data, sizeof head);
    return head.sa_family;
}

static int start_daemon(struct http *h, const char *text, char *why, size_t why_cap)
{
    struct address at;
    if (http_listen_parse(text, &at) < 0) { /* checked with the configuration */
        snprintf(why, why_cap, "http.listen: %s is no address", text);
        return HELIO_EINVAL;
    }
    unsigned flags = MHD_USE_EPOLL | (bytes_family(&at) == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    h->daemon =
        MHD_start_daemon(flags, address_port(&at), NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR,
                         address_bytes(&at).data, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                         MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_OF_ONE,
                         MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
    if (h->daemon != NULL)
        return 0;
    int err = errno != 0 ? errno : EADDRINUSE;
    snprintf(why, why_cap, "http.listen: %s: %s", text, strerror(err));
    return helio_from_errno(err);
}

int http_open(struct http **out, struct node *n, char *why, size_t why_cap)
{
    const char *text = n->config->http.listen;
    if (*text == '\0')
        return 0;
    struct http *h = calloc(1, sizeof *h);
    if (h == NULL) {
        snprintf(why, why_cap, "out of memory");
        return HELIO_ENOMEM;
    }
    h->node = n;
    int err = start_daemon(h, text, why, why_cap);
    if (err == 0 && begin_handles(h) < 0) {
        snprintf(why, why_cap, "http.listen: %s: the library has no epoll", text);
        MHD_stop_daemon(h->daemon);
        err = HELIO_EIO;
    }
    if (err < 0) {
        free(h);
        return err;
    }
    *out = h;
    return 0;
}

void http_close(struct http *h)
{
    if (h == NULL || h->closing)
        return;
    h->closing = true;
    uv_poll_stop(&h->poll);
    uv_close((uv_handle_t *)&h->poll, NULL);
    uv_timer_stop(&h->timer);
    uv_close((uv_handle_t *)&h->timer, NULL);
    assert(h->daemon != NULL);
    MHD_stop_daemon(h->daemon);
}

void http_free(struct http *h)
{
    free(h);
}
