/* SPDX-License-Identifier: Apache-2.0 */
/* A full node: what a link that can wait brings is held, and nothing more is read of it. A link
 * that cannot wait rests when its bundles take long, at once or later. */
#include "tests/unit/tools_links.h"

#include "node/node_hold.h"
#include "node/node_security.h"
#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"

#define COUNT 30

static const char PATIENT[] = "  - {name: a, adapter: patient, peer: ipn:2.0}\n"
                              "  - {name: b, adapter: memory, peer: ipn:3.0}\n"
                              "bundles: {count: 30, reserve: 0, reserve_queues: 0, source: %d}\n";

static void bundle_to_three(struct bundle *w)
{
    bundle_init(w);
    ck_assert_int_eq(eid_parse("ipn:9.4", &w->id.source), 0);
    ck_assert_int_eq(eid_parse("ipn:3.1", &w->destination), 0);
    w->report_to = w->id.source;
    w->id.time_ms = UINT64_C(820540800000);
    w->lifetime_ms = 600000;
    w->payload = slice_of("data", 4);
}

/* As many as the node takes; the next one is held. */
static unsigned fill(struct bench *b, struct memory *from, struct bundle *w)
{
    unsigned taken = 0;
    while (!from->paused) {
        const enum cla_verdict v = bring(b, from, w, 0);
        ck_assert(v == CLA_ACCEPTED || v == CLA_VERDICT_COUNT); /* none is refused */
        taken += v == CLA_ACCEPTED;
        w->id.sequence++;
        ck_assert_uint_le(taken, COUNT);
    }
    return taken;
}

static void pass(struct bench *b, tick time)
{
    virtual_advance(&b->v, b->v.now + time);
    virtual_fire(&b->v);
    turn(b);
}

/* 0: all of it is full; 1: the part that its only source may have. */
START_TEST(held_until_there_is_room)
{
    char text[512];
    struct bundle w;
    snprintf(text, sizeof text, PATIENT, _i == 0 ? 100 : 50);
    struct bench *b = start(text);
    struct memory *from = link_of(b, "a"), *to = link_of(b, "b");
    struct node_link *l = node_link_find(&b->n, "a");
    const struct agent_counters *k = agent_counters(b->n.agent);
    bundle_to_three(&w);
    const unsigned most = fill(b, from, &w);
    ck_assert(_i == 0 ? most == COUNT : most < COUNT && most > COUNT / 4);
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_VERDICT_COUNT); /* no answer */
    ck_assert_uint_eq(l->held_len, 2);
    ck_assert_uint_eq(k->arriving_bytes, l->held_bytes);
    ck_assert_uint_eq(k->offered, most);
    for (int i = 0; i < 9; i++)
        pass(b, TICK_S); /* it is tried again, and nothing else happens */
    ck_assert_uint_eq(k->offered, most);
    tell_link(b, to, true);
    while (held(b) > 0 || l->held_len > 0) {
        if (to->len > 0)
            tell_done(b, to, 0, CLA_DELIVERED, CLA_REASON_NONE);
        pass(b, 2 * TICK_S);
    }
    ck_assert(!from->paused);
    ck_assert_uint_eq(from->accepted, most + 2);
    ck_assert_uint_eq(l->held_total, 2);
    ck_assert_uint_eq(k->arriving_bytes, 0);
    ck_assert_uint_eq(k->refused[REFUSE_FULL] + k->refused[REFUSE_QUOTA], 0);
    stop(b);
}
END_TEST

/* At this time, once more a second later: what the node's log compares. */
static void watch_until(struct bench *b, tick to)
{
    while (b->v.now < to) {
        pass(b, TICK_S);
        node_watch_tick(&b->n);
    }
}

/* The log has a stop of more than 5 s, once a minute at most, and that the link reads on. */
START_TEST(a_long_stop_is_told)
{
    char text[512];
    struct bundle w;
    snprintf(text, sizeof text, PATIENT, 100);
    struct bench *b = start(text);
    struct memory *from = link_of(b, "a"), *to = link_of(b, "b");
    struct stop_watch *s = &node_link_find(&b->n, "a")->watch.stop;
    bundle_to_three(&w);
    const tick began = b->v.now;
    (void)fill(b, from, &w);
    watch_until(b, began + 4 * TICK_S);
    ck_assert(s->running && s->stopped && !s->told);
    watch_until(b, began + 6 * TICK_S);
    ck_assert(s->told && s->refusal == REFUSE_FULL && s->shortage.limit == AGENT_LIMIT_COUNT);
    tell_link(b, to, true);
    tell_done(b, to, 0, CLA_DELIVERED, CLA_REASON_NONE);
    watch_until(b, began + 10 * TICK_S);
    ck_assert(!s->stopped && s->told); /* it may stop again at once: the same stop */
    watch_until(b, began + 13 * TICK_S);
    ck_assert(!s->running && !s->told);
    while (!from->paused) { /* again, within the minute */
        w.id.sequence++;
        (void)bring(b, from, &w, 0);
    }
    watch_until(b, began + 60 * TICK_S);
    ck_assert(s->stopped && !s->told);
    watch_until(b, began + 70 * TICK_S);
    ck_assert(s->told);
    stop(b);
}
END_TEST

/* A source that has its part does not stop the others of its neighbour: it is refused. */
START_TEST(not_at_the_cost_of_others)
{
    char text[512];
    struct bundle w;
    snprintf(text, sizeof text, PATIENT, 50);
    struct bench *b = start(text);
    struct memory *from = link_of(b, "a");
    bundle_to_three(&w);
    ck_assert_int_eq(eid_parse("ipn:8.4", &w.id.source), 0);
    tell_link(b, link_of(b, "b"), true);
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_ACCEPTED);
    tell_done(b, link_of(b, "b"), 0, CLA_DELIVERED, CLA_REASON_NONE); /* it is no forged one */
    tell_link(b, link_of(b, "b"), false);
    w.id.sequence++;
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_ACCEPTED);
    ck_assert_int_eq(eid_parse("ipn:9.4", &w.id.source), 0);
    enum cla_verdict v = CLA_ACCEPTED;
    for (int i = 0; i < COUNT && v == CLA_ACCEPTED; i++, w.id.sequence++)
        v = bring(b, from, &w, 0);
    ck_assert_int_eq(v, CLA_FULL);
    ck_assert(!from->paused);
    ck_assert_int_eq(eid_parse("ipn:8.4", &w.id.source), 0);
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_ACCEPTED);
    stop(b);
}
END_TEST

/* A link that goes takes what is held along. */
START_TEST(what_is_not_held)
{
    char text[512];
    struct bundle w;
    snprintf(text, sizeof text, PATIENT, 100);
    struct bench *b = start(text);
    struct memory *from = link_of(b, "a");
    const struct agent_counters *k = agent_counters(b->n.agent);
    bundle_to_three(&w);
    (void)fill(b, from, &w);
    node_link_remove(node_link_find(&b->n, "a"));
    turn(b);
    ck_assert_uint_eq(k->arriving_bytes, 0);
    stop(b);
}
END_TEST

/* ---- links that cannot wait ---- */

static const char RESTING[] = "  - {name: a, adapter: memory, peer: ipn:2.0}\n"
                              "  - {name: b, adapter: memory, peer: ipn:3.0}\n";

static void bundle_to_us(struct bundle *w)
{
    bundle_to_three(w);
    ck_assert_int_eq(eid_parse("ipn:1.7", &w->destination), 0);
}

static struct world_ops slow_ops;
static tick step; /* that each reading of the clock takes */

static tick read_slowly(const struct world *w)
{
    struct virtual_world *v =
        container_of((struct world *)(uintptr_t)w, struct virtual_world, world);
    if (step > 0)
        virtual_advance(v, v->now + step);
    return v->now;
}

static struct bench *start_slow(void)
{
    struct bench *b = start(RESTING);
    step = 0;
    slow_ops = *b->v.world.ops;
    slow_ops.now = slow_ops.processor = read_slowly;
    b->v.world.ops = &slow_ops;
    return b;
}

/* One that takes 2 ms or more, where 50 us are fair. */
static enum cla_verdict bring_slow(struct bench *b, struct memory *m, struct bundle *w)
{
    step = TICK_MS;
    w->id.sequence++;
    const enum cla_verdict v = bring(b, m, w, 0);
    step = 0;
    return v;
}

static enum cla_verdict bring_quick(struct bench *b, struct memory *m, struct bundle *w)
{
    w->id.sequence++;
    return bring(b, m, w, 0);
}

/* Beside others it rests, for three times as long as it took: what it brings meanwhile is held. */
START_TEST(who_takes_long_rests)
{
    struct bundle w;
    struct bench *b = start_slow();
    struct memory *slow = link_of(b, "a"), *quick = link_of(b, "b");
    struct node_link *l = node_link_find(&b->n, "a");
    bundle_to_us(&w);
    ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED);
    ck_assert_int_eq(bring_slow(b, slow, &w), CLA_ACCEPTED);
    ck_assert_uint_eq(l->rests, 1);
    const tick ends = b->n.rests.until;
    ck_assert_uint_ge(ends, b->v.now + TICK_MS);
    ck_assert_int_eq(bring_quick(b, slow, &w), CLA_VERDICT_COUNT);
    ck_assert_int_eq(bring_quick(b, slow, &w), CLA_VERDICT_COUNT);
    ck_assert_uint_eq(l->held_len, 2);
    ck_assert_uint_eq(agent_counters(b->n.agent)->arriving_bytes, l->held_bytes);
    ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED); /* it waits for nobody */
    ck_assert_uint_le(alarm_due(&b->n.deadline), ends);
    pass(b, ends - b->v.now - 1);
    ck_assert_uint_eq(l->held_len, 2);
    pass(b, 1);
    ck_assert_uint_eq(l->held_len, 0);
    ck_assert_uint_eq(slow->accepted, 3);
    ck_assert_uint_eq(agent_counters(b->n.agent)->arriving_bytes, 0);
    ck_assert_uint_eq(l->rest_refused, 0);
    stop(b);
}
END_TEST

/* By itself it goes on: nobody waits for it. */
START_TEST(alone_it_does_not_rest)
{
    struct bundle w;
    struct bench *b = start_slow();
    struct memory *slow = link_of(b, "a");
    bundle_to_us(&w);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(bring_slow(b, slow, &w), CLA_ACCEPTED);
    ck_assert_uint_eq(node_link_find(&b->n, "a")->rests, 0);
    stop(b);
}
END_TEST

/* After a rest its long ones are taken one by one, each with a rest behind it. */
START_TEST(one_after_the_other)
{
    struct bundle w;
    struct bench *b = start_slow();
    struct memory *slow = link_of(b, "a"), *quick = link_of(b, "b");
    struct node_link *l = node_link_find(&b->n, "a");
    bundle_to_us(&w);
    ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED);
    ck_assert_int_eq(bring_slow(b, slow, &w), CLA_ACCEPTED);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(bring_quick(b, slow, &w), CLA_VERDICT_COUNT);
    for (unsigned left = 3; left > 0; left--) {
        ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED);
        const tick ends = b->n.rests.until;
        ck_assert_uint_gt(ends, b->v.now);
        virtual_advance(&b->v, ends);
        step = TICK_MS;
        virtual_fire(&b->v);
        turn(b);
        step = 0;
        ck_assert_uint_eq(l->held_len, left - 1);
    }
    ck_assert_uint_eq(l->rests, 4);
    stop(b);
}
END_TEST

/* More than HOLD_REST_BYTES is refused unread. */
START_TEST(what_is_too_much_is_refused)
{
    enum { LONG = HOLD_REST_BYTES / 2 + 1 };
    struct bundle w;
    struct bench *b = start_slow();
    struct memory *slow = link_of(b, "a"), *quick = link_of(b, "b");
    struct node_link *l = node_link_find(&b->n, "a");
    uint8_t *payload = calloc(1, LONG);
    bundle_to_us(&w);
    ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED);
    ck_assert_int_eq(bring_slow(b, slow, &w), CLA_ACCEPTED);
    w.payload = slice_of(payload, LONG);
    const uint64_t offered = agent_counters(b->n.agent)->offered;
    ck_assert_int_eq(bring_quick(b, slow, &w), CLA_VERDICT_COUNT);
    ck_assert_int_eq(bring_quick(b, slow, &w), CLA_FULL);
    ck_assert_uint_eq(agent_counters(b->n.agent)->offered, offered);
    ck_assert_uint_eq(l->rest_refused, 1);
    ck_assert_uint_eq(l->held_len, 1);
    node_link_remove(l); /* and takes it along */
    turn(b);
    ck_assert_uint_eq(agent_counters(b->n.agent)->arriving_bytes, 0);
    free(payload);
    stop(b);
}
END_TEST

/* ---- bundles that are verified ---- */

#define SECURED_LEN 900000

static struct node_security secured;
static struct security_ring ring;

static struct security_rule hmac_rule(enum security_role role)
{
    struct security_rule r = {.role = role, .target = 1, .type = SECURITY_BIB, .key = "k"};
    r.from.len = r.to.len = 1;
    r.from.at[0].any = r.to.at[0].any = true;
    return r;
}

static struct security_policy *policy_of(const char *node, enum security_role role)
{
    struct security_policy *p;
    struct eid own;
    const struct security_rule rule = hmac_rule(role);
    ck_assert_int_eq(eid_parse(node, &own), 0);
    ck_assert_int_eq(security_policy_new(&p, &own, &secured.crypto, &ring), 0);
    ck_assert_int_eq(security_policy_set(p, &rule, 1), 0);
    return p;
}

/* The node wants signed payloads. */
static void secure_node(struct bench *b)
{
    ck_assert(crypto_open(&secured.crypto));
    ring = (struct security_ring){.len = 1};
    ring.at[0] = (struct security_key){.id = "k",
                                       .algorithm = SECURITY_KEY_HMAC_384,
                                       .until_ms = UINT64_MAX,
                                       .uses_max = UINT64_MAX,
                                       .secret = {1, 2, 3},
                                       .secret_len = 48};
    secured.ring = &ring;
    secured.policy = policy_of("ipn:1.0", SECURITY_ROLE_ACCEPTOR);
    agent_security(b->n.agent, secured.policy);
    b->n.security = &secured;
}

static void stop_secured(struct bench *b)
{
    agent_security(b->n.agent, NULL);
    b->n.security = NULL;
    security_policy_free(secured.policy);
    crypto_close(&secured.crypto);
    stop(b);
}

/* As bring_slow, signed. */
static enum cla_verdict bring_signed(struct bench *b, struct memory *m, struct bundle *w,
                                     bool forged)
{
    struct security_policy *p = policy_of("ipn:9.0", SECURITY_ROLE_SOURCE);
    struct buf *plain = bundle_encode_copy(w);
    struct security_outcome out;
    ck_assert_ptr_nonnull(plain);
    security_policy_send(p, plain, w, w->id.time_ms, NULL, &out);
    ck_assert_int_eq(out.reason, SECURITY_PASSED);
    ck_assert_ptr_nonnull(out.made);
    buf_drop(plain);
    security_policy_free(p);
    if (forged)
        buf_data(out.made)[out.made->len - 2] ^= 1;
    m->verdict = CLA_VERDICT_COUNT;
    step = TICK_MS;
    m->env.events.received(m->env.events.context, &m->cla, out.made, 1);
    step = 0;
    turn(b);
    return m->verdict;
}

/* The time that verifying takes is fair, of a bundle that is accepted: not of a forged one, nor of
 * one that was here before. 0: true; 1: forged; 2: true, and then the same again. */
START_TEST(verified_bundles_do_not_rest)
{
    struct bundle w;
    struct bench *b = start_slow();
    struct memory *slow = link_of(b, "a"), *quick = link_of(b, "b");
    const struct node_link *l = node_link_find(&b->n, "a");
    uint8_t *payload = calloc(1, SECURED_LEN);
    ck_assert_ptr_nonnull(payload);
    bundle_to_us(&w);
    ck_assert_int_eq(bring_quick(b, quick, &w), CLA_ACCEPTED);
    secure_node(b);
    w.payload = slice_of(payload, SECURED_LEN);
    w.id.sequence++;
    const enum cla_verdict v = bring_signed(b, slow, &w, _i == 1);
    ck_assert_int_eq(v, _i == 1 ? CLA_FAULTY : CLA_ACCEPTED);
    ck_assert_uint_eq(l->rests, _i == 1);
    if (_i == 2)
        (void)bring_signed(b, slow, &w, false);
    ck_assert_uint_eq(l->rests, _i > 0);
    free(payload);
    stop_secured(b);
}
END_TEST

/* ---- bundles that come in fragments, and are verified when all are here ---- */

/* A half of an unsigned bundle comes; the node has no turn. */
static void bring_half(struct memory *m, const struct bundle *w, uint64_t at)
{
    struct bundle b = *w;
    b.flags |= BUNDLE_IS_FRAGMENT;
    b.id.fragment = true;
    b.id.offset = at;
    b.id.total = w->payload.len;
    b.payload = slice_of(w->payload.data + at, w->payload.len / 2);
    m->env.events.received(m->env.events.context, &m->cla, bundle_encode_copy(&b), 1);
}

/* Both halves of a new one: the first by one link, then the other one. */
static void bring_halves(struct memory *first, struct memory *second, struct bundle *w)
{
    w->id.sequence++;
    bring_half(first, w, 0);
    bring_half(second, w, w->payload.len / 2);
}

static void turn_slowly(struct bench *b)
{
    step = TICK_MS;
    turn(b);
    step = 0;
}

/* A node that wants signed bundles, and has received a quick one by link b. */
static struct bench *start_verifying(struct bundle *w, uint32_t window)
{
    struct bench *b = start_slow();
    bundle_to_us(w);
    ck_assert_int_eq(bring_quick(b, link_of(b, "b"), w), CLA_ACCEPTED);
    secure_node(b);
    ck_assert_int_eq(eid_parse("ipn:1.8", &w->destination), 0);
    ck_assert_int_eq(agent_register(b->n.agent, 99, &w->destination, window, node_now(&b->n)), 0);
    return b;
}

static uint64_t count_missing(void)
{
    return security_policy_counters(secured.policy)->failed[SECURITY_REASON_MISSING];
}

/* The link that brought the first fragment rests, whichever brought the last one. */
START_TEST(late_verification_is_charged)
{
    struct bundle w;
    struct bench *b = start_verifying(&w, 1);
    struct memory *at[] = {link_of(b, "a"), link_of(b, "b")};
    const struct node_link *a = node_link_find(&b->n, "a");
    bring_halves(at[_i], at[1 - _i], &w);
    turn_slowly(b);
    ck_assert_uint_eq(count_missing(), 1);
    ck_assert_uint_eq(a->rests, _i == 0);
    ck_assert_uint_eq(node_link_find(&b->n, "b")->rests, _i == 1);
    bring_half(at[0], &w, 0);
    ck_assert_uint_eq(a->held_len, _i == 0);
    stop_secured(b);
}
END_TEST

/* One that takes long is followed by a pause, so that the loop is there for others. 1: also when
 * its link is gone, and nobody is charged. */
START_TEST(verification_leaves_time)
{
    enum { SOME = 3 };
    struct bundle w;
    struct bench *b = start_verifying(&w, 1);
    struct memory *from = link_of(b, "a");
    for (unsigned i = 0; i < SOME; i++)
        bring_halves(from, from, &w);
    if (_i == 1)
        node_link_remove(node_link_find(&b->n, "a"));
    for (unsigned i = 1; i <= SOME; i++) {
        const tick began = b->v.now;
        turn_slowly(b);
        ck_assert_uint_eq(count_missing(), i);
        const tick took = b->v.now - began, due = alarm_due(&b->n.deadline);
        ck_assert_uint_ge(due, b->v.now + TICK_MS); /* one took 2 ms or more */
        ck_assert_uint_le(due, b->v.now + REST_SHARED * took);
        node_wake(&b->n);
        turn(b); /* too soon */
        ck_assert_uint_eq(count_missing(), i);
        virtual_advance(&b->v, due);
        virtual_fire(&b->v);
    }
    turn(b);
    ck_assert_uint_gt(alarm_due(&b->n.deadline), b->v.now + TICK_S);
    stop_secured(b);
}
END_TEST

SUITE(tools_held, t)
{
    tcase_add_loop_test(t, held_until_there_is_room, 0, 2);
    tcase_add_test(t, not_at_the_cost_of_others);
    tcase_add_test(t, what_is_not_held);
    tcase_add_test(t, a_long_stop_is_told);
    tcase_add_test(t, who_takes_long_rests);
    tcase_add_test(t, alone_it_does_not_rest);
    tcase_add_test(t, one_after_the_other);
    tcase_add_test(t, what_is_too_much_is_refused);
    tcase_add_loop_test(t, verified_bundles_do_not_rest, 0, 3);
    tcase_add_loop_test(t, late_verification_is_charged, 0, 2);
    tcase_add_loop_test(t, verification_leaves_time, 0, 2);
}
