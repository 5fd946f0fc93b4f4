/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of files that are whole, in memory and in a file: the latest FILES_DONE_MAX of them. */
#ifndef TOOLS_FILES_DONE_H
#define TOOLS_FILES_DONE_H

#include "base/hash.h"
#include "base/list.h"
#include "tools/files/files_wire.h"

#define FILES_DONE_MAX 65536

struct files_done {
    struct hash ids;
    struct list order; /* oldest first */
    int fd;            /* appended to; -1: not open */
};

/* Reads the file `name` in folder `dir`. Creates it if it does not exist, and writes it anew if it
 * has grown. 0 or HELIO_E*; call files_done_fini in any case. */
int files_done_open(struct files_done *d, int dir, const char *name, uint64_t seed);
void files_done_fini(struct files_done *d);

bool files_done_has(const struct files_done *d, const uint8_t id[FILES_ID]);
/* 0 or HELIO_E*: it could not be written. */
int files_done_add(struct files_done *d, const uint8_t id[FILES_ID], bool sync);

#endif
