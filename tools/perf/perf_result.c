/* SPDX-License-Identifier: Apache-2.0 */
/* The client's result, as text and as JSON. Goodput counts payload whose arrival is confirmed: by
 * acknowledgements over the time from the first bundle to the last acknowledgement (without the
 * warm-up); in rate mode by the server's counts of its arrivals. Without any of these it counts
 * what the node confirmed over the time of sending, and the result says so. */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/perf_client.h"
#include "tools/perf/perf_report.h"

static double seconds(tick t)
{
    return (double)t / 1e9;
}

static tick execution(const struct perf_client *c)
{
    tick end = c->options->window > 0 ? c->last_ack : c->send_end;
    return end > c->start ? end - c->start : 0;
}

static double ratio(double bytes, double s)
{
    return s > 0 ? 8 * bytes / s : 0;
}

double perf_client_goodput(const struct perf_client *c, const char **basis)
{
    const struct perf_report *r = &c->report;
    if (c->options->window > 0) {
        *basis = "acknowledgements";
        double s = c->last_ack > c->measure_from ? seconds(c->last_ack - c->measure_from) : 0;
        return ratio((double)c->measured_bytes, s);
    }
    if (c->have_report && r->bundles > 1 && r->last > r->first) {
        *basis = "server";
        double share = (double)(r->bundles - 1) / (double)r->bundles;
        return ratio((double)r->bytes * share, seconds(r->last - r->first));
    }
    *basis = "confirmed";
    if (c->next < 2)
        return 0;
    double bytes = (double)c->sent_bytes * (double)c->confirmed / (double)c->next;
    double share = (double)(c->next - 1) / (double)c->next; /* n bundles have n - 1 intervals */
    return ratio(bytes * share, seconds(execution(c)));
}

/* One bundle in rate mode has no time from the first to the last: its goodput is not known. */
static bool is_known(const struct perf_client *c)
{
    return c->options->window > 0 || c->next != 1 || c->confirmed == 0;
}

/* Kept for the JSON, up to the limit. */
static void keep_interval(struct perf_client *c, const struct perf_interval *i)
{
    if (c->intervals_len == c->intervals_cap) {
        size_t cap = c->intervals_cap == 0 ? 64 : 2 * c->intervals_cap;
        struct perf_interval *grown =
            cap > PERF_INTERVALS_MAX ? NULL : realloc(c->intervals, cap * sizeof *grown);
        if (grown == NULL)
            return;
        c->intervals = grown;
        c->intervals_cap = cap;
    }
    c->intervals[c->intervals_len++] = *i;
    assert(c->intervals_len <= c->intervals_cap);
}

static void write_interval(const struct perf_client *c, const struct perf_interval *i)
{
    if (c->csv == NULL)
        return;
    fprintf(c->csv, "%.6f,%.6f,%llu,%llu,%llu,%llu,%.0f\n", seconds(i->from), seconds(i->to),
            (unsigned long long)i->sent, (unsigned long long)i->confirmed,
            (unsigned long long)i->acked, (unsigned long long)i->bytes,
            ratio((double)i->bytes, seconds(i->to - i->from)));
    fflush(c->csv);
}

void perf_client_progress(struct perf_client *c, tick now)
{
    const struct perf_interval was = c->last;
    bool acks = c->options->window > 0;
    double share = c->next > 0 ? (double)c->confirmed / (double)c->next : 0;
    uint64_t confirmed = (uint64_t)((double)c->sent_bytes * share);
    confirmed = acks ? 0 : confirmed > was.bytes ? confirmed : was.bytes;
    c->last = (struct perf_interval){.to = now - c->start,
                                     .sent = c->next,
                                     .confirmed = c->confirmed,
                                     .acked = c->window.acked,
                                     .bytes = acks ? c->window.acked_bytes : confirmed};
    struct perf_interval i = {.from = was.to,
                              .to = c->last.to,
                              .sent = c->last.sent - was.sent,
                              .confirmed = c->last.confirmed - was.confirmed,
                              .acked = c->last.acked - was.acked,
                              .bytes = c->last.bytes - was.bytes};
    keep_interval(c, &i);
    write_interval(c, &i);
    if (c->quiet)
        return;
    bool to_stdout = c->options->json != NULL && strcmp(c->options->json, "-") == 0;
    if (c->label > 0)
        fprintf(to_stdout ? stderr : stdout, "[%2u] ", c->label);
    fprintf(to_stdout ? stderr : stdout,
            "%7.1f-%-7.1f s  %8llu sent  %8llu confirmed  %8llu acknowledged  %10.3f Mbit/s\n",
            seconds(i.from), seconds(i.to), (unsigned long long)i.sent,
            (unsigned long long)i.confirmed, (unsigned long long)i.acked,
            ratio((double)i.bytes, seconds(i.to - i.from)) / 1e6);
    fflush(to_stdout ? stderr : stdout);
}

static json_t *intervals_json(const struct perf_client *c)
{
    json_t *list = json_array();
    for (size_t k = 0; k < c->intervals_len; k++) {
        const struct perf_interval *i = &c->intervals[k];
        json_array_append_new(
            list, json_pack("{s:f,s:f,s:I,s:I,s:I,s:I,s:f}", "start_s", seconds(i->from), "end_s",
                            seconds(i->to), "sent", (json_int_t)i->sent, "confirmed",
                            (json_int_t)i->confirmed, "acked", (json_int_t)i->acked, "bytes",
                            (json_int_t)i->bytes, "bps",
                            ratio((double)i->bytes, seconds(i->to - i->from))));
    }
    return list;
}

/* Are both clocks possibly the same? Then one-way delays have a meaning. */
static bool clocks_agree(const struct perf_client *c)
{
    return c->have_clocks && c->clock_low <= 0 && c->clock_high >= 0 && c->report.early == 0;
}

static json_t *one_way_json(const struct perf_client *c)
{
    const struct perf_report *r = &c->report;
    if (!c->have_report || !r->detailed || r->bundles == 0)
        return json_null();
    json_t *j = json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "min", (double)r->delay_min / 1e6, "mean",
                          (double)r->delay_mean_ns / 1e6, "p50", (double)r->delay_p50 / 1e6, "p90",
                          (double)r->delay_p90 / 1e6, "p99", (double)r->delay_p99 / 1e6, "max",
                          (double)r->delay_max / 1e6);
    json_object_set_new(j, "early", json_integer((json_int_t)r->early));
    json_object_set_new(j, "clocks_agree", json_boolean(clocks_agree(c)));
    if (c->have_clocks)
        json_object_set_new(
            j, "clock_ahead_ms",
            json_pack("[f,f]", (double)c->clock_low / 1e6, (double)c->clock_high / 1e6));
    return j;
}

static void print_one_way(const struct perf_client *c)
{
    const struct perf_report *r = &c->report;
    if (!r->detailed || r->bundles == 0 || c->options->window > 0)
        return;
    double apart = c->clock_low > 0 ? (double)c->clock_low : -(double)c->clock_high;
    if (clocks_agree(c))
        printf("one way     min %.3f  mean %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n",
               (double)r->delay_min / 1e6, (double)r->delay_mean_ns / 1e6,
               (double)r->delay_p50 / 1e6, (double)r->delay_p90 / 1e6, (double)r->delay_p99 / 1e6,
               (double)r->delay_max / 1e6);
    else if (c->have_clocks && apart > 0)
        printf("one way     not known: the clocks of both ends are %.3f ms apart, or more\n",
               apart / 1e6);
    else
        printf("one way     not known: the clocks of both ends are apart\n");
}

static json_t *server_json(const struct perf_client *c)
{
    const struct perf_report *r = &c->report;
    if (!c->have_report)
        return json_null();
    return json_pack("{s:I,s:I,s:I,s:I,s:f,s:b}", "bundles", (json_int_t)r->bundles, "bytes",
                     (json_int_t)r->bytes, "duplicates", (json_int_t)r->duplicates, "wrong_crc",
                     (json_int_t)r->wrong_crc, "delay_mean_ms", (double)r->delay_mean_ns / 1e6,
                     "file_verified", (int)(r->file_done != 0));
}

json_t *perf_client_json(const struct perf_client *c)
{
    const struct perf_options *o = c->options;
    const char *basis;
    double bps = perf_client_goodput(c, &basis);
    json_t *j = perf_report_counts(
        (const struct perf_count[]){{"payload_bytes", o->payload},
                                    {"window", o->window},
                                    {"bundles_sent", c->next},
                                    {"bundles_confirmed", c->confirmed},
                                    {"bundles_acked", c->window.acked},
                                    {"bytes", c->sent_bytes},
                                    {"bytes_acked", c->window.acked_bytes},
                                    {"lost", perf_client_missing(c)},
                                    {"late_acks", c->window.late},
                                    {"repeated_acks", c->window.repeated},
                                    {"duplicates", c->have_report ? c->report.duplicates : 0},
                                    {"wrong_crc", c->have_report ? c->report.wrong_crc : 0},
                                    {"refused", c->hint.refused},
                                    {"resent", c->resent},
                                    {"reconnects", c->link.reconnects},
                                    {NULL, 0}});
    json_object_set_new(j, "role", json_string("client"));
    json_object_set_new(j, "destination", json_string(o->destination));
    json_object_set_new(j, "source", json_string(c->link.endpoint));
    json_object_set_new(j, "goodput_bps", is_known(c) ? json_real(bps) : json_null());
    json_object_set_new(j, "goodput_basis", json_string(basis));
    json_object_set_new(j, "execution_s", json_real(seconds(execution(c))));
    json_object_set_new(j, "sending_s", json_real(seconds(c->send_end - c->start)));
    json_object_set_new(j, "warmup_s", json_real(seconds(o->warmup)));
    json_object_set_new(j, "delay_ms", perf_report_delay(&c->delay));
    json_object_set_new(j, "interrupted", json_boolean(c->interrupted));
    json_object_set_new(j, "failed", json_boolean(c->failed));
    json_object_set_new(j, "server", server_json(c));
    json_object_set_new(j, "reports", perf_hint_json(&c->hint));
    json_object_set_new(j, "one_way_ms", one_way_json(c));
    if (c->progress)
        json_object_set_new(j, "intervals", intervals_json(c));
    return j;
}

static void print_text(const struct perf_client *c)
{
    const char *basis;
    double bps = perf_client_goodput(c, &basis);
    printf("bundles     %llu sent, %llu confirmed by the node, %llu acknowledged, %llu missing\n",
           (unsigned long long)c->next, (unsigned long long)c->confirmed,
           (unsigned long long)c->window.acked, (unsigned long long)perf_client_missing(c));
    printf("bytes       %llu in %.3f s\n", (unsigned long long)c->sent_bytes,
           seconds(execution(c)));
    if (is_known(c))
        printf("goodput     %.3f Mbit/s (%s)\n", bps / 1e6, basis);
    else
        printf("goodput     - (one bundle has no rate)\n");
    if (c->delay.count > 0)
        printf("delay       mean %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n",
               c->delay.mean / 1e6, (double)hist_quantile(&c->delay, 0.5) / 1e6,
               (double)hist_quantile(&c->delay, 0.9) / 1e6,
               (double)hist_quantile(&c->delay, 0.99) / 1e6, (double)c->delay.max / 1e6);
    if (c->have_report)
        printf("server      %llu bundles, %llu duplicates, %llu with a wrong CRC\n",
               (unsigned long long)c->report.bundles, (unsigned long long)c->report.duplicates,
               (unsigned long long)c->report.wrong_crc);
    if (c->have_report)
        print_one_way(c);
    else if (c->next == 0 || c->window.acked > 0 || (c->failed && c->hint.refused == 0))
        printf("server      did not report\n");
    else {
        printf("server      ");
        perf_hint_print(&c->hint, c->options->destination, stdout);
    }
    if (c->options->mode == PERF_MODE_FILE && c->have_report)
        printf("file        %s\n",
               c->report.file_done != 0 ? "rebuilt and verified" : "not rebuilt at the server");
    if (c->window.late + c->hint.refused + c->resent + c->link.reconnects > 0)
        printf("recovery    %llu late acknowledgements, %llu refusals, %llu sent again, %llu "
               "reconnections\n",
               (unsigned long long)c->window.late, (unsigned long long)c->hint.refused,
               (unsigned long long)c->resent, (unsigned long long)c->link.reconnects);
}

bool perf_client_result(const struct perf_client *c)
{
    bool to_stdout = c->options->json != NULL && strcmp(c->options->json, "-") == 0;
    if (!to_stdout)
        print_text(c);
    return c->options->json == NULL ||
           perf_report_write("helio-perf", perf_client_json(c), c->options->json);
}

/* ---- several clients ---- */

struct totals {
    uint64_t sent, confirmed, acked, lost, bytes;
    double bps;
};

static struct totals sum_clients(const struct perf_client *clients, size_t len)
{
    struct totals t = {0};
    const char *basis;
    for (size_t i = 0; i < len; i++) {
        const struct perf_client *c = &clients[i];
        t.sent += c->next;
        t.confirmed += c->confirmed;
        t.acked += c->window.acked;
        t.lost += perf_client_missing(c);
        t.bytes += c->sent_bytes;
        t.bps += perf_client_goodput(c, &basis);
    }
    return t;
}

static void print_total(const char *name, const struct totals *t)
{
    printf("[%3s] %10llu sent %10llu confirmed %10llu acknowledged %8llu missing %12.3f Mbit/s\n",
           name, (unsigned long long)t->sent, (unsigned long long)t->confirmed,
           (unsigned long long)t->acked, (unsigned long long)t->lost, t->bps / 1e6);
}

static void print_clients(const struct perf_client *clients, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const struct perf_client *c = &clients[i];
        const struct totals one = sum_clients(c, 1);
        char name[24];
        snprintf(name, sizeof name, "%zu", i + 1);
        print_total(name, &one);
        if (c->next > 0 && c->window.acked == 0 && !c->have_report)
            perf_hint_print(&c->hint, c->options->destination, stdout);
    }
    const struct totals all = sum_clients(clients, len);
    print_total("sum", &all);
}

static json_t *clients_json(const struct perf_client *clients, size_t len)
{
    const struct totals t = sum_clients(clients, len);
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, perf_client_json(&clients[i]));
    json_t *j = perf_report_counts((const struct perf_count[]){{"parallel", len},
                                                               {"bundles_sent", t.sent},
                                                               {"bundles_confirmed", t.confirmed},
                                                               {"bundles_acked", t.acked},
                                                               {"bytes", t.bytes},
                                                               {"lost", t.lost},
                                                               {NULL, 0}});
    json_object_set_new(j, "role", json_string("clients"));
    json_object_set_new(j, "goodput_bps", json_real(t.bps));
    json_object_set_new(j, "clients", list);
    return j;
}

bool perf_clients_result(const struct perf_client *clients, size_t len)
{
    const char *json = clients[0].options->json;
    if (json == NULL || strcmp(json, "-") != 0)
        print_clients(clients, len);
    return json == NULL || perf_report_write("helio-perf", clients_json(clients, len), json);
}
