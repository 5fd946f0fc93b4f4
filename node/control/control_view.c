/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator sees of the links. `links` has everything, `top` what is watched, in rows
 * without names, so that a thousand links cost little; `counters` what only grows. What can go
 * wrong: memory, which leaves things away.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/json_number.h"
#include "node/control/control.h"
#include "node/control/control_list.h"
#include "node/node_meter.h"
#include "node/node_values.h"

/* What the peer of a link, or this node's applications, hold of the node, and their share of it. */
void control_share(const struct node *n, uint32_t link, struct json_t *o)
{
    const bool own = link == AGENT_OWN;
    struct agent_share s;
    agent_share(n->agent, link, &s);
    json_put_number(o, own ? "own_bundles" : "held_bundles", s.bundles);
    json_put_number(o, own ? "own_bytes" : "held_bytes", s.bytes);
    json_put_number(o, "share_bundles", s.share_bundles);
    json_put_number(o, "share_bytes", s.share_bytes);
    json_put_number(o, "share_arriving_bytes", s.share_arriving);
    if (own)
        return;
    json_put_number(o, "held_reassemblies", s.reassemblies);
    json_put_number(o, "held_fragments", s.fragments);
}

void node_values_put(const struct node_sample *s, enum node_value_place where, struct json_t *o)
{
    for (size_t i = 0; i < node_values_len; i++) {
        const struct node_value *v = &node_values[i];
        const uint64_t value = (v->where & where) != 0 ? v->get(s) : LINK_VALUE_UNKNOWN;
        if (value != LINK_VALUE_UNKNOWN)
            json_put_number(o, v->key, value);
    }
}

void control_tally(const struct link_tally *t, struct json_t *o)
{
    json_put_number(o, "links", t->all);
    for (int i = 0; i < LINK_STATE_COUNT; i++) {
        char key[32];
        snprintf(key, sizeof key, "links_%s", link_state_word((enum link_state)i));
        json_put_number(o, key, t->in[i]);
    }
}

/* What waits for the link or is on it, and what it was given, by queue. */
static void set_backlog(const struct node *n, const struct node_link *l, json_t *o)
{
    struct agent_backlog b[BUNDLE_PRIORITIES];
    if (!agent_backlog(n->agent, l->index, b))
        return;
    json_t *queues = json_object();
    uint64_t bundles = 0, bytes = 0;
    for (int p = 0; p < BUNDLE_PRIORITIES; p++) {
        json_t *q = json_object();
        json_put_number(q, "bundles", b[p].bundles);
        json_put_number(q, "bytes", b[p].bytes);
        json_put_number(q, "given", b[p].given);
        json_put_number(q, "given_bytes", b[p].given_bytes);
        json_object_set_new(queues, bundle_priority_word((enum bundle_priority)p), q);
        bundles += b[p].bundles;
        bytes += b[p].bytes;
    }
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "/%" PRIu64, b[BUNDLE_BULK].bundles,
             b[BUNDLE_NORMAL].bundles, b[BUNDLE_EXPEDITED].bundles);
    json_put_number(o, "backlog_bundles", bundles);
    json_put_number(o, "backlog_bytes", bytes);
    json_put_text(o, "backlog", text);
    json_object_set_new(o, "queues", queues);
}

/* The limits of what waits for it. */
static void set_bound(const struct node *n, const struct node_link *l, json_t *o)
{
    struct agent_bound b;
    if (!agent_bound(n->agent, l->index, &b))
        return;
    json_t *limits = json_object();
    json_put_number(limits, "bundles", b.bundles_max);
    json_put_number(limits, "bytes", b.bytes_max);
    json_put_number(limits, "apart_bundles", b.apart_bundles);
    json_put_number(limits, "apart_bytes", b.apart_bytes);
    json_put_number(limits, "share_bundles", b.share_bundles);
    json_put_number(limits, "share_bytes", b.share_bytes);
    json_object_set_new(o, "queue_limits", limits);
    json_put_number(o, "queue_refused", b.refused);
}

/* Rates of the last second, and how long the oldest bundle waits. */
static void set_watch(const struct node *n, const struct node_link *l, json_t *o)
{
    struct link_sample s;
    link_sample_take(n, l, node_now(n), &s);
    for (size_t i = 0; i < link_values_len; i++) {
        uint64_t v = link_values[i].in_links ? link_values[i].get(&s) : LINK_VALUE_UNKNOWN;
        if (v != LINK_VALUE_UNKNOWN)
            json_put_number(o, link_values[i].key, v);
    }
}

/* Why bundles did not go, as often as they did not. */
static void set_failures(const struct node_link *l, json_t *o)
{
    json_t *by_reason = json_object();
    for (int r = 0; r < CLA_REASON_COUNT; r++)
        if (l->failures[r] > 0)
            json_put_number(by_reason, cla_reason_text((enum cla_reason)r), l->failures[r]);
    json_object_set_new(o, "failed_because", by_reason);
}

/* Its state, and what that rests on: of a link that is down the adapter may know more. */
static void set_state(const struct node_link *l, json_t *o)
{
    char why[LINK_WHY_MAX];
    const struct cla_gauges g = node_link_gauges(l);
    const struct link_facts f = node_link_facts(l, &g);
    const char *because = json_string_value(json_object_get(o, "down_because"));
    link_state_why(&f, why);
    json_put_text(o, "state", link_state_word(link_state_of(&f)));
    if (link_state_one_way(&f))
        json_object_set_new(o, "one_way", json_true());
    if (why[0] != '\0')
        json_put_text(o, "state_why", why);
    else if (because != NULL)
        json_put_text(o, "state_why", because);
}

static json_t *link_json(struct node *n, const struct node_link *l)
{
    json_t *o = json_object();
    json_put_text(o, "name", l->config->name);
    json_put_text(o, "adapter", l->config->adapter);
    control_put_eid(n, o, "peer", &l->config->peer);
    json_object_set_new(o, "up", json_boolean(l->up));
    json_put_number(o, "sent", l->sent);
    json_put_number(o, "failed", l->failed);
    set_failures(l, o);
    if (l->cla != NULL && l->cla->ops->inbound) {
        json_put_number(o, "peers_in", l->peers);
        json_put_number(o, "peers_refused", l->peers_refused);
    }
    json_put_number(o, "received", l->received);
    json_put_number(o, "held", l->held_len);
    json_put_number(o, "held_bytes", l->held_bytes);
    json_put_number(o, "held_total", l->held_total);
    json_put_number(o, "rests", l->rests);
    json_put_number(o, "rest_refused", l->rest_refused);
    control_share(n, l->index, o);
    set_backlog(n, l, o);
    set_bound(n, l, o);
    set_watch(n, l, o);
    cla_status(l->cla, o);
    set_state(l, o);
    return o;
}

/* ---- lists of links ---- */

struct link_list {
    struct control_list base;
    size_t at, end;   /* in node.links: the next one, and where the list ends */
    json_t *sessions; /* of the link before `at`; NULL: none */
    size_t session;
};

static struct link_list *links_of(struct control_list *l)
{
    return container_of(l, struct link_list, base);
}

static void free_links(struct control_list *l)
{
    json_decref(links_of(l)->sessions);
    free(links_of(l));
}

/* All links, or with "link" that one. */
static struct control_list *list_links(struct node *n, const struct control_list_ops *ops,
                                       const struct json_t *in, struct json_t *out)
{
    const json_t *name = json_object_get(in, "link");
    const struct node_link *only = NULL;
    if (name != NULL && (only = control_find_link(n, json_string_value(name), out)) == NULL)
        return NULL;
    struct link_list *l = calloc(1, sizeof *l);
    if (l == NULL) {
        control_refuse(out, false, "out of memory");
        return NULL;
    }
    l->base = (struct control_list){.ops = ops, .node = n};
    l->at = only != NULL ? only->index : 0;
    l->end = only != NULL ? only->index + 1 : SIZE_MAX;
    return &l->base;
}

static bool next_link(struct control_list *l, struct json_t **item)
{
    struct link_list *x = links_of(l);
    if (x->at >= l->node->links_len || x->at >= x->end)
        return false;
    const struct node_link *link = l->node->links[x->at++];
    if (link != NULL)
        *item = link_json(l->node, link);
    return true;
}

struct control_list *control_links(struct node *n, const struct json_t *in, struct json_t *out)
{
    static const struct control_list_ops ops = {"links", NULL, NULL, next_link, free_links};
    return list_links(n, &ops, in, out);
}

static void take_sessions(struct link_list *x, const struct node_link *link)
{
    json_t *o = json_object();
    json_decref(x->sessions);
    x->session = 0;
    if (link != NULL)
        cla_status(link->cla, o);
    x->sessions = json_incref(json_object_get(o, "sessions"));
    json_decref(o);
}

/* The adapters' own lists of sessions, with the link's name in each. */
static bool next_session(struct control_list *l, struct json_t **item)
{
    struct link_list *x = links_of(l);
    if (x->session < json_array_size(x->sessions)) {
        const struct node_link *link = l->node->links[x->at - 1];
        *item = json_copy(json_array_get(x->sessions, x->session++));
        if (link != NULL)
            json_put_text(*item, "link", link->config->name);
        return true;
    }
    if (x->at >= l->node->links_len || x->at >= x->end)
        return false;
    take_sessions(x, l->node->links[x->at++]);
    return true;
}

struct control_list *control_sessions(struct node *n, const struct json_t *in, struct json_t *out)
{
    static const struct control_list_ops ops = {"sessions", NULL, NULL, next_session, free_links};
    return list_links(n, &ops, in, out);
}

/* ---- counters ---- */

/* What a link shows that is not counted: settings, and what there is now. */
static bool is_state(const char *key)
{
    static const char *const names[] = {"round_trip_ns",
                                        "round_trip_smoothed_ns",
                                        "rto_ns",
                                        "rto_in_force_ns",
                                        "heard_ns",
                                        "engine",
                                        "peer_engine",
                                        "window",
                                        "rate_bps",
                                        "overhead",
                                        "receive_buffer",
                                        "send_buffer",
                                        "local_port",
                                        "bundle_max",
                                        "bundles_waiting",
                                        "bundles_sending",
                                        "bundles_arriving",
                                        "sessions_open",
                                        "in_flight",
                                        "in_flight_bytes",
                                        "unidentified",
                                        "transfers",
                                        "transfers_bytes",
                                        "tls_not_after",
                                        "tls_ca_not_after",
                                        "unknown_in",
                                        "unknown_places",
                                        "peer_probes",
                                        "current_export_sessions",
                                        "current_import_sessions"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

/* Leaves counters, and objects that have some. */
static json_t *only_counters(const json_t *o)
{
    json_t *kept = json_object(), *v;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        json_t *inner = json_is_object(v) ? only_counters(v) : NULL;
        if (inner != NULL && json_object_size(inner) > 0)
            json_object_set(kept, key, inner);
        else if (json_is_integer(v) && !is_state(key))
            json_object_set(kept, key, v);
        json_decref(inner);
    }
    return kept;
}

static json_t *link_counters(const struct node *n, const struct node_link *l)
{
    json_t *all = json_object();
    struct agent_bound bound;
    json_put_number(all, "sent", l->sent);
    json_put_number(all, "failed", l->failed);
    if (agent_bound(n->agent, l->index, &bound))
        json_put_number(all, "queue_refused", bound.refused);
    json_put_number(all, "received", l->received);
    json_put_number(all, "peers_refused", l->peers_refused);
    set_failures(l, all);
    cla_status(l->cla, all);
    json_t *o = only_counters(all);
    json_put_text(o, "name", l->config->name);
    json_decref(all);
    return o;
}

static bool next_counters(struct control_list *l, struct json_t **item)
{
    struct link_list *x = links_of(l);
    if (x->at >= l->node->links_len || x->at >= x->end)
        return false;
    const struct node_link *link = l->node->links[x->at++];
    if (link != NULL)
        *item = link_counters(l->node, link);
    return true;
}

struct control_list *control_link_counters(struct node *n, const struct json_t *in,
                                           struct json_t *out)
{
    static const struct control_list_ops ops = {"links", NULL, NULL, next_counters, free_links};
    return list_links(n, &ops, in, out);
}

/* ---- routes ---- */

void control_routes(struct node *n, const struct json_t *in, struct json_t *out)
{
    struct eid_pattern p;
    uint32_t link;
    json_t *list = json_array();
    (void)in;
    for (size_t i = 0; agent_route_at(n->agent, i, &p, &link); i++) {
        const struct node_link *l = n->links[link];
        json_t *o = json_object();
        control_put_pattern(n, o, "to", &p);
        json_put_text(o, "via", l->config->name);
        json_put_text(o, "state", link_state_word(node_link_state(l)));
        json_array_append_new(list, o);
    }
    json_object_set_new(out, "plan", json_boolean(n->plan != NULL));
    json_object_set_new(out, "routes", list);
}

/* ---- top ---- */

/* The names of top_row's columns. */
static json_t *top_columns(void)
{
    json_t *names = json_pack("[s, s, s]", "name", "peer", "state");
    for (size_t i = 0; i < link_values_len; i++)
        if (link_values[i].key != NULL)
            json_array_append_new(names, json_string(link_values[i].key));
    json_array_append_new(names, json_string("adapter"));
    json_array_append_new(names, json_string("peer_name"));
    return names;
}

/* null: not known */
static json_t *top_value(const struct link_value *v, const struct link_sample *s)
{
    uint64_t value = v->get(s);
    if (value != LINK_VALUE_UNKNOWN)
        return json_number(value);
    return v->zero == ZERO_IN_TOP ? json_number(0) : json_null();
}

static json_t *top_row(const struct node *n, const struct node_link *l, struct agent_now now)
{
    struct link_sample s;
    char peer[EID_TEXT_MAX], name[CONFIG_NAME_SHOWN];
    json_t *row = json_array();
    link_sample_take(n, l, now, &s);
    eid_text(&l->config->peer, peer);
    json_array_append_new(row, json_string(l->config->name));
    json_array_append_new(row, json_string(peer));
    json_array_append_new(row, json_string(link_state_word(s.state)));
    for (size_t i = 0; i < link_values_len; i++)
        if (link_values[i].key != NULL)
            json_array_append_new(row, top_value(&link_values[i], &s));
    json_array_append_new(row, json_string(l->config->adapter));
    json_array_append_new(row, config_name_show(control_names_now(n), &l->config->peer, name)
                                   ? json_string(name)
                                   : json_null());
    return row;
}

static void put_node(struct node *n, json_t *out)
{
    struct node_sample sample;
    json_t *o = json_object();
    node_sample_take(n, &sample);
    control_put_eid(n, o, "node", &n->config->node);
    json_put_text(o, "version", HELIO_VERSION);
    node_values_put(&sample, IN_TOP, o);
    json_object_set_new(out, "node", o);
}

void control_top_rows(struct node *n, struct node_link *const *links, size_t len,
                      struct json_t *out)
{
    struct agent_now now = node_now(n);
    json_t *rows = json_array();
    for (size_t i = 0; i < len; i++)
        if (links[i] != NULL)
            json_array_append_new(rows, top_row(n, links[i], now));
    put_node(n, out);
    json_object_set_new(out, "columns", top_columns());
    json_object_set_new(out, "rows", rows);
}

void control_top(struct node *n, const struct json_t *in, struct json_t *out)
{
    (void)in;
    control_top_rows(n, n->links, n->links_len, out);
}
