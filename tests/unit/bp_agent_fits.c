/* SPDX-License-Identifier: Apache-2.0 */
/* The medium of the store has room for less than held_bytes: limit and shares are parts of that, as
 * long as it lasts; what is here stays. */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

static enum agent_refusal take_one(struct binder *n, uint32_t link, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", sequence);
    b.lifetime_ms = UINT64_MAX;
    enum agent_refusal r = link_receive(n, link, &b, sequence);
    skip(n);
    agent_check(n->a);
    return r;
}

/* So many bytes are taken until a bundle is refused. */
static uint64_t flood(struct binder *n, uint32_t link, uint64_t first)
{
    const uint64_t before = agent_counters(n->a)->bytes;
    while (take_one(n, link, first) == REFUSE_NONE)
        first++;
    return agent_counters(n->a)->bytes - before;
}

static void start_relay(struct binder *n, struct agent_config *c)
{
    *c = config_of("ipn:2.0");
    c->held_bytes = 20000;
    c->reserve_percent = 30; /* a tenth for each of two links and the applications */
    relay_init(n, c);
}

START_TEST(shares_are_parts_of_the_room)
{
    struct binder n;
    struct agent_config c;
    struct agent_share s;
    start_relay(&n, &c);
    agent_fits(n.a, 10000);
    agent_check(n.a);
    agent_share(n.a, 0, &s);
    ck_assert_uint_eq(s.share_bytes, 1000);
    const uint64_t first = flood(&n, 0, 1), second = flood(&n, 1, 10000);
    ck_assert(first > 7800 && first <= 8000);
    ck_assert(second > 800 && second <= 1200);
    binder_fini(&n);
}
END_TEST

START_TEST(less_room_loses_nothing_and_more_is_used)
{
    struct binder n;
    struct agent_config c;
    struct agent_share s;
    start_relay(&n, &c);
    const uint64_t held = flood(&n, 0, 1);
    ck_assert(held > 15700 && held <= 16000);
    agent_fits(n.a, 4000); /* another program filled the medium */
    agent_check(n.a);
    ck_assert_uint_eq(agent_counters(n.a)->bytes, held);
    ck_assert_int_eq(take_one(&n, 1, 10000), REFUSE_FULL);
    ck_assert_int_eq(agent_shortage(n.a)->limit, AGENT_LIMIT_BYTES);
    ck_assert_uint_eq(agent_shortage(n.a)->most, 4000);
    agent_fits(n.a, 0);
    agent_check(n.a);
    ck_assert_int_eq(take_one(&n, 1, 10000), REFUSE_FULL);
    agent_fits(n.a, 18000);
    ck_assert_int_eq(take_one(&n, 1, 10000), REFUSE_NONE);
    agent_fits(n.a, UINT64_MAX); /* what is configured stays the most */
    agent_share(n.a, 1, &s);
    ck_assert_uint_eq(s.share_bytes, 2000);
    ck_assert_uint_le(agent_counters(n.a)->bytes + flood(&n, 1, 10001), 20000);
    ck_assert_uint_gt(agent_counters(n.a)->bytes, 17600);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_fits, t)
{
    tcase_add_test(t, shares_are_parts_of_the_room);
    tcase_add_test(t, less_room_loses_nothing_and_more_is_used);
}
