/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a link, or of its adapter, that are lists of maps. */
#ifndef NODE_CONFIG_LISTS_H
#define NODE_CONFIG_LISTS_H

#include "node/config/config.h"

/* Appends the keys of the lists to `words`, ended by NULL, for conf_section_read. */
#define CONFIG_LISTS_MAX 8
void config_lists_words(const struct cla_list *lists, const char *words[CONFIG_LISTS_MAX + 1]);

/* Reads them into `base`, which their offsets mean. */
void config_lists_read(const struct cla_list *lists, void *base, const struct conf_tree *map,
                       const char *where, struct conf_errors *errors);
/* `base` was copied as bytes from `was`: makes its items a copy of its own. False: no memory; items
 * that are not copied yet are removed. */
bool config_lists_copy(const struct cla_list *lists, const void *was, void *base);
void config_lists_free(const struct cla_list *lists, void *base);

/* The texts of a struct that was copied as bytes become the copy's own. False: no memory; those
 * that are not copied yet are NULL. */
bool config_texts_own(const struct conf_option *options, void *base);

#endif
