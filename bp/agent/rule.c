/* SPDX-License-Identifier: Apache-2.0 */
/* A rule is a conjunction of what it names; one that names nothing fits every bundle. */
#include "bp/agent/rule.h"

#include <assert.h>

struct rule rule_any(void)
{
    struct rule r = {.to.len = 1, .from.len = 1};
    r.to.at[0].any = r.from.at[0].any = true;
    return r;
}

static bool has_flag(uint64_t flags, int flag)
{
    static const uint64_t bits[RULE_FLAGS] = {
        [RULE_FLAG_ADMIN] = BUNDLE_IS_ADMIN,
        [RULE_FLAG_FRAGMENT] = BUNDLE_IS_FRAGMENT,
        [RULE_FLAG_NO_FRAGMENT] = BUNDLE_NO_FRAGMENT,
        [RULE_FLAG_ACK] = BUNDLE_APP_ACK,
        [RULE_FLAG_REPORT] = BUNDLE_REPORT_RECEPTION | BUNDLE_REPORT_FORWARDING |
                             BUNDLE_REPORT_DELIVERY | BUNDLE_REPORT_DELETION,
    };
    assert(flag >= 0 && flag < RULE_FLAGS);
    return flag == RULE_FLAG_ANY || (flags & bits[flag]) != 0;
}

bool rule_fits(const struct rule *r, const struct rule_subject *s)
{
    assert(s->priority < BUNDLE_PRIORITIES);
    if (s->bytes < r->size_min || (r->size_max != 0 && s->bytes > r->size_max))
        return false;
    if (r->service != 0 && (s->to->scheme != EID_IPN || s->to->service != r->service))
        return false;
    if (r->priority != RULE_PRIORITY_ANY && r->priority != (int)s->priority + 1)
        return false;
    return has_flag(s->flags, r->flag) && eid_patterns_match(&r->to, s->to) &&
           eid_patterns_match(&r->from, s->from);
}
