/* SPDX-License-Identifier: Apache-2.0 */
/* Links whose peer has no copy of a bundle any more, and hears of no refusal: what can wait does.
 */
#include "tests/unit/tools_links.h"

#include "node/node_hold.h"
#include "tests/unit/suite.h"

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

static void bundle_to_us(struct bundle *w)
{
    bundle_to_three(w);
    ck_assert_int_eq(eid_parse("ipn:1.7", &w->destination), 0);
}

static void pass(struct bench *b, tick time)
{
    virtual_advance(&b->v, b->v.now + time);
    virtual_fire(&b->v);
    turn(b);
}

/* Link a can wait, and its protocol has no refusal. */
static struct bench *start_last(const char *more)
{
    char text[700];
    snprintf(text, sizeof text,
             "  - {name: a, adapter: patient, peer: ipn:2.0}\n"
             "  - {name: b, adapter: memory, peer: ipn:3.0%s",
             more);
    struct bench *b = start(text);
    patient_ops.last_copy = true;
    return b;
}

/* The queue of one link is full: its bundles wait aside, others pass, and when too many wait
 * nothing more is read. None is refused. */
START_TEST(a_full_queue_loses_nothing)
{
    struct bundle w, here;
    struct bench *b = start_last(", queue_bundles: 5}\n");
    struct memory *from = link_of(b, "a"), *to = link_of(b, "b");
    const struct node_link *l = node_link_find(&b->n, "a");
    const struct agent_counters *k = agent_counters(b->n.agent);
    bundle_to_three(&w);
    bundle_to_us(&here);
    here.id.sequence = 1000000;
    for (unsigned i = 0; i < 5 + HOLD_ASIDE - 1; i++, w.id.sequence++) {
        ck_assert_int_eq(bring(b, from, &w, 0), i < 5 ? CLA_ACCEPTED : CLA_VERDICT_COUNT);
        ck_assert(!from->paused);
    }
    ck_assert_int_eq(bring(b, from, &here, 0), CLA_ACCEPTED); /* it passes them */
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_VERDICT_COUNT);
    ck_assert(from->paused);
    ck_assert_uint_eq(l->held_len, HOLD_ASIDE);
    ck_assert_uint_eq(k->refused[REFUSE_QUEUE], 0);
    tell_link(b, to, true);
    while (from->accepted < 6 + HOLD_ASIDE) {
        ck_assert_uint_gt(to->len + l->held_len, 0);
        if (to->len > 0)
            tell_done(b, to, 0, CLA_DELIVERED, CLA_REASON_NONE);
        pass(b, 2 * TICK_S);
    }
    ck_assert(!from->paused);
    ck_assert_uint_eq(k->refused[REFUSE_QUEUE], 0);
    ck_assert_uint_eq(k->arriving_bytes, 0);
    stop(b);
}
END_TEST

/* The rate of a rule: what is beyond it waits, is charged once, and is counted as no refusal. One
 * that waits past its lifetime ends. */
START_TEST(a_rate_loses_nothing)
{
    struct bundle w;
    struct bench *b = start_last("}\nrules:\n  - {peer: ipn:2.0, way: in, from: 'ipn:*.*', "
                                 "to: 'ipn:*.*', rate: 2, burst: 1}\n");
    struct memory *from = link_of(b, "a");
    const struct node_link *l = node_link_find(&b->n, "a");
    const struct agent_counters *k = agent_counters(b->n.agent);
    bundle_to_us(&w);
    for (unsigned i = 0; i < 10; i++, w.id.sequence++)
        ck_assert_int_eq(bring(b, from, &w, 0), i == 0 ? CLA_ACCEPTED : CLA_VERDICT_COUNT);
    ck_assert_uint_eq(l->held_len, 9);
    for (unsigned i = 0; i < 40; i++)
        pass(b, 250 * TICK_MS);
    ck_assert_uint_eq(from->accepted, 10);
    ck_assert_uint_eq(l->held_len, 0);
    ck_assert_uint_eq(k->refused[REFUSE_LIMIT], 0);
    ck_assert_uint_eq(permits_counters(agent_permits(b->n.agent, PERMIT_IN))->allowed, 10);
    ck_assert_uint_eq(permits_refusal(agent_permits(b->n.agent, PERMIT_IN))->count, 0);
    stop(b);
}
END_TEST

static bool store_full;
static unsigned store_puts;

static int put_bundle(struct storage *s, const struct agent_action *a)
{
    (void)s;
    store_puts++;
    if (store_full)
        return HELIO_ESPACE;
    agent_stored(((struct bench *)(void *)s)->n.agent, a->key, true,
                 node_now(&((struct bench *)(void *)s)->n));
    return 0;
}

static int remove_bundle(struct storage *s, const struct agent_action *a)
{
    (void)s;
    (void)a;
    return 0;
}

static void submit_none(struct storage *s)
{
    (void)s;
}

/* The store takes nothing: all wait, one of them tries it now and then, and nothing is read. */
START_TEST(a_full_store_loses_nothing)
{
    struct bundle w;
    struct bench *b = start_last("}\n");
    struct memory *from = link_of(b, "a");
    const struct node_link *l = node_link_find(&b->n, "a");
    struct node_ops with_store = *b->n.ops;
    with_store.put = put_bundle;
    with_store.remove = remove_bundle;
    with_store.submit = submit_none;
    b->n.ops = &with_store;
    b->n.storage = (struct storage *)(void *)b;
    bundle_to_us(&w);
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_ACCEPTED);
    store_full = true;
    for (unsigned i = 0; i < 4; i++) {
        w.id.sequence++;
        ck_assert_int_eq(bring(b, from, &w, 0), CLA_VERDICT_COUNT);
        ck_assert(from->paused);
    }
    ck_assert_uint_eq(l->held_len, 4);
    store_puts = 0;
    for (unsigned i = 0; i < 100; i++)
        pass(b, TICK_S);
    ck_assert_uint_ge(store_puts, 50);
    ck_assert_uint_le(store_puts, 120);
    ck_assert(from->paused && l->held_len == 4);
    store_full = false;
    for (unsigned i = 0; i < 3; i++)
        pass(b, TICK_S);
    ck_assert_uint_eq(from->accepted, 5);
    ck_assert(!from->paused);
    ck_assert_uint_eq(agent_counters(b->n.agent)->arriving_bytes, 0);
    store_full = true;
    w.id.sequence++;
    ck_assert_int_eq(bring(b, from, &w, 0), CLA_VERDICT_COUNT);
    b->n.storage = NULL;
    stop(b); /* while it waits */
}
END_TEST

SUITE(tools_held_last, t)
{
    tcase_add_test(t, a_full_queue_loses_nothing);
    tcase_add_test(t, a_rate_loses_nothing);
    tcase_add_test(t, a_full_store_loses_nothing);
}
