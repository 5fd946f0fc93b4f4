/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over sessions. Only memory can run out; flows beyond their limit are added up in the last
 * one, so that nothing is lost from the totals. */
#include "tools/analyze/analyze_flow.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"

static char colour_of(const struct analyze_session *s)
{
    if (s->red)
        return s->green ? 'm' : 'r';
    if (s->orange)
        return 'o';
    return s->green ? 'g' : 'u'; /* no data of it was seen */
}

/* The flow of this colour. If there is none: the only flow of the path, and the number of flows. */
static struct analyze_flow *find_flow(const struct analyze *a, const struct analyze_session *s,
                                      char colour, size_t *of_path)
{
    assert(a->flows_len <= ANALYZE_FLOWS_MAX);
    struct analyze_flow *only = NULL;
    *of_path = 0;
    for (size_t i = 0; i < a->flows_len; i++) {
        struct analyze_flow *f = a->flows[i];
        if (f->originator != s->originator || f->peer != s->peer)
            continue;
        if (f->colour == colour)
            return f;
        only = f;
        ++*of_path;
    }
    return *of_path == 1 ? only : NULL;
}

/* A session without data rows most probably has the colour of all others of its path. */
struct analyze_flow *analyze_flow_find(const struct analyze *a, const struct analyze_session *s)
{
    size_t of_path;
    char colour = colour_of(s);
    struct analyze_flow *f = find_flow(a, s, colour, &of_path);
    if (f != NULL && (f->colour == colour || colour == 'u'))
        return f;
    return a->flows_len == ANALYZE_FLOWS_MAX ? a->flows[ANALYZE_FLOWS_MAX - 1] : NULL;
}

/* The first session of a path with a known colour determines the sessions before it. */
static struct analyze_flow *name_flow(const struct analyze *a, const struct analyze_session *s)
{
    size_t of_path;
    struct analyze_flow *f = find_flow(a, s, 'u', &of_path);
    if (f == NULL || f->colour != 'u' || of_path > 0)
        return NULL;
    f->colour = colour_of(s);
    return f;
}

struct analyze_path *analyze_path_of(struct analyze *a, uint64_t originator, uint64_t peer)
{
    assert(a->paths_len <= ANALYZE_PATHS_MAX);
    for (size_t i = 0; i < a->paths_len; i++)
        if (a->paths[i]->originator == originator && a->paths[i]->peer == peer)
            return a->paths[i];
    if (a->paths_len == ANALYZE_PATHS_MAX)
        return a->paths[ANALYZE_PATHS_MAX - 1];
    struct analyze_path *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->originator = originator;
    p->peer = peer;
    p->delay = p->far = TICK_NEVER;
    hist_init_exact(&p->rto, HIST_EXACT_MAX);
    hist_init_exact(&p->response, HIST_EXACT_MAX);
    hist_init_exact(&p->cycle, HIST_EXACT_MAX);
    analyze_code_init(&p->code);
    assert(a->paths_len < ANALYZE_PATHS_MAX);
    a->paths[a->paths_len++] = p;
    return p;
}

/* From a length that begins with 1 to one that begins with 2, to one that begins with 1. */
static void coarsen_bins(struct analyze *a)
{
    assert(a->bin > 0 && a->bins_max > 0);
    tick first = a->bin;
    while (first % 10 == 0)
        first /= 10;
    assert(first == 1 || first == 2);
    int64_t by = first == 2 ? 5 : 2;
    for (size_t i = 0; i < a->paths_len; i++)
        series_coarsen(&a->paths[i]->series, by);
    a->bin *= (tick)by;
}

/* From the first row to `now`; the first gaps, of which there are no bins, do not count. */
static tick delay_seen(const struct analyze *a, tick now)
{
    assert(a->first_row != TICK_NEVER && a->gaps_len <= ANALYZE_GAPS_MAX);
    tick time = now > a->first_row ? now - a->first_row : 0;
    for (size_t i = 0; i < a->gaps_len; i++)
        time -= now >= a->gaps[i].to ? a->gaps[i].to - a->gaps[i].from : 0;
    return time;
}

struct series_bin *analyze_bin(struct analyze *a, struct analyze_path *p, tick now)
{
    assert(p != NULL);
    while (a->bins_max > 0 && delay_seen(a, now) / a->bin >= a->bins_max)
        coarsen_bins(a);
    if (a->bin == 0)
        return NULL;
    if (a->bins_from == TICK_NEVER)
        a->bins_from = a->first_row;
    bool before = now < a->bins_from; /* of a later run whose clock starts again */
    int64_t bins = (int64_t)((before ? a->bins_from - now - 1 : now - a->bins_from) / a->bin);
    return series_bin(&p->series, before ? -1 - bins : bins);
}

static struct analyze_flow *flow_new(struct analyze *a, const struct analyze_session *s)
{
    assert(a->flows_len < ANALYZE_FLOWS_MAX && s->path != NULL);
    struct analyze_flow *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->path = s->path;
    f->originator = s->originator;
    f->peer = s->peer;
    f->colour = colour_of(s);
    f->first_tx = TICK_NEVER;
    hist_init_exact(&f->duration, HIST_EXACT_MAX);
    hist_init_exact(&f->delivery, HIST_EXACT_MAX);
    hist_init_exact(&f->radiation, HIST_EXACT_MAX);
    hist_init_exact(&f->clean, HIST_EXACT_MAX);
    a->flows[a->flows_len++] = f;
    return f;
}

static void add_time(struct hist *h, tick t)
{
    if (t != TICK_NEVER)
        hist_add(h, t);
}

static void sum_closed(struct analyze *a, struct analyze_flow *f, const struct analyze_session *s)
{
    assert(s->outcome == OUTCOME_DONE && (s->sender_closed || s->receiver_closed));
    tick duration = analyze_duration(s);
    f->sessions++;
    f->bases[s->basis]++;
    f->cycles += s->rounds.most;
    f->cp_lost += s->cp_lost;
    f->cp_sent_done += s->cp_sent;
    f->cp_waits += s->cp_waits;
    f->lossy += s->lossy;
    add_time(&f->duration, duration);
    add_time(&f->radiation, analyze_radiation(s));
    add_time(&f->delivery, analyze_delivery(s));
    if (s->sender_log && !s->lossy && s->rounds.most == 0 && s->rto_checkpoint == 0)
        add_time(&f->clean, duration);
    if (s->block_bytes != EVENT_NONE)
        f->done_bytes += s->block_bytes;
    tick end = s->sender_closed ? s->closed : s->receiver_end;
    f->last_close = end > f->last_close ? end : f->last_close;
    struct series_bin *bin = analyze_bin(a, s->path, end);
    if (bin != NULL) {
        bin->sessions++;
        bin->done_bytes += s->block_bytes != EVENT_NONE ? s->block_bytes : 0;
    }
}

int analyze_flow_add(struct analyze *a, const struct analyze_session *s)
{
    assert(s->sender_log || s->receiver_log);
    struct analyze_flow *f = analyze_flow_find(a, s);
    f = f != NULL ? f : name_flow(a, s);
    f = f != NULL ? f : flow_new(a, s);
    if (f == NULL)
        return HELIO_ENOMEM;
    tick from = s->sender_log ? s->first_tx : s->receiver_opened;
    f->first_tx = tick_min(f->first_tx, from);
    f->with_sender += s->sender_log;
    f->with_receiver += s->receiver_log;
    f->cp_sent += s->cp_sent;
    f->rto_checkpoint += s->rto_checkpoint;
    f->rto_report += s->rto_report;
    f->rto_time += s->rto_time;
    f->segments_sent += s->segments_sent;
    f->segments_resent += s->segments_resent;
    f->segments_received += s->segments_received;
    f->duplicates += s->duplicates;
    f->out_of_order += s->out_of_order;
    f->dropped += s->dropped;
    f->bytes_sent += s->bytes_sent;
    f->data_sent += s->data_sent;
    f->data_resent += s->data_resent;
    f->cp_run = s->cp_run > f->cp_run ? s->cp_run : f->cp_run;
    if (s->drops_known && s->cp_lost > s->cp_dropped)
        f->cp_elsewhere += s->cp_lost - s->cp_dropped;
    if (s->outcome == OUTCOME_DONE)
        sum_closed(a, f, s);
    else if (s->outcome == OUTCOME_LOST)
        f->lost++;
    else if (s->outcome >= 0)
        f->cancelled++;
    else
        f->unfinished++;
    assert(f->with_sender + f->with_receiver > 0);
    return 0;
}

static void flow_free(struct analyze_flow *f)
{
    hist_fini(&f->duration);
    hist_fini(&f->delivery);
    hist_fini(&f->radiation);
    hist_fini(&f->clean);
    free(f);
}

void analyze_flows_fini(struct analyze *a)
{
    for (size_t i = 0; i < a->flows_len; i++)
        flow_free(a->flows[i]);
    for (size_t i = 0; i < a->paths_len; i++) {
        hist_fini(&a->paths[i]->rto);
        hist_fini(&a->paths[i]->response);
        hist_fini(&a->paths[i]->cycle);
        analyze_code_fini(&a->paths[i]->code);
        series_fini(&a->paths[i]->series);
        free(a->paths[i]);
    }
}

/* From the first segment to the last close of the run. */
static tick run_time(const struct analyze_flow *f)
{
    bool known = f->first_tx != TICK_NEVER && f->last_close > f->first_tx;
    return known ? f->last_close - f->first_tx : 0;
}

void analyze_flows_next_run(struct analyze *a)
{
    for (size_t i = 0; i < a->flows_len; i++) {
        struct analyze_flow *f = a->flows[i];
        f->past_gaps = analyze_gap_time(a, f);
        f->past += run_time(f);
        f->first_tx = TICK_NEVER;
        f->last_close = 0;
        assert(f->past >= f->past_gaps);
    }
    a->run_gaps = a->gaps_len;
}

tick analyze_gap_time(const struct analyze *a, const struct analyze_flow *f)
{
    tick sum = f->past_gaps;
    assert(a->run_gaps <= a->gaps_len);
    for (size_t i = a->run_gaps; i < a->gaps_len; i++)
        if (a->gaps[i].from >= f->first_tx && a->gaps[i].to <= f->last_close)
            sum += a->gaps[i].to - a->gaps[i].from;
    return sum;
}

double analyze_goodput(const struct analyze_flow *f, tick without)
{
    tick all = f->past + run_time(f);
    return all > without ? 8e9 * (double)f->done_bytes / (double)(all - without) : NAN;
}
