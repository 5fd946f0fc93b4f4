/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's HTTP server answers: metrics, the status page and its data. */
#ifndef NODE_HTTP_H
#define NODE_HTTP_H

#include "node/http/http_answer.h"
#include "node/node.h"

/* An http_maker, whose context is the node. */
struct http_answer node_http_answer(void *node, const struct http_question *q);
/* Pages have no figures, and need no loop: of this node, and of it and those of http.network. */
struct http_answer node_http_page(void);
struct http_answer node_http_network_page(void);
/* node_http_change.c: a change of a link, whose request is as on the control socket: "link" or
 * "link-set"; it may be answered later. */
struct http_answer node_http_change(struct node *n, const struct http_question *q);

/* The node's counters and gauges in the text format of Prometheus. Names and meanings:
 * docs/metrics.md. The caller frees it; NULL: no memory. */
char *metrics_text(struct node *n, size_t *len);

/* The pages (status_page.html, network_page.html), as they are sent. */
extern const unsigned char status_page[], network_page[];
extern const size_t status_page_len, network_page_len;

#endif
