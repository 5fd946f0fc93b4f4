/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment log. event_columns.h is the table of columns. The writer expands the table in place:
 * it writes 60,000 lines a second and more, so it has no loop over columns. Nothing can fail: every
 * field has a maximum length, and EVENT_CSV_MAX holds them all.
 */
#include "ltp/event.h"

#include <assert.h>

#include "base/csv.h"
#include "ltp/event_columns.h"

#define COMMA_NAME(name, kind, field, meaning) "," #name
const char event_csv_header[] = "t_ns" EVENT_COLUMNS_AFTER_TIME(COMMA_NAME) "\n";

/* How an event lacks a column of each kind; those of the other kinds follow from its own kind. */
#define ABSENT_TIME(field)
#define ABSENT_DIRECTION(field)
#define ABSENT_NODE(field)
#define ABSENT_PEER(field) .field = EVENT_NONE,
#define ABSENT_ID(field) .field = EVENT_NONE,
#define ABSENT_TYPE(field) .field = -1,
#define ABSENT_NAME(field)
#define ABSENT_COLOUR(field)
#define ABSENT_CAUSE(field)
#define ABSENT_NUMBER(field) .field = EVENT_NONE,
#define ABSENT(name, column, field, meaning) ABSENT_##column(field)

struct event event_make(enum event_kind kind, tick now)
{
    return (struct event){.now = now, .kind = kind, EVENT_COLUMNS(ABSENT)};
}

const char *event_type_name(int type)
{
    /* RFC 5326 §3.1.1, with the abbreviations of its state diagrams (§8) spelled out */
    static const char *const names[16] = {"red_data",        "red_cp",
                                          "red_cp_eorp",     "red_cp_eob",
                                          "green_data",      "green_undefined",
                                          "green_undefined", "green_eob",
                                          "report",          "report_ack",
                                          "undefined",       "undefined",
                                          "cancel_sender",   "cancel_ack_to_sender",
                                          "cancel_receiver", "cancel_ack_to_receiver"};
    return type >= 0 && type < 16 ? names[type] : "?";
}

#define VERDICT_NAME(name, text) text,
static const char *const verdicts[] = {VERDICTS(VERDICT_NAME)};

const char *verdict_name(enum verdict v)
{
    assert(v < VERDICT_COUNT);
    return verdicts[v];
}

static const char *const directions[] = {"rx", "tx", "open", "close", "timer", "link", "matrix"};
static const char *const reasons[] = {"first", "report", "timer", "answer", "proactive"};
static const char *const no_cause[] = {""};
static const char *const outcomes[] = {"done", "cancelled_local", "cancelled_remote", "lost",
                                       "discarded"};
static const char *const timers[] = {"checkpoint", "report", "cancel", "idle"};
static const char *const links[] = {"down", "up", "receive_down", "receive_up"};
static const char *const matrices[] = {"sent",     "answered", "whole",
                                       "repaired", "failed",   "displaced"};

#define WORDS(list)                                                                                \
    {                                                                                              \
        list, (int)(sizeof list / sizeof list[0])                                                  \
    }
static const struct event_words direction_words = WORDS(directions);
static const struct event_words cause_words[] = {
    [EVENT_RX] = WORDS(verdicts),     [EVENT_TX] = WORDS(reasons),   [EVENT_OPEN] = WORDS(no_cause),
    [EVENT_CLOSE] = WORDS(outcomes),  [EVENT_TIMER] = WORDS(timers), [EVENT_LINK] = WORDS(links),
    [EVENT_MATRIX] = WORDS(matrices),
};

struct event_words event_direction_words(void)
{
    return direction_words;
}

struct event_words event_cause_words(enum event_kind kind)
{
    return cause_words[kind];
}

static const char *event_name(const struct event *e)
{
    if (e->orange == ORANGE_DELIVERED || e->orange == ORANGE_LOST)
        return e->orange == ORANGE_LOST ? "orange_lost" : "orange_delivered";
    return e->type < 0 ? "" : event_type_name(e->type);
}

static const char *colour_word(const struct event *e)
{
    if (e->orange != ORANGE_NONE)
        return "orange";
    if (e->type < 0 || e->type >= 8)
        return "";
    return e->type < 4 ? "red" : "green";
}

static const char *cause_word(const struct event *e)
{
    int cause = e->kind == EVENT_RX ? e->verdict : e->kind == EVENT_OPEN ? 0 : e->cause;
    assert(cause >= 0 && cause < cause_words[e->kind].count);
    return cause_words[e->kind].words[cause];
}

/* The columns of each kind; t_ns is the first and has no comma before it. */
#define PUT_TIME(field) csv_number(p, e->field + epoch)
#define PUT_DIRECTION(field) csv_word(p, directions[e->field])
#define PUT_NODE(field) csv_known(p, node, true)
#define PUT_PEER(field) csv_known(p, e->field, e->has_peer || e->field != EVENT_NONE)
#define PUT_ID(field) csv_known(p, e->field, e->has_id || e->field != EVENT_NONE)
#define PUT_TYPE(field) csv_known(p, (uint64_t)e->field, e->field >= 0)
#define PUT_NAME(field) csv_word(p, event_name(e))
#define PUT_COLOUR(field) csv_word(p, colour_word(e))
#define PUT_CAUSE(field) csv_word(p, cause_word(e))
#define PUT_NUMBER(field) csv_known(p, e->field, e->field != EVENT_NONE)
#define PUT(name, kind, field, meaning) p = PUT_##kind(field);

uint32_t event_csv(const struct event *e, uint64_t node, uint64_t epoch, char out[EVENT_CSV_MAX])
{
    char *p = out;
    EVENT_COLUMNS(PUT)
    *p++ = '\n';
    assert(p - out <= EVENT_CSV_MAX);
    return (uint32_t)(p - out);
}
