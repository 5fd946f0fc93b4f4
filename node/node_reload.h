/* SPDX-License-Identifier: Apache-2.0 */
/* The node's file read again while the node runs. */
#ifndef NODE_RELOAD_H
#define NODE_RELOAD_H

#include "node/node.h"

struct json_t;

/*
 * Reads the file, and the certificates that it names, in another thread (node_change.h), then
 * applies what differs from the file as it was read last: links that come, go, or have other values
 * for keys that can change; routes; the plan, when its name or its file is another one; the log's
 * level and form. What cannot change while the node runs is named, each time, until the node is
 * started anew. All of it goes to the log.
 *
 * `done` (NULL: nobody wants to know) gets 0 and the lists "applied" and "refused" in out, which is
 * borrowed; or HELIO_EFORMAT: the file is wrong, which was logged, with "error" in out, and nothing
 * changed; or HELIO_ENOENT: the node is stopping. It may come from within the call. Returns 0, or
 * an error, then nothing follows: HELIO_ENOENT: the node has no file, or is stopping;
 * HELIO_ENOMEM; HELIO_EAGAIN: too many changes wait, which was logged.
 */
typedef void node_reloaded(void *context, int rc, struct json_t *out);
int node_reload(struct node *n, node_reloaded *done, void *context);

void node_reload_begin(struct node *n); /* at the start: the plan was read */
void node_reload_free(struct node *n);  /* at the end: the file as it was read last */

#endif
