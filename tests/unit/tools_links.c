/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's links over an adapter that lives in the test's memory: outcomes with reasons, limits
 * that change, neighbours who come in and say who they are, what an adapter reaches, links that
 * come, change and go.
 */
#include "tests/unit/tools_links.h"

#include <unistd.h>

#include "node/node_meter.h"
#include "node/node_names.h"
#include "node/node_watch.h"
#include "node/plan/node_plan.h"
#include "tests/unit/suite.h"

static const char TWO[] = "  - {name: a, adapter: memory, peer: ipn:2.0}\n"
                          "  - {name: b, adapter: memory, peer: ipn:3.0, peers: 2}\n";

START_TEST(outcomes)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    struct node_link *l = node_link_find(&b->n, "a");
    tell_link(b, a, true);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(a->len, 2);
    tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    ck_assert_uint_eq(a->len, 2);
    tell_done(b, a, 0, CLA_HANDED_OVER, CLA_REASON_NONE);
    ck_assert_uint_eq(held(b), 2);
    uint64_t lost = a->keys[0];
    tell_done(b, a, 0, CLA_LOST, CLA_REASON_PEER_LOST); /* again at once, limits.resend times */
    ck_assert_uint_eq(a->len, 2);
    ck_assert_uint_eq(held(b), 2);
    tell_done(b, a, a->keys[0] == lost ? 0 : 1, CLA_LOST, CLA_REASON_NO_ANSWER);
    ck_assert_uint_eq(held(b), 1);
    ck_assert_uint_eq(agent_counters(b->n.agent)->ended[END_GIVEN_UP], 1);
    tell_done(b, a, 0, CLA_REFUSED, CLA_REASON_PEER_REFUSED); /* it pauses */
    ck_assert_uint_eq(a->len, 0);
    tell_link(b, a, false);
    tell_link(b, a, true); /* a link that comes up ends pauses */
    tell_done(b, a, 0, CLA_TAKEN_BACK, CLA_REASON_CANCELLED);
    ck_assert_uint_eq(held(b), 1);
    ck_assert_uint_eq(l->sent, 2);
    ck_assert_uint_eq(l->failed, 4);
    ck_assert_uint_eq(l->failures[CLA_REASON_PEER_LOST], 1);
    ck_assert_uint_eq(l->failures[CLA_REASON_NO_ANSWER], 1);
    ck_assert_uint_eq(l->failures[CLA_REASON_PEER_REFUSED], 1);
    ck_assert_uint_eq(l->failures[CLA_REASON_CANCELLED], 1);
    for (int r = 0; r < CLA_REASON_COUNT; r++)
        ck_assert_uint_gt(strlen(cla_reason_text((enum cla_reason)r)), 3);
    for (int o = 0; o < CLA_OUTCOME_COUNT; o++)
        ck_assert_int_eq(cla_outcome_is_good((enum cla_outcome)o),
                         o == CLA_DELIVERED || o == CLA_HANDED_OVER);
    stop(b);
}
END_TEST

/* What the adapter is told of bundles that it brought, by why the agent does not take them. */
START_TEST(verdicts)
{
    char text[512];
    snprintf(text, sizeof text,
             "%sbundles: {count: 3, reserve: 0, reserve_queues: 0, source: 100}\n", TWO);
    struct bench *b = start(text);
    struct memory *a = link_of(b, "a");
    struct bundle w;
    bundle_init(&w);
    ck_assert_int_eq(eid_parse("ipn:9.4", &w.id.source), 0);
    ck_assert_int_eq(eid_parse("ipn:3.1", &w.destination), 0);
    w.report_to = w.id.source;
    w.id.time_ms = UINT64_C(820540800000); /* the day when the bench begins */
    w.lifetime_ms = 60000;
    w.payload = slice_of("data", 4);
    ck_assert_int_eq(bring(b, a, &w, 0), CLA_ACCEPTED);
    ck_assert_int_eq(bring(b, a, &w, 0), CLA_ACCEPTED); /* a duplicate */
    w.id.sequence = 1;
    ck_assert_int_eq(bring(b, a, &w, 8), CLA_FAULTY); /* a damaged byte */
    w.lifetime_ms = 0;
    ck_assert_int_eq(bring(b, a, &w, 0), CLA_ACCEPTED); /* expired: RFC 9171 has it deleted */
    w.lifetime_ms = 60000;
    ck_assert_int_eq(eid_parse("ipn:77.1", &w.destination), 0);
    ck_assert_int_eq(bring(b, a, &w, 0), CLA_UNWANTED); /* no route */
    ck_assert_int_eq(eid_parse("ipn:3.1", &w.destination), 0);
    for (; w.id.sequence < 6; w.id.sequence++)
        ck_assert_int_eq(bring(b, a, &w, 0), w.id.sequence < 3 ? CLA_ACCEPTED : CLA_FULL);
    ck_assert_uint_eq(held(b), 3);
    stop(b);
}
END_TEST

START_TEST(limits_change)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    tell_link(b, a, true);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(a->len, 2);
    a->cla.limits.window = 7;
    a->env.events.limits(a->env.events.context, &a->cla);
    turn(b);
    ck_assert_uint_eq(a->len, 7);
    a->cla.limits.window = 1;
    a->env.events.limits(a->env.events.context, &a->cla);
    for (int i = 0; i < 6; i++)
        tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    ck_assert_uint_eq(a->len, 1);
    tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    ck_assert_uint_eq(a->len, 1);
    for (int i = 0; i < 3; i++)
        tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    ck_assert_uint_eq(held(b), 0);
    a->cla.limits.bundle_max = 400; /* memory_send looks at each */
    a->env.events.limits(a->env.events.context, &a->cla);
    ck_assert_int_eq(submit(b, "ipn:2.1", 1000), REFUSE_NONE);
    unsigned fragments = 0;
    for (; a->len > 0; fragments++)
        tell_done(b, a, 0, CLA_HANDED_OVER, CLA_REASON_NONE);
    ck_assert_uint_ge(fragments, 3);
    ck_assert_uint_eq(held(b), 0);
    stop(b);
}
END_TEST

static void state_is(const struct bench *b, const char *name, enum link_state state)
{
    struct link_tally tally;
    const struct node_link *l = node_link_find(&b->n, name);
    ck_assert_str_eq(link_state_word(node_link_state(l)), link_state_word(state));
    node_link_tally(&b->n, &tally);
    ck_assert_uint_eq(tally.all, node_links_count(&b->n));
    ck_assert_uint_ge(tally.in[state], 1);
}

/* At this time, once more a second later: what the node's log compares. */
static void go_to(struct bench *b, tick to)
{
    virtual_advance(&b->v, to);
    node_watch_tick(&b->n);
}

/* A peer that was never heard is not up, one that owes an answer is silent in time, and the log
 * begins and ends with the state. */
START_TEST(states)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    const struct link_watch *w = &node_link_find(&b->n, "a")->watch;
    a->gauges.rto = TICK_S;
    state_is(b, "a", LINK_STATE_DOWN);
    go_to(b, 10 * TICK_S);
    tell_link(b, a, true);
    state_is(b, "a", LINK_STATE_UNHEARD);
    state_is(b, "b", LINK_STATE_DOWN);
    go_to(b, 1000 * TICK_S); /* nobody asks anything */
    state_is(b, "a", LINK_STATE_UNHEARD);
    a->gauges.asked = 1000 * TICK_S;
    go_to(b, 1010 * TICK_S);
    state_is(b, "a", LINK_STATE_UNHEARD);
    ck_assert(!w->silent);
    go_to(b, 1011 * TICK_S);
    state_is(b, "a", LINK_STATE_SILENT);
    ck_assert(w->silent && w->silent_since == 1000 * TICK_S);
    a->gauges.asked = TICK_NEVER; /* nothing is asked any more: its timer ended it */
    a->gauges.given_up = true;
    go_to(b, 1020 * TICK_S);
    state_is(b, "a", LINK_STATE_SILENT);
    ck_assert(w->silent);
    a->gauges.given_up = false;
    a->gauges.heard = 1021 * TICK_S;
    go_to(b, 1021 * TICK_S);
    state_is(b, "a", LINK_STATE_UP);
    ck_assert(!w->silent);
    go_to(b, 1081 * TICK_S);
    state_is(b, "a", LINK_STATE_UP);
    go_to(b, 1082 * TICK_S);
    state_is(b, "a", LINK_STATE_UNHEARD);
    tell_link(b, a, false);
    a->gauges.refused = true;
    state_is(b, "a", LINK_STATE_REFUSED);
    a->gauges.off = true;
    state_is(b, "a", LINK_STATE_DOWN);
    a->gauges.heard = 1082 * TICK_S;
    go_to(b, 1083 * TICK_S);
    tell_link(b, a, true); /* what was heard before counts no more */
    state_is(b, "a", LINK_STATE_UNHEARD);
    stop(b);
}
END_TEST

/* An unconfigured peer connects to `host`. NULL: it is refused. */
static struct memory *come_in(struct bench *b, struct memory *host, const char *name)
{
    struct memory *m = calloc(1, sizeof *m);
    struct eid peer;
    ck_assert_int_eq(eid_parse(name, &peer), 0);
    *m = (struct memory){.cla = {.ops = &memory_ops, .limits = {4, 0, 0}}, .peer = peer};
    memset(m->from, 1, sizeof m->from);
    bool in =
        host->env.events.peer(host->env.events.context, &host->cla, &m->cla, &peer, &m->env.events);
    turn(b);
    if (in)
        return m;
    free(m);
    return NULL;
}

START_TEST(neighbours_come_in)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a"), *host = link_of(b, "b");
    tell_link(b, a, true);
    tell_link(b, host, true);
    ck_assert(a->env.events.peer == NULL); /* that link lets nobody in */
    ck_assert_int_eq(submit(b, "ipn:7.1", 10), REFUSE_NO_ROUTE);
    struct memory *seven = come_in(b, host, "ipn:7.0");
    ck_assert_ptr_nonnull(seven);
    ck_assert_ptr_eq(link_of(b, "b/ipn:7.0"), seven);
    tell_link(b, seven, true);
    ck_assert_int_eq(submit(b, "ipn:7.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(seven->len, 1);
    tell_done(b, seven, 0, CLA_DELIVERED, CLA_REASON_NONE);
    /* not this node's own name, not an endpoint, not the same one twice, not more than two */
    ck_assert_ptr_null(come_in(b, host, "ipn:1.0"));
    ck_assert_ptr_null(come_in(b, host, "ipn:9.3"));
    ck_assert_ptr_null(come_in(b, host, "ipn:7.0"));
    struct memory *eight = come_in(b, host, "dtn://eight/");
    ck_assert_ptr_nonnull(eight);
    ck_assert_ptr_null(come_in(b, host, "ipn:9.0"));
    ck_assert_uint_eq(node_link_find(&b->n, "b")->peers_refused, 4);
    ck_assert_uint_eq(node_links_count(&b->n), 4);
    /* the peer leaves, with a bundle in transmission, which waits for it */
    ck_assert_int_eq(submit(b, "ipn:7.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(seven->len, 1);
    tell_link(b, seven, false);
    turn(b);
    ck_assert_ptr_null(node_link_find(&b->n, "b/ipn:7.0"));
    ck_assert_uint_eq(node_link_find(&b->n, "b")->peers, 1);
    ck_assert_uint_eq(held(b), 1);
    seven = come_in(b, host, "ipn:7.0");
    ck_assert_ptr_nonnull(seven);
    tell_link(b, seven, true);
    ck_assert_uint_eq(seven->len, 1);
    tell_done(b, seven, 0, CLA_DELIVERED, CLA_REASON_NONE);
    /* those who are in stay when the door goes */
    node_link_remove(node_link_find(&b->n, "b"));
    turn(b);
    ck_assert_ptr_eq(link_of(b, "b/ipn:7.0"), seven);
    stop(b);
}
END_TEST

static int add(struct bench *b, const char *name, const char *text, char *why, size_t why_cap)
{
    struct conf_errors errors;
    conf_errors_init(&errors, name);
    struct config_link *own =
        config_link_parse(name, text, strlen(text), &b->config.node, NULL, memory_at, &errors);
    ck_assert_msg(own != NULL, "%s", errors.text[0]);
    int r = node_link_add(&b->n, own, why, why_cap);
    turn(b);
    return r;
}

static void host_key(const char *text, uint8_t host[ADDRESS_KEY_HOST])
{
    struct address a;
    uint8_t key[ADDRESS_KEY_MAX];
    ck_assert_int_eq(address_parse(text, &a), 0);
    ck_assert_uint_ge(address_key(&a, key).len, ADDRESS_KEY_HOST);
    memcpy(host, key, ADDRESS_KEY_HOST);
}

/* Would an unconfigured peer over `host` have this name? from: its address, or NULL. */
static bool may_have(struct memory *host, const char *name, const char *from, bool certificate,
                     const char *hint)
{
    uint8_t key[ADDRESS_KEY_HOST];
    char why[512] = "";
    struct eid peer;
    const struct cla_events *e = &host->env.events;
    ck_assert_int_eq(eid_parse(name, &peer), 0);
    if (from != NULL)
        host_key(from, key);
    const struct cla_proof proof = {.certificate = certificate, .host = from == NULL ? NULL : key};
    const bool may = e->named(e->context, &peer, &proof, why, sizeof why);
    ck_assert_msg(hint == NULL || strstr(why, hint) != NULL, "%s", why);
    ck_assert(may == (why[0] == '\0'));
    return may;
}

/* The neighbour of link a is silent. Nobody else gets its name without evidence, nor that of a node
 * to which a route of the file leads. */
START_TEST(names_of_configured_peers)
{
    struct bench *b = start("  - {name: a, adapter: memory, peer: ipn:2.0}\n"
                            "  - {name: b, adapter: memory, peer: ipn:3.0, peers: 4}\n"
                            "routes:\n"
                            "  - {to: \"ipn:5.*|dtn://five/*\", via: a}\n"
                            "  - {to: \"ipn:6.1\", via: a}\n"
                            "  - {to: \"ipn:[7-9].*|dtn:**\", via: a}\n"
                            "  - {to: \"*\", via: a}\n");
    struct memory *a = link_of(b, "a"), *host = link_of(b, "b");
    host_key("192.0.2.7:1113", a->remote);
    ck_assert(!may_have(host, "ipn:2.0", "192.0.2.8:4444", false,
                        "that is the peer of link a (memory). It may connect with a certificate"));
    ck_assert(!may_have(host, "ipn:2.0", NULL, false, "peer: ipn:2.0)"));
    ck_assert(may_have(host, "ipn:2.0", "192.0.2.7:4444", false, NULL));
    ck_assert(may_have(host, "ipn:2.0", "192.0.2.8:4444", true, NULL));
    static const char *const routed[] = {"ipn:5.0", "dtn://five/", "ipn:6.0"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert(
            !may_have(host, routed[i], "192.0.2.8:1", false, "a route leads there over link a"));
        ck_assert(may_have(host, routed[i], "192.0.2.7:1", false, NULL));
        ck_assert(may_have(host, routed[i], NULL, true, NULL));
    }
    static const char *const free_names[] = {"ipn:7.0", "ipn:55.0", "dtn://fiver/", "dtn://six/"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(may_have(host, free_names[i], NULL, false, NULL));
    stop(b);
}
END_TEST

/* A link is added whose peer is here already under its own word only: it leaves. */
START_TEST(names_of_links_that_are_added)
{
    struct bench *b = start(TWO);
    struct memory *host = link_of(b, "b");
    char why[256] = "";
    struct memory *seven = come_in(b, host, "ipn:7.0"), *two = come_in(b, host, "ipn:2.0");
    ck_assert(seven != NULL && two != NULL);
    two->certificate = true; /* or the adapter had not brought it */
    tell_link(b, seven, true);
    tell_link(b, two, true);
    ck_assert(may_have(host, "ipn:7.0", NULL, false, NULL));
    ck_assert_int_eq(add(b, "c", "{name: c, adapter: memory, peer: ipn:7.0}", why, sizeof why), 0);
    turn(b);
    ck_assert_ptr_null(node_link_find(&b->n, "b/ipn:7.0"));
    ck_assert_ptr_nonnull(node_link_find(&b->n, "b/ipn:2.0"));
    ck_assert(!may_have(host, "ipn:7.0", NULL, false, "the peer of link c"));
    ck_assert(!may_have(two, "ipn:7.0", NULL, false, "the peer of link c"));
    node_link_remove(node_link_find(&b->n, "c"));
    turn(b);
    ck_assert(may_have(host, "ipn:7.0", NULL, false, NULL));
    stop(b);
}
END_TEST

static void change_route(struct bench *b, const char *to, const char *via, bool add)
{
    struct eid_pattern p;
    const uint32_t link = node_link_find(&b->n, via)->index;
    ck_assert_int_eq(eid_pattern_parse(to, &p), 0);
    ck_assert_int_eq(
        add ? agent_route_add(b->n.agent, &p, link) : agent_route_remove(b->n.agent, &p, link), 0);
    node_names_changed(&b->n);
    turn(b);
}

static bool is_in(const struct bench *b, const char *name)
{
    return node_link_find(&b->n, name) != NULL;
}

/* An operator's routes reserve names like those of the file, until they are removed; the peer's own
 * route does not, nor a general one. */
START_TEST(names_of_routes_that_are_added)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a"), *host = link_of(b, "b");
    host_key("192.0.2.7:1113", a->remote);
    struct memory *seven = come_in(b, host, "ipn:7.0"), *eight = come_in(b, host, "ipn:8.0");
    ck_assert(seven != NULL && eight != NULL);
    tell_link(b, seven, true);
    tell_link(b, eight, true);
    change_route(b, "ipn:*.*", "a", true);
    change_route(b, "ipn:[5-9].*", "a", true);
    ck_assert(is_in(b, "b/ipn:7.0") && is_in(b, "b/ipn:8.0"));
    ck_assert(may_have(host, "ipn:7.0", "192.0.2.8:1", false, NULL));
    change_route(b, "ipn:7.*", "a", true);
    ck_assert(!is_in(b, "b/ipn:7.0") && is_in(b, "b/ipn:8.0"));
    ck_assert_int_eq(submit(b, "ipn:7.1", 10), REFUSE_NONE);
    tell_link(b, a, true);
    ck_assert_uint_eq(a->len, 1);
    ck_assert(!may_have(host, "ipn:7.0", "192.0.2.8:1", false, "a route leads there over link a"));
    ck_assert(may_have(host, "ipn:7.0", "192.0.2.7:1", false, NULL));
    ck_assert(may_have(host, "ipn:7.0", NULL, true, NULL));
    change_route(b, "ipn:7.*", "a", false);
    ck_assert(may_have(host, "ipn:7.0", "192.0.2.8:1", false, NULL));
    /* a route over another unconfigured peer's link is an operator's, too */
    change_route(b, "ipn:9.*", "b/ipn:8.0", true);
    ck_assert(is_in(b, "b/ipn:8.0"));
    ck_assert(!may_have(host, "ipn:9.0", "192.0.2.7:1", false, "over link b/ipn:8.0"));
    stop(b);
}
END_TEST

static void add_contacts(struct bench *b, const char *text)
{
    struct conf_errors e;
    conf_errors_init(&e, "test");
    ck_assert_msg(node_plan_add(&b->n, text, strlen(text), &e) == 0, "%s", e.text[0]);
    turn(b);
}

/* Nodes with which the contact plan has contacts of this node, in either direction; nodes behind
 * them are free. A change of the plan ends the links of those that have no evidence. */
START_TEST(names_of_the_contact_plan)
{
    char path[] = "/tmp/names-XXXXXX.yaml", text[512];
    FILE *f = fdopen(mkstemps(path, 5), "w");
    ck_assert(f != NULL && fputs("contacts:\n"
                                 "  - {from: 1, to: 7, start: 1h, end: 2h, rate: unlimited}\n"
                                 "  - {from: 8, to: 1, start: 1h, end: 2h, rate: unlimited}\n"
                                 "  - {from: 7, to: 9, start: 1h, end: 2h, rate: unlimited}\n",
                                 f) >= 0);
    ck_assert_int_eq(fclose(f), 0);
    snprintf(text, sizeof text, "%splan: %s\n", TWO, path);
    struct bench *b = start(text);
    ck_assert_int_eq(unlink(path), 0);
    struct memory *host = link_of(b, "b");
    static const char *const planned[] = {"ipn:7.0", "ipn:8.0"};
    for (size_t i = 0; i < 2; i++) {
        ck_assert(!may_have(host, planned[i], "192.0.2.8:1", false,
                            "the contact plan has contacts with it. It may connect with a"));
        ck_assert(may_have(host, planned[i], NULL, true, NULL));
    }
    ck_assert(may_have(host, "ipn:9.0", "192.0.2.8:1", false, NULL));
    struct memory *nine = come_in(b, host, "ipn:9.0"), *ten = come_in(b, host, "ipn:10.0");
    tell_link(b, nine, true);
    tell_link(b, ten, true);
    add_contacts(b, "contacts: [{from: 1, to: 5, start: 1h, end: 2h, rate: unlimited}]");
    ck_assert(is_in(b, "b/ipn:9.0") && is_in(b, "b/ipn:10.0"));
    add_contacts(b, "contacts: [{from: 1, to: 9, start: 1h, end: 2h, rate: unlimited}]");
    ck_assert(!is_in(b, "b/ipn:9.0") && is_in(b, "b/ipn:10.0"));
    stop(b);
}
END_TEST

/* What spoke for a name is asked again when links or their keys are others. */
START_TEST(evidence_that_ends)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a"), *host = link_of(b, "b");
    char why[256] = "";
    host_key("192.0.2.7:1113", a->remote);
    struct memory *two = come_in(b, host, "ipn:2.0");
    host_key("192.0.2.7:4444", two->from);
    tell_link(b, two, true);
    change_route(b, "ipn:7.*", "a", true); /* something changes, but not for it */
    ck_assert(is_in(b, "b/ipn:2.0"));
    node_link_remove(node_link_find(&b->n, "a"));
    turn(b);
    ck_assert(is_in(b, "b/ipn:2.0")); /* nobody else has the name now */
    ck_assert_int_eq(add(b, "a", "{name: a, adapter: memory, peer: ipn:2.0}", why, sizeof why), 0);
    turn(b);
    ck_assert(!is_in(b, "b/ipn:2.0")); /* it has another remote */
    /* likewise when the link stays, and has another remote */
    a = link_of(b, "a");
    host_key("192.0.2.7:1113", a->remote);
    two = come_in(b, host, "ipn:2.0");
    host_key("192.0.2.7:4444", two->from);
    tell_link(b, two, true);
    host_key("192.0.2.9:1113", a->remote);
    struct conf_errors errors;
    struct node_link *l = node_link_find(&b->n, "a");
    conf_errors_init(&errors, "a");
    struct config_link *good =
        config_link_change(l->config, "{window: 4}", 11, &b->config.node, &errors);
    ck_assert_int_eq(node_link_set(l, good, why, sizeof why), 0);
    turn(b);
    ck_assert(!is_in(b, "b/ipn:2.0"));
    stop(b);
}
END_TEST

/* A static route is asked first, then a peer that says that it reaches it and is up. */
START_TEST(an_adapter_knows_what_it_reaches)
{
    struct bench *b =
        start("  - {name: a, adapter: memory, peer: ipn:2.0}\n"
              "  - {name: b, adapter: memory, peer: ipn:3.0, reaches: \"ipn:5.*\"}\n");
    struct memory *a = link_of(b, "a"), *far = link_of(b, "b");
    tell_link(b, a, true);
    ck_assert_int_eq(submit(b, "ipn:5.1", 10), REFUSE_NO_ROUTE); /* it is not up */
    tell_link(b, far, true);
    ck_assert_int_eq(submit(b, "ipn:5.1", 10), REFUSE_NONE);
    ck_assert_int_eq(submit(b, "ipn:6.1", 10), REFUSE_NO_ROUTE);
    ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(far->len, 1);
    ck_assert_uint_eq(a->len, 1);
    tell_done(b, far, 0, CLA_DELIVERED, CLA_REASON_NONE);
    tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    stop(b);
}
END_TEST

START_TEST(come_change_and_go)
{
    struct bench *b = start(TWO);
    struct conf_errors errors;
    char why[256] = "";
    ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert_int_eq(add(b, "a", "{name: a, adapter: memory, peer: ipn:2.0}", why, sizeof why),
                     HELIO_EEXIST);
    ck_assert_int_eq(
        add(b, "x", "{name: x, adapter: memory, peer: ipn:2.0, window: 13}", why, sizeof why),
        HELIO_EINVAL);
    ck_assert_str_eq(why, "window: 13 brings no luck");
    ck_assert_uint_eq(node_links_count(&b->n), 2);
    ck_assert_int_eq(add(b, "c", "{name: c, adapter: memory, peer: ipn:2.0}", why, sizeof why), 0);
    struct memory *c = link_of(b, "c");
    tell_link(b, c, true);
    ck_assert_uint_eq(c->len, 1); /* that waited for a */
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert_uint_eq(c->len, 2);
    struct node_link *l = node_link_find(&b->n, "c");
    conf_errors_init(&errors, "c");
    ck_assert_ptr_null(
        config_link_change(l->config, "{reaches: \"*\"}", 14, &b->config.node, &errors));
    ck_assert_ptr_nonnull(strstr(errors.text[0], "cannot change while the link is there"));
    conf_errors_init(&errors, "c");
    struct config_link *bad =
        config_link_change(l->config, "{window: 13}", 12, &b->config.node, &errors);
    ck_assert_int_eq(node_link_set(l, bad, why, sizeof why), HELIO_EINVAL);
    config_link_free(bad);
    struct config_link *good =
        config_link_change(l->config, "{window: 4}", 11, &b->config.node, &errors);
    ck_assert_int_eq(node_link_set(l, good, why, sizeof why), 0);
    turn(b);
    ck_assert_uint_eq(c->len, 4);
    node_link_remove(l);
    turn(b);
    tell_link(b, link_of(b, "a"), true);
    ck_assert_uint_eq(link_of(b, "a")->len, 2);
    for (int i = 0; i < 6; i++)
        tell_done(b, link_of(b, "a"), 0, CLA_DELIVERED, CLA_REASON_NONE);
    ck_assert_uint_eq(held(b), 0);
    ck_assert_uint_eq(agent_counters(b->n.agent)->ended[END_FORWARDED], 6);
    stop(b);
}
END_TEST

SUITE(tools_links, t)
{
    tcase_add_test(t, outcomes);
    tcase_add_test(t, verdicts);
    tcase_add_test(t, states);
    tcase_add_test(t, limits_change);
    tcase_add_test(t, neighbours_come_in);
    tcase_add_test(t, names_of_configured_peers);
    tcase_add_test(t, names_of_links_that_are_added);
    tcase_add_test(t, names_of_routes_that_are_added);
    tcase_add_test(t, names_of_the_contact_plan);
    tcase_add_test(t, evidence_that_ends);
    tcase_add_test(t, an_adapter_knows_what_it_reaches);
    tcase_add_test(t, come_change_and_go);
}
