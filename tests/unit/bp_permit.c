/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of ingress and egress: each permission and each limit, at its edge; parties of their own;
 * and at the agent, what neighbours and applications are told, and where bundles go. */
#include "base/err.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

static struct eid_patterns patterns_of(const char *text)
{
    struct eid_patterns p;
    const char *why;
    ck_assert_int_eq(eid_patterns_read(text, &p, &why), 0);
    return p;
}

static struct permit rule_of(const char *party, const char *from, const char *to)
{
    return (struct permit){.party = patterns_of(party),
                           .from = patterns_of(from),
                           .to = patterns_of(to),
                           .priority = BUNDLE_NORMAL};
}

/* A bundle of neighbour ipn:2.0, in words that tests change. */
struct example {
    struct eid party, from, to;
    struct permit_subject s;
};

static void example_init(struct example *e)
{
    e->party = eid_of("ipn:2.0");
    e->from = eid_of("ipn:2.7");
    e->to = eid_of("ipn:1.9");
    e->s = (struct permit_subject){.party = &e->party,
                                   .id = 2,
                                   .from = &e->from,
                                   .to = &e->to,
                                   .priority = BUNDLE_NORMAL,
                                   .payload = 1000,
                                   .bytes = 1100};
}

static struct permits *permits_of(enum permit_way way, const struct permit *list, size_t len)
{
    struct permits *p;
    ck_assert_int_eq(permits_new(&p, way, list, len), 0);
    return p;
}

START_TEST(permissions)
{
    struct example e;
    struct permit r = rule_of("ipn:2.0", "ipn:2.*|ipn:5.*", "ipn:1.*");
    r.size_max = 1000;
    struct permits *p = permits_of(PERMIT_IN, &r, 1);
    example_init(&e);
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_GOOD);
    ck_assert_int_eq(permits_judge(NULL, &e.s), PERMIT_GOOD);
    e.from = eid_of("ipn:5.1");
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_GOOD);
    e.from = eid_of("ipn:3.7");
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_SOURCE);
    e.from = eid_of("ipn:2.7");
    e.to = eid_of("ipn:4.9");
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_DESTINATION);
    e.to = eid_of("ipn:1.9");
    e.s.priority = BUNDLE_EXPEDITED;
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_PRIORITY);
    e.s.priority = BUNDLE_BULK;
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_GOOD);
    e.s.payload = 1001;
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_SIZE);
    e.party = eid_of("ipn:3.0"); /* nobody names it */
    ck_assert_int_eq(permits_judge(p, &e.s), PERMIT_GOOD);
    permits_free(p);
}
END_TEST

/* The reason is the last test that one of the rules came to; the first rule that fits counts. */
START_TEST(several_rules)
{
    struct example e;
    struct permit r[3] = {rule_of("ipn:2.0", "ipn:2.*", "ipn:1.*"),
                          rule_of("ipn:2.0", "ipn:2.7", "ipn:1.9"), rule_of("*", "ipn:9.*", "*")};
    r[0].priority = BUNDLE_BULK;
    r[1].size_max = 10;
    struct permits *p = permits_of(PERMIT_IN, r, 3);
    example_init(&e);
    uint64_t allowed, limited;
    ck_assert_int_eq(permits_take(p, &e.s, TICK_S), PERMIT_SIZE);
    e.s.payload = 10;
    ck_assert_int_eq(permits_take(p, &e.s, TICK_S), PERMIT_GOOD);
    ck_assert_ptr_nonnull(permits_at(p, 1, &allowed, &limited));
    ck_assert_uint_eq(allowed, 1);
    e.s.priority = BUNDLE_BULK;
    ck_assert_int_eq(permits_take(p, &e.s, TICK_S), PERMIT_GOOD);
    ck_assert_ptr_nonnull(permits_at(p, 0, &allowed, &limited));
    ck_assert_uint_eq(allowed, 1);
    e.party = eid_of("ipn:3.0"); /* "*" names all */
    ck_assert_int_eq(permits_take(p, &e.s, TICK_S), PERMIT_SOURCE);
    ck_assert_ptr_null(permits_at(p, 3, &allowed, &limited));
    const struct permit_counters *c = permits_counters(p);
    ck_assert_uint_eq(c->allowed, 2);
    ck_assert_uint_eq(c->refused[PERMIT_SIZE], 1);
    ck_assert_uint_eq(c->refused[PERMIT_SOURCE], 1);
    const struct permit_refusal *last = permits_refusal(p);
    ck_assert_uint_eq(last->count, 2);
    ck_assert_int_eq(last->verdict, PERMIT_SOURCE);
    ck_assert(eid_equal(&last->party, &e.party) && eid_equal(&last->to, &e.to));
    struct permits *next = permits_of(PERMIT_IN, r, 0);
    permits_go_on(next, p);
    ck_assert_uint_eq(permits_refusal(next)->count, 2);
    ck_assert_uint_eq(permits_len(next), 0);
    ck_assert_int_eq(permits_take(next, &e.s, TICK_S), PERMIT_GOOD);
    permits_free(next);
    permits_free(p);
}
END_TEST

static unsigned take_many(struct permits *p, const struct permit_subject *s, unsigned n, tick now)
{
    unsigned good = 0;
    while (n-- > 0)
        good += permits_take(p, s, now) == PERMIT_GOOD;
    return good;
}

START_TEST(rate)
{
    struct example e;
    struct permit r = rule_of("*", "*", "*");
    r.rate = 10;
    r.burst = 5;
    struct permits *p = permits_of(PERMIT_IN, &r, 1);
    example_init(&e);
    const tick now = 100 * TICK_S;
    ck_assert_uint_eq(take_many(p, &e.s, 20, now), 5);
    ck_assert_int_eq(permits_take(p, &e.s, now), PERMIT_RATE);
    e.s.id = 3; /* another neighbour has its own */
    ck_assert_uint_eq(take_many(p, &e.s, 20, now), 5);
    e.s.id = 2;
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + TICK_S / 10 - 1), 0);
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + TICK_S / 10), 1);
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + 100 * TICK_S), 5); /* a burst, no more */
    /* what another rule of the list would allow is not asked for: the first one counts */
    e.s.bytes = UINT64_C(1) << 40;
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + 200 * TICK_S), 5);
    permits_free(p);
}
END_TEST

START_TEST(data_rate)
{
    struct example e;
    struct permit r = rule_of("*", "*", "*");
    r.data_rate = 8000; /* 1000 bytes a second */
    r.data_burst = 3000;
    struct permits *p = permits_of(PERMIT_IN, &r, 1);
    example_init(&e);
    e.s.bytes = 1000;
    const tick now = 100 * TICK_S;
    ck_assert_uint_eq(take_many(p, &e.s, 20, now), 3);
    ck_assert_int_eq(permits_take(p, &e.s, now), PERMIT_DATA_RATE);
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + TICK_S), 1);
    e.s.bytes = 10000; /* alone it may be longer than the burst, and is paid for afterwards */
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + 10 * TICK_S), 1);
    e.s.bytes = 1000;
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + 17 * TICK_S), 0);
    ck_assert_uint_eq(take_many(p, &e.s, 20, now + 18 * TICK_S), 1);
    ck_assert_uint_eq(permits_counters(p)->refused[PERMIT_DATA_RATE], 17 + 1 + 19 + 19 + 20 + 19);
    permits_free(p);
}
END_TEST

/* A neighbour with many names has no burst for each of them. */
START_TEST(many_parties)
{
    struct example e;
    struct permit r = rule_of("*", "*", "*");
    r.rate = 1;
    r.burst = 5;
    struct permits *p = permits_of(PERMIT_IN, &r, 1);
    example_init(&e);
    const tick now = 100 * TICK_S;
    unsigned good = 0;
    for (uint64_t id = 1; id <= 1000; id++) {
        e.s.id = id;
        good += take_many(p, &e.s, 10, now + id);
    }
    ck_assert_uint_eq(good, 5 * PERMIT_PARTIES);
    e.s.id = 1000; /* its rate holds */
    ck_assert_uint_eq(take_many(p, &e.s, 10, now + 6 * TICK_S), 5);
    permits_free(p);
}
END_TEST

START_TEST(users)
{
    struct example e;
    struct permit r[2] = {rule_of("ipn:1.[100-199]", "*", "ipn:2.*"), rule_of("*", "*", "*")};
    r[0].user = 1001;
    r[0].bundles_max = 3;
    r[0].bytes_max = 5000;
    r[1].user = 7;
    struct permits *p = permits_of(PERMIT_APP, r, 2);
    example_init(&e);
    e.party = e.from = eid_of("ipn:1.100");
    e.to = eid_of("ipn:2.1");
    e.s.id = 1001;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_GOOD);
    e.s.held_bundles = 3;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_BUNDLES);
    e.s.held_bundles = 2;
    e.s.held_bytes = 3900;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_GOOD);
    e.s.held_bytes = 3901;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_BYTES);
    e.s.held_bytes = 0;
    e.s.bytes = 5001;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_BYTES);
    e.s.bytes = 5000;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_GOOD);
    e.party = e.from = eid_of("ipn:1.200");
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_ENDPOINT);
    ck_assert(!permits_endpoint(p, 1001, &e.party));
    ck_assert(permits_endpoint(p, 7, &e.party));
    ck_assert(permits_endpoint(p, 8, &e.party)); /* nobody names it */
    ck_assert(permits_endpoint(NULL, 8, &e.party));
    ck_assert_uint_eq(permits_counters(p)->refused[PERMIT_ENDPOINT], 2);
    e.s.id = 8;
    ck_assert_int_eq(permits_take(p, &e.s, 1), PERMIT_GOOD);
    permits_free(p);
}
END_TEST

START_TEST(wrong_lists)
{
    struct permits *p;
    struct permit r = rule_of("*", "*", "*");
    r.rate = 1;
    ck_assert_int_eq(permits_new(&p, PERMIT_IN, &r, 1), HELIO_EINVAL); /* no burst */
    r.burst = 1;
    ck_assert_int_eq(permits_new(&p, PERMIT_OUT, &r, 1), HELIO_EINVAL);
    r.burst = PERMIT_BURST_MAX + 1;
    ck_assert_int_eq(permits_new(&p, PERMIT_IN, &r, 1), HELIO_EINVAL);
    r = rule_of("*", "*", "*");
    r.bundles_max = 1;
    ck_assert_int_eq(permits_new(&p, PERMIT_IN, &r, 1), HELIO_EINVAL);
    r = rule_of("*", "*", "*");
    r.data_rate = 1;
    ck_assert_int_eq(permits_new(&p, PERMIT_IN, &r, 1), HELIO_EINVAL);
    struct permit *many = calloc(PERMITS_MAX + 1, sizeof *many);
    ck_assert_ptr_nonnull(many);
    ck_assert_int_eq(permits_new(&p, PERMIT_IN, many, PERMITS_MAX + 1), HELIO_EINVAL);
    ck_assert_ptr_null(p);
    p = permits_of(PERMIT_IN, many, PERMITS_MAX);
    permits_free(p);
    permits_free(NULL);
    free(many);
    for (int v = 0; v < PERMIT_VERDICT_COUNT; v++)
        ck_assert_str_ne(permit_verdict_word((enum permit_verdict)v), "");
}
END_TEST

/* ---- at the agent ---- */

static void set_rules(struct binder *n, enum permit_way way, const struct permit *r, size_t len)
{
    ck_assert_int_eq(agent_permit(n->a, way, r, len), 0);
}

static uint64_t refused(const struct binder *n, enum agent_refusal r)
{
    return agent_counters(n->a)->refused[r];
}

START_TEST(neighbour_brings)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct permit r = rule_of("ipn:1.0", "ipn:1.*", "ipn:3.*");
    r.rate = 1;
    r.burst = 2;
    set_rules(&n, PERMIT_IN, &r, 1);
    struct bundle b = peer_bundle("ipn:9.7", "ipn:3.9", 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_RULE);
    expect(&n, "refuse link 1: no rule of this node allows it\n");
    ck_assert(n.last.keep); /* as of a bundle without a route */
    b = peer_bundle("ipn:1.7", "ipn:3.9", 2);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    b = peer_bundle("ipn:1.7", "ipn:3.9", 3);
    ck_assert_int_eq(link_receive(&n, 0, &b, 3), REFUSE_NONE);
    skip(&n);
    b = peer_bundle("ipn:1.7", "ipn:3.9", 4);
    ck_assert_int_eq(link_receive(&n, 0, &b, 4), REFUSE_LIMIT);
    expect(&n, "refuse link 4: a limit of its rule is reached: rate, bundles or bytes\n");
    ck_assert(n.last.keep);
    ck_assert_uint_eq(refused(&n, REFUSE_RULE), 1);
    ck_assert_uint_eq(refused(&n, REFUSE_LIMIT), 1);
    n.now.now += TICK_S;
    ck_assert_int_eq(link_receive(&n, 0, &b, 5), REFUSE_NONE);
    /* A reload without rules: all is allowed, and counters go on. */
    set_rules(&n, PERMIT_IN, NULL, 0);
    b = peer_bundle("ipn:9.7", "ipn:3.9", 5);
    ck_assert_int_eq(link_receive(&n, 0, &b, 6), REFUSE_NONE);
    ck_assert_uint_eq(permits_refusal(agent_permits(n.a, PERMIT_IN))->count, 2);
    agent_check(n.a);
    binder_fini(&n);
}
END_TEST

/* The size is that of the bundle, also when it comes in pieces. */
START_TEST(fragments_have_the_size_of_the_whole)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct permit r = rule_of("*", "*", "*");
    r.size_max = 20;
    set_rules(&n, PERMIT_IN, &r, 1);
    struct bundle b = peer_bundle("ipn:1.7", "ipn:3.9", 1);
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.total = 21;
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_RULE);
    b.id.total = 20;
    b.id.sequence = 2;
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

START_TEST(expedited_is_a_permission)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct permit r = rule_of("ipn:1.0", "*", "*");
    set_rules(&n, PERMIT_IN, &r, 1);
    uint8_t content[QOS_CONTENT_MAX];
    const struct bundle_qos q = {.priority = BUNDLE_EXPEDITED};
    struct bundle b = peer_bundle("ipn:1.7", "ipn:3.9", 1);
    b.others[b.others_len++] = (struct bundle_block){
        .type = BLOCK_QOS, .data = slice_of(content, qos_encode(&q, content))};
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_RULE);
    ck_assert_uint_eq(permits_counters(agent_permits(n.a, PERMIT_IN))->refused[PERMIT_PRIORITY], 1);
    r.priority = BUNDLE_EXPEDITED;
    set_rules(&n, PERMIT_IN, &r, 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 2), REFUSE_NONE);
    binder_fini(&n);
}
END_TEST

START_TEST(reports)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    c.confirm_dropped = true;
    c.status_reports = true;
    relay_init(&n, &c);
    struct permit r = rule_of("ipn:1.0", "ipn:1.*", "*");
    set_rules(&n, PERMIT_IN, &r, 1);
    struct bundle b = peer_bundle("ipn:1.7", "ipn:3.9", 1);
    b.flags = BUNDLE_REPORT_DELETION;
    b.report_to = eid_of("ipn:1.8");
    r.to = patterns_of("ipn:4.*");
    set_rules(&n, PERMIT_IN, &r, 1);
    ck_assert_int_eq(link_receive(&n, 0, &b, 1), REFUSE_RULE);
    drain(&n);
    ck_assert_uint_eq(agent_counters(n.a)->reports_sent, 1);
    agent_link(n.a, 0, true, n.now);
    drain(&n);
    struct bundle report;
    struct status_report said;
    ck_assert_ptr_nonnull(n.sent);
    ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &report, NULL), 0);
    ck_assert_int_eq(status_report_decode(report.payload.data, report.payload.len, &said), 0);
    ck_assert(said.asserted[STATUS_DELETED]);
    ck_assert_uint_eq(said.reason, REASON_TRAFFIC_PARED);
    binder_fini(&n);
}
END_TEST

/* What may not leave to a neighbour goes another way, or is refused; what is here and may not leave
 * any more waits, and goes when it may. */
START_TEST(neighbour_gets)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    struct eid_pattern to;
    relay_init(&n, &c);
    agent_link(n.a, 0, true, n.now);
    agent_link(n.a, 1, true, n.now);
    ck_assert_int_eq(eid_pattern_parse("ipn:9.*", &to), 0);
    ck_assert_int_eq(agent_route_add(n.a, &to, 0), 0);
    ck_assert_int_eq(agent_route_add(n.a, &to, 1), 0);
    struct permit r = rule_of("ipn:1.0", "ipn:2.7", "*");
    set_rules(&n, PERMIT_OUT, &r, 1);
    struct agent_request q = request_of("ipn:2.8", "ipn:9.1", 1);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 1\nconfirm app 1\nsend 1 on 1\n");
    q = request_of("ipn:2.7", "ipn:9.1", 2);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    expect(&n, "store 2\nconfirm app 2\nsend 2 on 0\n");
    q = request_of("ipn:2.8", "ipn:1.1", 3);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_RULE);
    ck_assert_uint_eq(permits_counters(agent_permits(n.a, PERMIT_OUT))->refused[PERMIT_SOURCE], 1);
    ck_assert_uint_eq(refused(&n, REFUSE_RULE), 1);
    agent_link(n.a, 0, false, n.now);
    agent_sent(n.a, 2, true, n.now);
    skip(&n);
    q = request_of("ipn:2.7", "ipn:1.1", 4);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    q = request_of("ipn:2.7", "ipn:1.1", 5);
    q.qos = &(struct bundle_qos){.priority = BUNDLE_BULK};
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    skip(&n);
    r.priority = BUNDLE_BULK;
    set_rules(&n, PERMIT_OUT, &r, 1);
    agent_link(n.a, 0, true, n.now);
    pass(&n, TICK_MS);
    expect(&n, "send 4 on 0\n");
    r.priority = BUNDLE_NORMAL;
    set_rules(&n, PERMIT_OUT, &r, 1);
    pass(&n, TICK_MS);
    expect(&n, "send 3 on 0\n");
    binder_fini(&n);
}
END_TEST

/* Bundles that wait, alike for the router, and not for the rules. */
START_TEST(waiting_ones_told_apart)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    for (unsigned i = 0; i < 20; i++) {
        struct agent_request q = request_of(i % 2 == 0 ? "ipn:2.7" : "ipn:2.8", "ipn:1.1", i);
        ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    }
    skip(&n);
    struct permit r = rule_of("ipn:1.0", "ipn:2.7", "*");
    set_rules(&n, PERMIT_OUT, &r, 1);
    agent_link(n.a, 0, true, n.now);
    unsigned sent = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct agent_action x;
        pass(&n, TICK_MS);
        while (agent_poll(n.a, &x)) {
            struct bundle b;
            do_action(&n, &x);
            if (x.kind != AGENT_SEND)
                continue;
            ck_assert_int_eq(bundle_decode(buf_data(n.sent), n.sent->len, BUNDLE_STRICT, &b, NULL),
                             0);
            ck_assert_uint_eq(b.id.source.service, 7);
            agent_sent(n.a, x.key, true, n.now);
            sent++;
        }
        agent_check(n.a);
    }
    ck_assert_uint_eq(sent, 10);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 10);
    set_rules(&n, PERMIT_OUT, NULL, 0);
    struct agent_action x;
    for (unsigned i = 0; i < 200; i++) {
        pass(&n, TICK_MS);
        while (agent_poll(n.a, &x)) {
            do_action(&n, &x);
            if (x.kind == AGENT_SEND)
                agent_sent(n.a, x.key, true, n.now);
        }
    }
    ck_assert_uint_eq(agent_counters(n.a)->bundles, 0);
    binder_fini(&n);
}
END_TEST

START_TEST(user_sends)
{
    struct binder n;
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    struct permit r = rule_of("ipn:2.7", "*", "ipn:1.*");
    r.user = 1001;
    r.bundles_max = 2;
    set_rules(&n, PERMIT_APP, &r, 1);
    struct eid mine = eid_of("ipn:2.7"), other = eid_of("ipn:2.8");
    ck_assert(agent_may_register(n.a, 1001, &mine));
    ck_assert(!agent_may_register(n.a, 1001, &other));
    ck_assert(agent_may_register(n.a, 1002, &other));
    ck_assert(agent_may_register(n.a, 0, &other));
    struct agent_request q = request_of("ipn:2.7", "ipn:1.9", 1);
    q.user = 1001;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_LIMIT);
    q.user = 1002;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    q.user = 0; /* the node's own */
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    q = request_of("ipn:2.7", "ipn:3.9", 2);
    q.user = 1001;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_RULE);
    skip(&n);
    agent_link(n.a, 0, true, n.now);
    drain(&n);
    agent_sent(n.a, 1, true, n.now); /* one of the user's is gone */
    q = request_of("ipn:2.7", "ipn:1.9", 3);
    q.user = 1001;
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_NONE);
    ck_assert_int_eq(app_send(&n, &q, "x"), REFUSE_LIMIT);
    const struct permit_counters *k = permits_counters(agent_permits(n.a, PERMIT_APP));
    ck_assert_uint_eq(k->refused[PERMIT_BUNDLES], 2);
    ck_assert_uint_eq(k->refused[PERMIT_DESTINATION], 1);
    ck_assert_uint_eq(k->refused[PERMIT_ENDPOINT], 1);
    drain(&n);
    binder_fini(&n);
}
END_TEST

SUITE(bp_permit, t)
{
    tcase_add_test(t, permissions);
    tcase_add_test(t, several_rules);
    tcase_add_test(t, rate);
    tcase_add_test(t, data_rate);
    tcase_add_test(t, many_parties);
    tcase_add_test(t, users);
    tcase_add_test(t, wrong_lists);
    tcase_add_test(t, neighbour_brings);
    tcase_add_test(t, fragments_have_the_size_of_the_whole);
    tcase_add_test(t, expedited_is_a_permission);
    tcase_add_test(t, reports);
    tcase_add_test(t, neighbour_gets);
    tcase_add_test(t, waiting_ones_told_apart);
    tcase_add_test(t, user_sends);
}
