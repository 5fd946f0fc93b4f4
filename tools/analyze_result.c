/* SPDX-License-Identifier: Apache-2.0 */
/* The flow with the most completed bytes comes first: in the demo that is the data, and the
 * acknowledgements follow. Its figures are also the JSON's own. */
#include "tools/analyze_result.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char analyze_sessions_header[] =
    "originator,session,peer,colour,client_service,block_bytes,outcome,cancel_reason,"
    "t_first_tx_ns,t_close_ns,duration_ms,delivery_ms,segments_sent,segments_received,"
    "bytes_sent,data_sent,data_resent,reports,retx_cycles,cp_sent,cp_lost,cp_lost_basis,"
    "rto_checkpoint,rto_report,lossy\n";

static const char *outcome_word(int outcome)
{
    static const char *const words[] = {"done", "cancelled_local", "cancelled_remote", "lost"};
    return outcome >= 0 && outcome < 4 ? words[outcome] : "unfinished";
}

static const char *colour_word(char colour)
{
    return colour == 'r' ? "red" : colour == 'g' ? "green" : colour == 'o' ? "orange" : "mixed";
}

static void put(FILE *f, uint64_t v)
{
    if (v == EVENT_NONE)
        fputc(',', f);
    else
        fprintf(f, "%" PRIu64 ",", v);
}

static void put_ms(FILE *f, tick t)
{
    if (t == TICK_NEVER)
        fputc(',', f);
    else
        fprintf(f, "%" PRIu64 ".%06" PRIu64 ",", t / TICK_MS, t % TICK_MS);
}

bool analyze_result_session(FILE *f, const struct analyze_session *s)
{
    bool both = s->delivered != TICK_NEVER && s->first_tx != TICK_NEVER;
    put(f, s->originator);
    put(f, s->number);
    put(f, s->peer);
    const char *unreliable = s->orange ? "orange" : s->green ? "green" : "";
    fprintf(f, "%s,", s->red ? (s->green ? "mixed" : "red") : unreliable);
    put(f, s->client_service);
    put(f, s->block_bytes);
    fprintf(f, "%s,", outcome_word(s->outcome));
    put(f, s->cancel_reason);
    put(f, s->first_tx);
    put(f, s->sender_closed ? s->closed : s->receiver_end);
    put_ms(f, analyze_duration(s));
    put_ms(f, both && s->delivered >= s->first_tx ? s->delivered - s->first_tx : TICK_NEVER);
    put(f, s->sender_log ? s->segments_sent : EVENT_NONE);
    put(f, s->receiver_log ? s->segments_received : EVENT_NONE);
    const uint64_t rest[] = {s->bytes_sent, s->data_sent, s->data_resent,    s->reports_received,
                             s->cycles,     s->cp_sent,   analyze_cp_lost(s)};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        put(f, s->sender_log ? rest[i] : EVENT_NONE);
    fprintf(f, "%s,", !s->sender_log ? "" : analyze_losses_known(s) ? "receiver_log" : "rto");
    put(f, s->sender_log ? s->rto_checkpoint : EVENT_NONE);
    put(f, s->receiver_log ? s->rto_report : EVENT_NONE);
    return fprintf(f, "%s\n", !s->sender_log ? "" : analyze_lossy(s) ? "1" : "0") > 0;
}

/* NULL: nothing is known of losses. */
static const char *basis(const struct analyze_flow *f)
{
    if (f->sessions == 0 || f->with_sender == 0)
        return NULL;
    if (f->losses_known == f->sessions)
        return "receiver_log";
    return f->losses_known == 0 ? "rto" : "mixed";
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

static double ms(double ns)
{
    return ns / (double)TICK_MS;
}

/* The flows, most bytes first. */
static size_t sorted(const struct analyze *a, const struct analyze_flow *out[ANALYZE_FLOWS_MAX])
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
    else
        fprintf(f, "%.*f%s", digits, v, after);
}

static void text_count(FILE *f, uint64_t v, const char *after)
{
    if (v == EVENT_NONE)
        fprintf(f, "–%s", after);
    else
        fprintf(f, "%" PRIu64 "%s", v, after);
}

static void text_times(FILE *f, const char *what, const struct hist *h)
{
    text_name(f, what);
    if (h->count == 0)
        fprintf(f, "–\n");
    else
        fprintf(f, "mean %.3f  sd %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n", ms(h->mean),
                ms(hist_sd(h)), ms((double)hist_quantile(h, 0.5)),
                ms((double)hist_quantile(h, 0.9)), ms((double)hist_quantile(h, 0.99)),
                ms((double)h->max));
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
    const char *how = basis(w);
    const char *note =
        how != NULL && strcmp(how, "rto") == 0 ? " (inferred: no log of the receiver)\n" : "\n";
    text_name(f, "retransmission cycles");
    text_real(f, 4, per_session(w, w->cycles), " a session (");
    text_count(f, of_sender(w, w->cycles), ")\n");
    text_name(f, "checkpoints sent");
    text_count(f, of_sender(w, w->cp_sent), ", lost ");
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

static void text_flow(FILE *f, const struct analyze *a, const struct analyze_flow *w)
{
    fprintf(f, "%" PRIu64 " -> %" PRIu64 ", %s\n", w->originator, w->peer, colour_word(w->colour));
    fprintf(f, "  %-26s %" PRIu64 " completed, ", "sessions", w->sessions);
    if (w->colour == 'o')
        fprintf(f, "%" PRIu64 " lost, ", w->lost);
    fprintf(f, "%" PRIu64 " cancelled, %" PRIu64 " unfinished\n", w->cancelled, w->unfinished);
    text_times(f, "session duration", &w->duration);
    text_times(f, "delivery", &w->delivery);
    text_goodput(f, a, w);
    if (w->colour == 'r' || w->colour == 'm')
        text_losses(f, w);
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
    size_t n = sorted(a, flows);
    for (size_t i = 0; i < n; i++)
        text_flow(f, a, flows[i]);
    if (n == 0)
        fprintf(f, "no sessions\n");
    fprintf(f, "%" PRIu64 " rows of %" PRIu64 " files", a->rows, t->files);
    if (t->malformed > 0)
        fprintf(f, ", %" PRIu64 " malformed", t->malformed);
    if (a->strange > 0)
        fprintf(f,
                "; %" PRIu64
                " rows not used: their sessions were over already, or began before the "
                "log does",
                a->strange);
    if (a->gaps_len > 0)
        fprintf(f,
                "\n%zu gaps of more than 10 s without any row, %.1f s in all: several runs in one "
                "log?",
                a->gaps_len, (double)gaps_sum(a) / (double)TICK_S);
    fprintf(f, "\n");
}

static json_t *times_json(const struct hist *h)
{
    if (h->count == 0)
        return json_null();
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f}", "mean", ms(h->mean), "sd", ms(hist_sd(h)), "p50",
                     ms((double)hist_quantile(h, 0.5)), "p90", ms((double)hist_quantile(h, 0.9)),
                     "p99", ms((double)hist_quantile(h, 0.99)), "max", ms((double)h->max));
}

static void count(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, json_integer((json_int_t)v));
}

static void maybe(json_t *j, const char *name, uint64_t v)
{
    json_object_set_new(j, name, v == EVENT_NONE ? json_null() : json_integer((json_int_t)v));
}

static void real(json_t *j, const char *name, double v)
{
    json_object_set_new(j, name, isnan(v) ? json_null() : json_real(v));
}

static json_t *flow_json(const struct analyze *a, const struct analyze_flow *f)
{
    json_t *j = json_object();
    const char *how = basis(f);
    count(j, "originator", f->originator);
    count(j, "peer", f->peer);
    json_object_set_new(j, "colour", json_string(colour_word(f->colour)));
    count(j, "sessions", f->sessions);
    count(j, "cancelled", f->cancelled);
    count(j, "lost", f->lost);
    count(j, "unfinished", f->unfinished);
    json_object_set_new(j, "session_ms", times_json(&f->duration));
    json_object_set_new(j, "delivery_ms", times_json(&f->delivery));
    real(j, "goodput_bps", analyze_goodput(f, 0));
    real(j, "goodput_without_gaps_bps", analyze_goodput(f, analyze_gap_time(a, f)));
    count(j, "bytes", f->done_bytes);
    maybe(j, "retx_cycles", of_sender(f, f->cycles));
    real(j, "retx_cycles_mean", per_session(f, f->cycles));
    maybe(j, "checkpoints_sent", of_sender(f, f->cp_sent));
    maybe(j, "checkpoints_lost", how != NULL ? f->cp_lost : EVENT_NONE);
    real(j, "checkpoints_lost_mean", per_session(f, f->cp_lost));
    json_object_set_new(j, "cp_lost_basis", how != NULL ? json_string(how) : json_null());
    maybe(j, "rto_firings", of_sender(f, f->rto_checkpoint));
    maybe(j, "rto_report_firings", of_receiver(f, f->rto_report));
    real(j, "lossy_share", per_session(f, f->lossy));
    maybe(j, "segments_sent", of_sender(f, f->segments_sent));
    maybe(j, "data_bytes_sent", of_sender(f, f->data_sent));
    maybe(j, "data_bytes_resent", of_sender(f, f->data_resent));
    return j;
}

bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t)
{
    const struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t n = sorted(a, flows);
    json_t *j = n > 0 ? flow_json(a, flows[0]) : json_object();
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, flow_json(a, flows[i]));
    json_object_set_new(j, "flows", list);
    count(j, "files", t->files);
    count(j, "rows", a->rows);
    count(j, "malformed_rows", t->malformed);
    count(j, "rows_without_open", a->strange);
    count(j, "open_sessions_max", a->open_max);
    count(j, "gaps", a->gaps_len);
    json_object_set_new(j, "gaps_s", json_real((double)gaps_sum(a) / (double)TICK_S));
    bool ok = json_dumpf(j, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0 && fputc('\n', f) != EOF;
    json_decref(j);
    return fflush(f) == 0 && ok;
}
