/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent with a contact plan as its router, and unconfigured peers that connect and leave: how
 * often the router is asked for bundles that are queued or wait for others. Peers that have gone
 * share one turn, also in the volume of a contact.
 */
#include "bp_agent_help.h"
#include "route/plan_router.h"
#include "tests/unit/suite.h"

#define MBIT UINT64_C(1000000)
#define S(n) ((n)*TICK_S)
#define EACH 200 /* queued bundles for each destination */
#define PASSER 4 /* link of the peer that comes and goes */

struct scene {
    struct binder n;
    struct plan *plan;
    struct plan_router *router;
};

static void add_contact(struct scene *s, uint64_t to, tick start, tick end)
{
    const struct plan_contact c = {2, to, start, end, 8 * MBIT, 1};
    const struct plan_range r = {2, to, start, end, TICK_MS, false};
    uint64_t id;
    ck_assert_int_eq(plan_add(s->plan, &c, &id), 0);
    ck_assert_int_eq(plan_add_range(s->plan, &r), 0);
}

/* In the order in which a node does it. */
static void come(struct scene *s, uint32_t link, uint64_t number)
{
    const struct eid peer = eid_ipn(0, number, 0);
    char text[32];
    struct eid_pattern p;
    snprintf(text, sizeof text, "ipn:%llu.*", (unsigned long long)number);
    ck_assert_int_eq(agent_link_add(s->n.a, link, &peer, 2), 0);
    agent_link_limit(s->n.a, link, 1000000, s->n.now);
    ck_assert_int_eq(plan_router_link(s->router, link, number), 0);
    ck_assert_int_eq(eid_pattern_parse(text, &p), 0);
    ck_assert_int_eq(agent_route_add(s->n.a, &p, link), 0);
}

static void go(struct scene *s, uint32_t link)
{
    plan_router_unlink(s->router, link);
    ck_assert_int_eq(agent_link_remove(s->n.a, link, s->n.now), 0);
}

/* Questions pause for some time. */
static void settle(struct scene *s)
{
    tick due;
    for (unsigned calls = 0; (due = agent_deadline(s->n.a)) < s->n.now.now + TICK_S / 4; calls++) {
        pass(&s->n, due > s->n.now.now ? due - s->n.now.now : 0);
        ck_assert_uint_lt(calls, 10000);
    }
    skip(&s->n);
}

/* Links to 1 and 7, which the plan does not have; to 3, with a contact now (10 MB); to 5, with one
 * later. Those to 1 and 3 are up. */
static void begin(struct scene *s)
{
    struct agent_config c = config_of("ipn:2.0");
    struct plan_config config;
    plan_config_default(&config);
    config.margin = false;
    config.overhead_ppm = config.overhead_min = 0;
    config.seed = 7;
    binder_init(&s->n, &c);
    ck_assert_int_eq(plan_new(&s->plan, &config), 0);
    add_contact(s, 3, 0, S(11));
    add_contact(s, 5, S(1000), S(1010));
    const struct router routes = agent_routes(s->n.a);
    ck_assert_int_eq(plan_router_new(&s->router, s->plan, 2, &routes, s->n.now.now), 0);
    const struct router router = plan_router(s->router);
    agent_router(s->n.a, &router);
    static const uint64_t peers[] = {1, 3, 5, 7};
    for (uint32_t i = 0; i < 4; i++)
        come(s, i, peers[i]);
    agent_link(s->n.a, 0, true, s->n.now);
    agent_link(s->n.a, 1, true, s->n.now);
    settle(s);
}

static void end(struct scene *s)
{
    agent_check(s->n.a);
    plan_check(s->plan);
    binder_fini(&s->n);
    plan_router_free(s->router);
    plan_free(s->plan);
}

static void bring(struct scene *s, uint32_t link, const char *to, uint64_t sequence, size_t len,
                  uint64_t flags)
{
    static const uint8_t octets[40000];
    struct bundle b = peer_bundle("ipn:66.1", to, sequence);
    b.lifetime_ms = 3600000;
    b.flags |= flags;
    b.payload = slice_of(octets, len);
    ck_assert_int_eq(link_receive(&s->n, link, &b, sequence), REFUSE_NONE);
    skip(&s->n);
}

static uint64_t count_queued(const struct scene *s, uint32_t link)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    ck_assert(agent_backlog(s->n.a, link, b));
    return b[BUNDLE_BULK].bundles + b[BUNDLE_NORMAL].bundles + b[BUNDLE_EXPEDITED].bundles;
}

static uint64_t count_asked(const struct scene *s)
{
    struct plan_router_totals t;
    plan_router_totals(s->router, &t);
    uint64_t n = t.others;
    for (int i = 0; i <= PLAN_TOO_LONG; i++)
        n += t.answers[i];
    return n;
}

/* Bundles for 3 and 7 are queued, those for 5 wait for its contact. */
static void fill(struct scene *s)
{
    for (uint64_t i = 0; i < EACH; i++) {
        bring(s, 0, "ipn:3.1", i, 4, 0);
        bring(s, 0, "ipn:5.1", EACH + i, 4, 0);
        bring(s, 0, "ipn:7.1", 2 * EACH + i, 4, 0);
    }
    settle(s);
    ck_assert_uint_eq(count_queued(s, 1), EACH);
    ck_assert_uint_eq(count_queued(s, 3), EACH);
}

/* At most the few at the heads of queues that the plan does not have are asked for. */
START_TEST(a_peer_without_a_contact_changes_no_answer)
{
    struct scene s;
    struct plan_totals before, after;
    begin(&s);
    fill(&s);
    plan_totals(s.plan, &before);
    const uint64_t asked = count_asked(&s), changes = 5, heads = 4;
    const uint64_t peers = 20;
    for (uint64_t i = 0; i < peers; i++) {
        come(&s, PASSER, 1000 + i);
        settle(&s);
        agent_link(s.n.a, PASSER, true, s.n.now);
        settle(&s);
        agent_link_limit(s.n.a, PASSER, 500 + i, s.n.now);
        settle(&s);
        agent_link(s.n.a, PASSER, false, s.n.now);
        settle(&s);
        go(&s, PASSER);
        settle(&s);
        pass(&s.n, 2 * TICK_MS);
        settle(&s);
    }
    ck_assert_uint_le(count_asked(&s) - asked, peers * changes * heads);
    plan_totals(s.plan, &after);
    ck_assert_uint_eq(after.hits + after.misses, before.hits + before.misses);
    bring(&s, 0, "ipn:3.1", 3 * EACH, 4, 0); /* the plan's cache is still there */
    plan_totals(s.plan, &after);
    ck_assert_uint_eq(after.misses, before.misses);
    end(&s);
}
END_TEST

/* The link to a neighbour with a contact ends and begins, quickly: nothing was sent elsewhere. */
START_TEST(a_short_outage_changes_no_answer)
{
    struct scene s;
    begin(&s);
    fill(&s);
    const uint64_t asked = count_asked(&s), changes = 20, heads = 8;
    for (uint64_t i = 0; i < changes; i++) {
        agent_link(s.n.a, 2, i % 2 == 0, s.n.now);
        settle(&s);
    }
    /* Once: it was not up before. */
    ck_assert_uint_le(count_asked(&s) - asked, 3 * EACH + changes * heads);
    ck_assert_uint_eq(count_queued(&s, 1), EACH);
    end(&s);
}
END_TEST

/* A route of an unconfigured peer is for its own bundles. */
START_TEST(a_peer_gets_what_waits_for_it)
{
    struct scene s;
    begin(&s);
    fill(&s);
    for (uint64_t i = 0; i < 5; i++)
        bring(&s, 0, "ipn:7.1", 10 * EACH + i, 4, BUNDLE_NO_FRAGMENT);
    come(&s, PASSER, 7);
    agent_link(s.n.a, PASSER, true, s.n.now);
    const uint64_t asked = count_asked(&s);
    settle(&s);
    ck_assert_uint_eq(count_queued(&s, PASSER), EACH + 5);
    ck_assert_uint_le(count_asked(&s) - asked, EACH + 20);
    go(&s, PASSER);
    settle(&s);
    ck_assert_uint_eq(count_queued(&s, 3), EACH + 5);
    ck_assert_uint_eq(count_queued(&s, 1), EACH);
    end(&s);
}
END_TEST

/* Another length limit of a link with a contact concerns long bundles that must stay whole, and the
 * few at the heads of queues. */
START_TEST(a_limit_concerns_longer_bundles)
{
    struct scene s;
    begin(&s);
    fill(&s);
    for (uint64_t i = 0; i < 10; i++)
        bring(&s, 0, "ipn:3.1", 10 * EACH + i, 20000, BUNDLE_NO_FRAGMENT);
    ck_assert_uint_eq(count_queued(&s, 1), EACH + 10);
    const uint64_t asked = count_asked(&s);
    agent_link_limit(s.n.a, 1, 10000, s.n.now);
    settle(&s);
    ck_assert_uint_eq(count_queued(&s, 1), EACH);
    agent_link_limit(s.n.a, 1, 1000000, s.n.now);
    settle(&s);
    ck_assert_uint_eq(count_queued(&s, 1), EACH + 10);
    ck_assert_uint_le(count_asked(&s) - asked, 2 * (2 * 10 + 2 * 4));
    end(&s);
}
END_TEST

/* Their bundles fill the contact of 10 MB. A neighbour whose link is there has half of it. */
START_TEST(peers_that_have_gone_have_one_turn_at_a_contact)
{
    struct scene s;
    begin(&s);
    uint64_t sequence = 0;
    for (; sequence < 400; sequence++) {
        come(&s, PASSER, 1000 + sequence);
        bring(&s, PASSER, "ipn:3.1", sequence, 40000, 0);
        go(&s, PASSER);
        settle(&s);
    }
    const uint64_t full = count_queued(&s, 1);
    ck_assert_uint_ge(full, 240); /* those that were there at first have places of the others */
    for (; sequence < 500; sequence++)
        bring(&s, 0, "ipn:3.1", sequence, 40000, 0);
    settle(&s);
    ck_assert_uint_ge(count_queued(&s, 1), full + 99);
    end(&s);
}
END_TEST

SUITE(tools_plan_peers, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_peer_without_a_contact_changes_no_answer);
    tcase_add_test(t, a_short_outage_changes_no_answer);
    tcase_add_test(t, a_peer_gets_what_waits_for_it);
    tcase_add_test(t, a_limit_concerns_longer_bundles);
    tcase_add_test(t, peers_that_have_gone_have_one_turn_at_a_contact);
}
