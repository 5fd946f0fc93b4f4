/* SPDX-License-Identifier: Apache-2.0 */
/* Received powers from Matlab files of version 5 (as Matlab's save -v6 and -v7 write them) and 7.3
 * (HDF5). */
#ifndef CHANNEL_EMU_TRACE_MAT_H
#define CHANNEL_EMU_TRACE_MAT_H

#include "channel-emu/chan/fading/chan_powers.h"

/* 5 (also written as -v7), 73 (HDF5), or 0 when the file is none or cannot be read. */
int trace_mat_version(const char *path);

/* Is each variable whole? 0, or HELIO_EFORMAT with `error` (TRACE_FILE_ERROR_MAX bytes). */
int trace_mat_check(const char *path, char *error);
/* Is a file of version 7.3 as long as it says? The same. */
int trace_mat_check_hdf5(const char *path, char *error);

/* What is to be read of a file. */
struct trace_mat_place {
    const char *variable; /* its name, or a field: "run.power", "run(2).power"; NULL: the only
                           * vector (with a column: matrix) of the file */
    const char *column;   /* of a matrix: a number from 1, or a name that stands in a cell array of
                           * texts, or a matrix of characters, beside it; NULL: it is a vector */
    bool decibels;
};

/* Adds the values. 0, HELIO_ENOMEM, or HELIO_EFORMAT, both with `error` (TRACE_FILE_ERROR_MAX
 * bytes). */
int trace_mat_read(struct powers *p, const char *path, const struct trace_mat_place *w,
                   char *error);

#endif
