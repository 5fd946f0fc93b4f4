/* SPDX-License-Identifier: Apache-2.0 */
/* Which transmissions of a session's checkpoints were lost, one by one, according to the logs. */
#ifndef TOOLS_ANALYZE_CHECKPOINT_H
#define TOOLS_ANALYZE_CHECKPOINT_H

#include "tools/analyze/analyze.h"

/* NULL: not there. */
struct analyze_cp *analyze_cp_find(const struct analyze_session *s, uint64_t serial);

/* A checkpoint at its sender, at its receiver, in a drop log. 0 or HELIO_ENOMEM. */
int analyze_cp_sent(struct analyze_session *s, const struct event *e);
int analyze_cp_arrived(struct analyze_session *s, const struct event *e);
void analyze_cp_dropped(struct analyze_session *s, uint64_t serial);

/* Transmissions that never arrived, according to both ends' logs. Transmissions that may still have
 * been in transit when the logs ended, at `end`, are not counted. */
uint64_t analyze_cp_missing(const struct analyze_session *s, tick end);

/* Of s->basis: how many transmissions of one checkpoint were lost without a break, at most. */
uint64_t analyze_cp_run(const struct analyze_session *s, tick end);

/* Of s->basis: timeouts that lost checkpoints cost. */
uint64_t analyze_cp_waits(const struct analyze_session *s, tick end);

void analyze_cp_fini(struct analyze_session *s);

#endif
