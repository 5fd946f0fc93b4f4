/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a node's configuration, by the description in its struct conf_option. */
#ifndef NODE_CONFIG_VALUE_H
#define NODE_CONFIG_VALUE_H

#include "cla/cla.h"

/* The setter that also knows endpoint ids and addresses. */
conf_setter config_set;

/* The patterns of the key `which` of a rule: 0, or HELIO_EINVAL with *key and the reason. */
int config_patterns(const char **key, const char *which, const char *text, struct eid_patterns *out,
                    char *why, size_t cap);

#endif
