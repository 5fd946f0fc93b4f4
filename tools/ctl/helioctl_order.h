/* SPDX-License-Identifier: Apache-2.0 */
/* Private: commands whose words are right and stand in another order. */
#ifndef HELIOCTL_ORDER_H
#define HELIOCTL_ORDER_H

#include <stddef.h>

/* What to write instead of these words, in `out`; NULL: nothing is known. Returns out. */
const char *ctl_order_advice(const char *const *words, size_t n, char *out, size_t cap);

#endif
