/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the segment log (docs/segment-log.md), read back. */
#ifndef TOOLS_SEGLOG_ROW_H
#define TOOLS_SEGLOG_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "ltp/event.h"

/* The event's own fields as ltp/event.h has them; `now` is the row's t_ns. Absent numbers are
 * EVENT_NONE. `verdict` and `cause` are the codes of the row's word. */
struct seglog_row {
    struct event event;
    uint64_t node;
    bool guessed; /* that it was seen at this node: nothing in the capture says so */
};

#define SEGLOG_LINE_MAX 4096 /* a longer line is malformed */

/* Reads a line without its newline. Returns NULL, or what is wrong with it (static text); *out is
 * then not to be used. */
const char *seglog_row_parse(const char *line, size_t len, struct seglog_row *out);

/* Is it the line with the names of the columns? */
bool seglog_row_is_header(const char *line, size_t len);

#endif
