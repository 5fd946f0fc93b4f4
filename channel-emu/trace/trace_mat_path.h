/* SPDX-License-Identifier: Apache-2.0 */
/* Places within variables of a Matlab file: fields of structs, columns of matrices. */
#ifndef CHANNEL_EMU_TRACE_MAT_PATH_H
#define CHANNEL_EMU_TRACE_MAT_PATH_H

#include <matio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many values; 0 also when it is too many to be. */
size_t trace_mat_count(const matvar_t *v);

/* Real numbers, at least one; in one row or column, at least two. */
bool trace_mat_is_matrix(const matvar_t *v);
bool trace_mat_is_vector(const matvar_t *v);

/* The length of the variable's own name in `run(2).power`. */
size_t trace_mat_top(const char *path);

/* What the path says within that variable, and which element of which struct array holds it (NULL:
 * none). NULL with `error` (TRACE_FILE_ERROR_MAX bytes). */
const matvar_t *trace_mat_walk(const matvar_t *top, const char *path, const matvar_t **parent,
                               size_t *index, char *error);

/* Is it a cell array of texts, and nothing but texts, or a matrix of characters, with one for each
 * column? Nothing but what it is need be read of it. */
bool trace_mat_is_names(const matvar_t *v, size_t columns);

/* The place, from 0, of a column's name in such a variable; or in any such field beside. SIZE_MAX:
 * none. */
size_t trace_mat_named(const matvar_t *names, size_t columns, const char *name);
size_t trace_mat_named_beside(const matvar_t *parent, size_t index, size_t columns,
                              const char *name);

#endif
