/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-over: which channel a frame takes, and what becomes of what is inside the one before. */
#include "channel-emu/chan/chan_hand.h"
#include "tests/unit/chan_help.h"

static const struct chan_handover passes[] = {{.at = 10 * TICK_MS, .to = 0},
                                              {.at = 50 * TICK_MS, .to = 1, .gap = 5 * TICK_MS},
                                              {.at = 80 * TICK_MS, .to = CHAN_NOWHERE},
                                              {.at = 90 * TICK_MS, .to = 0}};

START_TEST(a_frame_takes_the_channel_of_its_time)
{
    static const struct {
        tick at;
        uint32_t to;
    } expected[] = {{0, CHAN_NOWHERE},
                    {10 * TICK_MS - 1, CHAN_NOWHERE},
                    {10 * TICK_MS, 0},
                    {50 * TICK_MS - 1, 0},
                    {50 * TICK_MS, CHAN_NOWHERE},
                    {55 * TICK_MS - 1, CHAN_NOWHERE},
                    {55 * TICK_MS, 1},
                    {80 * TICK_MS - 1, 1},
                    {80 * TICK_MS, CHAN_NOWHERE},
                    {90 * TICK_MS, 0},
                    {TICK_NEVER, 0}};
    struct chan_hand h;
    chan_hand_init(&h, passes, 4);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_uint_eq(chan_hand_to(&h, expected[i].at), expected[i].to);
    chan_hand_init(&h, passes, 4);
    ck_assert_uint_eq(chan_hand_to(&h, TICK_S), 0); /* all at once */
    chan_hand_init(&h, NULL, 0);
    ck_assert_uint_eq(chan_hand_to(&h, 0), CHAN_NOWHERE);
}
END_TEST

START_TEST(a_list_without_sense_is_refused)
{
    const struct chan_handover falls[] = {{.at = 5}, {.at = 5}},
                               gap[] = {{.at = 5, .gap = 6}, {.at = 10}},
                               fits[] = {{.at = 5, .gap = 5}, {.at = 10}},
                               first[] = {{.at = 5, .drop = true}}, far[] = {{.at = 0, .to = 2}};
    ck_assert(chan_hand_valid(passes, 4, 2));
    ck_assert(!chan_hand_valid(passes, 4, 1));
    ck_assert(!chan_hand_valid(falls, 2, 1));
    ck_assert(!chan_hand_valid(gap, 2, 1));
    ck_assert(chan_hand_valid(fits, 2, 1));
    ck_assert(!chan_hand_valid(first, 1, 1));
    ck_assert(!chan_hand_valid(far, 1, 2));
    ck_assert(chan_hand_valid(NULL, 0, 0));
}
END_TEST

START_TEST(cuts_are_those_of_the_channel_before)
{
    const struct chan_handover list[] = {{.at = 0, .to = 1},
                                         {.at = 1, .to = 0, .drop = true},
                                         {.at = 2, .to = 1},
                                         {.at = 3, .to = 0, .drop = true},
                                         {.at = 4, .to = CHAN_NOWHERE, .drop = true},
                                         {.at = 5, .to = 0, .drop = true}};
    tick cuts[6];
    ck_assert_uint_eq(chan_hand_cuts(list, 6, 1, cuts), 2);
    ck_assert(cuts[0] == 1 && cuts[1] == 3);
    ck_assert_uint_eq(chan_hand_cuts(list, 6, 0, cuts), 1);
    ck_assert_uint_eq(cuts[0], 4);
}
END_TEST

/* A frame a millisecond, 10 ms of delay: at the cut nine are under way and lost, and the one that
 * arrives in that instant is not. */
START_TEST(a_cut_loses_what_is_inside)
{
    const tick cut = 50 * TICK_MS;
    struct chan *c =
        chan_of((struct chan_config){.delay = 10 * TICK_MS, .cuts = &cut, .cut_count = 1});
    struct chan_out out;
    struct chan_fate f;
    uint64_t lost = 0;
    for (tick now = 0; now < 100 * TICK_MS; now += TICK_MS) {
        input(c, 100, 0, now);
        while (chan_fate(c, &f) == 1) {
            ck_assert_int_eq(f.reason, CHAN_HANDOVER);
            ck_assert(f.entered > 40 * TICK_MS && f.entered < cut);
            lost++;
        }
        while (chan_output(c, now, &out) == 1)
            ck_assert(out.due <= cut || out.entered >= cut);
        check_sum(c);
    }
    ck_assert_uint_eq(lost, 9);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_HANDOVER], 9);
    chan_free(c);
}
END_TEST

/* 20 frames at once, a millisecond each on the line: ten have left by the cut; the others take none
 * of the line's time, so that what comes after it goes at once. */
START_TEST(what_waits_takes_no_line)
{
    const tick cut = 10 * TICK_MS;
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 8000000, .cuts = &cut, .cut_count = 1});
    for (int i = 0; i < 20; i++)
        input(c, 1000, 0, 0);
    input(c, 1000, 1, cut);
    struct chan_out out;
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(chan_output(c, TICK_S, &out), 1);
    ck_assert_uint_eq(out.due, cut);
    expect(c, 1, 11 * TICK_MS);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_HANDOVER], 10);
    expect_idle(c);
    chan_free(c);
}
END_TEST

enum { CUTS = 40, FRAMES = 4000 };

static bool is_cut(const tick *cuts, const struct chan_out *out)
{
    for (int i = 0; i < CUTS; i++) {
        if (out->entered < cuts[i] && cuts[i] < out->due)
            return true;
    }
    return false;
}

static void fill(struct chan *c, uint64_t seed)
{
    static const uint8_t zeros[100];
    struct rng rng;
    tick now = 0;
    rng_init(&rng, seed);
    for (int n = 0; n < FRAMES; n++) {
        now += rng_below(&rng, 2 * TICK_MS);
        chan_input(c, zeros, sizeof zeros, 0, now);
    }
}

/* Frames and copies of random channels with many cuts: lost are those with a cut behind their entry
 * and before their arrival, which a channel without cuts tells; of what is lost there is no copy.
 */
START_TEST(fates_are_as_without_cuts_but_for_them)
{
    static bool lost[FRAMES + 1];
    tick cuts[CUTS];
    for (tick i = 0; i < CUTS; i++)
        cuts[i] = (i + 1) * 97 * TICK_MS;
    struct chan_config k = {.delay = 20 * TICK_MS,
                            .jitter = 30 * TICK_MS,
                            .duplicate = 0.2,
                            .loss = 0.1,
                            .live = true,
                            .seed = (uint64_t)_i};
    struct chan *first = chan_of(k), *plain = chan_of(k);
    k.cuts = cuts;
    k.cut_count = CUTS;
    struct chan *cut = chan_of(k);
    uint64_t expected = 0;
    fill(first, k.seed);
    fill(plain, k.seed);
    fill(cut, k.seed);
    struct chan_out a, b;
    memset(lost, 0, sizeof lost);
    while (chan_output(first, TICK_NEVER - 1, &a) == 1)
        lost[a.number] = lost[a.number] || (!a.copy && is_cut(cuts, &a));
    while (chan_output(plain, TICK_NEVER - 1, &a) == 1) {
        bool gone = lost[a.number] || is_cut(cuts, &a);
        expected += gone && !(a.copy && lost[a.number]);
        if (!gone && (chan_output(cut, TICK_NEVER - 1, &b) != 1 || a.due != b.due ||
                      a.number != b.number || a.copy != b.copy))
            ck_abort_msg("frame %llu", (unsigned long long)a.number);
    }
    ck_assert_int_eq(chan_output(cut, TICK_NEVER - 1, &b), 0);
    ck_assert_uint_gt(expected, 100);
    ck_assert_uint_eq(chan_counters(cut)->lost[CHAN_HANDOVER], expected);
    check_sum(cut);
    chan_free(first);
    chan_free(plain);
    chan_free(cut);
}
END_TEST

START_TEST(cuts_rise)
{
    const tick same[] = {5, 5};
    struct chan *c;
    struct chan_config k = {.cuts = same, .cut_count = 2};
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
    k.cuts = NULL;
    ck_assert_int_eq(chan_new(&c, &k), HELIO_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("chan_hand");
    TCase *tc = tcase_create("hand");
    tcase_add_test(tc, a_frame_takes_the_channel_of_its_time);
    tcase_add_test(tc, a_list_without_sense_is_refused);
    tcase_add_test(tc, cuts_are_those_of_the_channel_before);
    tcase_add_test(tc, a_cut_loses_what_is_inside);
    tcase_add_test(tc, what_waits_takes_no_line);
    tcase_add_loop_test(tc, fates_are_as_without_cuts_but_for_them, 0, 20);
    tcase_add_test(tc, cuts_rise);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
