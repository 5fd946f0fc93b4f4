/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles that are longer than a link takes: they go in fragments, another way, or not at all. */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define LENGTH 5000

static void route(struct binder *n, const char *pattern, uint32_t link)
{
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse(pattern, &p), 0);
    ck_assert_int_eq(agent_route_add(n->a, &p, link), 0);
}

/* Node ipn:2.0 with a link to ipn:3 that takes so many bytes. */
static void start(struct binder *n, uint64_t limit)
{
    struct agent_config c = config_of("ipn:2.0");
    struct eid three = eid_of("ipn:3.0");
    binder_init(n, &c);
    ck_assert_int_eq(agent_link_add(n->a, 0, &three, 8), 0);
    route(n, "ipn:3.*", 0);
    agent_link_limit(n->a, 0, limit, n->now);
    agent_link(n->a, 0, true, n->now);
}

static enum agent_refusal send_long(struct binder *n, uint64_t flags)
{
    static char text[LENGTH + 1];
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = (char)('a' + i % 23);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.5", 1);
    q.flags = flags;
    return app_send(n, &q, text);
}

/* What the link has now: within the limit, and a fragment of all of it at this offset. Its end. */
static uint64_t fragment_at(const struct binder *n, uint64_t offset, uint64_t limit)
{
    struct bundle b;
    ck_assert_uint_le(n->sent->len, limit);
    ck_assert_int_eq(bundle_decode(buf_data(n->sent), n->sent->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert(b.id.fragment);
    ck_assert_uint_eq(b.id.offset, offset);
    ck_assert_uint_eq(b.id.total, LENGTH);
    for (size_t i = 0; i < b.payload.len; i++)
        ck_assert_uint_eq(b.payload.data[i], 'a' + (offset + i) % 23);
    return offset + b.payload.len;
}

START_TEST(in_fragments)
{
    static const uint64_t limits[] = {200, 576, 1472, 4000, 5050};
    struct binder n, far;
    struct agent_config c = config_of("ipn:3.0");
    struct eid two = eid_of("ipn:2.0"), endpoint = eid_of("ipn:3.5");
    uint64_t limit = limits[_i], at = 0, fragments = 0;
    start(&n, limit);
    binder_init(&far, &c);
    ck_assert_int_eq(agent_link_add(far.a, 0, &two, 1), 0);
    ck_assert_int_eq(agent_register(far.a, 9, &endpoint, 1, far.now), 0);
    ck_assert_int_eq(send_long(&n, 0), REFUSE_NONE);
    drain(&n);
    while (at < LENGTH) {
        uint64_t end = fragment_at(&n, at, limit);
        fragments++;
        ck_assert_int_eq(agent_receive(far.a, 0, buf_keep(n.sent), fragments, far.now),
                         REFUSE_NONE);
        skip(&far);
        ck_assert_uint_eq(agent_counters(n.a)->bundles, 1); /* whole, until the last one went */
        agent_sent(n.a, 1, true, n.now);
        at = end;
        skip(&n);
    }
    ck_assert_uint_ge(fragments, LENGTH / limit + 1);
    ck_assert_uint_le(fragments, 2 + LENGTH / (limit - 120));
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 1);
    ck_assert_uint_eq(far.payload.len, LENGTH);
    ck_assert_uint_eq(agent_counters(far.a)->fragments_in, fragments);
    for (size_t i = 0; i < LENGTH; i++)
        ck_assert_uint_eq(far.payload.data[i], 'a' + i % 23);
    binder_fini(&n);
    binder_fini(&far);
}
END_TEST

/* One that fails is sent again, and no other; what another link takes goes on from there. */
START_TEST(one_at_a_time)
{
    struct binder n;
    struct eid four = eid_of("ipn:4.0");
    start(&n, 2000);
    ck_assert_int_eq(send_long(&n, 0), REFUSE_NONE);
    skip(&n);
    uint64_t first = fragment_at(&n, 0, 2000);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "send 1 on 0\n");
    uint64_t second = fragment_at(&n, first, 2000);
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "");
    pass(&n, TICK_S);
    expect(&n, "send 1 on 0\n");
    ck_assert_uint_eq(fragment_at(&n, first, 2000), second);
    agent_lost(n.a, 1, 5, NULL, n.now);
    expect(&n, "send 1 on 0\n");
    ck_assert_uint_eq(fragment_at(&n, first, 2000), second);
    ck_assert_int_eq(agent_link_add(n.a, 1, &four, 8), 0);
    route(&n, "ipn:3.*", 1);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    expect(&n, "send 1 on 1\n");
    ck_assert_uint_eq(fragment_at(&n, first, UINT64_MAX), LENGTH);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

/* A fragment of a bundle of 2^63 bytes is cut again, and what it is cut into lies where it lay. */
START_TEST(fragments_are_cut_again)
{
    struct binder n;
    start(&n, 400);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1), f;
    static char data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)('a' + i % 23);
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.offset = UINT64_C(1) << 62;
    b.id.total = UINT64_C(1) << 63;
    b.payload = slice_of(data, sizeof data);
    struct eid one = eid_of("ipn:1.0");
    ck_assert_int_eq(agent_link_add(n.a, 1, &one, 8), 0);
    ck_assert_int_eq(link_receive(&n, 1, &b, 1), REFUSE_NONE);
    skip(&n);
    uint64_t at = 0;
    for (int i = 0; at < sizeof data; i++) {
        ck_assert_int_lt(i, 9);
        ck_assert_uint_le(n.sent->len, 400);
        ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &f, NULL), 0);
        ck_assert_uint_eq(f.id.offset, b.id.offset + at);
        ck_assert_uint_eq(f.id.total, b.id.total);
        ck_assert_int_eq(memcmp(f.payload.data, data + at, f.payload.len), 0);
        at += f.payload.len;
        agent_sent(n.a, 1, true, n.now);
        skip(&n);
    }
    ck_assert_uint_eq(at, sizeof data);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 1);
    binder_fini(&n);
}
END_TEST

/* What must not be fragmented goes over a link that takes it, or is refused. */
START_TEST(must_not_be_fragmented)
{
    struct binder n;
    struct eid four = eid_of("ipn:4.0");
    start(&n, 2000);
    ck_assert_int_eq(send_long(&n, BUNDLE_NO_FRAGMENT), REFUSE_TOO_LONG);
    ck_assert_int_eq(agent_link_add(n.a, 1, &four, 8), 0);
    route(&n, "*", 1);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(send_long(&n, BUNDLE_NO_FRAGMENT), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 1\nsend 1 on 1\n");
    ck_assert_uint_gt(n.sent->len, LENGTH);
    agent_sent(n.a, 1, true, n.now);
    skip(&n);
    agent_link_limit(n.a, 1, 1000, n.now);
    ck_assert_int_eq(send_long(&n, BUNDLE_NO_FRAGMENT), REFUSE_TOO_LONG);
    agent_link_limit(n.a, 1, 0, n.now);
    ck_assert_int_eq(send_long(&n, BUNDLE_NO_FRAGMENT), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

/* A link that has no room for a fragment's head fails it, and it waits. */
START_TEST(no_room_at_all)
{
    struct binder n;
    start(&n, 60);
    ck_assert_int_eq(send_long(&n, 0), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 1\n");
    ck_assert_uint_gt(agent_counters(n.a)->send_failures, 0);
    agent_link_limit(n.a, 0, 0, n.now);
    pass(&n, TICK_S);
    expect(&n, "send 1 on 0\n");
    ck_assert_uint_gt(n.sent->len, LENGTH);
    binder_fini(&n);
}
END_TEST

/* What was decoded before is not computed again; nothing else is let through. */
START_TEST(checked_before)
{
    struct bundle b = peer_bundle("ipn:1.4", "ipn:9.5", 1), out;
    b.payload_crc = CRC_32C;
    struct buf *whole = bundle_encode_copy(&b);
    uint8_t *last = buf_data(whole) + whole->len - 2; /* of the payload's check value */
    *last ^= 1;
    ck_assert_int_ne(bundle_decode(buf_data(whole), whole->len, BUNDLE_LENIENT, &out, NULL), 0);
    ck_assert_int_eq(bundle_decode(buf_data(whole), whole->len, BUNDLE_CHECKED, &out, NULL), 0);
    ck_assert(slice_equal(out.payload, slice_of("data", 4)));
    ck_assert_int_ne(bundle_decode(buf_data(whole), whole->len - 1, BUNDLE_CHECKED, &out, NULL), 0);
    buf_drop(whole);
}
END_TEST

SUITE(bp_agent_split, t)
{
    tcase_add_loop_test(t, in_fragments, 0, 5);
    tcase_add_test(t, one_at_a_time);
    tcase_add_test(t, fragments_are_cut_again);
    tcase_add_test(t, must_not_be_fragmented);
    tcase_add_test(t, no_room_at_all);
    tcase_add_test(t, checked_before);
}
