/* SPDX-License-Identifier: Apache-2.0 */
#include "os/lookup.h"

void lookup_add(struct lookup *l, const struct address *a)
{
    for (size_t i = 0; i < l->len; i++)
        if (address_equal(&l->addresses[i], a))
            return;
    if (l->len < LOOKUP_ADDRESSES_MAX)
        l->addresses[l->len++] = *a;
}
