/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as DTNperf_3's monitor writes them. Bundles of version 7 know no custody: Ct is empty. Times
 * are of the nodes, ms since 2000; RX_TIME is ours, since the session's first row. */
#include <inttypes.h>

#include "tools/perf/perf_monitor.h"

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
