/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often bundles came again after they had been forwarded, so that those that go in a circle go
 * ever slower. Known by a hash of their ids: two that share one only slow each other down. Bounded:
 * those that were forwarded longest ago are forgotten.
 */
#ifndef BP_RETURNS_H
#define BP_RETURNS_H

#include "base/hash.h"
#include "base/list.h"

struct returns {
    struct hash ids;
    struct list order; /* forwarded longest ago first */
    uint64_t max;
};

int returns_init(struct returns *r, uint64_t seed, uint64_t max); /* 0 or HELIO_ENOMEM */
void returns_fini(struct returns *r);
/* A bundle with this hash was forwarded. Without memory it is not remembered. */
void returns_forwarded(struct returns *r, uint64_t hash);
bool returns_known(const struct returns *r, uint64_t hash);
/* It is here again: how often so far, this time included; 0 when it is not known. */
unsigned returns_again(struct returns *r, uint64_t hash);
void returns_check(const struct returns *r);

#endif
