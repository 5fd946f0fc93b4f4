/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns in the order of the log's own line of column names, character by character: a log of
 * a minute has millions of rows. What can go wrong is everything, since logs are cut by crashes and
 * edited by people: each number is checked for its digits and its range, each word against its
 * list. Words that depend on each other are checked when all of the row is read.
 */
#include "tools/analyze/input/seglog_row.h"

#include <assert.h>
#include <string.h>

#include "ltp/event_columns.h"
#include "tools/analyze/input/csv_fields.h"

static const char *const column_names[] = {
#define COLUMN_NAME(name, kind, field, meaning) #name,
    EVENT_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

static const struct column {
    enum event_column_kind kind;
    size_t offset; /* of a number in struct event */
} known_columns[] = {
#define COLUMN(name, kind, field, meaning) {COLUMN_##kind, offsetof(struct event, field)},
    EVENT_COLUMNS(COLUMN)
#undef COLUMN
};

static_assert(EVENT_COLUMN_COUNT < CSV_COLUMNS_MAX, "room for columns of newer versions");

/* The words of a row, until all of them are known. */
struct row_words {
    struct word direction, name, colour, cause;
};

static void read_type(struct fields *f, const struct row_words *w, struct event *e)
{
    e->red = word_is(w->colour, "red");
    e->orange = !word_is(w->colour, "orange")          ? ORANGE_NONE
                : word_is(w->name, "orange_delivered") ? ORANGE_DELIVERED
                : word_is(w->name, "orange_lost")      ? ORANGE_LOST
                                                       : ORANGE_ASKS;
    if (e->type > 15)
        fields_fail(f, "a segment type above 15");
    else if (w->colour.len > 0 && !e->red && e->orange == ORANGE_NONE &&
             !word_is(w->colour, "green"))
        fields_fail(f, "a colour that is neither red, green nor orange");
}

static void read_words(struct fields *f, const struct row_words *w, struct event *e)
{
    const struct event_words directions = event_direction_words();
    int kind = word_find(w->direction, directions.words, directions.count);
    if (kind < 0) {
        fields_fail(f, "an unknown word in `dir`");
        return;
    }
    e->kind = (enum event_kind)kind;
    const struct event_words causes = event_cause_words(e->kind);
    e->cause = word_find(w->cause, causes.words, causes.count);
    e->verdict = e->kind == EVENT_RX ? e->cause : 0;
    read_type(f, w, e);
    if (e->cause < 0)
        fields_fail(f, "an unknown word in `cause`");
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
    else if (e->kind == EVENT_MATRIX && (e->originator == EVENT_NONE || e->matrix == EVENT_NONE))
        fields_fail(f, "a matrix without its sender or number");
    else if (segment && e->type < 0)
        fields_fail(f, "a segment without a type");
}

/* A number, which may be the one that stands for none elsewhere. */
static uint64_t read_known(struct fields *f, bool *known, bool last)
{
    *known = f->p < f->end && *f->p != ',';
    return fields_number(f, last);
}

static int read_type_number(struct fields *f, bool last)
{
    uint64_t type = fields_number(f, last);
    return type == EVENT_NONE ? -1 : type > 15 ? 16 : (int)type;
}

static PORT_INLINE void read_column(struct fields *f, int at, bool last, struct row_words *w,
                                    struct seglog_row *out)
{
    struct event *e = &out->event;
    if (at == CSV_COLUMN_UNKNOWN) {
        (void)fields_word(f, last);
        return;
    }
    assert(at < EVENT_COLUMN_COUNT);
    const struct column *c = &known_columns[at];
    uint64_t *number = (uint64_t *)(void *)((char *)e + c->offset);
    switch (c->kind) {
    case COLUMN_TIME:
    case COLUMN_NUMBER:
        *number = fields_number(f, last);
        break;
    case COLUMN_NODE:
        out->node = fields_number(f, last);
        break;
    case COLUMN_PEER:
        *number = read_known(f, &e->has_peer, last);
        break;
    case COLUMN_ID:
        *number = read_known(f, &e->has_id, last);
        break;
    case COLUMN_TYPE:
        e->type = read_type_number(f, last);
        break;
    case COLUMN_DIRECTION:
        w->direction = fields_word(f, last);
        break;
    case COLUMN_NAME: /* but for an orange block's end it follows from the type */
        w->name = fields_word(f, last);
        break;
    case COLUMN_COLOUR:
        w->colour = fields_word(f, last);
        break;
    case COLUMN_CAUSE:
        w->cause = fields_word(f, last);
        break;
    }
}

/* The table expanded in place, with each column's kind known to the compiler: twice as fast as the
 * loop over the columns of any log. */
static void read_all(struct fields *f, struct row_words *w, struct seglog_row *out)
{
#define READ(name, kind, field, meaning)                                                           \
    read_column(f, EVENT_COLUMN_##name, EVENT_COLUMN_##name + 1 == EVENT_COLUMN_COUNT, w, out);
    EVENT_COLUMNS(READ)
#undef READ
}

static void read_some(struct fields *f, const struct csv_columns *columns, struct row_words *w,
                      struct seglog_row *out)
{
    out->event = event_make(EVENT_LINK, EVENT_NONE);
    for (int i = 0; i < columns->count && f->bad == NULL; i++)
        read_column(f, columns->at[i], i + 1 == columns->count, w, out);
}

const char *seglog_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                             struct seglog_row *out)
{
    struct fields f = {.p = line, .end = line + len};
    struct row_words words = {.name = {line, 0}};
    assert(columns->count > 0 && columns->count <= CSV_COLUMNS_MAX);
    if (len > SEGLOG_LINE_MAX)
        return "a line longer than 4096 bytes";
    out->guessed = false;
    if (columns->all)
        read_all(&f, &words, out);
    else
        read_some(&f, columns, &words, out);
    if (f.bad == NULL)
        read_words(&f, &words, &out->event);
    if (f.bad == NULL)
        check_row(&f, out);
    assert(f.bad != NULL || (out->event.cause >= 0 && out->event.type <= 15));
    return f.bad;
}

struct csv_columns seglog_columns_all(void)
{
    return csv_columns_all(EVENT_COLUMN_COUNT);
}

bool seglog_row_is_header(const char *line, size_t len)
{
    return csv_names_have(line, len, "t_ns") && csv_names_have(line, len, "dir");
}

const char *seglog_columns_parse(const char *line, size_t len, struct csv_columns *out)
{
    static const char *const missing[] = {
#define MISSING(name, kind, field, meaning) "no column `" #name "`",
        EVENT_COLUMNS(MISSING)
#undef MISSING
    };
    const char *why = csv_columns_parse(line, len, column_names, EVENT_COLUMN_COUNT, out);
    for (int at = 0; why == NULL && at < EVENT_COLUMN_COUNT; at++) {
        enum event_column_kind kind = known_columns[at].kind;
        if (kind != COLUMN_NUMBER && kind != COLUMN_NAME && !csv_columns_has(out, at))
            why = missing[at];
    }
    return why;
}
