/* SPDX-License-Identifier: Apache-2.0 */
/* What the node's HTTP server answers to a path; no sockets here. */
#ifndef TOOLS_HTTP_ANSWER_H
#define TOOLS_HTTP_ANSWER_H

#include "tools/node/node.h"

struct http_answer {
    unsigned status;
    const char *type; /* Content-Type; static */
    const char *text;
    size_t len;
    bool owned; /* the caller's to free */
};

/* path: "/", "/metrics", "/api/top", "/api/backlog", "/api/plan", "/api/sessions" (link: of which,
 * or NULL: all). Others: 404. */
struct http_answer http_answer(struct node *n, const char *path, const char *link);
struct http_answer http_refusal(unsigned status, const char *text); /* text: static */
/* Whoever asks may have it: the page has no figures in it. */
bool http_is_open(const char *path);

/* "127.0.0.1:9464", "[::1]:9464", or a port: of 127.0.0.1. 0 or an error of address_parse. */
int http_listen_parse(const char *text, struct address *out);

#endif
