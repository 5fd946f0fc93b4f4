/* SPDX-License-Identifier: Apache-2.0 */
/* A node in virtual time whose links are of an adapter in the test's memory: "memory", and
 * "patient", which can wait. The test plays the other end. */
#ifndef TESTS_UNIT_TOOLS_LINKS_H
#define TESTS_UNIT_TOOLS_LINKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_link.h"
#include "node/node.h"
#include "sim/virtual.h"
#include "tests/unit/suite.h"

#define UNUSED_HERE __attribute__((unused))

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
    bool paused;
    struct cla_gauges gauges;         /* as the test has them */
    uint8_t remote[ADDRESS_KEY_HOST]; /* the host of its remote */
    uint8_t from[ADDRESS_KEY_HOST];   /* of an unconfigured peer: its host */
    bool certificate;                 /* likewise: it has one */
    struct eid peer;                  /* likewise */
    unsigned accepted;
    enum cla_verdict verdict; /* the last one; CLA_VERDICT_COUNT: none yet */
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
                         .config = k,
                         .gauges = {.heard = TICK_NEVER, .asked = TICK_NEVER}};
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

static bool memory_at_remote(const struct cla *c, const uint8_t *host)
{
    return memcmp(memory_of(c)->remote, host, ADDRESS_KEY_HOST) == 0;
}

static bool memory_judge(struct cla *c)
{
    struct memory *m = memory_of(c);
    char why[512];
    const struct cla_proof proof = {.certificate = m->certificate, .host = m->from};
    return m->env.events.named(m->env.events.context, &m->peer, &proof, why, sizeof why);
}

static int memory_set(struct cla *c, const void *config, void *files, char *why, size_t why_cap)
{
    (void)files;
    const struct memory_config *k = config;
    if (k->window == 13) {
        snprintf(why, why_cap, "window: 13 brings no luck");
        return HELIO_EINVAL;
    }
    memory_of(c)->config = k;
    c->limits.window = (uint32_t)k->window;
    return 0;
}

static void memory_confirm(struct cla *c, uint64_t token, enum cla_verdict verdict)
{
    (void)token;
    memory_of(c)->verdict = verdict;
    memory_of(c)->accepted += verdict == CLA_ACCEPTED;
}

static void memory_set_link(struct cla *c, bool up)
{
    (void)c;
    (void)up;
}

static void memory_contact(struct cla *c, const struct cla_contact *contact)
{
    (void)c;
    (void)contact;
}

static void memory_gauges(const struct cla *c, struct cla_gauges *out)
{
    *out = memory_of(c)->gauges;
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
    .at_remote = memory_at_remote,
    .judge = memory_judge,
    .live = (const char *const[]){"window", NULL},
    .set = memory_set,
    .confirm = memory_confirm,
    .set_link = memory_set_link,
    .contact = memory_contact,
    .gauges = memory_gauges,
    .close = memory_close,
};

/* The same, which can wait. */
static struct cla_ops patient_ops;

static void patient_pause(struct cla *c, bool on)
{
    memory_of(c)->paused = on;
}

static int patient_open(struct cla **out, const struct cla_env *env, const void *config, char *why,
                        size_t why_cap)
{
    int r = memory_open(out, env, config, why, why_cap);
    if (r == 0)
        (*out)->ops = &patient_ops;
    return r;
}

static const struct cla_ops *memory_at(size_t i)
{
    patient_ops = memory_ops;
    patient_ops.name = "patient";
    patient_ops.open = patient_open;
    patient_ops.pause = patient_pause;
    return i == 0 ? &memory_ops : i == 1 ? &patient_ops : NULL;
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

UNUSED_HERE static struct memory *link_of(const struct bench *b, const char *name)
{
    struct node_link *l = node_link_find(&b->n, name);
    ck_assert_msg(l != NULL, "%s", name);
    return memory_of(l->cla);
}

UNUSED_HERE static void tell_link(struct bench *b, struct memory *m, bool up)
{
    m->env.events.link(m->env.events.context, &m->cla, up);
    turn(b);
}

/* The other end's word on the i-th of what is taken. */
UNUSED_HERE static void tell_done(struct bench *b, struct memory *m, size_t i,
                                  enum cla_outcome outcome, enum cla_reason reason)
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

UNUSED_HERE static enum agent_refusal submit(struct bench *b, const char *to, size_t size)
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

UNUSED_HERE static uint64_t held(const struct bench *b)
{
    return agent_counters(b->n.agent)->bundles;
}

/* A bundle comes, with the byte `damage` from its end changed (0: none). */
UNUSED_HERE static enum cla_verdict bring(struct bench *b, struct memory *m, const struct bundle *w,
                                          size_t damage)
{
    struct buf *whole = bundle_encode_copy(w);
    if (damage > 0)
        buf_data(whole)[whole->len - damage] ^= 1;
    m->verdict = CLA_VERDICT_COUNT;
    m->env.events.received(m->env.events.context, &m->cla, whole, 1);
    turn(b);
    return m->verdict;
}

#endif
