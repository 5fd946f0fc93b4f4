/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns a log has, by the names in its first line. */
#ifndef TOOLS_CSV_COLUMNS_H
#define TOOLS_CSV_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#define CSV_LINE_MAX 4096 /* bytes of a line; a longer line is malformed */
#define CSV_COLUMNS_MAX 64
#define CSV_COLUMN_UNKNOWN 255 /* a column that this version does not know */

/* The columns of a log in their order: each an index into the reader's table, or
 * CSV_COLUMN_UNKNOWN. */
struct csv_columns {
    int count;
    bool all; /* those of the table, in its order */
    unsigned char at[CSV_COLUMNS_MAX];
};

/* All columns of a table of `known` columns in the table's order. */
struct csv_columns csv_columns_all(int known);

/* Is the column with this index among them? */
bool csv_columns_has(const struct csv_columns *c, int at);

/* Is the line (without its newline) one of column names with this one among them? */
bool csv_names_have(const char *line, size_t len, const char *name);

/* Reads a line of column names by the `known` names of the reader's table. Returns NULL, or what is
 * wrong (static text); *out is then not to be used. */
const char *csv_columns_parse(const char *line, size_t len, const char *const *names, int known,
                              struct csv_columns *out);

#endif
