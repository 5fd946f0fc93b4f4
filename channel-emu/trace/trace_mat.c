/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that knows matio. The directory of the file gives each variable's class and
 * dimensions; the one that is wanted, or the only vector, is read. What can go wrong: the variable
 * is missing, is not a vector of real numbers, or there are several; the file is damaged.
 */
#include "channel-emu/trace/trace_mat.h"

#include <inttypes.h>
#include <matio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/trace/trace_file.h"

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

static bool is_vector(const matvar_t *v)
{
    bool numbers = v->class_type >= MAT_C_DOUBLE && v->class_type <= MAT_C_UINT64;
    if (!numbers || v->isComplex || v->rank < 2)
        return false;
    int longer = 0;
    for (int i = 0; i < v->rank; i++) {
        if (v->dims[i] == 0)
            return false;
        longer += v->dims[i] > 1;
    }
    return longer == 1;
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

static int add_all(struct powers *p, const matvar_t *v, bool decibels, const char *path,
                   char *error)
{
    size_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->dims[i];
    if (v->data == NULL || v->data_size <= 0 || v->nbytes / (size_t)v->data_size < n) {
        SAY(error, "%s: the variable %s is damaged", path, v->name);
        return HELIO_EFORMAT;
    }
    for (size_t i = 0; i < n; i++) {
        int rc = powers_add(p, value_at(v, i), decibels);
        if (rc == HELIO_EINVAL) {
            SAY(error, "%s: %s(%zu) = %g; right is %s, in 2^28 samples at most", path, v->name,
                i + 1, value_at(v, i),
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

/* The name that is to be read: NULL after an error. */
static char *choose_variable(mat_t *mat, const char *path, const char *variable, char *error)
{
    size_t vectors = 0;
    char *name = NULL, all[TRACE_FILE_ERROR_MAX] = "";
    bool there = false;
    for (matvar_t *v = Mat_VarReadNextInfo(mat); v != NULL; v = Mat_VarReadNextInfo(mat)) {
        if (v->name == NULL) {
            Mat_VarFree(v);
            break;
        }
        bool wanted = variable == NULL || strcmp(variable, v->name) == 0;
        there = there || (variable != NULL && wanted);
        if (wanted && is_vector(v) && vectors++ == 0)
            name = strdup(v->name);
        list_variables(all, v);
        Mat_VarFree(v);
    }
    if (vectors == 1)
        return name;
    SAY(error, "%s: %s%s; its variables:%.300s", path, variable == NULL ? "" : variable,
        there              ? " is not a vector of real numbers"
        : variable != NULL ? " is not in the file"
        : vectors > 1      ? "several vectors: say which by --variable"
                           : "no vector of real numbers",
        all[0] == '\0' ? " none" : all);
    free(name);
    return NULL;
}

int trace_mat_read(struct powers *p, const char *path, const char *variable, bool decibels,
                   char *error)
{
    if (trace_mat_check(path, error) < 0)
        return HELIO_EFORMAT;
    mat_t *mat = Mat_Open(path, MAT_ACC_RDONLY);
    if (mat == NULL) {
        SAY(error, "%s: not a whole Matlab file", path);
        return HELIO_EFORMAT;
    }
    int rc = HELIO_EFORMAT;
    char *name = choose_variable(mat, path, variable, error);
    matvar_t *v = NULL;
    if (name != NULL) {
        Mat_Rewind(mat);
        v = Mat_VarRead(mat, name);
        if (v == NULL || !is_vector(v))
            SAY(error, "%s: the variable %s is damaged", path, name);
        else
            rc = add_all(p, v, decibels, path, error);
    }
    Mat_VarFree(v);
    free(name);
    Mat_Close(mat);
    return rc;
}
