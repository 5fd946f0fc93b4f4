/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of bundles that were here and are gone, against duplicates. Bounded: the oldest make room for
 * new ones.
 */
#ifndef BP_SEEN_H
#define BP_SEEN_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/slice.h"

struct seen {
    struct hash ids;
    struct list order; /* oldest first */
    struct heap ends;
    uint64_t max, seed;
};

int seen_init(struct seen *s, uint64_t seed, uint64_t max); /* 0 or HELIO_ENOMEM */
void seen_fini(struct seen *s);
bool seen_has(const struct seen *s, struct slice id);
/* Remembers id until until_ms; those whose time has come at now_ms are forgotten, and the oldest
 * ones while there are too many. 0 or HELIO_ENOMEM. */
int seen_add(struct seen *s, struct slice id, uint64_t until_ms, uint64_t now_ms);
void seen_check(const struct seen *s);

#endif
