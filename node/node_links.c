/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of a node: those of its file, those that an operator adds, and those of unconfigured
 * peers that connected over a link that accepts them. The agent knows a link by its index; the
 * index is free again when the link is removed. Events of adapters are passed to the agent. What
 * can go wrong: a link cannot be opened, which is logged; memory.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/config/config_link.h"
#include "node/found/found.h"
#include "node/node.h"
#include "node/node_hold.h"
#include "node/node_meter.h"
#include "node/node_names.h"
#include "node/node_self.h"
#include "node/plan/node_plan.h"
#include "os/process/memory_guard.h"

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct node_link *l = context;
    (void)c;
    l->received++;
    l->received_bytes += bundle->len;
    node_hold_receive(l, bundle, token);
    node_wake(l->node);
}

static bool on_reserve(void *context, struct cla *c, uint64_t bytes)
{
    const struct node_link *l = context;
    (void)c;
    struct node *n = l->node;
    if (n->memory != NULL) /* many bundles may grow within a round */
        (void)memory_guard_look(n->memory, world_now(n->world));
    return agent_reserve(n->agent, l->index, bytes);
}

/* A removed link has released all; its index is not used again yet. */
static void on_release(void *context, struct cla *c, uint64_t bytes)
{
    const struct node_link *l = context;
    (void)c;
    agent_release(l->node->agent, l->index, bytes);
}

void node_link_done(struct node_link *l, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    struct agent *a = l->node->agent;
    bool good = cla_outcome_is_good(outcome);
    assert(good == (reason == CLA_REASON_NONE));
    if (good) {
        l->sent++;
    } else {
        l->failed++;
        l->failures[reason]++;
    }
    if (outcome == CLA_LOST)
        agent_lost(a, key, l->cla->limits.resend, cla_reason_text(reason), node_now(l->node));
    else if (good)
        agent_sent(a, key, true, node_now(l->node));
    else if (outcome == CLA_DECLINED)
        agent_declined(a, key, cla_reason_text(reason), node_now(l->node));
    else if (outcome == CLA_REFUSED)
        agent_refused(a, key, cla_reason_text(reason), node_now(l->node));
    else
        agent_failed(a, key, cla_reason_text(reason), node_now(l->node));
    node_wake(l->node);
}

static void on_carried(void *context, struct cla *c, uint64_t key, uint64_t originator,
                       uint64_t session)
{
    struct node_link *l = context;
    (void)c;
    if (l->node->bundle_sink != NULL)
        agent_carried(l->node->agent, key, originator, session, node_now(l->node));
}

static void on_done(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                    enum cla_reason reason)
{
    (void)c;
    node_link_done(context, key, outcome, reason);
}

/* In the words of `links`: the peer of one that is open was not heard. Why a link is down says its
 * adapter, or the contact plan. */
static void tell_up(const struct node_link *l)
{
    char why[LINK_WHY_MAX] = "";
    const struct cla_gauges g = node_link_gauges(l);
    const struct link_facts f = node_link_facts(l, &g);
    if (!l->up && l->planned && !l->contact.transmit)
        link_state_why(&f, why);
    say(&l->node->say, LEVEL_INFO, "link %s is %s%s%s", l->config->name,
        !l->up                                ? "down"
        : node_link_state(l) == LINK_STATE_UP ? "up"
                                              : "open",
        why[0] != '\0' ? ": " : "", why);
}

static void on_link(void *context, struct cla *c, bool up)
{
    struct node_link *l = context;
    (void)c;
    const bool told = l->up != up && node_watch_flap(l, up) && node_watch_line(l);
    l->opened = up && !l->up ? node_now(l->node).now : l->opened;
    l->up = up;
    if (told)
        tell_up(l);
    l->over = l->host != NULL && !up;
    if (l->config->found != 0)
        found_changed(l->node);
    agent_link(l->node->agent, l->index, up, node_now(l->node));
    node_wake(l->node);
}

static void on_heard(void *context, struct cla *c)
{
    struct node_link *l = context;
    (void)c;
    agent_heard(l->node->agent, l->index, node_now(l->node));
    node_wake(l->node);
}

static void on_limits(void *context, struct cla *c)
{
    struct node_link *l = context;
    (void)c;
    node_limits(l);
    if (l->cla->ops->reaches != NULL)
        agent_reroute(l->node->agent);
    node_wake(l->node);
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct node_link *l = context;
    (void)c;
    if (node_watch_line(l))
        say(&l->node->say, (enum say_level)level, "link %s: %s", l->config->name, text);
}

static bool on_peer(void *context, struct cla *c, struct cla *fresh, const struct eid *peer,
                    struct cla_events *events);

static bool on_named(void *context, const struct eid *peer, const struct cla_proof *proof,
                     char *why, size_t why_cap)
{
    const struct node_link *l = context;
    return node_names_allow(l->node, peer, proof, why, why_cap);
}

static struct cla_events events_of(struct node_link *l)
{
    return (struct cla_events){.context = l,
                               .received = on_received,
                               .reserve = on_reserve,
                               .release = on_release,
                               .carried = on_carried,
                               .done = on_done,
                               .link = on_link,
                               .heard = on_heard,
                               .limits = on_limits,
                               .peer = l->config->peers > 0 ? on_peer : NULL,
                               .named = on_named,
                               .say = on_say};
}

static size_t adapter_index(const struct cla_ops *ops)
{
    size_t i = 0;
    while (cla_at(i) != NULL && cla_at(i) != ops)
        i++;
    return i;
}

/* ---- indexes ---- */

static size_t free_place(struct node *n)
{
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] == NULL)
            return i;
    size_t more = n->links_len == 0 ? 8 : 2 * n->links_len;
    struct node_link **grown = realloc(n->links, more * sizeof(struct node_link *));
    if (grown == NULL)
        return SIZE_MAX;
    size_t first = n->links_len;
    for (size_t i = first; i < more; i++)
        grown[i] = NULL;
    n->links = grown;
    n->links_len = more;
    return first;
}

size_t node_links_count(const struct node *n)
{
    size_t count = 0;
    for (size_t i = 0; i < n->links_len; i++)
        count += n->links[i] != NULL;
    return count;
}

struct node_link *node_link_find(const struct node *n, const char *name)
{
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL && strcmp(n->links[i]->config->name, name) == 0)
            return n->links[i];
    return NULL;
}

/* Creates a link with an index, not open yet; NULL: no memory. */
static struct node_link *new_link(struct node *n, const struct config_link *c)
{
    size_t place = free_place(n);
    struct node_link *l = place == SIZE_MAX ? NULL : calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    *l = (struct node_link){
        .node = n, .config = c, .index = (uint32_t)place, .heard_since = TICK_NEVER};
    list_init(&l->held);
    list_init(&l->given);
    rest_init(&l->rest, &n->rests);
    n->links[place] = l;
    return l;
}

static void free_link(struct node_link *l)
{
    struct node *n = l->node;
    if (n->links[l->index] == l)
        n->links[l->index] = NULL;
    node_hold_drop(l);
    config_link_free(l->own);
    free(l->meter.past);
    free(l);
}

static void on_link_closed(void *context)
{
    struct node_link *l = context;
    struct node *n = l->node;
    assert(n->open_links > 0);
    l->cla = NULL;
    n->open_links--;
    if (n->links[l->index] != l)
        free_link(l); /* it was removed */
    if (n->open_links == 0 && n->links_closed != NULL)
        n->links_closed(n);
}

/* ---- open and closed ---- */

/* Its queues, as the file says; those of an unconfigured peer as of the link that accepted it. */
static int serve_link(const struct node_link *l, const struct config_link *c)
{
    struct agent_service s = {.strict = c->queues == QUEUES_STRICT,
                              .rules_len = c->priorities_len,
                              .bundles_max = c->queue_bundles,
                              .bytes_max = c->queue_bytes};
    memcpy(s.weights, c->weight, sizeof s.weights);
    const struct config_queue *from = c->priorities;
    struct agent_queue_rule *rules = calloc(s.rules_len + 1, sizeof *rules);
    if (rules == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < s.rules_len; i++)
        rules[i] = from[i].rule;
    s.rules = rules;
    int err = agent_link_service(l->node->agent, l->index, &s);
    free(rules);
    return err;
}

/* The link is there, and the agent knows it. */
static int begin_link(struct node_link *l, struct cla *c)
{
    l->cla = c;
    l->node->open_links++;
    l->window = c->limits.window;
    int err = agent_link_add(l->node->agent, l->index, &l->config->peer, l->window);
    if (err == 0)
        err = serve_link(l, l->config);
    if (err == 0) {
        if (c->ops->reaches != NULL)
            node_router_use(l->node);
        node_limits(l);
        node_wake(l->node);
        err = node_plan_link(l);
    }
    return err;
}

/* The port of an address that is in use belongs to a link of ours, or to another program. The file
 * of a UNIX socket is there. */
static void tell_holder(const struct node_link *l, char *why, size_t cap)
{
    const struct node *n = l->node;
    const char *key;
    struct address own, its;
    const enum cla_socket kind = config_link_socket(l->config, &key, &own);
    size_t used = strlen(why);
    for (size_t i = 0; i < n->links_len && kind != CLA_SOCKET_NONE; i++) {
        const struct node_link *other = n->links[i];
        if (other == NULL || other == l || config_link_socket(other->config, &key, &its) != kind ||
            address_port(&its) != address_port(&own))
            continue;
        snprintf(why + used, cap - used, "; this node's link %.64s (%s) has that port",
                 other->config->name, other->config->adapter);
        return;
    }
    if (kind == CLA_SOCKET_NONE)
        snprintf(why + used, cap - used,
                 "; the file is there. If ss -lxp shows no program at it, remove it");
    else
        snprintf(why + used, cap - used, "; another program uses it (ss -lnptu shows which)");
}

static int open_link(struct node_link *l, char *why, size_t cap)
{
    struct node *n = l->node;
    const struct config_link *c = l->config;
    struct cla_env env = {
        .world = n->world,
        .node = n->config->node,
        .peer = c->peer,
        .earlier_life = n->earlier_life,
        .confirm = true, /* a full node refuses, whatever its durability */
        .bundle_max = n->config->bundles.max,
        .seed = world_random(n->world),
        .sink = n->sink,
        .sink_context = n->sink_context,
        .events = events_of(l),
        .self = node_self(l),
        .rests = &n->rests,
        .room = &n->room,
        .files = c->files,
        .shared = &n->anchors[adapter_index(c->ops)],
    };
    struct cla *cla;
    int err = c->ops->open(&cla, &env, c->settings, why, cap);
    if (helio_errno(err) == EADDRINUSE)
        tell_holder(l, why, cap);
    else if (helio_errno(err) == EADDRNOTAVAIL)
        snprintf(why + strlen(why), cap - strlen(why),
                 "; this machine does not have that address (ip addr shows those that it has)");
    if (err < 0)
        node_self_end(l);
    return err < 0 ? err : begin_link(l, cla);
}

/* The neighbour's endpoints, unless a route of the file is as specific. */
static int add_peer_route(struct node_link *l)
{
    struct eid_pattern p;
    if (node_names_pattern(&l->config->peer, &p) < 0)
        return HELIO_EINVAL;
    return agent_route_add(l->node->agent, &p, l->index);
}

/* Routes of the file that name it; all links: NULL. */
static int add_file_routes(struct node *n, const struct node_link *only)
{
    const struct config *c = n->file != NULL ? n->file : n->config;
    for (size_t i = 0; i < c->routes_len; i++) {
        const char *via = c->links[c->routes[i].link].name;
        const struct node_link *l = only != NULL ? only : node_link_find(n, via);
        if (l == NULL || strcmp(l->config->name, via) != 0)
            continue;
        const struct eid_patterns *p = &c->routes[i].patterns;
        for (size_t k = 0; k < p->len; k++) {
            int err = agent_route_add(n->agent, &p->at[k], l->index);
            if (err < 0)
                return err;
        }
    }
    return 0;
}

int node_open_links(struct node *n)
{
    const struct config *c = n->config;
    char why[256] = "";
    for (size_t i = 0; i < c->links_len; i++) {
        struct node_link *l = new_link(n, &c->links[i]);
        int err = l == NULL ? HELIO_ENOMEM : open_link(l, why, sizeof why);
        if (err < 0) {
            say(&n->say, LEVEL_ERROR, "link %s: %s", c->links[i].name,
                *why != '\0' ? why : helio_strerror(err));
            if (l != NULL && l->cla == NULL)
                free_link(l);
            return err;
        }
    }
    int err = add_file_routes(n, NULL);
    for (size_t i = 0; i < n->links_len && err == 0; i++)
        err = n->links[i] != NULL ? add_peer_route(n->links[i]) : 0;
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "routes: %s", helio_strerror(err));
    return err;
}

int node_link_add(struct node *n, struct config_link *own, char *why, size_t why_cap)
{
    if (node_link_find(n, own->name) != NULL) {
        snprintf(why, why_cap, "there is a link %.64s; remove it first, or write another name",
                 own->name);
        config_link_free(own);
        return HELIO_EEXIST;
    }
    snprintf(why, why_cap, "%s", helio_strerror(HELIO_ENOMEM));
    struct node_link *l = new_link(n, own);
    if (l == NULL) {
        config_link_free(own);
        return HELIO_ENOMEM;
    }
    l->own = own;
    int err = open_link(l, why, why_cap);
    if (l->cla == NULL) {
        free_link(l);
        return err;
    }
    if (err == 0)
        err = add_file_routes(n, l);
    if (err == 0)
        err = add_peer_route(l);
    if (err == 0 && own->found == 0)
        say(&n->say, LEVEL_INFO, "link %s was added", own->name);
    if (err < 0)
        node_link_remove(l);
    node_names_changed(n);
    return err;
}

void node_link_remove(struct node_link *l)
{
    struct node *n = l->node;
    struct cla *c = l->cla;
    assert(n->links[l->index] == l && c != NULL);
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL && n->links[i]->host == l)
            n->links[i]->host = NULL; /* it stays, until an operator removes it or the node ends */
    if (l->host != NULL)
        l->host->peers--;
    if (node_watch_line(l))
        say(&n->say, LEVEL_INFO, "link %s is removed", l->config->name);
    if (l->config->found != 0)
        found_changed(n);
    node_plan_unlink(l);
    node_self_end(l);
    node_hold_drop(l);
    (void)agent_link_remove(n->agent, l->index, node_now(n)); /* none when it never began */
    n->links[l->index] = NULL;
    l->cla = NULL;
    c->ops->close(c, on_link_closed, l);
    if (!l->unconfigured)
        node_names_changed(n);
    node_wake(n);
}

/* Its own queues, and those of the unconfigured peers that connected over it. */
static int serve_all(const struct node_link *l, const struct config_link *c)
{
    int err = serve_link(l, c);
    for (size_t i = 0; err == 0 && i < l->node->links_len; i++) {
        const struct node_link *other = l->node->links[i];
        if (other != NULL && other->host == l)
            err = serve_link(other, c);
    }
    return err;
}

int node_link_set(struct node_link *l, struct config_link *changed, char *why, size_t why_cap)
{
    int err = serve_all(l, changed);
    if (err < 0)
        snprintf(why, why_cap, "%s", helio_strerror(err));
    else
        err = cla_set(l->cla, changed->settings, changed->files, why, why_cap);
    if (err < 0) {
        (void)serve_all(l, l->config);
        return err;
    }
    config_link_free(l->own);
    l->own = changed;
    l->config = changed;
    node_names_changed(l->node);
    node_limits(l);
    node_wake(l->node);
    return 0;
}

/* ---- unconfigured peers ---- */

static bool may_come(const struct node_link *host, const struct eid *peer)
{
    const struct node *n = host->node;
    return !n->stopping && host->peers < host->config->peers && eid_is_node(peer) &&
           !eid_is_none(peer) && !eid_is_local(peer) && !eid_same_node(peer, &n->config->node);
}

/* Creates a link for the peer, unless there is one with this name, or no index is free. */
static bool on_peer(void *context, struct cla *c, struct cla *fresh, const struct eid *peer,
                    struct cla_events *events)
{
    struct node_link *host = context;
    struct node *n = host->node;
    (void)c;
    struct config_link *own =
        may_come(host, peer) ? config_link_unconfigured(host->config, peer) : NULL;
    struct node_link *l =
        own == NULL || node_link_find(n, own->name) != NULL ? NULL : new_link(n, own);
    int err =
        l == NULL ? HELIO_ENOMEM : agent_link_add(n->agent, l->index, peer, fresh->limits.window);
    if (err != 0) {
        host->peers_refused++;
        if (l != NULL)
            free_link(l);
        config_link_free(own);
        return false;
    }
    l->own = own;
    l->host = host;
    l->unconfigured = true;
    l->cla = fresh;
    l->window = fresh->limits.window;
    n->open_links++;
    host->peers++;
    *events = events_of(l);
    node_limits(l);
    if (serve_link(l, host->config) < 0 || add_peer_route(l) < 0 || node_plan_link(l) < 0)
        l->over = true;
    if (node_watch_line(l))
        say(&n->say, LEVEL_INFO, "link %s: an unconfigured peer connected", own->name);
    node_wake(n);
    return true;
}

void node_links_tidy(struct node *n)
{
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL && n->links[i]->over && !n->stopping)
            node_link_remove(n->links[i]);
}

/* ---- the end ---- */

void node_links_close(struct node *n, void (*closed)(struct node *n))
{
    n->links_closed = closed;
    if (n->open_links == 0) {
        closed(n);
        return;
    }
    for (size_t i = 0; i < n->links_len; i++) {
        struct node_link *l = n->links[i];
        if (l == NULL || l->cla == NULL)
            continue;
        agent_link(n->agent, l->index, false, node_now(n));
        l->cla->ops->close(l->cla, on_link_closed, l);
    }
}

void node_links_free(struct node *n)
{
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL)
            free_link(n->links[i]);
    free(n->links);
    n->links = NULL;
    n->links_len = 0;
}
