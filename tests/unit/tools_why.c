/* SPDX-License-Identifier: Apache-2.0 */
/* One bundle in sentences, at a node in virtual time: in each place where it can wait. */
#include "tests/unit/tools_links.h"

#include <jansson.h>

#include "node/control/control.h"
#include "tests/unit/suite.h"

static const char TWO[] = "  - {name: a, adapter: memory, peer: ipn:2.0}\n"
                          "  - {name: b, adapter: memory, peer: ipn:3.0}\n";

static json_t *ask(struct bench *b, const char *bundle)
{
    char line[256];
    snprintf(line, sizeof line, "{\"cmd\": \"why\", \"bundle\": \"%s\"}", bundle);
    json_t *answer =
        control_answer(&b->n, &(struct control_who){false, "the test"}, line, strlen(line));
    ck_assert_ptr_nonnull(answer);
    return answer;
}

/* The answer to this question has the text. */
static void says(struct bench *b, const char *bundle, const char *question, const char *text)
{
    json_t *answer = ask(b, bundle);
    const char *is = json_string_value(json_object_get(answer, question));
    ck_assert_msg(is != NULL && strstr(is, text) != NULL, "%s: %s, not %s", question,
                  is == NULL ? "nothing" : is, text);
    json_decref(answer);
}

START_TEST(on_a_link)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    says(b, "1", "where", "in the queue of link a");
    says(b, "1", "why", "link a is down");
    says(b, "1", "next", "when link a is up, or over another link");
    a->gauges.off = true;
    says(b, "1", "why", "link a is down: it is set to down; helioctl link NAME up");
    a->gauges.off = false;
    a->gauges.refused = true;
    says(b, "1", "why", "link a is refused");
    says(b, "1", "next", "the link tries again by itself");
    tell_link(b, a, true);
    says(b, "1", "where", "given to link a; its outcome is not known yet");
    says(b, "1", "why", "the link is unheard");
    says(b, "1", "next", "with the acknowledgement it leaves this node");
    says(b, "4", "where", "in the queue of link a");
    says(b, "4", "why", "has all bundles that it may have at once (2); 3 other bundles (");
    says(b, "4", "next", "it is forwarded over link a when its turn comes");
    a->gauges.given_up = true;
    says(b, "4", "why", "the link is silent");
    says(b, "4", "next", "memory keeps asking the peer for an answer");
    a->gauges.given_up = false;
    says(b, "1", "tried", "no try has failed");
    uint64_t key = a->keys[0];
    ck_assert_uint_eq(key, 1);
    tell_done(b, a, 0, CLA_FAILED, CLA_REASON_NO_ANSWER);
    says(b, "1", "where", "in the queue of link a");
    says(b, "1", "why", "forwarding failed, and it pauses before the next try");
    says(b, "1", "tried", "1 try failed, the last one: no answer");
    says(b, "1", "next", "it is tried again in 1 s; sooner if");
    stop(b);
}
END_TEST

START_TEST(declined_and_gone)
{
    struct bench *b = start("  - {name: a, adapter: memory, peer: ipn:2.0}\n"
                            "  - {name: b, adapter: memory, peer: ipn:2.0}\n");
    struct memory *a = link_of(b, "a"), *other = link_of(b, "b");
    ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    tell_link(b, a, true);
    ck_assert_uint_eq(a->len, 1);
    tell_done(b, a, 0, CLA_DECLINED, CLA_REASON_PEER_DECLINED);
    says(b, "1", "where", "in the queue of link b");
    says(b, "1", "tried",
         "1 try failed, the last one: the peer says that it is not acceptable; never accepted by "
         "the peer of a");
    tell_link(b, other, true);
    tell_done(b, other, 0, CLA_DELIVERED, CLA_REASON_NONE);
    says(b, "1", "where", "not at this node");
    says(b, "1", "why", "it was here, and was delivered, forwarded or deleted, or expired");
    says(b, "2", "why", "it was never here");
    says(b, "0", "why", "it was never here");
    stop(b);
}
END_TEST

/* A bundle by its id, while it is here and when it was forwarded; other ids; what is no id. */
START_TEST(by_id)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    struct agent_bundle_info is;
    char id[96];
    ck_assert_int_eq(submit(b, "ipn:2.1", 10), REFUSE_NONE);
    ck_assert(agent_bundle_find(b->n.agent, 1, &is));
    snprintf(id, sizeof id, "ipn:1.5,%llu,%llu", (unsigned long long)is.id.time_ms,
             (unsigned long long)is.id.sequence);
    says(b, id, "where", "in the queue of link a");
    json_t *answer = ask(b, id);
    const json_t *bundle = json_object_get(answer, "bundle");
    ck_assert_int_eq(json_integer_value(json_object_get(bundle, "key")), 1);
    ck_assert_str_eq(json_string_value(json_object_get(bundle, "destination")), "ipn:2.1");
    ck_assert_str_eq(json_string_value(json_object_get(bundle, "link")), "a");
    ck_assert_str_eq(json_string_value(json_object_get(answer, "link_state")), "down");
    json_decref(answer);
    tell_link(b, a, true);
    tell_done(b, a, 0, CLA_DELIVERED, CLA_REASON_NONE);
    says(b, id, "where", "not at this node");
    says(b, id, "why", "this node forwarded it");
    says(b, "ipn:7.5,12,3", "why", "it was never here, or was refused, or its id is forgotten");
    static const char *const wrong[] = {"x",           "-1",           "ipn:1.5", "ipn:1.5,1",
                                        "ipn:1.5,1,x", ",1,2",         "1,2",     "ipn:1.5,,2",
                                        "nobody,1,2",  "ipn:1.5,1,2,", ",,",      ","};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        answer = ask(b, wrong[i]);
        ck_assert_msg(json_is_false(json_object_get(answer, "ok")) &&
                          json_is_true(json_object_get(answer, "usage")),
                      "%s", wrong[i]);
        json_decref(answer);
    }
    stop(b);
}
END_TEST

/* For an endpoint here that nobody has registered; without a route. */
START_TEST(here_and_nowhere)
{
    struct bench *b = start(TWO);
    struct memory *a = link_of(b, "a");
    struct bundle w;
    ck_assert_int_eq(submit(b, "ipn:1.9", 10), REFUSE_NONE);
    says(b, "1", "where", "in the queue of ipn:1.9, at this node");
    says(b, "1", "why", "no application is registered there");
    says(b, "1", "next", "it is given to the application that registers there");
    ck_assert_int_eq(submit(b, "ipn:3.1", 10), REFUSE_NONE);
    node_link_remove(node_link_find(&b->n, "b"));
    turn(b);
    says(b, "2", "where", "waiting without a route");
    says(b, "2", "why", "no route leads to ipn:3.1");
    says(b, "2", "next", "asked again when routes, plan or links change");
    bundle_init(&w);
    ck_assert_int_eq(eid_parse("ipn:9.4", &w.id.source), 0);
    ck_assert_int_eq(eid_parse("ipn:1.9", &w.destination), 0);
    w.report_to = w.id.source;
    w.id.time_ms = UINT64_C(820540800000); /* the day when the bench begins */
    w.lifetime_ms = 60000;
    w.flags |= BUNDLE_IS_FRAGMENT;
    w.id.fragment = true;
    w.id.total = 100;
    w.payload = slice_of("data", 4);
    ck_assert_int_eq(bring(b, a, &w, 0), CLA_ACCEPTED);
    says(b, "3", "where", "here, as a fragment of a bundle for this node");
    says(b, "3", "why", "other fragments are missing");
    stop(b);
}
END_TEST

SUITE(tools_why, t)
{
    tcase_add_test(t, on_a_link);
    tcase_add_test(t, declined_and_gone);
    tcase_add_test(t, by_id);
    tcase_add_test(t, here_and_nowhere);
}
