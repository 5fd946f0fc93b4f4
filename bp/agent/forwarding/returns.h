/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often bundles returned after they had been forwarded, so that bundles in a routing loop are
 * forwarded with growing pauses. The key is a hash of the id: two bundles with one hash only delay
 * each other. Bounded: the entry that was forwarded longest ago is dropped.
 */
#ifndef BP_RETURNS_H
#define BP_RETURNS_H

#include "base/hash.h"
#include "base/list.h"

struct returns {
    struct hash ids;
    struct list order; /* least recently forwarded first */
    uint64_t max;
};

int returns_init(struct returns *r, uint64_t seed, uint64_t max); /* 0 or HELIO_ENOMEM */
void returns_fini(struct returns *r);
/* Records that a bundle with this hash was forwarded. Ignored without memory. */
void returns_forwarded(struct returns *r, uint64_t hash);
bool returns_known(const struct returns *r, uint64_t hash);
/* The bundle has returned: how often so far, including this time; 0: unknown. */
unsigned returns_again(struct returns *r, uint64_t hash);
void returns_check(const struct returns *r);

#endif
