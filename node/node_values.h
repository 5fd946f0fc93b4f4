/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the values that an operator watches: of a link, and of the node. `status`,
 * `counters`, `top` and `links` of the control protocol and /metrics are made from them; a test
 * compares docs/metrics.md with /metrics.
 *
 * A new value is one line of a table in node_values.c (and, of a link, if an adapter knows it, a
 * field of struct cla_gauges and its adapter).
 */
#ifndef NODE_VALUES_H
#define NODE_VALUES_H

#include "cla/link_state.h"
#include "discovery/discovery.h"
#include "node/app/apps.h"
#include "node/node.h"
#include "node/storage.h"

/* What is sampled of a link, once for all of its values. */
struct link_sample {
    const struct node_link *link;
    struct cla_gauges g;
    enum link_state state;
    uint64_t bundles, bytes; /* queued for the link, or in its hands */
    uint64_t oldest_ms;      /* age of the oldest of these; UINT64_MAX: there is none */
    tick now;
};

void link_sample_take(const struct node *n, const struct node_link *l, struct agent_now now,
                      struct link_sample *out);

#define LINK_VALUE_UNKNOWN UINT64_MAX

/* Where a value that is not known is shown as 0, not left out (`top`: null). */
enum link_value_zero { ZERO_NOWHERE, ZERO_IN_TOP, ZERO_IN_METRICS };

/* One value. `top` shows it if it has a key, /metrics if it has a metric. */
struct link_value {
    const char *key;           /* of a column of `top`; NULL: none */
    bool in_links;             /* `links` shows it by the same key when it is known */
    const char *metric, *type; /* name without "heliograph_"; "gauge" or "counter"; NULL: none */
    const char *help;
    double divisor; /* of the metric: 1e9 makes seconds of nanoseconds */
    enum link_value_zero zero;
    uint64_t (*get)(const struct link_sample *s); /* LINK_VALUE_UNKNOWN: not known */
};

/* All of them, in the order of `top`. */
extern const struct link_value link_values[];
extern const size_t link_values_len;

/* What is sampled of the node, once for all of its values. */
struct node_sample {
    const struct node *node;
    const struct agent_counters *c;
    const struct security_counters *security; /* zeroes when there is no security */
    const struct apps_counters *apps;         /* NULL: there are none */
    bool stored;                              /* there is a store; its status */
    struct storage_status store;
    tick uptime;                   /* ns */
    struct discovery_totals found; /* zeroes when discovery is off */
};

void node_sample_take(struct node *n, struct node_sample *out);

/* The objects of the control protocol that show a value by its key: what `status` and `top` say of
 * the node, the objects "store" and "security" of `status`, and those of `counters`. */
enum node_value_place {
    IN_STATUS = 1,
    IN_STORE = 2,
    IN_SECURITY = 4,
    IN_TOP = 8,
    IN_AGENT = 16,
    IN_APPLICATIONS = 32,
    IN_NODE = 64
};

struct node_value {
    const char *key;           /* NULL: no object shows it */
    unsigned where;            /* several of enum node_value_place, or-ed */
    const char *metric, *type; /* as of a link's value */
    const char *help;
    /* LINK_VALUE_UNKNOWN: not known, and shown nowhere. A metric ..._seconds is of ns. */
    uint64_t (*get)(const struct node_sample *s);
};

/* In the order of the objects and of /metrics. */
extern const struct node_value node_values[];
extern const size_t node_values_len;

struct json_t;
/* Adds the values of this object, in the table's order. */
void node_values_put(const struct node_sample *s, enum node_value_place where, struct json_t *o);

#endif
