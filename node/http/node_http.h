/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's HTTP server answers: metrics, the status page and its data. */
#ifndef NODE_HTTP_H
#define NODE_HTTP_H

#include "node/http/http_answer.h"
#include "node/node.h"

/* An http_maker, whose context is the node. link: its sessions are included; NULL: none. */
struct http_answer node_http_answer(void *node, enum http_kind kind, const char *link);
struct http_answer node_http_page(void); /* has no figures, needs no loop */

/* The node's counters and gauges in the text format of Prometheus. Names and meanings:
 * docs/metrics.md. The caller frees it; NULL: no memory. */
char *metrics_text(struct node *n, size_t *len);

/* The status page (status_page.html), as it is sent. */
extern const unsigned char status_page[];
extern const size_t status_page_len;

#endif
