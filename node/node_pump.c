/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the agent's actions one after the other: for the store, a link, an application. What can
 * go wrong is reported to the agent as the outcome of the action; the agent decides what follows.
 */
#include "node/node_hold.h"
#include "node/node_names.h"
#include "node/node_self.h"
#include "node/node_shortage.h"
#include "node/node_verify.h"

static void do_store(struct node *n, const struct agent_action *a)
{
    if (n->storage == NULL) {
        agent_stored(n->agent, a->key, true, node_now(n));
    } else if (n->ops->put(n->storage, a) < 0) {
        n->store_failures++;
        agent_stored(n->agent, a->key, false, node_now(n));
    }
    buf_drop(a->bundle);
}

static void do_load(struct node *n, const struct agent_action *a)
{
    if (n->storage == NULL || n->ops->get(n->storage, a->key) < 0)
        agent_loaded(n->agent, a->key, NULL, node_now(n));
}

static void do_remove(struct node *n, const struct agent_action *a)
{
    if (n->storage != NULL && n->ops->remove(n->storage, a) < 0)
        say(&n->say, LEVEL_ERROR, "store: out of memory: bundle %llu stays until the next start",
            (unsigned long long)a->key);
}

void node_limits(struct node_link *l)
{
    uint32_t bundles = l->cla->limits.window;
    if (l->cla->limits.bundle_max != l->bundle_max) {
        l->bundle_max = l->cla->limits.bundle_max;
        agent_link_limit(l->node->agent, l->index, l->bundle_max, node_now(l->node));
    }
    if (bundles == l->window)
        return;
    l->window = bundles;
    agent_window(l->node->agent, l->index, bundles, node_now(l->node));
}

static void do_send(struct node *n, const struct agent_action *a)
{
    struct node_link *l = n->links[a->link];
    enum cla_reason reason =
        l->cla == NULL ? CLA_REASON_CLOSED : l->cla->ops->send(l->cla, a->key, a->bundle);
    if (reason != CLA_REASON_NONE)
        node_link_done(l, a->key, CLA_FAILED, reason);
    else
        node_limits(l);
    buf_drop(a->bundle);
}

int node_delete(struct node *n, uint64_t key)
{
    int r = agent_delete(n->agent, key, node_now(n));
    node_wake(n);
    return r;
}

static void do_recall(struct node *n, const struct agent_action *a)
{
    if (!a->from_link) {
        if (node_self_has(a->reg))
            node_self_recall(n, a);
        else
            n->ops->recall(n->apps, a);
        return;
    }
    struct cla *c = n->links[a->link]->cla;
    if (c != NULL && cla_cancel(c, a->key) == HELIO_ENOENT)
        agent_sent(n->agent, a->key, false, node_now(n));
}

static void do_deliver(struct node *n, const struct agent_action *a)
{
    if (a->reg == NODE_REG_ECHO)
        echo_deliver(n, a);
    else if (node_self_has(a->reg))
        node_self_deliver(n, a);
    else
        n->ops->deliver(n->apps, a);
    buf_drop(a->bundle);
}

/* The answer to a link's peer about its bundle. */
static enum cla_verdict verdict_of(const struct agent_action *a)
{
    if (a->kind == AGENT_CONFIRM || !a->keep)
        return CLA_ACCEPTED;
    switch (a->refusal) {
    case REFUSE_FULL:
    case REFUSE_QUOTA:
    case REFUSE_QUEUE:
    case REFUSE_LIMIT:
    case REFUSE_STORE:
    case REFUSE_NO_MEMORY:
        return CLA_FULL;
    case REFUSE_MALFORMED:
    case REFUSE_FRAGMENT:
    case REFUSE_SECURITY:
    case REFUSE_TOO_LONG:
        return CLA_FAULTY;
    case REFUSE_BUSY:
        return CLA_BUSY;
    default:
        return CLA_UNWANTED;
    }
}

static void do_answer(struct node *n, const struct agent_action *a)
{
    if (!a->from_link) {
        if (node_self_has(a->token))
            node_self_answer(n, a);
        else if (a->token != NODE_TOKEN_ECHO)
            n->ops->answer(n->apps, a);
        return;
    }
    struct node_link *l = n->links[a->link];
    uint64_t token;
    if (l != NULL && l->cla != NULL && !node_hold_answer(l, a, &token))
        l->cla->ops->confirm(l->cla, token, verdict_of(a));
}

/* What no contact of the plan brings in time: at once, and then now and then. */
static void tell_too_late(struct node *n, const struct agent_counters *c)
{
    uint64_t refused = c->refused[REFUSE_TOO_LATE] - n->shortage.too_late;
    uint64_t kept = c->too_late - n->shortage.kept;
    const struct agent_late *late = agent_late(n->agent);
    char to[EID_TEXT_MAX], when[LATE_TEXT_MAX];
    if (refused + kept == 0)
        return;
    eid_text(&late->destination, to);
    node_late_text(n, late->arrival, late->expires, when);
    if (refused > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu bundles were refused: no contact can bring them before their lifetime ends; the "
            "latest for %s: %s",
            (unsigned long long)refused, to, when);
    if (kept > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu bundles wait here, but no contact can bring them before their lifetime ends; the "
            "latest for %s: %s",
            (unsigned long long)kept, to, when);
    n->shortage.after = node_now(n).now + 10 * TICK_S;
    n->shortage.too_late += refused;
    n->shortage.kept += kept;
}

/* Once: from then on each new one displaces another. */
static void tell_displaced(struct node *n, const struct agent_counters *c)
{
    if (c->displaced == 0 || n->shortage.displaced)
        return;
    n->shortage.displaced = true;
    say(&n->say, LEVEL_WARNING,
        "the ids of ended bundles, against duplicates, have %llu bytes, which is their limit: the "
        "oldest make room, and a duplicate of their bundles is accepted again (counter displaced)",
        (unsigned long long)c->seen_bytes);
}

void node_tell_shortage(struct node *n)
{
    const struct agent_counters *c = agent_counters(n->agent);
    tick now = node_now(n).now;
    uint64_t gave_way = c->ended[END_GAVE_WAY] - n->shortage.gave_way;
    uint64_t refused = c->refused[REFUSE_QUOTA] + c->refused[REFUSE_FULL] - n->shortage.refused;
    uint64_t reports = c->reports_limited - n->shortage.reports;
    uint64_t dropped = c->ended[END_DROPPED] - n->shortage.dropped;
    char why[SHORTAGE_TEXT_MAX];
    if (now < n->shortage.after)
        return;
    tell_too_late(n, c);
    tell_displaced(n, c);
    if (gave_way + refused + reports + dropped == 0)
        return;
    if (dropped > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu bundles were dropped (when_full: drop): bundles of higher priority or longer "
            "lifetime needed the room",
            (unsigned long long)dropped);
    if (gave_way > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu fragments of incomplete bundles were deleted to make room for newer ones",
            (unsigned long long)gave_way);
    if (refused > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu bundles were refused: the node, or the share of their peer, source or endpoint, "
            "is full; the latest: %s",
            (unsigned long long)refused, node_shortage_text(n, agent_shortage(n->agent), why));
    if (reports > 0)
        say(&n->say, LEVEL_WARNING,
            "%llu status reports were not sent: more than report_rate, %llu a second",
            (unsigned long long)reports, (unsigned long long)n->config->bundles.report_rate);
    n->shortage.reports += reports;
    n->shortage.dropped += dropped;
    n->shortage.gave_way += gave_way;
    n->shortage.refused += refused;
    n->shortage.after = now + 10 * TICK_S;
}

static void play_actions(struct node *n)
{
    struct agent_action a;
    while (agent_poll(n->agent, &a) > 0) {
        switch (a.kind) {
        case AGENT_STORE:
            do_store(n, &a);
            break;
        case AGENT_LOAD:
            do_load(n, &a);
            break;
        case AGENT_REMOVE:
            do_remove(n, &a);
            break;
        case AGENT_SEND:
            do_send(n, &a);
            break;
        case AGENT_DELIVER:
            do_deliver(n, &a);
            break;
        case AGENT_RECALL:
            do_recall(n, &a);
            break;
        case AGENT_CONFIRM:
        case AGENT_REFUSED:
            do_answer(n, &a);
            break;
        }
    }
}

void node_pump(struct node *n)
{
    tick verifying = 0;
    n->awake = false;
    node_names_judge(n);
    node_links_tidy(n);
    (void)node_hold_try(n);
    node_hold_turn(n);
    do {
        play_actions(n);
    } while (node_verify_next(n, &verifying));
    if (n->storage != NULL)
        n->ops->submit(n->storage);
    n->ops->flush(n->apps);
    const tick held = tick_min(tick_min(n->hold_at, n->rest_at), n->verify_at);
    alarm_set(&n->deadline, tick_min(held, agent_deadline(n->agent)));
}
