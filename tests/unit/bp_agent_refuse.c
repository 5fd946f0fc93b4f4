/* SPDX-License-Identifier: Apache-2.0 */
/* Every reason to refuse a bundle, every limit, and what the peer and the counters are told. */
#include "bp/agent/admission/seen.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define DAY UINT64_C(86400000)

static void refuse_app(struct binder *n, const struct agent_request *q, const char *text,
                       enum agent_refusal reason)
{
    uint64_t before = agent_counters(n->a)->refused[reason];
    ck_assert_int_eq(app_send(n, q, text), reason);
    ck_assert_uint_eq(agent_counters(n->a)->refused[reason], before + 1);
    expect(n, "");
}

static void refuse_link(struct binder *n, const struct bundle *b, enum agent_refusal reason)
{
    char text[128];
    uint64_t before = agent_counters(n->a)->refused[reason];
    ck_assert_int_eq(link_receive(n, 0, b, 4), reason);
    ck_assert_uint_eq(agent_counters(n->a)->refused[reason], before + 1);
    snprintf(text, sizeof text, "refuse link 4: %s\n", agent_refusal_text(reason));
    expect(n, text);
    /* What RFC 9171 has us delete is gone; all else the peer keeps. */
    bool deleted = reason == REFUSE_EXPIRED || reason == REFUSE_HOP_LIMIT || reason == REFUSE_BLOCK;
    ck_assert_int_eq(n->last.keep, !deleted);
}

START_TEST(configuration)
{
    struct agent *a;
    struct agent_config c = config_of("ipn:2.1");
    ck_assert_int_eq(agent_new(&a, &c), HELIO_EINVAL);
    c.node = eid_none();
    ck_assert_int_eq(agent_new(&a, &c), HELIO_EINVAL);
    struct binder n;
    c = config_of("ipn:2.0");
    relay_init(&n, &c);
    ck_assert_int_eq(agent_link_add(n.a, 0, &c.node, 1), HELIO_EEXIST);
    ck_assert_int_eq(agent_link_add(n.a, 1u << 20, &c.node, 1), HELIO_EINVAL);
    ck_assert_int_eq(agent_link_add(n.a, 5, &c.node, 0), HELIO_EINVAL);
    struct eid far = eid_of("ipn:3.1"), none = eid_none();
    ck_assert_int_eq(agent_register(n.a, 1, &far, 1, n.now), HELIO_EINVAL);
    ck_assert_int_eq(agent_register(n.a, 1, &none, 1, n.now), HELIO_EINVAL);
    binder_fini(&n);
}
END_TEST

START_TEST(illegal_requests)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct agent_request q = request_of("ipn:1.7", "ipn:3.9", 5);
    refuse_app(&n, &q, "x", REFUSE_INVALID); /* another node's name */
    q = request_of("ipn:2.7", "dtn:none", 5);
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    q = request_of("ipn:2.7", "ipn:3.9", 5);
    q.flags = BUNDLE_IS_FRAGMENT;
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    q.flags = BUNDLE_IS_ADMIN; /* such records are the node's own */
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    q.flags = 0;
    q.crc = 3;
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    q = request_of("dtn:none", "ipn:3.9", 5);
    q.flags = BUNDLE_REPORT_DELETION;
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    q.flags = 0;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE); /* anonymous is legal */
    expect(&n, "store 1\nconfirm app 5\n");
    q = request_of("ipn:2.7", "ipn:3.9", 5);
    q.payload = buf_new(3, 100); /* no room for the head */
    buf_append(q.payload, 100);
    ck_assert_int_eq(agent_send(n.a, &q, n.now, NULL), REFUSE_INVALID);
    buf_drop(q.payload);
    q = request_of("ipn:2.7", "ipn:4.9", 5);
    refuse_app(&n, &q, "x", REFUSE_NO_ROUTE);
    q = request_of("ipn:!.7", "ipn:3.9", 5); /* an EID of this node, but not a source */
    refuse_app(&n, &q, "x", REFUSE_INVALID);
    binder_fini(&n);
}
END_TEST

START_TEST(limits)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    relay_init(&n, &c);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    const uint64_t bytes = agent_counters(n.a)->bytes;
    binder_fini(&n);

    c.bundle_max = bytes; /* exactly so long is allowed */
    relay_init(&n, &c);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 5\n");
    refuse_app(&n, &q, "0123456789A", REFUSE_TOO_LONG);
    b.payload = slice_of("0123456789012345678901234567890123456789", 40);
    refuse_link(&n, &b, REFUSE_TOO_LONG);
    binder_fini(&n);

    c.bundle_max = 0;
    c.held_bytes = 2 * bytes;
    relay_init(&n, &c);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    skip(&n);
    refuse_app(&n, &q, "", REFUSE_FULL);
    b.payload = slice_of("", 0);
    refuse_link(&n, &b, REFUSE_FULL);
    agent_delete(n.a, 1, n.now);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    binder_fini(&n);

    c.held_bytes = 0;
    c.held_bundles = 2;
    relay_init(&n, &c);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    refuse_app(&n, &q, "x", REFUSE_FULL);
    binder_fini(&n);

    c.held_bundles = 0;
    c.memory_bytes = 1400; /* of bundles that the store has not answered for, and their records */
    relay_init(&n, &c);
    n.store_waits = true;
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    expect(&n, "store 1\nstore 2\n");
    refuse_app(&n, &q, "0123456789", REFUSE_FULL);
    agent_stored(n.a, 1, true, n.now);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

/* Without a store the limit is one of memory, and small bundles take more than their bytes. */
START_TEST(what_bundles_take_in_memory)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    const struct agent_counters *k;
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    unsigned held = 0;
    c.memory_only = true;
    c.held_bytes = 1000000;
    c.memory_bytes = UINT64_MAX / 2;
    relay_init(&n, &c);
    k = agent_counters(n.a);
    for (;; held++, skip(&n)) {
        q.payload = payload_of("0123456789");
        if (agent_send(n.a, &q, n.now, NULL) != REFUSE_NONE)
            break;
    }
    buf_drop(q.payload);
    ck_assert_uint_eq(k->bundles, held);
    ck_assert_uint_gt(held, 1450); /* at most 690 bytes each */
    ck_assert_uint_lt(held, 3000);
    ck_assert_uint_le(k->memory_bytes + k->record_bytes, 1000000);
    ck_assert_uint_lt(k->memory_bytes, held * 100);
    ck_assert_uint_gt(k->memory_bytes + k->record_bytes, 990000);
    agent_delete(n.a, 1, n.now);
    skip(&n);
    ck_assert_int_eq(app_send(&n, &q, "0123456789"), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

START_TEST(bundles_of_peers)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct buf *junk = payload_of("not a bundle");
    ck_assert_int_eq(agent_receive(n.a, 0, junk, 1, n.now), REFUSE_MALFORMED);
    expect(&n, "refuse link 1: malformed bundle\n");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:4.5", 1);
    refuse_link(&n, &b, REFUSE_NO_ROUTE);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    b.has_hops = true;
    b.hop_limit = b.hop_count = 5;
    refuse_link(&n, &b, REFUSE_HOP_LIMIT);
    b.destination = eid_of("ipn:2.5");
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE); /* no hop is needed any more */
    expect(&n, "store 1\nconfirm link 4\n");
    b.hop_count = 6;
    b.id.sequence = 2;
    refuse_link(&n, &b, REFUSE_HOP_LIMIT);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 3);
    b.id.time_ms = START_MS - 60000; /* its lifetime */
    refuse_link(&n, &b, REFUSE_EXPIRED);
    b.id.time_ms++;
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    expect(&n, "store 2\nconfirm link 4\n");
    b = peer_bundle("ipn:1.4", "ipn:3.5", 4);
    b.id.time_ms = 0;
    b.has_age = true;
    b.age_ms = 60000;
    refuse_link(&n, &b, REFUSE_EXPIRED);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 5);
    b.others_len = 1;
    b.others[0] =
        (struct bundle_block){.type = 200, .number = 20, .flags = BLOCK_DELETE_BUNDLE_IF_UNKNOWN};
    refuse_link(&n, &b, REFUSE_BLOCK);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 6);
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.total = 100;
    b.payload = slice_of("", 0); /* brings nothing */
    refuse_link(&n, &b, REFUSE_FRAGMENT);
    binder_fini(&n);
}
END_TEST

/* An operator may want it so: then the peer hears of room only. */
START_TEST(dropped_bundles_may_be_confirmed)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.confirm_dropped = true;
    c.status_reports = true;
    c.held_bundles = 1;
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:4.5", 1);
    b.flags = BUNDLE_REPORT_DELETION;
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NO_ROUTE);
    expect(&n, "refuse link 4: no route to the destination\nstore 1\n"); /* it is deleted */
    ck_assert(!n.last.keep);
    b.destination = eid_of("ipn:3.5");
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_FULL);
    expect(&n, "refuse link 5: the node's limit of bundles or bytes is reached\n");
    ck_assert(n.last.keep);
    binder_fini(&n);

    c.confirm_dropped = false; /* the peer keeps it: there is nothing to report */
    relay_init(&n, &c);
    b.destination = eid_of("ipn:4.5");
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NO_ROUTE);
    expect(&n, "refuse link 4: no route to the destination\n");
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 0);
    binder_fini(&n);
}
END_TEST

/* Bundles of links only, and each offer: the operator sees from where and to where. */
START_TEST(unrouted_bundles_are_noted)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    const struct agent_unrouted *u = agent_unrouted(n.a);
    struct agent_request q = request_of("ipn:2.7", "ipn:4.9", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NO_ROUTE);
    ck_assert_uint_eq(u->count, 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:4.5", 1);
    for (uint64_t i = 1; i <= 2; i++) {
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NO_ROUTE);
        ck_assert_uint_eq(u->count, i);
    }
    struct eid source = eid_of("ipn:1.4"), destination = eid_of("ipn:4.5");
    ck_assert(eid_equal(&u->source, &source) && eid_equal(&u->destination, &destination));
    ck_assert_uint_eq(u->link, 0);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_NONE);
    ck_assert_uint_eq(u->count, 2);
    binder_fini(&n);
}
END_TEST

/* Of links, each offer: the clock of one node is wrong, and its operator has to see it. */
START_TEST(stale_bundles_are_noted)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    const struct agent_stale *s = agent_stale(n.a);
    struct eid source = eid_of("ipn:1.4");
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1); /* 60 s */
    b.id.time_ms = START_MS - 60000 - 3 * DAY;
    for (uint64_t i = 1; i <= 2; i++) {
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_EXPIRED);
        ck_assert_uint_eq(s->count, i);
    }
    ck_assert(eid_equal(&s->source, &source));
    ck_assert_uint_eq(s->link, 0);
    ck_assert_uint_eq(s->over_ms, 3 * DAY);
    b.has_age = true;
    b.age_ms = 60000 + 4 * DAY; /* it is as old as its age says, at least */
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_EXPIRED);
    ck_assert_uint_eq(s->over_ms, 4 * DAY);
    b = peer_bundle("ipn:1.4", "ipn:2.5", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    ck_assert_uint_eq(s->count, 3);
    binder_fini(&n);
}
END_TEST

START_TEST(store_that_refuses)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    agent_link(n.a, 1, true, n.now);
    n.store_fails = true;
    struct agent_request q = request_of("ipn:2.7", "ipn:3.9", 5);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(link_receive(&n, 0, &b, 6), REFUSE_NONE);
    expect(&n, "store 1\nrefuse app 5: the store refused it (medium or limit full)\n"
               "store 2\nrefuse link 6: the store refused it (medium or limit full)\n");
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_STORE], 2);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    n.store_fails = false;
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_NONE); /* it is not known as seen */
    expect(&n, "store 3\nconfirm link 7\nsend 3 on 1\n");
    binder_fini(&n);
}
END_TEST

START_TEST(duplicates)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    n.store_waits = true;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_DUPLICATE);
    /* not stored yet: the peer must not forget its copy */
    expect(&n, "refuse link 2: it is being stored here, or is on its way to another node, whose "
               "answer is awaited\nstore 1\n");
    agent_stored(n.a, 1, false, n.now);
    expect(&n, "refuse link 1: the store refused it (medium or limit full)\n");
    n.store_waits = false;
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_NONE);
    expect(&n, "store 2\nconfirm link 3\n");
    ck_assert_int_eq(link_receive(&n, 1, &b, 4), REFUSE_DUPLICATE); /* held */
    expect(&n, "confirm link 4 duplicate\n");
    binder_restart(&n, &c);                                         /* without links, so it stays */
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_DUPLICATE); /* restored */
    expect(&n, "confirm link 5 duplicate\n");
    ck_assert_int_eq(agent_delete(n.a, 2, n.now), 0);
    expect(&n, "remove 2 marked\n");
    ck_assert_int_eq(link_receive(&n, 0, &b, 6), REFUSE_DUPLICATE); /* gone */
    expect(&n, "confirm link 6 duplicate\n");
    binder_restart(&n, &c);
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_DUPLICATE); /* known by its mark */
    expect(&n, "confirm link 7 duplicate\n");
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_DUPLICATE], 1);
    b.id.source = eid_none(); /* ids of anonymous bundles tell nothing (§4.2.7) */
    b.report_to = eid_none();
    b.flags |= BUNDLE_NO_FRAGMENT;
    b.destination = eid_of("ipn:2.1");
    ck_assert_int_eq(link_receive(&n, 0, &b, 8), REFUSE_NONE);
    ck_assert_int_eq(link_receive(&n, 0, &b, 9), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

START_TEST(memory_of_ids_is_bounded)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.seen_max = 2;
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= 3; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        drain(&n);
        ck_assert_int_eq(agent_delete(n.a, i, n.now), 0);
        drain(&n);
    }
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 3);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_DUPLICATE);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_DUPLICATE);
    b = peer_bundle("ipn:1.4", "ipn:3.5", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 6), REFUSE_NONE); /* the oldest made room */
    binder_fini(&n);
}
END_TEST

/* They have an eighth of the memory that bundles may take, and count there; at least 1,024 stay. */
START_TEST(memory_of_ids_counts)
{
    static const struct {
        uint64_t memory, ids;
        bool memory_only;
    } nodes[] = {{600000, 600000 / 8 / SEEN_ID_BYTES, false},
                 {600000, 600000 / 8 / SEEN_ID_BYTES, true},
                 {100000, 1024, false}};
    const uint64_t bundles = 1600;
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.total_bytes = nodes[_i].memory;
    c.memory_only = nodes[_i].memory_only;
    c.held_bytes = c.memory_only ? nodes[_i].memory : 0;
    relay_init(&n, &c);
    const struct agent_counters *k = agent_counters(n.a);
    for (uint64_t i = 1; i <= bundles; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", i);
        ck_assert_int_eq(link_receive(&n, 0, &b, i), REFUSE_NONE);
        skip(&n);
        ck_assert_int_eq(agent_delete(n.a, i, n.now), 0);
        skip(&n);
    }
    agent_check(n.a);
    ck_assert_uint_eq(k->displaced, bundles - nodes[_i].ids);
    ck_assert_uint_le(k->seen_bytes, nodes[_i].ids * SEEN_ID_BYTES + 1024);
    ck_assert_uint_gt(k->seen_bytes, nodes[_i].ids * (SEEN_ID_BYTES - 8));
    uint64_t most = 0;
    for (uint64_t i = bundles + 1; i <= 3 * bundles; i++) {
        struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", i);
        if (link_receive(&n, 0, &b, i) == REFUSE_NONE)
            skip(&n);
        const uint64_t used = k->memory_bytes + k->record_bytes + k->seen_bytes;
        most = used > most ? used : most;
    }
    ck_assert_uint_gt(k->refused[REFUSE_FULL] + k->refused[REFUSE_QUOTA], 0);
    ck_assert_uint_le(most, nodes[_i].memory);
    binder_fini(&n);
}
END_TEST

/* Static routes: the only ones lead back to the neighbour, over the link that brought the bundle or
 * over another one to the same neighbour. */
START_TEST(only_routes_back)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct eid_pattern p;
    struct eid one = eid_of("ipn:1.0");
    ck_assert_int_eq(agent_link_add(n.a, 7, &one, 2), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:9.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n.a, &p, 0), 0);
    ck_assert_int_eq(agent_route_add(n.a, &p, 7), 0);
    agent_link(n.a, 0, true, n.now);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:9.5", 1);
    refuse_link(&n, &b, REFUSE_NO_ROUTE);
    b = peer_bundle("ipn:1.4", "ipn:1.5", 2); /* its own neighbour */
    refuse_link(&n, &b, REFUSE_NO_ROUTE);
    struct agent_request q =
        request_of("ipn:2.7", "ipn:9.5", 5); /* started here: no previous node */
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    /* A route over a link that is down is one. */
    ck_assert_int_eq(agent_route_add(n.a, &p, 1), 0);
    b = peer_bundle("ipn:1.4", "ipn:9.5", 3);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* An operator may want it kept; it goes back when nothing better comes up. */
START_TEST(routes_back_are_kept_on_request)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.keep_unreachable = true;
    relay_init(&n, &c);
    struct eid_pattern p;
    ck_assert_int_eq(eid_pattern_parse("ipn:9.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n.a, &p, 0), 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:9.5", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_NONE);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    expect(&n, "send 1 on 0\n");
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_refuse, t)
{
    tcase_add_test(t, configuration);
    tcase_add_test(t, illegal_requests);
    tcase_add_test(t, limits);
    tcase_add_test(t, what_bundles_take_in_memory);
    tcase_add_test(t, bundles_of_peers);
    tcase_add_test(t, dropped_bundles_may_be_confirmed);
    tcase_add_test(t, unrouted_bundles_are_noted);
    tcase_add_test(t, stale_bundles_are_noted);
    tcase_add_test(t, store_that_refuses);
    tcase_add_test(t, duplicates);
    tcase_add_test(t, memory_of_ids_is_bounded);
    tcase_add_loop_test(t, memory_of_ids_counts, 0, 3);
    tcase_add_test(t, only_routes_back);
    tcase_add_test(t, routes_back_are_kept_on_request);
}
