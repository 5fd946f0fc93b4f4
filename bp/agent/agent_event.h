/* SPDX-License-Identifier: Apache-2.0 */
/* Events of bundles. Private to bp/agent. */
#ifndef BP_AGENT_EVENT_H
#define BP_AGENT_EVENT_H

#include "bp/agent/event.h"
#include "bp/agent/forwarding/agent_forwarding.h"

struct agent_head;
struct bundle;

/* agent_event.c: makes an event of a bundle and counts it; called before it changes its state to
 * ended. Links and queues are the present ones. */
void emit_step(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f);
/* reason: static text, or NULL */
void emit_reason(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                 const char *reason);
void emit_application(struct agent *a, enum bundle_event_kind kind, const struct forwarding *f,
                      uint64_t reg);
void emit_declined(struct agent *a, const struct forwarding *f, uint64_t reg, const char *reason);
void emit_end(struct agent *a, const struct forwarding *f, enum agent_end why);
void emit_not_stored(struct agent *a, const struct forwarding *f);
/* For bundles without a record; b NULL: it could not be decoded. REFUSE_NONE: consumed. */
void emit_refused(struct agent *a, const struct bundle *b, uint64_t bytes, enum bundle_origin from,
                  int link, enum agent_refusal refusal);
void emit_reported(struct agent *a, const struct agent_head *h, const char *item);

#endif
