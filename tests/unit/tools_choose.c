/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions are shown segment by segment, and how many of their rows are written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "tools/analyze/analyze_extract.h"

static struct analyze_flow flow;
static struct analyze_choose chosen;

static void add(size_t of, uint64_t number, tick duration, uint64_t resent, uint64_t cp_lost,
                int outcome)
{
    struct analyze_session s = {.originator = 1, .number = number, .sender_log = true};
    s.first_tx = 0;
    s.closed = duration;
    s.sender_closed = true;
    s.segments_resent = resent;
    s.segments_sent = 10 + number;
    s.cp_lost = cp_lost;
    s.lossy = resent > 0;
    s.outcome = outcome;
    analyze_choose_add(&chosen, of, &s, &flow);
}

static void setup(void)
{
    memset(&chosen, 0, sizeof chosen);
    hist_init(&flow.duration);
    for (int i = 0; i < 9; i++)
        hist_add(&flow.duration, 20 * TICK_MS);
}

START_TEST(one_of_each_kind_comes_first)
{
    struct analyze_name names[64];
    add(0, 1, 20 * TICK_MS, 0, 0, OUTCOME_DONE);  /* ordinary */
    add(0, 2, 25 * TICK_MS, 3, 0, OUTCOME_DONE);  /* ordinary with losses */
    add(0, 3, 90 * TICK_MS, 20, 2, OUTCOME_DONE); /* slowest, most checkpoints */
    add(0, 4, 80 * TICK_MS, 50, 1, OUTCOME_DONE); /* most data again */
    add(0, 5, 10 * TICK_MS, 0, 0, OUTCOME_CANCELLED_LOCAL);
    add(0, 6, 21 * TICK_MS, 0, 0, OUTCOME_DONE);
    size_t n = analyze_choose_names(&chosen, (size_t[]){0}, 1, names, 5);
    ck_assert_uint_eq(n, 5);
    static const uint64_t wanted[] = {3, 2, 5, 4, 1};
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(names[i].number, wanted[i]);
    ck_assert_uint_eq(analyze_choose_names(&chosen, (size_t[]){0}, 1, names, 64), 6);
    ck_assert_uint_eq(analyze_choose_names(&chosen, (size_t[]){0}, 1, names, 0), 0);
}
END_TEST

START_TEST(flows_take_turns_and_few_are_kept)
{
    struct analyze_name names[64];
    for (uint64_t i = 0; i < 50; i++)
        add(0, 100 + i, (30 + i) * TICK_MS, 0, 0, OUTCOME_DONE);
    add(1, 7, 20 * TICK_MS, 0, 0, OUTCOME_DONE);
    size_t n = analyze_choose_names(&chosen, (size_t[]){1, 0}, 2, names, 64);
    ck_assert_uint_eq(n, 1 + 2 * CHOOSE_KEEP); /* the slowest, those next to the median */
    ck_assert_uint_eq(names[0].number, 7);
    ck_assert_uint_eq(names[1].number, 149);
    ck_assert_uint_eq(names[2].number, 100);
    ck_assert_uint_eq(names[3].number, 148);
}
END_TEST

static char *whole(const char *folder, const char *name, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
    unlink(path);
    return text;
}

START_TEST(rows_have_a_limit)
{
    char folder[] = "/tmp/tools_choose-XXXXXX", text[4096];
    struct analyze_extract *x = calloc(1, sizeof *x);
    ck_assert(x != NULL && mkdtemp(folder) != NULL);
    ck_assert(analyze_extract_open(x, folder));
    x->len = 13;
    for (uint64_t i = 0; i < x->len; i++)
        x->names[i] = (struct analyze_name){1, i};
    struct drop_event d = {.reason = DROP_TRACE, .type = 0, .originator = 1};
    d.length = d.late_ns = d.offset = d.data_length = d.cp_serial = d.rpt_serial = EVENT_NONE;
    for (d.session = 0; d.session < 12; d.session++)
        for (int i = 0; i < EXTRACT_ROWS_MAX - (d.session == 11) + 2 * (d.session == 3); i++)
            if (d.session > 1)
                analyze_extract_drop(x, &d);
    ck_assert_uint_eq(x->written, EXTRACT_TOTAL_MAX - 1);
    d.session = 12;
    analyze_extract_drop(x, &d);
    analyze_extract_drop(x, &d);
    d.session = 13;
    analyze_extract_drop(x, &d);
    ck_assert_uint_eq(x->written, EXTRACT_TOTAL_MAX);
    ck_assert(analyze_extract_close(x));
    ck_assert_str_eq(whole(folder, "left-out.csv", text, sizeof text),
                     "originator,session,rows\n1,3,2\n1,12,1\n");
    ck_assert_ptr_nonnull(
        strstr(whole(folder, "drops.csv", text, sizeof text), "\n0,return,0,trace,,,1,2,0,,,,,\n"));
    whole(folder, "segments.csv", text, sizeof text);
    ck_assert_int_eq(rmdir(folder), 0);
    free(x);
}
END_TEST

START_TEST(a_folder_that_is_not_there)
{
    struct analyze_extract *x = calloc(1, sizeof *x);
    ck_assert(x != NULL);
    ck_assert(!analyze_extract_open(x, "/nowhere/at/all"));
    ck_assert(!analyze_extract_close(x));
    free(x);
}
END_TEST

SUITE(tools_choose, t)
{
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, one_of_each_kind_comes_first);
    tcase_add_test(t, flows_take_turns_and_few_are_kept);
    tcase_add_test(t, rows_have_a_limit);
    tcase_add_test(t, a_folder_that_is_not_there);
}
