/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may wait for one link: its own limits, and what is set apart for each, so that no queue
 * keeps out what is for another. Links 0 and 1 lead to 1 and 3; both are down, so that what comes
 * stays.
 */
#include "tests/unit/bp_agent_help.h"
#include "tests/unit/suite.h"

static struct agent_config bound_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 100;
    c.keep_unreachable = true;
    c.queue_percent = 20; /* 5 for each of two links, for endpoints here, and for what has no way */
    return c;
}

static void bound_init(struct binder *n, const struct agent_config *c)
{
    relay_init(n, c);
    agent_link(n->a, 0, false, n->now);
    agent_link(n->a, 1, false, n->now);
    skip(n);
}

static enum agent_refusal offer(struct binder *n, uint32_t link, const char *to, uint64_t sequence)
{
    struct bundle b = peer_bundle("ipn:9.4", to, sequence);
    b.lifetime_ms = UINT64_MAX;
    return link_receive(n, link, &b, sequence);
}

/* So many are taken until the first is refused; why. */
static uint64_t fill(struct binder *n, uint32_t link, const char *to, enum agent_refusal *why)
{
    static uint64_t sequence = 1;
    uint64_t taken = 0;
    while ((*why = offer(n, link, to, sequence++)) == REFUSE_NONE) {
        skip(n);
        taken++;
    }
    skip(n);
    return taken;
}

static uint64_t send_all(struct binder *n, const char *to, enum agent_refusal *why)
{
    struct agent_request q = request_of("ipn:2.7", to, 5);
    uint64_t taken = 0;
    while ((*why = app_send(n, &q, "x")) == REFUSE_NONE) {
        skip(n);
        taken++;
    }
    return taken;
}

static struct agent_bound bound_of(const struct binder *n, uint32_t link)
{
    struct agent_bound b;
    ck_assert(agent_bound(n->a, link, &b));
    return b;
}

static void limit_link(struct binder *n, uint32_t link, uint64_t bundles, uint64_t bytes)
{
    const struct agent_service s = {.bundles_max = bundles, .bytes_max = bytes};
    ck_assert_int_eq(agent_link_service(n->a, link, &s), 0);
}

START_TEST(a_link_has_its_limit)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    enum agent_refusal why;
    bound_init(&n, &c);
    limit_link(&n, 1, 7, 0);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 7);
    ck_assert_int_eq(why, REFUSE_QUEUE);
    ck_assert(n.last.keep); /* the neighbour has it still */
    ck_assert_uint_eq(send_all(&n, "ipn:3.5", &why), 0);
    ck_assert_int_eq(why, REFUSE_QUEUE);
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_QUEUE], 2);
    ck_assert_uint_eq(bound_of(&n, 1).refused, 2);
    ck_assert_uint_eq(bound_of(&n, 0).refused, 0);
    ck_assert_int_eq(offer(&n, 1, "ipn:1.5", 9000), REFUSE_NONE); /* the other way is free */
    skip(&n);
    /* What is on the link is part of it, until the neighbour has it. */
    agent_link(n.a, 1, true, n.now);
    skip(&n);
    ck_assert_int_eq(offer(&n, 0, "ipn:3.5", 9001), REFUSE_QUEUE);
    skip(&n);
    agent_sent(n.a, 1, true, n.now);
    skip(&n);
    ck_assert_int_eq(offer(&n, 0, "ipn:3.5", 9002), REFUSE_NONE);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* A burst that the store has not written yet counts. */
START_TEST(what_is_being_stored_counts)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    bound_init(&n, &c);
    limit_link(&n, 1, 3, 0);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(offer(&n, 0, "ipn:3.5", i), REFUSE_NONE);
    ck_assert_int_eq(offer(&n, 0, "ipn:3.5", 3), REFUSE_QUEUE);
    n.store_fails = true;
    skip(&n); /* it takes none of them */
    n.store_fails = false;
    ck_assert_int_eq(offer(&n, 0, "ipn:3.5", 4), REFUSE_NONE);
    skip(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(bytes_are_limited)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    enum agent_refusal why;
    bound_init(&n, &c);
    limit_link(&n, 1, 0, 1000);
    const uint64_t taken = fill(&n, 0, "ipn:3.5", &why);
    ck_assert_int_eq(why, REFUSE_QUEUE);
    ck_assert(taken > 3 && agent_counters(n.a)->bytes <= 1000);
    limit_link(&n, 0, 0, 10); /* a bundle alone is taken */
    ck_assert_int_eq(offer(&n, 1, "ipn:1.5", 9000), REFUSE_NONE);
    ck_assert_int_eq(offer(&n, 1, "ipn:1.5", 9001), REFUSE_QUEUE);
    skip(&n);
    binder_fini(&n);
}
END_TEST

START_TEST(no_queue_starves_another)
{
    struct binder n;
    struct agent_config c = bound_config();
    enum agent_refusal why;
    bound_init(&n, &c);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 85); /* all that is for everybody, and 5 */
    ck_assert_int_eq(why, REFUSE_FULL);
    ck_assert_uint_eq(bound_of(&n, 1).apart_bundles, 5);
    ck_assert_uint_eq(send_all(&n, "ipn:3.5", &why), 0);
    ck_assert_uint_eq(send_all(&n, "ipn:1.5", &why), 5); /* the same who can send no more to 3 */
    ck_assert_uint_eq(fill(&n, 1, "ipn:1.5", &why), 0);
    ck_assert_uint_eq(fill(&n, 1, "ipn:2.8", &why), 5);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 95); /* the rest is for what has no way */
    /* What goes makes room where it was counted. */
    agent_link(n.a, 0, true, n.now);
    skip(&n);
    agent_sent(n.a, 86, true, n.now);
    skip(&n);
    ck_assert_uint_eq(bound_of(&n, 0).apart_bundles, 4);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 0);
    ck_assert_uint_eq(fill(&n, 1, "ipn:1.6", &why), 1);
    binder_fini(&n);
}
END_TEST

/* Beside the shares of peers: what they do not let in, the way's own part does. */
START_TEST(with_shares_of_peers)
{
    struct binder n;
    struct agent_config c = bound_config();
    enum agent_refusal why;
    c.reserve_percent = 30; /* of 80: 8 for each of two peers and the applications */
    bound_init(&n, &c);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 64 + 5);
    ck_assert_int_eq(why, REFUSE_QUOTA);
    ck_assert_uint_eq(fill(&n, 0, "ipn:1.5", &why), 5);
    ck_assert_uint_eq(fill(&n, 1, "ipn:1.5", &why), 8);
    ck_assert_uint_eq(send_all(&n, "ipn:3.5", &why), 8);
    binder_fini(&n);
}
END_TEST

START_TEST(bytes_are_set_apart)
{
    struct binder n;
    struct agent_config c = bound_config();
    enum agent_refusal why;
    c.held_bundles = 0;
    c.held_bytes = 10000; /* 500 for each way */
    bound_init(&n, &c);
    fill(&n, 0, "ipn:3.5", &why);
    const uint64_t first = agent_counters(n.a)->bytes;
    ck_assert(first > 8200 && first <= 8500);
    fill(&n, 0, "ipn:1.5", &why);
    const uint64_t second = agent_counters(n.a)->bytes - first;
    ck_assert(second > 300 && second <= 600); /* and what the first was too long for */
    binder_fini(&n);
}
END_TEST

/* Its bundles count for nobody's part then; a restart counts them with all others. */
START_TEST(links_go_and_nodes_restart)
{
    struct binder n;
    struct agent_config c = bound_config();
    enum agent_refusal why;
    bound_init(&n, &c);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 85);
    ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    skip(&n);
    struct eid three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_add(n.a, 1, &three, 2), 0);
    agent_expire(n.a, n.now);
    skip(&n);
    ck_assert_uint_eq(bound_of(&n, 1).apart_bundles, 0);
    ck_assert_uint_eq(fill(&n, 0, "ipn:1.5", &why), 5);
    binder_restart(&n, &c);
    agent_expire(n.a, n.now);
    skip(&n);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 90);
    relay_ways(&n);
    skip(&n);
    ck_assert_uint_eq(bound_of(&n, 0).apart_bundles, 0);
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_FULL], 0);
    ck_assert_uint_le(fill(&n, 0, "ipn:1.5", &why), 5);
    ck_assert_uint_le(agent_counters(n.a)->bundles, 100);
    binder_fini(&n);
}
END_TEST

/* An accepted bundle that comes to a full queue from elsewhere stays accepted. */
START_TEST(what_was_accepted_waits)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    enum agent_refusal why;
    struct eid_pattern p;
    bound_init(&n, &c);
    limit_link(&n, 1, 2, 0);
    ck_assert_uint_eq(fill(&n, 0, "ipn:3.5", &why), 2);
    ck_assert_int_eq(offer(&n, 1, "ipn:1.5", 9000), REFUSE_NONE);
    skip(&n);
    ck_assert_int_eq(eid_pattern_parse("ipn:1.*", &p), 0);
    ck_assert_int_eq(agent_route_add(n.a, &p, 1), 0);
    ck_assert_int_eq(agent_route_remove(n.a, &p, 0), 0);
    agent_expire(n.a, n.now);
    skip(&n);
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(n.a, 1, b));
    ck_assert_uint_eq(b[BUNDLE_NORMAL].bundles, 3);
    binder_fini(&n);
}
END_TEST

SUITE(bp_agent_bound, t)
{
    tcase_add_test(t, a_link_has_its_limit);
    tcase_add_test(t, what_is_being_stored_counts);
    tcase_add_test(t, bytes_are_limited);
    tcase_add_test(t, no_queue_starves_another);
    tcase_add_test(t, with_shares_of_peers);
    tcase_add_test(t, bytes_are_set_apart);
    tcase_add_test(t, links_go_and_nodes_restart);
    tcase_add_test(t, what_was_accepted_waits);
}
