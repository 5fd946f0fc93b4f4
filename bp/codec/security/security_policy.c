/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a policy and what they met: counters, last failures. The rules that fit a bundle
 * apply one after the other: security_policy_receive.c has verifiers and acceptors,
 * security_policy_send.c the source. What can go wrong is a reason that is counted.
 */
#include "bp/codec/security/security_policy_private.h"

#include <assert.h>
#include <stdlib.h>

const char *security_reason_word(enum security_reason r)
{
#define REASON_WORD(name, word, text, code) [SECURITY_REASON_##name] = word,
    static const char *const words[] = {SECURITY_REASONS(REASON_WORD)};
#undef REASON_WORD
    return r >= 0 && r < SECURITY_REASON_COUNT ? words[r] : "passed";
}

const char *security_reason_text(enum security_reason r)
{
#define REASON_TEXT(name, word, text, code) [SECURITY_REASON_##name] = text,
    static const char *const texts[] = {SECURITY_REASONS(REASON_TEXT)};
#undef REASON_TEXT
    return r >= 0 && r < SECURITY_REASON_COUNT ? texts[r] : "passed";
}

enum status_reason security_reason_code(enum security_reason r)
{
#define REASON_CODE(name, word, text, code) [SECURITY_REASON_##name] = code,
    static const uint8_t codes[] = {SECURITY_REASONS(REASON_CODE)};
#undef REASON_CODE
    return r >= 0 && r < SECURITY_REASON_COUNT ? (enum status_reason)codes[r] : REASON_NONE;
}

int security_policy_new(struct security_policy **out, const struct eid *node,
                        const struct crypto *crypto, struct security_ring *ring)
{
    struct security_policy *p = calloc(1, sizeof *p);
    if (p == NULL)
        return HELIO_ENOMEM;
    p->node = *node;
    p->crypto = crypto;
    p->ring = ring;
    *out = p;
    return 0;
}

void security_policy_free(struct security_policy *p)
{
    if (p != NULL)
        free(p->rules);
    free(p);
}

int security_policy_set(struct security_policy *p, const struct security_rule *rules, size_t len)
{
    assert(len <= SECURITY_RULES_MAX);
    struct policy_rule *own = calloc(len + 1, sizeof *own);
    if (own == NULL)
        return HELIO_ENOMEM;
    for (size_t i = 0; i < len; i++)
        own[i].rule = rules[i];
    free(p->rules);
    p->rules = own;
    p->rules_len = len;
    return 0;
}

bool policy_fits(const struct security_rule *r, const struct eid *source,
                 const struct eid *destination)
{
    return eid_patterns_match(&r->from, source) && eid_patterns_match(&r->to, destination);
}

bool security_policy_receives(const struct security_policy *p, const struct eid *source,
                              const struct eid *destination)
{
    for (size_t i = 0; i < p->rules_len; i++) {
        if (p->rules[i].rule.role != SECURITY_ROLE_SOURCE &&
            policy_fits(&p->rules[i].rule, source, destination))
            return true;
    }
    return false;
}

bool policy_fail(struct security_policy *p, struct policy_rule *r, const struct bundle *b,
                 uint64_t dtn_ms, enum security_reason reason)
{
    assert(reason >= 0 && reason < SECURITY_REASON_COUNT);
    p->counters.failed[reason]++;
    p->counters.passed += r->rule.dry_run;
    r->failed++;
    p->failures[p->failed % SECURITY_FAILURES] =
        (struct security_failure){.number = p->failed + 1,
                                  .dtn_ms = dtn_ms,
                                  .rule = (size_t)(r - p->rules),
                                  .line = r->rule.line,
                                  .reason = reason,
                                  .passed = r->rule.dry_run,
                                  .id = b->id,
                                  .destination = b->destination};
    p->failed++;
    return !r->rule.dry_run;
}

size_t policy_targets(const struct security_bundle *b, uint64_t type,
                      uint64_t out[SECURITY_BLOCKS_MAX])
{
    size_t n = 0;
    if (type == 0)
        out[n++] = 0;
    for (size_t i = 0; i < b->len && type != 0; i++) {
        if (b->at[i].type == type)
            out[n++] = b->at[i].number;
    }
    return n;
}

const struct security_counters *security_policy_counters(const struct security_policy *p)
{
    return &p->counters;
}

bool security_policy_rule(const struct security_policy *p, size_t i, struct security_rule *rule,
                          uint64_t *good, uint64_t *failed)
{
    if (i >= p->rules_len)
        return false;
    *rule = p->rules[i].rule;
    *good = p->rules[i].good;
    *failed = p->rules[i].failed;
    return true;
}

bool security_policy_failure(const struct security_policy *p, size_t i,
                             struct security_failure *out)
{
    if (i >= p->failed || i >= SECURITY_FAILURES)
        return false;
    *out = p->failures[(p->failed - 1 - i) % SECURITY_FAILURES];
    return true;
}
