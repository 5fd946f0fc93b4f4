/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soak: a case is drawn from a seed (two engines, a bad channel, blocks in both directions,
 * outages, restarts, cancellations), run in virtual time, and judged by what must hold for every
 * case.
 */
#ifndef TESTS_SIM_SOAK_H
#define TESTS_SIM_SOAK_H

#include "channel-emu/chan/chan.h"
#include "ltp/ltp.h"

#define SOAK_BLOCKS 24
#define SOAK_ACTIONS 44
#define SOAK_FORGED ((uint64_t)1 << 40) /* forged sessions have numbers from here on */

struct soak_block {
    size_t from; /* node */
    tick at;     /* not sent before */
    uint64_t red, green, service;
    bool orange; /* what is green */
};

enum soak_what {
    SOAK_LINK_DOWN, /* node knows that its link is down */
    SOAK_LINK_UP,
    SOAK_OUTAGE_BEGIN, /* the line from the node erases everything */
    SOAK_OUTAGE_END,
    SOAK_RESTART, /* of the node's engine */
    SOAK_CANCEL,  /* of a session chosen by `pick`, at the node */
    SOAK_ACCEPT,  /* of all blocks held back (confirm_import) at the node */
    SOAK_SPAN,    /* the node's span becomes another, drawn from `pick`, whatever is open */
    SOAK_FLOOD    /* an attacker opens sessions in the name of the node's peer, drawn from `pick` */
};

struct soak_action {
    tick at;
    enum soak_what what;
    size_t node;
    uint64_t pick;
};

struct soak_case {
    uint64_t seed;
    struct ltp_config engine[2];
    struct ltp_span span[2];
    struct chan_config line[2]; /* from node i */
    struct trace trace;         /* of both lines, if any run was added */
    bool fcs;
    bool safety_only; /* flipped bits reach the engines: sessions may fail */
    bool gentle;      /* nothing that would excuse a block that is not delivered */
    bool restarts;
    bool flooded;
    double memory_share; /* of the engines' allocations that fail, 0..1 */
    size_t blocks, actions;
    struct soak_block block[SOAK_BLOCKS];
    struct soak_action action[SOAK_ACTIONS]; /* sorted by time */
    uint64_t tx_bytes_max;                   /* that both engines together may send */
    uint64_t steps_max;
    tick end; /* by when all must be idle */
};

/* Draws a case, with `memory` one in which allocations fail (soak_memory.c); free it with
 * soak_fini.
 */
void soak_draw(struct soak_case *c, uint64_t seed, bool memory);
void soak_fini(struct soak_case *c);

/* The span of a node from an action SOAK_SPAN on: what the judgement does not need is drawn anew.
 */
struct ltp_span soak_span(const struct soak_case *c, const struct soak_action *a);

/* One line that shows what was drawn. */
void soak_describe(const struct soak_case *c, char *out, size_t cap);

struct soak_totals {
    uint64_t cases, gentle, blocks, red_delivered, orange, orange_lost, cancelled, steps, frames,
        lost, discarded;
};

/* Runs and judges. Returns true, or false with the reason in `why`. */
bool soak_run(const struct soak_case *c, struct soak_totals *totals, char *why, size_t cap);

/* From now on so many of the allocations within an engine's calls fail; how many did so far. */
void soak_memory_begin(uint64_t seed, double share);
uint64_t soak_memory_refused(void);

#endif
