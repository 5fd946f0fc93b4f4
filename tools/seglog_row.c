/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns in their order, character by character: a log of a minute has millions of rows. What
 * can go wrong is everything, since logs are cut by crashes and edited by people: each number is
 * checked for its digits and its range, each word against its list.
 */
#include "tools/seglog_row.h"

#include <string.h>

#include "base/port.h"

struct fields {
    const char *p, *end;
    const char *bad; /* the first thing that was wrong */
};

static void fail(struct fields *f, const char *what)
{
    if (f->bad == NULL)
        f->bad = what;
    f->p = f->end;
}

/* After a column: its comma, or the end of the last one. */
static void next(struct fields *f, bool last)
{
    if (last ? f->p != f->end : f->p == f->end || *f->p != ',')
        fail(f, last ? "too many columns" : f->p == f->end ? "too few columns" : "not a number");
    else if (!last)
        f->p++;
}

/* A number below EVENT_NONE, or nothing. */
static uint64_t number(struct fields *f, bool last)
{
    uint64_t v = 0;
    const char *start = f->p;
    for (; f->p < f->end; f->p++) {
        unsigned digit = (unsigned)(unsigned char)*f->p - '0';
        if (digit > 9)
            break;
        if (PORT_UNLIKELY(v > (UINT64_MAX - 1 - digit) / 10)) {
            fail(f, "a number above 2^64 - 2");
            return EVENT_NONE;
        }
        v = v * 10 + digit;
    }
    bool any = f->p != start;
    if (last && f->p != f->end)
        fail(f, *f->p == ',' ? "too many columns" : "not a number");
    else
        next(f, last);
    return any ? v : EVENT_NONE;
}

struct word {
    const char *at;
    size_t len;
};

static struct word word(struct fields *f)
{
    struct word w = {f->p, 0};
    while (f->p < f->end && *f->p != ',')
        f->p++;
    w.len = (size_t)(f->p - w.at);
    next(f, false);
    return w;
}

static bool is(struct word w, const char *text)
{
    return strlen(text) == w.len && memcmp(w.at, text, w.len) == 0;
}

/* The index of the word in a list, -1 when it is not in. */
static int find(struct word w, const char *const *list, int len)
{
    for (int i = 0; i < len; i++)
        if (is(w, list[i]))
            return i;
    return -1;
}

static int verdict(struct word w)
{
    for (int i = 0; i < VERDICT_COUNT; i++)
        if (is(w, verdict_name((enum verdict)i)))
            return i;
    return -1;
}

static int cause(enum event_kind kind, struct word w)
{
    static const char *const reasons[] = {"first", "report", "timer", "answer", "proactive"};
    static const char *const timers[] = {"checkpoint", "report", "cancel", "idle"};
    static const char *const outcomes[] = {"done", "cancelled_local", "cancelled_remote", "lost"};
    static const char *const links[] = {"down", "up"};
    switch (kind) {
    case EVENT_RX:
        return verdict(w);
    case EVENT_TX:
        return find(w, reasons, 5);
    case EVENT_TIMER:
        return find(w, timers, 4);
    case EVENT_CLOSE:
        return find(w, outcomes, 4);
    case EVENT_LINK:
        return find(w, links, 2);
    default:
        return w.len == 0 ? 0 : -1;
    }
}

static void read_kind(struct fields *f, struct event *e)
{
    static const char *const names[] = {"rx", "tx", "open", "close", "timer", "link"};
    int kind = find(word(f), names, 6);
    if (kind < 0)
        fail(f, "an unknown word in `dir`");
    e->kind = kind < 0 ? EVENT_LINK : (enum event_kind)kind;
}

static void read_type(struct fields *f, struct event *e)
{
    uint64_t type = number(f, false);
    struct word name = word(f); /* but for an orange block's end it follows from the number */
    struct word colour = word(f);
    if (type != EVENT_NONE && type > 15)
        fail(f, "a segment type above 15");
    e->type = type == EVENT_NONE ? -1 : (int)type;
    e->red = is(colour, "red");
    e->orange = !is(colour, "orange")          ? ORANGE_NONE
                : is(name, "orange_delivered") ? ORANGE_DELIVERED
                : is(name, "orange_lost")      ? ORANGE_LOST
                                               : ORANGE_ASKS;
    if (colour.len > 0 && !e->red && e->orange == ORANGE_NONE && !is(colour, "green"))
        fail(f, "a colour that is neither red, green nor orange");
}

/* What every row of its kind has. */
static void check(struct fields *f, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    bool segment = e->kind == EVENT_TX || (e->kind == EVENT_RX && e->verdict < VERDICT_TRUNCATED);
    bool session =
        segment || e->kind == EVENT_OPEN || e->kind == EVENT_CLOSE || e->kind == EVENT_TIMER;
    if (e->now == EVENT_NONE || r->node == EVENT_NONE)
        fail(f, "no time or no node");
    else if (session && (e->originator == EVENT_NONE || e->session == EVENT_NONE))
        fail(f, "no session");
    else if (segment && e->type < 0)
        fail(f, "a segment without a type");
}

const char *seglog_row_parse(const char *line, size_t len, struct seglog_row *out)
{
    struct fields f = {.p = line, .end = line + len};
    struct event *e = &out->event;
    if (len > SEGLOG_LINE_MAX)
        return "a line longer than 4096 bytes";
    e->now = number(&f, false);
    read_kind(&f, e);
    out->node = number(&f, false);
    e->peer = number(&f, false);
    e->originator = number(&f, false);
    e->session = number(&f, false);
    read_type(&f, e);
    e->client_service = number(&f, false);
    e->offset = number(&f, false);
    e->length = number(&f, false);
    e->cp_serial = number(&f, false);
    e->rpt_serial = number(&f, false);
    e->rs_lower = number(&f, false);
    e->rs_upper = number(&f, false);
    e->claims = number(&f, false);
    e->claimed_bytes = number(&f, false);
    e->cancel_reason = number(&f, false);
    e->attempt = number(&f, false);
    e->cause = f.bad == NULL ? cause(e->kind, word(&f)) : 0;
    if (e->cause < 0)
        fail(&f, "an unknown word in `cause`");
    e->verdict = e->kind == EVENT_RX ? e->cause : 0;
    e->udp_len = number(&f, true);
    if (f.bad == NULL)
        check(&f, out);
    return f.bad;
}

bool seglog_row_is_header(const char *line, size_t len)
{
    return len + 1 == strlen(event_csv_header) && memcmp(line, event_csv_header, len) == 0;
}
