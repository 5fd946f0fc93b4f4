/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that are not each other's reverse, but carry the same sessions: nodes that send from
 * another socket than the one that is answered to, relays that change ports. */
#ifndef TOOLS_WATCH_JOIN_H
#define TOOLS_WATCH_JOIN_H

#include "tools/analyze/watch_pair.h"

/* From the segments that wait (in `held`): puts pairs together of which each has one direction
 * only; when sessions pass several pairs, finds at which of them their sender is, and at which
 * their receiver; gives these the same names. 0 or HELIO_ENOMEM. */
int watch_join(struct watch_pairs *w, struct list *held);

#endif
