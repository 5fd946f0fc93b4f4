/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a shelf by each source, or each neighbour: incomplete files, and their received
 * bytes. */
#ifndef TOOLS_FILES_SOURCES_H
#define TOOLS_FILES_SOURCES_H

#include <stdbool.h>

#include "base/hash.h"

/* One that has some. */
struct files_share {
    struct hash_node node;
    uint64_t items, space; /* items >= 1 */
    char source[];
};

struct files_sources {
    struct hash hash;
};

/* 0 or HELIO_ENOMEM; fini in any case, when all has been subtracted. */
int files_sources_init(struct files_sources *s, uint64_t seed);
void files_sources_fini(struct files_sources *s);

/* A file more, of which `bytes` are here, or less. Returns 0 or HELIO_ENOMEM. */
int files_sources_add(struct files_sources *s, const char *source, uint64_t bytes);
void files_sources_sub(struct files_sources *s, const char *source, uint64_t bytes);
/* So many bytes of one of its files were received. */
void files_sources_grow(struct files_sources *s, const char *source, uint64_t bytes);

/* What the source has; NULL: nothing. */
const struct files_share *files_sources_find(const struct files_sources *s, const char *source);

/* May it begin one file more, when it may have so many? Its first one it may in any case. */
bool files_sources_may_begin(const struct files_sources *s, const char *source, uint64_t items_max);
/* May so many more bytes of its files be received under this limit? Its only file may grow in any
 * case. */
bool files_sources_may_grow(const struct files_sources *s, const char *source, uint64_t bytes,
                            uint64_t space_max);

#endif
