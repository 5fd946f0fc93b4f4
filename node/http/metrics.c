/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A family at a time, as the format wants it: its help and type, then a sample for each link or
 * reason. Each link is asked once. What can go wrong: memory.
 */
#include "node/http/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cla/seglog.h"
#include "node/app/apps.h"
#include "node/http/prometheus.h"
#include "node/node_log.h"
#include "node/node_security.h"
#include "node/node_values.h"
#include "node/storage.h"

#define SECONDS(t) ((double)(t) / 1e9)

/* What is sampled of a link, taken once. */
struct sample {
    struct link_sample values;
    char labels[2 * EID_TEXT_MAX + 176]; /* link="…",peer="…" */
};

static void put_family(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP heliograph_%s %s\n# TYPE heliograph_%s %s\n", name, help, name, type);
}

static void put_one(FILE *f, const char *name, const char *type, const char *help, double value)
{
    put_family(f, name, type, help);
    fprintf(f, "heliograph_%s %.17g\n", name, value);
}

/* ---- the node ---- */

static void put_node(FILE *f, struct node *n)
{
    const struct agent_counters *c = agent_counters(n->agent);
    char node[EID_TEXT_MAX], label[2 * EID_TEXT_MAX];
    eid_text(&n->config->node, node);
    prometheus_label(node, label, sizeof label);
    put_family(f, "node_info", "gauge", "the node's name and version; always 1");
    fprintf(f, "heliograph_node_info{node=\"%s\",version=\"%s\"} 1\n", label, HELIO_VERSION);
    put_one(f, "uptime_seconds", "gauge", "since the node began",
            SECONDS(node_now(n).now - n->started));
    put_one(f, "bundles", "gauge", "bundles at the node", (double)c->bundles);
    put_one(f, "bundles_limit", "gauge", "bundles that the node may have",
            (double)n->config->bundles.count);
    put_one(f, "bundle_bytes", "gauge", "their bytes", (double)c->bytes);
    put_one(f, "bundle_bytes_limit", "gauge", "bytes of bundles that the node may have",
            (double)n->config->store.limit);
    put_one(f, "memory_bytes", "gauge", "memory that bundles take",
            (double)(c->memory_bytes + c->record_bytes + c->arriving_bytes + c->seen_bytes));
    put_one(f, "arriving_bytes", "gauge", "of it, for bundles that are still arriving",
            (double)c->arriving_bytes);
    put_one(f, "memory_bytes_limit", "gauge", "memory that bundles may take",
            (double)n->config->bundles.total);
    put_one(f, "bundles_accepted_total", "counter", "bundles taken from applications",
            (double)c->accepted_local);
    put_one(f, "bundles_received_total", "counter", "bundles taken from peers",
            (double)c->received);
    put_one(f, "deliveries_total", "counter", "application data units delivered",
            (double)c->delivered);
    put_one(f, "send_failures_total", "counter", "tries to forward that failed",
            (double)c->send_failures);
    put_one(f, "status_reports_limited_total", "counter",
            "status reports that were not sent: more than report_rate", (double)c->reports_limited);
    put_one(f, "clock_steps_total", "counter", "jumps of the wall clock", (double)n->clock.steps);
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
    put_one(f, "security_passed_total", "counter", "of them, those of rules with dry_run",
            (double)c->passed);
    put_one(f, "security_bundles_dropped_total", "counter",
            "received bundles that were dropped for a failed operation",
            (double)c->bundles_dropped);
    put_one(f, "security_blocks_dropped_total", "counter",
            "blocks that were removed for a failed operation", (double)c->blocks_dropped);
    put_one(f, "security_not_sent_total", "counter",
            "bundles that start here and could not be protected", (double)c->not_sent);
    put_one(f, "security_keys", "gauge", "keys of bundle security",
            n->security == NULL ? 0 : (double)n->security->ring->len);
    put_one(f, "security_key_warnings", "gauge",
            "of them, those that end in 14 days, ended, or made 80 % of their uses",
            (double)node_security_warnings(n));
}

static void put_rest(FILE *f, struct node *n)
{
    if (n->apps != NULL) {
        const struct apps_counters *a = apps_counters(n->apps);
        put_one(f, "applications", "gauge", "applications that are connected",
                (double)a->connections);
        put_one(f, "application_requests_total", "counter", "requests of applications",
                (double)a->requests);
    }
    if (n->storage != NULL) {
        struct storage_status st;
        storage_status(n->storage, &st);
        put_one(f, "store_bytes", "gauge", "bytes of bundles in the store", (double)st.bytes);
        put_one(f, "store_waiting", "gauge", "jobs that wait for the medium", (double)st.waiting);
        put_one(f, "store_failures_total", "counter", "jobs that the medium refused",
                (double)st.failures);
        put_one(f, "store_damaged", "gauge", "bundles that are set aside as damaged",
                (double)st.damaged);
    }
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
    put_rest(f, n);
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
