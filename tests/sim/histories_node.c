/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's beginning and end as heliod has them (uv_node.c), its clock, and its applications: one
 * that sends, and one that takes each bundle and answers a while later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/histories.h"

#define REG (NODE_FIRST + 1) /* of the application that takes bundles */
#define WINDOW 8             /* its open deliveries */
#define LIFETIME_MS (30 * UINT64_C(86400000))

/* ---- applications ---- */

static void note_delivery(struct history_node *n, const struct agent_action *a)
{
    struct history *h = n->history;
    int i = history_index(h, &a->id);
    if (i < 0) {
        history_complain(h, "a bundle was delivered that nobody sent");
        return;
    }
    struct history_entry *e = &h->entry[i];
    history_say(h, "node %zu delivers bundle %d", n->index + 1, i);
    bool right = a->payload.len == h->c->bundle[i].size && h->c->bundle[i].from != n->index;
    for (size_t k = 0; right && k < a->payload.len; k++)
        right = a->payload.data[k] == (uint8_t)((size_t)i * 31 + k);
    if (!right)
        history_complain(h, "a bundle was delivered with other bytes, or elsewhere");
    if (e->delivered > 0 && !e->twice_fair)
        history_complain(h, "a bundle was delivered twice without a reason");
    h->t->twice += e->delivered > 0;
    h->t->delivered += e->delivered == 0;
    e->delivered++;
    e->key = a->key;
    e->twice_fair = e->marked = false;
}

static void take_delivery(struct apps *apps, const struct agent_action *a)
{
    struct history_answer *x = calloc(1, sizeof *x);
    if (x == NULL)
        abort();
    note_delivery(apps->owner, a);
    x->key = a->key;
    x->due = apps->owner->history->world.now + apps->owner->history->c->app_time;
    list_add_tail(&apps->answers, &x->node);
}

/* The application knows nothing of it, and answers when it had meant to. */
static void recall_delivery(struct apps *apps, const struct agent_action *a)
{
    list_for_each (it, &apps->answers) {
        struct history_answer *x = container_of(it, struct history_answer, node);
        if (x->key == a->key)
            x->recalled = true;
    }
}

static void take_answer(struct apps *apps, const struct agent_action *a)
{
    struct history *h = apps->owner->history;
    struct history_entry *e = &h->entry[a->token - NODE_FIRST];
    e->confirmed = a->kind == AGENT_CONFIRM;
    e->refused = !e->confirmed;
    h->t->confirmed += e->confirmed;
    history_say(h, "node %zu %s bundle %d", apps->owner->index + 1,
                e->confirmed ? "confirms" : "refuses", (int)(a->token - NODE_FIRST));
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
    .put = history_store_put,
    .get = history_store_get,
    .remove = history_store_remove,
    .submit = history_store_submit,
};

tick history_apps_due(const struct history_node *n)
{
    struct list *l = list_first(&n->apps.answers);
    return l == NULL ? TICK_NEVER : container_of(l, struct history_answer, node)->due;
}

void history_apps_step(struct history_node *n)
{
    struct history_answer *x =
        container_of(list_first(&n->apps.answers), struct history_answer, node);
    list_sub(&x->node);
    if (x->recalled)
        agent_recalled(n->node.agent, REG, node_now(&n->node));
    else
        agent_delivered(n->node.agent, x->key, true, node_now(&n->node));
    node_wake(&n->node);
    free(x);
}

void history_send(struct history *h, size_t index)
{
    const struct history_bundle *b = &h->c->bundle[index];
    struct history_node *n = &h->nodes[b->from];
    struct agent_request r = {.source = eid_ipn(0, b->from + 1, 9),
                              .destination = eid_ipn(0, 2 - b->from, 7),
                              .report_to = eid_none(),
                              .lifetime_ms = LIFETIME_MS,
                              .crc = -1,
                              .token = NODE_FIRST + index};
    if (!n->alive)
        return;
    r.payload = buf_new(BUNDLE_HEAD_MAX, b->size + BUNDLE_TAIL_MAX);
    if (r.payload == NULL)
        abort();
    uint8_t *at = buf_append(r.payload, b->size);
    for (size_t k = 0; k < b->size; k++)
        at[k] = (uint8_t)(index * 31 + k);
    h->entry[index].sent =
        agent_send(n->node.agent, &r, node_now(&n->node), &h->entry[index].id) == REFUSE_NONE;
    if (!h->entry[index].sent) /* its memory is full: no promise was made */
        buf_drop(r.payload);
    node_wake(&n->node);
}

/* ---- runs of a node ---- */

static void drop_answers(struct apps *a)
{
    for (struct list *l; (l = list_first(&a->answers)) != NULL;) {
        list_sub(l);
        free(container_of(l, struct history_answer, node));
    }
}

/* As a file would have it, but for what was drawn. Little memory, so that bundles are loaded. */
static void configure_node(struct history_node *n)
{
    static const char *const keeps[] = {"{path: /s, durability: sync, limit: 1GiB}",
                                        "{path: /s, durability: async, limit: 1GiB}",
                                        "{durability: none}"};
    const struct history_case *c = n->history->c;
    struct conf_errors errors;
    char text[1536], ltp[256];
    snprintf(ltp, sizeof ltp,
             "adapter: ltp-udp, rto: 1s, local: 10.0.0.%zu:1113, remote: 10.0.0.%zu:1113",
             n->index + 1, 2 - n->index);
    int len = snprintf(text, sizeof text,
                       "node: ipn:%zu.0\nsocket: /a\nstore: %s\n"
                       "bundles: {memory: 64kB, retry_min: 100ms, retry_max: 5s}\n"
                       "links:\n  - {name: link, peer: ipn:%zu.0, %s}\n",
                       n->index + 1, keeps[c->durability[n->index]], 2 - n->index,
                       c->adapter == HISTORY_LTP ? ltp : c->keys[n->index]);
    conf_errors_init(&errors, "history");
    if (config_parse(&n->config, text, (size_t)len, cla_at, &errors) != 0) {
        fprintf(stderr, "%s\n%s", errors.text[0], text);
        abort();
    }
    if (c->adapter != HISTORY_LTP)
        return;
    struct ltp_link_config *k = n->config.links[0].settings, given = *k;
    conf_options_free(ltp_link_options, k);
    *k = c->link[n->index];
    k->udp.local = given.udp.local;
    k->udp.remote = given.udp.remote;
}

void history_node_init(struct history *h, size_t index)
{
    struct history_node *n = &h->nodes[index];
    n->history = h;
    n->index = index;
    n->planned_up = true;
    list_init(&n->disk.bundles);
    list_init(&n->disk.marks);
    list_init(&n->apps.answers);
    configure_node(n);
    history_store_open(n);
}

void history_node_start(struct history_node *n)
{
    bool none = n->config.store.durability == STORE_NONE;
    struct eid endpoint = eid_ipn(0, n->index + 1, 7);
    n->node = (struct node){.config = &n->config,
                            .ops = &ops,
                            .world = &n->history->world.world,
                            .earlier_life = n->lives++ > 0 && !none};
    n->node.say.level = LEVEL_ERROR;
    n->history->world.world.owner = n->index;
    if (node_open(&n->node, none) != 0)
        abort();
    history_store_open(n);
    n->apps.owner = n;
    n->node.apps = &n->apps;
    n->node.storage = none ? NULL : &n->storage;
    if (node_start(&n->node) != 0 ||
        agent_register(n->node.agent, REG, &endpoint, WINDOW, node_now(&n->node)) != 0)
        abort();
    n->alive = true;
    if (!n->planned_up)
        history_node_link(n, false);
}

static void on_closed(void *context)
{
    (void)context; /* its memory may be gone */
}

/* Has it the bundle where its durability says? */
static bool has_kept(const struct history_node *n, int index)
{
    if (n->config.store.durability == STORE_NONE)
        return n->alive && history_node_holds(n, index);
    list_for_each (it, &n->disk.bundles)
        if (container_of(it, struct history_kept, node)->index == index)
            return true;
    return false;
}

/* The bundle that was being stored is lost, and its id with it: the id may be another bundle's. */
static void forget_unstored(struct history_node *n)
{
    struct history *h = n->history;
    for (size_t i = 0; i < h->c->bundles; i++) {
        struct history_entry *e = &h->entry[i];
        if (h->c->bundle[i].from == n->index && !e->confirmed && !e->stored)
            e->sent = false;
    }
}

/* Lost with a node: bundles without another copy, and the memory of delivered ones. */
static void note_end(struct history_node *n)
{
    forget_unstored(n);
    struct history *h = n->history;
    bool none = n->config.store.durability == STORE_NONE;
    for (size_t i = 0; i < h->c->bundles; i++) {
        struct history_entry *e = &h->entry[i];
        if (e->delivered > 0 && h->c->bundle[i].from != n->index && (none || !e->marked))
            e->twice_fair = true;
        if (none && e->delivered == 0 && history_node_holds(n, (int)i) &&
            (h->c->bundle[i].from != n->index || !has_kept(&h->nodes[1 - n->index], (int)i))) {
            h->t->excused += !e->excused;
            e->excused = true;
        }
    }
}

void history_node_end(struct history_node *n, bool killed)
{
    struct node_link *l = n->node.links[0];
    if (!killed)
        agent_link(n->node.agent, 0, false, node_now(&n->node));
    else if (n->history->c->adapter == HISTORY_TCPCL) /* the host, or the process alone */
        pipes_abandon(&n->history->world.pipes, n->index, rng_chance(&n->history->rng, 0.5));
    l->cla->ops->close(l->cla, on_closed, l);
    virtual_settle(&n->history->world);
    if (n->history->c->adapter == HISTORY_TCPCL)
        virtual_fire_soon(&n->history->world);
    l->cla = NULL;
    if (!killed) {
        node_pump(&n->node);
        history_store_finish(n);
        node_pump(&n->node);
        history_store_finish(n);
    } else {
        n->history->gone += agent_counters(n->node.agent)->storing; /* these are not sent again */
        history_store_kill(n, rng_chance(&n->history->rng, 0.5));
    }
    note_end(n);
    drop_answers(&n->apps);
    history_store_kill(n, false);
    node_close(&n->node);
    n->alive = false;
}

void history_node_fini(struct history_node *n)
{
    if (n->alive)
        history_node_end(n, true);
    history_disk_fini(&n->disk);
    config_fini(&n->config);
}

void history_node_link(struct history_node *n, bool up)
{
    n->planned_up = up;
    n->history->world.world.owner = n->index;
    if (n->alive)
        n->node.links[0]->cla->ops->set_link(n->node.links[0]->cla, up);
}

bool history_node_holds(const struct history_node *n, int index)
{
    struct agent_bundle_info info[2 * HISTORY_BUNDLES];
    if (!n->alive) {
        list_for_each (it, &n->disk.bundles)
            if (container_of(it, struct history_kept, node)->index == index)
                return true;
        return false;
    }
    size_t len = agent_bundles(n->node.agent, info, 2 * HISTORY_BUNDLES);
    for (size_t i = 0; i < len && i < 2 * HISTORY_BUNDLES; i++)
        if (history_index(n->history, &info[i].id) == index)
            return true;
    return false;
}
