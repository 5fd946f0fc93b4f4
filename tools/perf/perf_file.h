/* SPDX-License-Identifier: Apache-2.0 */
/* A file that the server rebuilds from pieces in any order. */
#ifndef TOOLS_PERF_FILE_H
#define TOOLS_PERF_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct perf_file;

/* A new hidden file in folder `dir`, to have `size` bytes in the end. 0 or HELIO_E*. */
int perf_file_new(struct perf_file **out, const char *dir, uint64_t session, struct slice name,
                  uint64_t size);

/* Writes a piece. Returns 0, HELIO_EINVAL (beyond the size), or another error of the system. */
int perf_file_write(struct perf_file *f, uint64_t offset, struct slice piece);

/* All pieces were written: checks the whole and gives it its name, or name.1, name.2, … when that
 * is taken; the name is in perf_file_name then. 0, HELIO_EFORMAT (wrong check value), or
 * another error of the system. Once. */
int perf_file_finish(struct perf_file *f, uint32_t crc);
const char *perf_file_name(const struct perf_file *f);

/* Removes the hidden file if it was not finished. NULL is allowed. */
void perf_file_free(struct perf_file *f);

#endif
