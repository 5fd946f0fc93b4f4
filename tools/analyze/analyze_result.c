/* SPDX-License-Identifier: Apache-2.0 */
/* The flow with the most completed bytes comes first: in the demo that is the data, and the
 * acknowledgements follow. Its figures are also the JSON's own. */
#include "tools/analyze/analyze_result.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf/json_number.h"
#include "tools/analyze/analyze_table.h"

/* NULL: nothing is known of losses. */
static const char *basis_word(const struct analyze_flow *f)
{
    for (int i = BASIS_RTO; i <= BASIS_DROPS; i++)
        if (f->sessions > 0 && f->bases[i] == f->sessions)
            return analyze_basis_word((enum analyze_basis)i);
    return f->bases[BASIS_NONE] == f->sessions ? NULL : "mixed";
}

/* NAN: not known. */
static double per_session(const struct analyze_flow *f, uint64_t v)
{
    return f->sessions > 0 && f->with_sender > 0 ? (double)v / (double)f->sessions : NAN;
}

static uint64_t of_sender(const struct analyze_flow *f, uint64_t v)
{
    return f->with_sender > 0 ? v : EVENT_NONE;
}

static uint64_t of_receiver(const struct analyze_flow *f, uint64_t v)
{
    return f->with_receiver > 0 ? v : EVENT_NONE;
}

static double ns_to_ms(double ns)
{
    return ns / (double)TICK_MS;
}

/* The flows, most bytes first. */
static size_t sort_flows(const struct analyze *a, const struct analyze_flow *out[ANALYZE_FLOWS_MAX])
{
    for (size_t i = 0; i < a->flows_len; i++) {
        size_t at = i;
        for (; at > 0 && out[at - 1]->done_bytes < a->flows[i]->done_bytes; at--)
            out[at] = out[at - 1];
        out[at] = a->flows[i];
    }
    return a->flows_len;
}

static void text_name(FILE *f, const char *what)
{
    fprintf(f, "  %-26s ", what);
}

/* A number, or a dash for what is not known; then what follows it. */
static void text_real(FILE *f, int digits, double v, const char *after)
{
    if (isnan(v))
        fprintf(f, "–%s", after);
    else /* no "-0.000" */
        fprintf(f, "%.*f%s", digits, fabs(v) * pow(10, digits) < 0.5 ? 0 : v, after);
}

static void text_count(FILE *f, uint64_t v, const char *after)
{
    if (v == EVENT_NONE)
        fprintf(f, "–%s", after);
    else
        fprintf(f, "%" PRIu64 "%s", v, after);
}

void analyze_times_text(FILE *f, const char *what, const struct hist *h)
{
    text_name(f, what);
    if (h->count == 0)
        fprintf(f, "–\n");
    else
        fprintf(f, "mean %.3f  sd %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n",
                ns_to_ms(h->mean), ns_to_ms(hist_sd(h)), ns_to_ms((double)hist_quantile(h, 0.5)),
                ns_to_ms((double)hist_quantile(h, 0.9)), ns_to_ms((double)hist_quantile(h, 0.99)),
                ns_to_ms((double)h->max));
}

/* Of sessions of one segment, which no report answers, all times are 0: that says nothing. */
static void text_times(FILE *f, const char *what, const struct hist *h)
{
    if (h->count == 0 || h->max > 0)
        analyze_times_text(f, what, h);
}

static void text_goodput(FILE *f, const struct analyze *a, const struct analyze_flow *w)
{
    tick gaps = analyze_gap_time(a, w);
    text_name(f, "goodput");
    text_real(f, 3, analyze_goodput(w, 0) / 1e6, " Mbit/s");
    if (gaps > 0) {
        fprintf(f, ", or ");
        text_real(f, 3, analyze_goodput(w, gaps) / 1e6, " Mbit/s without gaps of ");
        fprintf(f, "%.1f s in the log", (double)gaps / (double)TICK_S);
    }
    fputc('\n', f);
}

static void text_losses(FILE *f, const struct analyze_flow *w)
{
    const char *how = basis_word(w);
    const char *note =
        how != NULL && strcmp(how, "rto") == 0 ? " (inferred: no log of the receiver)\n" : "\n";
    text_name(f, "retransmission cycles");
    text_real(f, 4, per_session(w, w->cycles), " a session (");
    text_count(f, of_sender(w, w->cycles), ")\n");
    text_name(f, "checkpoints sent");
    text_count(f, of_sender(w, w->cp_sent_done), " of completed sessions, lost ");
    text_real(f, 4, per_session(w, w->cp_lost), " a session (");
    text_count(f, how != NULL ? w->cp_lost : EVENT_NONE, ")");
    fputs(note, f);
    text_name(f, "RTO firings");
    text_count(f, of_sender(w, w->rto_checkpoint), " checkpoint, ");
    text_count(f, of_receiver(w, w->rto_report), " report\n");
    text_name(f, "sessions with losses");
    text_real(f, 2, 100 * per_session(w, w->lossy), " %");
    fputs(note, f);
    text_name(f, "data sent again");
    text_real(f, 2, w->data_sent > 0 ? 100 * (double)w->data_resent / (double)w->data_sent : NAN,
              " % of ");
    text_count(f, of_sender(w, w->data_sent), " bytes\n");
}

static void text_ms(FILE *f, const char *what, double v, const char *from)
{
    text_name(f, what);
    text_real(f, 3, v, " ms");
    fprintf(f, from != NULL ? " (%s)\n" : "\n", from);
}

/* Where the ideal session comes from, in words. */
static const char *ideal_words(const struct analyze_flow *w, const char *from, char *out, size_t n)
{
    if (from != NULL && strcmp(from, "loss_free") == 0)
        snprintf(out, n, "median of %" PRIu64 " sessions without losses", w->clean.count);
    else if (from != NULL && strcmp(from, "radiation_response") == 0)
        snprintf(out, n, "no session without losses: median radiation + median time to a report");
    else
        return from;
    return out;
}

/* The model's expected values, and the mean as their sum. */
static void text_split(FILE *f, const struct analyze_flow *w, const struct analyze_model *m)
{
    struct analyze_split p = analyze_split_flow(w, m);
    if (isnan(p.mean) || w->with_sender == 0)
        return;
    char words[96];
    text_ms(f, "ideal session", p.ideal, ideal_words(w, p.ideal_from, words, sizeof words));
    text_ms(f, "expected cycle", p.cycle, p.cycle_from);
    text_ms(f, "expected RTO", p.rto, p.rto_from);
    text_name(f, "mean session");
    text_real(f, 3, p.mean, " ms = ");
    text_real(f, 3, p.ideal, " ideal + ");
    text_real(f, 3, p.retx, " retransmission cycles + ");
    text_real(f, 3, p.checkpoint, " lost checkpoints + ");
    text_real(f, 3, p.delta_ideal, " sessions without losses above the ideal + ");
    text_real(f, 3, p.delta_penalties, " not explained\n");
}

static void text_efficiency(FILE *f, const struct analyze *a, const struct analyze_flow *w,
                            const struct analyze_model *m)
{
    double capacity = analyze_capacity(w, m);
    if (isnan(capacity))
        return;
    text_name(f, "efficiency");
    text_real(f, 2, 100 * analyze_goodput(w, analyze_gap_time(a, w)) / capacity, " % of ");
    text_real(f, 3, capacity / 1e6, " Mbit/s of payload\n");
}

static void text_flow(FILE *f, const struct analyze *a, const struct analyze_flow *w,
                      const struct analyze_model *m)
{
    fprintf(f, "%" PRIu64 " -> ", w->originator);
    if (analyze_engine_known(w->peer))
        fprintf(f, "%" PRIu64, w->peer);
    else
        fprintf(f, "?");
    fprintf(f, ", %s\n", analyze_colour_word(w->colour));
    fprintf(f, "  %-26s %" PRIu64 " completed, ", "sessions", w->sessions);
    if (w->colour == 'o')
        fprintf(f, "%" PRIu64 " lost, ", w->lost);
    fprintf(f, "%" PRIu64 " cancelled, %" PRIu64 " unfinished\n", w->cancelled, w->unfinished);
    text_times(f, "session duration", &w->duration);
    text_times(f, "delivery", &w->delivery);
    text_goodput(f, a, w);
    if (w->colour == 'r' || w->colour == 'm') {
        text_losses(f, w);
        text_split(f, w, m);
    }
    if (w->with_receiver > 0) {
        text_name(f, "arrived");
        fprintf(f, "%" PRIu64 " segments, %" PRIu64 " duplicates, %" PRIu64 " out of order\n",
                w->segments_received, w->duplicates, w->out_of_order);
    }
}

static tick gaps_sum(const struct analyze *a)
{
    tick sum = 0;
    for (size_t i = 0; i < a->gaps_len; i++)
        sum += a->gaps[i].to - a->gaps[i].from;
    return sum;
}

void analyze_result_text(FILE *f, const struct analyze *a, const struct analyze_totals *t)
{
    const struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t n = sort_flows(a, flows);
    for (size_t i = 0; i < n; i++)
        text_flow(f, a, flows[i], &t->model);
    if (n > 0)
        text_efficiency(f, a, flows[0], &t->model);
    analyze_code_text(f, a);
    if (t->lives != NULL)
        lives_text(f, t->lives);
    bool lives_only = t->lives != NULL && a->rows == 0;
    if (n == 0 && !lives_only)
        fprintf(f, "no sessions\n");
    if (lives_only)
        fprintf(f, "%" PRIu64 " files", t->files);
    else
        fprintf(f, "%" PRIu64 " rows of %" PRIu64 " files", a->rows, t->files);
    if (t->malformed > 0)
        fprintf(f, ", %" PRIu64 " malformed", t->malformed);
    if (a->strange > 0)
        fprintf(f,
                "; %" PRIu64 " rows not used: their sessions had ended, or began before the "
                "log",
                a->strange);
    if (a->drop_rows > 0)
        fprintf(f, "; %" PRIu64 " rows of drop logs, %" PRIu64 " of no known session", a->drop_rows,
                a->drop_strange);
    if (a->reopened > 0)
        fprintf(f, "; %" PRIu64 " session numbers were used again before their sessions had ended",
                a->reopened);
    if (t->captures)
        capture_text(f, t);
    if (a->gaps_len > 0)
        fprintf(f,
                "\n%zu gaps of more than 10 s without any row, %.1f s in all: several runs in one "
                "log?",
                a->gaps_len, (double)gaps_sum(a) / (double)TICK_S);
    fprintf(f, "\n");
    clocks_text(f, t);
}

json_t *analyze_times_json(const struct hist *h)
{
    if (h->count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "mean", ns_to_ms(h->mean), "sd",
                     ns_to_ms(hist_sd(h)), "p50", ns_to_ms((double)hist_quantile(h, 0.5)), "p90",
                     ns_to_ms((double)hist_quantile(h, 0.9)), "p99",
                     ns_to_ms((double)hist_quantile(h, 0.99)), "max", ns_to_ms((double)h->max),
                     "percentiles_within", hist_is_exact(h) ? 0.0 : HIST_ERROR);
}

static void set_count(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, json_number(v));
}

static void set_if_known(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, v == EVENT_NONE ? json_null() : json_number(v));
}

static void set_real(json_t *j, const char *name, double v)
{
    json_object_set_new(j, name, isnan(v) ? json_null() : json_real(v));
}

static json_t *word_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *split_json(const struct analyze_flow *f, const struct analyze_model *m)
{
    struct analyze_split p = analyze_split_flow(f, m);
    json_t *j = json_object();
    if (isnan(p.mean) || f->with_sender == 0) {
        json_decref(j);
        return json_null();
    }
    set_real(j, "mean_ms", p.mean);
    set_real(j, "ideal_ms", p.ideal);
    json_object_set_new(j, "ideal_from", word_or_null(p.ideal_from));
    set_real(j, "cycle_ms", p.cycle);
    json_object_set_new(j, "cycle_from", word_or_null(p.cycle_from));
    set_real(j, "rto_ms", p.rto);
    json_object_set_new(j, "rto_from", word_or_null(p.rto_from));
    set_real(j, "retx_penalty_ms", p.retx);
    set_real(j, "cp_penalty_ms", p.checkpoint);
    set_real(j, "delta_penalties_ms", p.delta_penalties);
    set_real(j, "delta_ideal_ms", p.delta_ideal);
    return j;
}

/* Of segments and bytes, by the end that counts them. */
static void counts_json(json_t *j, const struct analyze *a, const struct analyze_flow *f)
{
    set_if_known(j, "segments_sent", of_sender(f, f->segments_sent));
    set_if_known(j, "segments_resent", of_sender(f, f->segments_resent));
    set_if_known(j, "segments_received", of_receiver(f, f->segments_received));
    set_if_known(j, "duplicates", of_receiver(f, f->duplicates));
    set_if_known(j, "out_of_order", of_receiver(f, f->out_of_order));
    set_if_known(j, "data_bytes_sent", of_sender(f, f->data_sent));
    set_if_known(j, "data_bytes_resent", of_sender(f, f->data_resent));
    set_if_known(j, "segments_dropped", a->drops ? f->dropped : EVENT_NONE);
}

static json_t *flow_json(const struct analyze *a, const struct analyze_flow *f,
                         const struct analyze_model *m)
{
    json_t *j = json_object();
    const char *how = basis_word(f);
    set_count(j, "originator", f->originator);
    set_if_known(j, "peer", analyze_engine_known(f->peer) ? f->peer : EVENT_NONE);
    json_object_set_new(j, "colour", json_string(analyze_colour_word(f->colour)));
    set_count(j, "sessions", f->sessions);
    set_count(j, "cancelled", f->cancelled);
    set_count(j, "lost", f->lost);
    set_count(j, "unfinished", f->unfinished);
    json_object_set_new(j, "session_ms", analyze_times_json(&f->duration));
    json_object_set_new(j, "delivery_ms", analyze_times_json(&f->delivery));
    set_real(j, "goodput_bps", analyze_goodput(f, 0));
    set_real(j, "goodput_without_gaps_bps", analyze_goodput(f, analyze_gap_time(a, f)));
    set_count(j, "bytes", f->done_bytes);
    set_if_known(j, "retx_cycles", of_sender(f, f->cycles));
    set_real(j, "retx_cycles_mean", per_session(f, f->cycles));
    set_if_known(j, "checkpoints_sent", of_sender(f, f->cp_sent));
    set_if_known(j, "checkpoints_sent_completed", of_sender(f, f->cp_sent_done));
    set_if_known(j, "checkpoints_lost", how != NULL ? f->cp_lost : EVENT_NONE);
    set_real(j, "checkpoints_lost_mean", per_session(f, f->cp_lost));
    json_object_set_new(j, "cp_lost_basis", how != NULL ? json_string(how) : json_null());
    set_if_known(j, "rto_firings", of_sender(f, f->rto_checkpoint));
    set_if_known(j, "rto_report_firings", of_receiver(f, f->rto_report));
    set_real(j, "lossy_share", per_session(f, f->lossy));
    set_if_known(j, "cp_waits", how != NULL ? f->cp_waits : EVENT_NONE);
    set_if_known(j, "cp_lost_run_max", how != NULL ? f->cp_run : EVENT_NONE);
    set_if_known(j, "cp_lost_elsewhere", a->drops ? f->cp_elsewhere : EVENT_NONE);
    set_real(j, "rto_ms_sum", f->with_sender > 0 ? ns_to_ms((double)f->rto_time) : NAN);
    counts_json(j, a, f);
    json_object_set_new(j, "radiation_ms", analyze_times_json(&f->radiation));
    json_object_set_new(j, "decomposition", split_json(f, m));
    return j;
}

static void efficiency_json(json_t *j, const struct analyze *a, const struct analyze_flow *f,
                            const struct analyze_model *m)
{
    double capacity = analyze_capacity(f, m);
    double goodput = analyze_goodput(f, analyze_gap_time(a, f));
    set_real(j, "capacity_bps", capacity);
    set_real(j, "efficiency", goodput / capacity);
    set_real(j, "efficiency_paper", goodput / (m->rate_bps * m->good_share));
}

bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t)
{
    const struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t n = sort_flows(a, flows);
    json_t *j = n > 0 ? flow_json(a, flows[0], &t->model) : json_object();
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, flow_json(a, flows[i], &t->model));
    if (n > 0)
        efficiency_json(j, a, flows[0], &t->model);
    json_object_set_new(j, "flows", list);
    json_object_set_new(j, "erasure", analyze_code_json(a));
    set_count(j, "files", t->files);
    set_count(j, "rows", a->rows);
    set_count(j, "malformed_rows", t->malformed);
    set_count(j, "rows_without_open", a->strange);
    set_count(j, "bad_datagrams", a->bad);
    set_count(j, "drop_rows", a->drop_rows);
    set_count(j, "drop_rows_without_session", a->drop_strange);
    set_count(j, "numbers_used_again", a->reopened);
    set_count(j, "open_sessions_max", a->open_max);
    json_object_set_new(j, "capture", t->captures ? capture_json(t) : json_null());
    json_t *bundles = t->lives != NULL ? lives_json(t->lives) : json_null();
    bool made = bundles != NULL;
    json_object_set_new(j, "bundles", bundles);
    json_object_set_new(j, "clocks", clocks_json(t));
    json_object_set_new(j, "clocks_corrected", clocks_fixes_json(t));
    set_count(j, "runs", t->back.runs);
    json_object_set_new(j, "twin_logs", json_boolean(t->twins.one != NULL));
    set_count(j, "gaps", a->gaps_len);
    json_object_set_new(j, "gaps_s", json_real((double)gaps_sum(a) / (double)TICK_S));
    bool ok = json_dumpf(j, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0 && fputc('\n', f) != EOF;
    json_decref(j);
    return fflush(f) == 0 && ok && made;
}
