/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes and reasons in words. What can go wrong: a number that is none, which is a mistake of an
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

const char *cla_outcome_text(enum cla_outcome o)
{
    static const char *const texts[CLA_OUTCOME_COUNT] = {
        [CLA_DELIVERED] = "delivered", [CLA_HANDED_OVER] = "handed over", [CLA_LOST] = "lost",
        [CLA_REFUSED] = "refused",     [CLA_TAKEN_BACK] = "taken back",   [CLA_FAILED] = "failed",
    };
    assert((unsigned)o < CLA_OUTCOME_COUNT);
    return texts[o];
}

bool cla_outcome_is_good(enum cla_outcome o)
{
    assert((unsigned)o < CLA_OUTCOME_COUNT);
    return o == CLA_DELIVERED || o == CLA_HANDED_OVER;
}
