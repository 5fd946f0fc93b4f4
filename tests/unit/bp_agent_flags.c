/* SPDX-License-Identifier: Apache-2.0 */
/* What flags of bundles and blocks ask of a node (RFC 9171 §4.2.3, §4.2.4, §5), and hop limits. */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

static struct bundle sent_of(const struct binder *n)
{
    struct bundle b;
    ck_assert_ptr_nonnull(n->sent);
    ck_assert_int_eq(bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_STRICT, &b, NULL), 0);
    return b;
}

static struct status_report report_of(const struct binder *n)
{
    struct status_report s;
    struct bundle b = sent_of(n);
    ck_assert(b.flags & BUNDLE_IS_ADMIN);
    ck_assert_int_eq(status_report_decode(b.payload.data, b.payload.len, &s), 0);
    return s;
}

/* Node ipn:2.0 that reports, with links 0 to ipn:1 (up) and 1 to ipn:3 (down). */
static void start_reporting(struct binder *n, struct agent_config *c)
{
    c->status_reports = true;
    relay_init(n, c);
    agent_link(n->a, 0, true, n->now);
}

/* §4.4.3: the count begins at 0, and each hop adds 1: also the one from the source. */
START_TEST(own_bundles_have_a_hop_limit)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 1);
    c.hop_limit = 9;
    for (int clock = 0; clock < 2; clock++) {
        relay_init(&n, &c);
        n.now.dtn_ms = clock ? START_MS : 0; /* without one it is written again when it goes */
        agent_link(n.a, 1, true, n.now);
        ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
        skip(&n);
        for (int again = 0; again < 3; again++) {
            struct bundle b = sent_of(&n);
            ck_assert(b.has_hops && b.has_age == !clock);
            ck_assert_uint_eq(b.hop_limit, 9);
            ck_assert_uint_eq(b.hop_count, 1);
            agent_lost(n.a, 1, 9, NULL, n.now);
            skip(&n);
        }
        binder_fini(&n);
    }
}
END_TEST

START_TEST(reports_have_the_hop_limit_too)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    c.hop_limit = 3;
    b.flags |= BUNDLE_REPORT_RECEPTION;
    start_reporting(&n, &c);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    skip(&n);
    b = sent_of(&n);
    ck_assert(b.has_hops && b.hop_limit == 3 && b.hop_count == 1);
    binder_fini(&n);
}
END_TEST

/* Three nodes further it is over: ipn:2 → ipn:1 with limit 1 may be delivered, and goes no further.
 */
START_TEST(a_limit_of_one_reaches_the_neighbour_only)
{
    struct binder n, far;
    struct agent_config c = config_of("ipn:2.0"), f = config_of("ipn:3.0");
    c.hop_limit = 1;
    for (int here = 0; here < 2; here++) {
        struct agent_request q = request_of("ipn:2.7", here ? "ipn:3.5" : "ipn:1.5", 1);
        relay_init(&n, &c);
        relay_init(&far, &f);
        struct eid_pattern all;
        ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
        ck_assert_int_eq(agent_route_add(n.a, &all, 1), 0);
        agent_link(n.a, 1, true, n.now);
        ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
        skip(&n);
        ck_assert_int_eq(agent_receive(far.a, 1, buf_keep(n.sent), 1, far.now),
                         here ? REFUSE_NONE : REFUSE_HOP_LIMIT);
        skip(&far);
        binder_fini(&n);
        binder_fini(&far);
    }
}
END_TEST

/* §6.1.1: a bundle that asks for the time gets a time, which is 0 where none is known (§4.2.6). */
START_TEST(times_without_a_clock)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    for (int asks = 0; asks < 2; asks++) {
        b.flags = BUNDLE_REPORT_RECEPTION | (asks ? BUNDLE_REPORT_TIME : 0U);
        c.status_reports = true;
        relay_init(&n, &c);
        n.now.dtn_ms = 0;
        agent_link(n.a, 0, true, n.now);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        skip(&n);
        struct status_report s = report_of(&n);
        ck_assert(s.asserted[STATUS_RECEIVED] && s.timed[STATUS_RECEIVED] == asks);
        ck_assert_uint_eq(s.time_ms[STATUS_RECEIVED], 0);
        binder_fini(&n);
    }
}
END_TEST

/* §5.5: the bundle's own lifetime, or that of this node. */
START_TEST(whose_lifetime_ended)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.flags |= BUNDLE_REPORT_DELETION;
    for (int own = 0; own < 2; own++) {
        c.lifetime_max_ms = own ? 60001 : 59999;
        start_reporting(&n, &c);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        skip(&n);
        pass(&n, 60 * TICK_S);
        skip(&n);
        struct status_report s = report_of(&n);
        ck_assert(s.asserted[STATUS_DELETED]);
        ck_assert_uint_eq(s.reason, own ? REASON_LIFETIME_EXPIRED : REASON_TRAFFIC_PARED);
        binder_fini(&n);
    }
}
END_TEST

/* §5.1: so many at once, and so many a second; what is not sent is counted. */
START_TEST(reports_are_limited)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.flags |= BUNDLE_REPORT_RECEPTION;
    c.report_rate = 4;
    start_reporting(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (; b.id.sequence <= 10; b.id.sequence++)
        ck_assert_int_eq(link_receive(&n, 0, &b, b.id.sequence), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(k->reports_sent, 4);
    ck_assert_uint_eq(k->reports_limited, 6);
    pass(&n, TICK_S / 4);
    for (; b.id.sequence <= 12; b.id.sequence++)
        ck_assert_int_eq(link_receive(&n, 0, &b, b.id.sequence), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(k->reports_sent, 5);
    ck_assert_uint_eq(k->reports_limited, 7);
    pass(&n, 10 * TICK_S);
    for (; b.id.sequence <= 20; b.id.sequence++)
        ck_assert_int_eq(link_receive(&n, 0, &b, b.id.sequence), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(k->reports_sent, 9);
    ck_assert_uint_eq(k->received, 20);
    binder_fini(&n);
}
END_TEST

/* A neighbour whose bundles ask for reports all the time leaves another one its part of the rate.
 */
START_TEST(neighbours_share_reports)
{
    enum { ROUNDS = 80 };
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle flood = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct bundle b = peer_bundle("ipn:3.4", "ipn:2.5", 1);
    uint64_t of_other = 0;
    c.report_rate = 4;
    flood.flags |= BUNDLE_REPORT_RECEPTION;
    b.flags |= BUNDLE_REPORT_RECEPTION;
    start_reporting(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (int i = 0; i < ROUNDS; i++) {
        for (int j = 0; j < 5; j++, flood.id.sequence++)
            ck_assert_int_eq(link_receive(&n, 0, &flood, flood.id.sequence), REFUSE_NONE);
        skip(&n);
        const uint64_t before = k->reports_sent;
        ck_assert_int_eq(link_receive(&n, 1, &b, b.id.sequence++), REFUSE_NONE);
        skip(&n);
        of_other += k->reports_sent - before;
        pass(&n, TICK_S / 4);
    }
    ck_assert_uint_ge(k->reports_sent, ROUNDS * 9 / 10);
    ck_assert_uint_le(k->reports_sent, ROUNDS + 4);
    ck_assert_uint_ge(of_other, ROUNDS * 4 / 10);
    binder_fini(&n);
}
END_TEST

/* Who asks less than once a second is told, whatever another neighbour asks for. */
START_TEST(seldom_reports_are_sent)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle flood = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct bundle b = peer_bundle("ipn:3.4", "ipn:2.5", 1);
    c.report_rate = 4;
    flood.flags |= BUNDLE_REPORT_RECEPTION;
    b.flags |= BUNDLE_REPORT_RECEPTION;
    start_reporting(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 20; j++, flood.id.sequence++) {
            pass(&n, TICK_S / 10);
            ck_assert_int_eq(link_receive(&n, 0, &flood, flood.id.sequence), REFUSE_NONE);
            skip(&n);
        }
        const uint64_t before = k->reports_sent;
        ck_assert_int_eq(link_receive(&n, 1, &b, b.id.sequence++), REFUSE_NONE);
        skip(&n);
        ck_assert_uint_eq(k->reports_sent, before + 1);
    }
    ck_assert_uint_le(k->reports_sent, 20 * 2 * 4 + 20 + 4);
    binder_fini(&n);
}
END_TEST

static struct buf *damaged(const struct bundle *b, bool primary)
{
    struct buf *whole = bundle_encode_copy(b);
    ck_assert_ptr_nonnull(whole);
    /* The flags of the primary block; the last byte of the payload, before its CRC and the break */
    buf_data(whole)[primary ? 4 : whole->len - 7] ^= 1;
    return whole;
}

/* §5.6 step 3: a bundle whose primary block can be believed is reported; here the peer is told that
 * the node is done with it. */
START_TEST(malformed_bundles_are_reported)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.flags |= BUNDLE_REPORT_DELETION;
    for (int i = 0; i < 3; i++) {
        c.confirm_dropped = i != 2;
        start_reporting(&n, &c);
        ck_assert_int_eq(agent_receive(n.a, 0, damaged(&b, i == 1), 1, n.now), REFUSE_MALFORMED);
        skip(&n);
        ck_assert_uint_eq(agent_counters(n.a)->reports_sent, i == 0);
        if (i == 0) {
            struct status_report s = report_of(&n);
            ck_assert(s.asserted[STATUS_DELETED] && s.reason == REASON_BLOCK_UNINTELLIGIBLE);
            ck_assert(bundle_id_equal(&s.subject, &b.id));
        }
        binder_fini(&n);
    }
}
END_TEST

/* §4.2.4: each of the flags alone, and what goes on. */
START_TEST(unknown_blocks)
{
    static const struct {
        uint64_t flags;
        bool report, removed, deleted;
    } cases[] = {
        {0, false, false, false},
        {BLOCK_REPLICATE, false, false, false},
        {BLOCK_REPORT_IF_UNKNOWN, true, false, false},
        {BLOCK_DROP_IF_UNKNOWN, false, true, false},
        {BLOCK_DROP_IF_UNKNOWN | BLOCK_REPORT_IF_UNKNOWN, true, true, false},
        {BLOCK_DELETE_BUNDLE_IF_UNKNOWN, false, false, true},
        {BLOCK_DELETE_BUNDLE_IF_UNKNOWN | BLOCK_DROP_IF_UNKNOWN, false, false, true},
        {BLOCK_DELETE_BUNDLE_IF_UNKNOWN | BLOCK_REPORT_IF_UNKNOWN, true, false, true},
        {UINT64_C(1) << 40, false, false, false}, /* not recognized: ignored */
    };
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    start_reporting(&n, &c);
    agent_link(n.a, 1, true, n.now);
    b.others_len = 1;
    b.others[0] = (struct bundle_block){
        .type = 200, .number = 9, .flags = cases[_i].flags, .data = slice_of("x", 1)};
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), cases[_i].deleted ? REFUSE_BLOCK : REFUSE_NONE);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, cases[_i].report);
    agent_link(n.a, 0, false, n.now); /* the report waits: what was sent last is the bundle */
    skip(&n);
    if (!cases[_i].deleted) {
        struct bundle out = sent_of(&n);
        ck_assert_uint_eq(out.others_len, cases[_i].removed ? 0 : 1);
        if (!cases[_i].removed)
            ck_assert_uint_eq(out.others[0].flags, cases[_i].flags);
    }
    binder_fini(&n);
}
END_TEST

/* §4.2.3: flags of later standards are ignored, and go on as they came. */
START_TEST(unknown_bundle_flags_go_on)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    b.flags |= UINT64_C(1) << 50 | 0x8 | BUNDLE_APP_ACK;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    skip(&n);
    ck_assert_uint_eq(sent_of(&n).flags, b.flags);
    binder_fini(&n);
}
END_TEST

/* What applications must not ask for: blocks of the agent's own, and sources that are no node. */
START_TEST(requests_that_are_not_legal)
{
    static const uint64_t types[] = {0, BLOCK_PAYLOAD, BLOCK_PREVIOUS_NODE, BLOCK_AGE,
                                     BLOCK_HOP_COUNT};
    struct binder n;
    struct agent_config c = config_of("ipn:2.0"), d = config_of("dtn://two/");
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 1);
    struct bundle_block block = {.type = 200, .crc = CRC_32C, .data = slice_of("x", 1)};
    relay_init(&n, &c);
    q.block = &block;
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        block.type = types[i];
        ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_INVALID);
    }
    block.type = 200;
    block.flags = BLOCK_REPORT_IF_UNKNOWN;
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
    q.flags = BUNDLE_IS_ADMIN;
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_INVALID);
    q.flags = 0;
    q.source = eid_none();
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_INVALID);
    skip(&n);
    binder_fini(&n);
    relay_init(&n, &d);
    q = request_of("dtn://two/app", "ipn:3.9", 1);
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
    q.source = eid_of("dtn://two/~all");
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_INVALID);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* RFC 9713 §2: a type that is not known, or a record that is none, is ignored; the bundle came. */
START_TEST(other_records_are_ignored)
{
    static const uint8_t other[] = {0x82, 0x18, 0x2a, 0x01}, none[] = {0x01, 0x02};
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.0", "ipn:2.0", 1);
    relay_init(&n, &c);
    b.flags |= BUNDLE_IS_ADMIN;
    b.payload = slice_of(other, sizeof other);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b.id.sequence = 2;
    b.payload = slice_of(none, sizeof none);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    expect(&n, "confirm link 1\nconfirm link 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->records_ignored, 2);
    ck_assert_uint_eq(agent_counters(n.a)->reports_received, 0);
    ck_assert_uint_eq(agent_counters(n.a)->consumed, 2);
    binder_fini(&n);
}
END_TEST

/* §5.4 step 5, §5.12: what was forwarded, and what an operator cancelled; each only when asked. */
START_TEST(the_end_of_a_bundle_is_reported)
{
    static const uint64_t asks[] = {0, BUNDLE_REPORT_FORWARDING, BUNDLE_REPORT_DELETION};
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    for (size_t i = 0; i < 6; i++) {
        bool deleted = i >= 3;
        struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
        b.flags |= asks[i % 3];
        start_reporting(&n, &c);
        agent_link(n.a, 1, true, n.now);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        skip(&n);
        if (deleted)
            ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
        agent_sent(n.a, 1, !deleted, n.now);
        skip(&n);
        bool wanted = asks[i % 3] == (deleted ? BUNDLE_REPORT_DELETION : BUNDLE_REPORT_FORWARDING);
        ck_assert_uint_eq(agent_counters(n.a)->reports_sent, wanted);
        if (wanted) {
            struct status_report s = report_of(&n);
            ck_assert(s.asserted[deleted ? STATUS_DELETED : STATUS_FORWARDED]);
            ck_assert(!s.asserted[STATUS_RECEIVED] && !s.asserted[STATUS_DELIVERED]);
            ck_assert_uint_eq(s.reason, deleted ? REASON_TRANSMISSION_CANCELLED : REASON_NONE);
        }
        binder_fini(&n);
    }
}
END_TEST

START_TEST(names_that_no_node_has)
{
    struct agent *a;
    struct agent_config c = config_of("ipn:!.0");
    ck_assert_int_eq(agent_new(&a, &c), HELIO_EINVAL);
    c = config_of("ipn:2.0");
    c.hop_limit = 256;
    ck_assert_int_eq(agent_new(&a, &c), HELIO_EINVAL);
}
END_TEST

SUITE(bp_agent_flags, t)
{
    tcase_add_test(t, own_bundles_have_a_hop_limit);
    tcase_add_test(t, reports_have_the_hop_limit_too);
    tcase_add_test(t, a_limit_of_one_reaches_the_neighbour_only);
    tcase_add_test(t, times_without_a_clock);
    tcase_add_test(t, whose_lifetime_ended);
    tcase_add_test(t, reports_are_limited);
    tcase_add_test(t, neighbours_share_reports);
    tcase_add_test(t, seldom_reports_are_sent);
    tcase_add_test(t, malformed_bundles_are_reported);
    tcase_add_loop_test(t, unknown_blocks, 0, 9);
    tcase_add_test(t, unknown_bundle_flags_go_on);
    tcase_add_test(t, requests_that_are_not_legal);
    tcase_add_test(t, other_records_are_ignored);
    tcase_add_test(t, the_end_of_a_bundle_is_reported);
    tcase_add_test(t, names_that_no_node_has);
}
