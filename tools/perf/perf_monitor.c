/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The normal case: a delivery is a status report. It becomes a row of its sender's file, which is
 * created for a new sender. A sender's message that it has finished ends its session. What can go
 * wrong: deliveries that are neither (counted), and files that cannot be written (reported; the
 * monitor ends).
 */
#include "tools/perf/perf_monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX 1000
#define SWEEP TICK_S

static void on_ready(void *context);

int perf_monitor_init(struct perf_monitor *m, struct world *w, const struct perf_options *o,
                      const uint64_t seed[2])
{
    *m = (struct perf_monitor){.options = o, .ended = json_array()};
    list_init(&m->order);
    perf_link_init(&m->link, w, o, seed[0], o->deliveries, 1 << 20, on_ready, m);
    alarm_init(&m->alarm, w, ALARM_APP, on_ready, m);
    return hash_init(&m->sessions, seed[1]);
}

static void free_session(struct perf_monitor *m, struct perf_monitor_session *s)
{
    hash_sub(&m->sessions, &s->node);
    list_sub(&s->order);
    if (s->file != NULL)
        (void)fclose(s->file);
    free(s);
}

void perf_monitor_fini(struct perf_monitor *m)
{
    perf_link_fini(&m->link);
    alarm_fini(&m->alarm);
    list_for_each_safe (it, &m->order)
        free_session(m, container_of(it, struct perf_monitor_session, order));
    hash_fini(&m->sessions);
    json_decref(m->ended);
}

static void fail_monitor(struct perf_monitor *m, const char *what, const char *why)
{
    m->stop = m->failed = true;
    fprintf(stderr, "helio-perf: %s: %s\n", what, why);
}

/* ---- sessions ---- */

static json_t *session_json(const struct perf_monitor_session *s)
{
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:b}", "source", s->source, "file", s->file_name,
                     "rows", (json_int_t)s->rows, "received", (json_int_t)s->items[STATUS_RECEIVED],
                     "forwarded", (json_int_t)s->items[STATUS_FORWARDED], "delivered",
                     (json_int_t)s->items[STATUS_DELIVERED], "deleted",
                     (json_int_t)s->items[STATUS_DELETED], "stopped", s->stopped);
}

/* Tells of a session, and closes it. */
static void end_session(struct perf_monitor *m, struct perf_monitor_session *s)
{
    printf("%-24s %9llu %9llu %9llu %9llu %9llu  %s\n", s->source, (unsigned long long)s->rows,
           (unsigned long long)s->items[STATUS_RECEIVED],
           (unsigned long long)s->items[STATUS_FORWARDED],
           (unsigned long long)s->items[STATUS_DELIVERED],
           (unsigned long long)s->items[STATUS_DELETED], s->file_name);
    fflush(stdout);
    json_array_append_new(m->ended, session_json(s));
    free_session(m, s);
}

static struct perf_monitor_session *find_session(const struct perf_monitor *m, const char *source)
{
    uint64_t hash = hash_bytes(m->sessions.seed, source, strlen(source));
    struct hash_node *n = hash_find(&m->sessions, hash);
    for (; n != NULL; n = hash_next(n)) {
        struct perf_monitor_session *s = container_of(n, struct perf_monitor_session, node);
        if (strcmp(s->source, source) == 0)
            return s;
    }
    return NULL;
}

/* A new file of that sender; none is replaced. */
static bool open_file(struct perf_monitor *m, struct perf_monitor_session *s)
{
    const char *dir = m->options->output != NULL ? m->options->output : ".";
    char base[PERF_NAME_MAX + 1], path[4096];
    perf_safe_name(slice_of(s->source, strlen(s->source)), base);
    for (int i = 0; i < NAMES_MAX && s->file == NULL; i++) {
        if (i == 0)
            snprintf(s->file_name, sizeof s->file_name, "%s.csv", base);
        else
            snprintf(s->file_name, sizeof s->file_name, "%s.%d.csv", base, i);
        snprintf(path, sizeof path, "%s/%s", dir, s->file_name);
        s->file = fopen(path, "wxe");
        if (s->file == NULL && errno != EEXIST)
            break;
    }
    if (s->file == NULL || fputs(PERF_MONITOR_COLUMNS "\n", s->file) == EOF) {
        fail_monitor(m, path, strerror(errno));
        return false;
    }
    m->files++;
    return true;
}

/* The session of a sender; NULL: there can be none. */
static struct perf_monitor_session *session_of(struct perf_monitor *m, const char *source, tick now)
{
    struct perf_monitor_session *s = find_session(m, source);
    if (s == NULL && m->files >= PERF_MONITOR_FILES) {
        m->refused++;
        return NULL;
    }
    if (s == NULL) {
        if (m->sessions.len >= PERF_MONITOR_OPEN)
            end_session(m, container_of(list_first(&m->order), struct perf_monitor_session, order));
        s = calloc(1, sizeof *s);
        if (s == NULL)
            return NULL;
        snprintf(s->source, sizeof s->source, "%s", source);
        s->begun = now;
        list_init(&s->order);
        hash_add(&m->sessions, &s->node, hash_bytes(m->sessions.seed, source, strlen(source)));
        list_add_tail(&m->order, &s->order);
        if (!open_file(m, s)) {
            free_session(m, s);
            return NULL;
        }
    }
    list_sub(&s->order);
    list_add_tail(&m->order, &s->order);
    s->heard = now;
    return s;
}

/* Ends sessions whose sender has finished and that had no report for a while. */
static void sweep_sessions(struct perf_monitor *m, tick now)
{
    m->next_sweep = now + SWEEP;
    list_for_each_safe (it, &m->order) {
        struct perf_monitor_session *s = container_of(it, struct perf_monitor_session, order);
        if (s->stopped && now - s->heard >= m->options->linger)
            end_session(m, s);
    }
}

/* ---- deliveries ---- */

static void enter_row(struct perf_monitor *m, const char *source, struct perf_monitor_row *r,
                      tick now)
{
    struct perf_monitor_session *s = session_of(m, source, now);
    if (s == NULL)
        return;
    r->since = now - s->begun;
    perf_monitor_write_row(s->file, r);
    s->rows++;
    for (int i = 0; i < STATUS_ITEMS; i++)
        s->items[i] += !r->stop && r->report.asserted[i];
    s->last_reason = r->report.asserted[STATUS_DELETED] ? r->report.reason : s->last_reason;
    s->stopped = s->stopped || r->stop; /* reports may still be in transit */
    if (fflush(s->file) != 0)
        fail_monitor(m, s->file_name, strerror(errno));
}

static void take_delivery(struct perf_monitor *m, const Aap2__BundleADU *a, struct slice payload,
                          tick now)
{
    struct perf_monitor_row r = {
        .source = a->src_eid, .time_ms = a->creation_timestamp_ms, .sequence = a->sequence_number};
    struct perf_head h;
    struct slice body;
    char source[EID_TEXT_MAX];
    bool record = (a->bundle_flags & BUNDLE_IS_ADMIN) != 0;
    if (record && status_report_decode(payload.data, payload.len, &r.report) == 0) {
        eid_text(&r.report.subject.source, source);
        m->reports++;
        enter_row(m, source, &r, now);
    } else if (!record && perf_parse(payload, &h, &body) == PERF_OK && h.kind == PERF_END) {
        r.stop = true;
        if (find_session(m, a->src_eid) != NULL)
            enter_row(m, a->src_eid, &r, now);
    } else {
        m->foreign++;
    }
}

static int read_deliveries(struct perf_monitor *m, tick now)
{
    struct aap2_arrival a;
    int rc = 0;
    while (!m->stop && (rc = aap2_client_next(m->link.rx, &a)) == 1) {
        rc = 0;
        if (a.payload != NULL) {
            take_delivery(m, a.message->adu, buf_slice(a.payload), now);
            rc = m->stop ? 0 : aap2_client_answer(m->link.rx, true);
        }
        aap2_arrival_fini(&a);
        if (rc != 0)
            break;
    }
    return rc;
}

static void begin_monitor(struct perf_monitor *m)
{
    m->begun = true;
    printf("%-24s %9s %9s %9s %9s %9s  %s\n", "sender", "rows", "received", "forwarded",
           "delivered", "deleted", "file");
    fflush(stdout);
}

static void finish_monitor(struct perf_monitor *m)
{
    void (*done)(void *) = m->done;
    alarm_set(&m->alarm, TICK_NEVER);
    m->done = NULL;
    if (done != NULL)
        done(m->context);
}

/* Called when the connection has an event, and at the time that was set. */
static void take_turn(struct perf_monitor *m)
{
    tick now = world_now(m->link.world);
    int rc = perf_link_turn(&m->link, now);
    if (rc < 0 && m->begun)
        fail_monitor(m, "the node", m->link.why);
    m->stop = m->stop || rc < 0;
    if (rc == 1 && !m->begun)
        begin_monitor(m);
    if (rc == 1)
        rc = read_deliveries(m, now);
    if (rc == 0 && m->link.rx != NULL)
        rc = aap2_client_flush(m->link.rx);
    if (rc < 0 && m->link.rx != NULL) {
        snprintf(m->link.why, sizeof m->link.why, "it closed the connection");
        perf_link_close(&m->link, now);
    }
    if (now >= m->next_sweep)
        sweep_sessions(m, now);
    if (m->stop)
        finish_monitor(m);
    else
        alarm_set(&m->alarm,
                  tick_min(m->next_sweep, m->link.rx == NULL ? m->link.retry_at : TICK_NEVER));
}

static void on_ready(void *context)
{
    struct perf_monitor *m = context;
    if (!m->stop)
        take_turn(m);
}

void perf_monitor_start(struct perf_monitor *m, void (*done)(void *context), void *context)
{
    m->done = done;
    m->context = context;
    take_turn(m);
}

void perf_monitor_stop(struct perf_monitor *m)
{
    if (!m->begun)
        snprintf(m->link.why, sizeof m->link.why, "stopped while waiting for the node");
    m->stop = true;
    finish_monitor(m);
}

void perf_monitor_end(struct perf_monitor *m)
{
    list_for_each_safe (it, &m->order)
        end_session(m, container_of(it, struct perf_monitor_session, order));
}

json_t *perf_monitor_json(const struct perf_monitor *m)
{
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:O}", "role", "monitor", "endpoint", m->link.endpoint,
                     "reports", (json_int_t)m->reports, "foreign", (json_int_t)m->foreign,
                     "refused", (json_int_t)m->refused, "sessions", m->ended);
}

/* ---- rows ---- */

/* Rows are as DTNperf_3's monitor writes them. Bundles of version 7 know no custody: Ct is empty.
 * Times are of the nodes, ms since 2000; RX_TIME is ours, since the session's first row. */

/* When it happened; 0: it did, and the time is not known; empty: it did not. */
static void write_time(FILE *f, const struct status_report *s, enum status_item item)
{
    if (s->asserted[item])
        fprintf(f, "%" PRIu64, s->timed[item] ? s->time_ms[item] : 0);
    fputc(';', f);
}

static void write_subject(FILE *f, const struct perf_monitor_row *r)
{
    const struct bundle_id *id = &r->report.subject;
    char text[EID_TEXT_MAX];
    eid_text(&id->source, text);
    fprintf(f, "STATUS_REPORT;%s;%" PRIu64 ";%" PRIu64 ";", text, id->time_ms, id->sequence);
    if (id->fragment)
        fprintf(f, "%" PRIu64 ";%" PRIu64 ";", id->offset, r->report.subject_bytes);
    else
        fputs("0;0;", f);
    write_time(f, &r->report, STATUS_DELIVERED);
    fputc(';', f);
    write_time(f, &r->report, STATUS_RECEIVED);
    write_time(f, &r->report, STATUS_FORWARDED);
    write_time(f, &r->report, STATUS_DELETED);
    fputs(status_reason_text(r->report.reason), f);
}

void perf_monitor_write_row(FILE *f, const struct perf_monitor_row *r)
{
    fprintf(f, "%.6f;%s;%" PRIu64 ";%" PRIu64 ";", (double)r->since / 1e9, r->source, r->time_ms,
            r->sequence);
    if (r->stop)
        fputs("CLIENT_STOP;;;;;;;;;;;", f);
    else
        write_subject(f, r);
    fputc('\n', f);
}
