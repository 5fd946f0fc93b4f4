/* SPDX-License-Identifier: Apache-2.0 */
/* Words that people type. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* The most similar of `n` words, or NULL when none is similar enough to be meant. */
const char *words_closest(const char *word, const char *const *words, size_t n);

#endif
