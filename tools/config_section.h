/* SPDX-License-Identifier: Apache-2.0 */
/* A map of the file against tables of options: the part that every section shares. */
#ifndef TOOLS_CONFIG_SECTION_H
#define TOOLS_CONFIG_SECTION_H

#include "cla/cla.h"
#include "tools/config_tree.h"

/* One table with the struct that its offsets mean. */
struct section_part {
    const struct option *options;
    void *base;
};

/*
 * Sets what the map gives. An option that several parts know is set in each of them. `words` (NULL
 * or ended by NULL) are keys that the caller reads itself; `where` goes in front of keys in
 * messages ("store.", "links[to-2]."). Reports unknown, duplicate, missing and wrong keys; the
 * defaults must be in place already. HELIO_ENOMEM is reported as an error, too.
 */
void section_read(const struct tree *map, const char *where, const struct section_part *parts,
                  size_t parts_len, const char *const *words, struct config_errors *errors);

#endif
