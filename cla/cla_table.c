/* SPDX-License-Identifier: Apache-2.0 */
/* The table of adapters. A new one is its folder, and a line here. */
#include <string.h>

#include "cla/cla.h"

extern const struct cla_ops bibe_link_ops, ltp_link_ops, tcpcl_ops, udpcl_ops;

static const struct cla_ops *const table[] = {
    &ltp_link_ops,
    &tcpcl_ops,
    &udpcl_ops,
    &bibe_link_ops,
};

const struct cla_ops *cla_at(size_t i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

const struct cla_ops *cla_find(const char *name)
{
    for (size_t i = 0; cla_at(i) != NULL; i++)
        if (strcmp(cla_at(i)->name, name) == 0)
            return cla_at(i);
    return NULL;
}
