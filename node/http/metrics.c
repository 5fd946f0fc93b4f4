/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family at a time, as the format wants it: its help and type, then a sample for each link or
 * reason. Each link is asked once. What can go wrong: memory.
 */
#include "node/http/node_http.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cla/seglog.h"
#include "node/control/control.h"
#include "node/http/http_text.h"
#include "node/node_log.h"
#include "node/node_security.h"
#include "node/node_values.h"

/* What is sampled of a link, taken once. */
struct sample {
    struct link_sample values;
    char labels[2 * EID_TEXT_MAX + 176]; /* link="…",peer="…" */
};

static void put_family(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP heliograph_%s %s\n# TYPE heliograph_%s %s\n", name, help, name, type);
}

/* ---- the node ---- */

static void put_own(FILE *f, const struct node_value *v, const struct node_sample *s)
{
    const uint64_t value = v->metric == NULL ? LINK_VALUE_UNKNOWN : v->get(s);
    const size_t len = v->metric == NULL ? 0 : strlen(v->metric);
    const bool time = len > 8 && strcmp(v->metric + len - 8, "_seconds") == 0;
    if (value == LINK_VALUE_UNKNOWN)
        return;
    put_family(f, v->metric, v->type, v->help);
    fprintf(f, "heliograph_%s %.17g\n", v->metric, (double)value / (time ? 1e9 : 1));
}

static void put_node(FILE *f, struct node *n)
{
    struct node_sample s;
    char node[EID_TEXT_MAX], label[2 * EID_TEXT_MAX];
    eid_text(&n->config->node, node);
    prometheus_label(node, label, sizeof label);
    put_family(f, "node_info", "gauge", "the node's name and version; always 1");
    fprintf(f, "heliograph_node_info{node=\"%s\",version=\"%s\"} 1\n", label, HELIO_VERSION);
    node_sample_take(n, &s);
    for (size_t i = 0; i < node_values_len; i++)
        put_own(f, &node_values[i], &s);
}

static void put_reasons(FILE *f, const struct agent_counters *c)
{
    put_family(f, "bundles_ended_total", "counter", "bundles that left the node, by reason");
    for (int e = 0; e < END_COUNT; e++)
        fprintf(f, "heliograph_bundles_ended_total{reason=\"%s\"} %" PRIu64 "\n",
                agent_end_text((enum agent_end)e), c->ended[e]);
    put_family(f, "bundles_refused_total", "counter", "bundles that were not taken, by reason");
    for (int r = 1; r < REFUSE_COUNT; r++)
        fprintf(f, "heliograph_bundles_refused_total{reason=\"%s\"} %" PRIu64 "\n",
                agent_refusal_text((enum agent_refusal)r), c->refused[r]);
}

static void put_security(FILE *f, const struct node *n)
{
    static const struct security_counters none;
    const struct security_counters *c =
        n->security == NULL ? &none : security_policy_counters(n->security->policy);
    put_family(f, "security_operations_total", "counter",
               "operations of bundle security that succeeded, by role");
    fprintf(f, "heliograph_security_operations_total{role=\"source\"} %" PRIu64 "\n", c->sourced);
    fprintf(f, "heliograph_security_operations_total{role=\"verifier\"} %" PRIu64 "\n",
            c->verified);
    fprintf(f, "heliograph_security_operations_total{role=\"acceptor\"} %" PRIu64 "\n",
            c->accepted);
    put_family(f, "security_failures_total", "counter",
               "operations of bundle security that failed, by reason");
    for (int r = 0; r < SECURITY_REASON_COUNT; r++)
        fprintf(f, "heliograph_security_failures_total{reason=\"%s\"} %" PRIu64 "\n",
                security_reason_word((enum security_reason)r), c->failed[r]);
}

static void put_rules(FILE *f, const struct node *n)
{
    put_family(f, "rules_refused_total", "counter",
               "bundles that rules of ingress and egress refused, by direction and reason");
    for (int w = 0; w < PERMIT_WAYS; w++) {
        const enum permit_way way = (enum permit_way)w;
        const struct permit_counters *c = permits_counters(agent_permits(n->agent, way));
        for (int v = PERMIT_GOOD + 1; v < PERMIT_VERDICT_COUNT; v++)
            fprintf(f, "heliograph_rules_refused_total{way=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
                    control_permit_way(way), permit_verdict_word((enum permit_verdict)v),
                    c->refused[v]);
    }
}

static void put_logs(FILE *f, const struct node *n)
{
    put_family(f, "log_lines_lost_total", "counter", "lines that the medium did not take");
    if (n->segments != NULL)
        fprintf(f, "heliograph_log_lines_lost_total{log=\"segments\"} %" PRIu64 "\n",
                log_writer_lost(n->segments->file));
    if (n->bundle_log != NULL)
        fprintf(f, "heliograph_log_lines_lost_total{log=\"bundles\"} %" PRIu64 "\n",
                log_writer_lost(n->bundle_log));
}

/* ---- links ---- */

static void take_sample(const struct node *n, const struct node_link *l, struct sample *s)
{
    char peer[EID_TEXT_MAX], a[EID_TEXT_MAX + 72], c[EID_TEXT_MAX + 72];
    link_sample_take(n, l, node_now(n), &s->values);
    eid_text(&l->config->peer, peer);
    prometheus_label(l->config->name, a, sizeof a);
    prometheus_label(peer, c, sizeof c);
    snprintf(s->labels, sizeof s->labels, "link=\"%s\",peer=\"%s\"", a, c);
}

static void put_failures(FILE *f, const struct sample *all, size_t len)
{
    put_family(f, "link_failures_total", "counter", "tries that failed, by reason");
    for (size_t i = 0; i < len; i++)
        for (int r = 0; r < CLA_REASON_COUNT; r++)
            if (all[i].values.link->failures[r] > 0)
                fprintf(f, "heliograph_link_failures_total{%s,reason=\"%s\"} %" PRIu64 "\n",
                        all[i].labels, cla_reason_text((enum cla_reason)r),
                        all[i].values.link->failures[r]);
}

/* All reasons, so that the first refusal is an increase. */
static void put_tls(FILE *f, const struct sample *all, size_t len)
{
    put_family(f, "link_tls_refused_total", "counter",
               "peers whose TLS was refused or failed, by reason; all links at one local address "
               "have the same");
    for (size_t i = 0; i < len; i++)
        for (int r = 0; r < CLA_TLS_COUNT && all[i].values.g.tls; r++)
            fprintf(f, "heliograph_link_tls_refused_total{%s,reason=\"%s\"} %" PRIu64 "\n",
                    all[i].labels, cla_tls_text((enum cla_tls_refusal)r),
                    all[i].values.g.tls_refused[r]);
}

static void put_states(FILE *f, const struct sample *all, size_t len)
{
    put_family(f, "link_state", "gauge", "1 for the state that the link is in, 0 for the others");
    for (size_t i = 0; i < len; i++)
        for (int s = 0; s < LINK_STATE_COUNT; s++)
            fprintf(f, "heliograph_link_state{%s,state=\"%s\"} %d\n", all[i].labels,
                    link_state_word((enum link_state)s), all[i].values.state == (enum link_state)s);
}

static void put_value(FILE *f, const struct link_value *v, const struct sample *s)
{
    uint64_t value = v->get(&s->values);
    if (value == LINK_VALUE_UNKNOWN && v->zero != ZERO_IN_METRICS)
        return;
    fprintf(f, "heliograph_%s{%s} %.15g\n", v->metric, s->labels,
            value == LINK_VALUE_UNKNOWN ? 0 : (double)value / v->divisor);
}

static void put_links(FILE *f, const struct sample *all, size_t len)
{
    for (size_t k = 0; k < link_values_len; k++) {
        const struct link_value *v = &link_values[k];
        if (v->metric == NULL)
            continue;
        put_family(f, v->metric, v->type, v->help);
        for (size_t i = 0; i < len; i++)
            put_value(f, v, &all[i]);
    }
    put_states(f, all, len);
    put_failures(f, all, len);
    put_tls(f, all, len);
}

char *metrics_text(struct node *n, size_t *len)
{
    char *text = NULL;
    struct sample *all = calloc(n->links_len + 1, sizeof *all);
    FILE *f = all == NULL ? NULL : open_memstream(&text, len);
    size_t links = 0;
    if (f == NULL) {
        free(all);
        return NULL;
    }
    put_node(f, n);
    put_reasons(f, agent_counters(n->agent));
    put_security(f, n);
    put_rules(f, n);
    put_logs(f, n);
    for (size_t i = 0; i < n->links_len; i++)
        if (n->links[i] != NULL)
            take_sample(n, n->links[i], &all[links++]);
    put_links(f, all, links);
    free(all);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
