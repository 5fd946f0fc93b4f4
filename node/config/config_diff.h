/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two configurations, key by key. */
#ifndef NODE_CONFIG_DIFF_H
#define NODE_CONFIG_DIFF_H

#include "node/config/config.h"

/* Have both structs of the table the same value for this key? */
bool config_value_equal(const struct conf_option *o, const void *a, const void *b);
/* The first list whose items differ; NULL: all are equal. */
const struct cla_list *config_lists_differ(const struct cla_list *lists, const void *a,
                                           const void *b);
/* The field of `to` gets the value of `from`. False: no memory, and nothing changed. */
bool config_value_copy(const struct conf_option *o, const void *from, void *to);

#endif
