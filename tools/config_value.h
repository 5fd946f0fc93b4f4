/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a configuration, by the description in its struct option (cla/cla.h). */
#ifndef TOOLS_CONFIG_VALUE_H
#define TOOLS_CONFIG_VALUE_H

#include "cla/cla.h"

/* Writes the value of `text` into the field of `base`. Returns 0; HELIO_EFORMAT with what is wrong
 * and what would be right in why[cap], the field unchanged; HELIO_ENOMEM. An earlier text of the
 * field is freed. */
int option_set(const struct option *o, void *base, const char *text, char *why, size_t cap);

/* Every option with a default gets it. The tables' defaults are ours: a wrong one is asserted. 0 or
 * HELIO_ENOMEM. */
int options_default(const struct option *options, void *base);

/* Frees the texts. */
void options_free(const struct option *options, void *base);

const struct option *option_find(const struct option *options, const char *key);

/* The most similar of `n` words, or NULL when none is similar enough to be meant. */
const char *words_closest(const char *word, const char *const *words, size_t n);

#endif
