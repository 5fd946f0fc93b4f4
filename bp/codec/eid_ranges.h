/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of ipn patterns (draft-ietf-dtn-eid-pattern), for eid_pattern.c. */
#ifndef BP_EID_RANGES_H
#define BP_EID_RANGES_H

#include "bp/codec/eid.h"

/* The parts of an ipn pattern, in the order of its text. */
enum { PART_ALLOCATOR, PART_NODE, PART_SERVICE };

/* Parses "*", "5", "[1-5,7,9+]" in two or three parts; `text` is what follows "ipn:". Returns 0, or
 * HELIO_EFORMAT with the reason in *why (static). */
int ranges_parse(const char *text, struct eid_ranges out[EID_PARTS], const char **why);
/* Writes the ranges with "ipn:" in the shortest form, which ranges_parse reads. Never longer than
 * the parsed text. Returns its length. */
size_t ranges_text(const struct eid_ranges part[EID_PARTS], char out[EID_TEXT_MAX]);

/* The set with one number; the set of all numbers of a part. */
struct eid_ranges ranges_one(uint64_t number);
struct eid_ranges ranges_all(size_t part);

bool eid_ranges_have(const struct eid_ranges *r, uint64_t number);
bool eid_ranges_meet(const struct eid_ranges *a, const struct eid_ranges *b);
bool eid_ranges_equal(const struct eid_ranges *a, const struct eid_ranges *b);
/* Returns n such that the set has at most 2^n numbers. */
int eid_ranges_bits(const struct eid_ranges *r);

#endif
