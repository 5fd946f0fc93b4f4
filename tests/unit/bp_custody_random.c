/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends with custody in virtual time, over links that lose, repeat and reorder what they carry,
 * with ends that are killed at any time, refusals, and signals that a third party invents. The
 * sender deletes a bundle only when the receiver has it on its medium; each bundle is delivered
 * once; and the run comes to its end. A failing run prints its seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "bp/custody/custody.h"
#include "tests/unit/suite.h"

#define BUNDLES 60
#define FLIGHTS 4096
#define END (1000000 * TICK_S)

enum place {
    WAITS,
    WITH_LINK,
    DELETED
}; /* a bundle at the sender; on its medium but for the last */

/* What is on its way: a BPDU, or a signal. */
struct flight {
    bool used, signal;
    tick due;
    uint64_t id;
    unsigned bundle;
    uint8_t bytes[CUSTODY_SIGNAL_MAX];
    size_t len;
};

struct run {
    struct rng rng;
    struct custody *sender, *receiver;
    struct custody_config config;
    enum place place[BUNDLES];
    tick again[BUNDLES];
    bool stored[BUNDLES]; /* at the receiver, on its medium */
    unsigned delivered[BUNDLES];
    unsigned deleted;
    struct flight flights[FLIGHTS];
    tick now, kill_at;
    double loss, repeat, refuse;
    uint64_t seed;
};

static void start_sender(struct run *r)
{
    custody_free(r->sender);
    r->sender = custody_new(&r->config, rng_u64(&r->rng));
    ck_assert_ptr_nonnull(r->sender);
    for (unsigned i = 0; i < BUNDLES; i++)
        r->place[i] = r->place[i] == WITH_LINK ? WAITS : r->place[i];
}

static void start_receiver(struct run *r)
{
    custody_free(r->receiver);
    r->receiver = custody_new(&r->config, rng_u64(&r->rng));
    ck_assert_ptr_nonnull(r->receiver);
}

static void launch(struct run *r, const struct flight *f)
{
    const unsigned copies = rng_chance(&r->rng, r->loss)     ? 0
                            : rng_chance(&r->rng, r->repeat) ? 2
                                                             : 1;
    for (unsigned k = 0, i = 0; k < copies; k++) {
        while (i < FLIGHTS && r->flights[i].used)
            i++;
        ck_assert_uint_lt(i, FLIGHTS);
        r->flights[i] = *f;
        r->flights[i].used = true;
        r->flights[i].due = r->now + TICK_S + rng_below(&r->rng, 5 * TICK_S);
    }
}

static void send_bundles(struct run *r)
{
    for (unsigned i = 0; i < BUNDLES; i++) {
        struct flight f = {.bundle = i};
        if (r->place[i] != WAITS || r->again[i] > r->now || custody_hold(r->sender, i, &f.id) != 0)
            continue;
        r->place[i] = WITH_LINK;
        if (rng_chance(&r->rng, 0.02)) { /* the node refuses the encapsulating bundle */
            custody_drop(r->sender, i);
            r->place[i] = WAITS;
            r->again[i] = r->now + TICK_S;
            continue;
        }
        launch(r, &f);
        const struct custody_carrier carrier = {r->now, i};
        custody_sent(r->sender, i, &carrier, r->now);
    }
}

/* Sometimes it waits. */
static bool is_here(void *context, const struct custody_carrier *carrier)
{
    struct run *r = context;
    ck_assert_uint_lt(carrier->sequence, BUNDLES);
    return rng_chance(&r->rng, 0.1);
}

static void take_outcomes(struct run *r)
{
    struct custody_event e;
    custody_expire(r->sender, r->now, is_here, r);
    while (custody_poll(r->sender, &e)) {
        ck_assert_int_eq(r->place[e.key], WITH_LINK);
        r->place[e.key] = e.outcome == CUSTODY_RELEASED ? DELETED : WAITS;
        r->again[e.key] = r->now + 0;
        r->deleted += e.outcome == CUSTODY_RELEASED;
        if (e.outcome == CUSTODY_RELEASED)
            ck_assert_msg(r->stored[e.key], "seed %" PRIu64 ": bundle %" PRIu64 " is lost", r->seed,
                          e.key);
    }
}

static void send_signals(struct run *r)
{
    enum custody_disposition d;
    const struct range *at;
    size_t len;
    while (custody_signal(r->receiver, r->now, &d, &at, &len)) {
        struct flight f = {.signal = true};
        const bool ok = rng_chance(&r->rng, 0.9);
        f.len = custody_signal_write(CUSTODY_DRAFT, d, at, len, f.bytes);
        if (ok)
            launch(r, &f);
        custody_signalled(r->receiver, d, ok, r->now + TICK_S);
    }
}

static void arrive(struct run *r, const struct flight *f)
{
    static struct range at[CUSTODY_READ_MAX];
    struct custody_record record;
    if (f->signal) {
        ck_assert_int_eq(custody_read(slice_of(f->bytes, f->len), &record, at), 0);
        ck_assert_int_eq(custody_input(r->sender, record.disposition, at, record.len), 0);
        return;
    }
    if (rng_chance(&r->rng, r->refuse)) {
        custody_confirm(r->receiver, f->id, CUSTODY_DEPLETED, r->now);
        return;
    }
    r->delivered[f->bundle] += !r->stored[f->bundle]; /* a duplicate is not delivered again */
    r->stored[f->bundle] = true;
    custody_confirm(r->receiver, f->id, CUSTODY_ACCEPTED, r->now);
}

/* A third party that does not know the IDs. */
static void forge(struct run *r)
{
    const uint64_t lo = 1 + rng_below(&r->rng, INT64_MAX);
    struct range at = {lo, lo + 1 + rng_below(&r->rng, 1000000)};
    ck_assert_int_eq(custody_input(r->sender, CUSTODY_ACCEPTED, &at, 1), 0);
}

static void kill_one(struct run *r)
{
    if (rng_chance(&r->rng, 0.5))
        start_sender(r);
    else
        start_receiver(r);
    r->kill_at = r->now + rng_below(&r->rng, 60 * TICK_S);
    if (r->now > 2000 * TICK_S)
        r->kill_at = TICK_NEVER;
}

static tick next_due(const struct run *r)
{
    tick due = tick_min(custody_deadline(r->sender), custody_signal_due(r->receiver));
    for (unsigned i = 0; i < FLIGHTS; i++)
        due = r->flights[i].used ? tick_min(due, r->flights[i].due) : due;
    for (unsigned i = 0; i < BUNDLES; i++)
        due = r->place[i] == WAITS && r->again[i] > r->now ? tick_min(due, r->again[i]) : due;
    return tick_min(due, r->kill_at);
}

static void step(struct run *r)
{
    for (unsigned i = 0; i < FLIGHTS; i++) {
        if (!r->flights[i].used || r->flights[i].due > r->now)
            continue;
        const struct flight f = r->flights[i];
        r->flights[i].used = false;
        arrive(r, &f);
    }
    if (r->now >= r->kill_at)
        kill_one(r);
    if (rng_chance(&r->rng, 0.05))
        forge(r);
    if (rng_chance(&r->rng, 0.05))
        custody_open(r->sender, false, r->now);
    else
        custody_open(r->sender, true, r->now);
    take_outcomes(r);
    send_bundles(r);
    send_signals(r);
    custody_check(r->sender);
    custody_check(r->receiver);
}

static void play(uint64_t seed)
{
    struct run *r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    r->seed = seed;
    rng_init(&r->rng, seed);
    r->config = (struct custody_config){.held_max = 1 + rng_below(&r->rng, 20),
                                        .id_max = rng_chance(&r->rng, 0.5) ? UINT32_MAX : INT64_MAX,
                                        .timer = (8 + rng_below(&r->rng, 10)) * TICK_S,
                                        .signal_after = rng_below(&r->rng, 3 * TICK_S),
                                        .signal_count = 1 + rng_below(&r->rng, 10)};
    r->loss = 0.5 * rng_unit(&r->rng);
    r->repeat = 0.2 * rng_unit(&r->rng);
    r->refuse = rng_chance(&r->rng, 0.5) ? 0.2 : 0;
    r->kill_at = rng_below(&r->rng, 60 * TICK_S);
    start_sender(r);
    start_receiver(r);
    while (r->deleted < BUNDLES) {
        step(r);
        const tick due = next_due(r);
        r->now = due > r->now ? tick_min(due, r->now + 10 * TICK_S) : r->now;
        ck_assert_msg(r->now < END, "seed %" PRIu64 ": it does not end", seed);
    }
    for (unsigned i = 0; i < BUNDLES; i++)
        ck_assert_msg(r->stored[i] && r->delivered[i] == 1, "seed %" PRIu64 ": bundle %u: %u times",
                      seed, i, r->delivered[i]);
    custody_free(r->sender);
    custody_free(r->receiver);
    free(r);
}

START_TEST(nothing_is_lost)
{
    for (uint64_t seed = 1; seed <= 100; seed++)
        play((uint64_t)_i * 100 + seed);
}
END_TEST

SUITE(bp_custody_random, t)
{
    tcase_add_loop_test(t, nothing_is_lost, 0, 10);
}
