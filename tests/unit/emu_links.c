/* SPDX-License-Identifier: Apache-2.0 */
/* Files of several links: what they say, and what is wrong with them, by line and key; changes by
 * name. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/chan/chan_shared.h"
#include "channel-emu/scenario/scenario_links.h"
#include "tests/unit/suite.h"

static struct conf_errors errors;

static int read_text(struct scenario_links *s, const char *text)
{
    conf_errors_init(&errors, "l.yaml");
    return scenario_links_read(s, text, strlen(text), "", &errors);
}

START_TEST(a_file_says_links_transmitters_and_hand_overs)
{
    static const char text[] =
        "start: 5s\n"
        "link: {both: {delay: 7ms}, overhead: 10B}\n"
        "links:\n"
        "  a: {listen: '127.0.0.1:1', to: '127.0.0.1:2'}\n"
        "  b: {forward: {delay: 9ms}}\n"
        "  c: {}\n"
        "  l: {listen: '127.0.0.1:3', to: '127.0.0.1:4', handover: [{at: 1s, link: b},\n"
        "      {at: 2s, link: none}, {at: 3s, link: c, gap: 4ms, in_flight: lost}]}\n"
        "shared:\n"
        "  up: {of: [a.forward, b.return], rate: 3Mbit/s, queue: 20ms, codel: yes,\n"
        "       changes: [{at: 1s, rate: 1Mbit/s}]}\n";
    struct scenario_links s;
    ck_assert_int_eq(read_text(&s, text), 0);
    ck_assert_uint_eq(s.count, 4);
    ck_assert_str_eq(s.link[0].listen, "127.0.0.1:1");
    ck_assert_uint_eq(s.link[0].scenario.directions[0].delay, 7 * TICK_MS);
    ck_assert_uint_eq(s.link[1].scenario.directions[0].delay, 9 * TICK_MS);
    ck_assert_uint_eq(s.link[1].scenario.directions[1].delay, 7 * TICK_MS);
    ck_assert_uint_eq(s.link[2].scenario.overhead, 10);
    ck_assert_uint_ne(s.link[0].scenario.seed, s.link[1].scenario.seed);
    ck_assert(s.link[0].shared[0] == 0 && s.link[0].shared[1] == -1 && s.link[1].shared[1] == 0);
    const struct chan_handover *o = s.link[3].overs;
    ck_assert_uint_eq(s.link[3].over_count, 3);
    ck_assert(o[0].at == TICK_S && o[0].to == 1 && o[1].to == CHAN_NOWHERE);
    ck_assert(o[2].to == 2 && o[2].gap == 4 * TICK_MS && o[2].drop);
    struct chan_shared_config k = scenario_links_shared(&s, 0, 100, UINT64_C(1) << 60);
    ck_assert_uint_eq(k.rate_bps, 3000000);
    ck_assert_uint_eq(k.queue_time, 20 * TICK_MS);
    ck_assert_uint_eq(k.codel_interval, 100 * TICK_MS);
    ck_assert_uint_eq(k.origin, 5 * TICK_S + 100);
    ck_assert_uint_eq(k.change_count, 1);
    scenario_links_fini(&s);
}
END_TEST

#define A "  a: {listen: '127.0.0.1:1', to: '127.0.0.1:2'}\n"

static const struct {
    const char *text, *message;
} wrong[] = {
    {"seed: 1\n", "l.yaml:1: links: is missing"},
    {"links: 7\n", "l.yaml:1: links"},
    {"links: {}\n", "l.yaml:1: links: is empty"},
    {"seed: 1\nlinks:\n", "links: is missing"},
    {"links:\n  a: 7\n", "l.yaml:2: links.a: a value is not expected here"},
    {"links:\n  a.b: {}\n", "l.yaml:2: links.a.b: write a name"},
    {"links:\n" A "  b: {}\n", "l.yaml:3: links.b: nothing goes over it"},
    {"links:\n  a: {listen: '127.0.0.1:1'}\n", "l.yaml:2: links.a: to is missing"},
    {"links:\n  a: {lisen: x, to: y}\n", "l.yaml:2: links.a.lisen: unknown key"},
    {"links:\n  a: {listen: x, to: y, forward: {rate: 5}}\n", "l.yaml:2: links.a.forward.rate"},
    {"start: first\nlinks:\n" A, "l.yaml:1: start: there is no first frame"},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 0, link: d}]}\n",
     "l.yaml:3: links.b.handover[1].link: there is no link \"d\""},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 1s, link: a}, {at: 1s, link: none}]}\n",
     "links.b.handover[2].at: not later"},
    {"links:\n" A
     "  b: {listen: x, to: y, handover: [{at: 1s, link: a, gap: 2s}, {at: 2s, link: none}]}\n",
     "links.b.handover[2].at: lies in the gap"},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 0, link: a, in_flight: lost}]}\n",
     "links.b.handover[1].in_flight: there is nothing before"},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 0, link: a}, {at: 1s, link: none, "
     "in_flight: lost}]}\n",
     "links.b.handover[2].in_flight: a has other traffic"},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 0, link: b}]}\n", "is this link itself"},
    {"links:\n" A "  b: {listen: x, to: y, handover: [{at: 0, link: a}], both: {delay: 1s}}\n",
     "links.b.both: what is handed over has no channel"},
    {"links:\n" A "shared:\n  u: {of: [a.forward]}\n", "l.yaml:4: shared.u.rate"},
    {"links:\n" A "shared:\n  u: {of: [a.up], rate: 1Mbit/s}\n",
     "l.yaml:4: shared.u.of: \"a.up\" is not understood"},
    {"links:\n" A "shared:\n  u: {of: [a.forward, a.forward], rate: 1Mbit/s}\n",
     "a.forward has a transmitter already, u"},
    {"links:\n" A "shared:\n  a: {of: [a.forward], rate: 1Mbit/s}\n", "shared.a: write a name"},
    {"links:\n" A
     "shared:\n  u: {of: [a.forward], rate: 1Mbit/s, changes: [{at: 1s, delay: 1s}]}\n",
     "shared.u.changes[1]: only the rate"},
    {"links:\n  a: {listen: x, to: y, forward: {rate: 1Mbit/s}}\nshared:\n  u: {of: [a.forward], "
     "rate: 1Mbit/s}\n",
     "links.a.forward.rate: the direction shares a transmitter; write it at shared.u"},
    {"links:\n  a: {listen: x, to: y, drop_log: d}\n  b: {listen: z, to: y, drop_log: d}\n",
     "links.b.drop_log: is the file of links.a.drop_log"},
};

START_TEST(what_is_wrong_is_told_by_line_and_key)
{
    struct scenario_links s;
    ck_assert_int_eq(read_text(&s, wrong[_i].text), HELIO_EFORMAT);
    ck_assert_uint_ge(errors.len, 1);
    bool found = false;
    for (size_t i = 0; i < errors.len; i++)
        found = found || strstr(errors.text[i], wrong[_i].message) != NULL;
    ck_assert_msg(found, "wanted: %s\ntold: %s", wrong[_i].message, errors.text[0]);
    scenario_links_fini(&s);
}
END_TEST

START_TEST(there_is_a_limit)
{
    char *text = malloc(SCENARIO_LINKS_MAX * 40 + 100);
    struct scenario_links s;
    for (unsigned extra = 0; extra < 2; extra++) {
        char *p = text + sprintf(text, "links:\n");
        for (unsigned i = 0; i < SCENARIO_LINKS_MAX + extra; i++)
            p += sprintf(p, "  n%u: {listen: x, to: y}\n", i);
        ck_assert_int_eq(read_text(&s, text), extra == 0 ? 0 : HELIO_EFORMAT);
        scenario_links_fini(&s);
    }
    ck_assert_ptr_nonnull(strstr(errors.text[0], "are too many"));
    free(text);
}
END_TEST

START_TEST(a_change_names_its_link)
{
    static const char file[] = "links:\n  a: {listen: x, to: y, forward: {rate: 1Mbit/s}}\n"
                               "  l: {listen: z, to: y, handover: [{at: 0, link: a}]}\n"
                               "shared: {up: {of: [a.return], rate: 1Mbit/s}}\n";
    static const struct {
        const char *text, *message;
    } bad[] = {{"b: {forward: {rate: 1Mbit/s}}", "b: there is no link of this name"},
               {"up: {delay: 1s}", "up.delay: unknown key"},
               {"a: 7", "a: a value is not expected"},
               {"a: {return: {rate: 1Mbit/s}}", "a.return.rate: the direction has none"},
               {"l: {both: {iid: 1}}", "l: is handed over"},
               {"7", "write a map"}};
    struct scenario_links_change c[SCENARIO_LINKS_CHANGES_MAX];
    static const char good[] =
        "{a: {forward: {rate: 5Mbit/s}, both: {link: down}}, up: {rate: 3Mbit/s}}";
    struct scenario_links s;
    ck_assert_int_eq(read_text(&s, file), 0);
    ck_assert_int_eq(scenario_links_change_read(c, &s, good, strlen(good), &errors), 2);
    ck_assert(c[0].link == 0 && c[0].shared == -1 && c[0].of_link.link[1] == 2);
    ck_assert_uint_eq(c[0].of_link.directions[0].rate_bps, 5000000);
    ck_assert(c[1].link == -1 && c[1].shared == 0 && c[1].rate_bps == 3000000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        conf_errors_init(&errors, "");
        ck_assert_int_lt(
            scenario_links_change_read(c, &s, bad[i].text, strlen(bad[i].text), &errors), 0);
        ck_assert_msg(strstr(errors.text[0], bad[i].message) != NULL, "%s", errors.text[0]);
    }
    scenario_links_fini(&s);
}
END_TEST

SUITE(emu_links, t)
{
    tcase_add_test(t, a_file_says_links_transmitters_and_hand_overs);
    tcase_add_loop_test(t, what_is_wrong_is_told_by_line_and_key, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, there_is_a_limit);
    tcase_add_test(t, a_change_names_its_link);
}
