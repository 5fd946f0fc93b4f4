/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the segment log (docs/segment-log.md), read back. */
#ifndef TOOLS_SEGLOG_ROW_H
#define TOOLS_SEGLOG_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "ltp/event.h"
#include "tools/analyze/input/csv_columns.h"

/* The event's own fields as ltp/event.h has them; `now` is the row's t_ns. Absent numbers are
 * EVENT_NONE. `verdict` and `cause` are the codes of the row's word. */
struct seglog_row {
    struct event event;
    uint64_t node;
    bool guessed; /* it was seen at this node: the capture does not show it */
};

#define SEGLOG_LINE_MAX CSV_LINE_MAX

/* The columns that this version writes: those of a log without a line of column names. */
struct csv_columns seglog_columns_all(void);

/* Is the line (without its newline) one of column names, in any order? */
bool seglog_row_is_header(const char *line, size_t len);

/* Reads the line of column names; each column becomes an enum event_column. A log of an older
 * version may lack numbers and `name`, which are then absent in each row. Columns that this version
 * does not know are skipped. Returns NULL, or what is wrong (static text); *out is then not to be
 * used. */
const char *seglog_columns_parse(const char *line, size_t len, struct csv_columns *out);

/* Reads a line without its newline. Returns NULL, or what is wrong with it (static text); *out is
 * then not to be used. */
const char *seglog_row_parse(const struct csv_columns *columns, const char *line, size_t len,
                             struct seglog_row *out);

#endif
