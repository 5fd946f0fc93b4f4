/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of good and bad time, and a clock that moves through them in a loop. Time usually moves
 * forward by less than a run, so the clock remembers the run it is in and steps from there; a jump
 * back, or forward by more than a loop, searches from the first run. What can go wrong: memory,
 * and a trace longer than a tick can count.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "channel-emu/chan/chan.h"

void trace_init(struct trace *t, tick step)
{
    assert(step > 0);
    *t = (struct trace){.step = step};
}

void trace_fini(struct trace *t)
{
    free(t->runs);
    *t = (struct trace){.step = t->step};
}

static int grow_trace(struct trace *t)
{
    assert(t->len == t->cap);
    size_t cap = t->cap == 0 ? 64 : t->cap * 2;
    struct trace_run *runs = realloc(t->runs, cap * sizeof *runs);
    if (runs == NULL)
        return HELIO_ENOMEM;
    t->runs = runs;
    t->cap = cap;
    assert(t->cap > t->len);
    return 0;
}

int trace_add(struct trace *t, bool bad, uint64_t steps)
{
    assert(t->step > 0 && t->len <= t->cap);
    if (steps == 0 || steps > TICK_NEVER / t->step - t->steps)
        return HELIO_EINVAL;
    if (t->len > 0 && t->runs[t->len - 1].bad == bad) {
        t->runs[t->len - 1].steps += steps;
    } else {
        if (t->len == t->cap && grow_trace(t) < 0)
            return HELIO_ENOMEM;
        t->runs[t->len++] = (struct trace_run){.bad = bad, .steps = steps};
    }
    t->steps += steps;
    assert(t->len > 0 && t->steps >= steps);
    return 0;
}

static tick period_of(const struct trace *t)
{
    assert(t->steps > 0 && t->steps <= TICK_NEVER / t->step);
    return t->steps * t->step;
}

/* Where in the trace the instant lies; an instant before the origin is in an earlier loop. */
static tick position_at(const struct trace_clock *c, tick at)
{
    tick loop = period_of(c->trace);
    assert(loop > 0);
    tick offset = c->offset % loop;
    if (at >= c->origin) {
        tick past = (at - c->origin) % loop;
        return past < loop - offset ? past + offset : past - (loop - offset);
    }
    tick before = (c->origin - at) % loop;
    return before <= offset ? offset - before : loop - (before - offset);
}

static void search_run(struct trace_clock *c, tick at)
{
    const struct trace *t = c->trace;
    tick pos = position_at(c, at), start = 0;
    size_t run = 0;
    while (pos - start >= t->runs[run].steps * t->step)
        start += t->runs[run++].steps * t->step;
    assert(run < t->len);
    c->run = run;
    c->run_start = at > pos - start ? at - (pos - start) : 0;
    c->run_end = tick_add(at, t->runs[run].steps * t->step - (pos - start));
}

static void next_run(struct trace_clock *c)
{
    assert(c->run < c->trace->len);
    c->run = c->run + 1 == c->trace->len ? 0 : c->run + 1;
    c->run_start = c->run_end;
    c->run_end = tick_add(c->run_end, c->trace->runs[c->run].steps * c->trace->step);
}

static void seek_run(struct trace_clock *c, tick at)
{
    if (at < c->run_start || at - c->run_start >= period_of(c->trace)) {
        search_run(c, at);
        return;
    }
    assert(at >= c->run_start);
    while (at >= c->run_end && c->run_end != TICK_NEVER)
        next_run(c);
}

void trace_clock_init(struct trace_clock *c, const struct trace *t, tick origin, tick offset)
{
    assert(t->len > 0);
    *c = (struct trace_clock){.trace = t, .origin = origin, .offset = offset};
    search_run(c, origin);
}

static bool any_bad(const struct trace *t)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->runs[i].bad)
            return true;
    }
    return false;
}

bool trace_clock_bad(struct trace_clock *c, tick from, tick to)
{
    assert(from <= to);
    seek_run(c, from);
    if (c->trace->runs[c->run].bad)
        return true;
    if (to <= c->run_end)
        return false;
    if (to - from >= period_of(c->trace))
        return any_bad(c->trace);
    struct trace_clock ahead = *c;
    while (ahead.run_end < to) {
        next_run(&ahead);
        if (c->trace->runs[ahead.run].bad)
            return true;
    }
    return false;
}

bool trace_once(const struct trace *t, tick origin, tick offset, tick *from, tick *to)
{
    assert(*from <= *to);
    tick before = offset > origin ? offset - origin : 0; /* of the trace, before tick 0 */
    if (before >= period_of(t))
        return false;
    tick begin = origin > offset ? origin - offset : 0;
    tick end = tick_add(begin, period_of(t) - before);
    if (*from == *to)
        return *from >= begin && *from < end;
    if (*to <= begin || *from >= end)
        return false;
    *from = *from > begin ? *from : begin;
    *to = tick_min(*to, end);
    return true;
}

tick trace_clock_bad_time(struct trace_clock *c, tick from, tick to)
{
    if (to <= from)
        return 0;
    tick bad = 0;
    if (to - from >= period_of(c->trace))
        return trace_bad_time(c->trace, c->origin, c->offset, from, to);
    seek_run(c, from);
    for (struct trace_clock ahead = *c; from < to; next_run(&ahead)) {
        tick end = tick_min(ahead.run_end, to);
        bad += c->trace->runs[ahead.run].bad ? end - from : 0;
        from = end;
    }
    assert(bad <= period_of(c->trace));
    return bad;
}

tick trace_bad_time(const struct trace *t, tick origin, tick offset, tick from, tick to)
{
    if (to <= from)
        return 0;
    tick per_loop = 0;
    for (size_t i = 0; i < t->len; i++)
        per_loop += t->runs[i].bad ? t->runs[i].steps * t->step : 0;
    tick loops = (to - from) / period_of(t);
    tick bad = loops * per_loop;
    from += loops * period_of(t);

    struct trace_clock c;
    trace_clock_init(&c, t, origin, offset);
    assert(from <= to && per_loop <= period_of(t));
    return bad + trace_clock_bad_time(&c, from, to);
}

tick trace_free_time(const struct trace *t, tick origin, tick offset, tick from, tick to, tick air)
{
    assert(air > 0);
    if (to <= from || !any_bad(t))
        return to > from ? to - from : 0;
    struct trace_clock c;
    tick found = 0;
    trace_clock_init(&c, t, origin, offset);
    for (seek_run(&c, from); from < to; next_run(&c)) {
        if (!t->runs[c.run].bad)
            continue;
        tick meets = c.run_start >= air ? c.run_start - air + 1 : 0; /* the first that meets it */
        meets = tick_min(meets, to);
        found += meets > from ? meets - from : 0;
        from = from > c.run_end ? from : c.run_end;
    }
    return found;
}
