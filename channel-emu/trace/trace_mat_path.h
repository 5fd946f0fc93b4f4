/* SPDX-License-Identifier: Apache-2.0 */
/* Places within variables of a Matlab file: fields of structs, columns of matrices. */
#ifndef CHANNEL_EMU_TRACE_MAT_PATH_H
#define CHANNEL_EMU_TRACE_MAT_PATH_H

#include <matio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Real numbers, at least one; in one row or column, at least two. */
bool trace_mat_is_matrix(const matvar_t *v);
bool trace_mat_is_vector(const matvar_t *v);

/* The length of the variable's own name in `run(2).power`. */
size_t trace_mat_top(const char *path);

/* What the path says within that variable, and which element of which struct array holds it (NULL:
 * none). NULL with `error` (TRACE_FILE_ERROR_MAX bytes). */
const matvar_t *trace_mat_walk(const matvar_t *top, const char *path, const matvar_t **parent,
                               size_t *index, char *error);

/* The place, from 0, of a column's name in a cell array of texts or a matrix of characters with one
 * for each column; or in any such field beside. SIZE_MAX: none. */
size_t trace_mat_named(const matvar_t *names, size_t columns, const char *name);
size_t trace_mat_named_beside(const matvar_t *parent, size_t index, size_t columns,
                              const char *name);

#endif
