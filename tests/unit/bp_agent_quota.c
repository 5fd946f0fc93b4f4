/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may hold how much: a peer that takes all it can get leaves the others and the applications
 * their shares, of bundles, bytes, assemblies and fragments, also after a restart; no source has
 * more than its part; no lifetime is longer than the node allows; the assembly that has not grown
 * for longest gives way.
 */
#include "bp_agent_piece.h"

/* Reports would be bundles of the node's own. */
static struct agent_config quota_config(void)
{
    struct agent_config c = config_of("ipn:2.0");
    c.held_bundles = 100;
    c.reserve_percent = 30; /* 10 for each of two links and the applications */
    return c;
}

static enum agent_refusal take_one(struct binder *n, uint32_t link, const char *from,
                                   uint64_t sequence)
{
    struct bundle b = peer_bundle(from, "ipn:2.8", sequence);
    b.lifetime_ms = UINT64_MAX;
    enum agent_refusal r = link_receive(n, link, &b, sequence);
    skip(n);
    return r;
}

/* So many are taken until the first is refused. */
static uint64_t flood(struct binder *n, uint32_t link, uint64_t first)
{
    uint64_t taken = 0;
    while (take_one(n, link, "ipn:1.4", first + taken) == REFUSE_NONE)
        taken++;
    return taken;
}

static uint64_t app_flood(struct binder *n)
{
    struct agent_request q = request_of("ipn:2.7", "ipn:2.8", 5);
    uint64_t taken = 0;
    while (app_send(n, &q, "x") == REFUSE_NONE) {
        skip(n);
        taken++;
    }
    return taken;
}

static void add_links(struct binder *n)
{
    struct eid one = eid_of("ipn:1.0"), three = eid_of("ipn:3.0");
    ck_assert_int_eq(agent_link_add(n->a, 0, &one, 2), 0);
    ck_assert_int_eq(agent_link_add(n->a, 1, &three, 2), 0);
    agent_expire(n->a, n->now);
    agent_check(n->a);
}

START_TEST(a_flood_leaves_the_others_their_shares)
{
    struct binder n;
    struct agent_config c = quota_config();
    relay_init(&n, &c);
    ck_assert_uint_eq(flood(&n, 0, 1), 80); /* its share, and all that is for who comes first */
    ck_assert_uint_eq(agent_counters(n.a)->refused[REFUSE_QUOTA], 1);
    ck_assert_uint_eq(flood(&n, 1, 1000), 10);
    ck_assert_uint_eq(app_flood(&n), 10);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 100);
    struct agent_share s;
    agent_share(n.a, 0, &s);
    ck_assert(s.bundles == 80 && s.share_bundles == 10);
    agent_share(n.a, AGENT_OWN, &s);
    ck_assert(s.bundles == 10 && s.share_bundles == 10);

    binder_restart(&n, &c); /* it is known whose they are */
    agent_expire(n.a, n.now);
    add_links(&n);
    skip(&n);
    agent_share(n.a, 0, &s);
    ck_assert_uint_eq(s.bundles, 80);
    ck_assert_int_eq(agent_delete(n.a, 81, n.now), 0); /* the other link's first */
    skip(&n);
    ck_assert_int_eq(take_one(&n, 0, "ipn:1.4", 5000), REFUSE_QUOTA);
    ck_assert_int_eq(take_one(&n, 1, "ipn:1.4", 5001), REFUSE_NONE);
    ck_assert_int_eq(agent_delete(n.a, 1, n.now), 0);
    skip(&n);
    ck_assert_uint_eq(app_flood(&n), 1); /* what is beyond the shares is for who comes first */
    binder_fini(&n);
}
END_TEST

START_TEST(what_is_refused_the_peer_keeps)
{
    struct binder n;
    struct agent_config c = quota_config();
    relay_init(&n, &c);
    flood(&n, 0, 1);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:2.8", 900);
    ck_assert_int_eq(link_receive(&n, 0, &b, 7), REFUSE_QUOTA);
    expect(&n, "refuse link 7: the share of its peer or its source in the node's limits is used "
               "up\n");
    ck_assert(n.last.keep);
    binder_fini(&n);
}
END_TEST

START_TEST(bytes_are_shared_like_bundles)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.held_bundles = 0;
    c.held_bytes = 10000;
    relay_init(&n, &c);
    flood(&n, 0, 1);
    const uint64_t one = agent_counters(n.a)->bytes;
    ck_assert_uint_le(one, 8000);
    ck_assert_uint_gt(one, 7800);
    flood(&n, 1, 1000);
    const uint64_t two = agent_counters(n.a)->bytes - one;
    ck_assert(two <= 1200 && two > 800); /* its thousand, and what the first left over */
    ck_assert_uint_gt(app_flood(&n), 8);
    binder_fini(&n);
}
END_TEST

/* Without a store bytes are those of memory, and small bundles take more than their own. */
START_TEST(memory_is_shared_too)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.held_bundles = 0;
    c.memory_only = true;
    c.held_bytes = 200000;
    c.memory_bytes = UINT64_MAX / 2;
    relay_init(&n, &c);
    const uint64_t first = flood(&n, 0, 1);
    ck_assert(first > 120 && first < 400);
    ck_assert_uint_gt(flood(&n, 1, 1000), first / 16); /* a tenth of the limit, the first has 8 */
    ck_assert_uint_gt(app_flood(&n), first / 16);
    binder_fini(&n);
}
END_TEST

START_TEST(a_source_has_its_part)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.source_percent = 50;
    relay_init(&n, &c);
    ck_assert_uint_eq(flood(&n, 0, 1), 50);
    ck_assert_int_eq(take_one(&n, 0, "ipn:1.9", 999), REFUSE_QUOTA); /* the node is the source */
    ck_assert_int_eq(take_one(&n, 0, "ipn:7.4", 1), REFUSE_NONE);
    ck_assert_int_eq(take_one(&n, 1, "ipn:1.4", 5000), REFUSE_QUOTA); /* by whatever link */
    binder_fini(&n);

    relay_init(&n, &c); /* applications are sources of their own */
    ck_assert_uint_eq(app_flood(&n), 50);
    struct agent_request q = request_of("ipn:2.6", "ipn:2.8", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

/* RFC 9171 4.3.1: an overriding lifetime, which leaves the bundle's own as it is. */
START_TEST(no_lifetime_is_for_ever)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.lifetime_max_ms = 5000;
    relay_init(&n, &c);
    struct bundle b = peer_bundle("ipn:1.4", "ipn:3.5", 1), out;
    b.lifetime_ms = UINT64_MAX;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
    skip(&n);
    agent_window(n.a, 1, 1, n.now);
    agent_link(n.a, 1, true, n.now);
    expect(&n, "send 1 on 1\n");
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &out, NULL), 0);
    ck_assert_uint_eq(out.lifetime_ms, UINT64_MAX);
    agent_link(n.a, 1, false, n.now);
    agent_sent(n.a, 1, true, n.now);
    expect(&n, "remove 1\n");
    binder_restart(&n, &c);
    agent_expire(n.a, n.now);
    pass(&n, 4999 * TICK_MS);
    expect(&n, "");
    pass(&n, TICK_MS);
    expect(&n, "remove 2\n");
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_EXPIRED], 1);
    binder_fini(&n);
}
END_TEST

/* One byte of bundle `sequence` from a link, of a lifetime that never ends. */
static enum agent_refusal one_byte(struct binder *n, uint32_t link, uint64_t sequence)
{
    struct bundle b = piece_of(TEXT, sequence, 3, 4);
    b.lifetime_ms = UINT64_MAX;
    b.flags |= BUNDLE_REPORT_DELETION;
    enum agent_refusal r = link_receive(n, link, &b, sequence);
    skip(n);
    return r;
}

static void two_halves(struct binder *n, uint32_t link, uint64_t sequence)
{
    struct bundle b = piece_of(TEXT, sequence, 0, 10);
    ck_assert_int_eq(link_receive(n, link, &b, 0), REFUSE_NONE);
    b = piece_of(TEXT, sequence, 10, 20);
    ck_assert_int_eq(link_receive(n, link, &b, 0), REFUSE_NONE);
    drain(n);
    ck_assert_ptr_nonnull(strstr(n->trace, "to 9: " TEXT "\n"));
    agent_delivered(n->a, n->last.key, true, n->now);
    skip(n);
}

START_TEST(single_fragments_do_not_stop_reassembly)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.assemblies_max = 10;
    c.reserve_percent = 30;
    c.status_reports = true;
    relay_init(&n, &c);
    listen(&n, 1);
    for (uint64_t i = 1; i <= 8; i++) {
        ck_assert_int_eq(one_byte(&n, 0, i), REFUSE_NONE);
        pass(&n, TICK_S);
    }
    /* the first is 8 s old: another might still come */
    ck_assert_int_eq(one_byte(&n, 0, 9), REFUSE_QUOTA);
    two_halves(&n, 1, 100); /* of another peer: at once */
    pass(&n, 2 * TICK_S);
    ck_assert_int_eq(one_byte(&n, 0, 9), REFUSE_NONE);
    const struct agent_counters *k = agent_counters(n.a);
    ck_assert_uint_eq(k->ended[END_GAVE_WAY], 1);
    ck_assert_uint_eq(k->assemblies_ended[END_GAVE_WAY], 1);
    ck_assert_uint_eq(k->reports_sent, 1);
    ck_assert_uint_eq(k->assemblies, 8);
    ck_assert_int_eq(one_byte(&n, 0, 10), REFUSE_QUOTA); /* the second came later */
    pass(&n, 20 * TICK_S);
    two_halves(&n, 0, 101);                            /* of the same peer */
    ck_assert_int_eq(one_byte(&n, 0, 1), REFUSE_NONE); /* nobody said that it was delivered */
    ck_assert_int_eq(one_byte(&n, 0, 9), REFUSE_DUPLICATE);
    binder_fini(&n);
}
END_TEST

/* Those of others stay, however old they are. */
START_TEST(who_wants_a_place_gives_one)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.assemblies_max = 10;
    c.reserve_percent = 30;
    relay_init(&n, &c);
    listen(&n, 1);
    ck_assert_int_eq(one_byte(&n, 1, 50), REFUSE_NONE);
    pass(&n, 60 * TICK_S);
    for (uint64_t i = 1; i <= 30; i++) {
        ck_assert_int_eq(one_byte(&n, 0, i), REFUSE_NONE);
        pass(&n, 60 * TICK_S);
    }
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_GAVE_WAY], 22);
    ck_assert_int_eq(one_byte(&n, 1, 50), REFUSE_DUPLICATE); /* still here */
    struct agent_share s;
    agent_share(n.a, 0, &s);
    ck_assert(s.assemblies == 8 && s.fragments == 8);

    binder_restart(&n, &c);
    agent_expire(n.a, n.now);
    add_links(&n);
    ck_assert_int_eq(one_byte(&n, 0, 31), REFUSE_QUOTA); /* all came just now, it seems */
    pass(&n, 60 * TICK_S);
    ck_assert_int_eq(one_byte(&n, 0, 31), REFUSE_NONE);
    agent_share(n.a, 0, &s);
    ck_assert(s.assemblies == 8 && s.fragments == 8);
    binder_fini(&n);
}
END_TEST

START_TEST(fragments_of_all_are_limited)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.fragments_all_max = 20; /* nothing is set apart */
    relay_init(&n, &c);
    for (uint64_t i = 0; i < 20; i++) {
        struct bundle b = piece_of(TEXT, 1 + i / 10, i % 10, i % 10 + 1);
        ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_NONE);
        skip(&n);
    }
    ck_assert_int_eq(one_byte(&n, 1, 3), REFUSE_FULL);
    pass(&n, 10 * TICK_S);
    ck_assert_int_eq(one_byte(&n, 1, 3), REFUSE_NONE);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_GAVE_WAY], 10);
    ck_assert_uint_eq(agent_counters(n.a)->fragments, 11);
    binder_fini(&n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agent quotas");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_flood_leaves_the_others_their_shares);
    tcase_add_test(t, what_is_refused_the_peer_keeps);
    tcase_add_test(t, bytes_are_shared_like_bundles);
    tcase_add_test(t, memory_is_shared_too);
    tcase_add_test(t, a_source_has_its_part);
    tcase_add_test(t, no_lifetime_is_for_ever);
    tcase_add_test(t, single_fragments_do_not_stop_reassembly);
    tcase_add_test(t, who_wants_a_place_gives_one);
    tcase_add_test(t, fragments_of_all_are_limited);
    suite_add_tcase(s, t);
    return run_suite(s);
}
