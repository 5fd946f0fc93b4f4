/* SPDX-License-Identifier: Apache-2.0 */
/* Which limit left no room for a bundle, and how full it was. Links 0 and 1 lead to 1 and 3. */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

static enum agent_refusal take(struct binder *n, const char *to, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:1.4", to, sequence);
    b.lifetime_ms = UINT64_MAX;
    const enum agent_refusal r = link_receive(n, 0, &b, sequence);
    skip(n);
    return r;
}

static enum agent_refusal flood(struct binder *n, const char *to)
{
    static uint64_t sequence;
    enum agent_refusal r;
    do {
        r = take(n, to, ++sequence);
    } while (r == REFUSE_NONE);
    return r;
}

static const struct agent_shortage *expect_shortage(const struct binder *n, enum agent_limit limit,
                                                    enum agent_unit unit, uint64_t used,
                                                    uint64_t most)
{
    const struct agent_shortage *s = agent_shortage(n->a);
    ck_assert_int_eq(s->limit, limit);
    ck_assert_int_eq(s->unit, unit);
    ck_assert_uint_eq(s->used, used);
    ck_assert_uint_eq(s->most, most);
    return s;
}

static struct agent_config small_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 100;
    return c;
}

START_TEST(of_the_node)
{
    struct binder n;
    struct agent_config c = small_config();
    relay_init(&n, &c);
    ck_assert_int_eq(agent_shortage(n.a)->limit, AGENT_LIMIT_NONE);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_FULL);
    const struct agent_shortage *s =
        expect_shortage(&n, AGENT_LIMIT_COUNT, AGENT_UNIT_BUNDLES, 100, 100);
    ck_assert(!s->beside && s->from == 0 && s->to < 0);
    ck_assert(eid_equal(&s->destination, &(struct eid){EID_IPN, .node = 2, .service = 8}));
    binder_fini(&n);
    c.held_bytes = 1000;
    relay_init(&n, &c);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_FULL);
    s = agent_shortage(n.a);
    ck_assert_int_eq(s->limit, AGENT_LIMIT_BYTES);
    ck_assert(s->most == 1000 && s->used <= 1000 && s->used + s->bytes > 1000);
    binder_fini(&n);
    c = small_config();
    c.memory_only = true;
    c.held_bytes = 20000;
    relay_init(&n, &c);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_FULL);
    s = agent_shortage(n.a);
    ck_assert_int_eq(s->limit, AGENT_LIMIT_MEMORY);
    /* a bundle's record, and its endpoint if it has none yet, would not fit */
    ck_assert(s->most == 20000 && s->used <= 20000 && s->used > 17000);
    binder_fini(&n);
}
END_TEST

START_TEST(of_what_is_not_set_apart)
{
    struct binder n;
    struct agent_config c = small_config();
    c.queue_percent = 20;
    c.endpoint_percent = 75;
    relay_init(&n, &c);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_QUOTA); /* three quarters of 80 */
    ck_assert(expect_shortage(&n, AGENT_LIMIT_ENDPOINT, AGENT_UNIT_BUNDLES, 60, 60)->idle);
    agent_link(n.a, 1, false, n.now);
    skip(&n);
    ck_assert_int_eq(flood(&n, "ipn:3.8"), REFUSE_FULL);
    const struct agent_shortage *s =
        expect_shortage(&n, AGENT_LIMIT_COUNT, AGENT_UNIT_BUNDLES, 80, 80);
    ck_assert(s->beside && s->to == 1);
    binder_fini(&n);
}
END_TEST

START_TEST(of_its_peer_or_source)
{
    struct binder n;
    struct agent_config c = small_config();
    c.reserve_percent = 30; /* 10 for each of two links and the applications */
    relay_init(&n, &c);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_QUOTA);
    ck_assert_int_eq(expect_shortage(&n, AGENT_LIMIT_PEER, AGENT_UNIT_BUNDLES, 80, 80)->from, 0);
    binder_fini(&n);
    c.source_percent = 50;
    relay_init(&n, &c);
    ck_assert_int_eq(flood(&n, "ipn:2.8"), REFUSE_QUOTA);
    ck_assert(expect_shortage(&n, AGENT_LIMIT_SOURCE, AGENT_UNIT_BUNDLES, 40, 40)->unproven);
    struct agent_request q = request_of("ipn:2.7", "ipn:2.8", 5);
    q.user = 7;
    enum agent_refusal r;
    while ((r = app_send(&n, &q, "x")) == REFUSE_NONE)
        skip(&n);
    ck_assert_int_eq(r, REFUSE_QUOTA);
    const struct agent_shortage *s = agent_shortage(n.a);
    ck_assert(s->limit == AGENT_LIMIT_SOURCE || s->limit == AGENT_LIMIT_USER);
    ck_assert_uint_eq(s->used, s->most);
    ck_assert(s->from < 0 && !s->unproven);
    binder_fini(&n);
}
END_TEST

START_TEST(of_a_queue)
{
    struct binder n;
    struct agent_config c = small_config();
    relay_init(&n, &c);
    agent_link(n.a, 1, false, n.now);
    const struct agent_service count = {.bundles_max = 7}, bytes = {.bytes_max = 1000};
    ck_assert_int_eq(agent_link_service(n.a, 1, &count), 0);
    ck_assert_int_eq(flood(&n, "ipn:3.8"), REFUSE_QUEUE);
    ck_assert_int_eq(expect_shortage(&n, AGENT_LIMIT_QUEUE, AGENT_UNIT_BUNDLES, 7, 7)->to, 1);
    ck_assert_int_eq(agent_link_service(n.a, 1, &bytes), 0);
    ck_assert_int_eq(flood(&n, "ipn:3.9"), REFUSE_QUEUE);
    ck_assert_int_eq(agent_shortage(n.a)->unit, AGENT_UNIT_BYTES);
    ck_assert_uint_eq(agent_shortage(n.a)->most, 1000);
    binder_fini(&n);
}
END_TEST

/* 0: bundles in fragments; 1: fragments of one; 2: of all. */
START_TEST(of_fragments)
{
    static const struct {
        enum agent_limit limit;
        enum agent_unit unit;
    } expected[] = {{AGENT_LIMIT_REASSEMBLIES, AGENT_UNIT_REASSEMBLIES},
                    {AGENT_LIMIT_FRAGMENTS, AGENT_UNIT_FRAGMENTS},
                    {AGENT_LIMIT_FRAGMENTS_ALL, AGENT_UNIT_FRAGMENTS}};
    struct binder n;
    struct agent_config c = small_config();
    c.reassemblies_max = _i == 0 ? 2 : 10;
    c.fragments_max = _i == 1 ? 2 : 10;
    c.fragments_all_max = _i == 2 ? 2 : 10;
    relay_init(&n, &c);
    piece(&n, 1, 0, 2);
    piece(&n, _i == 1 ? 1 : 2, 4, 6);
    skip(&n);
    struct bundle b = piece_of(TEXT, _i == 1 ? 1 : 3, 8, 10);
    give(&n, &b, REFUSE_FULL);
    skip(&n);
    expect_shortage(&n, expected[_i].limit, expected[_i].unit, 2, 2);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_shortage, t)
{
    tcase_add_test(t, of_the_node);
    tcase_add_test(t, of_what_is_not_set_apart);
    tcase_add_test(t, of_its_peer_or_source);
    tcase_add_test(t, of_a_queue);
    tcase_add_loop_test(t, of_fragments, 0, 3);
}
