/* SPDX-License-Identifier: Apache-2.0 */
/* A node's beginning and end as heliod has them, its store and its applications: one that sends,
 * one that takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/storage.h"
#include "tests/sim/planned.h"

#define REG (NODE_FIRST + 1)

/* ---- the store ---- */

static struct planned_kept *find_kept(struct storage *s, uint64_t key)
{
    list_for_each (it, &s->kept) {
        struct planned_kept *k = container_of(it, struct planned_kept, node);
        if (k->key == key && k->bundle != NULL)
            return k;
    }
    return NULL;
}

static struct buf *copy_of(struct buf *b, size_t room)
{
    struct buf *copy = buf_new(room, b->len);
    if (copy == NULL)
        abort();
    memcpy(buf_append(copy, b->len), buf_data(b), b->len);
    return copy;
}

static void set_mark(struct planned_kept *k, const struct agent_action *a)
{
    k->mark_len = a->mark_id.len;
    k->mark_until_ms = a->mark_until_ms;
    if (k->mark_len > sizeof k->mark)
        abort();
    if (k->mark_len > 0)
        memcpy(k->mark, a->mark_id.data, k->mark_len);
}

static int put_bundle(struct storage *s, const struct agent_action *a)
{
    struct planned_kept *k = find_kept(s, a->key);
    if (k == NULL) {
        k = calloc(1, sizeof *k);
        if (k == NULL || a->head.len > sizeof k->head)
            abort();
        list_add_tail(&s->kept, &k->node);
    } else {
        buf_drop(k->bundle);
    }
    k->key = a->key;
    k->head_len = a->head.len;
    memcpy(k->head, a->head.data, a->head.len);
    k->bundle = copy_of(a->bundle, 0);
    set_mark(k, a);
    if (a->sequence_end > s->sequence)
        s->sequence = a->sequence_end;
    agent_stored(s->owner->node.agent, a->key, true, node_now(&s->owner->node));
    return 0;
}

static int get_bundle(struct storage *s, uint64_t key)
{
    const struct planned_kept *k = find_kept(s, key);
    agent_loaded(s->owner->node.agent, key, k == NULL ? NULL : copy_of(k->bundle, BUNDLE_HEAD_MAX),
                 node_now(&s->owner->node));
    return 0;
}

static int remove_bundle(struct storage *s, const struct agent_action *a)
{
    struct planned_kept *k = find_kept(s, a->key);
    if (k == NULL)
        return 0;
    buf_drop(k->bundle);
    k->bundle = NULL;
    set_mark(k, a);
    if (k->mark_len == 0) {
        list_sub(&k->node);
        free(k);
    }
    return 0;
}

static void submit_nothing(struct storage *s)
{
    (void)s;
}

static void restore_all(struct planned_node *n)
{
    list_for_each (it, &n->storage.kept) {
        struct planned_kept *k = container_of(it, struct planned_kept, node);
        int rc = k->bundle != NULL ? agent_restore(n->node.agent, k->key,
                                                   slice_of(k->head, k->head_len), k->bundle->len)
                                   : 0;
        if (rc == 0 && k->mark_len > 0)
            rc =
                agent_restore_mark(n->node.agent, slice_of(k->mark, k->mark_len), k->mark_until_ms);
        if (rc != 0)
            planned_complain(n->run, "the agent does not take back what it stored");
    }
    if (n->storage.sequence > 0)
        agent_restore_sequence(n->node.agent, n->storage.sequence);
}

/* ---- applications ---- */

static struct planned_bundle *find_bundle(struct planned *p, const struct bundle_id *id)
{
    for (size_t i = 0; i < p->next; i++)
        if (p->bundle[i].sent && bundle_id_equal(&p->bundle[i].id, id))
            return &p->bundle[i];
    return NULL;
}

static void take_delivery(struct apps *apps, const struct agent_action *a)
{
    struct planned *p = apps->owner->run;
    struct planned_bundle *b = find_bundle(p, &a->id);
    struct planned_answer *x = calloc(1, sizeof *x);
    if (x == NULL)
        abort();
    x->key = a->key;
    list_add_tail(&apps->answers, &x->node);
    if (b == NULL || b->to != apps->owner->index || a->payload.len != b->size) {
        planned_complain(p, "a bundle was delivered that nobody sent there");
        return;
    }
    for (size_t k = 0; k < a->payload.len; k++)
        if (a->payload.data[k] != (uint8_t)(k * 31 + b->size))
            planned_complain(p, "a bundle was delivered with other bytes");
    if (b->delivered++ > 0)
        planned_complain(p, "a bundle was delivered twice");
    b->came = p->world.now;
}

static void recall_delivery(struct apps *apps, const struct agent_action *a)
{
    (void)apps;
    (void)a;
}

static void take_answer(struct apps *apps, const struct agent_action *a)
{
    struct planned *p = apps->owner->run;
    p->bundle[a->token - NODE_FIRST].confirmed = a->kind == AGENT_CONFIRM;
}

static void flush_nothing(struct apps *apps)
{
    (void)apps;
}

static const struct node_ops ops = {
    .deliver = take_delivery,
    .recall = recall_delivery,
    .answer = take_answer,
    .flush = flush_nothing,
    .put = put_bundle,
    .get = get_bundle,
    .remove = remove_bundle,
    .submit = submit_nothing,
};

void planned_node_answer(struct planned_node *n)
{
    for (struct list *l; (l = list_first(&n->apps.answers)) != NULL;) {
        struct planned_answer *x = container_of(l, struct planned_answer, node);
        list_sub(l);
        agent_delivered(n->node.agent, x->key, true, node_now(&n->node));
        node_wake(&n->node);
        free(x);
    }
}

void planned_node_send(struct planned_node *n, size_t index)
{
    struct planned *p = n->run;
    struct planned_bundle *b = &p->bundle[index];
    struct agent_request r = {.source = eid_ipn(0, b->from + 1, 9),
                              .destination = eid_ipn(0, b->to + 1, 7),
                              .report_to = eid_none(),
                              .lifetime_ms = b->lifetime / TICK_MS,
                              .crc = -1,
                              .token = NODE_FIRST + index};
    struct bundle_qos qos = bundle_qos_none();
    qos.flags = QOS_CRITICAL;
    r.qos = b->critical ? &qos : NULL;
    r.payload = buf_new(BUNDLE_HEAD_MAX, b->size + BUNDLE_TAIL_MAX);
    if (r.payload == NULL)
        abort();
    uint8_t *at = buf_append(r.payload, b->size);
    for (size_t k = 0; k < b->size; k++)
        at[k] = (uint8_t)(k * 31 + b->size);
    enum agent_refusal why = agent_send(n->node.agent, &r, node_now(&n->node), &b->id);
    b->sent = why == REFUSE_NONE;
    if (!b->sent) {
        buf_drop(r.payload);
        p->refused++;
        if (!p->loose && b->arrival != TICK_NEVER)
            planned_complain(p, "a bundle was refused that had a route");
    }
    node_wake(&n->node);
}

/* ---- runs of a node ---- */

/* A node's counters are lost with it. */
static void note_ends(struct planned_node *n)
{
    const struct agent_counters *c = agent_counters(n->node.agent);
    for (size_t i = 0; i < END_COUNT; i++)
        n->run->ended[i] += c->ended[i];
}

void planned_node_forget(struct planned_node *n, uint64_t now_ms)
{
    list_for_each_safe (it, &n->storage.kept) {
        struct planned_kept *k = container_of(it, struct planned_kept, node);
        if (k->bundle != NULL || k->mark_until_ms >= now_ms)
            continue;
        list_sub(it);
        free(k);
    }
}

static bool are_neighbours(const struct planned *p, uint64_t a, uint64_t b)
{
    return plan_meets(p->plan, a, b) || plan_meets(p->plan, b, a);
}

/* Of two with TCPCL the lower one connects. */
static void write_link(FILE *f, const struct planned *p, unsigned long long own,
                       unsigned long long to, const char *keys)
{
    unsigned long long there = own < to ? to : own;
    fprintf(f, "  - {name: to-%llu, peer: ipn:%llu.0, ", to, to);
    if (p->mixed && (own + to) % 2 == 0)
        fprintf(f, "adapter: tcpcl, %s: 10.0.%llu.%llu, timers: {reconnect_max: 10s}, tls: off}\n",
                own < to ? "remote" : "local", there / 256, there % 256);
    else
        fprintf(f, "adapter: ltp-udp, local: 10.0.%llu.%llu:1, remote: 10.0.%llu.%llu:1, %s}\n",
                own / 256, own % 256, to / 256, to % 256, keys);
}

void planned_node_configure(struct planned_node *n, const char *keys, bool store)
{
    struct conf_errors *errors = malloc(sizeof *errors);
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    uint64_t own = n->index + 1;
    if (f == NULL || errors == NULL)
        abort();
    fprintf(f,
            "node: ipn:%zu.0\nsocket: /a\nplan: %s\nbundles: {lifetime_max: 60d, mode: strict}\n",
            n->index + 1, n->run->path);
    fprintf(f, "store: %s\nlinks:\n",
            store ? "{path: /s, durability: sync, limit: 1GiB}" : "{durability: none}");
    for (uint64_t to = 1; to <= n->run->len; to++) {
        if (to != own && are_neighbours(n->run, own, to))
            write_link(f, n->run, own, to, keys);
    }
    fclose(f);
    conf_errors_init(errors, "planned");
    if (config_parse(&n->config, text, len, cla_at, errors) != 0) {
        fprintf(stderr, "%s\n", errors->text[0]);
        abort();
    }
    free(text);
    free(errors);
}

void planned_start(struct planned_node *n)
{
    bool none = n->config.store.durability == STORE_NONE;
    struct eid endpoint = eid_ipn(0, n->index + 1, 7);
    n->node = (struct node){.config = &n->config,
                            .ops = &ops,
                            .world = &n->run->world.world,
                            .earlier_life = n->lives++ > 0 && !none};
    n->node.say.level = LEVEL_ERROR;
    n->run->world.world.owner = n->index;
    if (node_open(&n->node, none) != 0)
        abort();
    restore_all(n);
    n->node.apps = &n->apps;
    n->node.storage = none ? NULL : &n->storage;
    if (node_start(&n->node) != 0 ||
        agent_register(n->node.agent, REG, &endpoint, 8, node_now(&n->node)) != 0)
        abort();
    n->alive = true;
}

static void on_closed(void *context)
{
    (void)context;
}

void planned_kill(struct planned_node *n)
{
    if (n->run->mixed) /* the host, or the process alone */
        pipes_abandon(&n->run->world.pipes, n->index, rng_chance(&n->run->rng, 0.5));
    for (size_t i = 0; i < n->node.links_len; i++) {
        struct node_link *l = n->node.links[i];
        if (l == NULL || l->cla == NULL)
            continue;
        l->cla->ops->close(l->cla, on_closed, l);
        virtual_settle(&n->run->world);
        l->cla = NULL;
    }
    if (n->run->mixed)
        virtual_fire_soon(&n->run->world);
    for (struct list *l; (l = list_first(&n->apps.answers)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct planned_answer, node));
    }
    note_ends(n);
    node_close(&n->node);
    n->alive = false;
}

void planned_node_fini(struct planned_node *n)
{
    if (n->alive)
        planned_kill(n);
    for (struct list *l; (l = list_first(&n->storage.kept)) != NULL;) {
        struct planned_kept *k = container_of(l, struct planned_kept, node);
        list_sub(l);
        buf_drop(k->bundle);
        free(k);
    }
    config_fini(&n->config);
}
