/* SPDX-License-Identifier: Apache-2.0 */
/* What a receiving client prints and writes. Goodput counts what arrived, over the time from the
 * first arrival to the last one, less the first bundle. */
#include <assert.h>
#include <stdlib.h>

#include "tools/perf/perf_report.h"
#include "tools/perf/perf_reverse.h"

static double seconds(tick t)
{
    return (double)t / 1e9;
}

static double rate_of(const struct perf_arrivals *a)
{
    return a->to > a->from ? 8e9 * (double)a->bytes / (double)(a->to - a->from) : 0;
}

static bool json_to_stdout(const struct perf_options *o)
{
    return o->json != NULL && o->json[0] == '-' && o->json[1] == '\0';
}

/* ---- lines ---- */

/* Kept for the JSON, up to the limit. */
static void keep_line(struct perf_reverse *r, const struct perf_arrivals *a)
{
    if (r->lines_len == r->lines_cap) {
        size_t cap = r->lines_cap == 0 ? 64 : 2 * r->lines_cap;
        struct perf_arrivals *grown =
            cap > PERF_ARRIVALS_MAX ? NULL : realloc(r->lines, cap * sizeof *grown);
        if (grown == NULL)
            return;
        r->lines = grown;
        r->lines_cap = cap;
    }
    r->lines[r->lines_len++] = *a;
    assert(r->lines_len <= r->lines_cap);
}

void perf_reverse_line(struct perf_reverse *r, tick now)
{
    const struct perf_session *s = perf_server_session(&r->server);
    const struct perf_arrivals was = r->last;
    FILE *f = json_to_stdout(r->options) ? stderr : stdout;
    r->last = (struct perf_arrivals){.to = now - r->start,
                                     .bundles = s != NULL ? s->report.bundles : 0,
                                     .bytes = s != NULL ? s->report.bytes : 0};
    assert(r->last.bundles >= was.bundles && r->last.to >= was.to);
    const struct perf_arrivals a = {.from = was.to,
                                    .to = r->last.to,
                                    .bundles = r->last.bundles - was.bundles,
                                    .bytes = r->last.bytes - was.bytes};
    keep_line(r, &a);
    if (r->csv != NULL) {
        fprintf(r->csv, "%.6f,%.6f,%llu,%llu,%.0f\n", seconds(a.from), seconds(a.to),
                (unsigned long long)a.bundles, (unsigned long long)a.bytes, rate_of(&a));
        fflush(r->csv);
    }
    if (r->quiet)
        return;
    if (r->label > 0)
        fprintf(f, "[%2u] ", r->label);
    fprintf(f, "%7.1f-%-7.1f s  %8llu arrived  %10.3f Mbit/s\n", seconds(a.from), seconds(a.to),
            (unsigned long long)a.bundles, rate_of(&a) / 1e6);
    fflush(f);
}

/* ---- the end ---- */

/* Are both clocks possibly the same? Then one-way delays have a meaning. */
static bool clocks_agree(const struct perf_reverse *r, const struct perf_session *s)
{
    return r->have_clocks && r->clock_low <= 0 && r->clock_high >= 0 && s->early == 0;
}

static void print_one_way(const struct perf_reverse *r, const struct perf_session *s)
{
    const struct hist *h = &s->delay;
    double apart = r->clock_low > 0 ? (double)r->clock_low : -(double)r->clock_high;
    if (clocks_agree(r, s))
        printf("one way     min %.3f  mean %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n",
               (double)h->min / 1e6, h->mean / 1e6, (double)hist_quantile(h, 0.5) / 1e6,
               (double)hist_quantile(h, 0.9) / 1e6, (double)hist_quantile(h, 0.99) / 1e6,
               (double)h->max / 1e6);
    else if (r->have_clocks && apart > 0)
        printf("one way     not known: the clocks of both ends are %.3f ms apart, or more\n",
               apart / 1e6);
    else
        printf("one way     not known: the clocks of both ends are apart\n");
}

static void print_text(const struct perf_reverse *r)
{
    const struct perf_session *s = perf_server_session(&r->server);
    if (s == NULL) {
        printf("bundles     none arrived\n");
        return;
    }
    const struct perf_report *a = &s->report;
    printf("bundles     %llu arrived, %llu missing, %llu twice, %llu with a wrong CRC",
           (unsigned long long)a->bundles, (unsigned long long)perf_session_lost(s),
           (unsigned long long)a->duplicates, (unsigned long long)a->wrong_crc);
    if (s->ended)
        printf("; the server sent %llu\n", (unsigned long long)s->expected);
    else
        printf("; the server did not say how many it sent\n");
    printf("bytes       %llu in %.3f s\n", (unsigned long long)a->bytes,
           seconds(a->last - a->first));
    if (a->bundles == 1)
        printf("goodput     - (one bundle has no rate)\n");
    else
        printf("goodput     %.3f Mbit/s (arrivals)\n", perf_session_goodput(s) / 1e6);
    if (a->bundles > 0)
        print_one_way(r, s);
}

static json_t *lines_json(const struct perf_reverse *r)
{
    json_t *list = json_array();
    for (size_t k = 0; k < r->lines_len; k++) {
        const struct perf_arrivals *a = &r->lines[k];
        json_array_append_new(list,
                              json_pack("{s:f,s:f,s:I,s:I,s:f}", "start_s", seconds(a->from),
                                        "end_s", seconds(a->to), "bundles", (json_int_t)a->bundles,
                                        "bytes", (json_int_t)a->bytes, "bps", rate_of(a)));
    }
    return list;
}

static void set_arrivals(json_t *j, const struct perf_reverse *r, const struct perf_session *s)
{
    json_t *one_way = perf_report_delay(&s->delay);
    if (json_is_object(one_way)) {
        json_object_set_new(one_way, "early", json_integer((json_int_t)s->early));
        json_object_set_new(one_way, "clocks_agree", json_boolean(clocks_agree(r, s)));
        if (r->have_clocks)
            json_object_set_new(
                one_way, "clock_ahead_ms",
                json_pack("[f,f]", (double)r->clock_low / 1e6, (double)r->clock_high / 1e6));
    }
    json_object_set_new(j, "bundles_sent",
                        s->ended ? json_integer((json_int_t)s->expected) : json_null());
    json_object_set_new(j, "execution_s", json_real(seconds(s->report.last - s->report.first)));
    json_object_set_new(j, "one_way_ms", one_way);
    json_object_set_new(j, "sender", json_string(s->peer));
}

json_t *perf_reverse_json(const struct perf_reverse *r)
{
    const struct perf_options *o = r->options;
    const struct perf_session *s = perf_server_session(&r->server);
    static const struct perf_report nothing;
    const struct perf_report *a = s != NULL ? &s->report : &nothing;
    json_t *j = perf_report_counts(
        (const struct perf_count[]){{"payload_bytes", o->payload},
                                    {"window", o->window},
                                    {"bundles", a->bundles},
                                    {"bytes", a->bytes},
                                    {"lost", s != NULL ? perf_session_lost(s) : 0},
                                    {"duplicates", a->duplicates},
                                    {"wrong_crc", a->wrong_crc},
                                    {"reordered", s != NULL ? s->reordered : 0},
                                    {"acks_refused", r->server.acks_refused},
                                    {"reconnects", r->server.link.reconnects},
                                    {NULL, 0}});
    json_object_set_new(j, "role", json_string("client"));
    json_object_set_new(j, "reverse", json_true());
    json_object_set_new(j, "destination", json_string(o->destination));
    json_object_set_new(j, "source", json_string(r->server.link.endpoint));
    double bps = s != NULL ? perf_session_goodput(s) : 0;
    json_object_set_new(j, "goodput_bps", a->bundles == 1 ? json_null() : json_real(bps));
    json_object_set_new(j, "goodput_basis", json_string("arrivals"));
    json_object_set_new(j, "interrupted", json_boolean(r->interrupted));
    json_object_set_new(j, "failed", json_boolean(r->failed));
    if (s != NULL)
        set_arrivals(j, r, s);
    if (o->interval > 0)
        json_object_set_new(j, "intervals", lines_json(r));
    return j;
}

/* ---- several ---- */

struct totals {
    uint64_t bundles, bytes, lost;
    double bps;
};

static struct totals sum_arrivals(const struct perf_reverse *all, size_t len)
{
    struct totals t = {0};
    for (size_t i = 0; i < len; i++) {
        const struct perf_session *s = perf_server_session(&all[i].server);
        t.bundles += s != NULL ? s->report.bundles : 0;
        t.bytes += s != NULL ? s->report.bytes : 0;
        t.lost += s != NULL ? perf_session_lost(s) : 0;
        t.bps += s != NULL ? perf_session_goodput(s) : 0;
    }
    return t;
}

static void print_total(const char *name, const struct totals *t)
{
    printf("[%3s] %10llu arrived %8llu missing %12.3f Mbit/s\n", name,
           (unsigned long long)t->bundles, (unsigned long long)t->lost, t->bps / 1e6);
}

static void print_all(const struct perf_reverse *all, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const struct totals one = sum_arrivals(&all[i], 1);
        char name[24];
        snprintf(name, sizeof name, "%zu", i + 1);
        print_total(name, &one);
    }
    const struct totals sum = sum_arrivals(all, len);
    print_total("sum", &sum);
}

static json_t *all_json(const struct perf_reverse *all, size_t len)
{
    const struct totals t = sum_arrivals(all, len);
    json_t *list = json_array();
    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, perf_reverse_json(&all[i]));
    json_t *j = perf_report_counts((const struct perf_count[]){{"parallel", len},
                                                               {"bundles", t.bundles},
                                                               {"bytes", t.bytes},
                                                               {"lost", t.lost},
                                                               {NULL, 0}});
    json_object_set_new(j, "role", json_string("clients"));
    json_object_set_new(j, "reverse", json_true());
    json_object_set_new(j, "goodput_bps", json_real(t.bps));
    json_object_set_new(j, "clients", list);
    return j;
}

bool perf_reverse_result(const struct perf_reverse *all, size_t len)
{
    const struct perf_options *o = all[0].options;
    assert(len > 0);
    if (!json_to_stdout(o) && len == 1)
        print_text(all);
    else if (!json_to_stdout(o))
        print_all(all, len);
    return o->json == NULL ||
           perf_report_write("helio-perf", len == 1 ? perf_reverse_json(all) : all_json(all, len),
                             o->json);
}
