/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the Matlab files that traces_test.py reads. usage: traces_mat FILE VARIABLE... with
 * VARIABLE = NAME:CLASS:ROWSxCOLUMNS[xPAGES][:z], CLASS double, single, int16, uint8, complex or
 * char, z for compressed, and values from the standard input (0 when there are no more). CLASS
 * texts, with ROWSxCOLUMNS its number and a list of them after the last colon (a,b,c), is a cell
 * array; rows the same as a matrix of characters. NAME run.power makes the field of a struct, which
 * stands in the place of its first one; run.deep.power one within; run(2).power that of the second
 * of two. FILE is of version 7.3 when its name ends in .73. */
#include <matio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double next_value(void)
{
    double v;
    return scanf("%lf", &v) == 1 ? v : 0;
}

static void *fill(const char *kind, size_t n, enum matio_classes *c, enum matio_types *type)
{
    static const struct {
        const char *name;
        enum matio_classes c;
        enum matio_types type;
    } kinds[] = {{"single", MAT_C_SINGLE, MAT_T_SINGLE},
                 {"int16", MAT_C_INT16, MAT_T_INT16},
                 {"uint8", MAT_C_UINT8, MAT_T_UINT8},
                 {"char", MAT_C_CHAR, MAT_T_UINT8}};
    void *data = calloc(n, sizeof(double));
    *c = MAT_C_DOUBLE;
    *type = MAT_T_DOUBLE;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kind, kinds[i].name) == 0) {
            *c = kinds[i].c;
            *type = kinds[i].type;
        }
    }
    for (size_t i = 0; data != NULL && i < n; i++) {
        if (*c == MAT_C_SINGLE)
            ((float *)data)[i] = (float)next_value();
        else if (*c == MAT_C_INT16)
            ((int16_t *)data)[i] = (int16_t)next_value();
        else if (*c == MAT_C_DOUBLE)
            ((double *)data)[i] = next_value();
        else
            ((uint8_t *)data)[i] = (uint8_t)next_value();
    }
    return data;
}

/* The words of a list as a cell array, or as rows of characters. */
static matvar_t *texts(const char *name, char *list, size_t n, int rows)
{
    char grid[16][16], flat[256];
    matvar_t *cells[16];
    size_t at = 0, dims[2] = {n, 1};
    memset(grid, ' ', sizeof grid);
    for (char *word = strtok(list, ","); word != NULL && at < n && n <= 16;
         word = strtok(NULL, ","), at++) {
        size_t d[2] = {1, strlen(word)};
        memcpy(grid[at], word, d[1] < 16 ? d[1] : 16);
        cells[at] = rows ? NULL : Mat_VarCreate(NULL, MAT_C_CHAR, MAT_T_UINT8, 2, d, word, 0);
    }
    if (!rows)
        return Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, dims, cells, 0);
    dims[1] = 16;
    for (size_t i = 0; i < n * 16; i++)
        flat[i] = grid[i % n][i / n];
    return Mat_VarCreate(name, MAT_C_CHAR, MAT_T_UINT8, 2, dims, flat, 0);
}

static matvar_t *make(const char *name, const char *kind, int rank, size_t dims[3], char *more)
{
    enum matio_classes c;
    enum matio_types type;
    if (strcmp(kind, "texts") == 0 || strcmp(kind, "rows") == 0)
        return texts(name, more, dims[0] * dims[1], *kind == 'r');
    void *data = fill(kind, dims[0] * dims[1] * dims[2], &c, &type);
    struct mat_complex_split_t both = {data, data};
    int complex = strcmp(kind, "complex") == 0;
    matvar_t *v = Mat_VarCreate(name, c, type, rank, dims, complex ? (void *)&both : data,
                                complex ? MAT_F_COMPLEX : 0);
    free(data);
    return v;
}

/* Puts the value at the end of a path of fields, whose structs are made on the way. */
static void put_field(matvar_t *in, char *path, matvar_t *value)
{
    char *rest = strchr(path, '.'), *second = strstr(path, "(2)");
    if (rest != NULL)
        *rest++ = '\0';
    if (second != NULL)
        *second = '\0';
    matvar_t *there = Mat_VarGetStructFieldByName(in, path, 0);
    if (there == NULL)
        Mat_VarAddStructField(in, path);
    if (rest == NULL) {
        Mat_VarSetStructFieldByName(in, path, 0, value);
        return;
    }
    size_t one[2] = {1, 1};
    if (there == NULL) {
        there = Mat_VarCreateStruct(NULL, 2, one, NULL, 0);
        Mat_VarSetStructFieldByName(in, path, 0, there);
    }
    put_field(there, rest, value);
}

/* A variable, or a field; the struct stays in *open until another one begins. */
static int add(mat_t *mat, const char *text, matvar_t **open)
{
    char name[64], kind[32], more[64] = "";
    size_t dims[3] = {1, 1, 1}, shape[2] = {1, 1};
    int end = 0, pages = 0;
    if (sscanf(text, "%63[^:]:%31[^:]:%zux%zu%n", name, kind, &dims[0], &dims[1], &end) < 4)
        return 2;
    int rank = sscanf(text + end, "x%zu%n", &dims[2], &pages) == 1 ? 3 : 2;
    (void)sscanf(text + end + pages, ":%63s", more);
    char *dot = strchr(name, '.'), *array = strstr(name, "(2)");
    enum matio_compression how = more[0] == 'z' ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE;
    matvar_t *v = make(dot == NULL ? name : NULL, kind, rank, dims, more);
    if (dot == NULL) {
        int rc = v == NULL ? 1 : Mat_VarWrite(mat, v, how);
        Mat_VarFree(v);
        return rc;
    }
    *dot = '\0';
    if (array != NULL)
        *array = '\0';
    shape[1] = array != NULL ? 2 : 1;
    if (*open == NULL)
        *open = Mat_VarCreateStruct(name, 2, shape, NULL, 0);
    if (array != NULL) {
        Mat_VarAddStructField(*open, dot + 1);
        Mat_VarSetStructFieldByName(*open, dot + 1, 1, v);
    } else {
        put_field(*open, dot + 1, v);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    size_t n = strlen(argv[1]);
    enum mat_ft version = n > 3 && strcmp(argv[1] + n - 3, ".73") == 0 ? MAT_FT_MAT73 : MAT_FT_MAT5;
    mat_t *mat = Mat_CreateVer(argv[1], NULL, version);
    int rc = mat == NULL;
    matvar_t *open = NULL;
    for (int i = 2; rc == 0 && i < argc; i++)
        rc = add(mat, argv[i], &open);
    if (rc == 0 && open != NULL)
        rc = Mat_VarWrite(mat, open, MAT_COMPRESSION_NONE);
    Mat_VarFree(open);
    Mat_Close(mat);
    return rc;
}
