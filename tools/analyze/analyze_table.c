/* SPDX-License-Identifier: Apache-2.0 */
/* What is not known is an empty field. Only the file can fail. */
#include "tools/analyze/analyze_table.h"

#include <inttypes.h>
#include <math.h>

#include "tools/analyze/watch/ltp_watch.h"

const char analyze_sessions_header[] =
    "originator,session,peer,colour,role,client_service,block_bytes,red_bytes,outcome,"
    "cancel_reason,t_first_tx_ns,t_close_ns,duration_ms,radiation_ms,first_rx_ms,delivery_ms,"
    "segments_sent,segments_first,segments_resent,segments_received,duplicates,out_of_order,"
    "bytes_sent,data_sent,data_resent,reports,retx_cycles,cp_sent,cp_lost,cp_lost_basis,"
    "cp_lost_run,rto_checkpoint,rto_report,rto_ms,dropped,lossy,ideal_ms,retx_penalty_ms,"
    "cp_penalty_ms,delta_ms,cp_waits\n";

bool analyze_engine_known(uint64_t engine)
{
    return engine < WATCH_UNKNOWN;
}

const char *analyze_colour_word(char colour)
{
    return colour == 'r'   ? "red"
           : colour == 'g' ? "green"
           : colour == 'o' ? "orange"
           : colour == 'm' ? "mixed"
                           : "unknown";
}

const char *analyze_basis_word(enum analyze_basis basis)
{
    static const char *const words[] = {"", "rto", "receiver_log", "drop_log"};
    return words[basis];
}

static const char *outcome_word(int outcome)
{
    static const char *const words[] = {"done", "cancelled_local", "cancelled_remote", "lost",
                                        "discarded"};
    return outcome >= 0 && outcome < 5 ? words[outcome] : "unfinished";
}

static void put_number(FILE *f, uint64_t v)
{
    if (v == EVENT_NONE)
        fputc(',', f);
    else
        fprintf(f, "%" PRIu64 ",", v);
}

static void put_if(FILE *f, bool known, uint64_t v)
{
    put_number(f, known ? v : EVENT_NONE);
}

static void put_ms(FILE *f, tick t)
{
    if (t == TICK_NEVER)
        fputc(',', f);
    else
        fprintf(f, "%" PRIu64 ".%06" PRIu64 ",", t / TICK_MS, t % TICK_MS);
}

static void put_real(FILE *f, double ms, char after)
{
    if (isnan(ms))
        fputc(after, f);
    else
        fprintf(f, "%.6f%c", ms, after);
}

static void put_name(FILE *f, const struct analyze_session *s)
{
    static const char *const roles[] = {"", "sender", "receiver", "both"};
    put_number(f, s->originator);
    put_number(f, s->number);
    put_if(f, analyze_engine_known(s->peer), s->peer);
    const char *unreliable = s->orange ? "orange" : s->green ? "green" : "";
    fprintf(f, "%s,", s->red ? (s->green ? "mixed" : "red") : unreliable);
    fprintf(f, "%s,", roles[s->sender_log + 2 * s->receiver_log]);
    put_number(f, s->client_service);
    put_number(f, s->block_bytes);
    put_number(f, s->red_bytes == EVENT_NONE && !s->red && s->green ? 0 : s->red_bytes);
    fprintf(f, "%s,", outcome_word(s->outcome));
    put_number(f, s->cancel_reason);
}

static void put_times(FILE *f, const struct analyze_session *s)
{
    bool after =
        s->first_tx != TICK_NEVER && s->first_rx != TICK_NEVER && s->first_rx >= s->first_tx;
    put_number(f, s->first_tx);
    put_number(f, s->sender_closed ? s->closed : s->receiver_end);
    put_ms(f, analyze_duration(s));
    put_ms(f, analyze_radiation(s));
    put_ms(f, after ? s->first_rx - s->first_tx : TICK_NEVER);
    put_ms(f, analyze_delivery(s));
}

static void put_counts(FILE *f, const struct analyze_session *s)
{
    bool tx = s->sender_log, rx = s->receiver_log;
    put_if(f, tx, s->segments_sent);
    put_if(f, tx, s->segments_sent - s->segments_resent);
    put_if(f, tx, s->segments_resent);
    put_if(f, rx, s->segments_received);
    put_if(f, rx, s->duplicates);
    put_if(f, rx, s->out_of_order);
    put_if(f, tx, s->bytes_sent);
    put_if(f, tx, s->data_sent);
    put_if(f, tx, s->data_resent);
    put_if(f, tx, s->reports_received);
    put_if(f, tx, s->rounds.most);
    put_if(f, tx, s->cp_sent);
    put_if(f, s->basis != BASIS_NONE, s->cp_lost);
    fprintf(f, "%s,", analyze_basis_word(s->basis));
    put_if(f, s->basis != BASIS_NONE, s->cp_run);
    put_if(f, tx, s->rto_checkpoint);
    put_if(f, rx, s->rto_report);
    put_ms(f, tx ? s->rto_time : TICK_NEVER);
    put_if(f, s->drops_known, s->dropped);
    put_if(f, s->basis != BASIS_NONE, s->lossy);
}

bool analyze_table_session(FILE *f, const struct analyze_session *s,
                           const struct analyze_split *of_flow)
{
    struct analyze_penalties p = analyze_split_session(s, of_flow);
    put_name(f, s);
    put_times(f, s);
    put_counts(f, s);
    put_real(f, s->sender_log && s->outcome == OUTCOME_DONE ? of_flow->ideal : NAN, ',');
    put_real(f, p.retx, ',');
    put_real(f, p.checkpoint, ',');
    put_real(f, p.delta, ',');
    if (s->basis != BASIS_NONE)
        fprintf(f, "%" PRIu64, s->cp_waits);
    fputc('\n', f);
    return ferror(f) == 0;
}

static void put_bin(FILE *f, const struct analyze *a, const struct analyze_path *p,
                    const struct series_bin *b)
{
    double s = (double)a->bin / (double)TICK_S;
    int64_t bin = (int64_t)a->bin, after = b->index * bin;
    int64_t from = (int64_t)a->bins_from + after, left = (int64_t)a->rows_end - from;
    put_number(f, p->originator);
    put_if(f, analyze_engine_known(p->peer), p->peer);
    fprintf(f, "%" PRId64 ",%.6f,", from, (double)after / (double)TICK_S);
    fprintf(f, "%.0f,%.0f,%.0f,%.0f,", 8 * (double)b->done_bytes / s, 8 * (double)b->tx_bytes / s,
            8 * (double)b->resent_bytes / s, 8 * (double)b->rx_bytes / s);
    fprintf(f, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", b->sessions, b->cp_sent,
            b->timeouts, b->drops, (double)(left < bin ? left : bin) / (double)TICK_S);
}

bool analyze_table_series(FILE *f, const struct analyze *a)
{
    fprintf(f, "originator,peer,t_ns,t_s,goodput_bps,sent_bps,resent_bps,received_bps,sessions,"
               "cp_sent,rto_checkpoint,dropped,covered_s\n");
    for (size_t i = 0; i < a->paths_len; i++) {
        const struct series *s = &a->paths[i]->series;
        for (size_t j = 0; j < s->len; j++) {
            put_bin(f, a, a->paths[i], &s->at[j]);
            int64_t next = j + 1 < s->len ? s->at[j + 1].index : s->at[j].index;
            if (next - s->at[j].index > (int64_t)(ANALYZE_GAP / a->bin) + 1)
                continue; /* a pause: no bins of zeros */
            for (int64_t n = s->at[j].index + 1; n < next; n++)
                put_bin(f, a, a->paths[i], &(struct series_bin){.index = n});
        }
    }
    return ferror(f) == 0;
}

/* One line for each value that occurs, within the resolution of the histogram. */
static void put_cdf(FILE *f, const struct analyze_flow *w, const char *what, const struct hist *h)
{
    uint64_t seen = 0;
    for (uint32_t slot = 0; slot < HIST_SLOTS && seen < h->count; slot++) {
        if (h->slots[slot] == 0)
            continue;
        seen += h->slots[slot];
        put_number(f, w->originator);
        put_if(f, analyze_engine_known(w->peer), w->peer);
        fprintf(f, "%s,%s,%.6f,%.9f,%" PRIu64 "\n", analyze_colour_word(w->colour), what,
                (double)hist_value(h, slot) / (double)TICK_MS, (double)seen / (double)h->count,
                h->slots[slot]);
    }
}

bool analyze_table_cdf(FILE *f, const struct analyze *a)
{
    fprintf(f, "originator,peer,colour,quantity,ms,share,count\n");
    for (size_t i = 0; i < a->flows_len; i++) {
        put_cdf(f, a->flows[i], "session", &a->flows[i]->duration);
        put_cdf(f, a->flows[i], "delivery", &a->flows[i]->delivery);
    }
    return ferror(f) == 0;
}
