/* SPDX-License-Identifier: Apache-2.0 */
/* A field that an event does not have is not printed; beyond TRACE_SESSIONS sessions have no name
 * of their own and are printed as s?. */
#include "tests/sim/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

static void put_time(struct trace_text *t)
{
    tick now = *t->now;
    fprintf(t->out, "%6" PRIu64 ".%06" PRIu64 " ", now / TICK_MS, now % TICK_MS);
}

void trace_line(struct trace_text *t, const char *format, ...)
{
    put_time(t);
    va_list args;
    va_start(args, format);
    vfprintf(t->out, format, args);
    va_end(args);
    fputc('\n', t->out);
}

static struct trace_session *label(struct trace_text *t, struct ltp_session_id id)
{
    for (size_t i = 0; i < t->len; i++) {
        struct trace_session *s = &t->sessions[i];
        if (s->id.originator == id.originator && s->id.number == id.number)
            return s;
    }
    if (t->len == TRACE_SESSIONS)
        return NULL;
    struct trace_session *s = &t->sessions[t->len++];
    *s = (struct trace_session){.id = id, .cp_base = EVENT_NONE, .rpt_base = EVENT_NONE};
    return s;
}

static struct trace_session *put_session(struct trace_text *t, struct ltp_session_id id)
{
    struct trace_session *s = label(t, id);
    if (s == NULL)
        fputs(" s?", t->out);
    else
        fprintf(t->out, " s%zu", (size_t)(s - t->sessions) + 1);
    return s;
}

const struct ltp_session_id *trace_session(const struct trace_text *t, const char *name)
{
    size_t n = name[0] == 's' ? strtoul(name + 1, NULL, 10) : 0;
    return n >= 1 && n <= t->len ? &t->sessions[n - 1].id : NULL;
}

static void put_serial(struct trace_text *t, const char *name, uint64_t *base, uint64_t serial)
{
    if (serial == EVENT_NONE || serial == 0)
        return;
    if (*base == EVENT_NONE)
        *base = serial;
    fprintf(t->out, " %s%" PRId64, name, (int64_t)(serial - *base) + 1);
}

static void put_range(FILE *out, const char *name, uint64_t lo, uint64_t hi)
{
    fprintf(out, " %s[%" PRIu64 ",%" PRIu64 ")", name, lo, hi);
}

static const char *reason_name(uint64_t reason)
{
    static const char *const names[] = {"usr_cncld",  "unreach",   "rlexc",
                                        "miscolored", "sys_cncld", "rxmtcycexc"};
    return reason < 6 ? names[reason] : "?";
}

static void put_fields(struct trace_text *t, struct trace_session *s, const struct event *e)
{
    if (e->offset != EVENT_NONE && e->length != EVENT_NONE)
        put_range(t->out, "", e->offset, e->offset + e->length);
    else if (e->length != EVENT_NONE)
        fprintf(t->out, " length=%" PRIu64, e->length);
    if (s != NULL) {
        put_serial(t, "c", &s->cp_base, e->cp_serial);
        put_serial(t, "r", &s->rpt_base, e->rpt_serial);
    }
    if (e->rs_upper != EVENT_NONE && e->rs_lower != EVENT_NONE)
        put_range(t->out, "scope", e->rs_lower, e->rs_upper);
    if (e->claims != EVENT_NONE)
        fprintf(t->out, " claims=%" PRIu64 "/%" PRIu64, e->claims, e->claimed_bytes);
    if (e->cancel_reason != EVENT_NONE)
        fprintf(t->out, " %s", reason_name(e->cancel_reason));
    if (e->client_service != EVENT_NONE && e->client_service != 1)
        fprintf(t->out, " service=%" PRIu64, e->client_service);
    if (e->attempt != EVENT_NONE && e->attempt != 1)
        fprintf(t->out, " #%" PRIu64, e->attempt);
}

static void put_cause(FILE *out, const struct event *e)
{
    static const char *const reasons[] = {"", " (report)", " (timer)", " (answer)", " (proactive)"};
    static const char *const timers[] = {" checkpoint", " report", " cancel", " idle"};
    static const char *const outcomes[] = {" done", " cancelled_local", " cancelled_remote",
                                           " lost", " discarded"};
    static const char *const links[] = {" down", " up", " receive_down", " receive_up"};
    switch (e->kind) {
    case EVENT_RX:
        fprintf(out, " %s", verdict_name((enum verdict)e->verdict));
        break;
    case EVENT_TX:
        fputs(reasons[e->cause], out);
        break;
    case EVENT_TIMER:
        fputs(timers[e->cause], out);
        break;
    case EVENT_CLOSE:
        fputs(outcomes[e->cause], out);
        break;
    case EVENT_LINK:
        fputs(links[e->cause], out);
        break;
    default:
        break;
    }
}

void trace_event(struct trace_text *t, uint64_t node, const struct event *e)
{
    static const char *const kinds[] = {"rx", "tx", "open", "close", "timer", "link", "matrix"};
    static const char *const oranges[] = {"", " orange", " delivered", " lost"};
    put_time(t);
    fprintf(t->out, "%" PRIu64 " %s", node, kinds[e->kind]);
    if (e->kind == EVENT_LINK)
        fprintf(t->out, " %" PRIu64, e->peer);
    struct trace_session *s = NULL;
    if (e->session != EVENT_NONE && e->originator != EVENT_NONE)
        s = put_session(t, (struct ltp_session_id){e->originator, e->session});
    if (e->type >= 0)
        fprintf(t->out, " %s%s", event_type_name(e->type), oranges[e->orange]);
    put_fields(t, s, e);
    put_cause(t->out, e);
    fputc('\n', t->out);
}

void trace_notice(struct trace_text *t, uint64_t node, const struct ltp_notice *n,
                  const char *verdict)
{
    static const char *const kinds[] = {
        "block",        "green",      "export_done", "export_cancelled", "import_cancelled",
        "initial_sent", "export_lost"};
    put_time(t);
    fprintf(t->out, "%" PRIu64 " notice", node);
    put_session(t, n->id);
    fprintf(t->out, " %s", kinds[n->kind]);
    if (n->data != NULL)
        put_range(t->out, "", n->offset, n->offset + n->data->len);
    if (n->kind == LTP_GREEN && n->end)
        fputs(" end", t->out);
    if (n->data != NULL && n->client_service != 1)
        fprintf(t->out, " service=%" PRIu64, n->client_service);
    if (n->kind == LTP_EXPORT_CANCELLED || n->kind == LTP_IMPORT_CANCELLED ||
        n->kind == LTP_EXPORT_LOST)
        fprintf(t->out, " %s %s", reason_name(n->reason), n->remote ? "remote" : "local");
    if (verdict != NULL)
        fprintf(t->out, " WRONG: %s", verdict);
    fputc('\n', t->out);
}
