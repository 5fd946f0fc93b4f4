/* SPDX-License-Identifier: Apache-2.0 */
/* The columns in the order of the log's own line of column names. What can go wrong: a row that is
 * cut, a word or a number that cannot be; each is reported. */
#include "tools/analyze/input/drop_row.h"

#include <assert.h>

#include "channel-emu/scenario/drop_columns.h"
#include "tools/analyze/input/csv_fields.h"

const char drop_row_header[] = DROP_LOG_HEADER;

static const char *const column_names[] = {
#define COLUMN_NAME(name, kind, value, field, meaning) #name,
    DROP_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

static const struct column {
    enum drop_column_kind kind;
    size_t offset; /* of a number in struct drop_event */
} known_columns[] = {
#define COLUMN(name, kind, value, field, meaning)                                                  \
    {DROP_COLUMN_##kind, offsetof(struct drop_event, field)},
    DROP_COLUMNS(COLUMN)
#undef COLUMN
};

static_assert(DROP_COLUMN_COUNT < CSV_COLUMNS_MAX, "room for columns of newer versions");

static const char *const reasons[DROP_REASONS] = {
    "trace",    "random",   "burst",   "outage",    "rule",    "queue",
    "memory",   "codel",    "send",    "end",       "no_peer", "super_packet",
    "checksum", "handover", "corrupt", "duplicate", "mark",    "late"};

const char *drop_reason_word(enum drop_reason reason)
{
    assert(reason < DROP_REASONS);
    return reasons[reason];
}

static void read_direction(struct fields *f, bool last, struct drop_event *d)
{
    static const char *const directions[] = {"return", "forward"};
    int direction = word_find(fields_word(f, last), directions, 2);
    if (direction < 0)
        fields_fail(f, "an unknown word in `direction`");
    d->forward = direction == 1;
}

static void read_reason(struct fields *f, bool last, struct drop_event *d)
{
    int reason = word_find(fields_word(f, last), reasons, DROP_REASONS);
    if (reason < 0)
        fields_fail(f, "an unknown word in `reason`");
    d->reason = reason < 0 ? DROP_LATE : (enum drop_reason)reason;
}

static void read_type(struct fields *f, bool last, struct drop_event *d)
{
    uint64_t type = fields_number(f, last);
    if (type != EVENT_NONE && type > 15)
        fields_fail(f, "a segment type above 15");
    d->type = type == EVENT_NONE ? -1 : (int)type;
}

static void read_column(struct fields *f, int at, bool last, struct drop_event *d)
{
    assert(at == CSV_COLUMN_UNKNOWN || at < DROP_COLUMN_COUNT);
    switch (at == CSV_COLUMN_UNKNOWN ? DROP_COLUMN_NAME : known_columns[at].kind) {
    case DROP_COLUMN_TIME:
    case DROP_COLUMN_NUMBER:
        *(uint64_t *)(void *)((char *)d + known_columns[at].offset) = fields_number(f, last);
        break;
    case DROP_COLUMN_DIRECTION:
        read_direction(f, last, d);
        break;
    case DROP_COLUMN_REASON:
        read_reason(f, last, d);
        break;
    case DROP_COLUMN_TYPE:
        read_type(f, last, d);
        break;
    case DROP_COLUMN_NAME: /* the name follows from the number */
        (void)fields_word(f, last);
        break;
    }
}

/* A row of a log without any column. */
static void clear_row(struct drop_event *d)
{
    *d = (struct drop_event){.type = -1};
    for (int i = 0; i < DROP_COLUMN_COUNT; i++)
        if (known_columns[i].kind == DROP_COLUMN_NUMBER ||
            known_columns[i].kind == DROP_COLUMN_TIME)
            *(uint64_t *)(void *)((char *)d + known_columns[i].offset) = EVENT_NONE;
}

const char *drop_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                           struct drop_event *out)
{
    struct fields f = {.p = line, .end = line + len};
    assert(columns->count > 0 && columns->count <= CSV_COLUMNS_MAX);
    if (len > CSV_LINE_MAX)
        return "a line longer than 4096 bytes";
    clear_row(out);
    for (int i = 0; i < columns->count && f.bad == NULL; i++)
        read_column(&f, columns->at[i], i + 1 == columns->count, out);
    if (f.bad == NULL && (out->now == EVENT_NONE || out->frame == EVENT_NONE))
        fields_fail(&f, "no time or no frame");
    if (f.bad == NULL && out->type >= 0 &&
        (out->originator == EVENT_NONE || out->session == EVENT_NONE))
        fields_fail(&f, "no session");
    assert(f.bad != NULL || (out->reason < DROP_REASONS && out->type <= 15));
    return f.bad;
}

struct csv_columns drop_columns_all(void)
{
    return csv_columns_all(DROP_COLUMN_COUNT);
}

bool drop_row_is_header(const char *line, size_t len)
{
    return csv_names_have(line, len, "t_ns") && csv_names_have(line, len, "frame") &&
           csv_names_have(line, len, "reason");
}

const char *drop_columns_parse(const char *line, size_t len, struct csv_columns *out)
{
    static const struct {
        enum drop_column at;
        const char *missing;
    } required[] = {{DROP_PLACE_t_ns, "no column `t_ns`"},
                    {DROP_PLACE_direction, "no column `direction`"},
                    {DROP_PLACE_frame, "no column `frame`"},
                    {DROP_PLACE_reason, "no column `reason`"}};
    const char *why = csv_columns_parse(line, len, column_names, DROP_COLUMN_COUNT, out);
    for (size_t i = 0; why == NULL && i < sizeof required / sizeof *required; i++)
        if (!csv_columns_has(out, (int)required[i].at))
            why = required[i].missing;
    return why;
}
