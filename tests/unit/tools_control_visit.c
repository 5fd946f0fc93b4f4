/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket in virtual time: what a flood of requests leaves to others, and long answers
 * in pieces. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/control/control_reply.h"
#include "node/node_backlog.h"
#include "node/plan/node_plan.h"
#include "os/paced.h"
#include "tests/fuzz/virtual_node.h"
#include "tests/unit/suite.h"

#define PLACE "control"
#define BUNDLES 1500u
#define FLOODERS 4

/* Nobody connects: all bundles stay. */
static const char text[] =
    "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
    "links:\n"
    "  - {name: t, adapter: tcpcl, local: '127.0.0.1:4556', tls: off, peer: ipn:4.0}\n"
    "routes: [{to: 'ipn:*.*', via: t}]\n";

struct visit {
    struct stream *stream;
    size_t answers; /* whole lines */
    size_t len;
    char line[1 << 20]; /* the last one, if `kept` */
    bool kept;
    uint8_t space[4096];
};

static uint8_t *find_space(void *context, size_t *len)
{
    struct visit *v = context;
    *len = sizeof v->space;
    return v->space;
}

static void on_fed(void *context, size_t len)
{
    struct visit *v = context;
    for (size_t i = 0; i < len; i++) {
        v->answers += v->space[i] == '\n';
        if (v->kept && v->len < sizeof v->line - 1 && v->space[i] != '\n')
            v->line[v->len++] = (char)v->space[i];
    }
    v->line[v->len] = '\0';
}

static void on_writable(void *context)
{
    (void)context;
}

static void on_ended(void *context, int error)
{
    ck_abort_msg("the connection of %p ended: %d", context, error);
}

static const struct stream_user user = {find_space, on_fed, on_writable, on_ended};

static struct visit *open_visit(struct virtual_node *n)
{
    struct visit *v = calloc(1, sizeof *v);
    const struct stream_place at = {.path = PLACE};
    ck_assert_ptr_nonnull(v);
    ck_assert_int_eq(stream_connect(&n->v.world, &v->stream, &at, &user, v), 0);
    node_play(n, 10 * TICK_MS);
    stream_read(v->stream, true);
    return v;
}

static void close_visit(struct visit *v)
{
    stream_close(v->stream);
    free(v);
}

/* Returns how much of it there was room for. */
static size_t ask(struct visit *v, const char *line)
{
    const struct slice all = slice_of(line, strlen(line));
    return stream_write(v->stream, &all, 1);
}

static void send_to(struct virtual_node *n, uint64_t node, uint64_t service)
{
    struct agent_request q = {.source = eid_ipn(0, 1, service),
                              .destination = eid_ipn(0, node, service % 7 + 1),
                              .report_to = eid_none(),
                              .lifetime_ms = 86400000,
                              .crc = -1};
    q.payload = buf_new(BUNDLE_HEAD_MAX, 100 + BUNDLE_TAIL_MAX);
    ck_assert_ptr_nonnull(q.payload);
    memset(buf_append(q.payload, 100), 'x', 100);
    ck_assert_int_eq(agent_send(n->node.agent, &q, node_now(&n->node), NULL), REFUSE_NONE);
    node_wake(&n->node);
}

static struct virtual_node *begin(void)
{
    struct virtual_node *n = node_begin(node_config(text));
    const struct stream_place at = {.path = PLACE};
    char why[200];
    for (uint64_t i = 1; i <= BUNDLES; i++)
        send_to(n, 4, i);
    node_play(n, 10 * TICK_S);
    ck_assert_int_eq(control_open(&n->node.control, &n->node, &at, why, sizeof why), 0);
    return n;
}

static void end(struct virtual_node *n)
{
    control_close(n->node.control);
    control_free(n->node.control);
    n->node.control = NULL;
    node_end(n);
}

#define LIST "{\"cmd\": \"bundles\", \"sort\": \"destination\", \"limit\": 100000}\n"

/* The text of an answer in pieces is that of the answer made at once: all bundles, in order. */
START_TEST(answer_in_pieces)
{
    struct virtual_node *n = begin();
    struct visit *v = open_visit(n);
    const struct control_who who = {true, "the test"};
    v->kept = true;
    ck_assert_uint_eq(ask(v, LIST), strlen(LIST));
    for (int i = 0; i < 100 && v->answers == 0; i++)
        node_play(n, 10 * TICK_MS);
    ck_assert_uint_eq(v->answers, 1);
    struct json_t *whole = control_answer(&n->node, &who, LIST, strlen(LIST) - 1);
    struct json_t *pieces = json_loads(v->line, 0, NULL);
    const struct json_t *rows = json_object_get(pieces, "bundles"), *row;
    ck_assert_ptr_nonnull(pieces);
    ck_assert_uint_eq(json_array_size(rows), BUNDLES);
    const char *before = "";
    for (size_t i = 0; i < BUNDLES; i++) {
        row = json_array_get(rows, i);
        const char *to = json_string_value(json_object_get(row, "destination"));
        ck_assert_int_ge(strcmp(to, before), 0);
        before = to;
        const json_t *same = json_array_get(json_object_get(whole, "bundles"), i);
        ck_assert(json_equal(json_object_get(row, "key"), json_object_get(same, "key")));
    }
    ck_assert(json_equal(json_object_get(pieces, "fit"), json_object_get(whole, "fit")));
    json_decref(whole);
    json_decref(pieces);
    close_visit(v);
    end(n);
}
END_TEST

/* Four connections ask for lists without end. The node's steps for them are counted by their cost:
 * in virtual time each is charged with 50 µs, of which a tenth of the time is made. Another
 * connection is answered in its turn. */
START_TEST(flood_has_a_share)
{
    struct virtual_node *n = begin();
    struct visit *flood[FLOODERS], *honest = open_visit(n);
    const unsigned steps = 2 * BUNDLES / 256 + BUNDLES / 256; /* of one list, at least */
    size_t answers = 0, asked = 0;
    for (size_t i = 0; i < FLOODERS; i++)
        flood[i] = open_visit(n);
    for (int ms = 0; ms < 3000; ms++) {
        for (size_t i = 0; i < FLOODERS; i++)
            (void)ask(flood[i], LIST);
        if (ms % 100 == 50)
            asked += ask(honest, "{\"cmd\": \"status\"}\n") > 0;
        node_play(n, TICK_MS);
        if (ms % 100 == 99)
            ck_assert_uint_eq(honest->answers, asked);
    }
    for (size_t i = 0; i < FLOODERS; i++)
        answers += flood[i]->answers;
    ck_assert_uint_gt(answers, 0);
    ck_assert_uint_le(answers * steps, (3 + 1) * 2000); /* and the second that is kept */
    for (size_t i = 0; i < FLOODERS; i++)
        close_visit(flood[i]);
    close_visit(honest);
    end(n);
}
END_TEST

/* A list whose rows go away while it is made. */
START_TEST(bundles_end_meanwhile)
{
    struct virtual_node *n = begin();
    const struct control_who who = {true, "the test"};
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, LIST, strlen(LIST) - 1, &l), *item;
    size_t shown = 0;
    uint64_t key = 1;
    ck_assert_ptr_nonnull(l);
    while (l->ops->prepare(l))
        if (key % 2 == 0 && key <= BUNDLES)
            (void)node_delete(&n->node, key++);
        else
            key++;
    for (key = 1; key <= BUNDLES / 2; key++)
        (void)node_delete(&n->node, key);
    for (item = NULL; l->ops->next(l, &item); item = NULL) {
        shown += item != NULL;
        json_decref(item);
    }
    ck_assert_uint_eq(shown, BUNDLES / 4);
    control_list_free(l);
    json_decref(out);
    end(n);
}
END_TEST

#define DELETE "{\"cmd\": \"delete\", \"destination\": \"ipn:4.*\"}\n"

static void pass_bundle(void *context, const struct agent_bundle_info *b)
{
    (void)context;
    (void)b;
}

/* A deletion of all bundles is made in steps of at most CONTROL_STEPS bundles. */
START_TEST(deletion_in_steps)
{
    struct virtual_node *n = begin();
    const struct control_who who = {true, "the test"};
    struct control_reply reply = {0};
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, DELETE, strlen(DELETE) - 1, &l);
    uint64_t left = BUNDLES;
    control_reply_begin(&reply, out, l);
    while (!control_reply_whole(&reply)) {
        ck_assert(control_reply_step(&reply, n->node.world));
        const uint64_t now = agent_counters(n->node.agent)->bundles;
        ck_assert_uint_le(left - now, CONTROL_STEPS);
        left = now;
    }
    ck_assert_uint_eq(left, 0);
    out = json_loadb(reply.text, reply.len, 0, NULL);
    ck_assert(json_is_true(json_object_get(out, "ok")));
    ck_assert_int_eq(json_integer_value(json_object_get(out, "deleted")), BUNDLES);
    ck_assert_ptr_null(json_object_get(out, "after"));
    json_decref(out);
    control_reply_fini(&reply);
    end(n);
}
END_TEST

/* A request goes on where the last one ended: bundles before that place are not looked at again. */
START_TEST(deletion_goes_on)
{
    struct virtual_node *n = begin();
    const struct control_who who = {true, "the test"};
    uint64_t after = 0;
    for (int i = 0; i < 40; i++)
        after = agent_bundles_scan(n->node.agent, after, pass_bundle, NULL);
    char line[128];
    const int len = snprintf(
        line, sizeof line,
        "{\"cmd\": \"delete\", \"destination\": \"ipn:4.*\", \"after\": %" PRIu64 "}", after);
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, line, (size_t)len, &l);
    ck_assert_ptr_nonnull(l);
    control_list_all(l, out);
    const uint64_t kept = agent_counters(n->node.agent)->bundles;
    ck_assert_uint_gt(kept, 0);
    ck_assert_uint_lt(kept, BUNDLES / 4);
    ck_assert_int_eq(json_integer_value(json_object_get(out, "deleted")),
                     (json_int_t)(BUNDLES - kept));
    ck_assert_ptr_null(json_object_get(out, "after"));
    json_decref(out);
    end(n);
}
END_TEST

/* The user goes while bundles are deleted: the others stay. */
START_TEST(deletion_ends_with_its_connection)
{
    struct virtual_node *n = begin();
    const struct control_who who = {true, "the test"};
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, DELETE, strlen(DELETE) - 1, &l);
    ck_assert_ptr_nonnull(l);
    while (agent_counters(n->node.agent)->bundles > BUNDLES / 2)
        ck_assert(l->ops->prepare(l));
    control_list_free(l);
    json_decref(out);
    node_play(n, TICK_S);
    ck_assert_uint_eq(agent_counters(n->node.agent)->bundles, BUNDLES / 2);
    end(n);
}
END_TEST

/* Over the socket, one answer, which a whole deletion at once would give, too. */
START_TEST(deletion_is_answered_once)
{
    struct virtual_node *n = begin();
    struct visit *v = open_visit(n);
    ck_assert_uint_eq(ask(v, DELETE), strlen(DELETE));
    node_play(n, 3 * TICK_S);
    ck_assert_uint_eq(v->answers, 1);
    ck_assert_uint_eq(agent_counters(n->node.agent)->bundles, 0);
    close_visit(v);
    end(n);
}
END_TEST

/* A reader's deletion is refused before it begins. */
START_TEST(readers_delete_nothing)
{
    struct virtual_node *n = begin();
    const struct control_who who = {false, "a reader"};
    struct control_list *l;
    struct json_t *out = control_ask(&n->node, &who, DELETE, strlen(DELETE) - 1, &l);
    ck_assert_ptr_null(l);
    ck_assert(json_is_false(json_object_get(out, "ok")));
    json_decref(out);
    ck_assert_uint_eq(agent_counters(n->node.agent)->bundles, BUNDLES);
    end(n);
}
END_TEST

#define BACKLOG "{\"cmd\": \"backlog\"}\n"

static struct control_list *ask_backlog(struct virtual_node *n)
{
    const struct control_who who = {.name = "the test"};
    struct control_list *l;
    json_decref(control_ask(&n->node, &who, BACKLOG, strlen(BACKLOG) - 1, &l));
    ck_assert_ptr_nonnull(l);
    return l;
}

static void prepare_all(struct control_list *l)
{
    while (l->ops->prepare(l))
        continue;
}

/* The bundles of up to `rows` rows more. */
static uint64_t sum_rows(struct control_list *l, size_t rows)
{
    uint64_t sum = 0;
    json_t *row = NULL;
    for (; rows > 0 && l->ops->next(l, &row); rows--) {
        sum += (uint64_t)json_integer_value(json_object_get(row, "bundles"));
        json_decref(row);
        row = NULL;
    }
    return sum;
}

static void delete_all(struct virtual_node *n)
{
    for (uint64_t key = 1; agent_counters(n->node.agent)->bundles > 0; key++)
        (void)node_delete(&n->node, key);
}

/* The answer, of which nothing was written yet. */
static json_t *read_rest(struct control_reply *r, const struct world *w)
{
    char whole[4096];
    size_t len = 0;
    while (!control_reply_whole(r)) {
        ck_assert(control_reply_step(r, w));
        ck_assert_uint_le(r->len, sizeof whole - len);
        if (r->len > 0)
            memcpy(whole + len, r->text, r->len);
        len += r->len;
        r->done = r->len;
    }
    return json_loadb(whole, len, 0, NULL);
}

/* Of the backlog, one turn looks at CONTROL_STEPS chains of the agent's table at most, and the one
 * that reads the request at none: bundles that are deleted then are not in the answer. */
START_TEST(backlog_in_steps)
{
    const struct control_who who = {.name = "the test"};
    for (unsigned turns = 0; turns < 2; turns++) {
        struct virtual_node *n = begin();
        struct control_reply reply = {0};
        struct control_list *l;
        struct json_t *out = control_ask(&n->node, &who, BACKLOG, strlen(BACKLOG) - 1, &l);
        control_reply_begin(&reply, out, l);
        if (turns > 0)
            ck_assert(control_reply_step(&reply, n->node.world));
        ck_assert(!control_reply_whole(&reply));
        delete_all(n);
        out = read_rest(&reply, n->node.world);
        const json_t *rows = json_object_get(out, "backlog");
        ck_assert(json_is_integer(json_object_get(out, "age_ns")));
        ck_assert_uint_eq(json_array_size(rows), turns);
        const json_t *seen = json_object_get(json_array_get(rows, 0), "bundles");
        ck_assert_int_le(json_integer_value(seen), turns * 2 * CONTROL_STEPS);
        json_decref(out);
        control_reply_fini(&reply);
        end(n);
    }
}
END_TEST

/* Rows that are being shown stay as they are while others are counted. */
START_TEST(backlog_rows_stay)
{
    struct virtual_node *n = begin();
    for (uint64_t node = 5; node < 105; node++)
        send_to(n, node, 1);
    node_play(n, TICK_S);
    struct control_list *shown = ask_backlog(n), *later;
    prepare_all(shown);
    ck_assert_uint_eq(sum_rows(shown, 1), BUNDLES); /* the most bytes first */
    ck_assert_uint_eq(sum_rows(shown, 10), 10);
    delete_all(n);
    later = ask_backlog(n);
    prepare_all(later);
    ck_assert_uint_eq(sum_rows(later, SIZE_MAX), BUNDLES + 100); /* too early for another count */
    control_list_free(later);
    node_play(n, 2 * TICK_S);
    later = ask_backlog(n);
    prepare_all(later);
    ck_assert_uint_eq(sum_rows(later, SIZE_MAX), 0);
    control_list_free(later);
    ck_assert_uint_eq(sum_rows(shown, SIZE_MAX), 90);
    control_list_free(shown);
    end(n);
}
END_TEST

/* Readers who never come to the end do not take more memory than NODE_BACKLOG_TABLES tables: others
 * see older figures meanwhile, with their age. */
START_TEST(backlog_tables_are_few)
{
    struct virtual_node *n = begin();
    struct control_list *slow[NODE_BACKLOG_TABLES], *l;
    uint64_t bundles = BUNDLES;
    for (size_t i = 0; i < NODE_BACKLOG_TABLES; i++) {
        slow[i] = ask_backlog(n);
        prepare_all(slow[i]);
        send_to(n, 4, ++bundles);
        node_play(n, 2 * TICK_S);
    }
    l = ask_backlog(n);
    prepare_all(l);
    ck_assert_uint_eq(sum_rows(l, SIZE_MAX), BUNDLES + NODE_BACKLOG_TABLES - 1);
    control_list_free(l);
    control_list_free(slow[0]);
    l = ask_backlog(n);
    prepare_all(l);
    ck_assert_uint_eq(sum_rows(l, SIZE_MAX), BUNDLES + NODE_BACKLOG_TABLES);
    control_list_free(l);
    for (size_t i = 1; i < NODE_BACKLOG_TABLES; i++)
        control_list_free(slow[i]);
    end(n);
}
END_TEST

/* A count that nobody went on with begins anew; more destinations than there are rows are summed.
 */
START_TEST(backlog_begins_anew)
{
    struct virtual_node *n = begin();
    struct control_list *l = ask_backlog(n);
    for (int i = 0; i < 100; i++)
        ck_assert(l->ops->prepare(l));
    control_list_free(l);
    delete_all(n);
    for (uint64_t node = 1; node <= NODE_BACKLOG_ROWS + 3; node++)
        send_to(n, 100 + node, 1);
    node_play(n, 20 * TICK_S);
    l = ask_backlog(n);
    prepare_all(l);
    ck_assert_uint_eq(sum_rows(l, NODE_BACKLOG_ROWS), NODE_BACKLOG_ROWS);
    ck_assert_uint_eq(sum_rows(l, 1), 3);
    ck_assert_uint_eq(sum_rows(l, 1), 0);
    control_list_free(l);
    end(n);
}
END_TEST

/* Who cannot wait gets what was counted last, and the node counts on. */
START_TEST(backlog_now)
{
    struct virtual_node *n = begin();
    for (int i = 0; i < 2; i++) {
        json_t *out = json_object();
        control_backlog_now(&n->node, 50, out);
        ck_assert_uint_eq(json_array_size(json_object_get(out, "backlog")), (size_t)i);
        ck_assert_int_eq(json_is_integer(json_object_get(out, "age_ns")), i);
        json_decref(out);
        node_play(n, TICK_S);
    }
    struct control_list *l = ask_backlog(n);
    prepare_all(l);
    ck_assert_uint_eq(sum_rows(l, SIZE_MAX), BUNDLES);
    control_list_free(l);
    end(n);
}
END_TEST

#define PLAN "{\"cmd\": \"plan\"}\n"

/* Takes a plan of so many contacts into force: each tenth one, from the first, is of node 1. */
static void use_plan(struct virtual_node *n, uint64_t contacts)
{
    struct node_plan_file f;
    struct plan_config config;
    struct conf_errors e;
    const tick now = world_wall(&n->v.world);
    conf_errors_init(&e, "plan");
    plan_config_default(&config);
    ck_assert_int_eq(node_plan_file_begin(&f, &n->node, &e), 0);
    free(f.path);
    f.path = strdup("plan.yaml");
    ck_assert_int_eq(plan_new(&f.plan, &config), 0);
    for (uint64_t i = 0; i < contacts; i++) {
        const struct plan_contact c = {i % 10 == 0 ? 1 : 2,    3 + i % 70, now + i * TICK_S,
                                       now + (i + 1) * TICK_S, 1000,       1};
        uint64_t id;
        ck_assert_int_eq(plan_add(f.plan, &c, &id), 0);
    }
    ck_assert_int_eq(node_plan_file_use(&f, &n->node, &e), 0);
    node_plan_file_free(&f);
}

static json_int_t number_of(const json_t *answer, const char *key)
{
    return json_integer_value(json_object_get(answer, key));
}

/* A long plan is looked through in steps, and another one may take its place meanwhile. */
START_TEST(plan_in_steps)
{
    enum { CONTACTS = 20000, STEP_MOST = 1000 };
    struct virtual_node *n = begin();
    const struct control_who who = {.name = "the test"};
    for (int replaced = 0; replaced < 2; replaced++) {
        struct control_list *l;
        unsigned steps = 0;
        use_plan(n, CONTACTS);
        json_t *out = control_ask(&n->node, &who, PLAN, strlen(PLAN) - 1, &l);
        ck_assert_ptr_nonnull(l);
        while (l->ops->prepare(l))
            if (++steps == 5 && replaced)
                use_plan(n, 50);
        ck_assert_uint_ge(steps, replaced ? 5 : CONTACTS / STEP_MOST);
        control_list_all(l, out);
        ck_assert_int_eq(number_of(out, "contacts"), replaced ? 50 : CONTACTS);
        ck_assert_int_eq(number_of(out, "contacts_here_total"), replaced ? 5 : CONTACTS / 10);
        ck_assert_uint_eq(json_array_size(json_object_get(out, "contacts_here")),
                          replaced ? 5 : 1000);
        json_decref(out);
    }
    end(n);
}
END_TEST

SUITE(tools_control_visit, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, answer_in_pieces);
    tcase_add_test(t, flood_has_a_share);
    tcase_add_test(t, backlog_in_steps);
    tcase_add_test(t, backlog_rows_stay);
    tcase_add_test(t, backlog_tables_are_few);
    tcase_add_test(t, backlog_begins_anew);
    tcase_add_test(t, backlog_now);
    tcase_add_test(t, bundles_end_meanwhile);
    tcase_add_test(t, deletion_in_steps);
    tcase_add_test(t, deletion_goes_on);
    tcase_add_test(t, deletion_ends_with_its_connection);
    tcase_add_test(t, deletion_is_answered_once);
    tcase_add_test(t, readers_delete_nothing);
    tcase_add_test(t, plan_in_steps);
}
