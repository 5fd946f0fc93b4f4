/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's links over an adapter that lives in the test's memory: outcomes with reasons, limits
 * that change, neighbours who come in and say who they are, what an adapter reaches, links that
 * come, change and go. The test plays the other end.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/node/config_link.h"
#include "tools/node/node.h"
#include "tools/sim/virtual.h"

/* ---- the adapter "memory" ---- */

#define TAKEN_MAX 64

struct memory_config {
    uint64_t window;
    char *reaches; /* a pattern; "": it does not know */
};

struct memory {
    struct cla cla;
    struct cla_env env;
    const struct memory_config *config;
    uint64_t keys[TAKEN_MAX]; /* taken, without an outcome */
    uint64_t bytes[TAKEN_MAX];
    size_t len;
    void (*closed)(void *context);
    void *closed_context;
    struct memory *next; /* of those that are closing */
};

static struct memory *closing;
static const struct cla_ops memory_ops;

static struct memory *memory_of(const struct cla *c)
{
    return container_of((struct cla *)(uintptr_t)c, struct memory, cla);
}

static int memory_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                       size_t why_cap)
{
    const struct memory_config *k = config;
    if (k->window == 13) {
        snprintf(why, why_cap, "window: 13 brings no luck");
        return HELIO_EINVAL;
    }
    struct memory *m = calloc(1, sizeof *m);
    *m = (struct memory){.cla = {.ops = &memory_ops, .limits = {(uint32_t)k->window, 0, 1}},
                         .env = *env,
                         .config = k};
    *out = &m->cla;
    return 0;
}

static enum cla_reason memory_send(struct cla *c, uint64_t key, struct buf *bundle)
{
    struct memory *m = memory_of(c);
    ck_assert(c->limits.bundle_max == 0 || bundle->len <= c->limits.bundle_max);
    if (m->len >= c->limits.window)
        return CLA_REASON_BUSY;
    m->bytes[m->len] = bundle->len;
    m->keys[m->len++] = key;
    return CLA_REASON_NONE;
}

static bool memory_reaches(const struct cla *c, const struct eid *destination)
{
    struct eid_pattern p;
    const struct memory_config *k = memory_of(c)->config;
    return k != NULL && eid_pattern_parse(k->reaches, &p) == 0 &&
           eid_pattern_match(&p, destination);
}

static int memory_set(struct cla *c, const void *config, char *why, size_t why_cap)
{
    const struct memory_config *k = config;
    if (k->window == 13) {
        snprintf(why, why_cap, "window: 13 brings no luck");
        return HELIO_EINVAL;
    }
    memory_of(c)->config = k;
    c->limits.window = (uint32_t)k->window;
    return 0;
}

static void memory_confirm(struct cla *c, uint64_t token, bool ok)
{
    (void)c;
    (void)token;
    (void)ok;
}

static void memory_set_link(struct cla *c, bool up)
{
    (void)c;
    (void)up;
}

static void memory_close(struct cla *c, void (*closed)(void *context), void *context)
{
    struct memory *m = memory_of(c);
    m->closed = closed;
    m->closed_context = context;
    m->next = closing;
    closing = m;
}

static const struct conf_option memory_options[] = {
    {.key = "window",
     .type = OPTION_COUNT,
     .offset = offsetof(struct memory_config, window),
     .initial = "2",
     .min = 1,
     .max = TAKEN_MAX,
     .help = "bundles at once"},
    {.key = "reaches",
     .type = OPTION_TEXT,
     .offset = offsetof(struct memory_config, reaches),
     .initial = "",
     .help = "a pattern"},
    {.key = NULL},
};

static const struct cla_ops memory_ops = {
    .name = "memory",
    .options = memory_options,
    .config_size = sizeof(struct memory_config),
    .inbound = true,
    .open = memory_open,
    .send = memory_send,
    .reaches = memory_reaches,
    .live = (const char *const[]){"window", NULL},
    .set = memory_set,
    .confirm = memory_confirm,
    .set_link = memory_set_link,
    .close = memory_close,
};

static const struct cla_ops *memory_at(size_t i)
{
    return i == 0 ? &memory_ops : NULL;
}

/* ---- applications: there are none ---- */

static void take_delivery(struct apps *apps, const struct agent_action *a)
{
    (void)apps;
    (void)a;
    abort();
}

static void recall_delivery(struct apps *apps, const struct agent_action *a)
{
    (void)apps;
    (void)a;
}

static void take_answer(struct apps *apps, const struct agent_action *a)
{
    (void)apps;
    (void)a;
}

static void flush_nothing(struct apps *apps)
{
    (void)apps;
}

static const struct node_ops ops = {.deliver = take_delivery,
                                    .recall = recall_delivery,
                                    .answer = take_answer,
                                    .flush = flush_nothing};

/* ---- the node ---- */

struct bench {
    struct virtual_world v;
    struct rng rng;
    struct config config;
    struct node n;
};

/* What was closed has closed, and the node has its turn. */
static void turn(struct bench *b)
{
    while (closing != NULL) {
        struct memory *m = closing;
        closing = m->next;
        m->closed(m->closed_context);
        free(m);
    }
    (void)world_end_round(&b->v.world);
    agent_check(b->n.agent);
}

static struct memory *link_of(const struct bench *b, const char *name)
{
    struct node_link *l = node_link_find(&b->n, name);
    ck_assert_msg(l != NULL, "%s", name);
    return memory_of(l->cla);
}

static void tell_link(struct bench *b, struct memory *m, bool up)
{
    m->env.events.link(m->env.events.context, &m->cla, up);
    turn(b);
}

/* The other end's word on the i-th of what is taken. */
static void tell_done(struct bench *b, struct memory *m, size_t i, enum cla_outcome outcome,
                      enum cla_reason reason)
{
    uint64_t key = m->keys[i];
    ck_assert_uint_lt(i, m->len);
    memmove(m->keys + i, m->keys + i + 1, (m->len - i - 1) * sizeof *m->keys);
    m->len--;
    m->env.events.done(m->env.events.context, &m->cla, key, outcome, reason);
    turn(b);
}

static struct bench *start(const char *links)
{
    struct bench *b = calloc(1, sizeof *b);
    struct conf_errors errors;
    char text[1024];
    snprintf(text, sizeof text,
             "node: ipn:1.0\nsocket: /a\necho: off\nstore: {durability: none}\nlinks:\n%s", links);
    conf_errors_init(&errors, "test");
    ck_assert_msg(config_parse(&b->config, text, strlen(text), memory_at, &errors) == 0, "%s",
                  errors.text[0]);
    rng_init(&b->rng, 1);
    virtual_init(&b->v, UINT64_C(1767225600) * TICK_S, &b->rng, TICK_US);
    b->n = (struct node){.config = &b->config, .ops = &ops, .world = &b->v.world};
    b->n.say.level = LEVEL_ERROR;
    ck_assert_int_eq(node_open(&b->n, true), 0);
    ck_assert_int_eq(node_start(&b->n), 0);
    turn(b);
    return b;
}

static void on_all_closed(struct node *n)
{
    n->stopping = true;
}

static void stop(struct bench *b)
{
    node_links_close(&b->n, on_all_closed);
    while (closing != NULL)
        turn(b);
    ck_assert(b->n.stopping && b->n.open_links == 0);
    node_close(&b->n);
    virtual_fini(&b->v);
    config_fini(&b->config);
    free(b);
}

static enum agent_refusal submit(struct bench *b, const char *to, size_t size)
{
    struct agent_request r = {.source = eid_ipn(0, 1, 5), .report_to = eid_ipn(0, 1, 5), .crc = -1};
    ck_assert_int_eq(eid_parse(to, &r.destination), 0);
    r.payload = buf_new(BUNDLE_HEAD_MAX, size + BUNDLE_TAIL_MAX);
    memset(buf_append(r.payload, size), 'x', size);
    enum agent_refusal refusal = agent_send(b->n.agent, &r, node_now(&b->n), NULL);
    if (refusal != REFUSE_NONE)
        buf_drop(r.payload);
    node_wake(&b->n);
    turn(b);
    return refusal;
}

static uint64_t held(const struct bench *b)
{
    return agent_counters(b->n.agent)->bundles;
}

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

/* Somebody is at the door of `host`. NULL: he is not let in. */
static struct memory *come_in(struct bench *b, struct memory *host, const char *name)
{
    struct memory *m = calloc(1, sizeof *m);
    struct eid peer;
    ck_assert_int_eq(eid_parse(name, &peer), 0);
    *m = (struct memory){.cla = {.ops = &memory_ops, .limits = {4, 0, 0}}};
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
    /* he goes, with a bundle on the way; it waits for him */
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

/* A static route is asked first, then who says that he reaches it and is up. */
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

static int add(struct bench *b, const char *name, const char *text, char *why, size_t why_cap)
{
    struct conf_errors errors;
    conf_errors_init(&errors, name);
    struct config_link *own =
        config_link_parse(name, text, strlen(text), &b->config.node, memory_at, &errors);
    ck_assert_msg(own != NULL, "%s", errors.text[0]);
    int r = node_link_add(&b->n, own, why, why_cap);
    turn(b);
    return r;
}

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

int main(void)
{
    Suite *s = suite_create("links");
    TCase *t = tcase_create("links");
    tcase_add_test(t, outcomes);
    tcase_add_test(t, limits_change);
    tcase_add_test(t, neighbours_come_in);
    tcase_add_test(t, an_adapter_knows_what_it_reaches);
    tcase_add_test(t, come_change_and_go);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
