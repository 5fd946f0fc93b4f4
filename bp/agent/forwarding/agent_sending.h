/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that links have in transmission. Private to bp/agent. */
#ifndef BP_AGENT_SENDING_H
#define BP_AGENT_SENDING_H

#include <stdbool.h>

struct agent;
struct buf;
struct queue;
struct forwarding;

/* May the link get this bundle now? */
bool sending_permits(const struct agent *a, const struct queue *q, const struct forwarding *f);
/* May the bundle at the head of a link's queue be loaded, although memory_make_room found no
 * room? */
bool sending_permits_load(const struct agent *a, const struct forwarding *f);
/* If not: the queue is woken when bytes return. The link has bytes in transmission. */
void sending_wait(struct agent *a, struct queue *q);
/* The link has none. The paused bundle is roomless from now on: as the first one if it was before,
 * else as the last one. */
void sending_await_room(struct agent *a, struct forwarding *f, bool again);
/* Its roomless bundle that may return to the bands, because there is room; NULL: none. */
struct forwarding *sending_next(const struct agent *a, const struct queue *q);
/* `out` was given to the link; its outcome is known. */
void sending_add(struct agent *a, struct forwarding *f, const struct buf *out);
void sending_sub(struct agent *a, struct forwarding *f);
void sending_check(const struct agent *a, const struct queue *q);

#endif
