/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 64 bits on their way to an operator: each is shown as it is. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/control/control.h"
#include "node/node_events.h"
#include "tests/unit/suite.h"
#include "tools/ctl/ctl_table.h"

#define START_MS UINT64_C(800000000000)

static struct node *node_with(uint64_t sequence, uint64_t lifetime_ms)
{
    static const struct config nothing;
    struct node *n = calloc(1, sizeof *n);
    struct agent_config c = {.node = eid_ipn(0, 2, 0), .seed = 1};
    struct agent_now now = {.now = TICK_S, .dtn_ms = START_MS};
    struct agent_action a;
    ck_assert_ptr_nonnull(n);
    n->config = &nothing;
    ck_assert_int_eq(agent_new(&n->agent, &c), 0);
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, UINT64_MAX);
    b.id.time_ms = START_MS;
    b.id.sequence = sequence;
    b.destination = eid_ipn(0, 2, 5);
    b.lifetime_ms = lifetime_ms;
    b.payload = slice_of("x", 1);
    ck_assert_int_eq(agent_receive(n->agent, 0, bundle_encode_copy(&b), 1, now), REFUSE_NONE);
    while (agent_poll(n->agent, &a))
        if (a.kind == AGENT_STORE)
            buf_drop(a.bundle), agent_stored(n->agent, a.key, true, now);
    return n;
}

static void shown(uint64_t sequence, uint64_t lifetime_ms, const char *number, const char *expires)
{
    static const char request[] = "{\"cmd\": \"bundles\"}";
    struct node *n = node_with(sequence, lifetime_ms);
    json_t *answer =
        control_answer(n, &(struct control_who){true, "the test"}, request, strlen(request));
    char *line = json_dumps(answer, JSON_COMPACT), text[320];
    json_t *again = json_loads(line, 0, NULL); /* as helioctl reads it */
    const json_t *row = json_array_get(json_object_get(again, "bundles"), 0);
    ck_assert_ptr_nonnull(row);
    value_text(json_object_get(row, "sequence"), COLUMN_NUMBER, text, sizeof text);
    ck_assert_str_eq(text, number);
    value_text(json_object_get(row, "expires_ms"), COLUMN_DTN_TIME, text, sizeof text);
    ck_assert_str_eq(text, expires);
    ck_assert_str_eq(json_string_value(json_object_get(row, "source")),
                     "ipn:1.18446744073709551615");
    json_decref(again);
    json_decref(answer);
    free(line);
    agent_free(n->agent);
    free(n);
}

START_TEST(numbers_are_unsigned)
{
    shown(7, 1000, "7", "2025-05-08T06:13:21Z");
    shown(INT64_MAX, 1000, "9223372036854775807", "2025-05-08T06:13:21Z");
    shown(UINT64_C(1) << 63, 1000, "9223372036854775808", "2025-05-08T06:13:21Z");
    shown(UINT64_MAX, UINT64_MAX, "18446744073709551615", "never");
    shown(0, UINT64_MAX / 2, "0", "never");
}
END_TEST

static tick no_time(const struct world *w)
{
    (void)w;
    return TICK_S;
}

static uint64_t no_wall(const struct world *w)
{
    (void)w;
    return UINT64_C(1700000000) * TICK_S;
}

static char *reload_answer(struct node *n, const char *file)
{
    char request[200];
    int len =
        snprintf(request, sizeof request, "{\"cmd\": \"plan-reload\", \"file\": \"%s\"}", file);
    json_t *answer =
        control_answer(n, &(struct control_who){true, "the test"}, request, (size_t)len);
    char *text = json_dumps(answer, JSON_COMPACT);
    ck_assert(json_is_false(json_object_get(answer, "ok")));
    json_decref(answer);
    return text;
}

/* A file that the node may read and who asks perhaps not: of it nothing is shown, in any format.
 * What is wrong with the configuration's own plan is shown. */
START_TEST(plan_reload_shows_no_words_of_a_file)
{
    static const char *const texts[] = {"root:secret:20228:0:99999:7:::\n",
                                        "a contact secret +1 1 2 3\n",
                                        "secret: 1\n",
                                        "{secret: [1\n",
                                        "contacts: [{from: secret}]\n",
                                        "{\"contacts\": [{\"contact\": \"secret\"}]}\n",
                                        "- *secret\n"};
    static const char *const ends[] = {"", ".yaml", ".json"};
    const struct world_ops ops = {.now = no_time, .wall = no_wall};
    struct world world;
    struct config config = {.node = eid_ipn(0, 2, 0)};
    struct node *n = node_with(1, 1000);
    world_init(&world, &ops, true);
    n->world = &world;
    n->config = &config;
    n->say.level = LEVEL_ERROR;
    for (size_t i = 0; i < sizeof texts / sizeof *texts * 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "control_plan_%ld%s", (long)getpid(), ends[i % 3]);
        FILE *f = fopen(path, "w");
        ck_assert_ptr_nonnull(f);
        fputs(texts[i / 3], f);
        fclose(f);
        config.plan = (char *)(uintptr_t) "";
        char *text = reload_answer(n, path);
        ck_assert_msg(strstr(text, "secret") == NULL &&
                          strstr(text, ": is not understood; write a contact or range,") != NULL,
                      "%s", text);
        free(text);
        config.plan = path;
        text = reload_answer(n, path);
        ck_assert_msg(strstr(text, "is not understood; write a contact or range,") == NULL, "%s",
                      text);
        ck_assert_msg(i > 0 || strstr(text, "secret") != NULL, "%s", text);
        free(text);
        unlink(path);
    }
    agent_free(n->agent);
    free(n);
}
END_TEST

static void refused(struct node *n, const char *request, const char *why)
{
    json_t *answer =
        control_answer(n, &(struct control_who){true, "the test"}, request, strlen(request));
    const char *error = json_string_value(json_object_get(answer, "error"));
    ck_assert_msg(json_is_false(json_object_get(answer, "ok")), "%s", request);
    ck_assert_msg(json_is_true(json_object_get(answer, "usage")), "%s", request);
    ck_assert_str_eq(error, why);
    json_decref(answer);
}

#define LONG "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
#define CUT "????????????????"

/* A word that the command does not take, or with a value of another type, is never ignored. */
START_TEST(wrong_words_are_refused)
{
    static const char *const rows[][2] = {
        {"{\"cmd\": \"bundles\", \"limti\": 5}",
         "bundles: unknown word \"limti\"; did you mean limit?"},
        {"{\"cmd\": \"bundles\", \"limit\": \"5\"}",
         "bundles: \"limit\" has a wrong value; write a number from 1"},
        {"{\"cmd\": \"bundles\", \"limit\": 0}",
         "bundles: \"limit\" has a wrong value; write a number from 1"},
        {"{\"cmd\": \"bundles\", \"destination\": 4}",
         "bundles: \"destination\" has a wrong value; write a text"},
        {"{\"cmd\": \"bundles\", \"priority\": null}",
         "bundles: \"priority\" has a wrong value; write a text"},
        {"{\"cmd\": \"backlog\", \"limit\": 1.5}",
         "backlog: \"limit\" has a wrong value; write a number from 1"},
        {"{\"cmd\": \"status\", \"link\": \"x\"}", "status: unknown word \"link\"; it takes none"},
        {"{\"cmd\": \"sessions\", \"name\": \"x\"}",
         "sessions: unknown word \"name\"; it takes link"},
        {"{\"cmd\": \"link\", \"name\": \"x\", \"state\": \"up\", \"stat\": \"up\"}",
         "link: unknown word \"stat\"; did you mean state?"},
        {"{\"cmd\": \"delete\", \"key\": \"1\"}",
         "delete: \"key\" has a wrong value; write a number"},
        {"{\"cmd\": \"delete\", \"destination\": \"*\", \"key\": 1}",
         "delete: write \"destination\" or \"key\", not both"},
        {"{\"cmd\": \"delete\", \"key\": 1, \"source\": \"ipn:2.*\"}",
         "delete: write \"key\" or \"source\", not both"},
        {"{\"cmd\": \"delete\", \"destination\": \"*\", \"limit\": 1}",
         "delete: unknown word \"limit\"; it takes key, destination, source, link, priority, "
         "state, after"},
        {"{\"cmd\": \"contact\", \"do\": \"add\", \"keys\": \"{}\", \"from\": \"1\"}",
         "contact: write \"keys\" or \"from\", not both"},
        {"{\"cmd\": \"range\", \"do\": \"remove\", \"from\": 1, \"to\": \"2\"}",
         "range: \"from\" has a wrong value; write a text"},
        {"{\"cmd\": \"link-add\", \"name\": \"x\", \"keys\": {\"rate\": 1}}",
         "link-add: \"keys\" has a wrong value; write a text"},
        {"{\"cmd\": \"bundles\", \"limit\": 1, \"limit\": 2}", "the request has a word twice"},
        {"{\"cmd\": \"bundels\"}", "unknown command \"bundels\"; did you mean bundles?"},
        {"{\"CMD\": \"status\"}",
         "the request needs a command: cmd; there are status, links, sessions, bundles, backlog, "
         "routes, top, why, events, names, neighbours, security, rules, reload, counters, link, "
         "delete, "
         "cancel, "
         "flush, route, link-add, link-set, link-remove, plan, plan-reload, contact, range"},
        {"{\"cmd\": \"flush\", \"x" LONG LONG LONG LONG "\": 1}",
         "flush: unknown word \"x" CUT CUT CUT "???????????????\"; it takes none"},
    };
    struct node *n = node_with(1, 1000);
    n->say.level = LEVEL_ERROR;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(n, rows[i][0], rows[i][1]);
    agent_free(n->agent);
    free(n);
}
END_TEST

static json_t *events_after(struct node *n, const char *request)
{
    json_t *answer =
        control_answer(n, &(struct control_who){false, "the test"}, request, strlen(request));
    ck_assert(json_is_true(json_object_get(answer, "ok")));
    return answer;
}

static json_int_t number_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* The bundle of node_with, which is a duplicate: an event each. */
static void receive_again(struct node *n, unsigned times)
{
    const struct agent_now now = {.now = TICK_S, .dtn_ms = START_MS};
    struct bundle b;
    bundle_init(&b);
    b.id.source = eid_ipn(0, 1, UINT64_MAX);
    b.id.time_ms = START_MS;
    b.id.sequence = 1;
    b.destination = eid_ipn(0, 2, 5);
    b.lifetime_ms = 100000;
    b.payload = slice_of("x", 1);
    for (unsigned i = 0; i < times; i++)
        ck_assert_int_eq(agent_receive(n->agent, 0, bundle_encode_copy(&b), 1, now),
                         REFUSE_DUPLICATE);
}

/* Nobody has asked: none is kept. Then the latest ones are, and an answer has a part of them. */
START_TEST(events_are_kept_for_who_watches)
{
    const struct world_ops ops = {.now = no_time, .wall = no_wall};
    const struct config config = {.node = eid_ipn(0, 2, 0)};
    struct world world;
    struct node *n = node_with(1, 100000);
    world_init(&world, &ops, true);
    n->world = &world;
    n->config = &config;
    receive_again(n, 3);
    json_t *answer = events_after(n, "{\"cmd\": \"events\"}");
    ck_assert_int_eq(number_of(answer, "last"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(answer, "events")), 0);
    json_decref(answer);

    receive_again(n, NODE_EVENTS_KEPT + 10);
    answer = events_after(n, "{\"cmd\": \"events\", \"after\": 0}");
    ck_assert_int_eq(number_of(answer, "missed"), 10);
    ck_assert_int_eq(number_of(answer, "last"), 10 + 256);
    ck_assert(json_is_true(json_object_get(answer, "more")));
    const json_t *e = json_array_get(json_object_get(answer, "events"), 255);
    ck_assert_str_eq(json_string_value(json_object_get(e, "event")), "refused");
    ck_assert_str_eq(json_string_value(json_object_get(e, "source")), "ipn:1.18446744073709551615");
    ck_assert_ptr_null(json_object_get(e, "link"));
    json_decref(answer);

    answer = events_after(n, "{\"cmd\": \"events\", \"after\": 1000000}"); /* of an earlier run */
    ck_assert_int_eq(number_of(answer, "last"), NODE_EVENTS_KEPT + 10);
    ck_assert_int_eq(number_of(answer, "missed"), 0);
    json_decref(answer);

    receive_again(n, NODE_EVENTS_SECOND); /* in the same moment: the last ones have no line */
    answer = events_after(n, "{\"cmd\": \"events\", \"after\": 0}");
    ck_assert_int_eq(number_of(answer, "missed"), NODE_EVENTS_SECOND + 10 + 256);
    ck_assert_uint_eq(json_array_size(json_object_get(answer, "events")), 0);
    json_decref(answer);
    node_events_tick(n);
    ck_assert_ptr_nonnull(n->events);
    node_events_free(n);
    ck_assert(n->bundle_sink == NULL);
    agent_free(n->agent);
    free(n);
}
END_TEST

SUITE(tools_control, t)
{
    tcase_add_test(t, numbers_are_unsigned);
    tcase_add_test(t, plan_reload_shows_no_words_of_a_file);
    tcase_add_test(t, wrong_words_are_refused);
    tcase_add_test(t, events_are_kept_for_who_watches);
}
