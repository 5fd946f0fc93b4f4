/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles that came in fragments wait for agent_verify: when, for whom, and what may end meanwhile.
 */
#include "bp_agent_piece.h"

#include "bp/codec/security/security_policy.h"
#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"

#define HALF 10

static struct crypto crypto;
static struct security_ring ring;
static struct security_policy *policy;

static void setup(void)
{
    const struct eid node = eid_of("ipn:2.0");
    ck_assert(crypto_open(&crypto));
    memset(&ring, 0, sizeof ring);
    ck_assert_int_eq(security_policy_new(&policy, &node, &crypto, &ring), 0);
}

static void teardown(void)
{
    security_policy_free(policy);
    crypto_close(&crypto);
}

/* All bundles have to be signed, and none is; passes: that is counted only. */
static void open_node(struct binder *n, bool passes)
{
    struct security_rule r = {.role = SECURITY_ROLE_ACCEPTOR,
                              .target = BLOCK_PAYLOAD,
                              .type = SECURITY_BIB,
                              .scope = SECURITY_SCOPE_ALL,
                              .dry_run = passes};
    const char *why;
    ck_assert_int_eq(eid_patterns_read("*", &r.from, &why), 0);
    ck_assert_int_eq(eid_patterns_read("*", &r.to, &why), 0);
    ck_assert_int_eq(security_policy_set(policy, &r, 1), 0);
    start(n);
    agent_security(n->a, policy);
    n->verify_waits = true;
}

/* Half of a bundle, by a link. */
static void half(struct binder *n, uint32_t link, uint64_t sequence, size_t at)
{
    const struct bundle b = piece_of(TEXT, sequence, at, at + HALF);
    ck_assert_int_eq(link_receive(n, link, &b, at), REFUSE_NONE);
    drain(n);
}

static bool was_delivered(const struct binder *n)
{
    return strstr(n->trace, "deliver") != NULL;
}

static uint64_t verified_bundles(void)
{
    const struct security_counters *c = security_policy_counters(policy);
    return c->failed[SECURITY_REASON_MISSING];
}

/* Nothing is verified within another call. The link that brought the first fragment has to pay,
 * whichever completed the bundle: it has the security blocks. */
START_TEST(who_brought_the_first_fragment)
{
    struct binder n;
    open_node(&n, true);
    listen(&n, 1);
    ck_assert(!verify_next(&n));
    half(&n, 0, 1, _i == 0 ? 0 : HALF);
    half(&n, 1, 1, _i == 0 ? HALF : 0);
    ck_assert(!was_delivered(&n));
    ck_assert_uint_eq(verified_bundles(), 0);
    ck_assert(verify_next(&n));
    ck_assert_uint_eq(verified_bundles(), 1);
    ck_assert(n.verified.passed);
    ck_assert_int_eq(n.verified.link, _i);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 1);
    b.payload = slice_of(TEXT, 2 * HALF);
    struct buf *whole = bundle_encode_copy(&b);
    ck_assert_uint_eq(n.verified.bytes, whole->len);
    buf_drop(whole);
    ck_assert(!verify_next(&n));
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "to 9: " TEXT));
    agent_delivered(n.a, n.last.key, true, n.now);
    skip(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

/* 0: after a restart a link to the same peer has to pay; 1: that one is gone, too. */
START_TEST(whose_link_is_not_known)
{
    struct binder n;
    const struct agent_config c = config_of("ipn:2.0");
    open_node(&n, true);
    half(&n, 1, 1, 0);
    half(&n, 0, 1, HALF);
    binder_restart(&n, &c);
    relay_ways(&n);
    agent_security(n.a, policy);
    if (_i == 1)
        ck_assert_int_eq(agent_link_remove(n.a, 1, n.now), 0);
    listen(&n, 1);
    drain(&n);
    ck_assert(verify_next(&n));
    ck_assert_int_eq(n.verified.link, _i == 0 ? 1 : -1);
    drain(&n);
    ck_assert(was_delivered(&n));
    binder_fini(&n);
}
END_TEST

/* A peer that connects anew has another link, which may have another index. */
START_TEST(who_comes_back_pays)
{
    struct binder n;
    const struct eid one = eid_of("ipn:1.0");
    open_node(&n, false);
    listen(&n, 1);
    half(&n, 0, 1, 0);
    half(&n, 0, 1, HALF);
    ck_assert_int_eq(agent_link_remove(n.a, 0, n.now), 0);
    ck_assert_int_eq(agent_link_add(n.a, 7, &one, 2), 0);
    drain(&n);
    ck_assert(verify_next(&n));
    ck_assert_int_eq(n.verified.link, 7);
    ck_assert(!n.verified.passed);
    skip(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

/* 0: its lifetime ends; 1: an operator deletes it; 2: its application goes; 3: no rule is for it
 * any more. */
START_TEST(meanwhile)
{
    struct binder n;
    open_node(&n, true);
    listen(&n, 1);
    half(&n, 0, 1, 0);
    half(&n, 0, 1, HALF);
    if (_i == 0)
        pass(&n, 61 * TICK_S);
    else if (_i == 1)
        ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
    else if (_i == 2)
        agent_unregister(n.a, 9, n.now);
    else
        ck_assert_int_eq(security_policy_set(policy, NULL, 0), 0);
    agent_check(n.a);
    drain(&n);
    ck_assert(!was_delivered(&n));
    ck_assert(verify_next(&n) == (_i > 1));
    ck_assert_uint_eq(verified_bundles(), _i == 2);
    drain(&n);
    ck_assert(was_delivered(&n) == (_i == 3));
    if (_i == 2)
        listen(&n, 1);
    drain(&n);
    ck_assert(was_delivered(&n) == (_i > 1));
    if (_i > 1)
        agent_delivered(n.a, n.last.key, true, n.now);
    skip(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

/* A bundle that came whole does not wait for those that are to be verified, though the window of
 * their endpoint is 1; and an answer to a delivery that was not made changes nothing. */
START_TEST(others_do_not_wait)
{
    struct binder n;
    open_node(&n, true);
    listen(&n, 1);
    for (uint64_t k = 1; k <= 2; k++) {
        half(&n, 0, k, 0);
        half(&n, 0, k, HALF);
    }
    for (uint64_t key = 1; key < 10; key++)
        agent_delivered(n.a, key, true, n.now);
    ck_assert_uint_eq(agent_counters(n.a)->delivered, 0);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.5", 3);
    ck_assert_int_eq(link_receive(&n, 1, &b, 3), REFUSE_NONE);
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "to 9: data"));
    ck_assert(verify_next(&n) && verify_next(&n));
    for (unsigned k = 1; k <= 3; k++) {
        drain(&n);
        agent_delivered(n.a, n.last.key, true, n.now);
        drain(&n);
        ck_assert_uint_eq(agent_counters(n.a)->delivered, k);
    }
    skip(&n);
    nothing_left(&n);
    binder_fini(&n);
}
END_TEST

/* Those of one peer take turns with those of another one. */
START_TEST(peers_take_turns)
{
    enum { FLOOD = 6 };
    struct binder n;
    open_node(&n, false);
    listen(&n, 1);
    for (uint64_t k = 1; k <= FLOOD; k++) {
        half(&n, 0, k, 0);
        half(&n, 0, k, HALF);
    }
    half(&n, 1, FLOOD + 1, 0);
    half(&n, 1, FLOOD + 1, HALF);
    unsigned before = 0;
    while (verify_next(&n) && n.verified.link == 0)
        before++;
    ck_assert_int_eq(n.verified.link, 1);
    ck_assert_uint_le(before, FLOOD / 2);
    skip(&n);
    binder_fini(&n);
}
END_TEST

/* One verification, however many applications get the bundle. */
START_TEST(for_all)
{
    struct binder n;
    struct eid_pattern p;
    const struct eid here = eid_of("ipn:2.5");
    open_node(&n, true);
    ck_assert_int_eq(eid_pattern_parse("ipn:2.5", &p), 0);
    ck_assert_int_eq(agent_share_endpoints(n.a, &p, AGENT_SHARE_ALL), 0);
    for (uint64_t reg = 9; reg < 12; reg++)
        ck_assert_int_eq(agent_register(n.a, reg, &here, 1, n.now), 0);
    half(&n, 0, 1, 0);
    half(&n, 0, 1, HALF);
    ck_assert(verify_next(&n));
    drain(&n);
    ck_assert_ptr_nonnull(strstr(n.trace, "to 9: " TEXT));
    ck_assert_ptr_nonnull(strstr(n.trace, "to 10: " TEXT));
    ck_assert_ptr_nonnull(strstr(n.trace, "to 11: " TEXT));
    ck_assert(!verify_next(&n));
    ck_assert_uint_eq(verified_bundles(), 1);
    binder_fini(&n);
}
END_TEST

/* Administrative records in fragments, too, and fragments of a group's bundle that go on. */
START_TEST(for_the_node_and_for_groups)
{
    struct binder n;
    const struct eid group = eid_of("imc:5.1");
    open_node(&n, true);
    if (_i == 1)
        ck_assert_int_eq(agent_register(n.a, 9, &group, 1, n.now), 0);
    for (size_t at = 0; at < 2 * HALF; at += HALF) {
        struct bundle b = piece_of(TEXT, 1, at, at + HALF);
        b.destination = _i == 1 ? group : eid_of("ipn:2.0");
        b.flags |= _i == 0 ? BUNDLE_IS_ADMIN : 0;
        ck_assert_int_eq(link_receive(&n, 0, &b, at), REFUSE_NONE);
        drain(&n);
    }
    ck_assert(!was_delivered(&n));
    ck_assert_uint_eq(agent_counters(n.a)->records_ignored, 0);
    ck_assert(verify_next(&n));
    ck_assert_int_eq(n.verified.link, 0);
    drain(&n);
    ck_assert(was_delivered(&n) == (_i == 1));
    ck_assert_uint_eq(agent_counters(n.a)->records_ignored, _i == 0);
    binder_fini(&n);
}
END_TEST

SUITE(bp_security_whole, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, who_brought_the_first_fragment, 0, 2);
    tcase_add_loop_test(t, whose_link_is_not_known, 0, 2);
    tcase_add_test(t, who_comes_back_pays);
    tcase_add_loop_test(t, meanwhile, 0, 4);
    tcase_add_test(t, others_do_not_wait);
    tcase_add_test(t, peers_take_turns);
    tcase_add_test(t, for_all);
    tcase_add_loop_test(t, for_the_node_and_for_groups, 0, 2);
}
