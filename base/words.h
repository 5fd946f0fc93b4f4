/* SPDX-License-Identifier: Apache-2.0 */
/* Words that people type. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* The one of `n` words that was meant: the same but for case, '-' or a unit (rto_ms), another name
 * of it (speed: rate), at most 1 wrong letter of 5, 2 of 9, 3 of more (the first one right), or a
 * part of it. NULL: none is near enough. The text belongs to the caller. */
const char *words_closest(const char *word, const char *const *words, size_t n);

/* What to say behind a suggestion of words_closest: that a time of one way is meant by who typed
 * the round trip; "" if there is nothing to say. The text is static. */
const char *words_remark(const char *typed, const char *meant);

/* The words with commas between, ended by "..." where `cap` bytes (at least 8, with the zero) are
 * too few for all. Returns out. */
const char *words_list(const char *const *words, size_t n, char *out, size_t cap);

#endif
