/* SPDX-License-Identifier: Apache-2.0 */
/* The medium of the store, when it has room for less than store.limit. */
#ifndef NODE_MEDIUM_H
#define NODE_MEDIUM_H

#include <stdbool.h>

#include "node/node.h"

/* Bundle bytes for which it has room, those in the store included (storage_status): the agent keeps
 * to that from now on. */
void node_medium_fits(struct node *n, uint64_t bytes);
/* What limits the bundles' bytes at the moment: store.limit, or the medium. */
uint64_t node_medium_limit(const struct node *n);
bool node_medium_short(const struct node *n);
/* Once a second, and at the start: logs that the medium is short of room, that it got worse, and
 * that there is room again. */
void node_medium_watch(struct node *n);

#endif
