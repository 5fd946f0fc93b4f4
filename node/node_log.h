/* SPDX-License-Identifier: Apache-2.0 */
/* The node's logs: segments (docs/segment-log.md) and bundles (docs/bundle-log.md). */
#ifndef NODE_LOG_H
#define NODE_LOG_H

#include "node/node.h"

/* The operator's log by the configuration, with the node's name in its JSON lines. */
void node_say_init(struct say *s, const struct config *config, const struct eid *node);

/* Opens what the configuration names, and sets the sinks; before the agent and the links. 0, or an
 * error that was said. */
int node_log_open(struct node *n);
bool node_log_any(const struct node *n);
void node_log_flush(struct node *n);  /* as log_writer_flush, both */
void node_log_reopen(struct node *n); /* after the files were moved away; logs the outcome */
int node_log_sync(struct node *n, unsigned timeout_ms); /* as log_writer_sync, both */
void node_log_close(struct node *n);

/* The line of the bundle log, with the link's name. */
uint32_t node_bundle_line(const struct node *n, const struct bundle_event *e, uint64_t epoch,
                          char out[BUNDLE_EVENT_CSV_MAX]);

#endif
