/* SPDX-License-Identifier: Apache-2.0 */
/* Changes whose files another thread reads: a reload, and a link's other certificates. The thread
 * is played: the node goes on until the test says that it has read, and what happens meanwhile is
 * seen in its order. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/control/control_reply.h"
#include "node/node_change.h"
#include "node/node_reload.h"
#include "node/plan/node_plan.h"
#include "tests/fuzz/virtual_node.h"
#include "tests/unit/suite.h"

static const char text[] =
    "node: ipn:1.0\nsocket: node\nstore: {durability: none}\n"
    "links:\n"
    "  - {name: t, adapter: tcpcl, local: '127.0.0.1:4556', tls: off, peer: ipn:4.0}\n";

/* What was given to the thread. */
static struct work *jobs[8];
static size_t jobs_len;

static bool keep_job(struct world *w, struct work *job)
{
    (void)w;
    ck_assert_uint_lt(jobs_len, 8);
    jobs[jobs_len++] = job;
    return true;
}

static bool take_job_back(struct world *w, struct work *job)
{
    (void)w;
    (void)job;
    return false;
}

/* The thread is done with the first one. */
static void do_job(void)
{
    struct work *job = jobs[0];
    ck_assert_uint_gt(jobs_len, 0);
    memmove(jobs, jobs + 1, --jobs_len * sizeof(struct work *));
    job->run(job);
    job->done(job);
}

struct scene {
    struct virtual_node *n;
    struct world_ops ops;
    char path[32]; /* of the node's file */
    unsigned woken;
};

static void write_file(const struct scene *s, const char *more)
{
    FILE *f = fopen(s->path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s%s", text, more);
    ck_assert_int_eq(fclose(f), 0);
}

static void begin(struct scene *s)
{
    *s = (struct scene){.path = "/tmp/control_change.XXXXXX"};
    const int fd = mkstemp(s->path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_file(s, "");
    s->n = node_begin(node_config(text));
    s->ops = *s->n->v.world.ops;
    s->ops.work = keep_job;
    s->ops.take_back = take_job_back;
    s->n->v.world.ops = &s->ops;
    s->n->node.path = s->path;
    jobs_len = 0;
}

static void end(struct scene *s)
{
    node_reload_free(&s->n->node);
    node_end(s->n);
    unlink(s->path);
}

static void on_wake(void *context)
{
    struct scene *s = context;
    s->woken++;
}

static struct control_list *ask(struct scene *s, const char *line, json_t **out)
{
    const struct control_who who = {true, "the test"};
    struct control_list *l;
    *out = control_ask(&s->n->node, &who, line, strlen(line), &l);
    if (l != NULL) {
        l->wake = on_wake;
        l->wake_context = s;
    }
    return l;
}

/* The whole answer of one that does not wait any more. */
static void finish(struct control_list *l, json_t *out)
{
    l->waits = false;
    ck_assert(!l->ops->prepare(l));
    l->ops->head(l, out);
    control_list_free(l);
}

static size_t count_of(const json_t *out, const char *list)
{
    return json_array_size(json_object_get(out, list));
}

#define RELOAD "{\"cmd\": \"reload\"}"
#define QUIET "log: {level: error}\n"

/* While the file is read the node answers others, and is as before; then the answer follows. */
START_TEST(answer_waits)
{
    struct scene s;
    json_t *out, *other;
    begin(&s);
    write_file(&s, QUIET);
    struct control_list *l = ask(&s, RELOAD, &out);
    ck_assert_ptr_nonnull(l);
    ck_assert(l->ops->prepare(l) && l->waits);
    ck_assert_uint_eq(jobs_len, 1);
    ck_assert_ptr_null(ask(&s, "{\"cmd\": \"status\"}", &other));
    ck_assert(json_is_true(json_object_get(other, "ok")));
    json_decref(other);
    ck_assert_ptr_null(s.n->node.file);
    ck_assert_uint_eq(s.woken, 0);
    do_job();
    ck_assert_uint_eq(s.woken, 1);
    finish(l, out);
    ck_assert(json_is_true(json_object_get(out, "ok")));
    ck_assert_uint_eq(count_of(out, "applied"), 1);
    ck_assert_ptr_nonnull(s.n->node.file);
    json_decref(out);
    end(&s);
}
END_TEST

/* Two in a row are made in their order, each with the file as it is when it is its turn: the second
 * is not read before the first is applied. */
START_TEST(in_order)
{
    struct scene s;
    json_t *out[3];
    struct control_list *l[3];
    begin(&s);
    write_file(&s, QUIET);
    for (int i = 0; i < 3; i++) {
        l[i] = ask(&s, RELOAD, &out[i]);
        ck_assert_uint_eq(jobs_len, 1);
        ck_assert(l[i]->ops->prepare(l[i]));
    }
    do_job();
    ck_assert_uint_eq(s.woken, 1);
    ck_assert_uint_eq(jobs_len, 1);
    write_file(&s, "nonsense: 1\n");
    do_job();
    write_file(&s, "");
    do_job();
    ck_assert_uint_eq(s.woken, 3);
    ck_assert_uint_eq(jobs_len, 0);
    for (int i = 0; i < 3; i++)
        finish(l[i], out[i]);
    ck_assert_uint_eq(count_of(out[0], "applied"), 1);
    ck_assert(json_is_false(json_object_get(out[1], "ok")));
    ck_assert(json_is_true(json_object_get(out[1], "usage")));
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(out[1], "error")), "nonsense"));
    ck_assert_uint_eq(count_of(out[2], "applied"), 1); /* the level is as before again */
    for (int i = 0; i < 3; i++)
        json_decref(out[i]);
    end(&s);
}
END_TEST

#define SET(keys) "{\"cmd\": \"link-set\", \"name\": \"t\", \"keys\": \"" keys "\"}"

static uint64_t keepalive_of(const struct scene *s)
{
    const struct node_link *l = node_link_find(&s->n->node, "t");
    const struct conf_option *k = conf_option_find(l->config->ops->options, "keepalive");
    return *(const uint64_t *)(const void *)((const char *)l->config->settings + k->offset);
}

/* Changes of one link wait for each other, so that none is lost; each has its answer. */
START_TEST(links_in_order)
{
    struct scene s;
    json_t *out[2];
    struct control_list *l[2];
    begin(&s);
    l[0] = ask(&s, SET("{keepalive: 7s}"), &out[0]);
    l[1] = ask(&s, SET("{tls_ca: /nowhere/ca.pem, tls: required}"), &out[1]);
    ck_assert_uint_eq(jobs_len, 1);
    do_job();
    ck_assert_uint_eq(keepalive_of(&s), 7 * TICK_S);
    ck_assert_uint_eq(jobs_len, 0); /* the second one's keys are wrong */
    for (int i = 0; i < 2; i++)
        finish(l[i], out[i]);
    ck_assert(!json_is_false(json_object_get(out[0], "ok")));
    ck_assert(json_is_false(json_object_get(out[1], "ok")));
    ck_assert_uint_eq(keepalive_of(&s), 7 * TICK_S);
    for (int i = 0; i < 2; i++)
        json_decref(out[i]);
    end(&s);
}
END_TEST

/* The link is removed while its files are read. */
START_TEST(link_removed)
{
    struct scene s;
    json_t *out, *other;
    begin(&s);
    struct control_list *l = ask(&s, SET("{keepalive: 7s}"), &out);
    ck_assert(l->ops->prepare(l));
    ck_assert_ptr_null(ask(&s, "{\"cmd\": \"link-remove\", \"name\": \"t\"}", &other));
    json_decref(other);
    node_play(s.n, TICK_S);
    do_job();
    finish(l, out);
    ck_assert(json_is_false(json_object_get(out, "ok")));
    json_decref(out);
    end(&s);
}
END_TEST

/* The visitor goes: its change is made all the same. */
START_TEST(visitor_goes)
{
    struct scene s;
    json_t *out;
    begin(&s);
    struct control_list *l = ask(&s, SET("{keepalive: 7s}"), &out);
    ck_assert(l->ops->prepare(l));
    control_list_free(l);
    json_decref(out);
    do_job();
    ck_assert_uint_eq(keepalive_of(&s), 7 * TICK_S);
    ck_assert_uint_eq(s.woken, 0);
    end(&s);
}
END_TEST

/* The node ends while files are read: nothing is changed, what waits is answered. */
START_TEST(node_ends)
{
    struct scene s;
    json_t *out[3];
    struct control_list *l[3];
    begin(&s);
    write_file(&s, QUIET);
    l[0] = ask(&s, RELOAD, &out[0]);
    l[1] = ask(&s, SET("{keepalive: 7s}"), &out[1]);
    l[2] = ask(&s,
               "{\"cmd\": \"link-add\", \"name\": \"u\", \"keys\": \"{adapter: tcpcl, local: "
               "'127.0.0.1:4557', tls: off, peer: ipn:5.0}\"}",
               &out[2]);
    s.n->node.stopping = true;
    do_job();
    ck_assert_uint_eq(jobs_len, 0);
    for (int i = 0; i < 3; i++) {
        finish(l[i], out[i]);
        ck_assert(json_is_false(json_object_get(out[i], "ok")));
        json_decref(out[i]);
    }
    ck_assert_uint_ne(keepalive_of(&s), 7 * TICK_S);
    ck_assert_ptr_null(s.n->node.file);
    ck_assert_uint_eq(node_links_count(&s.n->node), 1);
    ck_assert_int_eq(node_reload(&s.n->node, NULL, NULL), HELIO_ENOENT);
    end(&s);
}
END_TEST

static size_t contacts_of(const struct scene *s)
{
    struct plan_totals t = {0};
    if (s->n->node.plan != NULL)
        plan_totals(s->n->node.plan->plan, &t);
    return t.contacts;
}

/* A plan of so many contacts, in the file. */
static void write_plan(const char *path, int contacts)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "contacts:\n");
    for (int i = 0; i < contacts; i++)
        fprintf(f, "  - {from: 1, to: %d, end: 1h, rate: 1Mbit/s}\n", i + 2);
    ck_assert_int_eq(fclose(f), 0);
}

static void reload_plan(struct scene *s, const char *path)
{
    char line[128];
    json_t *out;
    snprintf(line, sizeof line, "{\"cmd\": \"plan-reload\", \"file\": \"%s\"}", path);
    struct control_list *l = ask(s, line, &out);
    ck_assert_ptr_nonnull(l);
    const size_t before = contacts_of(s);
    ck_assert(l->ops->prepare(l) && l->waits);
    ck_assert_uint_eq(jobs_len, 1);
    ck_assert_uint_eq(contacts_of(s), before);
    do_job();
    finish(l, out);
    ck_assert(!json_is_false(json_object_get(out, "ok")));
    json_decref(out);
}

/* A contact plan is read beside the loop, and the former one freed there; also by a reload of a
 * file that names it. */
START_TEST(plans)
{
    struct scene s;
    char path[] = "/tmp/control_plan.XXXXXX.yaml", more[64];
    begin(&s);
    const int fd = mkstemps(path, 5);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_plan(path, 1);
    reload_plan(&s, path);
    ck_assert_uint_eq(contacts_of(&s), 1);
    ck_assert_uint_eq(jobs_len, 0);
    write_plan(path, 3);
    reload_plan(&s, path);
    ck_assert_uint_eq(contacts_of(&s), 3);
    ck_assert_uint_eq(jobs_len, 1); /* the former one */
    do_job();
    write_plan(path, 2);
    snprintf(more, sizeof more, "plan: %s\n", path);
    write_file(&s, more);
    ck_assert_int_eq(node_reload(&s.n->node, NULL, NULL), 0);
    ck_assert_uint_eq(contacts_of(&s), 3);
    do_job();
    ck_assert_uint_eq(contacts_of(&s), 2);
    ck_assert_uint_eq(jobs_len, 1);
    jobs[0]->done(jobs[0]); /* the node ends before a thread frees the former one */
    unlink(path);
    end(&s);
}
END_TEST

/* So many wait at most. */
START_TEST(limit)
{
    struct scene s;
    json_t *out;
    begin(&s);
    for (int i = 0; i < NODE_CHANGES_MAX; i++)
        ck_assert_int_eq(node_reload(&s.n->node, NULL, NULL), 0);
    ck_assert_int_eq(node_reload(&s.n->node, NULL, NULL), HELIO_EAGAIN);
    ck_assert_ptr_null(ask(&s, SET("{keepalive: 7s}"), &out));
    ck_assert(json_is_false(json_object_get(out, "ok")));
    json_decref(out);
    for (int i = 0; i < NODE_CHANGES_MAX; i++)
        do_job();
    ck_assert_uint_eq(jobs_len, 0);
    end(&s);
}
END_TEST

SUITE(tools_control_change, t)
{
    tcase_add_test(t, answer_waits);
    tcase_add_test(t, in_order);
    tcase_add_test(t, links_in_order);
    tcase_add_test(t, link_removed);
    tcase_add_test(t, visitor_goes);
    tcase_add_test(t, node_ends);
    tcase_add_test(t, plans);
    tcase_add_test(t, limit);
}
