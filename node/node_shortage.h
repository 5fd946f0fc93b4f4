/* SPDX-License-Identifier: Apache-2.0 */
/* Explains in words why there is no room for a bundle: the key of the limit, how much is used, and
 * by what. Also by how much a bundle would be too late. */
#ifndef NODE_NODE_SHORTAGE_H
#define NODE_NODE_SHORTAGE_H

#include "bp/agent/agent.h"

struct node;

#define SHORTAGE_TEXT_MAX (EID_TEXT_MAX + 224)

/* The name of a link by its number; "(removed)". */
const char *node_shortage_link(const struct node *n, int link);

/* "bundles.endpoint: 56 of 56 bundles for ipn:2.9"; "no limit is known" if there was none. */
const char *node_shortage_text(const struct node *n, const struct agent_shortage *s,
                               char out[SHORTAGE_TEXT_MAX]);
/* "the earliest arrival is 2026-11-29T15:00:00Z (in 60 min), its lifetime ends
 * 2026-11-29T14:01:00Z (in 60 s)"; without dates while the clock is not known. Times are those of
 * agent_late; arrival 0: it is not known. */
#define LATE_TEXT_MAX 192
const char *node_late_text(const struct node *n, tick arrival, tick expires,
                           char out[LATE_TEXT_MAX]);
/* Of a refusal that agent_send has just returned, or that is known else: the same, behind its text.
 */
#define REFUSAL_TEXT_MAX (SHORTAGE_TEXT_MAX + 128)
const char *node_refusal_text(const struct node *n, enum agent_refusal refusal,
                              char out[REFUSAL_TEXT_MAX]);

#endif
