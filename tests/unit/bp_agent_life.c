/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a bundle at one node: sent, received, delivered, forwarded, waiting, tried again. */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

START_TEST(local_bundle_is_sent_as_it_was_encoded)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 77);
    char text[20001] =
        ""; /* a short one may move when it gives up the room that it does not need */
    memset(text, 'x', sizeof text - 1);
    struct buf *payload = q.payload = payload_of(text);
    struct bundle_id id;
    ck_assert_int_eq(agent_send(n.a, &q, n.now, &id), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 77\nsend 1 on 1\n");
    ck_assert(bundle_id_equal(&n.last.id, &id));
    ck_assert_ptr_eq(n.sent, payload); /* the application's own buffer: nothing was copied */
    struct bundle b;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert(eid_equal(&b.destination, &q.destination) && eid_equal(&b.id.source, &q.source));
    ck_assert_uint_eq(b.lifetime_ms, 86400000);
    ck_assert_int_eq(b.crc, CRC_32C);
    ck_assert_mem_eq(b.payload.data, text, sizeof text - 1);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 1);
    ck_assert_uint_eq(agent_counters(n.a)->accepted_local, 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    ck_assert_uint_eq(agent_counters(n.a)->memory_bytes, 0);
    binder_fini(&n);
}
END_TEST

START_TEST(names_are_unique_even_when_the_clock_stands_or_goes_back)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct bundle_id ids[4];
    for (size_t i = 0; i < 4; i++) {
        struct agent_request q = request_of("ipn:2.7", "ipn:3.9", i);
        q.payload = payload_of("x");
        ck_assert_int_eq(agent_send(n.a, &q, n.now, &ids[i]), REFUSE_NONE);
        if (i == 1)
            n.now.dtn_ms -= 5000;
        if (i == 2)
            n.now.dtn_ms += 6000;
    }
    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < i; k++)
            ck_assert(!bundle_id_equal(&ids[i], &ids[k]));
    }
    ck_assert_uint_eq(ids[1].sequence, 1);
    ck_assert_uint_eq(ids[2].time_ms,
                      START_MS - 5000); /* the clock's word, also when it goes back */
    ck_assert_uint_eq(ids[3].time_ms, START_MS + 1000);
    ck_assert_uint_eq(ids[3].sequence, 3);
    binder_fini(&n);
}
END_TEST

START_TEST(received_bundle_is_delivered_in_its_own_buffer)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 900, &here, 1, n.now), 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    struct buf *whole = bundle_encode_copy(&b);
    ck_assert_int_eq(agent_receive(n.a, 0, whole, 31, n.now), REFUSE_NONE);
    pass(&n, 250 * TICK_MS);
    expect(&n, "store 1\nconfirm link 31\ndeliver 1 to 900: data\n");
    ck_assert_ptr_eq(n.delivered, whole);
    ck_assert(n.payload.data >= buf_data(whole));
    ck_assert_uint_eq(n.last.age_ms, 250);
    ck_assert_uint_eq(n.last.lifetime_ms, 60000);
    ck_assert(bundle_id_equal(&n.last.id, &b.id) && eid_equal(&n.last.destination, &here));
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    binder_fini(&n);
}
END_TEST

START_TEST(bundle_for_an_endpoint_of_the_same_node)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 3, &here, 4, n.now), 0);
    struct agent_request q = request_of("ipn:2.5", "ipn:2.5", 8);
    ck_assert_int_eq(app_send(&n, &q, "to myself"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 8\ndeliver 1 to 3: to myself\n");
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(local_node_names_this_node)
{
    struct binder n;
    struct agent_config c = config_of("ipn:977000.2.0");
    binder_init(&n, &c);
    struct eid here = eid_of("ipn:977000.2.5");
    ck_assert_int_eq(agent_register(n.a, 3, &here, 4, n.now), 0);
    struct agent_request q = request_of("ipn:977000.2.7", "ipn:!.5", 8);
    q.report_to = eid_of("ipn:!.6");
    ck_assert_int_eq(app_send(&n, &q, "near"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 8\ndeliver 1 to 3: near\n");
    struct bundle b;
    ck_assert_int_eq(
        bundle_decode(buf_data(n.delivered), n.delivered->len, BUNDLE_STRICT, &b, NULL), 0);
    ck_assert(eid_equal(&b.destination, &here));
    here.service = 6;
    ck_assert(eid_equal(&b.report_to, &here));
    binder_fini(&n);

    c = config_of("dtn://two/"); /* has no ipn endpoints; ipn:! may not leave it (RFC 9758 §5.4) */
    struct eid peer = eid_of("ipn:3.0");
    struct eid_pattern all;
    binder_init(&n, &c);
    ck_assert_int_eq(agent_link_add(n.a, 0, &peer, 1), 0);
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 0), 0);
    q = request_of("dtn://two/x", "ipn:!.5", 8);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_INVALID);
    binder_fini(&n);
}
END_TEST

START_TEST(forwarding_updates_the_blocks)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1), out;
    b.has_previous = b.has_hops = b.has_age = true;
    b.previous = eid_of("ipn:1.0");
    b.hop_limit = 9;
    b.hop_count = 4;
    b.age_ms = 1000;
    b.others_len = 2;
    b.others[0] = (struct bundle_block){
        .type = 200, .number = 20, .flags = BLOCK_DROP_IF_UNKNOWN, .data = slice_of("go", 2)};
    b.others[1] = (struct bundle_block){.type = 201, .number = 21, .data = slice_of("stay", 4)};
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    expect(&n, "store 1\nconfirm link 1\n");
    pass(&n, 1500 * TICK_MS);
    agent_link(n.a, 1, true, n.now);
    /* A failure in between must not count the hop twice. */
    expect(&n, "send 1 on 1\n");
    agent_sent(n.a, 1, false, n.now);
    pass(&n, TICK_S);
    expect(&n, "send 1 on 1\n");
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &out, NULL), 0);
    ck_assert(eid_equal(&out.previous, &c.node));
    ck_assert_uint_eq(out.hop_count, 5);
    ck_assert_uint_eq(out.hop_limit, 9);
    ck_assert_uint_eq(out.age_ms, 3500);
    ck_assert_uint_eq(out.others_len, 1);
    ck_assert_uint_eq(out.others[0].type, 201);
    ck_assert(slice_equal(out.others[0].data, slice_of("stay", 4)));
    ck_assert(slice_equal(out.payload, slice_of("data", 4)));
    ck_assert(bundle_id_equal(&out.id, &b.id));
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(source_without_clock_sends_an_age)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    n.now.dtn_ms = 0;
    agent_link(n.a, 1, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 1);
    ck_assert_int_eq(app_send(&n, &q, "a"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "b"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 1\nstore 2\nconfirm app 1\nsend 1 on 1\nsend 2 on 1\n");
    struct bundle out;
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &out, NULL), 0);
    ck_assert(out.has_age && out.id.time_ms == 0 && out.id.sequence == 1);
    binder_fini(&n);
}
END_TEST

START_TEST(link_down_keeps_bundles_and_the_window_limits_them)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 1 on 1\nsend 2 on 1\n");
    agent_link(n.a, 1, false, n.now);
    agent_sent(n.a, 2, true, n.now);
    agent_sent(n.a, 1, false, n.now);
    expect(&n, "remove 2\n");
    agent_link(n.a, 1, true, n.now); /* it failed while the link was down: no pause */
    expect(&n, "send 1 on 1\nsend 3 on 1\n");
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\nsend 4 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(the_window_grows_and_shrinks)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    agent_window(n.a, 1, 1, n.now); /* before it is up */
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 1 on 1\n");
    agent_window(n.a, 1, 4, n.now);
    expect(&n, "send 2 on 1\nsend 3 on 1\nsend 4 on 1\n");
    agent_window(n.a, 1, 2, n.now); /* nothing is recalled */
    expect(&n, "");
    agent_check(n.a);
    agent_sent(n.a, 1, true, n.now);
    agent_sent(n.a, 2, true, n.now);
    expect(&n, "remove 1\nremove 2\n");
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "remove 3\nsend 5 on 1\n");
    agent_window(n.a, 1, 0, n.now); /* no such window, no such links: nothing happens */
    agent_window(n.a, 5, 9, n.now);
    agent_window(n.a, 64, 9, n.now);
    agent_sent(n.a, 4, true, n.now);
    expect(&n, "remove 4\nsend 6 on 1\n");
    agent_window(n.a, 0, 100, n.now); /* the other link's */
    expect(&n, "");
    agent_window(n.a, 1, 100, n.now);
    expect(&n, "send 7 on 1\nsend 8 on 1\n");
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

START_TEST(pauses_double_up_to_the_limit_and_others_go_on)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.retry_min = 100 * TICK_MS;
    c.retry_max = 350 * TICK_MS;
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\nsend 1 on 1\n");
    const tick pauses[] = {100, 200, 350, 350};
    for (size_t i = 0; i < 4; i++) {
        agent_sent(n.a, 1, false, n.now);
        expect(&n, "");
        ck_assert_uint_eq(agent_deadline(n.a), n.now.now + pauses[i] * TICK_MS);
        pass(&n, pauses[i] * TICK_MS - 1);
        expect(&n, "");
        pass(&n, 1);
        expect(&n, "send 1 on 1\n");
    }
    agent_sent(n.a, 1, false, n.now);
    ck_assert_int_eq(app_send(&n, &q, "y"), REFUSE_NONE);
    expect(&n, "store 2\nconfirm app 5\nsend 2 on 1\n");
    agent_link(n.a, 1, true, n.now); /* a new chance ends the pause */
    expect(&n, "send 1 on 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->send_failures, 5);
    binder_fini(&n);
}
END_TEST

/* An unreliable link: no pauses, ahead of the others, and not for ever. */
START_TEST(lost_bundles_go_again_so_and_so_often)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    for (int i = 0; i < 2; i++) {
        agent_lost(n.a, 1, 2, "lost", n.now);
        expect(&n, "send 1 on 1\n");
    }
    agent_lost(n.a, 2, 0, "lost", n.now); /* not once */
    expect(&n, "remove 2\nsend 3 on 1\n");
    agent_lost(n.a, 1, 2, "lost", n.now);
    expect(&n, "remove 1\n");
    agent_lost(n.a, 1, 2, "lost", n.now); /* gone */
    agent_link(n.a, 1, false, n.now);
    agent_lost(n.a, 3, 2, "lost", n.now);
    expect(&n, "");
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 3 on 1\n");
    agent_sent(n.a, 3, true, n.now);
    expect(&n, "remove 3\n");
    ck_assert_uint_eq(agent_counters(n.a)->lost, 5);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_GIVEN_UP], 2);
    ck_assert_uint_eq(agent_counters(n.a)->send_failures, 0);
    binder_fini(&n);
}
END_TEST

START_TEST(bundles_wait_for_a_registration)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    for (uint64_t i = 1; i <= 3; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
    }
    skip(&n);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 2, n.now), 0);
    ck_assert_int_eq(agent_register(n.a, 2, &here, 2, n.now), HELIO_EEXIST);
    expect(&n, "deliver 1 to 1: data\ndeliver 2 to 1: data\n");
    agent_delivered(n.a, 1, true, n.now);
    expect(&n, "remove 1 marked\ndeliver 3 to 1: data\n");
    agent_delivered(n.a, 2, false, n.now); /* not for this registration any more */
    expect(&n, "");
    agent_unregister(n.a, 1, n.now); /* 3 had no answer: it comes again */
    expect(&n, "");
    ck_assert_int_eq(agent_register(n.a, 2, &here, 5, n.now), 0);
    expect(&n, "deliver 2 to 2: data\ndeliver 3 to 2: data\n");
    agent_delivered(n.a, 2, true, n.now);
    agent_delivered(n.a, 3, true, n.now);
    expect(&n, "remove 2 marked\nremove 3 marked\n");
    binder_fini(&n);
}
END_TEST

START_TEST(routes_by_rank_then_by_order)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid_pattern all, exact;
    ck_assert_int_eq(eid_pattern_parse("*", &all), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.9", &exact), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 1), 0);
    ck_assert_int_eq(agent_route_add(n.a, &all, 0), 0);
    ck_assert_int_eq(agent_route_add(n.a, &exact, 0), 0);
    ck_assert_int_eq(agent_route_add(n.a, &exact, 7), HELIO_ENOENT);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    const char *to[] = {"ipn:3.9", "ipn:3.8", "dtn://else/where"};
    for (size_t i = 0; i < 3; i++) {
        struct agent_request q = request_of("ipn:2.7", to[i], i);
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    }
    expect(&n, "store 1\nconfirm app 0\nstore 2\nconfirm app 1\nstore 3\nconfirm app 2\n"
               "send 1 on 0\nsend 2 on 1\nsend 3 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(expiry_is_exact)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    q.lifetime_ms = 1500;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\n");
    ck_assert_uint_eq(agent_deadline(n.a), n.now.now + 1500 * TICK_MS);
    pass(&n, 1500 * TICK_MS - 1);
    expect(&n, "");
    pass(&n, 1);
    expect(&n, "remove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    ck_assert_uint_eq(agent_deadline(n.a), TICK_NEVER);
    binder_fini(&n);
}
END_TEST

START_TEST(expiry_recalls_a_transmission)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    q.lifetime_ms = 1000;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "y"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\nstore 2\nconfirm app 5\nsend 1 on 1\nsend 2 on 1\n");
    pass(&n, TICK_S - 1);
    expect(&n, "");
    pass(&n, 1); /* what the link makes of it, it says */
    expect(&n, "recall 1 from link 1\nrecall 2 from link 1\n");
    ck_assert_uint_eq(agent_deadline(n.a), TICK_NEVER);
    agent_sent(n.a, 1, true, n.now);
    agent_sent(n.a, 2, false, n.now);
    expect(&n, "remove 1\nremove 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_FORWARDED], 1);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    binder_fini(&n);
}
END_TEST

/* Outcomes that come before the binder has polled the recall, and a link that lost it. */
START_TEST(outcomes_overtake_the_recall)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    agent_window(n.a, 1, 3, n.now);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    q.lifetime_ms = 1000;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    pass(&n, TICK_S);
    agent_sent(n.a, 1, true, n.now);
    agent_sent(n.a, 2, false, n.now);
    expect(&n, "recall 3 from link 1\nremove 1\nremove 2\n");
    agent_lost(n.a, 3, 5, "lost", n.now);
    expect(&n, "remove 3\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 2);
    binder_fini(&n);
}
END_TEST

/* A subscriber that never answers: the bundle ends in time, its place in the window does not, lest
 * a deaf application be given more and more. */
START_TEST(expiry_takes_a_delivery_back)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid here = eid_of("ipn:2.5");
    ck_assert_int_eq(agent_register(n.a, 9, &here, 2, n.now), 0);
    for (uint64_t i = 1; i <= 4; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", i);
        b.lifetime_ms = i <= 2 ? 1000 * i : 60000;
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
    }
    skip(&n);
    pass(&n, TICK_S);
    expect(&n, "recall 1 from 9\nremove 1\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    agent_delivered(n.a, 1, true, n.now); /* too late */
    expect(&n, "");
    agent_recalled(n.a, 9, n.now);
    expect(&n, "deliver 3 to 9: data\n");
    agent_recalled(n.a, 9, n.now); /* there was none */
    expect(&n, "");
    pass(&n, TICK_S);
    expect(&n, "recall 2 from 9\nremove 2\n");
    agent_unregister(n.a, 9, n.now);
    ck_assert_int_eq(agent_register(n.a, 9, &here, 2, n.now), 0); /* with a window of its own */
    expect(&n, "deliver 3 to 9: data\ndeliver 4 to 9: data\n");
    ck_assert_int_eq(agent_delete(n.a, 3, n.now), 0);
    expect(&n, "recall 3 from 9\nremove 3 marked\n");
    agent_delivered(n.a, 4, true, n.now);
    expect(&n, "remove 4 marked\n");
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    binder_fini(&n);
}
END_TEST

START_TEST(operator_deletes)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    drain(&n);
    struct agent_bundle_info info[4];
    ck_assert_uint_eq(agent_bundles(n.a, info, 4), 3);
    ck_assert_str_eq(info[0].state, "waiting");
    ck_assert_uint_eq(agent_bundles(n.a, info, 2), 2);
    skip(&n);
    ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
    ck_assert_int_eq(agent_delete(n.a, 9, n.now), HELIO_ENOENT);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "remove 1\nsend 2 on 1\nsend 3 on 1\n");
    ck_assert_int_eq(agent_delete(n.a, 2, n.now), 0); /* on the link: when that is over */
    expect(&n, "recall 2 from link 1\n");
    ck_assert_int_eq(agent_delete(n.a, 2, n.now), 0);
    expect(&n, ""); /* once */
    agent_sent(n.a, 2, false, n.now);
    expect(&n, "remove 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 2);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_life, t)
{
    tcase_add_test(t, local_bundle_is_sent_as_it_was_encoded);
    tcase_add_test(t, names_are_unique_even_when_the_clock_stands_or_goes_back);
    tcase_add_test(t, received_bundle_is_delivered_in_its_own_buffer);
    tcase_add_test(t, bundle_for_an_endpoint_of_the_same_node);
    tcase_add_test(t, local_node_names_this_node);
    tcase_add_test(t, forwarding_updates_the_blocks);
    tcase_add_test(t, source_without_clock_sends_an_age);
    tcase_add_test(t, link_down_keeps_bundles_and_the_window_limits_them);
    tcase_add_test(t, the_window_grows_and_shrinks);
    tcase_add_test(t, lost_bundles_go_again_so_and_so_often);
    tcase_add_test(t, pauses_double_up_to_the_limit_and_others_go_on);
    tcase_add_test(t, bundles_wait_for_a_registration);
    tcase_add_test(t, routes_by_rank_then_by_order);
    tcase_add_test(t, expiry_is_exact);
    tcase_add_test(t, expiry_recalls_a_transmission);
    tcase_add_test(t, outcomes_overtake_the_recall);
    tcase_add_test(t, expiry_takes_a_delivery_back);
    tcase_add_test(t, operator_deletes);
}
