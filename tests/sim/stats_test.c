/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of helio-sim, from events made by hand. */
#include <check.h>
#include <stdlib.h>

#include "sim/sim_stats.h"

static struct sim_stats stats;

static void event(enum event_kind kind, int type, tick now, int cause, uint64_t cp, uint64_t rpt)
{
    struct event e = event_make(kind, now);
    e.session = 77;
    e.type = type;
    e.cause = cause;
    e.verdict = VERDICT_OK;
    e.cp_serial = cp;
    e.rpt_serial = rpt;
    e.length = 100;
    e.udp_len = 120;
    sim_stats_event(&stats, &e, 120);
}

static struct sim_figures figures(void)
{
    struct sim_figures f;
    ck_assert_int_eq(sim_stats_figures(&stats, 0, TICK_NEVER, &f), 0);
    return f;
}

START_TEST(one_session)
{
    event(EVENT_OPEN, -1, 5, 0, EVENT_NONE, EVENT_NONE);
    event(EVENT_TX, 0, 1 * TICK_MS, CAUSE_FIRST, EVENT_NONE, EVENT_NONE);
    event(EVENT_TX, 3, 2 * TICK_MS, CAUSE_FIRST, 10, 0);
    sim_stats_lost(&stats, 3);
    event(EVENT_TX, 3, 3 * TICK_MS, CAUSE_TIMER, 10, 0);
    sim_stats_delivered(&stats, 77, 8 * TICK_MS);
    ck_assert_uint_eq(figures().sessions, 0);
    event(EVENT_CLOSE, -1, 12 * TICK_MS, OUTCOME_DONE, EVENT_NONE, EVENT_NONE);
    struct sim_figures f = figures();
    ck_assert_uint_eq(f.sessions, 1);
    ck_assert_double_eq(f.session.mean, 11);
    ck_assert_double_eq(f.delivery.p50, 7);
    ck_assert_double_eq(f.checkpoints_mean, 2);
    ck_assert_double_eq(f.checkpoints_lost_mean, 1);
    ck_assert_double_eq(f.lossy_share, 1);
    ck_assert_double_eq(f.cycles_mean, 0);
}
END_TEST

/* Two report segments answer checkpoint 10; each repetition has its checkpoint (11, 12): one cycle.
 * The report on 12 has gaps again: the second. */
START_TEST(cycles_count_in_depth)
{
    event(EVENT_OPEN, -1, 0, 0, EVENT_NONE, EVENT_NONE);
    event(EVENT_TX, 3, 1, CAUSE_FIRST, 10, 0);
    event(EVENT_RX, 8, 2, 0, 10, 500);
    event(EVENT_RX, 8, 3, 0, 10, 501);
    event(EVENT_TX, 0, 4, CAUSE_REPORT, EVENT_NONE, EVENT_NONE);
    event(EVENT_TX, 1, 5, CAUSE_REPORT, 11, 500);
    event(EVENT_TX, 1, 6, CAUSE_REPORT, 12, 501);
    event(EVENT_RX, 8, 7, 0, 11, 502);
    event(EVENT_RX, 8, 8, 0, 12, 503);
    event(EVENT_TX, 1, 9, CAUSE_REPORT, 13, 503);
    event(EVENT_RX, 8, 10, 0, 13, 504);
    event(EVENT_CLOSE, -1, 11, OUTCOME_DONE, EVENT_NONE, EVENT_NONE);
    ck_assert_double_eq(figures().cycles_mean, 2);
}
END_TEST

/* Of those that began in a window, from its first instant on and without its last. */
START_TEST(a_window_has_those_that_began_in_it)
{
    struct sim_figures f;
    const struct sim_session *open = NULL;
    for (uint64_t i = 1; i <= 4; i++) {
        struct event e = event_make(EVENT_OPEN, 0);
        e.session = 100 + i;
        sim_stats_event(&stats, &e, 120);
        e = event_make(EVENT_TX, i * 10 * TICK_MS);
        e.session = 100 + i;
        e.type = 3;
        sim_stats_event(&stats, &e, 120);
    }
    for (uint64_t i = 1; i <= 3; i++) {
        open = sim_stats_open(&stats, open, 20 * TICK_MS, 40 * TICK_MS);
        ck_assert_ptr_nonnull(open);
        struct event e = event_make(EVENT_CLOSE, (i * 10 + i) * TICK_MS);
        e.session = 100 + i;
        e.cause = OUTCOME_DONE;
        sim_stats_event(&stats, &e, 120);
    }
    ck_assert_ptr_null(sim_stats_open(&stats, open, 20 * TICK_MS, 40 * TICK_MS));
    ck_assert_ptr_null(sim_stats_open(&stats, NULL, 20 * TICK_MS, 40 * TICK_MS));
    ck_assert_ptr_nonnull(sim_stats_open(&stats, NULL, 20 * TICK_MS, 40 * TICK_MS + 1));
    ck_assert_int_eq(sim_stats_figures(&stats, 20 * TICK_MS, 40 * TICK_MS, &f), 0);
    ck_assert_uint_eq(f.sessions, 2);
    ck_assert_double_eq(f.session.mean, 2.5);
    ck_assert_uint_eq(stats.begun_max, 4);
    ck_assert_uint_eq(stats.begun, 1);
}
END_TEST

START_TEST(nearest_rank)
{
    for (uint64_t i = 1; i <= 200; i++) {
        struct event e = event_make(EVENT_OPEN, 0);
        e.session = i;
        sim_stats_event(&stats, &e, 120);
        e.kind = EVENT_TX;
        e.type = 0;
        e.now = TICK_MS;
        sim_stats_event(&stats, &e, 120);
        e.kind = EVENT_CLOSE;
        e.type = -1;
        e.cause = i == 200 ? OUTCOME_CANCELLED_LOCAL : OUTCOME_DONE;
        e.now = (i + 1) * TICK_MS;
        sim_stats_event(&stats, &e, 120);
    }
    struct sim_figures f = figures();
    ck_assert_uint_eq(f.sessions, 199);
    ck_assert_uint_eq(stats.cancelled, 1);
    ck_assert_double_eq(f.session.mean, 100);
    ck_assert_double_eq(f.session.p50, 100);
    ck_assert_double_eq(f.session.p90, 180);
    ck_assert_double_eq(f.session.p99, 198);
}
END_TEST

/* One more segment of 100 bytes of a green block. */
static void green(uint64_t session, uint64_t offset, bool last, int cause, tick now)
{
    struct event e = event_make(EVENT_TX, now);
    e.session = session;
    e.type = last ? 7 : 4;
    e.cause = cause;
    e.offset = offset;
    e.length = 100;
    e.udp_len = 120;
    sim_stats_event(&stats, &e, 120);
    if (!last)
        return;
    e = event_make(EVENT_CLOSE, now);
    e.session = session;
    e.cause = OUTCOME_DONE;
    sim_stats_event(&stats, &e, 120);
}

static void open_green(uint64_t session)
{
    struct event e = event_make(EVENT_OPEN, 0);
    e.session = session;
    sim_stats_event(&stats, &e, 120);
}

/* A green block, over when it is sent, counts while all of it may be on its way; the fate of the
 * last segment is known behind the close. */
START_TEST(green_blocks_on_their_way)
{
    stats.window_to = TICK_S;
    stats.transit = 50;
    for (uint64_t i = 1; i <= 3; i++) { /* 1: whole; 2: without its first; 3: without its last */
        open_green(i);
        green(i, 0, false, CAUSE_FIRST, 10 * i);
        if (i == 2)
            sim_stats_lost(&stats, 4);
        else
            sim_stats_passed(&stats, 4, 10 * i);
        ck_assert_uint_eq(sim_stats_carried(&stats, 10 * i), i == 3 ? 300 : i == 2 ? 200 : 100);
        green(i, 100, true, CAUSE_FIRST, 10 * i + 1);
        if (i == 3)
            sim_stats_lost(&stats, 7);
        else
            sim_stats_passed(&stats, 7, 10 * i + 1);
        ck_assert_uint_eq(sim_stats_carried(&stats, 10 * i + 1), 200);
    }
    for (const struct sim_session *n = stats.first; n != NULL; n = n->next)
        ck_assert_ptr_null(n->missing.at); /* nothing is held of what is over */
    ck_assert_uint_eq(sim_stats_carried(&stats, 61), 200);
    ck_assert_uint_eq(sim_stats_carried(&stats, 62), 0); /* the receiver did not take it */
    sim_stats_delivered(&stats, 1, 62);
    sim_stats_delivered(&stats, 9, 62); /* unknown */
    ck_assert_uint_eq(sim_stats_carried(&stats, TICK_S), 200);
}
END_TEST

/* A copy brought what was lost. */
START_TEST(green_block_with_a_copy)
{
    stats.window_to = TICK_S;
    stats.transit = 50;
    open_green(1);
    green(1, 0, false, CAUSE_FIRST, 10);
    sim_stats_lost(&stats, 4);
    green(1, 100, false, CAUSE_FIRST, 11);
    sim_stats_passed(&stats, 4, 11);
    green(1, 0, true, CAUSE_PROACTIVE, 12);
    sim_stats_passed(&stats, 7, 12);
    ck_assert_uint_eq(sim_stats_carried(&stats, 62), 200);
    ck_assert_uint_eq(sim_stats_carried(&stats, 63), 0);
}
END_TEST

/* Bytes are of the part in which they were sent; the last part is the shortest. */
START_TEST(parts_of_the_window)
{
    uint64_t parts[SIM_STATS_PARTS];
    stats.window_from = 10;
    stats.window_to = 10 + 2 * SIM_STATS_PARTS - 1;
    open_green(1);
    for (tick now = 9; now <= stats.window_to; now++) { /* before, in and after it */
        green(1, 100 * now, false, CAUSE_FIRST, now);
        sim_stats_passed(&stats, 4, now);
    }
    sim_stats_parts(&stats, stats.window_to, parts);
    for (unsigned i = 0; i < SIM_STATS_PARTS; i++) {
        bool last = i == SIM_STATS_PARTS - 1;
        ck_assert_uint_eq(sim_stats_part(&stats, i), 10 + 2 * i);
        ck_assert_uint_eq(parts[i], last ? 100 : 200);
    }
    ck_assert_uint_eq(sim_stats_part(&stats, SIM_STATS_PARTS), stats.window_to);
    ck_assert_uint_eq(sim_stats_carried(&stats, stats.window_to), 100 * (2 * SIM_STATS_PARTS - 1));
}
END_TEST

static void setup(void)
{
    ck_assert_int_eq(sim_stats_init(&stats, 1), 0);
}

static void teardown(void)
{
    sim_stats_fini(&stats);
}

int main(void)
{
    Suite *suite = suite_create("sim_stats");
    TCase *tc = tcase_create("figures");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_session);
    tcase_add_test(tc, cycles_count_in_depth);
    tcase_add_test(tc, a_window_has_those_that_began_in_it);
    tcase_add_test(tc, nearest_rank);
    tcase_add_test(tc, green_blocks_on_their_way);
    tcase_add_test(tc, green_block_with_a_copy);
    tcase_add_test(tc, parts_of_the_window);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
