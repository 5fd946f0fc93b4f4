/* SPDX-License-Identifier: Apache-2.0 */
/* Restarts, bundles that are only in the store, status reports, and memory that runs out. */
#include "base/rng.h"
#include "bp/agent/agent_head.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

static void add_members(struct binder *n)
{
    struct eid_pattern p;
    struct eid three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, 1), 0);
}

START_TEST(restored_bundles_go_on)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1), out;
    b.has_age = b.has_hops = true;
    b.age_ms = 100;
    b.hop_limit = 8;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 3);
    q.lifetime_ms = 3000;
    ck_assert_int_eq(app_send(&n, &q, "mine"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 1\nstore 2\nconfirm link 2\nstore 3\nconfirm app 3\n");
    n.now.now = 5; /* another clock, two seconds later */
    n.now.dtn_ms += 2000;
    binder_restart(&n, &c);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 3);
    ck_assert_uint_eq(agent_deadline(n.a), 0); /* it wants to know the time */
    add_members(&n);
    agent_expire(n.a, n.now);
    ck_assert_uint_eq(agent_deadline(n.a), 5 + 1000 * TICK_MS); /* what is left of 3 */
    expect(&n, "");
    agent_link(n.a, 1, true, n.now);
    expect(&n, "load 1\nsend 1 on 1\nload 3\nsend 3 on 1\n");
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &out, NULL), 0);
    ck_assert(slice_equal(out.payload, slice_of("mine", 4)));
    agent_sent(n.a, 3, true, n.now);
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "remove 3\n");
    pass(&n, TICK_S);
    expect(&n, "send 1 on 1\n");
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &out, NULL), 0);
    ck_assert_uint_eq(out.age_ms, 3100);
    ck_assert_uint_eq(out.hop_count, 1);
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    expect(&n, "load 2\ndeliver 2 to 9: data\n");
    q.lifetime_ms = 0;
    ck_assert_int_eq(app_send(&n, &q, "later"), REFUSE_NONE); /* keys go on above the largest */
    expect(&n, "store 4\nconfirm app 3\nsend 4 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(route_comes_after_a_restart)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 3);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    drain(&n);
    binder_restart(&n, &c);
    skip(&n);
    pass(&n, 1);
    struct agent_bundle_info info;
    ck_assert_uint_eq(agent_bundles(n.a, &info, 1), 1);
    ck_assert_str_eq(info.state, "no route");
    add_members(&n);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "load 1\nsend 1 on 1\n");
    binder_fini(&n);
}
END_TEST

/* It stays in the store: a new bundle under its key would collide with it. */
START_TEST(keys_of_damaged_heads_are_not_used_again)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    ck_assert_int_eq(agent_restore(n.a, 7, slice_of("damaged", 7), 10), HELIO_EFORMAT);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 3);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 8\nconfirm app 3\n");
    agent_restore_key(n.a, 11);
    agent_restore_key(n.a, 3);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 12\nconfirm app 3\n");
    binder_fini(&n);
}
END_TEST

START_TEST(damaged_heads_are_refused)
{
    struct agent_config c = config_of("ipn:2.0");
    struct agent_head h = {.has_hops = true, .expires_ms = UINT64_MAX, .payload_len = 70};
    h.destination = eid_of("dtn://far/away");
    h.report_to = eid_of("ipn:5.6.7");
    h.id = (struct bundle_id){.source = eid_of("ipn:1.2"),
                              .time_ms = 9,
                              .sequence = 8,
                              .fragment = true,
                              .offset = 7,
                              .total = 600};
    uint8_t head[AGENT_HEAD_MAX + 1];
    size_t id_off, at, len = agent_head_encode(&h, head, &id_off);
    struct agent_head back;
    ck_assert_int_eq(agent_head_decode(slice_of(head, len), &back, &at), 0);
    ck_assert(at == id_off && bundle_id_equal(&back.id, &h.id) && back.has_hops);
    ck_assert(eid_equal(&back.destination, &h.destination) && back.report_to.three);
    struct bundle_id id;
    agent_head_id(slice_of(head, len), id_off, &id);
    ck_assert(bundle_id_equal(&id, &h.id));
    struct binder n;
    binder_init(&n, &c);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(agent_restore(n.a, 1, slice_of(head, cut), 10), HELIO_EFORMAT);
    ck_assert_int_eq(agent_restore(n.a, 1, slice_of(head, len + 1), 10), HELIO_EFORMAT);
    struct rng r;
    rng_init(&r, 1);
    for (uint64_t i = 0; i < 20000; i++) { /* any damage is refused, or is another legal head */
        uint8_t bad[AGENT_HEAD_MAX];
        memcpy(bad, head, len);
        bad[rng_below(&r, len)] ^= (uint8_t)(1 + rng_below(&r, 255));
        int rc = agent_restore(n.a, i + 1, slice_of(bad, len), 10);
        ck_assert(rc == 0 || rc == HELIO_EFORMAT);
    }
    agent_check(n.a);
    pass(&n, 1);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

START_TEST(little_memory_loads_ahead_of_the_turn)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 1; /* nothing stays */
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 0);
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
        drain(&n);
    }
    /* the link is closed, so even those that are next are in the store only */
    const uint64_t held = agent_counters(n.a)->memory_bytes;
    ck_assert_uint_lt(held, 7 * (BUNDLE_HEAD_MAX + BUNDLE_TAIL_MAX + 200));
    skip(&n);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "load 1\nsend 1 on 1\nload 2\nsend 2 on 1\nload 3\n");
    for (uint64_t i = 1; i <= 9; i++) {
        agent_sent(n.a, i, true, n.now);
        drain(&n);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 9);
    ck_assert_uint_eq(agent_counters(n.a)->memory_bytes, 0);
    ck_assert_ptr_nonnull(strstr(n.trace, "load 9\n"));
    ck_assert_ptr_nonnull(strstr(n.trace, "send 8 on 1\n"));
    ck_assert(strstr(n.trace, "send 8 on 1\n") < strstr(n.trace, "send 9 on 1\n"));
    binder_fini(&n);
}
END_TEST

static void receive_for(struct binder *n, unsigned service, uint64_t sequence)
{
    static const uint8_t bytes[500];
    char to[32];
    snprintf(to, sizeof to, "ipn:2.%u", service);
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.payload = slice_of(bytes, sizeof bytes);
    ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
    skip(n);
}

/* A peer can name as many endpoints as it likes. */
START_TEST(many_endpoints_share_the_memory)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.memory_bytes = 5000;
    relay_init(&n, &c);
    for (unsigned i = 1; i <= 200; i++) {
        receive_for(&n, i, i);
        ck_assert_uint_lt(agent_counters(n.a)->memory_bytes, 5000 + 3000);
    }
    struct eid last = eid_of("ipn:2.200");
    ck_assert_int_eq(agent_register(n.a, 9, &last, 1, n.now), 0);
    drain(&n);
    ck_assert(strncmp(n.trace, "load 200\ndeliver 200 to 9: ", 27) == 0);
    binder_fini(&n);
}
END_TEST

/* A subscriber can ask for a long window and answer nothing. */
START_TEST(deliveries_without_answer_share_the_memory)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid here = eid_of("ipn:2.5");
    c.memory_bytes = 5000;
    relay_init(&n, &c);
    for (unsigned i = 1; i <= 50; i++)
        receive_for(&n, 5, i);
    ck_assert_int_eq(agent_register(n.a, 9, &here, 64, n.now), 0);
    for (unsigned i = 1; i <= 50; i++) {
        skip(&n);
        ck_assert_uint_lt(agent_counters(n.a)->memory_bytes, 5000 + 3000);
        agent_delivered(n.a, i, true, n.now);
        ck_assert_uint_eq(agent_counters(n.a)->delivered, i);
    }
    binder_fini(&n);
}
END_TEST

START_TEST(loads_that_fail)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 0);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    drain(&n);
    binder_restart(&n, &c);
    add_members(&n);
    n.load_fails = true;
    skip(&n);
    agent_link(n.a, 1, true, n.now);
    for (int i = 1; i < 8; i++) {
        expect(&n, "load 1\n");
        pass(&n, 60 * TICK_S);
    }
    expect(&n, "load 1\nremove 1\n"); /* the eighth time it is removed */
    ck_assert_uint_eq(agent_counters(n.a)->load_failures, 8);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 1);
    binder_fini(&n);
}
END_TEST

/* Its check values are good, but it is not the bundle of which the head tells. */
START_TEST(other_bytes_than_were_stored_are_not_delivered)
{
    static const char *const others[] = {"ipn:2.6", "ipn:2.5", "ipn:2.5"};
    for (int i = 0; i < 3; i++) {
        struct binder n;
        struct agent_config c = config_of("ipn:2.0");
        struct eid here = eid_of("ipn:2.5");
        c.memory_bytes = 1;
        relay_init(&n, &c);
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        n.load_waits = true;
        expect(&n, "store 1\nconfirm link 1\n");
        ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
        expect(&n, "load 1\n");
        b.destination = eid_of(others[i]);
        b.id.sequence = i == 1 ? 2 : 1;
        agent_loaded(n.a, 1, i == 2 ? buf_new(0, 0) : bundle_encode_copy(&b), n.now);
        expect(&n, "remove 1\n");
        ck_assert_uint_eq(agent_counters(n.a)->delivered, 0);
        ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 1);
        binder_fini(&n);
    }
}
END_TEST

/* The report that the node made about the last bundle. */
static struct status_report report_in(const struct binder *n)
{
    struct bundle b;
    struct status_report s;
    ck_assert_int_eq(bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert(b.flags & BUNDLE_IS_ADMIN);
    ck_assert_int_eq(status_report_decode(b.payload.data, b.payload.len, &s), 0);
    return s;
}

START_TEST(status_reports)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct eid here = eid_of("ipn:2.5");
    b.flags |= BUNDLE_REPORT_RECEPTION | BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_DELETION |
               BUNDLE_REPORT_TIME;
    for (int on = 0; on < 2; on++) {
        c.status_reports = on;
        relay_init(&n, &c);
        agent_link(n.a, 0, true, n.now);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        if (on == 0) {
            expect(&n, "store 1\nconfirm link 1\n");
            ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 0);
            binder_fini(&n);
        }
    }
    expect(&n, "store 1\nconfirm link 1\nstore 2\nsend 2 on 0\n");
    struct status_report s = report_in(&n);
    ck_assert(s.asserted[STATUS_RECEIVED] && !s.asserted[STATUS_DELIVERED]);
    ck_assert(bundle_id_equal(&s.subject, &b.id));
    ck_assert(s.timed[STATUS_RECEIVED] && s.time_ms[STATUS_RECEIVED] == START_MS);
    agent_sent(n.a, 2, true, n.now);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    expect(&n, "remove 2\ndeliver 1 to 1: data\n");
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "store 3\nremove 1 marked\nsend 3 on 0\n");
    s = report_in(&n);
    ck_assert(s.asserted[STATUS_DELIVERED] && s.reason == REASON_NONE);
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "remove 3\n");
    /* refused for good, with an unknown block that wants a report */
    b.id.sequence = 2;
    b.others_len = 1;
    b.others[0] =
        (struct bundle_block){.type = 200,
                              .number = 9,
                              .flags = BLOCK_DELETE_BUNDLE_IF_UNKNOWN | BLOCK_REPORT_IF_UNKNOWN};
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_BLOCK);
    drain(&n);
    s = report_in(&n);
    ck_assert(s.asserted[STATUS_DELETED] && s.reason == REASON_BLOCK_UNSUPPORTED);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 4);
    binder_fini(&n);
}
END_TEST

START_TEST(received_reports)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct status_report s = {.subject = {.source = eid_of("ipn:2.7"), .time_ms = 5}};
    s.asserted[STATUS_DELIVERED] = true;
    uint8_t record[512];
    int len = status_report_encode(&s, record, sizeof record);
    ck_assert_int_gt(len, 0);
    struct bundle b = peer_bundle("ipn:1.0", "ipn:2.7", 1);
    b.flags |= BUNDLE_IS_ADMIN;
    b.payload = slice_of(record, (size_t)len);
    struct eid here = eid_of("ipn:2.7");
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    drain(&n);
    ck_assert(n.last.kind == AGENT_DELIVER && (n.last.flags & BUNDLE_IS_ADMIN));
    skip(&n);
    b.destination = eid_of("ipn:2.0"); /* nobody registered: the node reads it itself */
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    expect(&n, "confirm link 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->reports_received, 2);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_restart, t)
{
    tcase_add_test(t, restored_bundles_go_on);
    tcase_add_test(t, route_comes_after_a_restart);
    tcase_add_test(t, damaged_heads_are_refused);
    tcase_add_test(t, keys_of_damaged_heads_are_not_used_again);
    tcase_add_test(t, little_memory_loads_ahead_of_the_turn);
    tcase_add_test(t, many_endpoints_share_the_memory);
    tcase_add_test(t, deliveries_without_answer_share_the_memory);
    tcase_add_test(t, loads_that_fail);
    tcase_add_test(t, other_bytes_than_were_stored_are_not_delivered);
    tcase_add_test(t, status_reports);
    tcase_add_test(t, received_reports);
}
