/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTTP server answers to a path, whatever it serves; no sockets here. */
#ifndef NODE_HTTP_ANSWER_H
#define NODE_HTTP_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "os/address.h"

struct http_answer {
    unsigned status;
    const char *type; /* Content-Type; static */
    const char *text;
    size_t len;
    bool owned; /* the caller's to free */
};

/* What there is; those before HTTP_PAGE are made anew, by the program's loop. */
enum http_kind {
    HTTP_METRICS,
    HTTP_TOP,
    HTTP_BACKLOG,
    HTTP_PLAN,
    HTTP_SESSIONS,
    HTTP_STATUS,
    HTTP_PAGE,
    HTTP_NOTHING,
};

/* "/metrics", "/api/top", "/api/backlog", "/api/plan", "/api/sessions", "/api/status", "/". */
enum http_kind http_kind_of(const char *path);
/* Makes an answer in the loop of the program. `link`: that of the request's arguments, or NULL.
 * What it has not: http_nothing. */
typedef struct http_answer http_maker(void *context, enum http_kind kind, const char *link);

struct http_answer http_refusal(unsigned status, const char *text); /* text: static */
struct http_answer http_nothing(void);                              /* 404 */
struct http_answer http_json(json_t *o);                 /* takes it; NULL: no memory, 503 */
struct http_answer http_metrics(char *text, size_t len); /* the same */

/* May a request with this Host header (NULL: none) be answered? This prevents DNS rebinding: a page
 * of another site whose name was made to resolve to this host has that name in the header. Accepted
 * are localhost, the connection's local address `at`, and `names` (separated by blanks or commas),
 * with any port. */
bool http_host_ok(const char *host, const struct address *at, const char *names);

#endif
