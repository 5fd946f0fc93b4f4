/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP server answers to a path, whatever it serves; no sockets here. */
#ifndef NODE_HTTP_ANSWER_H
#define NODE_HTTP_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "os/net/address.h"

struct http_answer {
    unsigned status;
    const char *type; /* Content-Type; static */
    const char *text;
    size_t len;
    bool owned; /* the caller's to free */
};

/* What there is; those before HTTP_PAGE are made anew, by the program's loop. HTTP_CHANGE is none
 * of them: it is asked for by POST, and not kept. */
enum http_kind {
    HTTP_METRICS,
    HTTP_TOP,
    HTTP_BACKLOG,
    HTTP_PLAN,
    HTTP_SESSIONS,
    HTTP_WHY,
    HTTP_EVENTS,
    HTTP_NETWORK,
    HTTP_STATUS,
    HTTP_PAGE,
    HTTP_NETWORK_PAGE,
    HTTP_CHANGE,
    HTTP_NOTHING,
};

/* "/metrics", "/api/" with top, backlog, plan, sessions, why, events, network, status or change,
 * "/", "/network". */
enum http_kind http_kind_of(const char *path);

/* A request, as the program's loop gets it. Texts are borrowed until it is answered. */
struct http_question {
    enum http_kind kind;
    /* link of HTTP_SESSIONS, bundle of HTTP_WHY, body of HTTP_CHANGE; else "" */
    const char *about;
    const char *from; /* address of the client of HTTP_CHANGE; else "" */
};

/* Makes an answer in the loop of the program. What it has not: http_nothing. With the status
 * HTTP_LATER the answer follows by http_answer_later, and the question's texts are gone before. */
#define HTTP_LATER 0
typedef struct http_answer http_maker(void *context, const struct http_question *q);

struct http_answer http_refusal(unsigned status, const char *text); /* text: static */
struct http_answer http_nothing(void);                              /* 404 */
struct http_answer http_json(json_t *o);                 /* takes it; NULL: no memory, 503 */
struct http_answer http_metrics(char *text, size_t len); /* the same */

/* Is this text one of `words`, which have blanks or commas between them? Without regard to case. */
bool http_is_named(const char *text, const char *words);

/* May a request with this Host header (NULL: none) be answered? This prevents DNS rebinding: a page
 * of another site whose name was made to resolve to this host has that name in the header. Accepted
 * are localhost, the connection's local address `at`, and `names` (separated by blanks or commas),
 * with any port. */
bool http_host_ok(const char *host, const struct address *at, const char *names);

#endif
