/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of RFC 5326 that need many sessions, or a receiver that lies: see docs/conformance.md. */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define BLOCK 20000

struct seen {
    uint64_t cp[64], rpt[64]; /* serials in the order of first transmission */
    size_t cps, rpts;
    uint64_t session;
};

static void note(uint64_t *serials, size_t *n, uint64_t serial, bool first)
{
    if (!first)
        return;
    ck_assert_uint_lt(*n, 64);
    serials[(*n)++] = serial;
}

static void sink(void *context, const struct event *e)
{
    struct seen *s = context;
    if (e->kind != EVENT_TX)
        return;
    s->session = e->session;
    if (e->type >= LTP_RED_CP && e->type <= LTP_RED_CP_EOB)
        note(s->cp, &s->cps, e->cp_serial, e->attempt == 1);
    if (e->type == LTP_RS)
        note(s->rpt, &s->rpts, e->rpt_serial, e->attempt == 1);
}

static void ascends_from_random(const uint64_t *serials, size_t n)
{
    ck_assert_uint_ge(n, 2);
    ck_assert_uint_ge(serials[0], 1);
    ck_assert_uint_lt(serials[0], 1 << 14);
    for (size_t i = 1; i < n; i++)
        ck_assert_uint_eq(serials[i], serials[i - 1] + 1);
}

/* §3.2.1, §3.2.2: random and not 0 at first, then one by one; numbers and serials of another
 * incarnation are others. */
START_TEST(serials)
{
    uint64_t different = 0, last = 0, last_session = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct seen seen = {.cps = 0};
        struct ltp_span to = pair_span(2), from = pair_span(1);
        struct pair *p = pair_new(&to, &from);
        for (uint64_t i = 0; i < 2; i++) {
            struct ltp_config config = {
                .engine = i + 1, .seed = seed * 2 + i, .sink = sink, .sink_context = &seen};
            ltp_free(p->l[i]);
            ck_assert_int_eq(ltp_new(&p->l[i], &config), 0);
            ck_assert_int_eq(ltp_span_set(p->l[i], i == 0 ? &to : &from, 0), 0);
            ck_assert_int_eq(ltp_link(p->l[i], 2 - i, true, 0), 0);
        }
        pair_drop(p, LTP_RED, 3);
        pair_drop(p, LTP_RED, 8);
        pair_drop(p, LTP_RED, 19);
        pair_send(p, BLOCK, BLOCK);
        pair_run(p);
        pair_assert_red(p, BLOCK);
        ascends_from_random(seen.cp, seen.cps);
        ascends_from_random(seen.rpt, seen.rpts);
        ck_assert_uint_ge(seen.session, 1);
        ck_assert_uint_le(seen.session, UINT32_MAX);
        different += seen.cp[0] != last && seen.session != last_session;
        last = seen.cp[0];
        last_session = seen.session;
        pair_free(p);
    }
    ck_assert_uint_ge(different, 48);
}
END_TEST

/* §3.2.2: claims that overlap, come twice or out of order claim their union, and no byte more. */
START_TEST(overlapping_claims)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_session_id id = pair_send(p, BLOCK, BLOCK);
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    while (ltp_output(p->l[0], 2, p->now, &out) != 0)
        ;
    static const struct range claims[] = {{5000, 9000}, {1000, 6000}, {1000, 6000}, {8999, 10000}};
    struct ltp_segment s = {.type = LTP_RS, .id = id, .rpt_serial = 5, .upper = BLOCK};
    s.claim_count = 4;
    uint8_t bytes[200];
    size_t len = segment_write_report(&s, claims, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(ltp_input(p->l[0], bytes, len, p->now), VERDICT_OK);
    ltp_check(p->l[0]);
    struct ltp_session_info info;
    ck_assert_uint_eq(ltp_sessions(p->l[0], &info, 1), 1);
    ck_assert_uint_eq(info.done, 9000);
    uint64_t again = 0;
    while (ltp_output(p->l[0], 2, p->now, &out) != 0)
        again += out.data.len;
    ck_assert_uint_eq(again, BLOCK - 9000);
    pair_free(p);
}
END_TEST

SUITE(ltp_conformance, t)
{
    tcase_add_test(t, serials);
    tcase_add_test(t, overlapping_claims);
}
