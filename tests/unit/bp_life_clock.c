/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes under clocks that are set, missing and wrong: what has passed counts. */
#include "bp/agent/life_clock.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define DAY UINT64_C(86400000)
#define YEAR (365 * DAY)

static struct life_clock clock_of(uint8_t boot, uint64_t mono_ms, uint64_t dtn_ms, uint64_t life_ms)
{
    struct life_clock c = {.mono_ms = mono_ms, .dtn_ms = dtn_ms, .life_ms = life_ms};
    memset(c.boot, boot, sizeof c.boot);
    return c;
}

struct begin {
    const char *what;
    uint8_t boot; /* 1: that of before */
    uint64_t mono_ms, before_dtn_ms, dtn_ms;
    enum life_clock_start start;
    uint64_t passed_ms;
    int64_t step_ms;
};

/* Before: boot 1, 1,000,000 ms after it, lifetime 500,000. */
static const struct begin begins[] = {
    {"a restart", 1, 1012000, START_MS, START_MS + 12000, LIFE_CLOCK_GOES_ON, 12000, 0},
    {"set forward", 1, 1012000, START_MS, START_MS + YEAR, LIFE_CLOCK_GOES_ON, 12000,
     (int64_t)(YEAR - 12000)},
    {"set back", 1, 1012000, START_MS + 35 * YEAR, START_MS, LIFE_CLOCK_GOES_ON, 12000,
     -(int64_t)(35 * YEAR) - 12000},
    {"drift", 1, 1012000, START_MS, START_MS + 12999, LIFE_CLOCK_GOES_ON, 12000, 0},
    {"no clock now", 1, 1012000, START_MS, 0, LIFE_CLOCK_GOES_ON, 12000, 0},
    {"no clock then", 1, 1012000, 0, START_MS, LIFE_CLOCK_GOES_ON, 12000, 0},
    {"a reboot", 2, 9000, START_MS, START_MS + 60000, LIFE_CLOCK_GOES_ON, 60000, 0},
    {"a clock that was slow", 2, 90000, START_MS, START_MS + 60000, LIFE_CLOCK_GOES_ON, 90000, 0},
    {"a month off", 2, 9000, START_MS, START_MS + 30 * DAY, LIFE_CLOCK_GOES_ON, 30 * DAY, 0},
    {"a reboot into the future", 2, 9000, START_MS, START_MS + 35 * YEAR, LIFE_CLOCK_UNKNOWN, 9000,
     (int64_t)(35 * YEAR)},
    {"a reboot into the past", 2, 9000, START_MS, START_MS - DAY, LIFE_CLOCK_UNKNOWN, 9000,
     -(int64_t)DAY},
    {"a reboot without a clock", 2, 9000, START_MS, 0, LIFE_CLOCK_UNKNOWN, 9000, 0},
    {"never a clock", 2, 9000, 0, 0, LIFE_CLOCK_UNKNOWN, 9000, 0},
    {"boots without names", 0, 9000, START_MS, START_MS + 60000, LIFE_CLOCK_GOES_ON, 60000, 0},
};

START_TEST(what_passed_over_a_restart)
{
    const struct begin *b = &begins[_i];
    struct life_clock before = clock_of(1, 1000000, b->before_dtn_ms, 500000);
    struct life_clock now = clock_of(b->boot, b->mono_ms, b->dtn_ms, 0);
    uint8_t note[LIFE_CLOCK_NOTE];
    int64_t step_ms = 77;
    life_clock_write(&before, note);
    memset(&before, 0, sizeof before);
    ck_assert_int_eq(life_clock_read(note, sizeof note - 1, &before), HELIO_EFORMAT);
    ck_assert_int_eq(life_clock_read(note, sizeof note, &before), 0);
    ck_assert_msg(life_clock_begin(&now, &before, &step_ms) == b->start, "%s", b->what);
    ck_assert_msg(now.life_ms == 500000 + b->passed_ms, "%s: %llu", b->what,
                  (unsigned long long)now.life_ms);
    ck_assert_msg(step_ms == b->step_ms, "%s: %lld", b->what, (long long)step_ms);
}
END_TEST

START_TEST(the_first_start)
{
    struct life_clock now = clock_of(1, 5, START_MS, 0);
    int64_t step_ms;
    ck_assert_int_eq(life_clock_begin(&now, NULL, &step_ms), LIFE_CLOCK_NEW);
    ck_assert(now.life_ms == START_MS && step_ms == 0);
}
END_TEST

START_TEST(steps_while_it_runs)
{
    int64_t last = life_clock_offset(1000, START_MS);
    uint64_t mono = 1000, dtn = START_MS;
    for (int i = 0; i < 10000; i++) { /* a clock that is 0.05 % fast makes no step */
        mono += 1000;
        dtn += 1000 + (uint64_t)i % 2;
        ck_assert_int_eq(life_clock_step(&last, mono, dtn), 0);
    }
    ck_assert_int_eq(life_clock_step(&last, mono + 1000, dtn + 1000 + 3600000), 3600000);
    ck_assert_int_eq(life_clock_step(&last, mono + 2000, dtn + 2000 + 3600000), 0);
    ck_assert_int_eq(life_clock_step(&last, mono + 3000, dtn + 3000), -3600000);
}
END_TEST

/* ---- the agent ---- */

static void restart_at(struct binder *n, const struct agent_config *c, uint64_t passed_ms,
                       uint64_t dtn_ms)
{
    uint64_t life_ms = agent_life_ms(n->a, n->now) + passed_ms;
    binder_restart(n, c);
    n->now.now = 5 * TICK_S; /* another boot's */
    n->now.dtn_ms = dtn_ms;
    agent_restore_clock(n->a, life_ms, n->now);
    agent_expire(n->a, n->now);
}

START_TEST(a_start_in_the_future_poisons_nothing)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    n.now.dtn_ms = START_MS + 35 * YEAR;
    struct agent_request q = request_of("ipn:2.7", "ipn:2.9", 3);
    struct bundle_id id;
    q.lifetime_ms = 60000;
    ck_assert_int_eq(app_send(&n, &q, "of 2060"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 3\n");
    restart_at(&n, &c, 10000, START_MS);
    ck_assert_uint_eq(agent_deadline(n.a), 5 * TICK_S + 50 * TICK_S);
    q.payload = payload_of("now");
    ck_assert_int_eq(agent_send(n.a, &q, n.now, &id), REFUSE_NONE);
    ck_assert_uint_eq(id.time_ms, START_MS);
    expect(&n, "store 2\nconfirm app 3\n");
    pass(&n, 50 * TICK_S);
    expect(&n, "remove 1\n");
    pass(&n, 10 * TICK_S);
    expect(&n, "remove 2\n");
    binder_fini(&n);
}
END_TEST

START_TEST(a_clock_that_is_set_ends_no_bundle)
{
    const int64_t steps[] = {(int64_t)(35 * YEAR), -(int64_t)DAY, -(int64_t)START_MS};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct binder n;
        struct agent_config c = config_of("ipn:2.0");
        struct agent_bundle_info info;
        relay_init(&n, &c);
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1); /* 60 s */
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        expect(&n, "store 1\nconfirm link 1\n");
        n.now.dtn_ms = (uint64_t)((int64_t)n.now.dtn_ms + steps[i]);
        pass(&n, 20 * TICK_S);
        expect(&n, "");
        restart_at(&n, &c, 10000, n.now.dtn_ms);
        ck_assert_uint_eq(agent_deadline(n.a), 5 * TICK_S + 30 * TICK_S);
        ck_assert_uint_eq(agent_bundles(n.a, &info, 1), 1);
        ck_assert_uint_eq(info.expires_ms, n.now.dtn_ms + 30000);
        pass(&n, 30 * TICK_S);
        expect(&n, "remove 1\n"); /* and no mark: a copy would be as old */
        binder_fini(&n);
    }
}
END_TEST

/* What was never created yet stays for its lifetime, less its age. */
START_TEST(bundles_of_the_future)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid here = eid_of("ipn:2.5");
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.id.time_ms = START_MS + 35 * YEAR;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b.id.sequence = 2;
    b.has_age = true;
    b.age_ms = 45000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    b.id.sequence = 3;
    b.age_ms = 60000;
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_EXPIRED);
    skip(&n);
    pass(&n, 15 * TICK_S);
    expect(&n, "remove 2\n");
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    expect(&n, "deliver 1 to 9: data\n");
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_uint_eq(n.mark_until_ms, START_MS + 60000); /* not in 35 years */
    binder_fini(&n);
}
END_TEST

/* A node without a clock knows how long a bundle has been here. */
START_TEST(no_clock_at_all)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    n.now.dtn_ms = 0;
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    struct agent_request q = request_of("ipn:2.7", "ipn:2.9", 3);
    q.lifetime_ms = 90000;
    ck_assert_int_eq(app_send(&n, &q, "mine"), REFUSE_NONE);
    skip(&n);
    n.now.now += 20 * TICK_S;
    agent_expire(n.a, n.now);
    restart_at(&n, &c, 15000, 0);
    n.now.now += 25 * TICK_S;
    agent_expire(n.a, n.now);
    expect(&n, "remove 1\n");
    n.now.now += 30 * TICK_S;
    agent_expire(n.a, n.now);
    expect(&n, "remove 2\n");
    binder_fini(&n);
}
END_TEST

SUITE(bp_life_clock, t)
{
    tcase_add_loop_test(t, what_passed_over_a_restart, 0, (int)(sizeof begins / sizeof *begins));
    tcase_add_test(t, the_first_start);
    tcase_add_test(t, steps_while_it_runs);
    tcase_add_test(t, a_start_in_the_future_poisons_nothing);
    tcase_add_test(t, a_clock_that_is_set_ends_no_bundle);
    tcase_add_test(t, bundles_of_the_future);
    tcase_add_test(t, no_clock_at_all);
}
