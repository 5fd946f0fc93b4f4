/* SPDX-License-Identifier: Apache-2.0 */
/* A line is a comment, a directive, blank, or a run. Each other line is an error that says what
 * would be right; the caller adds the name of the file and the number of the line. */
#include "channel-emu/chan_text.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

void trace_text_init(struct trace_text *p, struct trace *t)
{
    *p = (struct trace_text){.trace = t};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(struct slice s)
{
    while (s.len > 0 && is_space((char)s.data[0]))
        s = slice_of(s.data + 1, s.len - 1);
    while (s.len > 0 && is_space((char)s.data[s.len - 1]))
        s.len--;
    return s;
}

/* Takes the next word off the line; empty when there is none. */
static struct slice word(struct slice *line)
{
    *line = trim(*line);
    struct slice w = slice_of(line->data, 0);
    while (w.len < line->len && !is_space((char)line->data[w.len]))
        w.len++;
    *line = slice_of(line->data + w.len, line->len - w.len);
    return w;
}

static bool number(struct slice w, uint64_t *out)
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

static int fail(struct trace_text *p, const char *what)
{
    snprintf(p->error, sizeof p->error, "%s", what);
    return HELIO_EFORMAT;
}

static int comment(struct trace_text *p, struct slice rest)
{
    struct slice name = word(&rest);
    uint64_t step;
    if (name.len != strlen("step_ns") || memcmp(name.data, "step_ns", name.len) != 0)
        return 0;
    if (!number(trim(rest), &step) || step == 0 || step > TICK_S * 3600)
        return fail(p, "step_ns wants nanoseconds, 1 to 3600000000000, such as '# step_ns 100000'");
    if (p->trace->len > 0)
        return fail(p, "step_ns must stand before the first run");
    if (!p->step_fixed)
        p->trace->step = step;
    return 0;
}

static int run(struct trace_text *p, struct slice line)
{
    struct slice state = word(&line), steps = word(&line);
    struct slice rest = trim(line);
    uint64_t bad, n;
    if (rest.len > 0 && rest.data[0] != '#')
        return fail(p, "more than two values; right is 'STATE STEPS', such as '0 267'");
    if (!number(state, &bad) || bad > 1)
        return fail(p, "the state must be 0 (good) or 1 (bad), as in '0 267' or '1 13'");
    if (!number(steps, &n) || n == 0)
        return fail(p, "the number of steps must be a whole number from 1, as in '0 267'");
    int rc = trace_add(p->trace, bad == 1, n);
    return rc == HELIO_EINVAL ? fail(p, "the trace becomes longer than 584 years") : rc;
}

int trace_text_line(struct trace_text *p, const char *line, size_t len)
{
    struct slice s = trim(slice_of(line, len));
    p->line++;
    if (len > TRACE_TEXT_LINE_MAX)
        return fail(p, "the line is longer than 256 characters; right is 'STATE STEPS'");
    if (s.len == 0)
        return 0;
    if (s.data[0] == '#')
        return comment(p, slice_of(s.data + 1, s.len - 1));
    return run(p, s);
}

int trace_text_end(struct trace_text *p)
{
    if (p->trace->len == 0)
        return fail(p, "no run in the file; right is at least one line such as '0 267'");
    return 0;
}
