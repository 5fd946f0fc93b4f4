/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server of a node or a provider, in a thread with a low priority, so that a flood of
 * requests does not slow the program's loop. It requests texts from the loop (http_desk.h).
 */
#ifndef NODE_HTTP_SERVER_H
#define NODE_HTTP_SERVER_H

#include "node/http/http_desk.h"

struct http_server;

struct http_server_config {
    const char *listen, *hosts, *token; /* as in the configuration; they stay */
    const char *change_token;           /* likewise; "" or NULL: nothing can be changed */
    const char *network, *origins;      /* likewise; NULL: none */
    struct http_answer page;            /* of "/" */
    struct http_answer network_page;    /* of "/network"; status 0: there is none */
    struct http_desk *desk;             /* the same */
    _Atomic uint64_t *cut; /* is set to the number of connections closed for others; or NULL */
};

/* It serves from now on. 0, or an error with its text. */
int http_server_start(struct http_server **out, const struct http_server_config *config, char *why,
                      size_t why_cap);
/* The desk is closed. Waits for the end of the thread. */
void http_server_stop(struct http_server *s);

#endif
