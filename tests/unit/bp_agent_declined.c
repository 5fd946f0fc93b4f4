/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles that a link's peer will never take: another route, or the end with a report. */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

static void route(struct binder *n, const char *pattern, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

/* Links 0 to ipn:1, 1 to ipn:3, 2 to ipn:4; 1 and 2 are up, and lead to ipn:3. */
static void three_links(struct binder *n, const struct agent_config *c)
{
    struct eid four = eid_of("ipn:4.0");
    relay_init(n, c);
    ck_assert_int_eq(agent_link_add(n->a, 2, &four, 2), 0);
    route(n, "ipn:*.*", 2);
    agent_link(n->a, 1, true, n->now);
    agent_link(n->a, 2, true, n->now);
}

START_TEST(goes_by_another_route)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    three_links(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\nsend 1 on 1\n");
    agent_declined(n.a, 1, "not acceptable", n.now);
    expect(&n, "send 1 on 2\n"); /* at once: it is not that link's fault */
    agent_failed(n.a, 1, "no answer", n.now);
    expect(&n, "");
    pass(&n, TICK_S);
    expect(&n, "send 1 on 2\n"); /* the first link stays out */
    agent_link(n.a, 2, false, n.now);
    agent_failed(n.a, 1, "no answer", n.now);
    expect(&n, "");
    agent_link(n.a, 1, true, n.now);
    pass(&n, 10 * TICK_S);
    expect(&n, "");
    agent_link(n.a, 2, true, n.now);
    expect(&n, "send 1 on 2\n");
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DECLINED], 0);
    ck_assert_uint_eq(agent_counters(n.a)->send_failures, 3);
    binder_fini(&n);
}
END_TEST

START_TEST(ends_where_there_is_no_other)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.status_reports = true;
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.flags |= BUNDLE_REPORT_DELETION;
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 4\nsend 1 on 1\n");
    agent_declined(n.a, 1, "not acceptable", n.now);
    expect(&n, "store 2\nremove 1\nsend 2 on 0\n");
    struct bundle got;
    struct status_report s;
    struct bundle_findings findings;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &got, &findings),
                     0);
    ck_assert_int_eq(status_report_decode(got.payload.data, got.payload.len, &s), 0);
    ck_assert(s.asserted[STATUS_DELETED]);
    ck_assert_uint_eq(s.reason, REASON_TRANSMISSION_CANCELLED);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DECLINED], 1);
    /* It was no end for good: it may come again, when the next hop takes such. */
    ck_assert_int_eq(link_receive(&n, 0, &b, 6), REFUSE_NONE);
    expect(&n, "store 3\nconfirm link 6\nsend 3 on 1\n");
    agent_declined(n.a, 77, "not acceptable", n.now); /* there is none */
    expect(&n, "");
    binder_fini(&n);
}
END_TEST

START_TEST(ends_when_all_have_declined)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    binder_init(&n, &c);
    for (uint32_t i = 0; i < AGENT_DECLINES_MAX + 2; i++) {
        struct eid peer = eid_ipn(0, 10 + i, 0);
        ck_assert_int_eq(agent_link_add(n.a, i, &peer, 2), 0);
        route(&n, "ipn:3.*", i);
        agent_link(n.a, i, true, n.now);
    }
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\nsend 1 on 0\n");
    for (uint32_t i = 1; i <= AGENT_DECLINES_MAX; i++) {
        char text[32];
        snprintf(text, sizeof text, "send 1 on %u\n", i);
        agent_declined(n.a, 1, "not acceptable", n.now);
        expect(&n, text);
    }
    agent_declined(n.a, 1, "not acceptable", n.now); /* one more than are remembered */
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DECLINED], 1);
    binder_fini(&n);
}
END_TEST

/* A link that takes the place of a removed one is another one. */
START_TEST(a_new_link_at_its_place)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    three_links(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    agent_declined(n.a, 1, "not acceptable", n.now);
    expect(&n, "send 1 on 2\n");
    struct eid three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    ck_assert_int_eq(agent_link_add(n.a, 1, &three, 2), 0);
    route(&n, "ipn:3.*", 1);
    agent_link(n.a, 1, true, n.now);
    agent_declined(n.a, 1, "not acceptable", n.now);
    expect(&n, "send 1 on 1\n");
    binder_fini(&n);
}
END_TEST

/* A taker that has no room now: it comes again, after a pause that doubles, and others come
 * meanwhile; its lifetime ends as ever. */
START_TEST(a_delivery_is_put_off)
{
    struct binder n;
    const struct agent_config c = config_of("ipn:2.0");
    const struct eid here = eid_of("ipn:2.5");
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    for (uint64_t i = 1; i <= 2; i++) {
        const struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
    }
    expect(&n, "store 1\nconfirm link 1\nstore 2\nconfirm link 2\ndeliver 1 to 9: data\n");
    agent_put_off(n.a, 1, "no room", n.now);
    expect(&n, "deliver 2 to 9: data\n"); /* the window is free for another */
    agent_delivered(n.a, 2, true, n.now);
    skip(&n);
    tick pause = TICK_S;
    for (unsigned i = 0; i < 4; i++, pause *= 2) {
        pass(&n, pause - TICK_MS);
        expect(&n, "");
        pass(&n, TICK_MS);
        expect(&n, "deliver 1 to 9: data\n");
        agent_put_off(n.a, 1, "no room", n.now);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 0);
    pass(&n, 60 * TICK_S); /* its lifetime */
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    agent_put_off(n.a, 1, "no room", n.now); /* it is gone: nothing happens */
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_declined, t)
{
    tcase_add_test(t, goes_by_another_route);
    tcase_add_test(t, ends_where_there_is_no_other);
    tcase_add_test(t, ends_when_all_have_declined);
    tcase_add_test(t, a_new_link_at_its_place);
    tcase_add_test(t, a_delivery_is_put_off);
}
