/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's contact plan (key `plan`): where bundles go by it, and its contacts open and close the
 * links. What the plan does not know goes by the static routes.
 */
#ifndef TOOLS_NODE_PLAN_H
#define TOOLS_NODE_PLAN_H

#include "tools/node/node.h"

struct node_plan;

/* Reads the file and takes the place of the static routes; nothing when there is no such key. With
 * the links open. 0, or an error that was said. Times without a date count from now. */
int node_plan_open(struct node *n);
void node_plan_rest(struct node *n);  /* nothing happens any more */
void node_plan_close(struct node *n); /* after that, and after the agent */

/* A link began or is no more; nothing without a plan. */
int node_plan_link(struct node_link *l);
void node_plan_unlink(struct node_link *l);

#endif
