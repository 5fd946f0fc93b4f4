/* SPDX-License-Identifier: Apache-2.0 */
/* A full node: what a link that can wait brings is held, and nothing more is read of it. */
#include "tests/unit/tools_links.h"

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
    for (int i = 0; i < 10; i++)
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

int main(void)
{
    Suite *s = suite_create("held");
    TCase *t = tcase_create("held");
    tcase_add_loop_test(t, held_until_there_is_room, 0, 2);
    tcase_add_test(t, not_at_the_cost_of_others);
    tcase_add_test(t, what_is_not_held);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
