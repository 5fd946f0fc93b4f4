/* SPDX-License-Identifier: Apache-2.0 */
/* The flow with the most completed bytes comes first: in the demo that is the data, and the
 * acknowledgements follow. Its figures are also the JSON's own. */
#include "tools/analyze_result.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

const char analyze_sessions_header[] =
    "originator,session,peer,colour,client_service,block_bytes,outcome,cancel_reason,"
    "t_first_tx_ns,t_close_ns,duration_ms,delivery_ms,segments_sent,segments_received,"
    "bytes_sent,data_sent,data_resent,reports,retx_cycles,cp_sent,cp_lost,cp_lost_basis,"
    "rto_checkpoint,rto_report,lossy\n";

static const char *outcome_word(int outcome)
{
    static const char *const words[] = {"done", "cancelled_local", "cancelled_remote"};
    return outcome >= 0 && outcome < 3 ? words[outcome] : "unfinished";
}

static const char *colour_word(char colour)
{
    return colour == 'r' ? "red" : colour == 'g' ? "green" : "mixed";
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
    fprintf(f, "%s,", s->red ? (s->green ? "mixed" : "red") : s->green ? "green" : "");
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
        put(f, rest[i]);
    fprintf(f, "%s,", analyze_losses_known(s) ? "receiver_log" : "rto");
    put(f, s->rto_checkpoint);
    put(f, s->rto_report);
    return fprintf(f, "%d\n", analyze_lossy(s) ? 1 : 0) > 0;
}

static const char *basis(const struct analyze_flow *f)
{
    if (f->losses_known == f->sessions)
        return "receiver_log";
    return f->losses_known == 0 ? "rto" : "mixed";
}

static double per_session(const struct analyze_flow *f, uint64_t v)
{
    return f->sessions > 0 ? (double)v / (double)f->sessions : 0;
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

static void text_times(FILE *f, const char *what, const struct hist *h)
{
    if (h->count == 0)
        return;
    fprintf(f, "  %-26s mean %.3f  sd %.3f  p50 %.3f  p90 %.3f  p99 %.3f  max %.3f ms\n", what,
            ms(h->mean), ms(hist_sd(h)), ms((double)hist_quantile(h, 0.5)),
            ms((double)hist_quantile(h, 0.9)), ms((double)hist_quantile(h, 0.99)),
            ms((double)h->max));
}

static void text_flow(FILE *f, const struct analyze_flow *w)
{
    const char *how = basis(w);
    const char *note = *how == 'r' && how[1] == 't' ? " (inferred: no log of the receiver)" : "";
    fprintf(f, "%" PRIu64 " -> %" PRIu64 ", %s\n", w->originator, w->peer, colour_word(w->colour));
    fprintf(f, "  %-26s %" PRIu64 " completed, %" PRIu64 " cancelled, %" PRIu64 " unfinished\n",
            "sessions", w->sessions, w->cancelled, w->unfinished);
    text_times(f, "session duration", &w->duration);
    text_times(f, "delivery", &w->delivery);
    fprintf(f, "  %-26s %.3f Mbit/s\n", "goodput", analyze_goodput(w) / 1e6);
    if (w->colour == 'g')
        return;
    fprintf(f, "  %-26s %.4f a session (%" PRIu64 ")\n", "retransmission cycles",
            per_session(w, w->cycles), w->cycles);
    fprintf(f, "  %-26s %" PRIu64 ", lost %.4f a session (%" PRIu64 ")%s\n", "checkpoints sent",
            w->cp_sent, per_session(w, w->cp_lost), w->cp_lost, note);
    fprintf(f, "  %-26s %" PRIu64 " checkpoint, %" PRIu64 " report\n", "RTO firings",
            w->rto_checkpoint, w->rto_report);
    fprintf(f, "  %-26s %.2f %%%s\n", "sessions with losses", 100 * per_session(w, w->lossy), note);
    fprintf(f, "  %-26s %.2f %% of %" PRIu64 " bytes\n", "data sent again",
            w->data_sent > 0 ? 100 * (double)w->data_resent / (double)w->data_sent : 0,
            w->data_sent);
}

void analyze_result_text(FILE *f, const struct analyze *a, const struct analyze_totals *t)
{
    const struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t n = sorted(a, flows);
    for (size_t i = 0; i < n; i++)
        text_flow(f, flows[i]);
    if (n == 0)
        fprintf(f, "no sessions\n");
    fprintf(f, "%" PRIu64 " rows of %" PRIu64 " files", a->rows, t->files);
    if (t->malformed > 0)
        fprintf(f, ", %" PRIu64 " malformed", t->malformed);
    if (a->strange > 0)
        fprintf(f, ", %" PRIu64 " of sessions that were open before, or over", a->strange);
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

static json_t *flow_json(const struct analyze_flow *f)
{
    json_t *j = json_object();
    count(j, "originator", f->originator);
    count(j, "peer", f->peer);
    json_object_set_new(j, "colour", json_string(colour_word(f->colour)));
    count(j, "sessions", f->sessions);
    count(j, "cancelled", f->cancelled);
    count(j, "unfinished", f->unfinished);
    json_object_set_new(j, "session_ms", times_json(&f->duration));
    json_object_set_new(j, "delivery_ms", times_json(&f->delivery));
    json_object_set_new(j, "goodput_bps", json_real(analyze_goodput(f)));
    count(j, "bytes", f->done_bytes);
    count(j, "retx_cycles", f->cycles);
    json_object_set_new(j, "retx_cycles_mean", json_real(per_session(f, f->cycles)));
    count(j, "checkpoints_sent", f->cp_sent);
    count(j, "checkpoints_lost", f->cp_lost);
    json_object_set_new(j, "checkpoints_lost_mean", json_real(per_session(f, f->cp_lost)));
    json_object_set_new(j, "cp_lost_basis", json_string(basis(f)));
    count(j, "rto_firings", f->rto_checkpoint);
    count(j, "rto_report_firings", f->rto_report);
    json_object_set_new(j, "lossy_share", json_real(per_session(f, f->lossy)));
    count(j, "segments_sent", f->segments_sent);
    count(j, "data_bytes_sent", f->data_sent);
    count(j, "data_bytes_resent", f->data_resent);
    return j;
}

bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t)
{
    const struct analyze_flow *flows[ANALYZE_FLOWS_MAX];
    size_t n = sorted(a, flows);
    json_t *j = n > 0 ? flow_json(flows[0]) : json_object();
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, flow_json(flows[i]));
    json_object_set_new(j, "flows", list);
    count(j, "files", t->files);
    count(j, "rows", a->rows);
    count(j, "malformed_rows", t->malformed);
    count(j, "rows_without_open", a->strange);
    count(j, "open_sessions_max", a->open_max);
    bool ok = json_dumpf(j, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0 && fputc('\n', f) != EOF;
    json_decref(j);
    return fflush(f) == 0 && ok;
}
