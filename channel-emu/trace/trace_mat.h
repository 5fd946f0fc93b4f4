/* SPDX-License-Identifier: Apache-2.0 */
/* Received powers from Matlab files of version 5 (as Matlab's save -v6 and -v7 write them). */
#ifndef CHANNEL_EMU_TRACE_MAT_H
#define CHANNEL_EMU_TRACE_MAT_H

#include "channel-emu/chan/chan_powers.h"

/* 5 (also written as -v7), 73 (HDF5), or 0 when the file is none or cannot be read. */
int trace_mat_version(const char *path);

/* Is each variable whole? 0, or HELIO_EFORMAT with `error` (TRACE_FILE_ERROR_MAX bytes). */
int trace_mat_check(const char *path, char *error);

/* Adds the values of a real vector of numbers; NULL for the only vector of the file. 0,
 * HELIO_ENOMEM, or HELIO_EFORMAT, both with `error` (TRACE_FILE_ERROR_MAX bytes). */
int trace_mat_read(struct powers *p, const char *path, const char *variable, bool decibels,
                   char *error);

#endif
