/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times that are kept: each CLTU is radiated at its earliest time or expires at its latest one, to
 * the tick, whoever else is served meanwhile; with a clock that is set, with a user who has gone.
 */
#include "base/rng.h"
#include "tests/unit/sle_pair.h"
#include "tests/unit/suite.h"

enum { CLTUS = 1000, HEARTBEAT_S = 25 };

#define CELL (20 * TICK_MS)

static struct pair pair;
static uint8_t data[100];

/* What becomes of a CLTU: as ticks, 0: not yet. */
struct fate {
    tick earliest, latest;
    tick radiated, expired;
};
static struct fate fates[CLTUS + 1];
static uint32_t on_air;
static tick air_end;

static struct sle_when when_of(tick t)
{
    return (struct sle_when){t > 0, sle_time_of(UNIX_NS + t)};
}

static void begin(struct sle_provider_config *c)
{
    static const struct sle_start start = {.first_cltu = 1};
    memset(fates, 0, sizeof fates);
    on_air = 0;
    air_end = TICK_NEVER;
    c->id = CLTU_ID;
    pair_init(&pair, SLE_AUTH_NONE);
    pair_add(&pair, c, 5);
    pair_connect(&pair);
    pair_start(&pair, &start);
}

static uint32_t send_cltu(tick earliest, tick latest)
{
    struct sle_cltu c = {.earliest = when_of(earliest),
                         .latest = when_of(latest),
                         .notify = true,
                         .data = slice_of(data, sizeof data)};
    uint32_t id = 0;
    ck_assert_int_eq(sle_user_cltu(pair.asks, &c, &id, pair.now), 0);
    ck_assert_uint_le(id, CLTUS);
    fates[id] = (struct fate){.earliest = earliest, .latest = latest};
    pair_settle(&pair);
    ck_assert_uint_eq(pair.user.of[SLE_CLTU_ANSWER].diag, SLE_OK);
    return id;
}

/* A transmitter that takes what it is told is ready, and needs `air` for each. */
static void transmit(tick air)
{
    struct sle_cltu_out out;
    if (on_air != 0 && air_end <= pair.now) {
        sle_provider_cltu_radiated(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
        on_air = 0;
        air_end = TICK_NEVER;
    }
    const bool told = pair.provider.seen[SLE_CLTU_READY] > 0 || air == 0;
    pair.provider.seen[SLE_CLTU_READY] = 0;
    if (told && on_air == 0 && sle_provider_cltu_next(pair.serves, &out, pair.now)) {
        sle_provider_cltu_started(pair.serves, sle_now(pair.provider.sle, pair.now), pair.now);
        on_air = out.id;
        air_end = pair.now + air;
        fates[out.id].radiated = pair.now;
    }
    pair_settle(&pair);
}

static void take_expired(void)
{
    const struct sle_async *a = &pair.user.of[SLE_NOTIFIED].u.async;
    if (pair.user.seen[SLE_NOTIFIED] == 0)
        return;
    pair.user.seen[SLE_NOTIFIED] = 0;
    if (a->last_processed.any && a->last_processed.status == SLE_CLTU_EXPIRED &&
        fates[a->last_processed.id].expired == 0)
        fates[a->last_processed.id].expired = pair.now;
}

/* Time goes on from one kept time to the next: nothing else wakes anybody. */
static void run_to(tick until, tick air)
{
    for (tick due; (due = tick_min(pair_deadline(&pair), air_end)) <= until;) {
        pair.now = due > pair.now ? due : pair.now;
        struct sle_due d;
        while (sle_expire(pair.provider.sle, &d, pair.now)) {
            pair_settle(&pair); /* before the next of the same tick */
            transmit(air);
            take_expired();
        }
        pair_expire(&pair);
        pair_settle(&pair);
        transmit(air);
        take_expired();
    }
    pair.now = until;
    sle_check_served(pair.provider.sle, until);
}

/* An idle uplink: the first thing that a station asks of the service. */
START_TEST(earliest_on_an_idle_uplink)
{
    struct sle_provider_config c = {0};
    begin(&c);
    const tick at = pair.now;
    for (unsigned k = 0; k < 8; k++)
        send_cltu(at + (300 + 10 * k) * TICK_MS, at + 2 * TICK_S);
    run_to(at + 3 * TICK_S, TICK_MS);
    for (unsigned k = 0; k < 8; k++)
        ck_assert_uint_eq(fates[1 + k].radiated, at + (300 + 10 * k) * TICK_MS);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_expired, 0);
    pair_fini(&pair);
}
END_TEST

/* So many are sent ahead; the next one to be sent. */
enum { AHEAD = 16 };
static uint32_t next_cltu;

static void send_ahead(const struct fate *drawn, uint32_t done)
{
    while (next_cltu <= CLTUS && next_cltu < done + AHEAD) {
        ck_assert_uint_eq(send_cltu(drawn[next_cltu].earliest, drawn[next_cltu].latest), next_cltu);
        next_cltu++;
    }
}

/* After one has expired a user must START anew: what was behind it is gone. */
static void start_again(uint32_t first)
{
    const struct sle_start start = {.first_cltu = first};
    ck_assert_int_eq(sle_user_stop(pair.asks, pair.now), 0);
    pair_settle(&pair);
    pair_start(&pair, &start);
    next_cltu = first;
}

/* Random times in a row of cells; in some of them production is not operational until the end of
 * the cell, so that the latest time passes first. */
START_TEST(a_thousand_at_random)
{
    static struct fate drawn[CLTUS + 1];
    struct sle_provider_config c = {0};
    struct rng rng;
    unsigned radiated = 0, expired = 0;
    rng_init(&rng, 24 + (uint64_t)_i);
    begin(&c);
    next_cltu = 1;
    const tick zero = pair.now + TICK_S;
    for (uint32_t k = 1; k <= CLTUS; k++) {
        drawn[k].earliest = zero + k * CELL + rng_below(&rng, CELL / TICK_US / 3) * TICK_US;
        drawn[k].latest = drawn[k].earliest + rng_below(&rng, CELL / TICK_US / 3) * TICK_US;
    }
    for (uint32_t k = 1; k <= CLTUS; k++) {
        const bool closed = rng_chance(&rng, 0.3);
        const tick cell = zero + k * CELL;
        send_ahead(drawn, k);
        run_to(cell - 1, TICK_US);
        sle_provider_production(pair.serves, closed ? SLE_CONFIGURED : SLE_OPERATIONAL, pair.now);
        run_to(cell + CELL - 2, TICK_US);
        ck_assert_uint_eq(fates[k].radiated, closed ? 0 : drawn[k].earliest);
        ck_assert_uint_eq(fates[k].expired, closed ? drawn[k].latest : 0);
        radiated += !closed;
        expired += closed;
        if (closed)
            start_again(k + 1);
    }
    const struct sle_counts *n = sle_instance_counts(pair.serves);
    ck_assert_uint_eq(n->cltus_radiated, radiated);
    ck_assert_uint_eq(n->cltus_expired, expired);
    ck_assert_uint_gt(expired, CLTUS / 8);
    pair_fini(&pair);
}
END_TEST

/* What is behind one that is on the air, or in its delay, expires at its latest time, not later. */
START_TEST(expires_behind_others)
{
    struct sle_provider_config c = {0};
    begin(&c);
    const tick at = pair.now;
    send_cltu(0, 0);
    send_cltu(0, at + TICK_S);
    send_cltu(0, 0);
    transmit(2 * TICK_S);
    run_to(at + 3 * TICK_S, 2 * TICK_S);
    ck_assert_uint_eq(fates[1].radiated, at);
    ck_assert_uint_eq(fates[2].expired, at + TICK_S);
    ck_assert_uint_eq(fates[2].radiated, 0);
    pair_fini(&pair);
}
END_TEST

/* The latest time still counts; one tick behind it is too late. */
START_TEST(latest_is_in_time)
{
    struct sle_provider_config c = {0};
    begin(&c);
    const tick at = pair.now + TICK_S;
    send_cltu(at, at);
    run_to(at, TICK_MS);
    ck_assert_uint_eq(fates[1].radiated, at);
    run_to(at + TICK_S, TICK_MS);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_expired, 0);
    pair_fini(&pair);
}
END_TEST

/* The system's clock is set: times of the user are by the clock. */
START_TEST(clock_is_set)
{
    struct sle_provider_config c = {0};
    begin(&c);
    const tick at = pair.now;
    send_cltu(at + TICK_S, 0);
    send_cltu(at + 4 * TICK_S, at + 5 * TICK_S);
    run_to(at + TICK_S / 2, TICK_MS);
    const bool ahead = _i == 0;
    const uint64_t by = TICK_S / 4;
    sle_clock_set(pair.provider.sle, ahead ? UNIX_NS + by : UNIX_NS - by);
    sle_check(pair.provider.sle);
    run_to(at + 6 * TICK_S, TICK_MS);
    ck_assert_uint_eq(fates[1].radiated, ahead ? at + TICK_S - by : at + TICK_S + by);
    ck_assert_uint_eq(fates[2].radiated, ahead ? at + 4 * TICK_S - by : at + 4 * TICK_S + by);
    pair_fini(&pair);
}
END_TEST

/* The queue goes on when its user has gone: the host is told whose time it is. */
START_TEST(user_has_gone)
{
    struct sle_provider_config c = {.continue_on_abort = true};
    struct sle_due d;
    struct sle_cltu_out out;
    begin(&c);
    const tick at = pair.now;
    send_cltu(at + TICK_S, 0);
    send_cltu(at + 2 * TICK_S, at + 2 * TICK_S + TICK_MS);
    sle_link_abort(pair.user.link, SLE_ABORT_OTHER, pair.now);
    pair_settle(&pair);
    pair_disconnect(&pair);
    ck_assert_uint_eq(sle_deadline(pair.provider.sle), at + TICK_S);
    ck_assert(sle_expire(pair.provider.sle, &d, at + TICK_S));
    ck_assert(d.link == NULL && d.instance == pair.serves);
    ck_assert(!sle_expire(pair.provider.sle, &d, at + TICK_S));
    ck_assert(sle_provider_cltu_next(pair.serves, &out, at + TICK_S) && out.id == 1);
    sle_provider_cltu_radiated(pair.serves, sle_now(pair.provider.sle, at + TICK_S), at + TICK_S);
    ck_assert_uint_eq(sle_deadline(pair.provider.sle), at + 2 * TICK_S);
    ck_assert(sle_expire(pair.provider.sle, &d, at + 2 * TICK_S) && d.instance == pair.serves);
    ck_assert(sle_expire(pair.provider.sle, &d, at + 3 * TICK_S) && d.instance == pair.serves);
    ck_assert_uint_eq(sle_instance_counts(pair.serves)->cltus_expired, 1);
    ck_assert_uint_eq(sle_deadline(pair.provider.sle), TICK_NEVER);
    sle_check(pair.provider.sle);
    sle_free(pair.user.sle);
    sle_free(pair.provider.sle);
}
END_TEST

/* Nothing is missed while nothing is read, however the times fall. */
START_TEST(unread_is_not_missed)
{
    struct sle_provider_config c = {0};
    begin(&c);
    const tick dead = (tick)HEARTBEAT_S * 5 * TICK_S;
    pair_run(&pair, pair.now + 3 * dead);
    ck_assert(!pair.user.over && !pair.provider.over);
    ck_assert_uint_gt(sle_counts(pair.provider.sle)->heartbeats_in, 10);
    pair_fini(&pair);
}
END_TEST

SUITE(sle_times, t)
{
    tcase_add_test(t, earliest_on_an_idle_uplink);
    tcase_add_loop_test(t, a_thousand_at_random, 0, 3);
    tcase_add_test(t, expires_behind_others);
    tcase_add_test(t, latest_is_in_time);
    tcase_add_loop_test(t, clock_is_set, 0, 2);
    tcase_add_test(t, user_has_gone);
    tcase_add_test(t, unread_is_not_missed);
}
