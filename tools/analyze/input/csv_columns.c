/* SPDX-License-Identifier: Apache-2.0 */
/* A log of an older version lacks columns, and one of a newer version has columns that are unknown
 * here. What can go wrong: a name that is there twice, and more columns than any version has. */
#include "tools/analyze/input/csv_columns.h"

#include <assert.h>
#include <string.h>

#include "tools/analyze/input/csv_fields.h"

struct csv_columns csv_columns_all(int known)
{
    struct csv_columns all = {.count = known, .all = true};
    assert(known <= CSV_COLUMNS_MAX);
    for (int i = 0; i < known; i++)
        all.at[i] = (unsigned char)i;
    return all;
}

bool csv_columns_has(const struct csv_columns *c, int at)
{
    assert(c->count <= CSV_COLUMNS_MAX);
    return memchr(c->at, at, (size_t)c->count) != NULL;
}

static bool is_last(const struct fields *f)
{
    return memchr(f->p, ',', (size_t)(f->end - f->p)) == NULL;
}

bool csv_names_have(const char *line, size_t len, const char *name)
{
    struct fields f = {.p = line, .end = line + len};
    bool last = len == 0 || line[0] < 'a' || line[0] > 'z'; /* a row begins with a digit */
    while (!last) {
        last = is_last(&f);
        if (word_is(fields_word(&f, last), name))
            return true;
    }
    return false;
}

static const char *add_column(struct csv_columns *out, struct word name, const char *const *names,
                              int known)
{
    int at = word_find(name, names, known);
    if (at >= 0 && csv_columns_has(out, at))
        return "a column name that is there twice";
    if (out->count == CSV_COLUMNS_MAX)
        return "more than 64 columns";
    out->at[out->count++] = at < 0 ? CSV_COLUMN_UNKNOWN : (unsigned char)at;
    return NULL;
}

const char *csv_columns_parse(const char *line, size_t len, const char *const *names, int known,
                              struct csv_columns *out)
{
    struct fields f = {.p = line, .end = line + len};
    const char *why = NULL;
    const struct csv_columns all = csv_columns_all(known);
    *out = (struct csv_columns){0};
    if (len > CSV_LINE_MAX)
        return "a line longer than 4096 bytes";
    for (bool last = false; !last && why == NULL;) {
        last = is_last(&f);
        why = add_column(out, fields_word(&f, last), names, known);
    }
    out->all = out->count == known && memcmp(out->at, all.at, (size_t)known) == 0;
    return why;
}
