/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-over: which channel a frame takes, and what becomes of what is inside the one before. */
#include "channel-emu/chan/chan_hand.h"
#include "channel-emu/chan/chan_shared.h"
#include "tests/unit/chan_help.h"
#include "tests/unit/suite.h"

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

/* On a shared line with a limit, behind five frames of b, wait 14 of a: from a's cut on their room
 * is b's, and their fates are told. */
START_TEST(a_cut_makes_room_for_others)
{
    const tick cut = 1500 * TICK_US;
    struct chan_shared *line;
    struct chan_shared_config k = {.rate_bps = 8000000, .queue_bytes = 20000};
    struct chan_fate f;
    struct chan_out out;
    ck_assert_int_eq(chan_shared_new(&line, &k), 0);
    struct chan *a =
        chan_of((struct chan_config){.shared = line, .cuts = &cut, .cut_count = 1, .live = true});
    struct chan *b = chan_of((struct chan_config){.shared = line});
    for (int i = 0; i < 19; i++)
        input(i < 5 ? b : a, 1000, 0, 0);
    ck_assert_uint_eq(chan_deadline(a), TICK_MS); /* the line's next turn */
    ck_assert_int_eq(chan_output(a, TICK_MS, &out), 0);
    ck_assert_uint_eq(chan_deadline(a), cut);
    ck_assert_int_eq(chan_output(a, cut, &out), 0);
    int told = 0;
    for (; chan_fate(a, &f) == 1; told++)
        ck_assert_int_eq(f.reason, CHAN_HANDOVER);
    ck_assert_int_eq(told, 14);
    ck_assert_uint_eq(chan_counters(a)->queued, 0);
    for (int i = 0; i < 18; i++) /* beside one that goes on the air, and two that wait */
        input(b, 1000, 1, 2 * TICK_MS);
    ck_assert_uint_eq(chan_counters(b)->lost[CHAN_QUEUE], 1);
    for (tick i = 1; i <= 22; i++) {
        ck_assert_int_eq(chan_output(b, TICK_S, &out), 1);
        ck_assert_uint_eq(out.due, i * TICK_MS);
    }
    ck_assert_uint_eq(chan_part(a).frames, 0);
    ck_assert_uint_eq(chan_deadline(a), TICK_NEVER);
    expect_idle(b);
    chan_free(a);
    chan_free(b);
    chan_shared_free(line);
}
END_TEST

/* The same on a line of its own that waits for a contact. */
START_TEST(a_cut_makes_room_before_the_contact)
{
    const tick cut = 50 * TICK_MS;
    const struct chan_window windows[] = {{0, TICK_MS}, {100 * TICK_MS, 200 * TICK_MS}};
    struct chan *c = chan_of((struct chan_config){.rate_bps = 8000000,
                                                  .queue_bytes = 10000,
                                                  .hold = true,
                                                  .windows = windows,
                                                  .window_count = 2,
                                                  .cuts = &cut,
                                                  .cut_count = 1});
    for (int i = 0; i < 10; i++)
        input(c, 1000, 0, 2 * TICK_MS);
    ck_assert_uint_eq(chan_deadline(c), cut);
    for (int i = 0; i < 10; i++)
        input(c, 1000, 1, 60 * TICK_MS);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_HANDOVER], 10);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_QUEUE], 0);
    struct chan_out out;
    for (tick i = 1; i <= 10; i++) {
        ck_assert_int_eq(chan_output(c, TICK_S, &out), 1);
        ck_assert_uint_eq(out.due, (100 + i) * TICK_MS);
    }
    expect_idle(c);
    chan_free(c);
}
END_TEST

/* Ten wait at the cut; of two reasons it is the rule. */
START_TEST(a_rule_comes_before_a_cut)
{
    static const uint8_t zeros[1000];
    const tick cut = 10 * TICK_MS;
    struct chan *c =
        chan_of((struct chan_config){.rate_bps = 8000000, .cuts = &cut, .cut_count = 1});
    for (int i = 0; i < 20; i++)
        chan_input_rule(c, zeros, sizeof zeros, 0, 0);
    expect_idle(c);
    ck_assert_uint_eq(chan_counters(c)->lost[CHAN_RULE], 20);
    chan_free(c);
}
END_TEST

/* ---- a shared line with cuts, against a plain list ---- */

enum { LIMIT = 12, PLAYED = 20000 }; /* in frames of 1000 bytes, a millisecond each */

struct plain {
    struct {
        size_t member;
        tick entered, cut;
    } at[LIMIT + 1];
    size_t count;
    tick free_at;
    uint64_t sent[3], full[3], cut[3];
};

static void take_plain(struct plain *p, size_t i)
{
    memmove(&p->at[i], &p->at[i + 1], (--p->count - i) * sizeof *p->at);
}

static void run_plain(struct plain *p, tick until)
{
    while (p->count > 0) {
        tick start = p->at[0].entered > p->free_at ? p->at[0].entered : p->free_at;
        size_t first = 0;
        for (size_t i = 1; i < p->count; i++)
            first = p->at[i].cut < p->at[first].cut ? i : first;
        if (p->at[first].cut <= start && p->at[first].cut <= until) {
            p->cut[p->at[first].member]++;
            take_plain(p, first);
        } else if (start <= until) {
            p->free_at = start + TICK_MS;
            p->sent[p->at[0].member]++;
            take_plain(p, 0);
        } else {
            return;
        }
    }
}

static void put_plain(struct plain *p, size_t member, tick now, tick cut)
{
    run_plain(p, now);
    tick rest = p->free_at > now ? p->free_at - now : 0;
    if ((rest > 0 || p->count > 0) && rest + (p->count + 1) * TICK_MS > LIMIT * TICK_MS) {
        p->full[member]++;
        return;
    }
    p->at[p->count].member = member;
    p->at[p->count].entered = now;
    p->at[p->count++].cut = cut;
    run_plain(p, now);
}

/* Three channels with cuts at times of their own. */
START_TEST(a_shared_line_with_cuts_is_a_list)
{
    static tick cuts[3][1000];
    struct plain p = {.count = 0};
    struct chan_shared *line;
    struct chan_shared_config k = {.rate_bps = 8000000, .queue_bytes = LIMIT * 1000};
    struct chan *c[3];
    struct rng rng;
    tick now = 0;
    rng_init(&rng, 40 + (uint64_t)_i);
    ck_assert_int_eq(chan_shared_new(&line, &k), 0);
    for (tick m = 0; m < 3; m++) {
        for (tick i = 0; i < 1000; i++)
            cuts[m][i] = (i + 1) * (7 + 6 * m) * TICK_MS + m * 300 * TICK_US;
        c[m] = chan_of((struct chan_config){.shared = line, .cuts = cuts[m], .cut_count = 1000});
    }
    for (int n = 0; n < PLAYED; n++) {
        size_t m = rng_below(&rng, 3);
        now += rng_below(&rng, n % 100 == 0 ? 40 : 3) * 500 * TICK_US;
        size_t next = 0;
        while (next < 1000 && cuts[m][next] <= now)
            next++;
        tick cut = next < 1000 ? cuts[m][next] : TICK_NEVER;
        put_plain(&p, m, now, cut);
        input(c[m], 1000, 0, now);
        if (chan_counters(c[m])->lost[CHAN_QUEUE] != p.full[m])
            ck_abort_msg("frame %d", n);
    }
    run_plain(&p, TICK_NEVER - 1);
    struct chan_out out;
    for (int m = 0; m < 3; m++) {
        while (chan_output(c[m], TICK_NEVER - 1, &out) == 1)
            continue;
        ck_assert_uint_eq(chan_part(c[m]).frames, p.sent[m]);
        ck_assert_uint_ge(chan_counters(c[m])->lost[CHAN_HANDOVER], p.cut[m]);
        ck_assert_uint_gt(p.cut[m], 20);
        ck_assert_uint_gt(p.full[m], 20);
        check_sum(c[m]);
    }
    for (int m = 0; m < 3; m++)
        chan_free(c[m]);
    chan_shared_free(line);
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

SUITE(chan_hand, t)
{
    tcase_add_test(t, a_frame_takes_the_channel_of_its_time);
    tcase_add_test(t, a_list_without_sense_is_refused);
    tcase_add_test(t, cuts_are_those_of_the_channel_before);
    tcase_add_test(t, a_cut_loses_what_is_inside);
    tcase_add_test(t, what_waits_takes_no_line);
    tcase_add_test(t, a_cut_makes_room_for_others);
    tcase_add_test(t, a_cut_makes_room_before_the_contact);
    tcase_add_test(t, a_rule_comes_before_a_cut);
    tcase_add_loop_test(t, a_shared_line_with_cuts_is_a_list, 0, 5);
    tcase_add_loop_test(t, fates_are_as_without_cuts_but_for_them, 0, 20);
    tcase_add_test(t, cuts_rise);
}
