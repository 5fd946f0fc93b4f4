/* SPDX-License-Identifier: Apache-2.0 */
/* A run of good steps is a contact; a frame meets the step of its time. Times are exact decimals,
 * so a trace that is read again has the same runs. Contacts say where the trace ends: ONE by a last
 * `down`, which does nothing where the nodes are not connected, DtnSim by a comment. */
#include "channel-emu/trace/trace_export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void trace_time_text(char *out, tick at, tick unit)
{
    int digits = unit == TICK_S ? 9 : 6;
    assert(unit == TICK_S || unit == TICK_MS);
    int n = snprintf(out, TRACE_TIME_MAX, "%" PRIu64 ".%0*" PRIu64, at / unit, digits, at % unit);
    while (out[n - 1] == '0')
        n--;
    out[out[n - 1] == '.' ? n - 1 : n] = '\0';
}

static bool write_event(gzFile file, tick at, const struct trace_export *x, const char *what)
{
    char time[TRACE_TIME_MAX];
    trace_time_text(time, at, TICK_S);
    return gzprintf(file, "%s CONN %" PRIu64 " %" PRIu64 " %s\n", time, x->nodes[0], x->nodes[1],
                    what) > 0;
}

static bool write_one(const struct trace *t, const struct trace_export *x, gzFile file)
{
    bool ok = true;
    tick at = 0;
    for (size_t i = 0; ok && i < t->len; i++) {
        if (at > 0 || !t->runs[i].bad)
            ok = write_event(file, at, x, t->runs[i].bad ? "down" : "up");
        at += t->runs[i].steps * t->step;
    }
    return ok && write_event(file, at, x, "down");
}

static bool write_contact(gzFile file, tick start, tick end, const struct trace_export *x)
{
    char from[TRACE_TIME_MAX], until[TRACE_TIME_MAX], rate[TRACE_TIME_MAX];
    trace_time_text(from, start, TICK_S);
    trace_time_text(until, end, TICK_S);
    int n = snprintf(rate, sizeof rate, "%" PRIu64, x->rate_bps / 8); /* bytes a second */
    if (x->rate_bps % 8 != 0)
        snprintf(rate + n, sizeof rate - (size_t)n, ".%03u", (unsigned)(x->rate_bps % 8) * 125);
    return gzprintf(file, "a contact %s %s %" PRIu64 " %" PRIu64 " %s\n", from, until, x->nodes[0],
                    x->nodes[1], rate) > 0;
}

static bool write_dtnsim(const struct trace *t, const struct trace_export *x, gzFile file)
{
    char end[TRACE_TIME_MAX];
    tick at = 0;
    trace_time_text(end, t->steps * t->step, TICK_S);
    bool ok = gzprintf(file, "# end_s %s\n", end) > 0;
    if (ok && t->len == 1 && t->runs[0].bad) /* a line of DtnSim, though there is no contact */
        return gzprintf(file, "a range 0 %s %" PRIu64 " %" PRIu64 " 0\n", end, x->nodes[0],
                        x->nodes[1]) > 0;
    for (size_t i = 0; ok && i < t->len; i++) {
        tick until = at + t->runs[i].steps * t->step;
        if (!t->runs[i].bad)
            ok = write_contact(file, at, until, x);
        at = until;
    }
    return ok;
}

static bool write_frames(const struct trace *t, const struct trace_export *x, gzFile file)
{
    tick at = 0, end = 0, every = x->every == 0 ? t->step : x->every;
    bool ok = gzprintf(file, "time_s,lost\n") > 0;
    for (size_t i = 0; ok && i < t->len; i++) {
        end += t->runs[i].steps * t->step;
        for (; ok && at < end; at += every) {
            char time[TRACE_TIME_MAX];
            trace_time_text(time, at, TICK_S);
            ok = gzprintf(file, "%s,%d\n", time, t->runs[i].bad) > 0;
        }
    }
    return ok;
}

bool trace_export_lines(const struct trace *t, enum trace_form form, const struct trace_export *x,
                        gzFile file)
{
    if (form == TRACE_ONE)
        return write_one(t, x, file);
    if (form == TRACE_DTNSIM)
        return write_dtnsim(t, x, file);
    assert(form == TRACE_FRAMES);
    return write_frames(t, x, file);
}
