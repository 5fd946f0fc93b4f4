/* SPDX-License-Identifier: Apache-2.0 */
/* The node over HTTP: metrics for Prometheus, a status page and what it asks for. Only reads. */
#ifndef TOOLS_UV_HTTP_H
#define TOOLS_UV_HTTP_H

#include "tools/node/node.h"

struct http;

/* Listens as http.listen of the configuration says, in the node's loop; *out stays NULL when it
 * says nothing. 0, or an error with its text. */
int http_open(struct http **out, struct node *n, char *why, size_t why_cap);
void http_close(struct http *h); /* before the loop ends; NULL is allowed */
void http_free(struct http *h);  /* after it; NULL is allowed */

#endif
