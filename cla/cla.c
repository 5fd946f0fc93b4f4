/* SPDX-License-Identifier: Apache-2.0 */
/* The table of adapters: a new one is its folder, and a line here. Outcomes and reasons in words.
 * What can go wrong: a number that is no reason, which is a mistake of an adapter. */
#include <assert.h>
#include <string.h>

#include "cla/cla.h"

extern const struct cla_ops bibe_link_ops, ltp_link_ops, streamcl_mtcp_ops, streamcl_stcp_ops,
    tcpcl_ops, udpcl_ops;

static const struct cla_ops *const table[] = {
    &ltp_link_ops, &tcpcl_ops, &udpcl_ops, &streamcl_stcp_ops, &streamcl_mtcp_ops, &bibe_link_ops,
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

const char *cla_reason_text(enum cla_reason r)
{
#define REASON_TEXT(name, text) [CLA_REASON_##name] = text,
    static const char *const texts[CLA_REASON_COUNT] = {CLA_REASONS(REASON_TEXT)};
#undef REASON_TEXT
    assert((unsigned)r < CLA_REASON_COUNT);
    return texts[r];
}

bool cla_outcome_is_good(enum cla_outcome o)
{
    assert((unsigned)o < CLA_OUTCOME_COUNT);
    return o == CLA_DELIVERED || o == CLA_HANDED_OVER;
}
