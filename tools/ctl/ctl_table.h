/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as text for people: tables, and lists of names with values. */
#ifndef TOOLS_CTL_TABLE_H
#define TOOLS_CTL_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct json_t;

enum column_kind {
    COLUMN_TEXT,
    COLUMN_NUMBER,
    COLUMN_BYTES,    /* 1.5 MB */
    COLUMN_RATE,     /* bit/s; 0 = unlimited */
    COLUMN_SPEED,    /* bit/s; 0 = 0 */
    COLUMN_SPAN_MS,  /* ms: 3 min 20 s */
    COLUMN_DURATION, /* ns */
    COLUMN_DTN_TIME, /* DTN time in ms as UTC */
};

struct column {
    const char *title, *key; /* a key that a row does not have shows as "-"; a member KEY_name, the
                                name of a node, is shown in place of KEY */
    enum column_kind kind;
};

/* Rows are objects. A title line, then one line per row; numbers to the right. */
void table_print(FILE *out, const struct column *columns, size_t columns_len,
                 const struct json_t *rows, bool colour);

/* The value of the key, or the name of the node that it is. */
const struct json_t *value_shown(const struct json_t *row, const char *key);

/* One value as the kind says. */
void value_text(const struct json_t *v, enum column_kind kind, char *out, size_t cap);

/* Each number and text of an object, inner objects with their path; arrays are left out. Numbers
 * that are 0 only with `zeros`; then names that end in a unit (_bytes, _s) show it at the value. */
void list_print(FILE *out, const struct json_t *object, const char *path, bool zeros);

#endif
