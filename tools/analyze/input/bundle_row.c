/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns in the order of the log's own line of column names. What can go wrong is everything,
 * since logs are cut by crashes and edited by people: each number is checked for its digits and its
 * range, each word against its list, and each kind of row for what it must have.
 */
#include "tools/analyze/input/bundle_row.h"

#include <assert.h>
#include <string.h>

#include "tools/analyze/input/csv_fields.h"

/* Where a column of each kind lies in struct bundle_row. */
#define OFFSET_TIME(name) offsetof(struct bundle_row, now)
#define OFFSET_EVENT(name) offsetof(struct bundle_row, kind)
#define OFFSET_ORIGIN(name) offsetof(struct bundle_row, from)
#define OFFSET_NUMBER(name) offsetof(struct bundle_row, name)
#define OFFSET_EID(name) offsetof(struct bundle_row, name)
#define OFFSET_NODE(name) offsetof(struct bundle_row, name)
#define OFFSET_LINK(name) offsetof(struct bundle_row, name)
#define OFFSET_REASON(name) offsetof(struct bundle_row, name)

static const char *const column_names[] = {
#define COLUMN_NAME(name, kind, value, known, meaning) #name,
    BUNDLE_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

static const struct column {
    enum bundle_column_kind kind;
    size_t offset;
} known_columns[] = {
#define COLUMN(name, kind, value, known, meaning) {BUNDLE_COLUMN_##kind, OFFSET_##kind(name)},
    BUNDLE_COLUMNS(COLUMN)
#undef COLUMN
};

static_assert(BUNDLE_COLUMN_COUNT < CSV_COLUMNS_MAX, "room for columns of newer versions");

static struct bundle_number read_number(struct fields *f, bool last)
{
    struct bundle_number n = {0};
    for (; f->p < f->end && *f->p >= '0' && *f->p <= '9'; f->p++) {
        uint64_t digit = (uint64_t)(*f->p - '0');
        if (n.value > (UINT64_MAX - digit) / 10) {
            fields_fail(f, "a number above 2^64 - 1");
            return (struct bundle_number){0};
        }
        n.value = n.value * 10 + digit;
        n.known = true;
    }
    fields_next(f, last);
    return n;
}

/* Up to the next comma; in a quoted text, two quotes are one quote. */
static struct bundle_text read_text(struct fields *f, bool last)
{
    struct bundle_text t = {.at = f->p};
    if (f->p < f->end && *f->p == '"') {
        for (f->p++; f->p < f->end; f->p++) {
            if (*f->p != '"')
                continue;
            if (f->p + 1 == f->end || f->p[1] != '"')
                break;
            f->p++;
        }
        if (f->p == f->end) {
            fields_fail(f, "a quote without its end");
            return t;
        }
        f->p++;
    } else {
        while (f->p < f->end && *f->p != ',')
            f->p++;
    }
    t.len = (size_t)(f->p - t.at);
    fields_next(f, last);
    return t;
}

static int find_event(struct word w)
{
    for (int i = 0; i < BUNDLE_EVENT_COUNT; i++)
        if (word_is(w, bundle_event_word((enum bundle_event_kind)i)))
            return i;
    return -1;
}

static void read_event(struct fields *f, bool last, struct bundle_row *r)
{
    int kind = find_event(fields_word(f, last));
    if (kind < 0)
        fields_fail(f, "an unknown word in `event`");
    r->kind = kind < 0 ? BUNDLE_ENDED : (enum bundle_event_kind)kind;
}

static void read_from(struct fields *f, bool last, struct bundle_row *r)
{
    struct word w = fields_word(f, last);
    for (int i = 0; i <= BUNDLE_FROM_LINK; i++) {
        if (word_is(w, bundle_origin_word((enum bundle_origin)i))) {
            r->from = (enum bundle_origin)i;
            return;
        }
    }
    fields_fail(f, "an unknown word in `from`");
}

/* What every row of its kind has. */
static void check_required(struct fields *f, const struct bundle_row *r)
{
    bool has_id = r->source.len > 0 && r->created_ms.known && r->sequence.known &&
                  r->destination.len > 0 && r->fragment_offset.known == r->adu_length.known;
    bool keyless =
        r->kind == BUNDLE_REFUSED || r->kind == BUNDLE_CONSUMED || r->kind == BUNDLE_REPORTED;
    if (r->now == TICK_NEVER || r->node.len == 0)
        fields_fail(f, "no time or no node");
    else if (!keyless && (!r->key.known || r->key.value == 0))
        fields_fail(f, "no key");
    else if (r->key.known && !has_id)
        fields_fail(f, "no bundle");
    else if (r->kind == BUNDLE_CARRIED && !(r->originator.known && r->session.known))
        fields_fail(f, "no session");
    else if ((r->kind == BUNDLE_ENDED || r->kind == BUNDLE_REFUSED) && r->reason.len == 0)
        fields_fail(f, "no reason");
}

static void read_time(struct fields *f, bool last, struct bundle_row *r)
{
    struct bundle_number now = read_number(f, last);
    r->now = now.known ? now.value : TICK_NEVER;
}

static PORT_INLINE void read_column(struct fields *f, int at, bool last, struct bundle_row *r)
{
    if (at == CSV_COLUMN_UNKNOWN) {
        (void)read_text(f, last);
        return;
    }
    assert(at < BUNDLE_COLUMN_COUNT);
    const struct column *c = &known_columns[at];
    void *member = (char *)r + c->offset;
    switch (c->kind) {
    case BUNDLE_COLUMN_TIME:
        read_time(f, last, r);
        break;
    case BUNDLE_COLUMN_EVENT:
        read_event(f, last, r);
        break;
    case BUNDLE_COLUMN_ORIGIN:
        read_from(f, last, r);
        break;
    case BUNDLE_COLUMN_NUMBER:
        *(struct bundle_number *)member = read_number(f, last);
        break;
    case BUNDLE_COLUMN_EID:
    case BUNDLE_COLUMN_NODE:
    case BUNDLE_COLUMN_LINK:
    case BUNDLE_COLUMN_REASON:
        *(struct bundle_text *)member = read_text(f, last);
        break;
    }
}

/* A row of a log without any column: its texts are empty places in the line. */
static void clear_row(struct bundle_row *r, const char *line)
{
    *r = (struct bundle_row){.now = TICK_NEVER};
    for (int i = 0; i < BUNDLE_COLUMN_COUNT; i++) {
        enum bundle_column_kind kind = known_columns[i].kind;
        void *member = (char *)r + known_columns[i].offset;
        if (kind == BUNDLE_COLUMN_EID || kind == BUNDLE_COLUMN_NODE || kind == BUNDLE_COLUMN_LINK ||
            kind == BUNDLE_COLUMN_REASON)
            *(struct bundle_text *)member = (struct bundle_text){line, 0};
    }
}

/* The table expanded in place, with each column's kind known to the compiler. */
static void read_all(struct fields *f, struct bundle_row *r)
{
#define READ(name, kind, value, known, meaning)                                                    \
    read_column(f, BUNDLE_PLACE_##name, BUNDLE_PLACE_##name + 1 == BUNDLE_COLUMN_COUNT, r);
    BUNDLE_COLUMNS(READ)
#undef READ
}

static void read_some(struct fields *f, const struct csv_columns *columns, struct bundle_row *r)
{
    clear_row(r, f->p);
    for (int i = 0; i < columns->count && f->bad == NULL; i++)
        read_column(f, columns->at[i], i + 1 == columns->count, r);
}

const char *bundle_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                             struct bundle_row *out)
{
    struct fields f = {.p = line, .end = line + len};
    assert(columns->count > 0 && columns->count <= CSV_COLUMNS_MAX);
    if (len > BUNDLE_LINE_MAX)
        return "a line longer than 4096 bytes";
    if (columns->all)
        read_all(&f, out);
    else
        read_some(&f, columns, out);
    if (f.bad == NULL)
        check_required(&f, out);
    return f.bad;
}

struct csv_columns bundle_columns_all(void)
{
    return csv_columns_all(BUNDLE_COLUMN_COUNT);
}

bool bundle_row_is_header(const char *line, size_t len)
{
    return csv_names_have(line, len, "t_ns") && csv_names_have(line, len, "event");
}

const char *bundle_columns_parse(const char *line, size_t len, struct csv_columns *out)
{
    const char *why = csv_columns_parse(line, len, column_names, BUNDLE_COLUMN_COUNT, out);
    if (why == NULL && !csv_columns_has(out, BUNDLE_PLACE_t_ns))
        return "no column `t_ns`";
    if (why == NULL && !csv_columns_has(out, BUNDLE_PLACE_event))
        return "no column `event`";
    if (why == NULL && !csv_columns_has(out, BUNDLE_PLACE_from))
        return "no column `from`";
    return why;
}
