/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What applications and their node say to each other, without a socket: aap2_client.h for the one
 * side, apps.h for the other. A request goes to the agent at once; its answer, and a delivery, wake
 * the application up a little later. What can go wrong: the agent refuses a bundle, which is its
 * answer; memory, then the bundle goes back to the agent or is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/stack.h"

#define REQUESTS_MAX 64 /* unanswered requests of a connection, as at a node */
#define TOKEN_SHIFT 32

struct apps {
    struct stack_host *host;
    struct list clients;
    uint64_t next_reg;
    struct apps_counters counters;
};

struct answer {
    bool known, ok;
    const char *text;
};

struct delivery {
    struct list node;
    uint64_t key;
    bool recalled; /* the bundle ended before the answer */
    struct buf *payload;
    char source[EID_TEXT_MAX];
};

struct aap2_client {
    struct list node; /* of apps->clients */
    struct apps *apps;
    struct stack_app *app;
    uint64_t id, reg;
    struct eid endpoint;
    bool subscriber;
    struct answer answers[REQUESTS_MAX];
    uint64_t asked, told;         /* requests; answers that the application has */
    struct list arrived, pending; /* struct delivery: not taken; taken and not answered */
};

int stack_apps_new(struct stack_host *h)
{
    struct apps *a = calloc(1, sizeof *a);
    if (a == NULL)
        return HELIO_ENOMEM;
    a->host = h;
    a->next_reg = NODE_FIRST;
    list_init(&a->clients);
    h->apps = a;
    return 0;
}

void stack_apps_free(struct apps *a)
{
    free(a); /* its clients are closed */
}

static void wake(struct aap2_client *c)
{
    c->app->due = tick_min(c->app->due, c->app->stack->world.now + STACK_APP_DELAY);
}

/* ---- the node's side ---- */

static struct delivery *delivery_new(const struct agent_action *a)
{
    struct delivery *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->payload = buf_new(0, a->payload.len);
    if (d->payload == NULL) {
        free(d);
        return NULL;
    }
    if (a->payload.len > 0)
        memcpy(buf_append(d->payload, a->payload.len), a->payload.data, a->payload.len);
    d->key = a->key;
    eid_text(&a->id.source, d->source);
    return d;
}

void apps_deliver(struct apps *apps, const struct agent_action *a)
{
    list_for_each (it, &apps->clients) {
        struct aap2_client *c = container_of(it, struct aap2_client, node);
        if (!c->subscriber || c->reg != a->reg)
            continue;
        struct delivery *d = delivery_new(a);
        if (d == NULL)
            break;
        list_add_tail(&c->arrived, &d->node);
        apps->counters.deliveries++;
        wake(c);
        return;
    }
    apps->counters.undelivered++;
    agent_delivered(apps->host->node.agent, a->key, false, node_now(&apps->host->node));
}

static struct delivery *find_delivery(struct list *l, uint64_t key)
{
    list_for_each (it, l) {
        struct delivery *d = container_of(it, struct delivery, node);
        if (d->key == key && !d->recalled)
            return d;
    }
    return NULL;
}

void apps_recall(struct apps *apps, const struct agent_action *a)
{
    list_for_each (it, &apps->clients) {
        struct aap2_client *c = container_of(it, struct aap2_client, node);
        if (!c->subscriber || c->reg != a->reg)
            continue;
        struct delivery *d = find_delivery(&c->arrived, a->key);
        if (d == NULL)
            d = find_delivery(&c->pending, a->key);
        if (d != NULL)
            d->recalled = true;
        apps->counters.taken_back += d != NULL;
    }
}

void apps_answer(struct apps *apps, const struct agent_action *a)
{
    list_for_each (it, &apps->clients) {
        struct aap2_client *c = container_of(it, struct aap2_client, node);
        if (c->id != a->token >> TOKEN_SHIFT)
            continue;
        uint32_t number = (uint32_t)a->token;
        bool ok = a->kind == AGENT_CONFIRM;
        c->answers[number % REQUESTS_MAX] =
            (struct answer){true, ok, ok ? "" : agent_refusal_text(a->refusal)};
        apps->counters.refused += !ok;
        wake(c);
        return;
    }
}

void apps_flush(struct apps *apps)
{
    (void)apps;
}

/* ---- the application's side ---- */

static struct aap2_client *client_new(struct stack_app *app, const struct eid *endpoint)
{
    struct aap2_client *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->apps = app->host->apps;
    c->app = app;
    c->id = ++app->stack->next_client + NODE_FIRST;
    c->endpoint = *endpoint;
    list_init(&c->arrived);
    list_init(&c->pending);
    list_add_tail(&c->apps->clients, &c->node);
    return c;
}

static int subscribe(struct aap2_client *c, uint32_t window)
{
    struct node *n = &c->apps->host->node;
    int rc = agent_register(n->agent, c->apps->next_reg, &c->endpoint, window > 0 ? window : 1,
                            node_now(n));
    if (rc < 0)
        return rc;
    c->reg = c->apps->next_reg++;
    c->subscriber = true;
    node_wake(n);
    return 0;
}

int perf_link_open(struct perf_link *l)
{
    struct stack_app *app = l->world;
    char node[EID_TEXT_MAX];
    struct eid endpoint;
    eid_text(&app->host->config.node, node);
    int rc = perf_link_endpoint(l, node);
    if (rc == 0)
        rc = eid_parse(l->endpoint, &endpoint);
    if (rc < 0) {
        snprintf(l->why, sizeof l->why, "%.100s cannot have the service %s", node, l->service);
        return rc;
    }
    l->tx = client_new(app, &endpoint);
    l->rx = client_new(app, &endpoint);
    rc = l->tx == NULL || l->rx == NULL ? HELIO_ENOMEM : subscribe(l->rx, l->window);
    if (rc < 0)
        snprintf(l->why, sizeof l->why, "%.100s: %s", l->endpoint,
                 rc == HELIO_EEXIST ? "another application has it; choose --service"
                                    : helio_strerror(rc));
    return rc;
}

tick perf_realtime(const struct perf_link *l)
{
    const struct stack_app *app = l->world;
    return STACK_START * TICK_S + app->stack->world.now;
}

static void drop_all(struct list *deliveries)
{
    for (struct list *l; (l = list_first(deliveries)) != NULL;) {
        struct delivery *d = container_of(l, struct delivery, node);
        list_sub(l);
        buf_drop(d->payload);
        free(d);
    }
}

void aap2_client_close(struct aap2_client *c)
{
    if (c == NULL)
        return;
    struct node *n = &c->apps->host->node;
    if (c->subscriber)
        agent_unregister(n->agent, c->reg, node_now(n));
    drop_all(&c->arrived);
    drop_all(&c->pending);
    list_sub(&c->node);
    free(c);
}

static struct buf *payload_of(const struct aap2_adu *adu)
{
    size_t len = adu->head.len + adu->body.len;
    struct buf *b = buf_new(BUNDLE_HEAD_MAX, len + BUNDLE_TAIL_MAX);
    if (b == NULL)
        return NULL;
    if (adu->head.len > 0)
        memcpy(buf_append(b, adu->head.len), adu->head.data, adu->head.len);
    if (adu->body.len > 0)
        memcpy(buf_append(b, adu->body.len), adu->body.data, adu->body.len);
    return b;
}

int aap2_client_send(struct aap2_client *c, const struct aap2_adu *adu)
{
    struct node *n = &c->apps->host->node;
    struct agent_request r = {.source = c->endpoint,
                              .report_to = eid_none(),
                              .lifetime_ms = adu->lifetime_ms,
                              .crc = (int)adu->crc_type - 1,
                              .token = c->id << TOKEN_SHIFT | (uint32_t)c->asked};
    if (aap2_client_full(c))
        return HELIO_EAGAIN;
    if (eid_parse(adu->destination, &r.destination) < 0)
        return HELIO_EINVAL;
    r.payload = payload_of(adu);
    if (r.payload == NULL)
        return HELIO_ENOMEM;
    struct answer *a = &c->answers[c->asked++ % REQUESTS_MAX];
    *a = (struct answer){.known = false};
    enum agent_refusal refusal = agent_send(n->agent, &r, node_now(n), NULL);
    node_wake(n);
    c->apps->counters.requests++;
    if (refusal == REFUSE_NONE)
        return 0;
    buf_drop(r.payload);
    *a = (struct answer){true, false, agent_refusal_text(refusal)};
    c->apps->counters.refused++;
    wake(c);
    return 0;
}

int aap2_client_answer(struct aap2_client *c, bool success)
{
    struct node *n = &c->apps->host->node;
    struct list *l = list_first(&c->pending);
    if (l == NULL)
        return HELIO_EINVAL;
    struct delivery *d = container_of(l, struct delivery, node);
    list_sub(l);
    if (d->recalled)
        agent_recalled(n->agent, c->reg, node_now(n));
    else
        agent_delivered(n->agent, d->key, success, node_now(n));
    node_wake(n);
    buf_drop(d->payload);
    free(d);
    return 0;
}

int aap2_client_flush(struct aap2_client *c)
{
    (void)c;
    return 0;
}

bool aap2_client_queued(const struct aap2_client *c)
{
    (void)c;
    return false;
}

bool aap2_client_full(const struct aap2_client *c)
{
    return c->asked - c->told >= REQUESTS_MAX;
}

/* What an arrival points to, in one allocation. */
struct held {
    Aap2__AAPResponse response;
    Aap2__AAPMessage message;
    Aap2__BundleADU adu;
    char text[EID_TEXT_MAX];
};

static int give_answer(struct aap2_client *c, struct aap2_arrival *out)
{
    const struct answer *a = &c->answers[c->told % REQUESTS_MAX];
    if (c->told == c->asked || !a->known)
        return 0;
    struct held *h = calloc(1, sizeof *h);
    if (h == NULL)
        return HELIO_ENOMEM;
    aap2__aapresponse__init(&h->response);
    h->response.response_status = a->ok ? AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS
                                        : AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR;
    snprintf(h->text, sizeof h->text, "%s", a->text);
    h->response.text = h->text;
    c->told++;
    *out = (struct aap2_arrival){.response = &h->response};
    return 1;
}

int aap2_client_next(struct aap2_client *c, struct aap2_arrival *out)
{
    struct list *l = list_first(&c->arrived);
    if (l == NULL)
        return give_answer(c, out);
    struct held *h = calloc(1, sizeof *h);
    if (h == NULL)
        return HELIO_ENOMEM;
    struct delivery *d = container_of(l, struct delivery, node);
    list_sub(l);
    list_add_tail(&c->pending, l);
    aap2__aapmessage__init(&h->message);
    aap2__bundle_adu__init(&h->adu);
    memcpy(h->text, d->source, sizeof h->text);
    h->adu.src_eid = h->text;
    h->message.adu = &h->adu;
    *out = (struct aap2_arrival){.message = &h->message, .payload = buf_keep(d->payload)};
    return 1;
}

void aap2_arrival_fini(struct aap2_arrival *a)
{
    if (a->response != NULL)
        free(container_of(a->response, struct held, response));
    if (a->message != NULL)
        free(container_of(a->message, struct held, message));
    buf_drop(a->payload);
}
