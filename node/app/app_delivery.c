/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles for applications: each is written to the subscriber that the agent selects, which answers
 * in the same order. A bundle that ends before its answer (its lifetime has expired) is taken back:
 * if it was not written yet, it never is; otherwise its later answer only frees its part of the
 * window. What can go wrong: an answer without a delivery, or a message that is no answer, ends the
 * connection; memory.
 */
#include <stdlib.h>

#include "node/app/app.h"
#include "node/app/app_message.h"

static struct app *find_subscriber(const struct apps *a, uint64_t reg)
{
    list_for_each (l, &a->all) {
        struct app *c = container_of(l, struct app, node);
        if (c->subscriber && c->reg == reg)
            return c;
    }
    return NULL;
}

void apps_deliver(struct apps *a, const struct agent_action *action)
{
    struct app *c = find_subscriber(a, action->reg);
    if (c != NULL)
        app_deliver(c, action);
    else
        agent_delivered(a->node->agent, action->key, false, node_now(a->node));
}

static const struct eid *find_previous(const struct node *n, int link)
{
    const bool known = link >= 0 && (size_t)link < n->links_len && n->links[link] != NULL;
    return known ? &n->links[link]->config->peer : NULL;
}

void app_deliver(struct app *c, const struct agent_action *action)
{
    struct app_pending *p = calloc(1, sizeof *p);
    struct app_out *o =
        p != NULL ? message_adu(action, find_previous(c->apps->node, action->from)) : NULL;
    if (o == NULL) {
        free(p);
        c->apps->counters.undelivered++;
        agent_delivered(c->apps->node->agent, action->key, false, node_now(c->apps->node));
        return;
    }
    p->key = o->key = action->key;
    list_add_tail(&c->pending, &p->node);
    app_put_out(c, o);
}

void apps_recall(struct apps *a, const struct agent_action *action)
{
    struct app *c = find_subscriber(a, action->reg);
    if (c != NULL)
        app_recall(c, action->key);
}

/* What the connection was not given yet is not written any more. */
static bool take_back(struct app *c, uint64_t key)
{
    list_for_each (l, &c->out) {
        struct app_out *o = container_of(l, struct app_out, node);
        if (o->key != key)
            continue;
        list_sub(l);
        c->out_bytes -= o->len;
        message_free(o);
        return true;
    }
    return false;
}

void app_recall(struct app *c, uint64_t key)
{
    const struct apps *a = c->apps;
    list_for_each (l, &c->pending) {
        struct app_pending *p = container_of(l, struct app_pending, node);
        if (p->keepalive || p->recalled || p->key != key)
            continue;
        c->apps->counters.taken_back++;
        p->recalled = true;
        if (!take_back(c, key))
            return;
        list_sub(l);
        free(p);
        agent_recalled(a->node->agent, c->reg, node_now(a->node));
        return;
    }
}

bool app_answered(struct app *c, const Aap2__AAPResponse *m)
{
    struct list *l = list_first(&c->pending);
    /* other messages are read as answers without a status */
    if (l == NULL || m->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_UNSPECIFIED)
        return false;
    struct app_pending *p = container_of(l, struct app_pending, node);
    list_sub(l);
    if (p->recalled) {
        agent_recalled(c->apps->node->agent, c->reg, node_now(c->apps->node));
        node_wake(c->apps->node);
    } else if (!p->keepalive) {
        bool ok = m->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_SUCCESS ||
                  m->response_status == AAP2__RESPONSE_STATUS__RESPONSE_STATUS_ACK;
        if (ok)
            c->apps->counters.deliveries++;
        else
            c->apps->counters.undelivered++;
        agent_delivered(c->apps->node->agent, p->key, ok, node_now(c->apps->node));
        node_wake(c->apps->node);
    }
    free(p);
    return true;
}
