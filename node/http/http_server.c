/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd has no thread of its own: its descriptor and its timeout wake this module's thread,
 * the only one with connections and answers. The last text of each kind is kept for early requests.
 * What can go wrong: the address is in use. A client without the token, with a wrong Host header or
 * two of them, or with an unknown request gets an error. Clients that keep connections open lose
 * them (http_visits.h). A page of another origin gets answers if `origins` has it; a browser asks
 * before by OPTIONS (Fetch standard, 3.3).
 */
#include "node/http/http_server.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/secret.h"
#include "node/http/http_text.h"
#include "node/http/http_visits.h"
#include "os/clock.h"
#include "os/net/address.h"
#include "os/process/priority.h"
#include "os/process/thread.h"

#define CONNECTIONS_MAX (2 * HTTP_VISITS_MAX) /* with those that are being shut down */
#define IDLE_SECONDS 30
#define LATE_EVERY TICK_S   /* looks for those that are late */
#define HEAD_MAX 65536      /* the library's own buffer is smaller */
#define ABOUT_CAP 256       /* of a link's name, whose sessions are kept; of a bundle's id */
#define CHANGE_MAX 4096     /* of the body of a change */
#define BODY_MAX (1u << 20) /* a longer one ends its connection; up to that it gets an answer */

/* The last text of a kind. */
struct kept {
    struct MHD_Response *response; /* NULL: none yet; it owns the text */
    struct http_answer answer;
    char about[ABOUT_CAP]; /* of HTTP_SESSIONS and HTTP_WHY */
    struct pace pace;
};

/* A request whose head was read. */
struct request {
    size_t len;  /* octets of its body that were received; beyond `room` they are not kept */
    size_t room; /* CHANGE_MAX for a POST; 0: no body is wanted */
    char text[]; /* with a zero behind it */
};

struct http_server {
    struct http_server_config config;
    struct MHD_Daemon *daemon;
    int stop; /* an eventfd */
    pthread_t thread;
    char *policy; /* of pages: whom they may ask */
    struct http_visits visits;
    struct kept kept[HTTP_PAGE];
};

/* The library notices that their sockets are shut down, and ends them. */
static void drop_visits(struct http_server *h)
{
    struct http_visit *v;
    const tick now = clock_now();
    while ((v = http_visits_drop(&h->visits, now)) != NULL)
        (void)shutdown(v->fd, SHUT_RDWR);
    if (h->config.cut != NULL)
        atomic_store(h->config.cut, h->visits.cut);
}

/* ---- permission ---- */

static bool has_token(struct MHD_Connection *c, const char *token)
{
    const char *given =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    return *token != '\0' && given != NULL && strncasecmp(given, "Bearer ", 7) == 0 &&
           secret_equal(token, strlen(token), given + 7, strlen(given + 7));
}

static bool is_permitted(const struct http_server *h, struct MHD_Connection *c)
{
    return *h->config.token == '\0' || has_token(c, h->config.token) ||
           has_token(c, h->config.change_token);
}

/* The origin of the page that asks, if it may read answers; NULL: none, or it may not. */
static const char *origin_of(const struct http_server *h, struct MHD_Connection *c)
{
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN);
    return origin != NULL && http_is_named(origin, h->config.origins) ? origin : NULL;
}

static int socket_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static struct http_visit *visit_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

struct hosts {
    const char *first, *end; /* of the first one: its value, and the NUL behind it */
    size_t len;
    bool bad; /* it continues after that NUL; or a name has a blank, which others may ignore */
};

/* The library terminates keys and values in place. So between the end of a value and the next field
 * there is only the end of a line, overwritten or not. Values at other places are ignored. */
static void note_gap(struct hosts *hosts, const char *next)
{
    const uintptr_t from = (uintptr_t)hosts->end, to = (uintptr_t)next;
    if (hosts->end == NULL || to <= from || to - from > HEAD_MAX)
        return;
    for (const char *c = hosts->end; c < next; c++)
        hosts->bad = hosts->bad || (*c != '\0' && strchr(" \t\r\n", *c) == NULL);
    hosts->end = NULL;
}

static enum MHD_Result note_host(void *context, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    struct hosts *hosts = context;
    (void)kind;
    note_gap(hosts, key);
    hosts->bad = hosts->bad || strpbrk(key, " \t") != NULL;
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) != 0)
        return MHD_YES;
    if (hosts->len++ == 0 && value != NULL) {
        hosts->first = value;
        hosts->end = value + strlen(value);
    }
    return MHD_YES;
}

/* The head of the request begins with the method. */
static struct hosts hosts_of(struct MHD_Connection *c, const char *method)
{
    struct hosts hosts = {0};
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    (void)MHD_get_connection_values(c, MHD_HEADER_KIND, note_host, &hosts);
    if (info != NULL)
        note_gap(&hosts, method + info->header_size);
    return hosts;
}

/* HTTP/1.0 has no Host, and no browser speaks it. RFC 9112 3.2: two of them are refused. */
static struct http_answer judge_host(const struct http_server *h, struct MHD_Connection *c,
                                     const char *method, const char *version)
{
    struct address at = {0};
    const struct hosts hosts = hosts_of(c, method);
    (void)address_bound(socket_of(c), &at);
    if (hosts.len > 1 || hosts.bad)
        return http_refusal(MHD_HTTP_BAD_REQUEST,
                            "one Host header, without control characters, is understood here\n");
    if (http_host_ok(hosts.first, &at, h->config.hosts) ||
        (hosts.len == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) == 0))
        return (struct http_answer){.status = MHD_HTTP_OK};
    return http_refusal(MHD_HTTP_MISDIRECTED_REQUEST,
                        "the Host header names another place; http.hosts of the "
                        "configuration has further names\n");
}

/* ---- answers ---- */

/* Takes its text, if that is owned. NULL: no memory. */
static struct MHD_Response *make_response(const struct http_server *h, const struct http_answer *a)
{
    struct MHD_Response *r =
        a->owned ? MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->text,
                                                   MHD_RESPMEM_MUST_FREE)
                 : MHD_create_response_from_buffer(a->len, (void *)(uintptr_t)a->text,
                                                   MHD_RESPMEM_PERSISTENT);
    if (r == NULL && a->owned)
        free((void *)(uintptr_t)a->text);
    if (r == NULL)
        return NULL;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Content-Security-Policy", h->policy);
    if (a->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    return r;
}

static void permit_origin(const struct http_server *h, struct MHD_Response *r, const char *origin)
{
    if (origin != NULL)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    if (*h->config.origins != '\0')
        MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN);
}

static enum MHD_Result queue_answer(const struct http_server *h, struct MHD_Connection *c,
                                    const struct http_answer *a)
{
    struct MHD_Response *r = make_response(h, a);
    if (r == NULL)
        return MHD_NO;
    permit_origin(h, r, origin_of(h, c));
    enum MHD_Result done = MHD_queue_response(c, a->status, r);
    MHD_destroy_response(r);
    return done;
}

/* The answer to a browser's question whether the page may ask. */
static enum MHD_Result answer_preflight(const struct http_server *h, struct MHD_Connection *c)
{
    const struct http_answer a = {MHD_HTTP_NO_CONTENT, "text/plain", "", 0, false};
    struct MHD_Response *r = make_response(h, &a);
    if (r == NULL)
        return MHD_NO;
    permit_origin(h, r, origin_of(h, c));
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", "Authorization, Content-Type");
    MHD_add_response_header(r, "Access-Control-Max-Age", "600");
    enum MHD_Result done = MHD_queue_response(c, a.status, r);
    MHD_destroy_response(r);
    return done;
}

/* The kept response is shared, so it has no header for one origin: that gets a copy of its own. */
static enum MHD_Result queue_kept(const struct http_server *h, struct MHD_Connection *c,
                                  const struct kept *k)
{
    struct http_answer copy = k->answer;
    if (origin_of(h, c) == NULL)
        return MHD_queue_response(c, MHD_HTTP_OK, k->response);
    copy.text = malloc(copy.len + 1);
    copy.owned = true;
    if (copy.text == NULL)
        return MHD_NO;
    memcpy((void *)(uintptr_t)copy.text, k->answer.text, copy.len);
    return queue_answer(h, c, &copy);
}

/* Makes a new text in place of the last one. False: *refusal has the reason. */
static bool renew_kept(struct http_server *h, const struct http_question *q,
                       struct http_answer *refusal)
{
    struct kept *k = &h->kept[q->kind];
    struct http_answer a;
    const tick began = clock_now();
    *refusal = http_refusal(MHD_HTTP_SERVICE_UNAVAILABLE, "the program ends\n");
    if (!http_desk_ask(h->config.desk, q, &a))
        return false;
    const tick now = clock_now();
    pace_made(&k->pace, now, now - began);
    if (a.status != MHD_HTTP_OK) {
        *refusal = a;
        return false;
    }
    *refusal = http_refusal(MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    struct MHD_Response *r = make_response(h, &a);
    if (r == NULL)
        return false;
    permit_origin(h, r, NULL);
    if (k->response != NULL)
        MHD_destroy_response(k->response);
    k->response = r;
    k->answer = a;
    (void)snprintf(k->about, sizeof k->about, "%s", q->about);
    return true;
}

/* Of a request's arguments, the one that its kind has. */
static const char *about_of(struct MHD_Connection *c, enum http_kind kind)
{
    const char *key = kind == HTTP_SESSIONS ? "link" : kind == HTTP_WHY ? "bundle" : NULL;
    const char *about =
        key == NULL ? NULL : MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);
    return about == NULL || strlen(about) >= ABOUT_CAP ? "" : about;
}

static enum MHD_Result answer_figures(struct http_server *h, struct MHD_Connection *c,
                                      enum http_kind kind)
{
    struct kept *k = &h->kept[kind];
    const struct http_question q = {.kind = kind, .about = about_of(c, kind), .from = ""};
    struct http_answer refusal =
        http_refusal(MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests; ask again in a second\n");
    const bool same = k->response != NULL && strcmp(k->about, q.about) == 0;
    if (pace_may(&k->pace, clock_now()) ? renew_kept(h, &q, &refusal) : same)
        return queue_kept(h, c, k);
    return queue_answer(h, c, &refusal);
}

static void client_of(struct MHD_Connection *c, struct address *from)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    *from = (struct address){0};
    if (info != NULL && info->client_addr->sa_family == AF_INET6)
        (void)address_from(slice_of(info->client_addr, sizeof(struct sockaddr_in6)), from);
    else if (info != NULL)
        (void)address_from(slice_of(info->client_addr, sizeof(struct sockaddr_in)), from);
}

static enum MHD_Result answer_change(struct http_server *h, struct MHD_Connection *c,
                                     const struct request *u)
{
    struct http_answer a;
    char text[ADDRESS_TEXT_MAX];
    struct address from;
    client_of(c, &from);
    if (*h->config.change_token == '\0')
        a = http_refusal(MHD_HTTP_FORBIDDEN, "nothing can be changed over HTTP: the node's "
                                             "configuration has no http.change_token\n");
    else if (!has_token(c, h->config.change_token))
        a = http_refusal(MHD_HTTP_UNAUTHORIZED, "the token for changes is missing or wrong\n");
    else if (u->len > CHANGE_MAX)
        a = http_refusal(MHD_HTTP_CONTENT_TOO_LARGE, "a change has up to 4096 octets\n");
    else if (!http_desk_ask(h->config.desk,
                            &(struct http_question){.kind = HTTP_CHANGE,
                                                    .about = u->text,
                                                    .from = address_write(&from, text)},
                            &a))
        a = http_refusal(MHD_HTTP_SERVICE_UNAVAILABLE, "the program ends\n");
    return queue_answer(h, c, &a);
}

static enum MHD_Result answer_get(struct http_server *h, struct MHD_Connection *c,
                                  enum http_kind kind)
{
    const bool is_page = kind == HTTP_PAGE || kind == HTTP_NETWORK_PAGE;
    struct http_answer a = kind == HTTP_PAGE ? h->config.page : h->config.network_page;
    if (!is_page && !is_permitted(h, c))
        a = http_refusal(MHD_HTTP_UNAUTHORIZED, "the token is missing or wrong\n");
    else if (kind == HTTP_CHANGE)
        a = http_refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only POST is understood here\n");
    else if (kind < HTTP_PAGE)
        return answer_figures(h, c, kind);
    else if (kind == HTTP_NOTHING || a.status == 0)
        a = http_nothing();
    return queue_answer(h, c, &a);
}

static enum MHD_Result answer_request(struct http_server *h, struct MHD_Connection *c,
                                      const char *url, const char *method, const char *version,
                                      const struct request *u)
{
    const enum http_kind kind = http_kind_of(url);
    struct http_answer a = judge_host(h, c, method, version);
    if (a.status == MHD_HTTP_OK && strcmp(method, "OPTIONS") == 0 && origin_of(h, c) != NULL)
        return answer_preflight(h, c);
    if (a.status == MHD_HTTP_OK && u->room > 0 && kind == HTTP_CHANGE)
        return answer_change(h, c, u);
    if (a.status == MHD_HTTP_OK && strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, "HEAD") != 0)
        a = http_refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is understood here\n");
    return a.status != MHD_HTTP_OK ? queue_answer(h, c, &a) : answer_get(h, c, kind);
}

/* NULL: no memory. */
static struct request *begin_request(const char *method)
{
    const size_t room = strcmp(method, MHD_HTTP_METHOD_POST) == 0 ? CHANGE_MAX : 0;
    struct request *u = calloc(1, sizeof *u + room + 1);
    if (u != NULL)
        u->room = room;
    return u;
}

/* False: it is too long. */
static bool add_body(struct request *u, const char *body, size_t len)
{
    const size_t left = u->len < u->room ? u->room - u->len : 0;
    memcpy(u->text + (left > 0 ? u->len : 0), body, len < left ? len : left);
    u->len += len;
    return u->len <= BODY_MAX;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_len, void **state)
{
    struct http_server *h = context;
    struct http_visit *visit = visit_of(c);
    struct request *u = *state;
    if (u == NULL) {
        *state = begin_request(method);
        if (visit != NULL && !visit->over)
            http_visits_asked(&h->visits, visit, clock_now());
        return *state == NULL ? MHD_NO : MHD_YES;
    }
    if (*body_len > 0) {
        const bool good = add_body(u, body, *body_len);
        *body_len = 0;
        return good ? MHD_YES : MHD_NO;
    }
    return answer_request(h, c, url, method, version, u);
}

/* ---- connections ---- */

static void on_connection(void *context, struct MHD_Connection *c, void **own,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *h = context;
    struct http_visit *v = *own;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (v != NULL)
            http_visits_sub(&h->visits, v);
        free(v);
        *own = NULL;
        return;
    }
    struct address from;
    client_of(c, &from);
    v = malloc(sizeof *v);
    if (v == NULL) {
        (void)shutdown(socket_of(c), SHUT_RDWR);
        return;
    }
    *own = v;
    http_visits_add(&h->visits, v, socket_of(c), &from, clock_now());
}

static void on_completed(void *context, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct http_server *h = context;
    struct http_visit *v = visit_of(c);
    (void)code;
    free(*state);
    *state = NULL;
    if (v != NULL && !v->over)
        http_visits_answered(&h->visits, v, clock_now());
}

/* ---- the thread ---- */

static tick next_turn(const struct http_server *h)
{
    MHD_UNSIGNED_LONG_LONG ms;
    tick wait = LATE_EVERY;
    if (MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms < LATE_EVERY / TICK_MS)
        wait = ms * TICK_MS;
    return clock_now() + wait;
}

static void *run_server(void *context)
{
    struct http_server *h = context;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd fds[] = {{.fd = info->epoll_fd, .events = POLLIN},
                           {.fd = h->stop, .events = POLLIN}};
    priority_lower();
    while ((fds[1].revents & POLLIN) == 0) {
        (void)clock_poll(fds, 2, next_turn(h));
        MHD_run(h->daemon); /* requests that are there are answered first */
        drop_visits(h);
    }
    return NULL;
}

/* ---- start and stop ---- */

static int bytes_family(const struct address *a)
{
    struct sockaddr head;
    memcpy(&head, address_bytes(a).data, sizeof head);
    return head.sa_family;
}

static int start_daemon(struct http_server *h, char *why, size_t why_cap)
{
    struct address at;
    const char *text = h->config.listen;
    if (http_listen_parse(text, &at) < 0) { /* checked with the configuration */
        snprintf(why, why_cap, "http.listen: %s is no address", text);
        return HELIO_EINVAL;
    }
    unsigned flags = MHD_USE_EPOLL | (bytes_family(&at) == AF_INET6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    h->daemon =
        MHD_start_daemon(flags, address_port(&at), NULL, NULL, on_request, h, MHD_OPTION_SOCK_ADDR,
                         address_bytes(&at).data, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                         MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_STRICT_FOR_CLIENT,
                         1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
                         MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
    if (h->daemon != NULL)
        return 0;
    int err = errno != 0 ? errno : EADDRINUSE;
    snprintf(why, why_cap, "http.listen: %s: %s", text, strerror(err));
    return helio_from_errno(err);
}

static int begin_serving(struct http_server *h, char *why, size_t why_cap)
{
    int err = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD) == NULL
                  ? HELIO_EIO
                  : thread_start(&h->thread, run_server, h);
    if (err < 0) {
        snprintf(why, why_cap, "http.listen: %s: %s", h->config.listen, helio_strerror(err));
        MHD_stop_daemon(h->daemon);
    }
    return err;
}

/* Pages have their script and style inside, and ask their own server, and those of `network`. */
static char *make_policy(const char *network)
{
    static const char head[] = "default-src 'none'; script-src 'unsafe-inline'; style-src "
                               "'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
                               "connect-src 'self' ";
    const size_t cap = sizeof head + strlen(network);
    char *text = malloc(cap);
    if (text != NULL)
        (void)snprintf(text, cap, "%s%s", head, network);
    return text;
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

int http_server_start(struct http_server **out, const struct http_server_config *config, char *why,
                      size_t why_cap)
{
    struct http_server *h = calloc(1, sizeof *h);
    int err = h == NULL ? HELIO_ENOMEM : 0;
    if (err == 0) {
        h->config = *config;
        h->config.change_token = or_empty(config->change_token);
        h->config.network = or_empty(config->network);
        h->config.origins = or_empty(config->origins);
        h->policy = make_policy(h->config.network);
        http_visits_init(&h->visits);
        for (size_t i = 0; i < HTTP_PAGE; i++)
            h->kept[i].pace = (struct pace){.share = HTTP_PACE_SHARE, .least = HTTP_PACE_LEAST};
        h->stop = h->policy == NULL ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        err = h->policy == NULL ? HELIO_ENOMEM : h->stop < 0 ? helio_from_errno(errno) : 0;
    }
    if (err < 0) {
        snprintf(why, why_cap, "http.listen: %s", helio_strerror(err));
        if (h != NULL)
            free(h->policy);
        free(h);
        return err;
    }
    err = start_daemon(h, why, why_cap);
    if (err == 0)
        err = begin_serving(h, why, why_cap);
    if (err < 0) {
        close(h->stop);
        free(h->policy);
        free(h);
        return err;
    }
    *out = h;
    return 0;
}

void http_server_stop(struct http_server *h)
{
    const uint64_t one = 1;
    const ssize_t n = write(h->stop, &one, sizeof one);
    assert(n == (ssize_t)sizeof one);
    (void)n;
    pthread_join(h->thread, NULL);
    MHD_stop_daemon(h->daemon);
    for (size_t i = 0; i < HTTP_PAGE; i++)
        if (h->kept[i].response != NULL)
            MHD_destroy_response(h->kept[i].response);
    close(h->stop);
    free(h->policy);
    free(h);
}
