/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of an adapter that are lists of maps. */
#ifndef TOOLS_CONFIG_LISTS_H
#define TOOLS_CONFIG_LISTS_H

#include "tools/node/config.h"

/* The keys of all lists of the adapter, ended by NULL, for conf_section_read. */
#define CONFIG_LISTS_MAX 8
void config_lists_words(const struct cla_ops *ops, const char *words[CONFIG_LISTS_MAX + 1]);

/* Reads them into the link's settings. */
void config_lists_read(const struct conf_tree *map, const char *where, struct config_link *l,
                       struct conf_errors *errors);
void config_lists_free(struct config_link *l);

#endif
