/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warnings before a key of bundle security ends: by its time of validity, and by its limit on
 * encryptions. A key that another one replaces in time has none: the other has the same id, use and
 * peers, is valid before this one ends, and ends later.
 */
#ifndef NODE_NODE_KEY_WARN_H
#define NODE_NODE_KEY_WARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct security_ring;

#define KEY_WARN_TEXT 96

/* Thresholds that were passed: 0 none, then 1 to 3. */
struct key_warning {
    uint8_t time; /* 1: it ends in 14 days or less; 2: in a day or less; 3: it ended */
    uint8_t uses; /* 1: 80 % of its encryptions were made; 2: 95 %; 3: all */
};

/* dtn_ms 0: the clock is not known, and `time` is 0. */
struct key_warning key_warning_of(const struct security_ring *ring, size_t i, uint64_t dtn_ms);
/* "it ends in 13 days", "80 % of its uses are made"; false: there is no warning. */
bool key_warning_text(const struct security_ring *ring, size_t i, uint64_t dtn_ms,
                      char text[KEY_WARN_TEXT]);

#endif
