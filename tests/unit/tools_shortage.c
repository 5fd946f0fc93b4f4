/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no room for a bundle, in words: for the log, applications and helioctl why. */
#include "tests/unit/tools_links.h"

#include <jansson.h>

#include "node/control/control.h"
#include "node/node_shortage.h"
#include "tests/unit/suite.h"

static const char LINKS[] = "  - {name: a, adapter: patient, peer: ipn:2.0}\n"
                            "  - {name: b, adapter: memory, peer: ipn:3.0, queue_bundles: %d}\n"
                            "bundles: {count: 30, reserve: %d, reserve_queues: 0, source: 50}\n";

static void bundle_to(struct bundle *w, const char *to)
{
    bundle_init(w);
    ck_assert_int_eq(eid_parse("ipn:9.4", &w->id.source), 0);
    ck_assert_int_eq(eid_parse(to, &w->destination), 0);
    w->report_to = w->id.source;
    w->id.time_ms = UINT64_C(820540800000);
    w->lifetime_ms = 600000;
    w->payload = slice_of("data", 4);
}

/* Until one is not accepted; that one is in *w. */
static enum cla_verdict fill(struct bench *b, struct memory *from, struct bundle *w)
{
    enum cla_verdict v;
    w->id.sequence = 0;
    while ((v = bring(b, from, w, 0)) == CLA_ACCEPTED)
        w->id.sequence++;
    return v;
}

static void text_is(const struct bench *b, const char *expected)
{
    char text[SHORTAGE_TEXT_MAX];
    ck_assert_str_eq(node_shortage_text(&b->n, agent_shortage(b->n.agent), text), expected);
}

static json_t *why(struct bench *b, const struct bundle *w)
{
    char line[256];
    snprintf(line, sizeof line, "{\"cmd\": \"why\", \"bundle\": \"ipn:9.4,820540800000,%llu\"}",
             (unsigned long long)w->id.sequence);
    json_t *answer =
        control_answer(&b->n, &(struct control_who){false, "the test"}, line, strlen(line));
    ck_assert_ptr_nonnull(answer);
    return answer;
}

START_TEST(in_words)
{
    char text[512], reason[REFUSAL_TEXT_MAX];
    struct bundle w;
    snprintf(text, sizeof text, LINKS, 7, 0);
    struct bench *b = start(text);
    text_is(b, "no limit is known");
    ck_assert_str_eq(node_refusal_text(&b->n, REFUSE_QUOTA, reason),
                     agent_refusal_text(REFUSE_QUOTA));
    bundle_to(&w, "ipn:3.1");
    ck_assert_int_eq(fill(b, link_of(b, "a"), &w), CLA_FULL);
    text_is(b, "queue_bundles: 7 of 7 bundles of link b");
    bundle_to(&w, "ipn:1.7");
    w.id.time_ms++;
    ck_assert_int_eq(fill(b, link_of(b, "a"), &w), CLA_FULL);
    text_is(b,
            "bundles.endpoint: 6 of 6 bundles for endpoints without a receiver, such as ipn:1.7");
    ck_assert_str_eq(node_refusal_text(&b->n, REFUSE_QUOTA, reason),
                     "the share of its peer, source or idle endpoint in the node's limits is used "
                     "up (bundles.endpoint: 6 of 6 bundles for endpoints without a receiver, such "
                     "as ipn:1.7)");
    ck_assert_str_eq(node_refusal_text(&b->n, REFUSE_NO_ROUTE, reason),
                     agent_refusal_text(REFUSE_NO_ROUTE));
    stop(b);
}
END_TEST

/* A stream stops with the bundle that finds no room; who asks for it hears the limit. */
START_TEST(asked_for)
{
    char text[512];
    struct bundle w;
    snprintf(text, sizeof text, LINKS, 0, 40);
    struct bench *b = start(text);
    bundle_to(&w, "ipn:3.1");
    ck_assert_int_eq(fill(b, link_of(b, "a"), &w), CLA_VERDICT_COUNT); /* it waits */
    text_is(b, "bundles.source: 11 of 11 bundles of source ipn:9.4 and others that are new");
    json_t *answer = why(b, &w);
    ck_assert_str_eq(json_string_value(json_object_get(answer, "where")),
                     "not at this node; it arrived over link a");
    ck_assert_str_eq(json_string_value(json_object_get(answer, "why")),
                     "there was no room for it: bundles.source: 11 of 11 bundles of source "
                     "ipn:9.4 and others that are new");
    ck_assert(json_is_true(json_object_get(answer, "known")));
    json_decref(answer);
    w.id.sequence++;
    answer = why(b, &w);
    ck_assert(json_is_false(json_object_get(answer, "known"))); /* another one */
    json_decref(answer);
    stop(b);
}
END_TEST

SUITE(tools_shortage, t)
{
    tcase_add_test(t, in_words);
    tcase_add_test(t, asked_for);
}
