/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest events of bundles, for somebody who watches them (`helioctl watch bundles`), with or
 * without a bundle log. They are kept only while somebody asks: without that an event costs the
 * agent nothing but its counter.
 */
#ifndef NODE_EVENTS_H
#define NODE_EVENTS_H

#include "node/node.h"

#define NODE_EVENTS_KEPT 2048u         /* the latest */
#define NODE_EVENTS_SECOND 20000u      /* that get a line; docs/metrics.md has the cost of a line */
#define NODE_EVENTS_REST (30 * TICK_S) /* so long after the last question they are kept */

/* Somebody watches: events are kept from now on. 0, or HELIO_ENOMEM. */
int node_events_want(struct node *n);
/* The number of the latest event; they count from 1. 0: none is kept. */
uint64_t node_events_last(const struct node *n);
/* Event `number` as a line of the bundle log with its line feed, until the next event; NULL: it is
 * not kept any more, it was one of too many, or memory was out. */
const char *node_events_line(const struct node *n, uint64_t number);
/* Each second: nothing is kept any more if nobody has asked lately. */
void node_events_tick(struct node *n);
/* Before the agent is freed. */
void node_events_free(struct node *n);

#endif
