/* SPDX-License-Identifier: Apache-2.0 */
/* One value of a node's configuration, by the description in its struct conf_option. */
#ifndef NODE_CONFIG_VALUE_H
#define NODE_CONFIG_VALUE_H

#include "cla/cla.h"

/* The setter that also knows endpoint ids and addresses. */
conf_setter config_set;

#endif
