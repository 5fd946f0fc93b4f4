/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as ION and HDTN have them: what is odd about them, and what these programs load. */
#include "tests/unit/plan_file_help.h"
#include "tests/unit/suite.h"

static void noted(const struct fixture *f, size_t n, const char *text)
{
    ck_assert_uint_lt(n, f->notes.len);
    ck_assert_msg(strstr(f->notes.text[n], text) != NULL, "%s, not %s", f->notes.text[n], text);
}

static tick light(const struct plan *p, uint64_t from, uint64_t to, tick t)
{
    struct plan_range r;
    return plan_range_at(p, from, to, t, &r) < 0 || r.start > t ? TICK_NEVER : r.owlt;
}

/* What ION itself takes is taken, and what is odd about it is noted with its line. */
START_TEST(ion_odd_lines)
{
    struct fixture *f = read_text(PLAN_ION, "a contact -1 -1 1 1 0\n"
                                            "a contact 0 0 1 2 0 0.0\n"
                                            "a contact +1 +3600 3 3 100000\n"
                                            "a range +1 +3600 3 3 1\n"
                                            "^ 2\n"
                                            "! 1\n"
                                            "b contact\n"
                                            "d contact -1 9 9\n"
                                            "a contact +0 -1 2 1 1000\n"
                                            "a contact +0 +60 1 2 1000\n"
                                            "a range +0 +60 1 2 5\n");
    good(f, 2, 1);
    ck_assert_uint_eq(f->notes.total, 5);
    noted(f, 0, "plan:1: registers node 1: no contact");
    noted(f, 1, "plan:2: contact 1 to 2 has no times");
    noted(f, 2, "plan:3: contact of node 3 with itself: left out");
    noted(f, 3, "plan:4: range from node 3 to itself: left out");
    noted(f, 4, "plan:5: region 2: ");
    ck_assert_uint_eq(f->draft.skipped, 3);
    has_contact(f, 2, 1, 0, UINT64_C(999999999) * TICK_S, 8000, 1);
    drop(f);
    f = read_start(PLAN_ION, "a contact +0 -1 2 1 1000\n", DAY0);
    has_contact(f, 2, 1, DAY0, INT32_MAX * TICK_S, 8000, 1);
    drop(f);
}
END_TEST

/* A file for all programs of ION. */
START_TEST(ion_sections)
{
    struct fixture *f = read_text(PLAN_ION, "a contact +0 +1 1 2 1\n"
                                            "## begin bpadmin\n"
                                            "a scheme ipn 'ipnfw' 'ipnadminep'\n"
                                            "a contact +0 +1 5 6 1\n"
                                            "## end bpadmin\n"
                                            "this is nobody's\n"
                                            "## begin ionadmin host1\n"
                                            "## a comment\n"
                                            "a contact +0 +1 2 1 1\n"
                                            "## end ionadmin host1\n");
    good(f, 2, 0);
    ck_assert_uint_eq(f->draft.skipped, 3);
    drop(f);
    bad(PLAN_ION, "## begin bpadmin\na x y\n## end bpadmin\n## begin ionadmin\na x y\n",
        "plan:5: \"a\" is not understood");
}
END_TEST

/* From the lower to the higher number: of both directions; from the higher to the lower: of that
 * one only. Either order of lines means the same. */
START_TEST(ion_ranges_by_order_of_numbers)
{
    static const char *const text[] = {
        "a range +0 +60 1 2 5\na range +10 +20 2 1 7\na range +0 +60 4 3 9\n",
        "a range +0 +60 4 3 9\na range +10 +20 2 1 7\na range +0 +60 1 2 5\n"};
    for (int i = 0; i < 2; i++) {
        struct fixture *f = read_text(PLAN_ION, text[i]);
        char *out = NULL;
        size_t len;
        struct plan_lost lost;
        good(f, 0, 3);
        noted(f, 0, "range 4 to 3: of this direction only; there is no light time from 3 to 4");
        ck_assert_uint_eq(f->notes.total, 1);
        FILE *to = open_memstream(&out, &len);
        ck_assert_int_eq(plan_write(to, f->plan, PLAN_ION, 0, &lost), 0);
        fclose(to);
        struct fixture *again = read_text(PLAN_ION, out);
        good(again, 0, 5);
        const struct plan *const both[] = {f->plan, again->plan};
        for (int j = 0; j < 2; j++) {
            ck_assert_uint_eq(light(both[j], 1, 2, 15 * TICK_S), 5 * TICK_S);
            ck_assert_uint_eq(light(both[j], 2, 1, 15 * TICK_S), 7 * TICK_S);
            ck_assert_uint_eq(light(both[j], 2, 1, 25 * TICK_S), 5 * TICK_S);
            ck_assert_uint_eq(light(both[j], 4, 3, 15 * TICK_S), 9 * TICK_S);
            ck_assert_uint_eq(light(both[j], 3, 4, 15 * TICK_S), TICK_NEVER);
        }
        drop(again);
        drop(f);
        free(out);
    }
    struct fixture *f =
        read_text(PLAN_YAML, "ranges: [{from: 1, to: 2, end: 9s, owlt: 1s, one_way: yes}]\n");
    good(f, 0, 1);
    ck_assert_uint_eq(light(f->plan, 2, 1, 0), TICK_NEVER);
    drop(f);
}
END_TEST

/* ION reads whole seconds, ignores a contact that begins when another ends, has no unlimited rate.
 */
START_TEST(fitted_for_ion)
{
    struct fixture *f = read_text(PLAN_ION, "a contact +0.5 +10.5 1 2 1000\n"
                                            "a contact +20 +30 1 2 1000\n"
                                            "a contact +30 +40 1 2 2000\n"
                                            "a contact +40 +40.9 1 2 2000\n"
                                            "a contact +0 +9 2 1 0\n"
                                            "a contact +0 +9 3 1 5000000000\n"
                                            "a range +0.4 +60.4 1 2 1.5\n");
    struct plan_fitted fitted;
    struct plan *fit;
    good(f, 6, 1);
    ck_assert_int_eq(plan_fit(f->plan, PLAN_ION, 0, &fit, &fitted), 0);
    plan_free(f->plan);
    f->plan = fit;
    good(f, 5, 1);
    has_contact(f, 1, 2, 1 * TICK_S, 10 * TICK_S, 8000, 1);
    has_contact(f, 1, 2, 20 * TICK_S, 29 * TICK_S, 8000, 1);
    has_contact(f, 1, 2, 30 * TICK_S, 39 * TICK_S, 16000, 1);
    has_contact(f, 2, 1, 0, 9 * TICK_S, UINT64_C(8) * (UINT32_MAX - 255), 1);
    has_contact(f, 3, 1, 0, 9 * TICK_S, UINT64_C(8) * (UINT32_MAX - 255), 1);
    ck_assert_uint_eq(light(fit, 1, 2, 59 * TICK_S), 2 * TICK_S);
    ck_assert_uint_eq(light(fit, 1, 2, 60 * TICK_S), TICK_NEVER);
    ck_assert_uint_eq(fitted.touching, 2);
    ck_assert_uint_eq(fitted.vanished, 1);
    ck_assert_uint_eq(fitted.rates, 2);
    ck_assert_uint_eq(fitted.seconds, 3);
    drop(f);
}
END_TEST

/* HDTN reads 10.5 as 0, and has nodes and times of 31 bits. */
START_TEST(fitted_for_hdtn)
{
    struct fixture *f = read_text(PLAN_ION, "a contact +0.5 +10.5 1 2 1000\n"
                                            "a contact +10.5 +20.5 1 2 1000\n"
                                            "a contact +0 +9 2147483648 1 10\n"
                                            "a contact +0 +2147483649 2 1 10\n");
    struct plan_fitted fitted;
    struct plan *fit;
    good(f, 4, 0);
    ck_assert_int_eq(plan_fit(f->plan, PLAN_HDTN, TICK_S / 2, &fit, &fitted), 0);
    plan_free(f->plan);
    f->plan = fit;
    good(f, 2, 0);
    has_contact(f, 1, 2, TICK_S / 2, 21 * TICK_S / 2, 8000, 1);
    has_contact(f, 1, 2, 21 * TICK_S / 2, 41 * TICK_S / 2, 8000, 1);
    ck_assert_uint_eq(fitted.numbers, 2);
    drop(f);
}
END_TEST

/* What HDTN itself takes is taken, and what is odd about it is noted with its line. */
START_TEST(hdtn_odd_contacts)
{
    struct fixture *f =
        read_text(PLAN_HDTN, "{\"name\": 1, \"contacts\": [\n"
                             "{\"source\": 1, \"dest\": 2, \"startTime\": 10, \"endTime\": 30,"
                             " \"rate\": 3},\n"
                             "{\"source\": 1, \"dest\": 2, \"startTime\": 20, \"endTime\": 50,"
                             " \"rateBitsPerSec\": 8, \"owlt\": 2},\n"
                             "{\"source\": 1, \"dest\": 2, \"startTime\": 25, \"endTime\": 28,"
                             " \"rateBitsPerSec\": 8, \"owlt\": 3},\n"
                             "{\"source\": 2, \"dest\": 1, \"startTime\": 30, \"endTime\": 30},\n"
                             "{\"source\": 2, \"dest\": 2, \"startTime\": 0, \"endTime\": 30},\n"
                             "{\"source\": 2, \"dest\": 1, \"startTime\": \"0\", \"endTime\": 30,"
                             " \"flowId\": {\"x\": [1]}, \"owlt\": 1}]}\n");
    good(f, 3, 3);
    has_contact(f, 1, 2, 10 * TICK_S, 30 * TICK_S, 3000000, 1);
    has_contact(f, 1, 2, 30 * TICK_S, 50 * TICK_S, 8, 1);
    has_contact(f, 2, 1, 0, 30 * TICK_S, 0, 1);
    ck_assert_uint_eq(light(f->plan, 1, 2, 29 * TICK_S), 0);
    ck_assert_uint_eq(light(f->plan, 1, 2, 30 * TICK_S), 2 * TICK_S);
    static const char *const notes[] = {
        "plan:1: name: is not read",
        "plan:7: contacts[5].flowId: is not read",
        "plan:2: contacts[0].owlt: is missing: 0",
        "plan:2: contacts[0].rateBitsPerSec: is missing: that of rate",
        "plan:5: contacts[3].endTime: 30s is not after its start, 30s: left out",
        "plan:6: contacts[4].dest: a contact of node 2 with itself: left out",
        "plan:7: contacts[5].rateBitsPerSec: is missing: no limit",
        "plan:3: contact 1 to 2: overlaps that of line 2, which holds until 30s; it begins then",
        "plan:4: contact 1 to 2: overlaps that of line 3, which holds until 50s; left out"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        noted(f, i, notes[i]);
    ck_assert_uint_eq(f->notes.total, sizeof notes / sizeof *notes);
    drop(f);
}
END_TEST

/* Larger than configuration files may be. */
START_TEST(hdtn_large)
{
    enum { CONTACTS = 20000 };
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    fprintf(to, "{\"contacts\": [");
    for (int i = 0; i < CONTACTS; i++)
        fprintf(to,
                "%s{\"contact\": %d, \"source\": %d, \"dest\": 7, \"startTime\": 0, "
                "\"endTime\": 9, \"rateBitsPerSec\": 8, \"owlt\": 1}\n",
                i == 0 ? "" : ",", i, i + 8);
    fprintf(to, "]}");
    fclose(to);
    ck_assert_uint_gt(len, 1 << 20);
    struct fixture *f = read_text(PLAN_HDTN, text);
    good(f, CONTACTS, CONTACTS);
    drop(f);
    free(text);
    len = (16U << 20) + 1;
    text = malloc(len + 1);
    memset(text, ' ', len);
    text[len] = '\0';
    bad(PLAN_HDTN, text, "longer than 16 MiB");
    free(text);
}
END_TEST

SUITE(tools_plan_foreign, t)
{
    tcase_add_test(t, ion_odd_lines);
    tcase_add_test(t, ion_sections);
    tcase_add_test(t, ion_ranges_by_order_of_numbers);
    tcase_add_test(t, fitted_for_ion);
    tcase_add_test(t, fitted_for_hdtn);
    tcase_add_test(t, hdtn_odd_contacts);
    tcase_add_test(t, hdtn_large);
}
