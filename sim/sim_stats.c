/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender's events contain everything except losses and deliveries, which the simulation knows
 * directly: nothing is inferred. Retransmission cycles are those of sim/rounds.h. Without memory
 * for a session the run continues, and its result says that the figures are incomplete.
 */
#include "sim/sim_stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int sim_stats_init(struct sim_stats *s, uint64_t seed)
{
    *s = (struct sim_stats){0};
    return hash_init(&s->table, seed);
}

static void forget_missing(struct sim_session *n)
{
    n->gaps |= n->missing.len > 0;
    ranges_fini(&n->missing);
    ranges_init(&n->missing);
}

void sim_stats_fini(struct sim_stats *s)
{
    hash_fini(&s->table);
    while (s->first != NULL) {
        struct sim_session *next = s->first->next;
        rounds_fini(&s->first->rounds);
        ranges_fini(&s->first->missing);
        free(s->first);
        s->first = next;
    }
}

static struct sim_session *find_block(const struct sim_stats *s, uint64_t number)
{
    uint64_t hash = hash_mix(s->table.seed, number, 0);
    for (struct hash_node *n = hash_find(&s->table, hash); n != NULL; n = hash_next(n)) {
        struct sim_session *session = (struct sim_session *)(void *)n; /* node is first */
        if (session->number == number)
            return session;
    }
    return NULL;
}

static struct sim_session *open_session(struct sim_stats *s, uint64_t number)
{
    struct sim_session *n = malloc(sizeof *n);
    if (n == NULL) {
        s->out_of_memory = true;
        return NULL;
    }
    *n = (struct sim_session){.next = s->first,
                              .number = number,
                              .first_tx = TICK_NEVER,
                              .delivered = TICK_NEVER,
                              .closed = TICK_NEVER};
    n->first_try = n;
    ranges_init(&n->missing);
    s->first = n;
    hash_add(&s->table, &n->node, hash_mix(s->table.seed, number, 0));
    return n;
}

static void begin_session(struct sim_stats *s, struct sim_session *n, tick now)
{
    assert(!n->over);
    n->first_tx = now;
    s->begun++;
    s->begun_max = s->begun > s->begun_max ? s->begun : s->begun_max;
}

static void sent(struct sim_stats *s, struct sim_session *n, const struct event *e,
                 uint32_t segment_max)
{
    bool copy = e->cause == CAUSE_PROACTIVE;
    bool repeat = e->cause == CAUSE_REPORT || e->cause == CAUSE_TIMER;
    s->air_bytes += e->udp_len;
    s->copy_bytes += copy ? e->udp_len : 0;
    s->copies += copy;
    s->repeat_bytes += repeat ? e->udp_len : 0;
    s->repeats += repeat;
    if (e->cause == CAUSE_FIRST && e->type >= 0 && e->type < 8)
        s->first_data += e->length;
    if (e->type < 0 || e->type >= 8)
        return;
    s->offset = e->offset;
    s->length = e->length;
    s->fresh = e->cause == CAUSE_FIRST;
    if (n->first_tx == TICK_NEVER)
        begin_session(s, n, e->now);
    if (e->type >= 1 && e->type <= 3)
        n->checkpoints++;
    if (e->cause == CAUSE_FIRST && e->udp_len == segment_max) {
        s->full_bytes += e->udp_len;
        s->full_data += e->length;
        s->full_count++;
    }
    if (e->cause == CAUSE_REPORT && e->type >= 1 && e->type <= 3 &&
        !rounds_sent(&n->rounds, e->cp_serial, e->rpt_serial))
        s->out_of_memory = true;
}

static void reported(struct sim_stats *s, struct sim_session *n, const struct event *e)
{
    if (e->verdict == VERDICT_OK && n->closed == TICK_NEVER &&
        !rounds_reported(&n->rounds, e->cp_serial, e->rpt_serial))
        s->out_of_memory = true;
}

static void closed(struct sim_stats *s, struct sim_session *n, const struct event *e)
{
    n->first_try->settled |= e->cause != OUTCOME_LOST;
    s->begun -= !n->over && n->first_tx != TICK_NEVER;
    n->over = true;
    if (e->cause == OUTCOME_DONE)
        n->closed = e->now;
    else if (e->cause == OUTCOME_LOST)
        s->lost++;
    else
        s->cancelled++;
    rounds_fini(&n->rounds);
    if (e->cause != OUTCOME_DONE)
        forget_missing(n);
}

void sim_stats_event(struct sim_stats *s, const struct event *e, uint32_t segment_max)
{
    if (e->session == EVENT_NONE)
        return;
    if (s->last == NULL || s->last->number != e->session)
        s->last = e->kind == EVENT_OPEN ? open_session(s, e->session) : find_block(s, e->session);
    if (s->last == NULL)
        return;
    if (e->kind == EVENT_TX)
        sent(s, s->last, e, segment_max);
    else if (e->kind == EVENT_RX && e->type == 8)
        reported(s, s->last, e);
    else if (e->kind == EVENT_TIMER)
        s->rto_firings++;
    else if (e->kind == EVENT_CLOSE)
        closed(s, s->last, e);
}

void sim_stats_lost(struct sim_stats *s, int type)
{
    if (s->last == NULL || type >= 8)
        return;
    s->last->lossy = true;
    if (type >= 1 && type <= 3)
        s->last->checkpoints_lost++;
    if (s->fresh && s->window_from < s->window_to &&
        ranges_add(&s->last->missing, s->offset, s->offset + s->length, SIZE_MAX) < 0)
        s->out_of_memory = true;
    if (s->last->over)
        forget_missing(s->last);
}

/* Rounded up, so that the last part is the shortest. */
static tick part_length(const struct sim_stats *s)
{
    tick window = s->window_to - s->window_from;
    return window / SIM_STATS_PARTS + (window % SIM_STATS_PARTS != 0);
}

static unsigned part_at(const struct sim_stats *s, tick now)
{
    assert(now >= s->window_from && now < s->window_to);
    return (unsigned)((now - s->window_from) / part_length(s));
}

tick sim_stats_part(const struct sim_stats *s, unsigned index)
{
    assert(index <= SIM_STATS_PARTS);
    return tick_min(s->window_from + index * part_length(s), s->window_to);
}

void sim_stats_passed(struct sim_stats *s, int type, tick now)
{
    if (s->last == NULL || type >= 8 || s->window_from == s->window_to)
        return;
    struct sim_session *n = s->last;
    uint64_t to = s->offset + s->length, bytes = s->length;
    if (!s->fresh) {
        bytes = ranges_bytes_in(&n->missing, s->offset, to);
        if (bytes > 0 && ranges_sub(&n->missing, s->offset, to, SIZE_MAX) < 0)
            s->out_of_memory = true;
    }
    if (now >= s->window_from && now < s->window_to)
        n->carried[part_at(s, now)] += (uint32_t)bytes;
    n->passed = now;
    if (n->over)
        forget_missing(n);
}

/* A green session ends when it is sent, and its sender does not learn whether it arrived. */
static bool is_arriving(const struct sim_stats *s, const struct sim_session *n, tick now)
{
    return n->closed != TICK_NEVER && !n->gaps && n->missing.len == 0 &&
           tick_add(n->passed, s->transit) >= now;
}

void sim_stats_parts(const struct sim_stats *s, tick now, uint64_t parts[SIM_STATS_PARTS])
{
    memset(parts, 0, SIM_STATS_PARTS * sizeof *parts);
    for (const struct sim_session *n = s->first; n != NULL; n = n->next)
        if (n->whole || !n->over || is_arriving(s, n, now))
            for (unsigned i = 0; i < SIM_STATS_PARTS; i++)
                parts[i] += n->carried[i];
}

uint64_t sim_stats_carried(const struct sim_stats *s, tick now)
{
    uint64_t parts[SIM_STATS_PARTS], bytes = 0;
    sim_stats_parts(s, now, parts);
    for (unsigned i = 0; i < SIM_STATS_PARTS; i++)
        bytes += parts[i];
    return bytes;
}

void sim_stats_delivered(struct sim_stats *s, uint64_t number, tick now)
{
    struct sim_session *n = find_block(s, number);
    if (n != NULL && n->first_try->delivered == TICK_NEVER) {
        n->first_try->delivered = now;
        n->whole = true;
    }
}

bool sim_stats_block_lost(struct sim_stats *s, uint64_t number, uint64_t resend, uint64_t *first)
{
    struct sim_session *n = find_block(s, number);
    if (n == NULL)
        return false;
    n = n->first_try;
    *first = n->number;
    if (++n->losses <= resend)
        return true;
    n->settled = true;
    s->given_up++;
    return false;
}

void sim_stats_again(struct sim_stats *s, uint64_t number, uint64_t first)
{
    struct sim_session *n = find_block(s, number), *earlier = find_block(s, first);
    if (n == NULL || earlier == NULL)
        return;
    n->first_try = earlier;
    s->resent++;
}

static int compare_times(const void *a, const void *b)
{
    const tick *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double rank(const tick *sorted, uint64_t len, uint64_t percent)
{
    uint64_t at = (len * percent + 99) / 100;
    return (double)sorted[at == 0 ? 0 : at - 1] / (double)TICK_MS;
}

static struct sim_spread spread_of(tick *times, uint64_t len)
{
    if (len == 0)
        return (struct sim_spread){0};
    qsort(times, len, sizeof *times, compare_times);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < len; i++)
        sum += (double)times[i] / (double)TICK_MS;
    double mean = sum / (double)len;
    for (uint64_t i = 0; i < len; i++)
        squares += pow((double)times[i] / (double)TICK_MS - mean, 2);
    return (struct sim_spread){.mean = mean,
                               .sd = len > 1 ? sqrt(squares / (double)(len - 1)) : 0,
                               .p50 = rank(times, len, 50),
                               .p90 = rank(times, len, 90),
                               .p99 = rank(times, len, 99)};
}

static bool began_in(const struct sim_session *n, tick from, tick to)
{
    return n->first_tx >= from && n->first_tx < to;
}

const struct sim_session *sim_stats_open(const struct sim_stats *s, const struct sim_session *found,
                                         tick from, tick to)
{
    const struct sim_session *n = found != NULL ? found : s->first;
    while (n != NULL && (n->over || !began_in(n, from, to)))
        n = n->next;
    return n;
}

int sim_stats_figures(const struct sim_stats *s, tick from, tick to, struct sim_figures *out)
{
    *out = (struct sim_figures){0};
    tick *session = calloc(s->table.len + 1, sizeof *session);
    tick *delivery = calloc(s->table.len + 1, sizeof *delivery);
    int rc = session == NULL || delivery == NULL || s->out_of_memory ? HELIO_ENOMEM : 0;
    uint64_t settled = 0, arrived = 0;
    for (const struct sim_session *n = s->first; rc == 0 && n != NULL; n = n->next) {
        if (!began_in(n, from, to))
            continue;
        settled += n->settled;
        arrived += n->settled && n->delivered != TICK_NEVER;
        if (n->delivered != TICK_NEVER)
            delivery[out->delivered++] = n->delivered - n->first_tx;
        if (n->closed == TICK_NEVER)
            continue;
        session[out->sessions++] = n->closed - n->first_tx;
        out->cycles_mean += n->rounds.most;
        out->checkpoints_mean += n->checkpoints;
        out->checkpoints_lost_mean += n->checkpoints_lost;
        out->lossy_share += n->lossy;
    }
    if (rc == 0 && out->sessions > 0) {
        double count = (double)out->sessions;
        out->cycles_mean /= count;
        out->checkpoints_mean /= count;
        out->checkpoints_lost_mean /= count;
        out->lossy_share /= count;
    }
    if (rc == 0) {
        out->delivered_share = settled > 0 ? (double)arrived / (double)settled : 0;
        out->session = spread_of(session, out->sessions);
        out->delivery = spread_of(delivery, out->delivered);
    }
    free(session);
    free(delivery);
    return rc;
}
