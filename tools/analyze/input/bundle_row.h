/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the bundle log (docs/bundle-log.md), read back. */
#ifndef TOOLS_BUNDLE_ROW_H
#define TOOLS_BUNDLE_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "bp/agent/event_columns.h"
#include "tools/analyze/input/csv_columns.h"

/* A text as it is in the line, with its quotes if it has any; a view. */
struct bundle_text {
    const char *at;
    size_t len;
};

/* A number that may be missing: any value is one. */
struct bundle_number {
    uint64_t value;
    bool known;
};

/* A member for each column of a kind; `now`, `kind` and `from` are of other types. */
#define BUNDLE_MEMBER_TIME(name)
#define BUNDLE_MEMBER_EVENT(name)
#define BUNDLE_MEMBER_ORIGIN(name)
#define BUNDLE_MEMBER_NUMBER(name) struct bundle_number name;
#define BUNDLE_MEMBER_EID(name) struct bundle_text name;
#define BUNDLE_MEMBER_NODE(name) struct bundle_text name;
#define BUNDLE_MEMBER_LINK(name) struct bundle_text name;
#define BUNDLE_MEMBER_REASON(name) struct bundle_text name;
#define BUNDLE_MEMBER(name, kind, value, known, meaning) BUNDLE_MEMBER_##kind(name)

struct bundle_row {
    tick now;                    /* `t_ns` */
    enum bundle_event_kind kind; /* `event` */
    enum bundle_origin from;
    BUNDLE_COLUMNS(BUNDLE_MEMBER)
};

#define BUNDLE_LINE_MAX CSV_LINE_MAX

/* The columns that this version writes: those of a log without a line of column names. */
struct csv_columns bundle_columns_all(void);

/* Is the line (without its newline) one of column names, in any order? */
bool bundle_row_is_header(const char *line, size_t len);

/* Reads the line of column names; each column becomes an enum bundle_column. Columns that an older
 * version did not write are empty in each row, but `t_ns`, `event` and `from` must be there.
 * Columns that this version does not know are skipped. Returns NULL, or what is wrong (static
 * text); *out is then not to be used. */
const char *bundle_columns_parse(const char *line, size_t len, struct csv_columns *out);

/* Reads a line without its newline, which must stay as long as *out is used. Returns NULL, or what
 * is wrong with it (static text); *out is then not to be used. */
const char *bundle_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                             struct bundle_row *out);

#endif
