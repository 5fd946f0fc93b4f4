/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of the analyzer: flows, paths, and what each row counts in its session. */
#ifndef TOOLS_ANALYZE_FLOW_H
#define TOOLS_ANALYZE_FLOW_H

#include "tools/analyze/analyze.h"

/* The path between two engines, made when it is new; the last one when there are too many. NULL
 * when memory is out. */
struct analyze_path *analyze_path_of(struct analyze *a, uint64_t originator, uint64_t peer);

/* Adds a finished session to its flow. 0 or HELIO_ENOMEM. */
int analyze_flow_add(struct analyze *a, const struct analyze_session *s);

void analyze_flows_fini(struct analyze *a);

/* The time of the run that ends is kept apart from the next one's. */
void analyze_flows_next_run(struct analyze *a);

/* A segment or a timer of a session, at its sender and at its receiver. 0 or HELIO_ENOMEM. */
int analyze_at_sender(struct analyze *a, struct analyze_session *s, const struct event *e);
int analyze_at_receiver(struct analyze *a, struct analyze_session *s, const struct event *e);

/* A frame that a drop log names. */
int analyze_dropped(struct analyze *a, struct analyze_session *s, const struct drop_event *d);

/* The bin of a time in the path's series; NULL when there is to be none, or memory is out. */
struct series_bin *analyze_bin(struct analyze *a, struct analyze_path *p, tick now);

#endif
