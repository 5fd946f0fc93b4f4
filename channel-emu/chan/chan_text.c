/* SPDX-License-Identifier: Apache-2.0 */
/* A line is a comment, a directive, blank, a title, or a run of the form that the first line chose.
 * Each other line is an error that says what would be right; the caller adds the name of the file
 * and the number of the line. */
#include "channel-emu/chan/chan_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"

void trace_text_init(struct trace_text *p, struct trace *t)
{
    assert(t->step > 0);
    *p = (struct trace_text){.trace = t};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim_space(struct slice s)
{
    while (s.len > 0 && is_space((char)s.data[0]))
        s = slice_of(s.data + 1, s.len - 1);
    while (s.len > 0 && is_space((char)s.data[s.len - 1]))
        s.len--;
    return s;
}

/* Takes the next word off the line; empty when there is none. */
static struct slice take_word(struct slice *line)
{
    *line = trim_space(*line);
    struct slice w = slice_of(line->data, 0);
    while (w.len < line->len && !is_space((char)line->data[w.len]))
        w.len++;
    *line = slice_of(line->data + w.len, line->len - w.len);
    return w;
}

static bool parse_number(struct slice w, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < w.len; i++) {
        uint64_t digit = (uint64_t)(w.data[i] - '0');
        if (w.data[i] < '0' || w.data[i] > '9' || v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return w.len > 0;
}

static int fail_at(struct trace_text *p, const char *what)
{
    snprintf(p->error, sizeof p->error, "%s", what);
    return HELIO_EFORMAT;
}

static bool is_word(struct slice w, const char *text)
{
    return slice_equal(w, slice_of(text, strlen(text)));
}

static int step_ns(struct trace_text *p, struct slice value)
{
    uint64_t step;
    if (!parse_number(value, &step) || step == 0 || step > TRACE_STEP_MAX)
        return fail_at(p,
                       "step_ns wants nanoseconds, 1 to 3600000000000, such as '# step_ns 100000'");
    if (p->trace->len > 0)
        return fail_at(p, "step_ns must stand before the first run");
    if (!p->step_fixed)
        p->trace->step = step;
    return 0;
}

/* What cannot be such a text is a comment like any other. */
static void copy_text(char *out, size_t room, struct slice s, bool one_word)
{
    if (s.len >= room)
        return;
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] < ' ' || s.data[i] > '~' || (one_word && s.data[i] == ' '))
            return;
    }
    if (s.len > 0)
        memcpy(out, s.data, s.len);
    out[s.len] = '\0';
}

/* A number and its unit; false when it is none. */
static bool parse_time(struct slice number, const char *unit, tick *out)
{
    char text[48];
    snprintf(text, sizeof text, "%.*s%s", (int)(number.len < 30 ? number.len : 30),
             (const char *)number.data, unit);
    return number.len > 0 && number.len <= 30 && units_duration(text, out) == 0;
}

static int parse_end(struct trace_text *p, struct slice value)
{
    if (!parse_time(value, "s", &p->events.end))
        return fail_at(p, "end_s wants the end of the trace in seconds, such as '# end_s 100'");
    return 0;
}

static int parse_comment(struct trace_text *p, struct slice rest)
{
    struct trace_about *a = &p->about;
    struct slice name = take_word(&rest);
    rest = trim_space(rest);
    if (is_word(name, "step_ns"))
        return step_ns(p, rest);
    if (is_word(name, "generator"))
        copy_text(a->generator, sizeof a->generator, rest, true);
    else if (is_word(name, "parameters"))
        copy_text(a->parameters, sizeof a->parameters, rest, false);
    else if (is_word(name, "seed"))
        a->seeded = parse_number(rest, &a->seed);
    else if (is_word(name, "end_s"))
        return parse_end(p, rest);
    return 0;
}

static int add_run(struct trace_text *p, bool bad, uint64_t steps)
{
    assert(steps > 0);
    int rc = trace_add(p->trace, bad, steps);
    return rc == HELIO_EINVAL ? fail_at(p, "the trace becomes longer than 584 years") : rc;
}

static int parse_run(struct trace_text *p, struct slice line)
{
    struct slice state = take_word(&line), steps = take_word(&line);
    struct slice rest = trim_space(line);
    uint64_t bad, n;
    if (rest.len > 0 && rest.data[0] != '#')
        return fail_at(p, "more than two values; right is 'STATE STEPS', such as '0 267'");
    if (!parse_number(state, &bad) || bad > 1)
        return fail_at(p, "the state must be 0 (good) or 1 (bad), as in '0 267' or '1 13'");
    if (!parse_number(steps, &n) || n == 0)
        return fail_at(p, "the number of steps must be a whole number from 1, as in '0 267'");
    return add_run(p, bad == 1, n);
}

static int single_step(struct trace_text *p, struct slice line)
{
    struct slice state = take_word(&line);
    struct slice rest = trim_space(line);
    if ((rest.len > 0 && rest.data[0] != '#') || (!is_word(state, "0") && !is_word(state, "1")))
        return fail_at(p, "the line must be 0 (good) or 1 (bad), as the first one was");
    return add_run(p, state.data[0] == '1', 1);
}

static int parse_title(struct trace_text *p, struct slice line)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    char right[32];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        snprintf(right, sizeof right, "state,duration_%s", units[i]);
        if (is_word(line, right)) {
            snprintf(p->unit, sizeof p->unit, "%s", units[i]);
            return 0;
        }
        snprintf(right, sizeof right, "time_%s,lost", units[i]);
        if (is_word(line, right)) {
            snprintf(p->unit, sizeof p->unit, "%s", units[i]);
            p->form = TRACE_FRAMES;
            return 0;
        }
    }
    return fail_at(p, "the title of a CSV must be state,duration_ms or, of frames, time_ms,lost "
                      "(or _ns, _us, _s)");
}

static int parse_row(struct trace_text *p, struct slice line)
{
    char text[48];
    tick duration;
    const uint8_t *comma = memchr(line.data, ',', line.len);
    if (comma == NULL)
        return fail_at(p, "the row has no comma; right is 'good,26.7' or 'bad,1.3'");
    struct slice state = trim_space(slice_of(line.data, (size_t)(comma - line.data)));
    struct slice value =
        trim_space(slice_of(comma + 1, line.len - (size_t)(comma - line.data) - 1));
    bool bad = is_word(state, "bad") || is_word(state, "1");
    if (!bad && !is_word(state, "good") && !is_word(state, "0"))
        return fail_at(p, "the state must be good or bad (or 0, 1), as in 'good,26.7'");
    if (value.len > 30)
        return fail_at(p, "the duration has more than 30 characters");
    snprintf(text, sizeof text, "%.*s%s", (int)value.len, (const char *)value.data, p->unit);
    if (units_duration(text, &duration) < 0 || duration == 0)
        return fail_at(p, "the duration must be a number above 0 such as 26.7");
    if (duration % p->trace->step != 0) {
        snprintf(
            p->error, sizeof p->error,
            "the duration is not a multiple of the step of %llu ns; write '# step_ns N' before "
            "the title, or give another step",
            (unsigned long long)p->trace->step);
        return HELIO_EFORMAT;
    }
    return add_run(p, bad, duration / p->trace->step);
}

/* The state holds up to that step. */
static int hold_until(struct trace_text *p, uint64_t step)
{
    struct trace_events *e = &p->events;
    int rc = 0;
    if (step <= e->at)
        return 0;
    uint64_t more = step - e->at - 1;
    rc = add_run(p, e->bad, 1);
    if (rc == 0 && more > 0)
        rc = add_run(p, e->bad_after, more);
    e->at = step;
    e->bad = e->bad_after;
    e->met = false;
    return rc;
}

static uint64_t nearest_step(tick at, tick step)
{
    return at / step + (at % step >= step - step / 2);
}

/* Times do not fall. */
static int event_time(struct trace_text *p, struct slice word, const char *unit, tick *out)
{
    if (!parse_time(word, unit, out))
        return fail_at(p, "the time must be a number such as 26.7");
    if (*out < p->events.last)
        return fail_at(p, "the time is before that of the line above; right is the order of time");
    p->events.last = *out;
    return 0;
}

/* False: the nodes are not those of the first line. */
static bool same_direction(struct trace_events *e, struct slice a, struct slice b)
{
    if (e->pair[0][0] == '\0') {
        snprintf(e->pair[0], sizeof e->pair[0], "%.*s", (int)a.len, (const char *)a.data);
        snprintf(e->pair[1], sizeof e->pair[1], "%.*s", (int)b.len, (const char *)b.data);
    }
    return is_word(a, e->pair[0]) && is_word(b, e->pair[1]);
}

static bool is_node(const struct trace_events *e, struct slice word)
{
    return word.len > 0 && word.len < sizeof e->pair[0];
}

static int parse_one(struct trace_text *p, struct slice line)
{
    struct slice when = take_word(&line), conn = take_word(&line), a = take_word(&line),
                 b = take_word(&line), state = take_word(&line), rest = trim_space(line);
    bool up = is_word(state, "up") || is_word(state, "UP");
    tick at;
    if (!is_word(conn, "CONN") || !is_node(&p->events, a) || !is_node(&p->events, b) ||
        (rest.len > 0 && rest.data[0] != '#') ||
        (!up && !is_word(state, "down") && !is_word(state, "DOWN")))
        return fail_at(p, "right is 'TIME CONN NODE NODE up' or 'down', such as '10 CONN 7 9 up'");
    if (!same_direction(&p->events, a, b) && !same_direction(&p->events, b, a)) {
        snprintf(p->error, sizeof p->error,
                 "nodes other than %s and %s; a trace is of one pair: keep the lines of that one",
                 p->events.pair[0], p->events.pair[1]);
        return HELIO_EFORMAT;
    }
    int rc = event_time(p, when, "s", &at);
    if (rc == 0)
        rc = hold_until(p, nearest_step(at, p->trace->step));
    p->events.bad = p->events.bad_after = !up;
    return rc;
}

static bool begins_number(struct slice word)
{
    return word.len > 0 && word.data[0] >= '0' && word.data[0] <= '9';
}

/* ION writes times with a plus sign; DtnSim reads them with and without. */
static struct slice take_time(struct slice *line)
{
    struct slice w = take_word(line);
    return w.len > 0 && w.data[0] == '+' ? slice_of(w.data + 1, w.len - 1) : w;
}

static int add_contact(struct trace_text *p, tick start, tick end)
{
    int rc = hold_until(p, nearest_step(start, p->trace->step));
    p->events.bad = p->events.bad_after = false;
    if (rc == 0)
        rc = hold_until(p, nearest_step(end, p->trace->step));
    p->events.bad = p->events.bad_after = true;
    return rc;
}

/* `a range` has light times, which are not in a trace. */
static int parse_dtnsim(struct trace_text *p, struct slice line)
{
    struct slice add = take_word(&line), what = take_word(&line), from = take_time(&line),
                 until = take_time(&line), a = take_word(&line), b = take_word(&line),
                 rate = take_word(&line), more = take_word(&line), rest = trim_space(line);
    tick start, end;
    if (!is_word(add, "a") || (!is_word(what, "contact") && !is_word(what, "range")) ||
        !is_node(&p->events, a) || !is_node(&p->events, b) || !begins_number(rate) ||
        (more.len > 0 && more.data[0] != '#' &&
         (!begins_number(more) || (rest.len > 0 && rest.data[0] != '#'))))
        return fail_at(p, "right is 'a contact START END FROM TO RATE', such as "
                          "'a contact 10 27 1 2 125000'");
    if (is_word(what, "range"))
        return 0;
    if (!same_direction(&p->events, a, b)) {
        snprintf(p->error, sizeof p->error,
                 "a contact other than from %s to %s; a trace is of one direction: keep its lines",
                 p->events.pair[0], p->events.pair[1]);
        return HELIO_EFORMAT;
    }
    int rc = event_time(p, from, "s", &start);
    if (rc == 0)
        rc = event_time(p, until, "s", &end);
    return rc == 0 ? add_contact(p, start, end) : rc;
}

/* A step is bad in which a frame was lost; those without a frame are as the last frame was. */
static int parse_frame(struct trace_text *p, struct slice line)
{
    const uint8_t *comma = memchr(line.data, ',', line.len);
    size_t before = comma == NULL ? 0 : (size_t)(comma - line.data);
    struct slice when = trim_space(slice_of(line.data, before));
    struct slice lost =
        comma == NULL ? when : trim_space(slice_of(comma + 1, line.len - before - 1));
    struct trace_events *e = &p->events;
    tick at;
    if (!is_word(lost, "0") && !is_word(lost, "1"))
        return fail_at(p, "right is a time and 0 (arrived) or 1 (lost), such as '12.25,0'");
    int rc = event_time(p, when, p->unit, &at);
    if (rc == 0)
        rc = hold_until(p, at / p->trace->step);
    e->bad_after = lost.data[0] == '1';
    e->bad = e->bad_after || (e->bad && e->met);
    e->met = true;
    return rc;
}

static enum trace_form form_of(struct slice line)
{
    const uint8_t *hash = memchr(line.data, '#', line.len);
    if (hash != NULL)
        line.len = (size_t)(hash - line.data);
    if (line.len > 0 && memchr(line.data, ',', line.len) != NULL)
        return TRACE_CSV;
    struct slice first = take_word(&line), rest = line;
    bool alone = trim_space(line).len == 0;
    struct slice second = take_word(&rest);
    if (is_word(second, "CONN"))
        return TRACE_ONE;
    if (is_word(first, "a") && (is_word(second, "contact") || is_word(second, "range")))
        return TRACE_DTNSIM;
    return alone && (is_word(first, "0") || is_word(first, "1")) ? TRACE_STEPS : TRACE_RUNS;
}

int trace_text_line(struct trace_text *p, const char *line, size_t len)
{
    struct slice s = trim_space(slice_of(line, len));
    p->line++;
    if (len > TRACE_TEXT_LINE_MAX)
        return fail_at(p, "the line is longer than 1024 characters; right is 'STATE STEPS'");
    if (s.len == 0)
        return 0;
    if (s.data[0] == '#')
        return parse_comment(p, slice_of(s.data + 1, s.len - 1));
    bool first = p->form == TRACE_UNKNOWN;
    if (first)
        p->form = form_of(s);
    bool contacts = p->form == TRACE_ONE || p->form == TRACE_DTNSIM;
    if (first && contacts)
        p->events.bad = p->events.bad_after = true; /* until the first one */
    if (contacts)
        return p->form == TRACE_ONE ? parse_one(p, s) : parse_dtnsim(p, s);
    if (p->form == TRACE_FRAMES)
        return parse_frame(p, s);
    if (p->form == TRACE_CSV)
        return first ? parse_title(p, s) : parse_row(p, s);
    return p->form == TRACE_STEPS ? single_step(p, s) : parse_run(p, s);
}

int trace_text_end(struct trace_text *p)
{
    int rc = 0;
    if (p->form == TRACE_FRAMES && p->events.met)
        rc = hold_until(p, p->events.at + 1); /* the last frame's step */
    else if (p->form == TRACE_ONE || p->form == TRACE_DTNSIM)
        rc = hold_until(p, nearest_step(p->events.end, p->trace->step));
    if (rc < 0)
        return rc;
    if (p->trace->len == 0)
        return fail_at(p, "no run in the file; right is at least one line such as '0 267'");
    return 0;
}
