/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most quantities are drawn from their logarithm, so that small and large ones are met alike, and
 * about half of the evils are absent from any one case. Times hang together: everything is measured
 * in round trips. Bounds are generous; they are there to catch what never ends.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/sim/soak.h"

static double between(struct rng *r, double low, double high)
{
    return low + (high - low) * rng_unit(r);
}

/* Uniform in its logarithm, both ends above 0. */
static double log_between(struct rng *r, double low, double high)
{
    return low * pow(high / low, rng_unit(r));
}

static uint64_t integer(struct rng *r, uint64_t low, uint64_t high)
{
    return low + rng_below(r, high - low + 1);
}

static tick serial_time(const struct chan_config *line, uint64_t bytes)
{
    return (tick)((double)bytes * 8e9 / (double)line->rate_bps);
}

/* Two lines of one delay; the rest differs. */
static void draw_lines(struct soak_case *c, struct rng *r)
{
    tick delay = (tick)log_between(r, 1e6, 4 * 3600e9);
    bool lossy = rng_chance(r, 0.6), dup = rng_chance(r, 0.3), reorder = rng_chance(r, 0.3);
    bool corrupt = rng_chance(r, 0.2);
    for (int i = 0; i < 2; i++) {
        struct chan_config *l = &c->line[i];
        l->delay = delay;
        l->rate_bps = (uint64_t)log_between(r, 1e5, 1e9);
        l->overhead = (uint32_t)integer(r, 0, 60);
        l->loss = lossy && rng_chance(r, 0.8) ? between(r, 0, 0.4) : 0;
        l->duplicate = dup ? between(r, 0, 0.3) : 0;
        l->jitter = reorder ? (tick)log_between(r, 1e3, (double)delay) : 0;
        l->corrupt = corrupt ? between(r, 0, 0.05) : 0;
        l->seed = rng_u64(r);
    }
    c->fcs = corrupt && rng_chance(r, 0.5);
    c->safety_only = corrupt && !c->fcs;
}

/* Bursts of erasures on both lines: bad up to a third of the time. */
static void draw_bursts(struct soak_case *c, struct rng *r, tick round)
{
    trace_init(&c->trace, round / 1000 + 1);
    if (!rng_chance(r, 0.3))
        return;
    double bad = log_between(r, 20, 2000), good = bad * between(r, 2, 20);
    for (int i = 0; i < 2000; i++) {
        double mean = i % 2 == 0 ? good : bad;
        uint64_t steps = 1 + (uint64_t)(-mean * log(1 - rng_unit(r)));
        if (trace_add(&c->trace, i % 2 == 1, steps) != 0)
            abort();
    }
    for (int i = 0; i < 2; i++) {
        c->line[i].trace = &c->trace;
        c->line[i].trace_offset = rng_below(r, 1000) * c->trace.step;
    }
}

static void draw_blocks(struct soak_case *c, struct rng *r, tick round)
{
    bool both = rng_chance(r, 0.5);
    c->blocks = integer(r, 1, SOAK_BLOCKS);
    tick at = 0;
    for (size_t i = 0; i < c->blocks; i++) {
        struct soak_block *b = &c->block[i];
        uint64_t len = (uint64_t)log_between(r, 1, 120000);
        uint64_t kind = rng_below(r, 10);
        b->from = both ? rng_below(r, 2) : 0;
        b->red = kind < 6 ? len : kind < 8 ? rng_below(r, len + 1) : 0;
        b->green = len - b->red;
        b->orange = b->red == 0 && rng_chance(r, 0.8);
        b->service = rng_chance(r, 0.03) ? 7 : 1;
        b->at = at;
        at += rng_chance(r, 0.5) ? 0 : rng_below(r, round);
    }
}

/* How long the slower line needs for all blocks and their overhead once. */
static tick radiation(const struct soak_case *c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->blocks; i++) {
        uint64_t len = c->block[i].red + c->block[i].green;
        bytes += len + (len / 24 + 2) * (LTP_HEAD_MAX + 60);
    }
    tick a = serial_time(&c->line[0], bytes), b = serial_time(&c->line[1], bytes);
    return a > b ? a : b;
}

static void draw_engines(struct soak_case *c, struct rng *r, tick round)
{
    bool hasty = rng_chance(r, 0.15);
    for (size_t i = 0; i < 2; i++) {
        c->engine[i] = (struct ltp_config){.engine = i + 1, .seed = rng_u64(r)};
        struct ltp_span *s = &c->span[i];
        s->peer = 2 - i;
        s->segment_max = (uint32_t)log_between(r, 64, 1400);
        s->checkpoint_extra = s->segment_max % 3 * (LTP_CHECKPOINT_EXTRA / 2);
        s->export_sessions = (uint32_t)integer(r, 1, 8);
        s->ranges_max = 4096;
        s->claims_max = (uint32_t)integer(r, 1, 20);
        s->report_delay = rng_chance(r, 0.5) ? 0 : rng_below(r, round / 4 + 1);
        s->report_defer = s->segment_max % 3 == 0 ? round / 8 : 0; /* within what a timer allows */
        s->retries_max = hasty ? (uint32_t)integer(r, 1, 10) : 40;
        s->rto = (tick)(between(r, hasty ? 0.3 : 1.3, 3) * (double)round);
        if (s->rto < 100 * TICK_US)
            s->rto = 100 * TICK_US;
        s->confirm_import = rng_chance(r, 0.2);
    }
    for (int i = 0; i < 2; i++) {
        c->span[i].orange_wait = rng_chance(r, 0.5) ? 1 + rng_below(r, 2 * round) : 0;
        c->span[i].orange_answer = rng_chance(r, 0.3) ? 1 + rng_below(r, 4 * round) : 0;
        c->span[i].orange_deaf = rng_chance(r, 0.1);
        c->span[i].idle_timeout = 100 * (c->span[0].rto + c->span[1].rto);
        /* nothing of a session may come later than that, or it is a new one */
        c->engine[i].closed_time = 3 * c->span[i].idle_timeout;
    }
    /* a short trace that repeats may meet every repetition of a timer */
    tick longest = c->span[0].rto > c->span[1].rto ? c->span[0].rto : c->span[1].rto;
    bool repeats = c->trace.len > 0 && c->trace.steps * c->trace.step < 60 * longest;
    c->gentle = !hasty && !c->safety_only && !repeats;
}

/* Each switch by itself, so that all their combinations are met. */
static void draw_switches(struct ltp_recovery *k, struct rng *r, tick round)
{
    k->rto_auto = rng_chance(r, 0.5);
    k->closing_bytes = rng_chance(r, 0.5) ? (uint32_t)integer(r, 1, 64) : 0;
    k->copies = rng_chance(r, 0.5) ? (uint32_t)integer(r, 1, 6) : 0;
    k->report_copies = rng_chance(r, 0.3) ? (uint32_t)integer(r, 1, 6) : 0;
    k->copy_spacing = 1 + (tick)(between(r, 0, 0.6) * (double)round);
    k->checkpoint_segments = rng_chance(r, 0.4) ? (uint32_t)integer(r, 1, 40) : 0;
    k->checkpoint_time = rng_chance(r, 0.2) ? 1 + rng_below(r, round / 4 + 1) : 0;
    k->resend_wait = rng_chance(r, 0.3) ? rng_below(r, round) : 0;
    k->merge_claims = rng_chance(r, 0.5);
    k->oldest_first = rng_chance(r, 0.5);
    k->sessions_auto = rng_chance(r, 0.3);
    k->sessions_age = 1 + rng_below(r, 10 * round);
    k->sessions_bytes = (uint64_t)log_between(r, 1000, 1e6);
}

/* Both ends differ. */
static void draw_recovery(struct soak_case *c, struct rng *r, tick round)
{
    for (int i = 0; i < 2; i++) {
        if (rng_chance(r, 0.4))
            continue;
        draw_switches(&c->span[i].recovery, r, round);
        c->span[i].profile = rng_chance(r, 0.5) ? LTP_PROFILE_AUTO : LTP_PROFILE_HELIOGRAPH;
    }
}

/* Limits that are met: what they refuse may come again until a retry limit ends it. */
static void draw_limits(struct soak_case *c, struct rng *r)
{
    if (!rng_chance(r, 0.1))
        return;
    c->gentle = false;
    /* few ranges and many gaps: each cycle brings little and repeats all */
    for (size_t i = 0; i < c->blocks; i++) {
        c->block[i].red = c->block[i].red > 20000 ? c->block[i].red / 10 : c->block[i].red;
        c->block[i].green = c->block[i].green > 20000 ? c->block[i].green / 10 : c->block[i].green;
    }
    for (int i = 0; i < 2; i++) {
        c->span[i].import_sessions = (uint32_t)integer(r, 1, 4);
        c->span[i].ranges_max = (uint32_t)integer(r, 3, 12);
        c->span[i].block_max = (uint64_t)log_between(r, 1000, 40000);
        c->engine[i].held_bytes = (uint64_t)log_between(r, 10000, 100000);
    }
}

static void add_action(struct soak_case *c, tick at, enum soak_what what, size_t node,
                       uint64_t pick)
{
    size_t i = c->actions++;
    while (i > 0 && c->action[i - 1].at > at) {
        c->action[i] = c->action[i - 1];
        i--;
    }
    c->action[i] = (struct soak_action){at, what, node, pick};
}

static void draw_outages(struct soak_case *c, struct rng *r, tick round)
{
    if (!rng_chance(r, 0.4))
        return;
    tick at[2] = {0, 0};
    for (uint64_t n = integer(r, 1, 3); n > 0; n--) {
        size_t node = rng_below(r, 2);
        tick from = at[node] + rng_below(r, 5 * round), to = from + rng_below(r, 5 * round);
        bool known = rng_chance(r, 0.6), told_late = rng_chance(r, 0.3);
        add_action(c, from, SOAK_OUTAGE_BEGIN, node, 0);
        add_action(c, to, SOAK_OUTAGE_END, node, 0);
        if (known) {
            tick late = told_late ? rng_below(r, round / 2 + 1) : 0;
            add_action(c, tick_min(from + late, to), SOAK_LINK_DOWN, node, 0);
            add_action(c, to + late, SOAK_LINK_UP, node, 0);
            to += late;
        }
        at[node] = to + 1;
    }
}

static void draw_actions(struct soak_case *c, struct rng *r, tick round)
{
    draw_outages(c, r, round);
    if (rng_chance(r, 0.15)) {
        c->restarts = true;
        c->gentle = false;
        for (uint64_t n = integer(r, 1, 2); n > 0; n--)
            add_action(c, rng_below(r, 6 * round), SOAK_RESTART, rng_below(r, 2), rng_u64(r));
    }
    if (rng_chance(r, 0.3)) {
        for (uint64_t n = integer(r, 1, 3); n > 0; n--)
            add_action(c, rng_below(r, 4 * round), SOAK_CANCEL, rng_below(r, 2), rng_u64(r));
    }
    for (int i = 0; i < 12; i++) {
        if (c->span[i % 2].confirm_import)
            add_action(c, (tick)(i / 2 + 1) * 3 * round, SOAK_ACCEPT, (size_t)i % 2, 0);
    }
}

/* What changes while something is open. */
static void draw_spans(struct soak_case *c, struct rng *r, tick round)
{
    if (!rng_chance(r, 0.25))
        return;
    for (uint64_t n = integer(r, 1, 6); n > 0; n--)
        add_action(c, rng_below(r, 8 * round), SOAK_SPAN, rng_below(r, 2), rng_u64(r));
}

struct ltp_span soak_span(const struct soak_case *c, const struct soak_action *a)
{
    struct ltp_span s = c->span[a->node];
    struct rng r;
    rng_init(&r, a->pick);
    s.orange_wait = s.orange_wait == 0 ? s.rto : s.orange_wait;
    s.orange_answer = s.orange_answer == 0 ? s.orange_wait + 3 * s.rto : s.orange_answer;
    s.segment_max = (uint32_t)log_between(&r, 64, 1400);
    s.checkpoint_extra = s.segment_max % 3 * (LTP_CHECKPOINT_EXTRA / 2);
    s.export_sessions = (uint32_t)integer(&r, 1, 8);
    s.claims_max = (uint32_t)integer(&r, 1, 20);
    s.report_delay = rng_chance(&r, 0.5) ? s.report_delay : 0;
    s.rto = (tick)((double)s.rto * between(&r, 1, 1.5));
    s.recovery = ltp_recovery_plain;
    if (rng_chance(&r, 0.6))
        draw_switches(&s.recovery, &r, s.rto);
    return s;
}

/* Few places, and sessions of an attacker who can forge the peer's address. */
static void draw_floods(struct soak_case *c, struct rng *r, tick round)
{
    if (!rng_chance(r, 0.15))
        return;
    size_t node = rng_below(r, 2);
    c->flooded = true;
    c->gentle = false;
    c->span[node].import_sessions = (uint32_t)integer(r, 2, 32);
    for (uint64_t n = integer(r, 1, 8); n > 0 && c->actions < SOAK_ACTIONS; n--)
        add_action(c, rng_below(r, 6 * round), SOAK_FLOOD, node, rng_u64(r));
}

static void set_bounds(struct soak_case *c, tick round)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->blocks; i++)
        bytes += c->block[i].red + c->block[i].green;
    uint64_t retries = c->span[0].retries_max + 2;
    c->tx_bytes_max = 30 * (bytes * 4 + 2000 * c->blocks) * retries;
    c->steps_max = 2000000;
    tick slowest = c->span[0].rto + c->span[1].rto + round;
    c->end = 40 * round + 60 * c->blocks * (retries + 2) * slowest + 2 * c->span[0].idle_timeout;
}

void soak_draw(struct soak_case *c, uint64_t seed, bool memory)
{
    struct rng r;
    rng_init(&r, seed);
    *c = (struct soak_case){.seed = seed};
    draw_lines(c, &r);
    draw_blocks(c, &r, 2 * c->line[0].delay);
    /* what a segment waits for at most when nothing is lost */
    tick round = 2 * (c->line[0].delay + c->line[0].jitter + c->line[1].jitter) + radiation(c);
    draw_bursts(c, &r, round);
    draw_engines(c, &r, round);
    draw_recovery(c, &r, round);
    draw_limits(c, &r);
    draw_actions(c, &r, round);
    draw_spans(c, &r, round);
    draw_floods(c, &r, round);
    set_bounds(c, round);
    if (memory) {
        c->memory_share = log_between(&r, 0.001, 0.3);
        c->gentle = false;
    }
}

void soak_fini(struct soak_case *c)
{
    trace_fini(&c->trace);
}

void soak_describe(const struct soak_case *c, char *out, size_t cap)
{
    const struct chan_config *l = c->line;
    snprintf(out, cap,
             "seed %" PRIu64 ": delay %.3f s, loss %.2f/%.2f, dup %.2f, jitter %.3f s, corrupt "
             "%.3f%s, bursts %s, rto %.3f/%.3f s, retries %" PRIu32
             ", blocks %zu, actions %zu%s%s%s",
             c->seed, (double)l[0].delay / 1e9, l[0].loss, l[1].loss, l[0].duplicate,
             (double)l[0].jitter / 1e9, l[0].corrupt, c->fcs ? " (fcs)" : "",
             l[0].trace != NULL ? "yes" : "no", (double)c->span[0].rto / 1e9,
             (double)c->span[1].rto / 1e9, c->span[0].retries_max, c->blocks, c->actions,
             c->restarts ? ", restarts" : "", c->flooded ? ", flooded" : "",
             c->gentle ? ", gentle" : "");
}
