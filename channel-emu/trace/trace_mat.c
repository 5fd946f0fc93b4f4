/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With trace_mat_path.c the only file that knows matio. The directory of the file gives each
 * variable's class and dimensions; the one that is wanted, or the only vector, is read. What can go
 * wrong: the variable is missing, is not a vector of real numbers, or there are several; the file
 * is damaged. What else is wrong within one of version 7.3, HDF5 finds.
 */
#include "channel-emu/trace/trace_mat.h"

#include <hdf5.h>
#include <inttypes.h>
#include <matio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"
#include "channel-emu/trace/trace_mat_path.h"

#define SAY(error, ...) snprintf(error, TRACE_FILE_ERROR_MAX, __VA_ARGS__)

/* The header has 124 bytes of text, the version and the mark of the byte order. */
int trace_mat_version(const char *path)
{
    unsigned char h[128];
    FILE *file = fopen(path, "rb");
    size_t n = file == NULL ? 0 : fread(h, 1, sizeof h, file);
    if (file != NULL)
        fclose(file);
    bool little = n == sizeof h && h[126] == 'I' && h[127] == 'M';
    bool big = n == sizeof h && h[126] == 'M' && h[127] == 'I';
    if (!little && !big)
        return 0;
    unsigned major = little ? h[125] : h[124];
    return major == 1 ? 5 : major == 2 ? 73 : 0;
}

static const char *class_name(enum matio_classes c)
{
    static const char *const names[] = {
        [MAT_C_CELL] = "cell",     [MAT_C_STRUCT] = "struct", [MAT_C_OBJECT] = "object",
        [MAT_C_CHAR] = "char",     [MAT_C_SPARSE] = "sparse", [MAT_C_DOUBLE] = "double",
        [MAT_C_SINGLE] = "single", [MAT_C_INT8] = "int8",     [MAT_C_UINT8] = "uint8",
        [MAT_C_INT16] = "int16",   [MAT_C_UINT16] = "uint16", [MAT_C_INT32] = "int32",
        [MAT_C_UINT32] = "uint32", [MAT_C_INT64] = "int64",   [MAT_C_UINT64] = "uint64"};
    size_t i = (size_t)c;
    return i < sizeof names / sizeof *names && names[i] != NULL ? names[i] : "other";
}

/* Appends ` NAME (CLASS 1x1000)`, as far as there is room. */
static void list_variables(char *error, const matvar_t *v)
{
    size_t n = strlen(error);
    snprintf(error + n, TRACE_FILE_ERROR_MAX - n, " %s (%s%s ", v->name, class_name(v->class_type),
             v->isComplex ? " complex" : "");
    for (int i = 0; i < v->rank; i++) {
        n = strlen(error);
        snprintf(error + n, TRACE_FILE_ERROR_MAX - n, "%s%zu", i > 0 ? "x" : "", v->dims[i]);
    }
    n = strlen(error);
    snprintf(error + n, TRACE_FILE_ERROR_MAX - n, ")");
}

static double value_at(const matvar_t *v, size_t i)
{
    switch (v->class_type) {
    case MAT_C_DOUBLE:
        return ((const double *)v->data)[i];
    case MAT_C_SINGLE:
        return (double)((const float *)v->data)[i];
    case MAT_C_INT8:
        return (double)((const int8_t *)v->data)[i];
    case MAT_C_UINT8:
        return (double)((const uint8_t *)v->data)[i];
    case MAT_C_INT16:
        return (double)((const int16_t *)v->data)[i];
    case MAT_C_UINT16:
        return (double)((const uint16_t *)v->data)[i];
    case MAT_C_INT32:
        return (double)((const int32_t *)v->data)[i];
    case MAT_C_UINT32:
        return (double)((const uint32_t *)v->data)[i];
    case MAT_C_INT64:
        return (double)((const int64_t *)v->data)[i];
    default:
        return (double)((const uint64_t *)v->data)[i];
    }
}

/* Those values from `from` on. */
static int add_some(struct powers *p, const matvar_t *v, size_t from, size_t n, bool decibels,
                    const char *path, const char *name, char *error)
{
    if (v->data == NULL || v->data_size <= 0 || v->nbytes / (size_t)v->data_size < from + n) {
        SAY(error, "%s: the variable %s is damaged", path, name);
        return HELIO_EFORMAT;
    }
    for (size_t i = 0; i < n; i++) {
        int rc = powers_add(p, value_at(v, from + i), decibels);
        if (rc == HELIO_EINVAL) {
            SAY(error, "%s: %s(%zu) = %g; right is %s, in 2^28 samples at most", path, name, i + 1,
                value_at(v, from + i),
                decibels ? "-300 to 300 dB" : "0 to 1e300 (--unit dB for decibels)");
            return HELIO_EFORMAT;
        }
        if (rc < 0) {
            SAY(error, "%s: %s", path, helio_strerror(rc));
            return rc;
        }
    }
    return 0;
}

/* Of the first word of `wanted`, or of the only one that can be read. */
static bool is_wanted(const matvar_t *v, const struct trace_mat_place *w)
{
    size_t n = w->variable == NULL ? 0 : trace_mat_top(w->variable);
    return w->variable == NULL || (strlen(v->name) == n && strncmp(v->name, w->variable, n) == 0);
}

/* Could the numbers be in it? Of a struct that is known when it is read. */
static bool may_hold(const matvar_t *v, const struct trace_mat_place *w)
{
    bool inside = w->variable != NULL && w->variable[trace_mat_top(w->variable)] != '\0';
    return inside              ? v->class_type == MAT_C_STRUCT
           : w->column != NULL ? trace_mat_is_matrix(v)
                               : trace_mat_is_vector(v);
}

/* The name of the variable that is to be read: NULL after an error. */
static char *choose_variable(mat_t *mat, const char *path, const struct trace_mat_place *w,
                             char *error)
{
    size_t found = 0;
    char *name = NULL, all[TRACE_FILE_ERROR_MAX] = "";
    const char *what = w->column == NULL ? "vector" : "matrix";
    bool there = false;
    for (matvar_t *v = Mat_VarReadNextInfo(mat); v != NULL; v = Mat_VarReadNextInfo(mat)) {
        if (v->name == NULL) {
            Mat_VarFree(v);
            break;
        }
        there = there || (w->variable != NULL && is_wanted(v, w));
        if (is_wanted(v, w) && may_hold(v, w) && found++ == 0)
            name = strdup(v->name);
        list_variables(all, v);
        Mat_VarFree(v);
    }
    if (found == 1)
        return name;
    const char *rest = w->variable == NULL ? "" : w->variable + trace_mat_top(w->variable);
    if (w->variable == NULL)
        SAY(error, "%s: %s %s%s; its variables:%.300s", path, found > 1 ? "several" : "no", what,
            found > 1 && w->column == NULL ? "s: say which by --variable"
            : found > 1                    ? ": say which by --variable"
                                           : " of real numbers",
            all[0] == '\0' ? " none" : all);
    else
        SAY(error, "%s: %.*s%s%s%s; its variables:%.300s", path, (int)trace_mat_top(w->variable),
            w->variable, there ? " is not a " : " is not in the file",
            !there          ? ""
            : *rest != '\0' ? "struct"
                            : what,
            there && *rest == '\0' ? " of real numbers" : "", all[0] == '\0' ? " none" : all);
    free(name);
    return NULL;
}

/* A variable beside the one that is read may have the columns' names. Of others, which may be
 * large, nothing is read but what they are. */
static size_t named_in_file(mat_t *mat, size_t columns, const char *name)
{
    size_t found = SIZE_MAX;
    matvar_t *v;
    Mat_Rewind(mat);
    while (found == SIZE_MAX && (v = Mat_VarReadNextInfo(mat)) != NULL) {
        if (trace_mat_is_names(v, columns) && Mat_VarReadDataAll(mat, v) == 0)
            found = trace_mat_named(v, columns, name);
        Mat_VarFree(v);
    }
    return found;
}

/* From 0; SIZE_MAX with an error. */
static size_t find_column(mat_t *mat, const matvar_t *v, const matvar_t *parent, size_t index,
                          const char *column, char *why)
{
    char *end;
    size_t columns = v->dims[1];
    unsigned long long number = strtoull(column, &end, 10);
    if (end != column && *end == '\0' && number >= 1 && number <= columns)
        return (size_t)number - 1;
    size_t found = parent != NULL ? trace_mat_named_beside(parent, index, columns, column)
                                  : named_in_file(mat, columns, column);
    if (found == SIZE_MAX)
        SAY(why, "no column %s; right is 1 to %zu, or a name from a cell array of %zu texts beside",
            column, columns, columns);
    return found;
}

static int add_place(struct powers *p, mat_t *mat, const matvar_t *top, const char *path,
                     const struct trace_mat_place *w, char *error)
{
    char why[TRACE_FILE_ERROR_MAX] = "";
    const matvar_t *parent = NULL, *v = top;
    const char *name = w->variable != NULL ? w->variable : top->name;
    size_t index = 0, column = 0;
    if (w->variable != NULL)
        v = trace_mat_walk(top, w->variable, &parent, &index, why);
    if (v != NULL && trace_mat_is_vector(v) && w->column == NULL)
        return add_some(p, v, 0, trace_mat_count(v), w->decibels, path, name, error);
    if (v != NULL && (w->column == NULL || !trace_mat_is_matrix(v) || v->rank != 2)) {
        bool matrix = trace_mat_is_matrix(v) && v->rank == 2;
        SAY(why, "%s is not a %s", name,
            matrix              ? "vector of real numbers but a matrix: say which --column"
            : w->column == NULL ? "vector of real numbers"
                                : "matrix of real numbers");
        v = NULL;
    }
    if (v != NULL)
        column = find_column(mat, v, parent, index, w->column, why);
    if (v != NULL && column != SIZE_MAX)
        return add_some(p, v, column * v->dims[0], v->dims[0], w->decibels, path, name, error);
    SAY(error, "%.200s: %.300s", path, why);
    return HELIO_EFORMAT;
}

int trace_mat_read(struct powers *p, const char *path, const struct trace_mat_place *w, char *error)
{
    bool hdf5 = trace_mat_version(path) == 73;
    if ((hdf5 ? trace_mat_check_hdf5(path, error) : trace_mat_check(path, error)) < 0)
        return HELIO_EFORMAT;
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* it would tell of its inner life */
    mat_t *mat = Mat_Open(path, MAT_ACC_RDONLY);
    if (mat == NULL) {
        SAY(error, "%s: not a whole Matlab file", path);
        return HELIO_EFORMAT;
    }
    int rc = HELIO_EFORMAT;
    char *name = choose_variable(mat, path, w, error);
    matvar_t *v = NULL;
    if (name != NULL) {
        Mat_Rewind(mat);
        v = Mat_VarRead(mat, name);
        if (v == NULL || !may_hold(v, w))
            SAY(error, "%s: the variable %s is damaged", path, name);
        else
            rc = add_place(p, mat, v, path, w, error);
    }
    Mat_VarFree(v);
    free(name);
    Mat_Close(mat);
    return rc;
}
