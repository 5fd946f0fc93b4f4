/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns in their order, character by character: a log of a minute has millions of rows. What
 * can go wrong is everything, since logs are cut by crashes and edited by people: each number is
 * checked for its digits and its range, each word against its list.
 */
#include "tools/analyze/seglog_row.h"

#include <assert.h>
#include <string.h>

#include "tools/analyze/csv_fields.h"

static int read_verdict(struct word w)
{
    for (int i = 0; i < VERDICT_COUNT; i++)
        if (word_is(w, verdict_name((enum verdict)i)))
            return i;
    return -1;
}

static int read_cause(enum event_kind kind, struct word w)
{
    static const char *const reasons[] = {"first", "report", "timer", "answer", "proactive"};
    static const char *const timers[] = {"checkpoint", "report", "cancel", "idle"};
    static const char *const outcomes[] = {"done", "cancelled_local", "cancelled_remote", "lost",
                                           "discarded"};
    static const char *const links[] = {"down", "up", "receive_down", "receive_up"};
    switch (kind) {
    case EVENT_RX:
        return read_verdict(w);
    case EVENT_TX:
        return word_find(w, reasons, 5);
    case EVENT_TIMER:
        return word_find(w, timers, 4);
    case EVENT_CLOSE:
        return word_find(w, outcomes, 5);
    case EVENT_LINK:
        return word_find(w, links, 4);
    default:
        return w.len == 0 ? 0 : -1;
    }
}

static void read_kind(struct fields *f, struct event *e)
{
    static const char *const names[] = {"rx", "tx", "open", "close", "timer", "link"};
    int kind = word_find(fields_word(f), names, 6);
    if (kind < 0)
        fields_fail(f, "an unknown word in `dir`");
    e->kind = kind < 0 ? EVENT_LINK : (enum event_kind)kind;
}

static void read_type(struct fields *f, struct event *e)
{
    uint64_t type = fields_number(f, false);
    struct word name =
        fields_word(f); /* but for an orange block's end it follows from the number */
    struct word colour = fields_word(f);
    if (type != EVENT_NONE && type > 15)
        fields_fail(f, "a segment type above 15");
    e->type = type == EVENT_NONE ? -1 : (int)type;
    e->red = word_is(colour, "red");
    e->orange = !word_is(colour, "orange")          ? ORANGE_NONE
                : word_is(name, "orange_delivered") ? ORANGE_DELIVERED
                : word_is(name, "orange_lost")      ? ORANGE_LOST
                                                    : ORANGE_ASKS;
    if (colour.len > 0 && !e->red && e->orange == ORANGE_NONE && !word_is(colour, "green"))
        fields_fail(f, "a colour that is neither red, green nor orange");
}

/* What every row of its kind has. */
static void check_row(struct fields *f, const struct seglog_row *r)
{
    const struct event *e = &r->event;
    bool segment = e->kind == EVENT_TX || (e->kind == EVENT_RX && e->verdict < VERDICT_TRUNCATED);
    bool session =
        segment || e->kind == EVENT_OPEN || e->kind == EVENT_CLOSE || e->kind == EVENT_TIMER;
    if (e->now == EVENT_NONE || r->node == EVENT_NONE)
        fields_fail(f, "no time or no node");
    else if (session && (e->originator == EVENT_NONE || e->session == EVENT_NONE))
        fields_fail(f, "no session");
    else if (segment && e->type < 0)
        fields_fail(f, "a segment without a type");
}

/* A number, which may be the one that stands for none elsewhere. */
static uint64_t read_known(struct fields *f, bool *known)
{
    *known = f->p < f->end && *f->p != ',';
    return fields_number(f, false);
}

const char *seglog_row_parse(const char *line, size_t len, struct seglog_row *out)
{
    struct fields f = {.p = line, .end = line + len};
    struct event *e = &out->event;
    if (len > SEGLOG_LINE_MAX)
        return "a line longer than 4096 bytes";
    out->guessed = false;
    e->now = fields_number(&f, false);
    read_kind(&f, e);
    out->node = fields_number(&f, false);
    e->peer = read_known(&f, &e->has_peer);
    e->originator = read_known(&f, &e->has_id);
    e->session = fields_number(&f, false);
    read_type(&f, e);
    e->client_service = fields_number(&f, false);
    e->offset = fields_number(&f, false);
    e->length = fields_number(&f, false);
    e->cp_serial = fields_number(&f, false);
    e->rpt_serial = fields_number(&f, false);
    e->rs_lower = fields_number(&f, false);
    e->rs_upper = fields_number(&f, false);
    e->claims = fields_number(&f, false);
    e->claimed_bytes = fields_number(&f, false);
    e->cancel_reason = fields_number(&f, false);
    e->attempt = fields_number(&f, false);
    e->cause = f.bad == NULL ? read_cause(e->kind, fields_word(&f)) : 0;
    if (e->cause < 0)
        fields_fail(&f, "an unknown word in `cause`");
    e->verdict = e->kind == EVENT_RX ? e->cause : 0;
    e->udp_len = fields_number(&f, true);
    if (f.bad == NULL)
        check_row(&f, out);
    assert(f.bad != NULL || (e->cause >= 0 && e->type <= 15));
    return f.bad;
}

bool seglog_row_is_header(const char *line, size_t len)
{
    return len + 1 == strlen(event_csv_header) && memcmp(line, event_csv_header, len) == 0;
}
