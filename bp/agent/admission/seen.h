/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of bundles that were here, to detect duplicates. An id is kept as a keyed digest of 128 bits,
 * so that a long id needs no more memory than a short one, and an attacker cannot find two ids with
 * one digest. Bounded: new ids replace the oldest ones.
 */
#ifndef BP_SEEN_H
#define BP_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define SEEN_ID_BYTES 52u /* maximum memory of one id, with its table entries */
#define SEEN_STEP 64u     /* expired ids that one new id removes, at most */
#define SEEN_MAX (UINT32_MAX / 64)

struct seen_id; /* in seen.c */

struct seen {
    struct seen_id *ids; /* ids below `top` have been used */
    uint32_t *slots;     /* chains by digest; NULL before the first id */
    uint32_t *ends;      /* a binary heap: the id that expires first is first */
    uint64_t key[2];
    uint32_t len, top, cap, max;
    uint32_t slots_len; /* a power of two, at least `max` */
    uint32_t oldest, newest, unused;
    uint64_t displaced; /* ids that were replaced before they expired */
};

/* max: ids; at most SEEN_MAX are kept. Allocates nothing. */
void seen_init(struct seen *s, uint64_t seed, uint64_t max);
void seen_fini(struct seen *s);
bool seen_has(const struct seen *s, struct slice id);
/* Keeps an id until until_ms, which is after now_ms. Up to SEEN_STEP ids that have expired at
 * now_ms are removed, and the oldest one if there are too many. Returns 0 or HELIO_ENOMEM. */
int seen_add(struct seen *s, struct slice id, uint64_t until_ms, uint64_t now_ms);
/* Memory in use, at most SEEN_ID_BYTES * max + 1 KiB. Removing ids does not free it. */
uint64_t seen_bytes(const struct seen *s);
void seen_check(const struct seen *s);

#endif
