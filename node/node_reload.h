/* SPDX-License-Identifier: Apache-2.0 */
/* The node's file read again while the node runs. */
#ifndef NODE_RELOAD_H
#define NODE_RELOAD_H

#include "node/node.h"

struct json_t;

/*
 * Applies what differs from the file as it was read last: links that come, go, or have other values
 * for keys that can change; routes; the plan, when its name or its file is another one; the log's
 * level and form. What cannot change while the node runs is named, each time, until the node is
 * started anew. All of it goes to the log; `out` (NULL: nobody wants it) gets the lists "applied"
 * and "refused". 0; HELIO_EFORMAT: the file is wrong, which was told, with "error" in out, and
 * nothing changed; HELIO_ENOENT: the node has no file.
 */
void node_reload_begin(struct node *n); /* at the start: the plan was read */
int node_reload(struct node *n, struct json_t *out);
void node_reload_free(struct node *n); /* at the end: the file as it was read last */

#endif
