/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a shelf each source has: files that are not whole, and their sizes. */
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

/* A file of `size` bytes more, or less. Returns 0 or HELIO_ENOMEM. */
int files_sources_add(struct files_sources *s, const char *source, uint64_t size);
void files_sources_sub(struct files_sources *s, const char *source, uint64_t size);

/* What the source has; NULL: nothing. */
const struct files_share *files_sources_find(const struct files_sources *s, const char *source);

/*
 * May it begin one more of `size` bytes, when it may have so many and so much? Its first one it may
 * in any case.
 */
bool files_sources_may(const struct files_sources *s, const char *source, uint64_t size,
                       uint64_t items_max, uint64_t space_max);

#endif
