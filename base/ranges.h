/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of byte offsets as sorted, disjoint, non-adjacent ranges [lo, hi). The number of ranges is
 * limited, since a peer decides how many holes there are.
 */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct range {
    uint64_t lo, hi; /* lo < hi; hi itself is not inside */
};

/* A set of numbers as ranges in rising order, which do not touch. Owns its memory. */
struct ranges {
    struct range *at;
    size_t len, cap;
};

/* An empty set; it needs no memory yet. */
void ranges_init(struct ranges *s);
/* Frees the memory; the set is empty afterwards, and may be used again. */
void ranges_fini(struct ranges *s);
/* Removes all ranges, and keeps the memory for new ones. */
void ranges_clear(struct ranges *s);

/* Reserves memory for `len` ranges in all, so that additions up to this number cannot fail. Returns
 * 0, or HELIO_ENOMEM with nothing changed. */
int ranges_reserve(struct ranges *s, size_t len);

/* Adds [lo, hi). Returns 1 when it contains any new byte; 0 when all bytes are in the set already
 * (or lo >= hi); HELIO_EAGAIN when the set would have more than `max` ranges; HELIO_ENOMEM. On
 * failure the set is unchanged. */
int ranges_add(struct ranges *s, uint64_t lo, uint64_t hi, size_t max);

/* Adds `len` ranges, which it may sort; empty ones are none. The cost grows with all ranges, and
 * not with their product. Returns 0; HELIO_EAGAIN: those beyond the first `max` are left out;
 * HELIO_ENOMEM with nothing changed. */
int ranges_add_all(struct ranges *s, struct range *more, size_t len, size_t max);

/* Removes [lo, hi). Returns 0; HELIO_EAGAIN (more than `max` ranges would remain); HELIO_ENOMEM. */
int ranges_sub(struct ranges *s, uint64_t lo, uint64_t hi, size_t max);

/* Is all of [lo, hi) inside? True for an empty range. */
bool ranges_has(const struct ranges *s, uint64_t lo, uint64_t hi);

/* Is any byte of [lo, hi) inside? */
bool ranges_meets(const struct ranges *s, uint64_t lo, uint64_t hi);

/* The index of the first range whose hi is above `at`; len when there is none. */
size_t ranges_find(const struct ranges *s, uint64_t at);

/* The first gap in [lo, hi): 1 and *gap, or 0 when there is none. */
int ranges_gap(const struct ranges *s, uint64_t lo, uint64_t hi, struct range *gap);

/* How many bytes are inside: of all, or of [lo, hi). */
uint64_t ranges_bytes(const struct ranges *s);
/* How many bytes of [lo, hi) are inside. */
uint64_t ranges_bytes_in(const struct ranges *s, uint64_t lo, uint64_t hi);

/* Asserts the invariants. */
void ranges_check(const struct ranges *s);

#ifdef __cplusplus
}
#endif

#endif
