/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's HTTP server answers. */
#ifndef TOOLS_NODE_HTTP_H
#define TOOLS_NODE_HTTP_H

#include "tools/node/http_answer.h"
#include "tools/node/node.h"

/* An http_maker, whose context is the node. link: whose sessions, or NULL: of none. */
struct http_answer node_http_answer(void *node, enum http_kind kind, const char *link);
struct http_answer node_http_page(void); /* has no figures, needs no loop */

#endif
