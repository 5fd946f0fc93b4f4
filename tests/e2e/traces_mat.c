/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the Matlab files that traces_test.py reads. usage: traces_mat FILE VARIABLE... with
 * VARIABLE = NAME:CLASS:ROWSxCOLUMNS[:z], CLASS double, single, int16, uint8, complex or char, z
 * for compressed, and values from the standard input (0 when there are no more). FILE is of version
 * 7.3 when its name ends in .73. */
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

static int add(mat_t *mat, const char *text)
{
    char name[32], kind[32], z[8] = "";
    size_t dims[2];
    enum matio_classes c;
    enum matio_types type;
    if (sscanf(text, "%31[^:]:%31[^:]:%zux%zu:%7s", name, kind, &dims[0], &dims[1], z) < 4)
        return 2;
    void *data = fill(kind, dims[0] * dims[1], &c, &type);
    struct mat_complex_split_t both = {data, data};
    int complex = strcmp(kind, "complex") == 0;
    matvar_t *v = Mat_VarCreate(name, c, type, 2, dims, complex ? (void *)&both : data,
                                complex ? MAT_F_COMPLEX : 0);
    enum matio_compression how = z[0] == 'z' ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE;
    int rc = v == NULL ? 1 : Mat_VarWrite(mat, v, how);
    Mat_VarFree(v);
    free(data);
    return rc;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    size_t n = strlen(argv[1]);
    enum mat_ft version = n > 3 && strcmp(argv[1] + n - 3, ".73") == 0 ? MAT_FT_MAT73 : MAT_FT_MAT5;
    mat_t *mat = Mat_CreateVer(argv[1], NULL, version);
    int rc = mat == NULL;
    for (int i = 2; rc == 0 && i < argc; i++)
        rc = add(mat, argv[i]);
    Mat_Close(mat);
    return rc;
}
