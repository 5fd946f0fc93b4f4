/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons in words. What can go wrong: a number that is none, which is a mistake of an
 * adapter. */
#include <assert.h>

#include "cla/cla.h"

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
