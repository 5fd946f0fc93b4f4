/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of the values that an operator watches of a link. `top` and `links` of the control
 * protocol and /metrics are made from it; a test compares docs/metrics.md with /metrics.
 *
 * A new value is one line of the table in node_values.c (and, if an adapter knows it, a field of
 * struct cla_gauges and its adapter).
 */
#ifndef NODE_VALUES_H
#define NODE_VALUES_H

#include "cla/link_state.h"
#include "node/node.h"

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

#endif
