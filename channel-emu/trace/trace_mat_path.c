/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a variable has the numbers: `run(2).power` selects fields of structs. A column is one of a
 * matrix by its number or its name; names are in a cell array of texts, or in a matrix of
 * characters, beside the matrix. What can go wrong: each step, with a text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"
#include "channel-emu/trace/trace_mat.h"
#include "channel-emu/trace/trace_mat_path.h"

#define NAME_MAX_BYTES 128
#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)

size_t trace_mat_count(const matvar_t *v)
{
    size_t n = v->rank < 1 ? 0 : 1;
    for (int i = 0; i < v->rank; i++)
        if (__builtin_mul_overflow(n, v->dims[i], &n))
            return 0;
    return n;
}

bool trace_mat_is_matrix(const matvar_t *v)
{
    return v->class_type >= MAT_C_DOUBLE && v->class_type <= MAT_C_UINT64 && !v->isComplex &&
           v->rank >= 2 && trace_mat_count(v) > 0;
}

bool trace_mat_is_vector(const matvar_t *v)
{
    int longer = 0;
    for (int i = 0; i < v->rank; i++)
        longer += v->dims[i] > 1;
    return trace_mat_is_matrix(v) && longer == 1;
}

size_t trace_mat_top(const char *path)
{
    return strcspn(path, ".(");
}

/* `(3)` becomes 2; nothing 0, of one struct. SIZE_MAX: neither. */
static size_t take_index(const char **rest, const matvar_t *v)
{
    size_t n = trace_mat_count(v), index = 0;
    if (**rest != '(')
        return n == 1 ? 0 : SIZE_MAX;
    char *end;
    unsigned long long number = strtoull(*rest + 1, &end, 10);
    if (end == *rest + 1 || *end != ')' || number < 1 || number > n)
        return SIZE_MAX;
    index = (size_t)number - 1;
    *rest = end + 1;
    return index;
}

const matvar_t *trace_mat_walk(const matvar_t *top, const char *path, const matvar_t **parent,
                               size_t *index, char *error)
{
    const matvar_t *v = top;
    const char *rest = path + trace_mat_top(path);
    *parent = NULL;
    while (*rest != '\0') {
        int done = (int)(rest - path);
        if (v->class_type != MAT_C_STRUCT) {
            SAY(error, "%.*s is no struct", done, path);
            return NULL;
        }
        size_t i = take_index(&rest, v);
        if (i == SIZE_MAX || *rest != '.') {
            SAY(error, "%.*s has %zu structs: write %.*s(1).FIELD", done, path, trace_mat_count(v),
                done, path);
            return NULL;
        }
        char field[NAME_MAX_BYTES];
        size_t len = trace_mat_top(++rest);
        snprintf(field, sizeof field, "%.*s", (int)len, rest);
        const matvar_t *next =
            len == 0 || len >= sizeof field
                ? NULL
                : Mat_VarGetStructFieldByName((matvar_t *)(uintptr_t)v, field, i);
        if (next == NULL) {
            SAY(error, "%.*s has no field %.*s", done, path, (int)len, rest);
            return NULL;
        }
        *parent = v;
        *index = i;
        v = next;
        rest += len;
    }
    return v;
}

/* ---- columns by name ---- */

/* The character at this place; 0 outside of what is there. */
static unsigned char_at(const matvar_t *v, size_t i)
{
    size_t size = v->data_size > 0 ? (size_t)v->data_size : 0;
    if (v->data == NULL || size == 0 || i >= v->nbytes / size)
        return 0;
    if (size == 1)
        return ((const uint8_t *)v->data)[i];
    return size == 2 ? ((const uint16_t *)v->data)[i] : 0;
}

/* Is this row of characters the name, but for blanks behind it? */
static bool row_is(const matvar_t *v, size_t row, const char *name)
{
    size_t rows = v->rank == 2 ? v->dims[0] : 0, len = strlen(name);
    if (v->class_type != MAT_C_CHAR || row >= rows || len > v->dims[1])
        return false;
    for (size_t i = 0; i < v->dims[1]; i++) {
        unsigned want = i < len ? (unsigned char)name[i] : ' ';
        if (char_at(v, i * rows + row) != want)
            return false;
    }
    return true;
}

/* A cell array of that many texts, and nothing else. */
static bool is_texts(const matvar_t *v, size_t n)
{
    if (v->class_type != MAT_C_CELL || trace_mat_count(v) != n || v->data == NULL ||
        v->nbytes / sizeof(matvar_t *) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const matvar_t *cell = ((matvar_t *const *)v->data)[i];
        if (cell == NULL || cell->class_type != MAT_C_CHAR)
            return false;
    }
    return true;
}

bool trace_mat_is_names(const matvar_t *v, size_t columns)
{
    bool rows = v->class_type == MAT_C_CHAR && v->rank == 2 && v->dims[0] == columns;
    return rows || is_texts(v, columns);
}

size_t trace_mat_named(const matvar_t *names, size_t columns, const char *name)
{
    if (!trace_mat_is_names(names, columns))
        return SIZE_MAX;
    for (size_t i = 0; i < columns; i++) {
        bool rows = names->class_type == MAT_C_CHAR;
        const matvar_t *text = rows ? names : ((matvar_t *const *)names->data)[i];
        if (row_is(text, rows ? i : 0, name))
            return i;
    }
    return SIZE_MAX;
}

size_t trace_mat_named_beside(const matvar_t *parent, size_t index, size_t columns,
                              const char *name)
{
    size_t found = SIZE_MAX;
    unsigned n = Mat_VarGetNumberOfFields((matvar_t *)(uintptr_t)parent);
    for (unsigned i = 0; i < n && found == SIZE_MAX; i++) {
        const matvar_t *f = Mat_VarGetStructFieldByIndex((matvar_t *)(uintptr_t)parent, i, index);
        found = f == NULL ? SIZE_MAX : trace_mat_named(f, columns, name);
    }
    return found;
}
