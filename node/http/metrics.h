/* SPDX-License-Identifier: Apache-2.0 */
/* What the node counts and measures, in the text format of Prometheus. */
#ifndef NODE_METRICS_H
#define NODE_METRICS_H

#include "node/node.h"

/* The caller's to free; NULL: memory is out. Names and meanings: docs/metrics.md. */
char *metrics_text(struct node *n, size_t *len);

#endif
