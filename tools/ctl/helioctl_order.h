/* SPDX-License-Identifier: Apache-2.0 */
/* Private: commands whose words are right and stand in another order, or behind another option. */
#ifndef HELIOCTL_ORDER_H
#define HELIOCTL_ORDER_H

#include <stddef.h>

/* What to write instead of these words, in `out`; NULL: nothing is known. Returns out. */
const char *ctl_order_advice(const char *const *words, size_t n, char *out, size_t cap);
/* The same of --socket and CONFIG.yaml, of which one names the node; NULL for what is not given. */
const char *ctl_order_node(const char *socket, const char *config, char *out, size_t cap);

#endif
