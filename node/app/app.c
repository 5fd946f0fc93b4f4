/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection begins with its configuration. Then a sender's bundles are passed to the agent and
 * answered with the agent's decision; a subscriber gets bundles and answers them. What can go
 * wrong: an illegal message is answered with an error and, if the stream can no longer be
 * interpreted, the end of the connection. Unanswered bundles of an ended connection return to the
 * agent.
 */
#include "node/app/app.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "node/app/app_message.h"
#include "node/node_self.h"
#include "node/node_shortage.h"

static bool is_ipn(const char *text)
{
    return strncmp(text, "ipn:", 4) == 0;
}

/* What is not filled is memory that each bundle takes as long as it waits, or a copy to give it
 * back. */
static size_t find_head_room(const struct aap2_reader *r, const Aap2__BundleADU *m)
{
    const struct app *c = container_of(r, struct app, reader);
    bool ipn = c->endpoint != NULL && c->endpoint->eid.scheme == EID_IPN && is_ipn(m->dst_eid) &&
               (*m->report_to_eid == '\0' || is_ipn(m->report_to_eid));
    return ipn ? BUNDLE_HEAD_IPN : BUNDLE_HEAD_MAX;
}

void app_init(struct app *c, struct apps *apps, struct app_user *user)
{
    c->apps = apps;
    c->user = user;
    list_add_tail(&apps->all, &c->node);
    list_init(&c->requests);
    list_init(&c->pending);
    list_init(&c->out);
    list_init(&c->flush);
    aap2_reader_init(&c->reader, false, BUNDLE_HEAD_MAX, BUNDLE_TAIL_MAX,
                     apps->node->config->bundles.max);
    c->reader.find_head_room = find_head_room;
    c->reader.piece_max = APP_AHEAD_MAX;
    c->heard = c->begun = node_now(apps->node).now;
    apps->counters.connections++;
}

#define REQUEST_BYTES 1024 /* what a bundle takes beside its payload until the store has it */

void app_touch(struct app *c)
{
    if (list_empty(&c->flush))
        list_add_tail(&c->apps->flush, &c->flush);
    node_wake(c->apps->node);
}

void app_put_out(struct app *c, struct app_out *o)
{
    if (o == NULL) {
        c->failed = true; /* out of memory: the order of answers would be lost */
    } else {
        list_add_tail(&c->out, &o->node);
        c->out_bytes += o->len;
    }
    app_touch(c);
}

static void drop_request(struct app_request *r)
{
    list_sub(&r->node);
    r->app->requests_len--;
    free(r);
}

/* Answers that are next in order go out. */
static void send_answers(struct app *c)
{
    for (struct list *l; (l = list_first(&c->requests)) != NULL;) {
        struct app_request *r = container_of(l, struct app_request, node);
        if (r->answer == NULL)
            return;
        app_put_out(c, r->answer);
        drop_request(r);
    }
}

/* One line a second at most: an application may try again at once. */
static void tell_refusal(struct apps *a, const char *what, const char *which, const char *why)
{
    tick now = node_now(a->node).now;
    if (a->refusal_told != 0 && now < a->refusal_told + TICK_S) {
        a->refusals_untold++;
        return;
    }
    if (a->refusals_untold > 0)
        say(&a->node->say, LEVEL_INFO, "an application: %s%s refused: %s (and %llu more before)",
            what, which, why, (unsigned long long)a->refusals_untold);
    else
        say(&a->node->say, LEVEL_INFO, "an application: %s%s refused: %s", what, which, why);
    a->refusal_told = now;
    a->refusals_untold = 0;
}

static struct app_request *request_new(struct app *c)
{
    struct app_request *r = calloc(1, sizeof *r);
    if (r == NULL) {
        tell_refusal(c->apps, "its connection", "", "out of memory");
        c->failed = true;
        app_touch(c);
        return NULL;
    }
    r->app = c;
    list_add_tail(&c->requests, &r->node);
    c->requests_len++;
    return r;
}

static void answer_now(struct app *c, Aap2__ResponseStatus status, const char *text)
{
    struct app_request *r = request_new(c);
    if (r == NULL)
        return;
    r->answer = message_response(status, text, NULL);
    if (r->answer == NULL)
        c->failed = true;
    if (status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS &&
        status != AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ACK)
        c->apps->counters.refused++;
    send_answers(c);
}

static void tell_bundle(struct apps *a, const struct eid *destination, const char *why)
{
    char text[EID_TEXT_MAX];
    eid_text(destination, text);
    tell_refusal(a, "bundle to ", text, why);
}

static void refuse_message(struct app *c, Aap2__ResponseStatus status, const char *text)
{
    tell_refusal(c->apps, "request", "", text);
    answer_now(c, status, text);
}

/* ---- configuration ---- */

static struct app_endpoint *endpoint_find(const struct apps *a, const struct eid *eid)
{
    list_for_each (l, &a->endpoints) {
        struct app_endpoint *e = container_of(l, struct app_endpoint, node);
        if (eid_equal(&e->eid, eid))
            return e;
    }
    return NULL;
}

static struct app_endpoint *endpoint_new(struct apps *a, const struct eid *eid, const char *secret)
{
    struct app_endpoint *e = calloc(1, sizeof *e);
    char *copy = strdup(secret);
    if (e == NULL || copy == NULL) {
        free(e);
        free(copy);
        return NULL;
    }
    e->eid = *eid;
    e->secret = copy;
    list_add_tail(&a->endpoints, &e->node);
    return e;
}

static void endpoint_leave(struct app *c)
{
    struct app_endpoint *e = c->endpoint;
    if (e == NULL)
        return;
    if (c->subscriber) {
        agent_unregister(c->apps->node->agent, c->reg, node_now(c->apps->node));
        node_wake(c->apps->node);
    }
    c->endpoint = NULL;
    if (--e->users > 0)
        return;
    list_sub(&e->node);
    free(e->secret);
    free(e);
}

static int subscribe_app(struct app *c, struct app_endpoint *e, uint32_t window)
{
    struct apps *a = c->apps;
    uint64_t reg = a->next_reg;
    window = window == 0 ? 1 : window > APP_WINDOW_MAX ? APP_WINDOW_MAX : window;
    int err = agent_register(a->node->agent, reg, &e->eid, window, node_now(a->node));
    if (err < 0)
        return err;
    a->next_reg++;
    c->reg = reg;
    c->subscriber = true;
    c->reader.responses = true;
    node_wake(a->node);
    return 0;
}

/* NULL, or why the endpoint cannot be this connection's. */
static const char *join_node(struct app *c, const struct eid *eid, const Aap2__ConnectionConfig *m)
{
    struct app_endpoint *e = endpoint_find(c->apps, eid);
    if (e != NULL && !secret_equal(e->secret, strlen(e->secret), m->secret, strlen(m->secret)))
        return "the endpoint is in use with another secret";
    if (e == NULL)
        e = endpoint_new(c->apps, eid, m->secret);
    if (e == NULL)
        return "out of memory";
    e->users++;
    c->endpoint = e;
    int err = m->is_subscriber ? subscribe_app(c, e, m->window) : 0;
    if (err == 0)
        return NULL;
    endpoint_leave(c);
    return err == HELIO_EEXIST ? "the endpoint has a subscriber"
                               : "the endpoint cannot be registered";
}

static const char of_link[] = "a link of the node has this endpoint for itself (key local)";

/* A group has members, but sends nothing. */
static bool may_have(const struct node *n, const struct eid *eid, bool subscribes)
{
    uint64_t group, service;
    if (eid_imc(eid, &group, &service))
        return subscribes;
    return eid_same_node(eid, &n->config->node) && !eid_is_node(eid) &&
           (!n->has_echo || !eid_equal(eid, &n->echo));
}

/* What is wrong with it in *why, or NULL. */
static Aap2__ResponseStatus take_config(struct app *c, const Aap2__ConnectionConfig *m,
                                        const char **why)
{
    const struct node *n = c->apps->node;
    struct eid eid;
    *why = "the connection is configured already";
    if (c->endpoint != NULL)
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST;
    *why = "this node gives no access to forwarding tables or dispatch";
    if (m->auth_type != AAP2__AUTH_TYPE__AUTH_TYPE_DEFAULT)
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED;
    const bool parsed = eid_parse(m->endpoint_id, &eid) == 0;
    *why = of_link;
    if (parsed && node_self_at(n, &eid))
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST;
    *why = "endpoint_id must be a free endpoint of this node, or, to subscribe, a group";
    if (!parsed || !may_have(n, &eid, m->is_subscriber))
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST;
    *why = agent_may_register(n->agent, c->user->id, &eid) ? join_node(c, &eid, m)
                                                           : AAP2_NOT_PERMITTED;
    if (*why != NULL)
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNAUTHORIZED;
    c->keepalive = (tick)(m->keepalive_seconds > 86400 ? 86400 : m->keepalive_seconds) * TICK_S;
    return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
}

static void on_config(struct app *c, const Aap2__ConnectionConfig *m)
{
    const char *why;
    const Aap2__ResponseStatus status = take_config(c, m, &why);
    if (why != NULL)
        refuse_message(c, status, why);
    else
        answer_now(c, status, NULL);
}

/* ---- bundles of the application ---- */

/* NULL, or what is wrong with it. */
static const char *make_request(const struct app *c, const Aap2__BundleADU *m,
                                struct agent_request *out, struct bundle_qos *qos)
{
    *out = (struct agent_request){
        .lifetime_ms = m->lifetime_ms, .flags = m->bundle_flags, .crc = (int)m->crc_type - 1};
    *qos = (struct bundle_qos){.priority = (enum bundle_priority)(m->priority - 1),
                               .ordinal = (uint8_t)m->ordinal};
    out->qos = m->priority == 0 ? NULL : qos;
    /* clients without our field ask for reports by naming their end */
    if (m->bundle_flags == 0 && *m->report_to_eid != '\0')
        out->flags = BUNDLE_TIMED_REPORTS;
    if (c->endpoint == NULL)
        return "the connection is not configured";
    if (node_self_at(c->apps->node, &c->endpoint->eid)) /* a link that was added since */
        return of_link;
    out->source = c->endpoint->eid;
    out->report_to = eid_none();
    if (m->n_adu_flags > 0 && (m->n_adu_flags > 1 || m->adu_flags[0] != 0))
        return "only plain bundles are accepted here";
    if (eid_parse(m->dst_eid, &out->destination) < 0)
        return "dst_eid is not an endpoint id";
    struct eid source;
    if (*m->src_eid != '\0' &&
        (eid_parse(m->src_eid, &source) < 0 || !eid_equal(&source, &out->source)))
        return "src_eid must be empty or the connection's endpoint";
    if (*m->report_to_eid != '\0' && eid_parse(m->report_to_eid, &out->report_to) < 0)
        return "report_to_eid is not an endpoint id";
    if (*m->report_to_eid == '\0' && (out->flags & BUNDLE_TIMED_REPORTS) != 0)
        out->report_to = out->source;
    if (m->crc_type > 3)
        return "crc_type is 0 to 3";
    if (m->priority > BUNDLE_PRIORITIES)
        return "priority is 0 to 3";
    if (m->ordinal > QOS_ORDINAL_MAX || (m->ordinal > 0 && m->priority != 1 + BUNDLE_EXPEDITED))
        return "ordinal is 0 to 254, of priority 3";
    return NULL;
}

static void on_adu(struct app *c, const Aap2__BundleADU *m, struct buf *payload)
{
    struct apps *a = c->apps;
    struct agent_request q;
    struct bundle_qos qos;
    const char *why = make_request(c, m, &q, &qos);
    struct app_request *r = why == NULL ? request_new(c) : NULL;
    if (r == NULL) {
        if (why != NULL)
            refuse_message(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST, why);
        buf_drop(payload);
        return;
    }
    q.payload = payload;
    q.user = c->user->id;
    q.token = r->token = a->next_token++;
    r->bytes = m->payload_length;
    r->destination = q.destination;
    r->lifetime_ms =
        q.lifetime_ms != 0 ? q.lifetime_ms : a->node->config->bundles.lifetime / TICK_MS;
    enum agent_refusal refusal = payload == NULL
                                     ? REFUSE_NO_MEMORY
                                     : agent_send(a->node->agent, &q, node_now(a->node), &r->id);
    a->counters.requests++;
    a->node->rests.quick++; /* links with long bundles leave it more time */
    node_wake(a->node);
    if (refusal == REFUSE_NONE) {
        hash_add(&a->requests, &r->by_token, r->token); /* counted up here */
        r->waiting = true;
        app_unanswered_add(c, r->bytes + REQUEST_BYTES);
        return;
    }
    a->counters.refused++;
    c->refused = true;
    char reason[REFUSAL_TEXT_MAX];
    tell_bundle(a, &q.destination, node_refusal_text(a->node, refusal, reason));
    buf_drop(payload);
    r->answer = message_response(AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR, reason, NULL);
    if (r->answer == NULL)
        c->failed = true;
    send_answers(c);
}

static struct app_request *take_request(struct apps *a, uint64_t token)
{
    struct hash_node *n = hash_find(&a->requests, token);
    for (; n != NULL; n = hash_next(n)) {
        struct app_request *r = container_of(n, struct app_request, by_token);
        if (r->token != token)
            continue;
        hash_sub(&a->requests, n);
        r->waiting = false;
        app_unanswered_sub(a, r->app, r->bytes + REQUEST_BYTES);
        return r;
    }
    return NULL;
}

void apps_answer(struct apps *a, const struct agent_action *action)
{
    struct app_request *r = take_request(a, action->token);
    if (r == NULL)
        return;
    struct app *c = r->app;
    if (c == NULL) {
        free(r);
        return;
    }
    if (action->kind == AGENT_CONFIRM) {
        r->answer = message_response(AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS, NULL, r);
    } else {
        a->counters.refused++;
        tell_bundle(a, &r->destination, agent_refusal_text(action->refusal));
        r->answer = message_response(AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR,
                                     agent_refusal_text(action->refusal), NULL);
    }
    if (r->answer == NULL)
        c->failed = true;
    send_answers(c);
    app_touch(c);
}

/* A bundle is identified by its connection's endpoint, and the time and sequence number in the
 * answer to its request: so a client cannot take back another one's. If it is in transmission,
 * alone or in an LTP block with others, it is deleted after that, unless it was sent. */
static Aap2__ResponseStatus take_back(struct app *c, const Aap2__CancelADU *m, const char **why)
{
    struct node *n = c->apps->node;
    uint64_t key;
    if (c->endpoint == NULL) {
        *why = "the connection is not configured";
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST;
    }
    struct bundle_id id = {.source = c->endpoint->eid,
                           .time_ms = m->creation_timestamp_ms,
                           .sequence = m->sequence_number};
    if (agent_find(n->agent, &id, &key) != 0 || node_delete(n, key) != 0) {
        *why = "no such bundle of this endpoint is here";
        return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_NOT_FOUND;
    }
    return AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS;
}

static void on_cancel(struct app *c, const Aap2__CancelADU *m)
{
    const char *why = NULL;
    answer_now(c, take_back(c, m, &why), why);
}

/* ---- the stream ---- */

static void on_message(struct app *c, const Aap2__AAPMessage *m, struct buf *payload)
{
    switch (m->msg_case) {
    case AAP2__AAPMESSAGE__MSG_CONFIG:
        on_config(c, m->config);
        break;
    case AAP2__AAPMESSAGE__MSG_ADU:
        on_adu(c, m->adu, payload);
        break;
    case AAP2__AAPMESSAGE__MSG_CANCEL:
        on_cancel(c, m->cancel);
        break;
    case AAP2__AAPMESSAGE__MSG_KEEPALIVE:
        answer_now(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ACK, NULL);
        break;
    default:
        refuse_message(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST,
                       "this node does not take such messages");
        break;
    }
}

#define NOT_AN_ANSWER "a subscriber may only send answers to deliveries and keepalives"

static void tell_subscriber(struct app *c, const char *why)
{
    char text[EID_TEXT_MAX];
    assert(c->subscriber && c->endpoint != NULL);
    eid_text(&c->endpoint->eid, text);
    tell_refusal(c->apps, "connection of ", text, why);
}

/* The stream cannot be read on: what it has is malformed, or there is no memory for a message. */
static void on_lost(struct app *c, int error)
{
    const bool malformed = error == HELIO_EFORMAT;
    c->apps->counters.malformed += malformed;
    if (c->subscriber) /* it takes no answers: both ends would be responders */
        tell_subscriber(c, malformed ? NOT_AN_ANSWER : "out of memory");
    else if (malformed)
        refuse_message(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_INVALID_REQUEST,
                       "malformed message, or a payload longer than the node's bundles.max");
    else
        refuse_message(c, AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ERROR, "out of memory");
    c->failed = true;
    app_touch(c);
}

void app_fed(struct app *c, size_t n)
{
    c->heard = node_now(c->apps->node).now;
    c->yields = c->refused = false;
    for (;; n = 0) {
        if (n == 0 && (app_had_turn(c) || c->refused)) {
            app_yield(c);
            return;
        }
        Aap2__AAPMessage *message;
        Aap2__AAPResponse *response;
        struct buf *payload;
        int got = aap2_reader_fed(&c->reader, n, &message, &response, &payload);
        app_set_reading(c, c->reader.payload == NULL ? 0 : c->reader.payload->len);
        if (got < 0)
            on_lost(c, got);
        if (got <= 0)
            return;
        c->user->messages++;
        if (response != NULL) {
            if (!app_answered(c, response))
                on_lost(c, HELIO_EFORMAT);
            aap2_response_free(response);
        } else {
            on_message(c, message, payload);
            aap2_message_free(message);
        }
        if (!app_may_read(c))
            return;
    }
}

static void end_now(struct app *c)
{
    c->failed = c->dead = true;
    app_touch(c);
}

/* A sender keeps the connection alive by its requests: silence of twice the interval ends it. A
 * subscriber is asked once per interval. */
void app_keepalive(struct app *c, tick now)
{
    if (c->endpoint == NULL && now >= c->begun + APP_CONFIGURE_TIME) {
        c->apps->counters.unconfigured++;
        end_now(c);
        return;
    }
    if (app_holds_up(c, now)) {
        c->apps->counters.stalled++;
        tell_refusal(c->apps, "its connection", "", "its payload stopped, and others wait");
        end_now(c);
        return;
    }
    if (c->keepalive == 0 || c->endpoint == NULL)
        return;
    if (now >= c->heard + 2 * c->keepalive && (!c->subscriber || !list_empty(&c->pending))) {
        c->apps->counters.keepalives_missed++;
        end_now(c);
        return;
    }
    if (!c->subscriber || now < c->asked + c->keepalive || !list_empty(&c->pending))
        return;
    struct app_pending *p = calloc(1, sizeof *p);
    if (p == NULL)
        return;
    p->keepalive = true;
    list_add_tail(&c->pending, &p->node);
    c->asked = now;
    app_put_out(c, message_keepalive());
}

void app_fini(struct app *c)
{
    struct apps *a = c->apps;
    app_unanswered_drop(c);
    app_set_reading(c, 0);
    endpoint_leave(c); /* unanswered deliveries go back with the registration */
    for (struct list *l; (l = list_first(&c->pending)) != NULL;) {
        struct app_pending *p = container_of(l, struct app_pending, node);
        a->counters.undelivered += !p->keepalive && !p->recalled;
        list_sub(l);
        free(p);
    }
    for (struct list *l; (l = list_first(&c->requests)) != NULL;) {
        struct app_request *r = container_of(l, struct app_request, node);
        list_sub(l);
        r->app = NULL;
        if (!r->waiting) { /* answered, but not its turn: nothing else refers to it */
            message_free(r->answer);
            free(r);
        }
    }
    for (struct list *l; (l = list_first(&c->out)) != NULL;) {
        list_sub(l);
        message_free(container_of(l, struct app_out, node));
    }
    list_sub(&c->flush);
    list_sub(&c->node);
    aap2_reader_fini(&c->reader);
    app_user_leave(c->user);
    a->counters.connections--;
}
