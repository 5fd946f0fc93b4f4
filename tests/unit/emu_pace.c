/* SPDX-License-Identifier: Apache-2.0 */
/* Batches follow what waking up costs, within the bound on lateness; real-time priority is given
 * back while it takes more than its share. */

#include "channel-emu/scenario/emu_pace.h"
#include "tests/unit/suite.h"

/* A machine: each wake-up costs `wake`, each frame `frame`; frames come at a rate, and leave late
 * by up to a batch and `extra`. So many windows pass. */
struct machine {
    tick wake, frame, extra;
    uint64_t frames_s;
    tick now, cpu;
};

static double run(struct emu_pace *p, struct machine *m, int windows)
{
    tick from = m->now, cpu = m->cpu;
    for (int i = 0; i < windows; i++) {
        uint64_t frames = m->frames_s * EMU_WINDOW / TICK_S;
        uint64_t wakes = EMU_WINDOW / p->batch < frames ? EMU_WINDOW / p->batch : frames;
        for (uint64_t k = 0; k < frames; k++)
            emu_pace_frame(p, p->batch * k / frames + m->extra);
        ck_assert(!emu_pace_over(p, m->now + EMU_WINDOW - 1));
        m->now += EMU_WINDOW;
        tick used = wakes * m->wake + frames * m->frame;
        m->cpu += used < EMU_WINDOW ? used : EMU_WINDOW;
        ck_assert(emu_pace_over(p, m->now));
        emu_pace_judge(p, m->now, m->cpu);
        ck_assert(!p->automatic || (p->batch >= EMU_BATCH_MIN && p->batch <= EMU_BATCH_MAX));
    }
    return (double)(m->cpu - cpu) / (double)(m->now - from);
}

static struct machine dear(void)
{
    return (struct machine){
        .wake = 6 * TICK_US, .frame = TICK_US, .extra = 4 * TICK_US, .frames_s = 58000};
}

START_TEST(follows_the_rate)
{
    struct emu_pace p;
    struct machine m = dear();
    emu_pace_init(&p, EMU_BATCH_AUTO, true, 0);
    m.frames_s = 1000;
    run(&p, &m, 100);
    ck_assert_uint_eq(p.batch, EMU_BATCH_MIN); /* nothing is to be gained */
    m.frames_s = 58000;
    run(&p, &m, 100);
    ck_assert_uint_gt(p.batch, 25 * TICK_US);
    ck_assert(run(&p, &m, 100) < 0.3);
    m.frames_s = 1000;
    run(&p, &m, 100);
    ck_assert_uint_eq(p.batch, EMU_BATCH_MIN);
}
END_TEST

START_TEST(follows_the_cost)
{
    struct emu_pace p;
    struct machine m = dear();
    emu_pace_init(&p, EMU_BATCH_AUTO, true, 0);
    m.wake = TICK_US; /* waking up is cheap */
    run(&p, &m, 100);
    ck_assert_uint_lt(p.batch, 20 * TICK_US);
    ck_assert_uint_eq(p.given_back, 0);
}
END_TEST

/* Waking up is dear, and slow: the bound on lateness goes before the cost. */
START_TEST(lateness_is_bounded)
{
    struct emu_pace p;
    struct machine m = dear();
    emu_pace_init(&p, EMU_BATCH_AUTO, true, 0);
    m.wake = 10 * TICK_US;
    m.extra = 25 * TICK_US;
    for (int i = 0; i < 100; i++) {
        run(&p, &m, 1);
        ck_assert(i < 20 || p.batch + m.extra < 60 * TICK_US);
    }
    m.extra = 300 * TICK_US; /* a stalling machine: that is not the batches' doing */
    run(&p, &m, 100);
    ck_assert_uint_eq(p.batch, EMU_BATCH_MAX);
}
END_TEST

START_TEST(realtime_has_its_share)
{
    struct emu_pace p;
    struct machine m = dear();
    emu_pace_init(&p, EMU_BATCH_AUTO, true, 0);
    m.wake = 40 * TICK_US;
    run(&p, &m, 2); /* batches grow first */
    ck_assert_uint_eq(p.batch, EMU_BATCH_MAX);
    ck_assert_uint_eq(p.given_back, 0);
    run(&p, &m, 100);
    ck_assert(!p.realtime);
    ck_assert_uint_gt(p.given_back, 90);
    m.frames_s = 1000; /* and has it again */
    run(&p, &m, 10);
    ck_assert(p.realtime);
    emu_pace_init(&p, EMU_BATCH_AUTO, false, m.now); /* not where it was not to be had */
    p.cpu = m.cpu;
    run(&p, &m, 10);
    ck_assert(!p.realtime);
    ck_assert_uint_eq(p.given_back, 0);
}
END_TEST

START_TEST(fixed_batches)
{
    struct emu_pace p;
    struct machine m = dear();
    emu_pace_init(&p, 100 * TICK_US, true, 0);
    run(&p, &m, 100);
    ck_assert_uint_eq(p.batch, 100 * TICK_US);
    m.frames_s = 900000;
    run(&p, &m, 3);
    ck_assert(!p.realtime);
}
END_TEST

/* Arrivals wait a small part of the delay at most, and a batch at least. */
START_TEST(reading)
{
    struct emu_pace p;
    emu_pace_init(&p, 20 * TICK_US, true, 0);
    ck_assert_uint_eq(emu_pace_read(&p, 0), 20 * TICK_US);
    ck_assert_uint_eq(emu_pace_read(&p, 400 * TICK_US), 50 * TICK_US);
    ck_assert_uint_le(emu_pace_read(&p, TICK_S), TICK_MS);
}
END_TEST

SUITE(emu_pace, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, follows_the_rate);
    tcase_add_test(t, follows_the_cost);
    tcase_add_test(t, lateness_is_bounded);
    tcase_add_test(t, realtime_has_its_share);
    tcase_add_test(t, fixed_batches);
    tcase_add_test(t, reading);
}
