/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page is made when the program is built; it asks for the rest as JSON. Of many links it gets
 * those that are busiest, with their rates of the last minutes. What can go wrong: a path that
 * there is not; memory, which is 503.
 */
#include "tools/node/http_answer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/address.h"
#include "tools/node/control.h"
#include "tools/node/metrics.h"
#include "tools/node/node_meter.h"
#include "tools/node/status_page.h"

#define LINKS_SHOWN 50
#define STATUS_OK 200
#define STATUS_NOT_FOUND 404
#define STATUS_NO_MEMORY 503

struct http_answer http_refusal(unsigned status, const char *text)
{
    return (struct http_answer){status, "text/plain; charset=utf-8", text, strlen(text), false};
}

bool http_is_open(const char *path)
{
    return strcmp(path, "/") == 0;
}

int http_listen_parse(const char *text, struct address *out)
{
    char whole[64];
    uint64_t port;
    if (units_count(text, 65535, &port) == 0) {
        snprintf(whole, sizeof whole, "127.0.0.1:%u", (unsigned)port);
        text = whole;
    }
    return address_parse(text, out);
}

static struct http_answer json_answer(json_t *o)
{
    char *text = o == NULL ? NULL : json_dumps(o, JSON_COMPACT);
    json_decref(o);
    if (text == NULL)
        return http_refusal(STATUS_NO_MEMORY, "out of memory\n");
    return (struct http_answer){STATUS_OK, "application/json", text, strlen(text), true};
}

/* ---- the busiest links ---- */

static int busier(const void *a, const void *b)
{
    const struct node_link *const *x = a, *const *y = b;
    double p = (double)(*x)->meter.tx_bps + (double)(*x)->meter.rx_bps;
    double q = (double)(*y)->meter.tx_bps + (double)(*y)->meter.rx_bps;
    return p != q ? (p < q) - (p > q) : ((*x)->index > (*y)->index) - ((*x)->index < (*y)->index);
}

static json_t *past_json(const struct meter_past *past, const float *of)
{
    json_t *list = json_array();
    for (unsigned i = 0; past != NULL && i < past->len; i++)
        json_array_append_new(list, json_integer((json_int_t)of[(past->first + i) % METER_PAST]));
    return list;
}

static json_t *top_json(struct node *n)
{
    struct node_link **all = calloc(n->links_len + 1, sizeof(struct node_link *));
    json_t *out = json_object(), *past = json_array();
    size_t len = 0, up = 0, sessions = 0;
    for (size_t i = 0; all != NULL && i < n->links_len; i++) {
        if (n->links[i] == NULL)
            continue;
        all[len++] = n->links[i];
        up += n->links[i]->up;
        sessions += node_link_gauges(n->links[i]).sessions;
    }
    if (all == NULL)
        return NULL;
    qsort(all, len, sizeof *all, busier);
    size_t shown = len < LINKS_SHOWN ? len : LINKS_SHOWN;
    control_top_rows(n, all, shown, out);
    for (size_t i = 0; i < shown; i++) {
        const struct meter_past *p = all[i]->meter.past;
        json_array_append_new(past, json_pack("[o,o]", past_json(p, p != NULL ? p->tx : NULL),
                                              past_json(p, p != NULL ? p->rx : NULL)));
    }
    free(all);
    json_object_set_new(out, "past", past);
    json_object_set_new(out, "past_step_s", json_integer(METER_STEP_S));
    json_object_set_new(out, "all",
                        json_pack("{s:I,s:I,s:I,s:o,s:o}", "links", (json_int_t)len, "up",
                                  (json_int_t)up, "sessions", (json_int_t)sessions, "tx",
                                  past_json(n->past, n->past == NULL ? NULL : n->past->tx), "rx",
                                  past_json(n->past, n->past == NULL ? NULL : n->past->rx)));
    return out;
}

/* The open sessions of one link. */
static json_t *sessions_json(struct node *n, const char *link)
{
    const struct node_link *l = link == NULL ? NULL : node_link_find(n, link);
    json_t *o = json_object();
    if (l != NULL && l->cla != NULL && l->cla->ops->status != NULL)
        l->cla->ops->status(l->cla, o);
    json_t *list = json_incref(json_object_get(o, "sessions"));
    json_decref(o);
    return json_pack("{s:o}", "sessions", list != NULL ? list : json_array());
}

static json_t *command_json(struct node *n, const char *line)
{
    return control_answer(n, line, strlen(line));
}

struct http_answer http_answer(struct node *n, const char *path, const char *link)
{
    if (strcmp(path, "/") == 0)
        return (struct http_answer){STATUS_OK, "text/html; charset=utf-8",
                                    (const char *)status_page, status_page_len, false};
    if (strcmp(path, "/api/top") == 0)
        return json_answer(top_json(n));
    if (strcmp(path, "/api/backlog") == 0)
        return json_answer(command_json(n, "{\"cmd\": \"backlog\", \"limit\": 50}"));
    if (strcmp(path, "/api/plan") == 0)
        return json_answer(command_json(n, "{\"cmd\": \"plan\"}"));
    if (strcmp(path, "/api/sessions") == 0)
        return json_answer(sessions_json(n, link));
    if (strcmp(path, "/metrics") != 0)
        return http_refusal(STATUS_NOT_FOUND, "there are / and /metrics\n");
    size_t len = 0;
    char *text = metrics_text(n, &len);
    if (text == NULL)
        return http_refusal(STATUS_NO_MEMORY, "out of memory\n");
    return (struct http_answer){STATUS_OK, "text/plain; version=0.0.4; charset=utf-8", text, len,
                                true};
}
