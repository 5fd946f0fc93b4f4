/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of bundles that were here and are gone, against duplicates. Each is kept as its digest of 128
 * bits with a secret key, so that a long id takes no more than a short one and nobody finds two ids
 * with one digest. Bounded: the oldest make room for new ones.
 */
#ifndef BP_SEEN_H
#define BP_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define SEEN_ID_BYTES 52u /* memory of one id at most, with its places in the tables */
#define SEEN_STEP 64u     /* ids whose time has come that a new one sends away, at most */
#define SEEN_MAX (UINT32_MAX / 64)

struct seen_id; /* in seen.c */

struct seen {
    struct seen_id *ids; /* those below `top` were in use once */
    uint32_t *slots;     /* chains by digest; NULL before the first id */
    uint32_t *ends;      /* a binary heap: the id whose time comes first is first */
    uint64_t key[2];
    uint32_t len, top, cap, max;
    uint32_t slots_len; /* a power of two, at least `max` */
    uint32_t oldest, newest, unused;
    uint64_t displaced; /* ids that made room before their time had come */
};

/* max: ids; at most SEEN_MAX are kept. Allocates nothing. */
void seen_init(struct seen *s, uint64_t seed, uint64_t max);
void seen_fini(struct seen *s);
bool seen_has(const struct seen *s, struct slice id);
/* Remembers id until until_ms, which is after now_ms; SEEN_STEP of those whose time has come at
 * now_ms are forgotten, and the oldest one if there are too many. 0 or HELIO_ENOMEM. */
int seen_add(struct seen *s, struct slice id, uint64_t until_ms, uint64_t now_ms);
/* The memory in use, at most SEEN_ID_BYTES * max and 1 KiB. It stays when ids are forgotten. */
uint64_t seen_bytes(const struct seen *s);
void seen_check(const struct seen *s);

#endif
