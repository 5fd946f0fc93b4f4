/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of lines. It stands before the sink that the node had, which gets all events as before.
 * What can go wrong: no memory for a line, or more events than there is time for, since anyone who
 * reaches the HTTP server may watch; such a line is missing.
 */
#include "node/node_events.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/pace.h"
#include "node/node_log.h"

struct node_events {
    bundle_event_sink *before; /* NULL: none */
    void *before_context;
    tick asked;
    struct pace pace;              /* of lines */
    uint64_t last;                 /* events so far */
    char *lines[NODE_EVENTS_KEPT]; /* event i is at i modulo their number; NULL: none */
};

static void keep_event(void *context, const struct bundle_event *e)
{
    struct node *n = context;
    struct node_events *v = n->events;
    char line[BUNDLE_EVENT_CSV_MAX];
    if (v->before != NULL)
        v->before(v->before_context, e);
    char **at = &v->lines[++v->last % NODE_EVENTS_KEPT];
    const tick now = world_now(n->world);
    free(*at);
    *at = NULL;
    if (!pace_may(&v->pace, now))
        return;
    pace_made(&v->pace, now, 0);
    *at = strndup(line, node_bundle_line(n, e, n->log_epoch, line));
}

static void set_sink(struct node *n, bundle_event_sink *sink, void *context)
{
    n->bundle_sink = sink;
    n->bundle_sink_context = context;
    agent_sink(n->agent, sink, context);
}

int node_events_want(struct node *n)
{
    if (n->events == NULL) {
        n->events = calloc(1, sizeof *n->events);
        if (n->events == NULL)
            return HELIO_ENOMEM;
        n->events->before = n->bundle_sink;
        n->events->before_context = n->bundle_sink_context;
        n->events->pace = (struct pace){.share = 1, .least = TICK_S / NODE_EVENTS_SECOND};
        set_sink(n, keep_event, n);
    }
    n->events->asked = node_now(n).now;
    return 0;
}

uint64_t node_events_last(const struct node *n)
{
    return n->events == NULL ? 0 : n->events->last;
}

const char *node_events_line(const struct node *n, uint64_t number)
{
    const uint64_t last = node_events_last(n);
    if (number == 0 || number > last || last - number >= NODE_EVENTS_KEPT)
        return NULL;
    return n->events->lines[number % NODE_EVENTS_KEPT];
}

void node_events_tick(struct node *n)
{
    if (n->events != NULL && node_now(n).now - n->events->asked > NODE_EVENTS_REST)
        node_events_free(n);
}

void node_events_free(struct node *n)
{
    struct node_events *v = n->events;
    if (v == NULL)
        return;
    assert(n->bundle_sink == keep_event);
    set_sink(n, v->before, v->before_context);
    for (size_t i = 0; i < NODE_EVENTS_KEPT; i++)
        free(v->lines[i]);
    free(v);
    n->events = NULL;
}
