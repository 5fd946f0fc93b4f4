/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a provider counts, in the text format of Prometheus: a family at a time, with a sample for
 * each instance or source. What can go wrong: memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/http/http_text.h"
#include "tools/sle/station/sle_station.h"

#define PREFIX "heliograph_sle_"
#define LABEL_MAX (2 * SLE_SIID_MAX + 8)

static void put_family(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help, name, type);
}

static void put_instance(FILE *f, const struct instance *i, const char *name, const char *suffix,
                         uint64_t value)
{
    char label[LABEL_MAX];
    prometheus_label(i->config->id, label, sizeof label);
    fprintf(f, PREFIX "%s%s{service_instance=\"%s\"} %" PRIu64 "\n", name, suffix, label, value);
}

/* ---- instances ---- */

static struct sle_link *link_of(const struct instance *i)
{
    return sle_instance_link(i->sle);
}

static uint64_t value_bound(const struct instance *i)
{
    return link_of(i) != NULL;
}

static uint64_t value_active(const struct instance *i)
{
    return link_of(i) != NULL && sle_link_state(link_of(i)) == SLE_ACTIVE;
}

static uint64_t value_backlog(const struct instance *i)
{
    return link_of(i) == NULL ? 0 : sle_link_backlog(link_of(i));
}

static uint64_t value_behind(const struct instance *i)
{
    return i->catchup.on;
}

static uint64_t value_held(const struct instance *i)
{
    return i->config->service == SLE_FCLTU ? sle_provider_cltus_held(i->sle) : 0;
}

static const struct gauge {
    const char *name, *help;
    uint64_t (*value)(const struct instance *i);
} gauges[] = {
    {"instance_bound", "1: a user has bound it", value_bound},
    {"instance_active", "1: its user has started", value_active},
    {"instance_backlog_bytes", "octets that wait for its connection", value_backlog},
    {"instance_behind", "1: complete mode, frames come from the recording", value_behind},
    {"instance_cltus_held", "CLTUs in the queue, or being radiated", value_held},
};

static void put_gauges(FILE *f, const struct station *t)
{
    for (size_t k = 0; k < sizeof gauges / sizeof *gauges; k++) {
        put_family(f, gauges[k].name, "gauge", gauges[k].help);
        for (size_t n = 0; n < t->settings->instances_len; n++)
            put_instance(f, &t->instances[n], gauges[k].name, "",
                         gauges[k].value(&t->instances[n]));
    }
}

static void put_users(FILE *f, const struct station *t)
{
    char label[LABEL_MAX];
    put_family(f, "instance_user", "gauge", "who has bound it; always 1");
    for (size_t n = 0; n < t->settings->instances_len; n++) {
        const struct sle_link *l = link_of(&t->instances[n]);
        if (l == NULL)
            continue;
        prometheus_label(t->instances[n].config->id, label, sizeof label);
        fprintf(f, PREFIX "instance_user{service_instance=\"%s\",user=\"%s\",version=\"%u\"} 1\n",
                label, sle_link_peer(l), sle_link_version(l));
    }
}

#define COUNT_AT(name, text) {#name, text, offsetof(struct sle_counts, name)},
static const struct counter {
    const char *name, *help;
    size_t at;
} counters[] = {SLE_COUNTS(COUNT_AT)};
#undef COUNT_AT

static uint64_t count_at(const struct sle_counts *c, size_t at)
{
    uint64_t v;
    memcpy(&v, (const char *)c + at, sizeof v);
    return v;
}

static void put_counters(FILE *f, const struct station *t)
{
    char name[64];
    for (size_t k = 0; k < sizeof counters / sizeof *counters; k++) {
        const struct counter *c = &counters[k];
        snprintf(name, sizeof name, "%s_total", c->name);
        put_family(f, name, "counter", c->help);
        for (size_t n = 0; n < t->settings->instances_len; n++) {
            const struct instance *i = &t->instances[n];
            put_instance(f, i, c->name, "_total", count_at(sle_instance_counts(i->sle), c->at));
        }
    }
}

static void put_outcomes(FILE *f, const struct station *t)
{
    static const struct {
        const char *word;
        size_t at;
    } outcomes[] = {{"radiated", offsetof(struct sle_counts, cltus_radiated)},
                    {"expired", offsetof(struct sle_counts, cltus_expired)},
                    {"interrupted", offsetof(struct sle_counts, cltus_interrupted)},
                    {"discarded", offsetof(struct sle_counts, cltus_discarded)},
                    {"refused", offsetof(struct sle_counts, cltus_refused)}};
    char label[LABEL_MAX];
    put_family(f, "cltu_outcomes_total", "counter", "CLTUs by what became of them");
    for (size_t n = 0; n < t->settings->instances_len; n++) {
        const struct instance *i = &t->instances[n];
        if (i->config->service != SLE_FCLTU)
            continue;
        prometheus_label(i->config->id, label, sizeof label);
        for (size_t k = 0; k < sizeof outcomes / sizeof *outcomes; k++)
            fprintf(f,
                    PREFIX "cltu_outcomes_total{service_instance=\"%s\",outcome=\"%s\"} %" PRIu64
                           "\n",
                    label, outcomes[k].word, count_at(sle_instance_counts(i->sle), outcomes[k].at));
    }
}

static void put_failures(FILE *f, const struct station *t)
{
    put_family(f, "uplink_failed_total", "counter", "CLTUs and orders that an uplink did not send");
    for (size_t n = 0; n < t->settings->instances_len; n++)
        if (t->instances[n].config->service == SLE_FCLTU)
            put_instance(f, &t->instances[n], "uplink_failed", "_total",
                         t->instances[n].uplink.failed);
}

/* ---- sources ---- */

static uint64_t recording_lost(const struct source *x)
{
    return x->recording == NULL ? 0 : recording_counts(x->recording).lost;
}

static uint64_t recording_bytes(const struct source *x)
{
    return x->recording == NULL ? 0 : recording_counts(x->recording).written_bytes;
}

#define OF_SOURCE(field)                                                                           \
    static uint64_t source_##field(const struct source *x)                                         \
    {                                                                                              \
        return x->field;                                                                           \
    }
OF_SOURCE(offered)
OF_SOURCE(bad)
OF_SOURCE(erred)
OF_SOURCE(missing)
#undef OF_SOURCE

static const struct {
    const char *name, *help;
    uint64_t (*value)(const struct source *x);
} source_counters[] = {
    {"source_frames_total", "frames that it offered", source_offered},
    {"source_bad_total", "datagrams that are no frames", source_bad},
    {"source_erred_total", "frames whose check value, or modem, says that they are erred",
     source_erred},
    {"source_missing_total", "frames that are missing by its counts, or its modem", source_missing},
    {"source_late_total", "frames that its rate asked for, more than 1 s late: they were not made",
     source_late},
    {"recording_lost_total", "frames that were not recorded", recording_lost},
    {"recording_bytes_total", "octets that were recorded", recording_bytes},
};

static void put_sources(FILE *f, const struct station *t)
{
    char label[LABEL_MAX];
    for (size_t k = 0; k < sizeof source_counters / sizeof *source_counters; k++) {
        put_family(f, source_counters[k].name, "counter", source_counters[k].help);
        for (size_t n = 0; n < t->settings->sources_len; n++) {
            prometheus_label(t->sources[n].config->name, label, sizeof label);
            fprintf(f, PREFIX "%s{source=\"%s\"} %" PRIu64 "\n", source_counters[k].name, label,
                    source_counters[k].value(&t->sources[n]));
        }
    }
}

char *station_metrics(const struct station *t, size_t *len)
{
    char *text = NULL, label[LABEL_MAX];
    FILE *f = open_memstream(&text, len);
    if (f == NULL)
        return NULL;
    prometheus_label(t->settings->id, label, sizeof label);
    put_family(f, "info", "gauge", "the provider's name and version; always 1");
    fprintf(f, PREFIX "info{provider=\"%s\",version=\"%s\"} 1\n", label, HELIO_VERSION);
    put_family(f, "refused_total", "counter", "connections and BINDs that were refused");
    fprintf(f, PREFIX "refused_total %" PRIu64 "\n", t->refused);
    put_family(f, "thread_octets_total", "counter", "octets to users that threads wrote");
    fprintf(f, PREFIX "thread_octets_total %" PRIu64 "\n", t->host.isp.lent_octets);
    put_gauges(f, t);
    put_users(f, t);
    put_counters(f, t);
    put_outcomes(f, t);
    put_failures(f, t);
    put_sources(f, t);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
