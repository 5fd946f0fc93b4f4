/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's HTTP server answers. */
#ifndef NODE_HTTP_H
#define NODE_HTTP_H

#include "node/http/http_answer.h"
#include "node/node.h"

/* An http_maker, whose context is the node. link: its sessions are included; NULL: none. */
struct http_answer node_http_answer(void *node, enum http_kind kind, const char *link);
struct http_answer node_http_page(void); /* has no figures, needs no loop */

#endif
