/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP service of a program: metrics for Prometheus, a status page and its data; and changes, for
 * who has the token for them. */
#ifndef NODE_UV_HTTP_H
#define NODE_UV_HTTP_H

#include "node/http/http_answer.h"

struct http;
struct uv_loop_s;

struct http_config {
    const char *listen, *hosts, *token; /* as in the configuration; they stay */
    const char *change_token;           /* likewise; "" or NULL: nothing can be changed */
    const char *network, *origins;      /* likewise; NULL: none */
    struct http_answer page;            /* of "/" */
    struct http_answer network_page;    /* of "/network"; status 0: there is none */
    _Atomic uint64_t *cut; /* is set to the number of connections closed for others; or NULL */
    struct uv_loop_s *loop;
    http_maker *make; /* called in the loop */
    void *context;
};

/* Listens as `listen` says, in a thread of its own, with texts from the program's loop; *out stays
 * NULL when it says nothing. 0, or an error with its text. */
int http_open(struct http **out, const struct http_config *config, char *why, size_t why_cap);
/* In the loop: the answer to the request that was to be answered later (HTTP_LATER). Takes it. */
void http_answer_later(struct http *h, const struct http_answer *a);
void http_close(struct http *h); /* before the loop ends; NULL is allowed */
void http_free(struct http *h);  /* after it; NULL is allowed */

#endif
