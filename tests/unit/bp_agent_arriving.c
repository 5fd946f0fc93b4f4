/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of bundles that are still arriving: part of the node's limit, in shares by neighbour. */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

static struct agent_config arriving_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.total_bytes = 1000000;
    c.reserve_percent = 30; /* 10 for each of two links and the applications */
    return c;
}

static uint64_t arriving(const struct binder *n)
{
    agent_check(n->a);
    return agent_counters(n->a)->arriving_bytes;
}

/* Bytes that are taken in steps until there is no room. */
static uint64_t fill(struct binder *n, uint32_t link, uint64_t step)
{
    uint64_t taken = 0;
    while (agent_reserve(n->a, link, step))
        taken += step;
    return taken;
}

START_TEST(a_neighbour_leaves_the_others_their_shares)
{
    struct binder n;
    struct agent_share s;
    struct agent_config c = arriving_config();
    relay_init(&n, &c); /* links 0 and 1, to ipn:1.0 and ipn:3.0 */
    ck_assert_uint_eq(fill(&n, 0, 1000), 800000);
    ck_assert_uint_eq(fill(&n, 1, 1000), 100000);
    ck_assert_uint_eq(fill(&n, AGENT_OWN, 1000), 100000);
    ck_assert_uint_eq(arriving(&n), 1000000);
    agent_share(n.a, 1, &s);
    ck_assert(s.arriving == 100000 && s.share_arriving == 100000);
    agent_release(n.a, 0, 300000);
    ck_assert_uint_eq(fill(&n, 1, 1000), 300000);
    agent_release(n.a, 0, 500000);
    agent_release(n.a, 1, 400000);
    agent_release(n.a, AGENT_OWN, 100000);
    ck_assert_uint_eq(arriving(&n), 0);
    binder_fini(&n);
}
END_TEST

START_TEST(bundles_and_what_arrives_have_one_limit)
{
    struct binder n;
    struct agent_config c = arriving_config();
    c.total_bytes = 100000;
    c.reserve_percent = 0;
    relay_init(&n, &c);
    const uint64_t taken = fill(&n, 0, 100);
    ck_assert_uint_eq(taken, 100000);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_FULL);
    skip(&n);
    agent_release(n.a, 0, 5000);
    ck_assert_int_eq(link_receive(&n, 0, &b, 8), REFUSE_NONE);
    const struct agent_counters *k = agent_counters(n.a);
    ck_assert(!agent_reserve(n.a, 0, 5000)); /* the bundle is there */
    ck_assert_uint_le(k->memory_bytes + k->record_bytes + k->arriving_bytes, 100000);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* A bundle that waits keeps its room, although something else has taken it meanwhile. */
START_TEST(what_was_released_is_reserved_again)
{
    struct binder n;
    struct agent_config c = arriving_config();
    relay_init(&n, &c);
    const uint64_t first = fill(&n, 0, 1000);
    agent_release(n.a, 0, 200000);
    const uint64_t second = fill(&n, 1, 1000);
    ck_assert(!agent_reserve(n.a, 0, 200000));
    agent_reserve_again(n.a, 0, 200000);
    ck_assert_uint_eq(arriving(&n), first + second);
    ck_assert_uint_gt(arriving(&n), 1000000);
    agent_release(n.a, 0, first);
    agent_release(n.a, 1, second);
    ck_assert_uint_eq(arriving(&n), 0);
    binder_fini(&n);
}
END_TEST

START_TEST(without_a_store)
{
    struct binder n;
    struct agent_config c = arriving_config();
    c.total_bytes = 0;
    c.memory_only = true;
    c.held_bytes = 50000;
    c.reserve_percent = 0;
    relay_init(&n, &c);
    ck_assert_uint_eq(fill(&n, 0, 1000), 50000);
    binder_fini(&n);
}
END_TEST

START_TEST(a_link_that_goes_releases_all)
{
    struct binder n;
    struct agent_config c = arriving_config();
    relay_init(&n, &c);
    ck_assert(agent_reserve(n.a, 0, 5000));
    ck_assert(agent_reserve(n.a, 1, 70));
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    ck_assert_uint_eq(arriving(&n), 70);
    ck_assert(!agent_reserve(n.a, 0, 1));
    agent_release(n.a, 0, 5000); /* its adapter, afterwards */
    ck_assert_uint_eq(arriving(&n), 70);
    ck_assert(!agent_reserve(n.a, 77, 1));
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_arriving, t)
{
    tcase_add_test(t, a_neighbour_leaves_the_others_their_shares);
    tcase_add_test(t, bundles_and_what_arrives_have_one_limit);
    tcase_add_test(t, what_was_released_is_reserved_again);
    tcase_add_test(t, without_a_store);
    tcase_add_test(t, a_link_that_goes_releases_all);
}
