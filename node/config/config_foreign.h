/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters and keys that people confuse: an adapter's name that is nearly right, and keys that
 * another adapter has. */
#ifndef NODE_CONFIG_FOREIGN_H
#define NODE_CONFIG_FOREIGN_H

#include "conf/conf_groups.h"
#include "node/config/config.h"

/* The adapter of a link's map. NULL after an error, or if the key `adapter` is missing or no text,
 * which conf_section_read reports. A name that is nearly right is an error, too, and returns the
 * adapter that was meant: the other keys can be checked by it. `where` names the link
 * ("links[a]."). */
const struct cla_ops *config_adapter_find(const struct conf_tree *map, const char *where,
                                          config_adapters *adapters, struct conf_errors *errors);

/* Keys of the view that `ops` does not have and another adapter has: errors that name these
 * adapters; with ops NULL (the adapter is not known) they may be right, and are no errors. They are
 * taken out of the view, so that they are neither unknown keys nor among those that could be meant.
 */
void config_foreign_report(struct conf_flat *flat, const char *where, const struct cla_ops *ops,
                           config_adapters *adapters, struct conf_errors *errors);

#endif
