/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a relay of streams: octets in order, none before its time, the rate, stalls, turns of
 * flows, the limit, ends; and its settings. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/wan/wan_settings.h"
#include "tests/unit/suite.h"

#define BEGIN (7 * TICK_S) /* the clock's origin is not the line's */

struct rig {
    struct wan_config config;
    struct wan_pool pool;
    struct wan_line line;
    struct wan_flow flow[4];
    uint64_t put[4], got[4]; /* octets, which are their own numbers */
};

static uint8_t octet_at(uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static struct rig *rig_new(struct wan_config config)
{
    struct rig *r = calloc(1, sizeof *r);
    r->config = config;
    wan_pool_init(&r->pool);
    wan_line_init(&r->line, &r->config, &r->pool, BEGIN);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(wan_flow_init(&r->flow[i], &r->line), 0);
    return r;
}

static void rig_free(struct rig *r)
{
    const struct wan_account *a = &r->line.account;
    for (int i = 0; i < 4; i++)
        wan_flow_fini(&r->flow[i]);
    ck_assert_uint_eq(a->in_bytes, a->out_bytes + a->lost_bytes);
    ck_assert_uint_eq(a->queued_bytes, 0);
    wan_pool_fini(&r->pool); /* asserts that all chunks came back */
    wan_stalls_fini(&r->config.stalls);
    free(r);
}

/* As many octets as fit, `most` at most. */
static uint64_t put(struct rig *r, int i, uint64_t most, tick now)
{
    uint64_t sum = 0;
    while (sum < most && !wan_flow_full(&r->flow[i])) {
        size_t len = 0;
        uint8_t *at = wan_flow_space(&r->flow[i], &len);
        ck_assert(at != NULL && len >= 1);
        len = len < most - sum ? len : (size_t)(most - sum);
        for (size_t k = 0; k < len; k++)
            at[k] = octet_at(r->put[i]++);
        wan_flow_add(&r->flow[i], len, now);
        sum += len;
    }
    return sum;
}

static uint64_t take(struct rig *r, int i, uint64_t most, tick now)
{
    struct slice parts[3];
    bool right = true;
    uint64_t ready = wan_flow_ready(&r->flow[i], now, 0), sum = 0;
    ready = ready < most ? ready : most;
    while (sum < ready) {
        uint64_t here = 0;
        size_t n = wan_flow_parts(&r->flow[i], ready - sum, parts, 3);
        for (size_t p = 0; p < n; p++) {
            for (size_t k = 0; k < parts[p].len; k++)
                right = right && parts[p].data[k] == octet_at(r->got[i]++);
            here += parts[p].len;
        }
        wan_flow_take(&r->flow[i], here);
        sum += here;
    }
    ck_assert(right);
    return sum;
}

START_TEST(not_before_its_time)
{
    struct rig *r = rig_new((struct wan_config){.rate_bps = 8000000, .delay = 50 * TICK_MS});
    put(r, 0, 1000, BEGIN + 5); /* 1 ms on the line */
    wan_line_serve(&r->line, BEGIN + 5);
    const tick due = BEGIN + 5 + 51 * TICK_MS;
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), due);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, due - 1), 0);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, due), 1000);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), TICK_NEVER);
    /* idle time is not made good */
    put(r, 0, 1000, BEGIN + TICK_S);
    wan_line_serve(&r->line, BEGIN + TICK_S);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), BEGIN + TICK_S + 51 * TICK_MS);
    rig_free(r);
}
END_TEST

/* Whatever the sizes and the times, octet k is there when a line of the rate has sent k of them. */
START_TEST(random_pieces)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rig *r = rig_new((struct wan_config){
            .rate_bps = 10000000 * seed, .delay = seed * TICK_MS, .limit_bytes = 100000 * seed});
        struct rng rng;
        rng_init(&rng, seed);
        tick now = BEGIN;
        uint64_t left = 300000;
        while (r->got[0] < 300000) {
            now += rng_below(&rng, 3 * TICK_MS);
            left -= put(r, 0, left < 40000 ? left : rng_below(&rng, 40000), now);
            wan_line_serve(&r->line, now);
            (void)take(r, 0, rng_below(&rng, 2) == 0 ? 5000 : UINT64_MAX, now);
            ck_assert_uint_le(r->flow[0].bytes.len, r->line.limit_bytes);
            double sent =
                (double)(now - BEGIN - r->config.delay) / 8e9 * (double)r->config.rate_bps;
            ck_assert(r->got[0] == 0 || (double)r->got[0] <= sent + 1);
        }
        rig_free(r);
    }
}
END_TEST

/* A greedy sender, and wake-ups that come late by up to 8 ms: the rate holds. */
START_TEST(the_rate)
{
    struct rig *r = rig_new((struct wan_config){.rate_bps = 120000000, .delay = 200 * TICK_MS});
    struct rng rng;
    rng_init(&rng, 1);
    tick now = BEGIN;
    while (now < BEGIN + 2200 * TICK_MS) {
        put(r, 0, UINT64_MAX, now);
        wan_line_serve(&r->line, now);
        (void)take(r, 0, UINT64_MAX, now);
        now += rng_below(&rng, 8 * TICK_MS);
    }
    ck_assert_double_eq_tol((double)r->got[0] * 8 / 2, 1.2e8, 0.01 * 1.2e8);
    ck_assert_uint_le(r->line.account.queued_most, wan_config_limit(&r->config));
    rig_free(r);
}
END_TEST

/* Four greedy flows have a quarter each; one that sends little is not behind what others queued. */
START_TEST(flows_take_turns)
{
    struct rig *r = rig_new((struct wan_config){.rate_bps = 80000000});
    tick now = BEGIN;
    for (; now < BEGIN + TICK_S; now += 500 * TICK_US) {
        for (int i = 0; i < 4; i++)
            put(r, i, UINT64_MAX, now);
        wan_line_serve(&r->line, now);
        for (int i = 0; i < 4; i++)
            (void)take(r, i, UINT64_MAX, now);
    }
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol((double)r->got[i], 2.5e6, 0.02 * 2.5e6);
    wan_flow_lose(&r->flow[3]);
    r->flow[3].ending = false; /* as a new one */
    put(r, 3, 100, now);
    wan_line_serve(&r->line, now);
    for (tick due = now + 4 * TICK_MS; now < due; now += 100 * TICK_US)
        wan_line_serve(&r->line, now);
    ck_assert_uint_eq(wan_flow_ready(&r->flow[3], now, 0), 100);
    rig_free(r);
}
END_TEST

/* A taker that stops holds its own flow's octets only. */
START_TEST(a_slow_taker)
{
    struct rig *r = rig_new((struct wan_config){.rate_bps = 0, .limit_bytes = 100000});
    put(r, 0, UINT64_MAX, BEGIN);
    wan_line_serve(&r->line, BEGIN);
    ck_assert(wan_flow_full(&r->flow[0]) && !wan_flow_roomy(&r->flow[0]));
    ck_assert_uint_eq(r->put[0], 100000);
    put(r, 1, 5000, BEGIN);
    wan_line_serve(&r->line, BEGIN);
    ck_assert_uint_eq(take(r, 1, UINT64_MAX, BEGIN), 5000);
    ck_assert_uint_eq(take(r, 0, 12499, BEGIN), 12499);
    ck_assert(!wan_flow_full(&r->flow[0]) && !wan_flow_roomy(&r->flow[0]));
    ck_assert_uint_eq(take(r, 0, 1, BEGIN), 1);
    ck_assert(wan_flow_roomy(&r->flow[0]));
    rig_free(r);
}
END_TEST

START_TEST(the_end_is_behind_its_octets)
{
    struct rig *r = rig_new((struct wan_config){.rate_bps = 8000000, .delay = 10 * TICK_MS});
    put(r, 0, 4000, BEGIN);
    wan_flow_end(&r->flow[0], BEGIN);
    ck_assert(wan_flow_full(&r->flow[0]));
    for (tick now = BEGIN; now < BEGIN + 14 * TICK_MS; now += TICK_MS) {
        wan_line_serve(&r->line, now);
        (void)take(r, 0, 3999 - r->got[0], now);
        ck_assert(!wan_flow_over(&r->flow[0], now));
    }
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 14 * TICK_MS), 1080);
    ck_assert(wan_flow_over(&r->flow[0], BEGIN + 14 * TICK_MS));
    rig_free(r);
    r = rig_new((struct wan_config){.delay = 10 * TICK_MS}); /* without octets */
    wan_flow_end(&r->flow[0], BEGIN);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), BEGIN + 10 * TICK_MS);
    ck_assert(!wan_flow_over(&r->flow[0], BEGIN + 10 * TICK_MS - 1));
    ck_assert(wan_flow_over(&r->flow[0], BEGIN + 10 * TICK_MS));
    rig_free(r);
}
END_TEST

START_TEST(stalls_of_a_line)
{
    struct wan_config c = {.rate_bps = 8000000};
    const char *hint;
    ck_assert_int_eq(wan_stalls_parse(&c.stalls, "1ms-3ms,10ms-20ms", &hint), 0);
    struct rig *r = rig_new(c);
    put(r, 0, 2000, BEGIN); /* 1460: 1 ms, then 2 ms of rest, then 0.46 ms; and 0.54 ms */
    wan_line_serve(&r->line, BEGIN);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), BEGIN + 3460 * TICK_US);
    wan_line_serve(&r->line, BEGIN + 3 * TICK_MS);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 4 * TICK_MS), 2000);
    put(r, 0, 1000, BEGIN + 12 * TICK_MS);
    wan_line_serve(&r->line, BEGIN + 12 * TICK_MS);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), BEGIN + 21 * TICK_MS);
    rig_free(r);
    c = (struct wan_config){.delay = TICK_MS};
    ck_assert_int_eq(wan_stalls_parse(&c.stalls, "every 10ms for 2ms", &hint), 0);
    r = rig_new(c);
    for (unsigned ms = 0; ms < 40; ms++) {
        tick now = BEGIN + ms * TICK_MS, want = ms >= 10 && ms % 10 < 2 ? 2 - ms % 10 : 0;
        put(r, ms % 4, 1, now);
        wan_line_serve(&r->line, now);
        ck_assert_uint_eq(wan_flow_deadline(&r->flow[ms % 4]), now + (want + 1) * TICK_MS);
        (void)take(r, ms % 4, 1, BEGIN + (ms + 4) * TICK_MS);
    }
    rig_free(r);
}
END_TEST

START_TEST(texts_of_stalls)
{
    static const char *const wrong[] = {
        "",    "often", "every",       "every 10s",      "every 1s for 1s",  "every 0s for 1s",
        "1s",  "1s-",   "2s-1s",       "1s-2s,",         "1s-3s,2s-4s",      "every 10s for 0s",
        "1-2", "-",     "1s-2s;3s-4s", "every x for 1s", "every 10s for 1s "};
    struct wan_stalls s = {.every = 5, .lasts = 1};
    const char *hint = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(wan_stalls_parse(&s, wrong[i], &hint) == HELIO_EFORMAT, "%s", wrong[i]);
        ck_assert(s.every == 5 && hint != NULL);
    }
    ck_assert_int_eq(wan_stalls_parse(&s, "none", &hint), 0);
    ck_assert_uint_eq(s.every, 0);
    ck_assert_int_eq(wan_stalls_parse(&s, "0-1s,1s-2s,1min-2min", &hint), 0);
    ck_assert_uint_eq(s.len, 3);
    ck_assert_uint_eq(wan_stalls_pass(&s, 0), 2 * TICK_S);
    ck_assert_uint_eq(wan_stalls_work(&s, TICK_S, 59 * TICK_S), 121 * TICK_S);
    wan_stalls_fini(&s);
}
END_TEST

/* What has its time keeps it; what comes then has the new rate and delay, and never overtakes. */
START_TEST(a_line_that_changes)
{
    struct rig *r =
        rig_new((struct wan_config){.rate_bps = 8000000, .delay = 50 * TICK_MS, .limit_bytes = 0});
    put(r, 0, 1000, BEGIN);
    wan_line_serve(&r->line, BEGIN);
    ck_assert_uint_eq(r->line.limit_bytes, UINT64_C(4) << 20);
    r->config.rate_bps = 800000000;
    r->config.delay = TICK_MS;
    wan_line_change(&r->line, BEGIN);
    put(r, 0, 1000, BEGIN + 2 * TICK_MS); /* there behind the first */
    put(r, 1, 1000, BEGIN + 2 * TICK_MS); /* another flow does not wait for it */
    wan_line_serve(&r->line, BEGIN + 2 * TICK_MS);
    ck_assert_uint_eq(wan_flow_deadline(&r->flow[1]), BEGIN + 3 * TICK_MS + 20 * TICK_US);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 51 * TICK_MS - 1), 0);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 51 * TICK_MS), 2000);
    ck_assert_uint_eq(take(r, 1, UINT64_MAX, BEGIN + 51 * TICK_MS), 1000);
    r->config.rate_bps = 0;
    wan_line_change(&r->line, BEGIN + 60 * TICK_MS);
    put(r, 0, 1000, BEGIN + 60 * TICK_MS);
    wan_line_serve(&r->line, BEGIN + 60 * TICK_MS);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 61 * TICK_MS), 1000);
    /* a limit below what is under way: nothing more is read until that has gone */
    put(r, 0, 200 << 10, BEGIN + 70 * TICK_MS);
    r->config.limit_bytes = 64 << 10;
    wan_line_change(&r->line, BEGIN + 70 * TICK_MS);
    ck_assert(wan_flow_full(&r->flow[0]) && !wan_flow_roomy(&r->flow[0]));
    wan_line_serve(&r->line, BEGIN + 70 * TICK_MS);
    ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 71 * TICK_MS), 200 << 10);
    ck_assert(wan_flow_roomy(&r->flow[0]));
    rig_free(r);
}
END_TEST

/* Said while it runs: nothing gets its time before the end, which may be said anew. */
START_TEST(a_stall_that_is_said)
{
    for (int limited = 0; limited < 2; limited++) {
        struct rig *r =
            rig_new((struct wan_config){.rate_bps = limited ? 8000000 : 0, .delay = TICK_MS});
        wan_line_stall(&r->line, BEGIN + TICK_S, BEGIN);
        put(r, 0, 1000, BEGIN + TICK_MS);
        wan_line_serve(&r->line, BEGIN + TICK_MS);
        ck_assert(wan_line_stands(&r->line, BEGIN + TICK_S - 1));
        ck_assert(!wan_line_stands(&r->line, BEGIN + TICK_S));
        ck_assert_uint_eq(wan_line_deadline(&r->line), BEGIN + TICK_S);
        ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), TICK_NEVER);
        wan_line_stall(&r->line, BEGIN + 100 * TICK_MS, BEGIN + 100 * TICK_MS); /* its end */
        wan_line_serve(&r->line, BEGIN + 100 * TICK_MS);
        ck_assert_uint_eq(wan_flow_deadline(&r->flow[0]), BEGIN + (limited ? 102 : 101) * TICK_MS);
        ck_assert_uint_eq(take(r, 0, UINT64_MAX, BEGIN + 102 * TICK_MS), 1000);
        rig_free(r);
    }
}
END_TEST

/* ---- settings ---- */

static struct conf_errors *lay(struct wan_settings *s, const char *text)
{
    struct conf_errors *e = malloc(sizeof *e);
    ck_assert_int_eq(wan_settings_init(s), 0);
    conf_errors_init(e, "");
    wan_settings_lay(s, text, e);
    if (e->total == 0)
        wan_settings_check(s, e);
    return e;
}

START_TEST(settings_are_read)
{
    struct wan_settings s;
    struct conf_errors *e = lay(
        &s, "listen: 127.0.0.1:5\nto: 127.0.0.1:6\nboth: {delay: 50ms, stalls: every 10s for 1s}\n"
            "forward: {rate: 1Gbit/s, stalls: [{from: 1s, to: 2s}]}\nreturn: {limit: 1MiB}\n");
    ck_assert_msg(e->total == 0, "%s", e->text[0]);
    ck_assert_uint_eq(s.directions[WAN_FORWARD].delay, 50 * TICK_MS);
    ck_assert_uint_eq(s.directions[WAN_RETURN].delay, 50 * TICK_MS);
    ck_assert_uint_eq(s.directions[WAN_FORWARD].rate_bps, 1000000000);
    ck_assert_uint_eq(s.directions[WAN_FORWARD].stalls.every, 0);
    ck_assert_uint_eq(s.directions[WAN_FORWARD].stalls.len, 1);
    ck_assert_uint_eq(s.directions[WAN_RETURN].stalls.every, 10 * TICK_S);
    ck_assert_uint_eq(wan_config_limit(&s.directions[WAN_FORWARD]), 8750000);
    ck_assert_uint_eq(wan_config_limit(&s.directions[WAN_RETURN]), 1 << 20);
    ck_assert_uint_ge(wan_settings_memory(&s), s.connections * (8750000 + (1 << 20)));
    free(e);
    wan_settings_fini(&s);
}
END_TEST

static struct conf_errors *change(struct wan_change *c, const struct wan_settings *s,
                                  const char *text)
{
    struct conf_errors *e = malloc(sizeof *e);
    conf_errors_init(e, "");
    wan_change_read(c, s, text, strlen(text), e);
    return e;
}

START_TEST(changes_are_read)
{
    struct wan_settings s;
    struct wan_change c;
    free(lay(&s, "listen: 127.0.0.1:5\nto: 127.0.0.1:6\nboth: {delay: 50ms, stalls: 1s-2s}\n"
                 "return: {rate: 1Gbit/s}\n"));
    struct conf_errors *e =
        change(&c, &s,
               "{both: {delay: 7ms}, forward: {stalls: every 9s for 1s, stall: 2s}, "
               "return: {rate: unlimited}}");
    ck_assert_msg(e->total == 0, "%s", e->text[0]);
    ck_assert(c.stall[WAN_FORWARD] == 2 * TICK_S && c.stall[WAN_RETURN] == TICK_NEVER);
    wan_change_lay(&c, &s);
    wan_change_fini(&c);
    ck_assert(s.directions[0].delay == 7 * TICK_MS && s.directions[1].delay == 7 * TICK_MS);
    ck_assert(s.directions[0].stalls.every == 9 * TICK_S && s.directions[0].stalls.len == 0);
    ck_assert(s.directions[1].stalls.len == 1 && s.directions[1].rate_bps == 0);
    free(e);
    static const struct {
        const char *text, *why;
    } wrong[] = {{"", "such as forward"},
                 {"5", "such as forward"},
                 {"{listen: 127.0.0.1:9}", "listen"},
                 {"{forward: {dealy: 5ms}}", "did you mean delay?"},
                 {"{both: {delay: 5ms}, return: {stall: 2h}}", "return.stall"},
                 {"{forward: {stalls: often}}", "every 10s"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        e = change(&c, &s, wrong[i].text);
        ck_assert_msg(e->total > 0, "%s", wrong[i].text);
        ck_assert_msg(strstr(e->text[0], wrong[i].why) != NULL, "%s", e->text[0]);
        wan_change_fini(&c);
        free(e);
    }
    wan_settings_fini(&s);
}
END_TEST

START_TEST(settings_that_are_wrong)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"to: 127.0.0.1:6", "listen is missing"},
        {"{listen: 127.0.0.1:5, to: 127.0.0.1:5}", "to is the address of listen"},
        {"{listen: 127.0.0.1:0, to: 127.0.0.1:5}", "listen: \"127.0.0.1:0\" has no port"},
        {"{lisen: 127.0.0.1:5}", "lisen: unknown key; did you mean listen?"},
        {"{forward: {dealy: 5ms}}", "forward.dealy: unknown key; did you mean delay?"},
        {"{return: {delay: 5}}", "return.delay: \"5\""},
        {"{both: {rate: fast}}", "both.rate: \"fast\""},
        {"{both: {stalls: often}}", "both.stalls: \"often\" is not understood; write none"},
        {"{both: {stalls: [{from: 2s, to: 1s}]}}", "both.stalls: each window ends after it begins"},
        {"{both: {stalls: [{from: 2s}]}}", "to"},
        {"{both: {stalls: {from: 2s}}}", "both.stalls: a map is not expected here"},
        {"{both: {limit: 1B}}", "both.limit: 1B is out of range"},
        {"{connections: 0}", "connections: 0 is out of range"},
        {"[1]", "a list is not expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wan_settings s;
        struct conf_errors *e = lay(&s, cases[i].text);
        ck_assert_msg(e->total == 1 && strstr(e->text[0], cases[i].why) != NULL, "%s: %s",
                      cases[i].text, e->text[0]);
        free(e);
        wan_settings_fini(&s);
    }
}
END_TEST

SUITE_PART(emu_wan, line, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, not_before_its_time);
    tcase_add_test(t, random_pieces);
    tcase_add_test(t, the_rate);
    tcase_add_test(t, flows_take_turns);
    tcase_add_test(t, a_slow_taker);
    tcase_add_test(t, the_end_is_behind_its_octets);
    tcase_add_test(t, stalls_of_a_line);
}

SUITE_PART(emu_wan, settings, t)
{
    tcase_add_test(t, texts_of_stalls);
    tcase_add_test(t, settings_are_read);
    tcase_add_test(t, settings_that_are_wrong);
    tcase_add_test(t, a_line_that_changes);
    tcase_add_test(t, a_stall_that_is_said);
    tcase_add_test(t, changes_are_read);
}
