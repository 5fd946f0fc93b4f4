/* SPDX-License-Identifier: Apache-2.0 */
/* The scenario: what each key becomes, what lies over what, and the exact words for each kind of
 * wrong one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/scenario/scenario.h"
#include "tests/unit/emu_scenario_help.h"
#include "tests/unit/suite.h"

START_TEST(a_wire_by_default)
{
    struct scenario s;
    good(&s, "{}");
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 5, 1000);
    ck_assert(k.rate_bps == 0 && k.overhead == 42 && k.queue_bytes == 64000000 && k.delay == 0);
    ck_assert(k.trace == NULL && k.loss <= 0 && k.window_count == 0 && k.point_count == 0);
    ck_assert(k.burst.good == 0 && k.burst.bad == 0 && k.origin_first && !k.trace_no_loop);
    ck_assert(k.seed == rng_named(1, "forward") && !k.jitter_in_order && !k.hold && !k.start_only);
    ck_assert_int_eq(s.exempt, 0);
    scenario_fini(&s);
}
END_TEST

/* How many of 1000 frames meet the same fate, at a loss of one half. */
static unsigned count_equal(uint64_t seed_a, int way_a, uint64_t seed_b, int way_b)
{
    static const uint64_t frames = 1000;
    char text[2][64];
    const uint64_t seeds[2] = {seed_a, seed_b};
    const int ways[2] = {way_a, way_b};
    bool lost[2][1000] = {{false}};
    for (int i = 0; i < 2; i++) {
        struct scenario s;
        struct chan *c;
        struct chan_fate f;
        snprintf(text[i], sizeof text[i], "seed: %u\nboth: {erasures: {iid: 0.5}}\n",
                 (unsigned)seeds[i]);
        good(&s, text[i]);
        struct chan_config k = scenario_chan(&s, ways[i], 0, 0);
        ck_assert_int_eq(chan_new(&c, &k), 0);
        for (uint64_t n = 0; n < frames; n++) {
            chan_input(c, (const uint8_t *)"x", 1, 0, n);
            lost[i][n] = chan_fate(c, &f) == 1;
        }
        chan_free(c);
        scenario_fini(&s);
    }
    unsigned equal = 0;
    for (uint64_t n = 0; n < frames; n++)
        equal += lost[0][n] == lost[1][n];
    return equal;
}

/* Five deviations of 500 are 79. */
START_TEST(no_direction_draws_what_another_one_does)
{
    ck_assert_uint_eq(count_equal(1, 0, 1, 0), 1000);
    for (int i = 0; i < 2; i++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            unsigned n = count_equal(1, i, seed, !i);
            ck_assert_msg(n > 420 && n < 580, "seed 1 and %u: %u equal", (unsigned)seed, n);
            n = seed == 1 ? 500 : count_equal(1, i, seed, i);
            ck_assert_msg(n > 420 && n < 580, "seed 1 and %u: %u equal", (unsigned)seed, n);
        }
    }
}
END_TEST

static const char full[] = "seed: 9\n"
                           "overhead: 24B\n"
                           "tolerance: 3ms\n"
                           "exempt: signalling\n"
                           "drop_log: d.csv.gz\n"
                           "pcap_before: /b.pcap\n"
                           "forward:\n"
                           "  start: 5s\n"
                           "  rate: 500Mbit/s\n"
                           "  queue: 20ms\n"
                           "  codel: {target: 2ms, interval: 40ms, ecn: yes}\n"
                           "  mark: 3ms\n"
                           "  delay: [{at: 0, delay: 4ms}, {at: 1min, delay: 2ms}]\n"
                           "  jitter: 100us\n"
                           "  reorder: no\n"
                           "  contacts: [{from: 0, to: 10s}, {from: 12s, to: 20s}]\n"
                           "  off_contact: hold\n"
                           "  erasures:\n"
                           "    trace: {file: A, offset: 1s, loop: no}\n"
                           "    frame: start\n"
                           "    iid: 0.25\n"
                           "    gilbert_elliott: {good: 18ms, bad: 1ms, loss_good: 0.5, "
                           "loss_bad: 0.75}\n"
                           "  duplicate: 0.1\n"
                           "  corrupt: 0.2\n"
                           "  bit_errors: 1e-9\n"
                           "  rules: [\"report:first=2,per=session\", \"checkpoint:every=3\"]\n"
                           "  changes: []\n"
                           "return:\n"
                           "  outages: [{from: 1s, to: 2s}]\n"
                           "  queue: none\n";

START_TEST(every_key)
{
    struct scenario s;
    good(&s, full);
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 7 * TICK_S, 1000 * TICK_S);
    ck_assert(k.seed == rng_named(9, "forward") && k.overhead == 24 && k.rate_bps == 500000000);
    ck_assert(k.queue_bytes == 0 && k.queue_time == 20 * TICK_MS);
    ck_assert(k.codel_target == 2 * TICK_MS && k.codel_interval == 40 * TICK_MS && k.codel_marks);
    ck_assert(k.mark_above == 3 * TICK_MS);
    ck_assert(!k.origin_first && k.origin == 12 * TICK_S);
    ck_assert(k.point_count == 2 && k.points[1].at == 60 * TICK_S &&
              k.points[1].delay == 2 * TICK_MS);
    ck_assert(k.jitter == 100 * TICK_US && k.jitter_in_order);
    ck_assert(k.window_count == 2 && !k.windows_off && k.hold && k.windows[1].from == 12 * TICK_S);
    ck_assert(k.trace != NULL && k.trace->steps == 1000000 && k.trace_offset == TICK_S);
    ck_assert(k.trace_no_loop && k.start_only);
    ck_assert(k.burst.good == 18 * TICK_MS && k.burst.bad == TICK_MS);
    ck_assert_double_eq(k.burst.loss_good, 0.5);
    ck_assert_double_eq(k.burst.loss_bad, 0.75);
    ck_assert_double_eq(k.loss, 0.25);
    ck_assert_double_eq(k.duplicate, 0.1);
    ck_assert_double_eq(k.corrupt, 0.2);
    ck_assert_double_eq(k.bit_error_rate, 1e-9);
    ck_assert_uint_eq(s.directions[0].rules_len, 2);
    ck_assert_uint_eq(s.directions[0].rules[0].last, 2);
    ck_assert(s.directions[0].rules[0].per_session && !s.directions[0].rules[1].per_session);
    ck_assert(s.tolerance == 3 * TICK_MS && s.exempt == 1);
    ck_assert_str_eq(s.drop_log, "d.csv.gz");
    ck_assert_str_eq(s.pcap_before, "/b.pcap");
    ck_assert_str_eq(s.pcap_after, "");
    k = scenario_chan(&s, SCENARIO_RETURN, 0, 0);
    ck_assert(k.windows_off && k.window_count == 1 && !k.hold && k.seed == rng_named(9, "return"));
    ck_assert(k.queue_bytes == 0 && k.queue_time == 0 && k.origin_first && k.rate_bps == 0);
    struct chan *c; /* the channel agrees that it is right */
    ck_assert_int_eq(chan_new(&c, &k), 0);
    chan_free(c);
    k = scenario_chan(&s, SCENARIO_FORWARD, 7 * TICK_S, 1000 * TICK_S);
    ck_assert_int_eq(chan_new(&c, &k), 0);
    chan_free(c);
    scenario_fini(&s);
}
END_TEST

START_TEST(what_is_shown_reads_back_to_the_same)
{
    struct scenario s, again;
    good(&s, full);
    char *yaml = scenario_yaml(&s);
    good(&again, yaml);
    char *second = scenario_yaml(&again);
    ck_assert_str_eq(yaml, second);
    ck_assert_ptr_ne(strstr(yaml, "rate: 500Mbit/s"), NULL);
    json_t *a = scenario_json(&s), *b = scenario_json(&again);
    ck_assert(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    free(second);
    free(yaml);
    scenario_fini(&again);
    scenario_fini(&s);
}
END_TEST

START_TEST(both_is_laid_under_the_directions)
{
    struct scenario s;
    good(&s, "return: {delay: 7ms}\nboth: {delay: 3ms, rate: 1Mbit/s}\nforward: {rate: 2Mbit/s}\n");
    ck_assert(s.directions[0].delay == 3 * TICK_MS && s.directions[1].delay == 7 * TICK_MS);
    ck_assert(s.directions[0].rate_bps == 2000000 && s.directions[1].rate_bps == 1000000);
    scenario_fini(&s);
}
END_TEST

START_TEST(a_later_text_replaces_what_it_names)
{
    struct scenario s;
    good(&s, full);
    ck_assert_int_eq(apply(&s, "forward: {rules: [], contacts: [], off_contact: drop, delay: 1ms,\n"
                               "  erasures: {trace: none, gilbert_elliott: none}}\n"),
                     0);
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 0, 0);
    ck_assert(s.directions[0].rules_len == 0 && k.window_count == 0 && k.point_count == 0 &&
              k.delay == TICK_MS);
    ck_assert(k.trace == NULL && k.burst.good == 0);
    ck_assert(k.rate_bps == 500000000 && k.jitter == 100 * TICK_US);
    ck_assert_int_eq(scenario_set(&s, "forward.rate", "5Mbit/s", true, &errors), 0);
    ck_assert_int_eq(scenario_set(&s, "both.queue", "3ms", true, &errors), 0);
    ck_assert_int_eq(scenario_check(&s, &errors), 0); /* only forward has a rate */
    ck_assert_int_eq(scenario_set(&s, "both.outages", "[{from: 1s, to: 2s}]", false, &errors), 0);
    ck_assert(s.directions[0].rate_bps == 5000000 && s.directions[0].windows_off);
    ck_assert(s.directions[1].window_count == 1 && s.directions[1].windows[0].to == 2 * TICK_S);
    scenario_fini(&s);
}
END_TEST

START_TEST(a_time_of_day)
{
    struct scenario s;
    good(&s, "both: {start: \"2026-11-21T07:00:00Z\"}\n");
    tick at = UINT64_C(1795244400) * TICK_S, started = 100 * TICK_S;
    ck_assert(s.directions[0].start_time == at);
    ck_assert(scenario_chan(&s, 0, started, at - 3 * TICK_S).origin == started + 3 * TICK_S);
    ck_assert(scenario_chan(&s, 0, started, at + 3 * TICK_S).origin == started - 3 * TICK_S);
    scenario_fini(&s);
}
END_TEST

#define F "forward:\n  "
#define E "forward:\n  erasures:\n    "
/* A looped trace has a next round, and one after that. */
START_TEST(an_offset_may_lie_in_a_later_round)
{
    struct scenario s;
    good(&s, "forward: {erasures: {trace: {file: A, offset: 250s}}}\n");
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 0, 0);
    ck_assert(k.trace_offset == 250 * TICK_S && !k.trace_no_loop);
    struct chan *c;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    chan_free(c);
    scenario_fini(&s);
}
END_TEST

START_TEST(jitter_by_a_law)
{
    struct scenario s;
    good(&s, "forward: {jitter: {law: pareto, mean: 5ms, sd: 1ms, memory: 20ms, max: 1s}}\n"
             "return: {jitter: {table: [0, 1ms, 5ms], correlation: 0.25}}\n");
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 0, 0);
    ck_assert(k.jitter == 0 && k.jitter_law->law == CHAN_JITTER_PARETO);
    ck_assert(k.jitter_law->mean == 5 * TICK_MS && k.jitter_law->sd == TICK_MS);
    ck_assert(k.jitter_law->memory == 20 * TICK_MS && k.jitter_law->max == TICK_S);
    ck_assert_uint_eq(scenario_jitter_max(&s.directions[0]), TICK_S);
    k = scenario_chan(&s, SCENARIO_RETURN, 0, 0);
    ck_assert(k.jitter_law->table_len == 3 && k.jitter_law->table[2] == 5 * TICK_MS);
    ck_assert_double_eq(k.jitter_law->correlation, 0.25);
    ck_assert_int_eq(apply(&s, "return: {jitter: 2ms}\n"), 0);
    k = scenario_chan(&s, SCENARIO_RETURN, 0, 0);
    ck_assert(k.jitter_law == NULL && k.jitter == 2 * TICK_MS);
    scenario_fini(&s);
}
END_TEST

static const struct {
    const char *text, *error;
} wrong[] = {
    {"", "s.yaml:1: the file is empty; it needs at least one of the keys forward, return, both"},
    {"- 1\n", "s.yaml:1: a list is not expected here; write a map with the keys forward, return, "
              "both"},
    {"sed: 1\n", "s.yaml:1: sed: unknown key; did you mean seed?"},
    {"forward: 7\n", "s.yaml:1: forward: a value is not expected here; write a map of its keys"},
    {"seed: many\n", "s.yaml:1: seed: \"many\" is not understood; write a whole number "
                     "without unit"},
    {"overhead: 70kB\n", "s.yaml:1: overhead: 70kB is out of range; write a value from 0 to "
                         "65535B"},
    {"exempt: arp\n", "s.yaml:1: exempt: \"arp\" is not known; write one of: none, signalling"},
    {F "rte: 1Mbit/s\n", "s.yaml:2: forward.rte: unknown key; did you mean rate?"},
    {F "rate: 0\n", "s.yaml:2: forward.rate: \"0\" is not understood; write a rate with its unit, "
                    "such as 500Mbit/s, 2.5Gbit/s, or unlimited"},
    {F "rate: fast\n", "s.yaml:2: forward.rate: \"fast\" is not understood; write a rate with its "
                       "unit, such as 500Mbit/s, 2.5Gbit/s, or unlimited"},
    {F "start: noon\n", "s.yaml:2: forward.start: \"noon\" is not understood; write first, a "
                        "duration after the emulator's start such as 5s or 0, or a time such as "
                        "2026-11-21T07:00:00Z"},
    {F "queue: long\n", "s.yaml:2: forward.queue: \"long\" is not understood; write a size such as "
                        "64MB, a duration such as 20ms, or none"},
    {F "queue: 20ms\n", "s.yaml:2: forward.queue: a limit in time needs a rate; write "
                        "forward.rate, or a size such as 64MB"},
    {F "codel: yes\n", "s.yaml:2: forward.codel: needs a rate; write forward.rate"},
    {F "mark: 1ms\n", "s.yaml:2: forward.mark: needs a rate; write forward.rate"},
    {F "codel: soon\n", "s.yaml:2: forward.codel: is not understood; write yes, no, or {target: "
                        "5ms, interval: 100ms, ecn: no}"},
    {F "rate: 1Mbit/s\n  codel: {taget: 1ms}\n", "s.yaml:3: forward.codel.taget: unknown key; did "
                                                 "you mean target?"},
    {F "delay: 5\n", "s.yaml:2: forward.delay: \"5\" is not understood; write a duration with its "
                     "unit, such as 30ms, 500us, 2s, 1h"},
    {F "changes: [{at: 1s}]\n", "s.yaml:2: forward.changes[1]: nothing changes; write at least one "
                                "of rate, delay, iid, duplicate, corrupt, bit_errors"},
    {F "changes: [{iid: 0.5}]\n",
     "s.yaml:2: forward.changes[1].at: this key is missing; it means: a "
     "time such as 0 or 30s"},
    {F "changes: [{at: 1s, iid: 0}, {at: 1s, iid: 1}]\n",
     "s.yaml:2: forward.changes[2].at: not later than the one before; write them in order of time"},
    {F "changes: [{at: 1s, rate: 5Mbit/s}]\n",
     "s.yaml:2: forward.rate: the direction has none that could change; write forward.rate, too"},
    {F "delay: []\n", "s.yaml:2: forward.delay: the list is empty; write a duration, or [{at: 0, "
                      "delay: 4ms}, {at: 60s, delay: 2ms}]"},
    {F "delay:\n    - {at: 0, delay: 1ms}\n    - {at: 0, delay: 2ms}\n",
     "s.yaml:4: forward.delay[2].at: not later than the one before; write them in order of time"},
    {F "delay: [{at: 0}]\n", "s.yaml:2: forward.delay[1].delay: this key is missing; it means: the "
                             "delay then, such as 4ms"},
    {F "jitter: [1ms]\n", "s.yaml:2: forward.jitter: a list is not expected here; write one value"},
    {F "jitter: {law: gamma, mean: 1ms, sd: 2ms}\n",
     "s.yaml:2: forward.jitter: mean and sd do not suit the law; it needs sd <= 1.4 mean"},
    {F "jitter: {law: normal, mean: 1ms, sd: 2ms, correlation: 1}\n",
     "s.yaml:2: forward.jitter.correlation: 1 never changes; write less"},
    {F "jitter: {mean: 1ms, sd: 2ms, correlation: 0.5, memory: 1ms}\n",
     "s.yaml:2: forward.jitter.memory: there is a correlation, too; write only one of them"},
    {F "jitter: {table: [2ms, 1ms]}\n",
     "s.yaml:2: forward.jitter.table[2]: is no delay, or less than "
     "the one before; write them in rising order"},
    {F "jitter: {table: [2ms]}\n",
     "s.yaml:2: forward.jitter.table: is not understood; write 2 to 65536 delays in rising order, "
     "such as [1ms, 1.5ms, 4ms]"},
    {F "jitter: {law: normal, table: [1ms, 2ms]}\n",
     "s.yaml:2: forward.jitter.table: there is a law, too; write only one of them"},
    {F "reorder: often\n", "s.yaml:2: forward.reorder: \"often\" is not understood; write yes or "
                           "no"},
    {F "contacts: [{from: 2s, to: 1s}]\n",
     "s.yaml:2: forward.contacts[1].to: not later than from; write a later time"},
    {F "contacts:\n    - {from: 0, to: 5s}\n    - {from: 4s, to: 6s}\n",
     "s.yaml:4: forward.contacts[2].from: before the end of the one before; write them in order of "
     "time"},
    {F "contacts: [{from: 0, to: 1s}]\n  outages: [{from: 2s, to: 3s}]\n",
     "s.yaml:3: forward.outages: there are contacts, too (line 2); write only one of them"},
    {F "off_contact: hold\n", "s.yaml:2: forward.off_contact: hold needs contacts or outages; "
                              "write forward.contacts"},
    {F "off_contact: wait\n", "s.yaml:2: forward.off_contact: \"wait\" is not known; write one of: "
                              "drop, hold"},
    {F "duplicate: 2\n", "s.yaml:2: forward.duplicate: \"2\" is not understood; write a number "
                         "from 0 to 1, such as 0.05"},
    {F "corrupt: nan\n", "s.yaml:2: forward.corrupt: \"nan\" is not understood; write a number "
                         "from 0 to 1, such as 0.05"},
    {F "rules: [\"telex\"]\n",
     "s.yaml:2: forward.rules: \"telex\" is not understood; write data, red, green, "
     "checkpoint, report, ack, cancel, cancel-ack or any, joined by +"},
    {F "rules: {report: 2}\n", "s.yaml:2: forward.rules: a map is not expected here; write a text "
                               "such as report:first=2,per=session"},
    {E "iid: x\n", "s.yaml:3: forward.erasures.iid: \"x\" is not understood; write a number "
                   "from 0 to 1, such as 0.05"},
    {E "trac: A\n", "s.yaml:3: forward.erasures.trac: unknown key; did you mean trace?"},
    {E "frame: end\n", "s.yaml:3: forward.erasures.frame: \"end\" is not known; write one of: any, "
                       "start"},
    {E "trace: [A]\n", "s.yaml:3: forward.erasures.trace: a list is not expected here; write a "
                       "file's name"},
    {E "trace: iid:0.5\n", "s.yaml:3: forward.erasures.trace: a trace is a file, A, F, H, leo-low, "
                           "leo-high or jpl-47km, or none; write iid: 0.5"},
    {E "trace: {file: A, ofset: 1s}\n",
     "s.yaml:3: forward.erasures.trace.ofset: unknown key; did you mean offset?"},
    {E "trace: {file: A, offset: 101s, loop: no}\n",
     "s.yaml:3: forward.erasures.trace.offset: beyond the end of the trace; write a shorter one"},
    {E "gilbert_elliott: {good: 1ms}\n",
     "s.yaml:3: forward.erasures.gilbert_elliott: good and bad need a mean duration each"},
    {E "gilbert_elliott: {good: 0, bad: 1ms}\n",
     "s.yaml:3: forward.erasures.gilbert_elliott.good: 0 is out of range; write a value above 0, "
     "at most 366d"},
    {"drop_log: a\npcap_before: b\npcap_after: a\n",
     "s.yaml: pcap_after: the file of drop_log; write another one"},
    {"both: {duplicate: 3}\n", "s.yaml:1: both.duplicate: \"3\" is not understood; write a "
                               "number from 0 to 1, such as 0.05"},
};

START_TEST(a_wrong_file)
{
    struct scenario s;
    ck_assert_int_eq(scenario_init(&s), 0);
    int rc = apply(&s, wrong[_i].text);
    rc = rc < 0 ? rc : scenario_check(&s, &errors);
    ck_assert_int_eq(rc, HELIO_EFORMAT);
    ck_assert_str_eq(errors.text[0], wrong[_i].error);
    ck_assert_msg(errors.total == 1, "also: %s", errors.text[1]);
    scenario_fini(&s);
}
END_TEST

START_TEST(paths_are_relative_to_the_file)
{
    char directory[] = "/tmp/helio-scenario-XXXXXX", path[128], trace[128], log[128];
    ck_assert_ptr_ne(mkdtemp(directory), NULL);
    snprintf(path, sizeof path, "%s/s.yaml", directory);
    snprintf(trace, sizeof trace, "%s/t.txt", directory);
    snprintf(log, sizeof log, "%s/d.csv", directory);
    FILE *f = fopen(path, "w");
    fputs("drop_log: d.csv\nreturn: {erasures: {trace: t.txt}}\n", f);
    fclose(f);
    struct scenario s;
    ck_assert_int_eq(scenario_init(&s), 0);
    conf_errors_init(&errors, path);
    ck_assert_int_eq(scenario_load(&s, path, &errors), HELIO_EFORMAT);
    ck_assert_ptr_ne(strstr(errors.text[0], "s.yaml:2: return.erasures.trace: "), NULL);
    ck_assert_ptr_ne(strstr(errors.text[0], trace), NULL);
    f = fopen(trace, "w");
    fputs("0 5\n1 5\n", f);
    fclose(f);
    conf_errors_init(&errors, path);
    ck_assert_msg(scenario_load(&s, path, &errors) == 0, "%s", errors.text[0]);
    ck_assert_str_eq(s.drop_log, log);
    ck_assert_uint_eq(scenario_chan(&s, SCENARIO_RETURN, 0, 0).trace->steps, 10);
    scenario_fini(&s);
    unlink(trace);
    unlink(path);
    rmdir(directory);
}
END_TEST

START_TEST(rules_have_a_limit)
{
    struct scenario s;
    char why[LTP_RULE_ERROR_MAX];
    ck_assert_int_eq(scenario_init(&s), 0);
    for (unsigned i = 0; i < LTP_RULES_MAX; i++)
        ck_assert_int_eq(scenario_add_rule(&s, 1, "report:first=1", why), 0);
    ck_assert_int_eq(scenario_add_rule(&s, 1, "report:first=1", why), HELIO_EFORMAT);
    ck_assert_str_eq(why, "more than 64 rules");
    scenario_fini(&s);
}
END_TEST

START_TEST(a_wrong_key_of_an_option)
{
    struct scenario s;
    ck_assert_int_eq(scenario_init(&s), 0);
    conf_errors_init(&errors, "--set");
    ck_assert_int_lt(scenario_set(&s, "forward.delay.x.y.z.a.b", "1", true, &errors), 0);
    conf_errors_init(&errors, "--set");
    ck_assert_int_lt(scenario_set(&s, "forward.jiter", "1ms", false, &errors), 0);
    ck_assert_str_eq(errors.text[0], "--set: forward.jiter: unknown key; did you mean jitter?");
    conf_errors_init(&errors, "--set");
    ck_assert_int_lt(scenario_set(&s, "forward.rules", "[", false, &errors), 0);
    ck_assert_ptr_ne(strstr(errors.text[0], "not YAML"), NULL);
    scenario_fini(&s);
}
END_TEST

START_TEST(changes_over_time)
{
    static const char text[] =
        "both: {rate: 1Mbit/s}\n"
        "forward:\n"
        "  changes:\n"
        "    - {at: 10s, rate: 2Mbit/s, bit_errors: 1e-6}\n"
        "    - {at: 20s, delay: 7ms, iid: 0.1, duplicate: 0.2, corrupt: 0.3}\n";
    struct scenario s, again;
    good(&s, text);
    struct chan_config k = scenario_chan(&s, SCENARIO_FORWARD, 0, 0);
    ck_assert_uint_eq(k.change_count, 2);
    ck_assert_uint_eq(k.changes[0].keys, CHAN_KEY_RATE | CHAN_KEY_BITS);
    ck_assert(k.changes[0].at == 10 * TICK_S && k.changes[0].rate_bps == 2000000);
    ck_assert_double_eq(k.changes[0].bit_error_rate, 1e-6);
    ck_assert_uint_eq(k.changes[1].keys,
                      CHAN_KEY_DELAY | CHAN_KEY_LOSS | CHAN_KEY_DUPLICATE | CHAN_KEY_CORRUPT);
    ck_assert(k.changes[1].delay == 7 * TICK_MS);
    ck_assert_double_eq(k.changes[1].loss, 0.1);
    ck_assert_double_eq(k.changes[1].duplicate, 0.2);
    ck_assert_double_eq(k.changes[1].corrupt, 0.3);
    ck_assert_uint_eq(scenario_chan(&s, SCENARIO_RETURN, 0, 0).change_count, 0);
    char *yaml = scenario_yaml(&s);
    good(&again, yaml);
    char *second = scenario_yaml(&again);
    ck_assert_str_eq(yaml, second);
    ck_assert_ptr_ne(strstr(yaml, "2Mbit/s"), NULL);
    free(yaml);
    free(second);
    scenario_fini(&again);
    ck_assert_int_eq(apply(&s, "forward: {changes: []}"), 0);
    ck_assert_uint_eq(scenario_chan(&s, SCENARIO_FORWARD, 0, 0).change_count, 0);
    scenario_fini(&s);
}
END_TEST

static int change(struct scenario_change *c, const struct scenario *s, const char *text)
{
    conf_errors_init(&errors, "");
    return scenario_change_read(c, s, text, strlen(text), &errors);
}

START_TEST(a_change_in_mid_run)
{
    struct scenario s;
    struct scenario_change c;
    good(&s, "forward: {rate: 1Mbit/s}\n");
    ck_assert_int_eq(change(&c, &s, "both: {iid: 0.5, link: down}\nreturn: {iid: 0, link: up}"), 0);
    ck_assert(c.directions[0].keys == CHAN_KEY_LOSS && c.link[0] == 2 && c.link[1] == 1);
    ck_assert_double_eq(c.directions[0].loss, 0.5);
    ck_assert_double_eq(c.directions[1].loss, 0);
    ck_assert_int_eq(change(&c, &s, "forward: {rate: 3Mbit/s}"), 0);
    ck_assert(c.directions[0].rate_bps == 3000000 && c.directions[1].keys == 0 && c.link[0] == 0);
    ck_assert_int_eq(change(&c, &s, "return: {rate: 3Mbit/s}"), HELIO_EFORMAT);
    ck_assert_str_eq(errors.text[0], "return.rate: the direction has none that could change; write "
                                     "return.rate, too");
    ck_assert_int_eq(change(&c, &s, "forward: {link: 7}"), HELIO_EFORMAT);
    ck_assert_str_eq(errors.text[0], "forward.link: is not understood; write up or down");
    scenario_fini(&s);
}
END_TEST

SUITE(emu_scenario, t)
{
    tcase_add_test(t, a_wire_by_default);
    tcase_add_test(t, every_key);
    tcase_add_test(t, jitter_by_a_law);
    tcase_add_test(t, an_offset_may_lie_in_a_later_round);
    tcase_add_test(t, no_direction_draws_what_another_one_does);
    tcase_add_test(t, what_is_shown_reads_back_to_the_same);
    tcase_add_test(t, both_is_laid_under_the_directions);
    tcase_add_test(t, a_later_text_replaces_what_it_names);
    tcase_add_test(t, a_time_of_day);
    tcase_add_loop_test(t, a_wrong_file, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(t, paths_are_relative_to_the_file);
    tcase_add_test(t, rules_have_a_limit);
    tcase_add_test(t, a_wrong_key_of_an_option);
    tcase_add_test(t, changes_over_time);
    tcase_add_test(t, a_change_in_mid_run);
}
