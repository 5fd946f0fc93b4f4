/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages are made when the program is built; they ask for the rest as JSON. Of many links they
 * get those that are busiest, with their rates of the last minutes. What can go wrong: a path that
 * there is not; memory, which is 503.
 */
#include "node/http/node_http.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "node/control/control.h"
#include "node/node_events.h"
#include "node/node_meter.h"

#define LINKS_SHOWN 50
#define DESTINATIONS_SHOWN 50
#define EVENTS_SHOWN 100u
#define STATUS_OK 200

/* ---- the busiest links ---- */

static int busier(const void *a, const void *b)
{
    const struct node_link *const *x = a, *const *y = b;
    double p = (double)(*x)->meter.tx_bps + (double)(*x)->meter.rx_bps;
    double q = (double)(*y)->meter.tx_bps + (double)(*y)->meter.rx_bps;
    return p != q ? (p < q) - (p > q) : ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static json_t *rates_json(const struct meter_past *past, const float *of)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < past->len; i++)
        json_array_append_new(list, json_integer((json_int_t)of[(past->first + i) % METER_PAST]));
    return list;
}

/* Of each span: the rates out, and in. */
static json_t *past_json(const struct meter_past *past)
{
    static const struct meter_past none;
    json_t *out = json_array();
    for (enum meter_span s = METER_MINUTES; s < METER_SPANS; s++) {
        const struct meter_past *p = past == NULL ? &none : &past[s];
        json_array_append_new(out, json_pack("[o,o]", rates_json(p, p->tx), rates_json(p, p->rx)));
    }
    return out;
}

/* The length of a step of each span, and the time since the latest one ended. */
static json_t *steps_json(const struct node *n)
{
    tick now = world_now(n->world);
    json_t *out = json_array();
    for (enum meter_span s = METER_MINUTES; s < METER_SPANS; s++) {
        tick since = n->past == NULL ? 0 : now - n->past[s].at;
        json_array_append_new(out, json_pack("{s:i,s:f}", "step_s", (int)meter_step_s[s], "ended_s",
                                             (double)since / (double)TICK_S));
    }
    return out;
}

/* By state. */
static json_t *tally_json(const struct link_tally *t)
{
    json_t *o = json_object();
    json_object_set_new(o, "all", json_integer((json_int_t)t->all));
    for (int s = 0; s < LINK_STATE_COUNT; s++)
        json_object_set_new(o, link_state_word((enum link_state)s),
                            json_integer((json_int_t)t->in[s]));
    return o;
}

static json_t *top_json(struct node *n)
{
    struct node_link **all = calloc(n->links_len + 1, sizeof(struct node_link *));
    json_t *out = json_object(), *past = json_array(), *why = json_array();
    struct link_tally tally;
    size_t len = 0, sessions = 0;
    node_link_tally(n, &tally);
    for (size_t i = 0; all != NULL && i < n->links_len; i++) {
        if (n->links[i] == NULL)
            continue;
        all[len++] = n->links[i];
        sessions += node_link_gauges(n->links[i]).sessions;
    }
    if (all == NULL) {
        json_decref(out);
        json_decref(past);
        json_decref(why);
        return NULL;
    }
    qsort(all, len, sizeof *all, busier);
    size_t shown = len < LINKS_SHOWN ? len : LINKS_SHOWN;
    control_top_rows(n, all, shown, out);
    for (size_t i = 0; i < shown; i++) {
        char text[LINK_WHY_MAX];
        control_reason(all[i], text);
        json_array_append_new(past, past_json(all[i]->meter.past));
        json_array_append_new(why, json_string(text));
    }
    free(all);
    json_object_set_new(out, "why", why);
    json_object_set_new(out, "past", past);
    json_object_set_new(out, "past_steps", steps_json(n));
    json_object_set_new(out, "all",
                        json_pack("{s:o,s:I,s:o}", "links", tally_json(&tally), "sessions",
                                  (json_int_t)sessions, "past", past_json(n->past)));
    return out;
}

/* The open sessions of one link. */
static json_t *sessions_json(struct node *n, const char *link)
{
    const struct node_link *l = node_link_find(n, link);
    json_t *o = json_object();
    if (l != NULL)
        cla_status(l->cla, o);
    json_t *list = json_incref(json_object_get(o, "sessions"));
    json_decref(o);
    return json_pack("{s:o}", "sessions", list != NULL ? list : json_array());
}

static json_t *command_json(struct node *n, const char *line)
{
    static const struct control_who reader = {.name = "HTTP"};
    return control_answer(n, &reader, line, strlen(line));
}

static json_t *backlog_json(struct node *n)
{
    json_t *o = json_pack("{s:b}", "ok", 1);
    control_backlog_now(n, DESTINATIONS_SHOWN, o);
    return o;
}

static json_t *why_json(struct node *n, const char *bundle)
{
    json_t *in = json_pack("{s:s}", "bundle", bundle), *out = json_pack("{s:b}", "ok", 1);
    if (in != NULL && out != NULL)
        control_why(n, in, out);
    json_decref(in);
    return out;
}

/* The latest events of bundles, the same for all browsers: their numbers end with `last`. */
static json_t *events_json(struct node *n)
{
    const uint64_t last = node_events_last(n);
    json_t *in =
        json_pack("{s:I}", "after", (json_int_t)(last > EVENTS_SHOWN ? last - EVENTS_SHOWN : 0));
    json_t *out = json_pack("{s:b}", "ok", 1);
    if (in != NULL && out != NULL)
        control_events(n, in, out);
    json_decref(in);
    return out;
}

/* The other nodes' pages, and whether links can be changed here. */
static json_t *network_json(const struct node *n)
{
    json_t *list = json_array();
    const char *w = n->config->http.network;
    for (size_t len; *w != '\0'; w += len + strspn(w + len, " ")) {
        len = strcspn(w, " ");
        json_array_append_new(list, json_stringn(w, len));
    }
    return json_pack("{s:o,s:b}", "network", list, "changes", *n->config->http.change_token != 0);
}

static struct http_answer metrics_answer(struct node *n)
{
    size_t len = 0;
    char *text = metrics_text(n, &len);
    return http_metrics(text, len);
}

struct http_answer node_http_page(void)
{
    return (struct http_answer){STATUS_OK, "text/html; charset=utf-8", (const char *)status_page,
                                status_page_len, false};
}

struct http_answer node_http_network_page(void)
{
    return (struct http_answer){STATUS_OK, "text/html; charset=utf-8", (const char *)network_page,
                                network_page_len, false};
}

struct http_answer node_http_answer(void *node, const struct http_question *q)
{
    struct node *n = node;
    switch (q->kind) {
    case HTTP_METRICS:
        return metrics_answer(n);
    case HTTP_TOP:
        return http_json(top_json(n));
    case HTTP_BACKLOG:
        return http_json(backlog_json(n));
    case HTTP_PLAN:
        return http_json(command_json(n, "{\"cmd\": \"plan\"}"));
    case HTTP_SESSIONS:
        return http_json(sessions_json(n, q->about));
    case HTTP_WHY:
        return http_json(why_json(n, q->about));
    case HTTP_EVENTS:
        return http_json(events_json(n));
    case HTTP_NETWORK:
        return http_json(network_json(n));
    case HTTP_CHANGE:
        return node_http_change(n, q);
    case HTTP_PAGE:
        return node_http_page();
    case HTTP_NETWORK_PAGE:
        return node_http_network_page();
    case HTTP_STATUS:
    case HTTP_NOTHING:
        break;
    }
    return http_nothing();
}
