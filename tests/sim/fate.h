/* SPDX-License-Identifier: Apache-2.0 */
/* A script's effects on single segments on their way into a channel: lose, repeat, delay or swap
 * the n-th of a kind from now on. */
#ifndef TESTS_SIM_FATE_H
#define TESTS_SIM_FATE_H

#include "sim/sim_world.h"
#include "tests/sim/trace.h"

enum fate_action { FATE_DROP, FATE_DUP, FATE_HOLD, FATE_SWAP };

struct fate_rule {
    size_t link;
    enum fate_action action;
    uint16_t types; /* bit per segment type */
    uint64_t skip;  /* matching segments to let pass before */
    uint64_t count; /* how many it then acts on; UINT64_MAX = all */
    tick delay;     /* DUP: of the copy; HOLD: of the segment */
};

struct fate_late; /* a frame that enters later */

struct fate {
    struct sim_world *world;
    struct trace_text *trace;
    struct fate_rule rules[32];
    size_t len;
    struct fate_late *late; /* sorted by due, then insertion */
};

void fate_init(struct fate *f, struct sim_world *w, struct trace_text *t);
void fate_fini(struct fate *f);

/* The types of a kind's name (any data checkpoint red green report report_ack cancel cancel_ack);
 * 0 when there is no such kind. */
uint16_t fate_kind(const char *name);

/* Returns 0 or HELIO_ESPACE. */
int fate_add(struct fate *f, const struct fate_rule *rule);

/* The hook of a world for segments; `context` is the struct fate. */
void fate_segment(void *context, size_t link, const uint8_t *data, size_t len);

/* When the next late frame enters; TICK_NEVER without one. */
tick fate_deadline(const struct fate *f);

/* Lets it enter; the world's time is its deadline. */
void fate_enter(struct fate *f);

#endif
