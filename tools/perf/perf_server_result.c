/* SPDX-License-Identifier: Apache-2.0 */
/* What the server prints and writes: a row when a client is finished, JSON of all of them. */
#include <stdio.h>
#include <string.h>

#include "tools/perf/perf_report.h"
#include "tools/perf/perf_server.h"

static void add_rates(json_t *j, double bps, const struct hist *delay)
{
    json_object_set_new(j, "goodput_bps", json_real(bps));
    json_object_set_new(j, "delay_ms", perf_report_delay(delay));
}

static json_t *session_json(const struct perf_session *s)
{
    const struct perf_report *r = &s->report;
    json_t *j = perf_report_counts((const struct perf_count[]){{"bundles", r->bundles},
                                                               {"bytes", r->bytes},
                                                               {"lost", perf_session_lost(s)},
                                                               {"duplicates", r->duplicates},
                                                               {"wrong_crc", r->wrong_crc},
                                                               {"reordered", s->reordered},
                                                               {"refused", s->refused},
                                                               {NULL, 0}});
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)s->id);
    json_object_set_new(j, "client", json_string(s->peer));
    json_object_set_new(j, "session", json_string(id));
    json_object_set_new(j, "ended", json_boolean(s->ended));
    json_object_set_new(j, "execution_s", json_real((double)(r->last - r->first) / 1e9));
    add_rates(j, perf_session_goodput(s), &s->delay);
    if (s->file != NULL)
        json_object_set_new(j, "file",
                            r->file_done != 0 ? json_string(perf_file_name(s->file)) : json_null());
    if (s->file_problem[0] != '\0')
        json_object_set_new(j, "file_problem", json_string(s->file_problem));
    return j;
}

json_t *perf_server_json(const struct perf_server *p)
{
    struct perf_report sum = p->sum;
    uint64_t lost = p->sum_lost, reordered = p->sum_reordered, refused = p->sum_refused;
    json_t *clients = json_array();
    double bps = 0;
    list_for_each (it, &p->order) {
        const struct perf_session *s = container_of(it, struct perf_session, order);
        sum.bundles += s->report.bundles;
        sum.bytes += s->report.bytes;
        sum.duplicates += s->report.duplicates;
        lost += perf_session_lost(s);
        reordered += s->reordered;
        refused += s->refused;
        bps += perf_session_goodput(s);
        json_array_append_new(clients, session_json(s));
    }
    json_t *j = perf_report_counts((const struct perf_count[]){{"bundles", sum.bundles},
                                                               {"bytes", sum.bytes},
                                                               {"lost", lost},
                                                               {"duplicates", sum.duplicates},
                                                               {"wrong_crc", p->wrong_crc},
                                                               {"reordered", reordered},
                                                               {"refused", refused},
                                                               {"foreign", p->foreign},
                                                               {"acks_refused", p->acks_refused},
                                                               {"reconnects", p->link.reconnects},
                                                               {"sessions", p->opened},
                                                               {"sessions_forgotten", p->evicted},
                                                               {NULL, 0}});
    json_object_set_new(j, "role", json_string("server"));
    json_object_set_new(j, "endpoint", json_string(p->link.endpoint));
    add_rates(j, bps, &p->delay);
    json_object_set_new(j, "clients", clients);
    json_object_set(j, "sent", p->senders.results);
    return j;
}

bool perf_server_result(const struct perf_server *p)
{
    return p->options->json == NULL ||
           perf_report_write("helio-perf", perf_server_json(p), p->options->json);
}

void perf_server_tell_header(void)
{
    printf("%-24s %10s %14s %12s %6s %6s %6s %10s %10s\n", "client", "bundles", "bytes", "Mbit/s",
           "lost", "dup", "crc", "mean ms", "p99 ms");
    fflush(stdout);
}

void perf_server_tell(struct perf_server *p, struct perf_session *s)
{
    const struct perf_report *r = &s->report;
    char rate[32];
    if (s->told)
        return;
    s->told = true;
    if (p->quiet)
        return;
    snprintf(rate, sizeof rate, "%.3f", perf_session_goodput(s) / 1e6);
    printf("%-24s %10llu %14llu %12s %6llu %6llu %6llu %10.3f %10.3f\n", s->peer,
           (unsigned long long)r->bundles, (unsigned long long)r->bytes,
           r->bundles < 2 ? "-" : rate, (unsigned long long)perf_session_lost(s),
           (unsigned long long)r->duplicates, (unsigned long long)r->wrong_crc, s->delay.mean / 1e6,
           (double)hist_quantile(&s->delay, 0.99) / 1e6);
    if (r->file_done != 0)
        printf("%-24s file %s\n", "", perf_file_name(s->file));
    else if (s->file_problem[0] != '\0')
        printf("%-24s file not rebuilt: %s\n", "", s->file_problem);
    fflush(stdout);
    if (p->options->json != NULL && strcmp(p->options->json, "-") != 0)
        (void)perf_server_result(p);
}
