/* SPDX-License-Identifier: Apache-2.0 */
/* Words that people type. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* The one of `n` words that was meant: the same but for case, '-' or a unit (rto_ms), another name
 * of it (speed: rate), at most 1 wrong letter of 5, 2 of 9, 3 of more (the first one right), or a
 * part of it. NULL: none is near enough. The text belongs to the caller. */
const char *words_closest(const char *word, const char *const *words, size_t n);

/* A remark after a suggestion of words_closest, for a user who typed a round-trip time where the
 * key is a one-way time; "" if there is none. Static. */
const char *words_remark(const char *typed, const char *meant);

/* Writes the words separated by commas. "..." ends the list if it exceeds `cap` bytes (at least 8,
 * with the terminating zero). Returns out. */
const char *words_list(const char *const *words, size_t n, char *out, size_t cap);

#endif
