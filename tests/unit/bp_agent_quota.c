/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may hold how much: a peer that takes all it can get leaves the others and the applications
 * their shares, of bundles, bytes, reassemblies and fragments, also after a restart; no source has
 * more than its part; no lifetime is longer than the node allows; the reassembly that has not grown
 * for longest gives way.
 */
#include "bp_agent_piece.h"
#include "tests/unit/suite.h"

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
    expect(&n, "refuse link 7: the share of its peer, source or idle endpoint in the node's limits "
               "is used up\n");
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

/* A source leaves room for others: here as much as it has itself. */
START_TEST(a_source_has_its_part)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.source_percent = 50;
    relay_init(&n, &c);
    ck_assert_uint_eq(app_flood(&n), 40); /* of 80 that applications may have */
    struct agent_request q = request_of("ipn:2.6", "ipn:2.8", 5);
    uint64_t taken = 0;
    while (app_send(&n, &q, "x") == REFUSE_NONE) {
        skip(&n);
        taken++;
    }
    ck_assert_uint_eq(taken, 20);
    q = request_of("ipn:2.5", "ipn:2.8", 5);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE); /* there is room for a third one */
    skip(&n);
    ck_assert_uint_ge(flood(&n, 0, 1), 10); /* and the neighbours have their shares */
    binder_fini(&n);
}
END_TEST

static enum agent_refusal app_of(struct binder *n, uint64_t user, int service)
{
    char from[20];
    snprintf(from, sizeof from, "ipn:2.%d", service);
    struct agent_request q = request_of(from, "ipn:2.8", 5);
    q.user = user;
    enum agent_refusal r = app_send(n, &q, "x");
    skip(n);
    return r;
}

/* Under however many endpoints a user sends, another user has room. */
START_TEST(users_have_shares)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.held_bundles = 1000;
    c.source_percent = 90;
    relay_init(&n, &c);
    uint64_t first = 0, second = 0;
    for (int i = 0; i < 4000; i++)
        first += app_of(&n, 1000, 100 + i % 400) == REFUSE_NONE;
    ck_assert(first > 640 && first <= 720); /* nine tenths of 800 */
    while (app_of(&n, 1001, 9) == REFUSE_NONE)
        second++;
    ck_assert(second > 50);
    ck_assert_int_eq(app_of(&n, 1002, 10), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

/* What one application of a user fills leaves a tenth of the user's part to its next one. */
START_TEST(applications_of_a_user_have_parts)
{
    struct binder n;
    struct agent_config c = quota_config();
    c.held_bundles = 1000;
    c.source_percent = 90;
    relay_init(&n, &c);
    uint64_t taken[3] = {0};
    for (int i = 0; i < 3; i++)
        while (app_of(&n, 1000, 100 + i) == REFUSE_NONE)
            taken[i]++;
    ck_assert(taken[0] == 648 && taken[1] == 64); /* of the 720 of the user */
    ck_assert_uint_ge(taken[2], 6);
    binder_fini(&n);
}
END_TEST

static uint64_t forged(struct binder *n, uint64_t sequence, int sources, uint64_t count)
{
    uint64_t taken = 0;
    for (uint64_t i = 0; i < count; i++) {
        char from[20];
        snprintf(from, sizeof from, "ipn:%d.4", 1000 + (int)(i % (uint64_t)sources));
        taken += take_one(n, 0, from, sequence + i) == REFUSE_NONE;
    }
    return taken;
}

/* One bundle from this source comes and is delivered. */
static void deliver_one(struct binder *n, const char *from, uint64_t sequence)
{
    struct bundle b = peer_bundle(from, "ipn:2.9", sequence);
    ck_assert_int_eq(link_receive(n, 0, &b, sequence), REFUSE_NONE);
    skip(n);
    agent_delivered(n->a, n->last.key, true, n->now);
    skip(n);
}

/* Names of sources are forged by the thousand: all of them together leave room for a source that
 * has proved itself, and take turns with it as one. */
START_TEST(forged_sources_are_one)
{
    struct binder n;
    struct agent_config c = quota_config();
    struct eid here = eid_of("ipn:2.9");
    c.held_bundles = 1000;
    c.source_percent = 90;
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    deliver_one(&n, "ipn:7.4", 1);
    const uint64_t taken = forged(&n, 100, 3000, 3000);
    ck_assert(taken > 640 && taken <= 730);
    uint64_t honest = 0;
    while (take_one(&n, 0, "ipn:7.4", 10000 + honest) == REFUSE_NONE)
        honest++;
    ck_assert(honest > 50);
    /* A source that comes now is one of the many. */
    ck_assert_int_eq(take_one(&n, 0, "ipn:8.4", 1), REFUSE_QUOTA);
    binder_fini(&n);
}
END_TEST

/* Sources prove themselves one after the other, and not while the neighbour is crowded. */
START_TEST(sources_prove_themselves_slowly)
{
    struct binder n;
    struct agent_config c = quota_config();
    struct eid here = eid_of("ipn:2.9");
    c.held_bundles = 1000;
    c.source_percent = 90;
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    deliver_one(&n, "ipn:7.4", 1);
    deliver_one(&n, "ipn:8.4", 1); /* too soon */
    forged(&n, 100, 3000, 800);
    pass(&n, 11 * TICK_S);
    ck_assert_int_eq(take_one(&n, 0, "ipn:8.4", 2), REFUSE_QUOTA);
    ck_assert_int_eq(take_one(&n, 0, "ipn:7.4", 2), REFUSE_NONE);
    binder_fini(&n);

    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    deliver_one(&n, "ipn:7.4", 1);
    pass(&n, 11 * TICK_S);
    deliver_one(&n, "ipn:8.4", 1);
    forged(&n, 100, 3000, 800);
    ck_assert_int_eq(take_one(&n, 0, "ipn:8.4", 2), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

/* A thousand bundles of one wait for a link; another one's are served in turn. */
START_TEST(whoever_waits_has_turns)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= 1000; i++) {
        struct agent_request q = request_of("ipn:2.7", "ipn:3.5", i);
        q.user = 1;
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
        skip(&n);
    }
    for (uint64_t i = 1; i <= 20; i++) {
        struct agent_request q = request_of("ipn:2.6", "ipn:3.5", i);
        q.user = 1 + (uint64_t)_i;
        ck_assert_int_eq(app_send(&n, &q, "a longer one"), REFUSE_NONE);
    }
    skip(&n);
    agent_link(n.a, 1, true, n.now);
    uint64_t rank = 0, last = 0, sent = 0;
    struct agent_action x;
    while (sent < 1020 && agent_poll(n.a, &x)) {
        n.len = 0;
        if (x.kind != AGENT_SEND) {
            do_action(&n, &x);
            continue;
        }
        rank++;
        sent++;
        last = x.key > 1000 ? rank : last;
        buf_drop(x.bundle);
        agent_sent(n.a, x.key, true, n.now);
    }
    ck_assert_uint_eq(sent, 1020);
    ck_assert_uint_lt(last, 60); /* of a flood of a thousand */
    n.len = 0;
    binder_fini(&n);
}
END_TEST

/* A link that has few bundles in hand: small ones of one user take half of its places at most while
 * long ones of another one wait, although by bytes they would have many turns for one of those. */
START_TEST(small_bundles_leave_places)
{
    enum { SMALL = 1000, LONG = 40, HAND = 2 };
    static struct binder n;
    static char text[100000];
    struct agent_config c = config_of("ipn:2.0");
    memset(text, 'x', sizeof text - 1);
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= SMALL + LONG; i++) {
        const bool small = i <= SMALL;
        struct agent_request q = request_of(small ? "ipn:2.7" : "ipn:2.6", "ipn:3.5", i);
        q.user = small ? 1 : 2;
        ck_assert_int_eq(app_send(&n, &q, small ? "x" : text), REFUSE_NONE);
        skip(&n);
    }
    agent_link(n.a, 1, true, n.now);
    uint64_t keys[HAND], first = 0, last = 0, small_ones = 0, long_ones = 0;
    struct agent_action x;
    while (long_ones < LONG) {
        while (agent_poll(n.a, &x)) {
            n.len = 0;
            if (x.kind != AGENT_SEND) {
                do_action(&n, &x);
                continue;
            }
            ck_assert_uint_lt(last - first, HAND);
            keys[last++ % HAND] = x.key;
            small_ones += x.key <= SMALL;
            long_ones += x.key > SMALL;
            buf_drop(x.bundle);
        }
        ck_assert_uint_lt(first, last);
        agent_check(n.a);
        agent_sent(n.a, keys[first++ % HAND], true, n.now);
    }
    ck_assert_uint_lt(small_ones, 4 * LONG); /* by bytes alone: 50 for each */
    n.len = 0;
    binder_fini(&n);
}
END_TEST

/* Sixteen sources flood a link with short bundles, and one of the same user has long ones: each has
 * its turns, in which a short bundle counts as the work that it makes. */
START_TEST(short_bundles_count_as_work)
{
    enum { SOURCES = 16, SHORT = 60 * SOURCES, LONG = 4, EACH = 7 };
    static struct binder n;
    static char text[20000];
    struct agent_config c = config_of("ipn:2.0");
    memset(text, 'x', sizeof text - 1);
    relay_init(&n, &c);
    for (uint64_t i = 1; i <= SHORT + LONG; i++) {
        char source[16];
        snprintf(source, sizeof source, "ipn:2.%u", i <= SHORT ? 10 + (unsigned)i % SOURCES : 7);
        struct agent_request q = request_of(source, "ipn:3.5", i);
        q.user = 1;
        ck_assert_int_eq(app_send(&n, &q, i <= SHORT ? "x" : text), REFUSE_NONE);
        skip(&n);
    }
    agent_link(n.a, 1, true, n.now);
    uint64_t short_ones = 0, long_ones = 0;
    struct agent_action x;
    while (long_ones < LONG && agent_poll(n.a, &x)) {
        n.len = 0;
        if (x.kind != AGENT_SEND) {
            do_action(&n, &x);
            continue;
        }
        short_ones += x.key <= SHORT;
        long_ones += x.key > SHORT;
        buf_drop(x.bundle);
        agent_sent(n.a, x.key, true, n.now);
    }
    ck_assert_uint_eq(long_ones, LONG);
    ck_assert_uint_ge(short_ones, LONG * SOURCES);
    ck_assert_uint_le(short_ones, LONG * SOURCES * EACH);
    n.len = 0;
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

/* What a source began before it proved itself, and left, gives way to what it begins then. */
START_TEST(earlier_reassemblies_give_way)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid here = eid_of("ipn:2.9");
    c.reassemblies_max = 20;
    c.source_percent = 90;
    c.reassembly_idle = TICK_S;
    relay_init(&n, &c);
    ck_assert_int_eq(agent_register(n.a, 1, &here, 1, n.now), 0);
    uint64_t begun = 0;
    while (one_byte(&n, 0, 1 + begun) == REFUSE_NONE)
        begun++;
    ck_assert(begun > 10 && begun <= 20);
    deliver_one(&n, "ipn:1.9", 1); /* the same node proves itself */
    pass(&n, 2 * TICK_S);
    for (uint64_t i = 1; i <= 10; i++)
        ck_assert_int_eq(one_byte(&n, 0, 100 + i), REFUSE_NONE);
    ck_assert_uint_ge(agent_counters(n.a)->ended[END_GAVE_WAY], 9);
    ck_assert_uint_le(agent_counters(n.a)->reassemblies, begun + 1);
    binder_fini(&n);
}
END_TEST

START_TEST(single_fragments_do_not_stop_reassembly)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.reassemblies_max = 10;
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
    ck_assert_uint_eq(k->reassemblies_ended[END_GAVE_WAY], 1);
    ck_assert_uint_eq(k->reports_sent, 1);
    ck_assert_uint_eq(k->reassemblies, 8);
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
    c.reassemblies_max = 10;
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
    ck_assert(s.reassemblies == 8 && s.fragments == 8);

    binder_restart(&n, &c);
    agent_expire(n.a, n.now);
    add_links(&n);
    ck_assert_int_eq(one_byte(&n, 0, 31), REFUSE_QUOTA); /* all came just now, it seems */
    pass(&n, 60 * TICK_S);
    ck_assert_int_eq(one_byte(&n, 0, 31), REFUSE_NONE);
    agent_share(n.a, 0, &s);
    ck_assert(s.reassemblies == 8 && s.fragments == 8);
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

SUITE(bp_agent_quota, t)
{
    tcase_add_test(t, a_flood_leaves_the_others_their_shares);
    tcase_add_test(t, what_is_refused_the_peer_keeps);
    tcase_add_test(t, bytes_are_shared_like_bundles);
    tcase_add_test(t, memory_is_shared_too);
    tcase_add_test(t, a_source_has_its_part);
    tcase_add_test(t, users_have_shares);
    tcase_add_test(t, applications_of_a_user_have_parts);
    tcase_add_test(t, forged_sources_are_one);
    tcase_add_test(t, sources_prove_themselves_slowly);
    tcase_add_loop_test(t, whoever_waits_has_turns, 0, 2);
    tcase_add_test(t, small_bundles_leave_places);
    tcase_add_test(t, short_bundles_count_as_work);
    tcase_add_test(t, no_lifetime_is_for_ever);
    tcase_add_test(t, single_fragments_do_not_stop_reassembly);
    tcase_add_test(t, earlier_reassemblies_give_way);
    tcase_add_test(t, who_wants_a_place_gives_one);
    tcase_add_test(t, fragments_of_all_are_limited);
}
