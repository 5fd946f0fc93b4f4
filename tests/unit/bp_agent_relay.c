/* SPDX-License-Identifier: Apache-2.0 */
/* What a node may not do with a bundle of a peer that it has accepted. */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

/* The bundle that went out last, as the next node reads it. */
static struct bundle sent_of(const struct binder *n)
{
    struct bundle b;
    struct bundle_findings f;
    ck_assert_ptr_nonnull(n->sent);
    int rc = bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_LENIENT, &b, &f);
    ck_assert_msg(rc == 0, "%s", f.len > 0 ? f.at[f.len - 1].text : "");
    return b;
}

/* An operator's later choice does not undo what was confirmed to a peer. */
START_TEST(a_stricter_mode_keeps_what_was_accepted)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid here = eid_of("ipn:2.5");
    c.mode = BUNDLE_LENIENT;
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.crc = CRC_NONE; /* as some peers send it */
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 2);
    b.crc = CRC_NONE;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 1\nstore 2\nconfirm link 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->lenient, 2);

    c.mode = BUNDLE_STRICT;
    binder_restart(&n, &c);
    struct eid_pattern p;
    struct eid three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_add(n.a, 1, &three, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n.a, &p, 1), 0);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(agent_register(n.a, 9, &here, 1, n.now), 0);
    expect(&n, "load 1\nsend 1 on 1\nload 2\ndeliver 2 to 9: data\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_UNREADABLE], 0);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 3); /* new ones are read as configured now */
    b.crc = CRC_NONE;
    ck_assert_int_eq(link_receive(&n, 1, &b, 3), REFUSE_MALFORMED);
    binder_fini(&n);
}
END_TEST

/* The node's own blocks come on top: previous node, and the age of a bundle without a time. */
/* A bundle of so many extension blocks, as another node may make it; flags of every third. */
static struct buf *many_blocks(size_t blocks, uint64_t flags, bool falling)
{
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.id.time_ms = 0;
    b.has_hops = b.has_age = true;
    b.hop_limit = 9;
    struct buf *whole = bundle_encode_copy(&b);
    const size_t tail = 1 + 5 + 1 + 4 + 1 + 4; /* break, CRC, data, head */
    const size_t head = whole->len - tail;
    struct buf *out = buf_new(0, whole->len + blocks * 24);
    uint8_t *at = buf_append(out, head);
    memcpy(at, buf_data(whole), head);
    for (size_t i = 0; i < blocks; i++) {
        const size_t number = 20 + (falling ? blocks - i : i);
        const uint8_t block[] = {0x85,
                                 0x18,
                                 200,
                                 0x1a,
                                 (uint8_t)(number >> 24),
                                 (uint8_t)(number >> 16),
                                 (uint8_t)(number >> 8),
                                 (uint8_t)number,
                                 (uint8_t)(i % 3 == 0 ? flags : 0),
                                 0x00,
                                 0x41,
                                 (uint8_t)i};
        memcpy(buf_append(out, sizeof block), block, sizeof block);
    }
    memcpy(buf_append(out, tail), buf_data(whole) + head, tail);
    buf_drop(whole);
    return out;
}

static size_t count_sent(const struct bundle *b)
{
    struct bundle_walk w = {0};
    struct bundle_block block;
    size_t n = 0;
    while (bundle_next(b, &w, &block))
        n++;
    return n;
}

/* The node's own blocks come on top: previous node, and the age of a bundle without a time. */
START_TEST(a_bundle_with_many_blocks_goes_on)
{
    static const size_t counts[] = {30, 31, 32, 33, 40, 1000, 20000};
    const size_t blocks = counts[_i / 2];
    const bool drops = _i % 2;
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.mode = BUNDLE_LENIENT;
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct buf *whole = many_blocks(blocks, drops ? BLOCK_DROP_IF_UNKNOWN : 0, drops);
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 1, n.now), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 1\nsend 1 on 1\n");
    struct bundle out = sent_of(&n);
    ck_assert_uint_eq(count_sent(&out), drops ? blocks - (blocks + 2) / 3 : blocks);
    ck_assert(out.has_previous && out.has_age && out.has_hops);
    ck_assert(eid_equal(&out.previous, &c.node));
    ck_assert_uint_eq(out.hop_count, 1);
    ck_assert_uint_eq(agent_counters(n.a)->send_failures, 0);
    /* The next node takes it, and so does the one behind it. */
    struct buf *again = buf_keep(n.sent);
    binder_fini(&n);
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(agent_receive(n.a, 0, again, 2, n.now), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 2\nsend 1 on 1\n");
    binder_fini(&n);
}
END_TEST

/* Blocks behind the first ones are judged as all others: they may demand the bundle's end. */
START_TEST(any_block_may_demand_deletion)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.mode = BUNDLE_LENIENT;
    relay_init(&n, &c);
    struct buf *whole = many_blocks(50, BLOCK_DELETE_BUNDLE_IF_UNKNOWN, false);
    uint8_t *flags = buf_data(whole) + whole->len - 16 - 12 * 50;
    for (int i = 0; i < 48; i++, flags += 12) /* all but the last of them */
        flags[8] = 0;
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 1, n.now), REFUSE_BLOCK);
    binder_fini(&n);
}
END_TEST

START_TEST(bytes_of_blocks_are_limited)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.mode = BUNDLE_LENIENT;
    c.extensions_max = 12 * 103;
    relay_init(&n, &c);
    struct buf *whole = many_blocks(100, 0, false);
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 1, n.now), REFUSE_NONE);
    skip(&n);
    whole = many_blocks(103, 0, false);
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 2, n.now), REFUSE_TOO_LONG);
    whole = many_blocks(90000, 0, false); /* more than the codec takes: it is not read so far */
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 2, n.now), REFUSE_TOO_LONG);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1);
    binder_fini(&n);
}
END_TEST

static bool has_other(const struct bundle *b, uint64_t type)
{
    for (size_t i = 0; i < b->others_len; i++) {
        if (b->others[i].type == type)
            return true;
    }
    return false;
}

/* RFC 9172: nobody on the way can read an encrypted block, but it is there. */
START_TEST(no_second_block_beside_an_encrypted_one)
{
    static const uint8_t cipher[] = {0xde, 0xad, 0xbe, 0xef};
    static const uint8_t asb[] = {0x82, 0x05, 0x06, 0x01, 0x00, 0x82, 0x02, 0x82, 0x02, 0x01, 0x80};
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.id.time_ms = 0;
    b.others[0] = (struct bundle_block){
        .type = BLOCK_PREVIOUS_NODE, .number = 5, .data = slice_of(cipher, sizeof cipher)};
    b.others[1] = (struct bundle_block){
        .type = BLOCK_AGE, .number = 6, .data = slice_of(cipher, sizeof cipher)};
    b.others[2] = (struct bundle_block){.type = 12, .number = 7, .data = slice_of(asb, sizeof asb)};
    b.others_len = 3;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    drain(&n);
    struct bundle out = sent_of(&n);
    ck_assert(!out.has_previous && !out.has_age);
    ck_assert(has_other(&out, BLOCK_PREVIOUS_NODE) && has_other(&out, BLOCK_AGE));
    binder_fini(&n);
}
END_TEST

static uint64_t reports_about(const struct bundle *b)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid_pattern all;
    c.status_reports = true;
    c.mode = BUNDLE_LENIENT;
    relay_init(&n, &c);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 1), 0);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(link_receive(&n, 0, b, 1), REFUSE_NONE);
    drain(&n);
    uint64_t sent = agent_counters(n.a)->reports_sent;
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 1 + sent);
    binder_fini(&n);
    return sent;
}

START_TEST(reports_that_must_not_be)
{
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.flags |= BUNDLE_REPORT_RECEPTION;
    ck_assert_uint_eq(reports_about(&b), 1);
    b.report_to = eid_of("ipn:!.7"); /* this node's own, and never on a link */
    ck_assert_uint_eq(reports_about(&b), 0);
    b.report_to = eid_of("ipn:0.0");
    ck_assert_uint_eq(reports_about(&b), 0);
    b.report_to = eid_of("ipn:1.4");
    b.id.source = eid_none(); /* §4.2.3: such a bundle may not ask for any */
    b.flags |= BUNDLE_NO_FRAGMENT;
    ck_assert_uint_eq(reports_about(&b), 0);
    b.id.source = eid_of("ipn:0.0");
    ck_assert_uint_eq(reports_about(&b), 0);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.report_to = eid_of("ipn:!.7");
    b.others_len = 1;
    b.others[0] = (struct bundle_block){.type = 200, .number = 9, .flags = BLOCK_REPORT_IF_UNKNOWN};
    ck_assert_uint_eq(reports_about(&b), 0);
    b.report_to = eid_of("ipn:1.4");
    ck_assert_uint_eq(reports_about(&b), 1);
}
END_TEST

/* No application can be there (RFC 9171 §3.1), so that nobody would ever ask for it. */
START_TEST(plain_bundles_for_the_administrative_endpoint)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid admin = eid_of("ipn:2.0");
    c.status_reports = true;
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    ck_assert_int_eq(agent_register(n.a, 9, &admin, 1, n.now), HELIO_EEXIST);
    struct agent_request q = request_of("ipn:2.7", "ipn:2.0", 1);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_ENDPOINT);
    q.destination = eid_of("ipn:!.0");
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_ENDPOINT);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.0", 1);
    b.flags |= BUNDLE_REPORT_DELETION;
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_ENDPOINT);
    drain(&n);
    struct bundle out = sent_of(&n);
    struct status_report s;
    ck_assert_int_eq(status_report_decode(out.payload.data, out.payload.len, &s), 0);
    ck_assert(s.asserted[STATUS_DELETED]);
    ck_assert_uint_eq(s.reason, REASON_DESTINATION_UNAVAILABLE);
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_ENDPOINT], 3);
    agent_sent(n.a, 1, true, n.now);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    binder_fini(&n);
}
END_TEST

/* One that an earlier version accepted ends when the node starts. */
START_TEST(stored_bundles_for_the_administrative_endpoint)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0"), other = config_of("ipn:9.0");
    other.keep_unreachable = true;
    binder_init(&n, &other); /* it is only on its way there */
    struct eid peer = eid_of("ipn:2.0");
    struct eid_pattern all;
    ck_assert_int_eq(agent_link_add(n.a, 0, &peer, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 0), 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.0", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_NONE);
    skip(&n);
    binder_restart(&n, &c);
    pass(&n, 1);
    expect(&n, "load 1\nremove 1 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 1);
    binder_fini(&n);
}
END_TEST

static size_t record_bytes(uint8_t out[512])
{
    struct status_report s = {.subject = {.source = eid_of("ipn:2.7"), .time_ms = 5}};
    s.asserted[STATUS_DELIVERED] = true;
    int len = status_report_encode(&s, out, 512);
    ck_assert_int_gt(len, 0);
    return (size_t)len;
}

START_TEST(records_for_the_node_are_read)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    uint8_t record[512];
    size_t len = record_bytes(record);
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.0", "ipn:2.0", 1);
    b.flags |= BUNDLE_IS_ADMIN | BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.total = len;
    b.payload = slice_of(record, 4);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    skip(&n);
    binder_restart(&n, &c); /* in the middle */
    b.id.offset = 4;
    b.payload = slice_of(record + 4, len - 4);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    expect(&n, "store 2\nconfirm link 2\nload 1\nremove 1 marked\nremove 2 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->reports_received, 1);
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);

    struct agent_request q = request_of("ipn:2.7", "ipn:2.0", 3); /* an application forges it */
    q.flags = BUNDLE_IS_ADMIN;
    q.report_to = eid_none();
    q.payload = buf_new(BUNDLE_HEAD_MAX, len + BUNDLE_TAIL_MAX);
    memcpy(buf_append(q.payload, len), record, len);
    ck_assert_int_eq(agent_send(n.a, &q, n.now, NULL), REFUSE_INVALID);
    buf_drop(q.payload);
    expect(&n, "");
    ck_assert_uint_eq(agent_counters(n.a)->reports_received, 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    binder_fini(&n);
}
END_TEST

/* This node has no endpoints there, but it is on the way (imc is ION's multicast). */
START_TEST(other_schemes_are_passed_on)
{
    static const char *const routes[] = {"*", "imc:*.*", "imc:42.*", "imc:42.9"};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        struct binder n;
        struct agent_config c = config_of("ipn:2.0");
        struct eid_pattern p;
        struct eid four = eid_of("ipn:4.0");
        binder_init(&n, &c);
        ck_assert_int_eq(agent_link_add(n.a, 1, &four, 2), 0);
        struct bundle b = peer_bundle("ipn:1.4", "imc:42.9", 1);
        b.report_to = eid_of("imc:7.1");
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NO_ROUTE);
        ck_assert_int_eq(eid_pattern_parse(routes[i], &p), 0);
        ck_assert_int_eq(agent_route_add(n.a, &p, 1), 0);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        skip(&n);
        binder_restart(&n, &c); /* its name comes back from the store */
        ck_assert_int_eq(agent_link_add(n.a, 1, &four, 2), 0);
        ck_assert_int_eq(agent_route_add(n.a, &p, 1), 0);
        ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_DUPLICATE);
        agent_link(n.a, 1, true, n.now);
        drain(&n);
        struct bundle out = sent_of(&n);
        ck_assert(eid_equal(&out.destination, &b.destination));
        ck_assert(eid_equal(&out.report_to, &b.report_to));
        struct agent_request q = request_of("ipn:2.7", "imc:42.9", 3); /* of an application */
        ck_assert_int_eq(app_send(&n, &q, "to all"), REFUSE_NONE);
        q.source = eid_of("imc:42.9");
        ck_assert_int_eq(app_send(&n, &q, "of nobody"), REFUSE_INVALID);
        binder_fini(&n);
    }
}
END_TEST

START_TEST(unknown_schemes_keep_their_bytes)
{
    /* as it came, and as it leaves: the primary block is the same */
    static const uint8_t wire[] = {0x9f, 0x88, 0x07, 0x00, 0x00, 0x82, 0x19, 0x01, 0x00, 0x82,
                                   0x61, 0x78, 0x18, 0x01, 0x82, 0x02, 0x82, 0x01, 0x04, 0x82,
                                   0x04, 0xf5, 0x82, 0x00, 0x01, 0x1a, 0x00, 0x01, 0x00, 0x00};
    static const uint8_t tail[] = {0x85, 0x07, 0x02, 0x00, 0x00, 0x41, 0x00, 0x85,
                                   0x01, 0x01, 0x00, 0x00, 0x41, 0x78, 0xff};
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid_pattern all;
    c.mode = BUNDLE_LENIENT;
    relay_init(&n, &c);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 1), 0);
    agent_link(n.a, 1, true, n.now);
    struct buf *in = buf_new(0, sizeof wire + sizeof tail);
    memcpy(buf_append(in, sizeof wire), wire, sizeof wire);
    memcpy(buf_append(in, sizeof tail), tail, sizeof tail);
    ck_assert_int_eq(agent_receive(n.a, 0, in, 1, n.now), REFUSE_NONE);
    drain(&n);
    ck_assert_ptr_nonnull(n.sent);
    ck_assert_uint_gt(n.sent->len, sizeof wire);
    ck_assert_mem_eq(buf_data(n.sent), wire, sizeof wire);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_relay, t)
{
    tcase_add_test(t, a_stricter_mode_keeps_what_was_accepted);
    tcase_add_loop_test(t, a_bundle_with_many_blocks_goes_on, 0, 14);
    tcase_add_test(t, any_block_may_demand_deletion);
    tcase_add_test(t, bytes_of_blocks_are_limited);
    tcase_add_test(t, no_second_block_beside_an_encrypted_one);
    tcase_add_test(t, reports_that_must_not_be);
    tcase_add_test(t, plain_bundles_for_the_administrative_endpoint);
    tcase_add_test(t, stored_bundles_for_the_administrative_endpoint);
    tcase_add_test(t, records_for_the_node_are_read);
    tcase_add_test(t, other_schemes_are_passed_on);
    tcase_add_test(t, unknown_schemes_keep_their_bytes);
}
