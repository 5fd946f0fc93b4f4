/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifiers and acceptors by the rules of the policy (RFC 9172 §5.1, §7). Encrypted blocks are
 * decrypted first, because they may be signed. Each target of a rule must have the rule's
 * operation, verified by one of the keys. Rules that only verify read the bytes in place. An
 * acceptor that removes or decrypts makes another bundle; the received one is unchanged, because it
 * may be offered again.
 */
#include <assert.h>

#include "bp/codec/security/security_policy_private.h"

struct receiving {
    struct security_policy *policy;
    const struct bundle *bundle;
    uint64_t dtn_ms;
    bool group; /* for several nodes: nothing is removed */
    bool changed;
};

/* The only operation of that kind on the target that can be read. */
static enum security_reason find_operation(const struct security_bundle *b, uint64_t type,
                                           uint64_t target, struct security_operation *op,
                                           struct security_block *found)
{
    struct security_block s;
    size_t n = 0;
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type != type || security_is_encrypted(b, b->at[i].number))
            continue;
        if (security_block_parse(type, b->at[i].data, &s) != NULL)
            return SECURITY_REASON_FAILED;
        for (size_t k = 0; k < s.targets_len; k++) {
            if (s.targets[k] != target)
                continue;
            *op = (struct security_operation){.block = i, .target = k};
            *found = s;
            n++;
        }
    }
    if (n != 1)
        return n == 0 ? SECURITY_REASON_MISSING : SECURITY_REASON_CONFLICTING;
    return found->known ? SECURITY_PASSED : SECURITY_REASON_UNKNOWN;
}

/* A key is for one algorithm: it is not used with another one that the block names. */
static bool suits(const struct security_key *k, const struct security_block *s)
{
    static const enum security_variant variants[] = {
        [SECURITY_KEY_HMAC_256] = SECURITY_HMAC_256, [SECURITY_KEY_HMAC_384] = SECURITY_HMAC_384,
        [SECURITY_KEY_HMAC_512] = SECURITY_HMAC_512, [SECURITY_KEY_AES_128] = SECURITY_AES_128,
        [SECURITY_KEY_AES_256] = SECURITY_AES_256,
    };
    const bool wraps = k->algorithm >= SECURITY_KEY_WRAP_128;
    return wraps == (s->wrapped_key.len > 0) && (wraps || variants[k->algorithm] == s->variant);
}

/* SECURITY_BAD_KEY: the operation is not for this key. */
static enum security_verdict try_key(struct receiving *in, const struct security_rule *rule,
                                     struct security_operation op, const struct security_block *s,
                                     const struct security_key *k)
{
    struct security_policy *p = in->policy;
    struct security_cose_key cose;
    const struct slice secret = slice_of(k->secret, k->secret_len);
    const bool integrity = rule->type == SECURITY_BIB;
    if (rule->cose && !security_key_cose(k, &cose))
        return SECURITY_BAD_KEY;
    if (rule->cose)
        return integrity ? security_cose_verify(&p->work, op, &cose, in->dtn_ms, p->crypto)
                         : security_cose_decrypt(&p->work, op, &cose, p->crypto);
    if (!suits(k, s))
        return SECURITY_BAD_KEY;
    return integrity ? security_verify(&p->work, op, secret, p->crypto)
                     : security_decrypt(&p->work, op, secret, p->crypto);
}

/* Another key may be the right one after these. */
static enum security_reason reason_of(enum security_verdict v)
{
    return v == SECURITY_NO_TOKEN      ? SECURITY_REASON_TOKEN
           : v == SECURITY_NOT_TRUSTED ? SECURITY_REASON_CERTIFICATE
           : v == SECURITY_UNKNOWN     ? SECURITY_REASON_UNKNOWN
                                       : SECURITY_REASON_FAILED;
}

static enum security_reason try_keys(struct receiving *in, const struct security_rule *rule,
                                     struct security_operation op, const struct security_block *s)
{
    struct security_policy *p = in->policy;
    enum security_reason reason = SECURITY_REASON_NO_KEY;
    const struct security_key *k;
    const struct security_want want = {.id = rule->key,
                                       .type = rule->type,
                                       .cose = rule->cose,
                                       .peer = &s->source,
                                       .dtn_ms = in->dtn_ms};
    for (size_t i = 0; (k = security_ring_find(p->ring, &want, i)) != NULL; i++) {
        const enum security_verdict v = try_key(in, rule, op, s, k);
        if (v == SECURITY_OK)
            return SECURITY_PASSED;
        if (v == SECURITY_NO_CRYPTO)
            return SECURITY_REASON_ERROR;
        if (v == SECURITY_CONFLICT)
            return SECURITY_REASON_CONFLICTING;
        if (reason == SECURITY_REASON_NO_KEY || reason == SECURITY_REASON_FAILED)
            reason = reason_of(v);
    }
    return reason;
}

/* The metadata of the primary block as the target is the block itself. */
static uint64_t scope_wanted(const struct security_rule *rule, uint64_t target)
{
    return rule->cose && target == SECURITY_PRIMARY ? rule->scope & SECURITY_SCOPE_SECURITY
                                                    : rule->scope;
}

static enum security_reason check_target(struct receiving *in, const struct security_rule *rule,
                                         uint64_t target)
{
    struct security_policy *p = in->policy;
    struct security_operation op;
    struct security_block s;
    enum security_reason reason = find_operation(&p->work, rule->type, target, &op, &s);
    if (reason == SECURITY_PASSED && rule->cose != (s.context == SECURITY_COSE))
        reason = SECURITY_REASON_UNKNOWN;
    const uint64_t scope = scope_wanted(rule, target);
    if (reason == SECURITY_PASSED && (s.scope & scope) != scope)
        reason = SECURITY_REASON_FAILED;
    if (reason == SECURITY_PASSED)
        reason = try_keys(in, rule, op, &s);
    if (reason != SECURITY_PASSED)
        return reason;
    const bool accepts = rule->role == SECURITY_ROLE_ACCEPTOR && !in->group;
    p->counters.accepted += accepts;
    p->counters.verified += !accepts;
    in->changed = in->changed || accepts;
    if (accepts && rule->type == SECURITY_BIB && security_strip(&p->work, op) != SECURITY_OK)
        return SECURITY_REASON_ERROR;
    return SECURITY_PASSED;
}

/* Integrity blocks are encrypted with their targets (RFC 9172 §3.9), by the same source. */
static enum security_reason decrypt_integrity(struct receiving *in,
                                              const struct security_rule *rule)
{
    struct security_bundle *b = &in->policy->work;
    for (size_t i = 0; i < b->len; i++) {
        if (b->at[i].type != SECURITY_BIB || !security_is_encrypted(b, b->at[i].number))
            continue;
        const enum security_reason reason = check_target(in, rule, b->at[i].number);
        if (reason != SECURITY_PASSED)
            return reason;
        i = (size_t)-1; /* indexes have changed */
    }
    return SECURITY_PASSED;
}

/* Takes the block out, and the operations on it. False: it is the payload or the primary block. */
static bool drop_block(struct receiving *in, uint64_t number)
{
    struct security_policy *p = in->policy;
    struct security_operation op;
    struct security_block s;
    size_t at = 0;
    while (at < p->work.len && p->work.at[at].number != number)
        at++;
    if (number <= 1 || at + 1 >= p->work.len)
        return false;
    if (find_operation(&p->work, SECURITY_BIB, number, &op, &s) == SECURITY_PASSED)
        (void)security_strip(&p->work, op);
    for (at = 0; p->work.at[at].number != number;)
        at++;
    security_remove(&p->work, at);
    p->counters.blocks_dropped++;
    in->changed = true;
    return true;
}

/* SECURITY_PASSED, or why the bundle is dropped. */
static enum security_reason apply_rule(struct receiving *in, struct policy_rule *r)
{
    uint64_t targets[SECURITY_BLOCKS_MAX];
    struct security_policy *p = in->policy;
    const size_t n = policy_targets(&p->work, r->rule.target, targets);
    for (size_t i = 0; i < n; i++) {
        enum security_reason reason = check_target(in, &r->rule, targets[i]);
        if (reason == SECURITY_PASSED && r->rule.type == SECURITY_BCB)
            reason = decrypt_integrity(in, &r->rule);
        if (reason == SECURITY_PASSED) {
            r->good++;
            continue;
        }
        if (policy_fail(p, r, in->bundle, in->dtn_ms, reason) &&
            !(r->rule.reaction == SECURITY_DROP_BLOCK && drop_block(in, targets[i])))
            return reason;
    }
    return SECURITY_PASSED;
}

static bool is_receiver(const struct receiving *in, const struct security_rule *r, uint64_t type)
{
    return r->role != SECURITY_ROLE_SOURCE && r->type == type &&
           !(in->group && type == SECURITY_BCB) &&
           policy_fits(r, &in->bundle->id.source, &in->bundle->destination);
}

static void apply_rules(struct receiving *in, uint64_t type, struct security_outcome *out)
{
    struct security_policy *p = in->policy;
    for (size_t i = 0; i < p->rules_len && out->reason == SECURITY_PASSED; i++) {
        struct policy_rule *r = &p->rules[i];
        if (!is_receiver(in, &r->rule, type))
            continue;
        if (!in->bundle->id.fragment)
            out->reason = apply_rule(in, r);
        else if (policy_fail(p, r, in->bundle, in->dtn_ms, SECURITY_REASON_FRAGMENT))
            out->reason = SECURITY_REASON_FRAGMENT;
        out->report = out->reason != SECURITY_PASSED && r->rule.reaction == SECURITY_REPORT;
    }
}

/* Without its BIB the primary block needs a CRC (RFC 9171 §4.3.1), unless a remaining operation
 * authenticates it unchanged. */
static void protect_primary(struct security_bundle *b)
{
    for (size_t i = 0; i < b->len; i++) {
        if (security_is_block(b->at[i].type))
            return;
    }
    if (b->primary.crc == CRC_NONE)
        b->primary.crc = CRC_32C;
}

/* Which kinds of rules apply? Those of a BCB need a copy of the bytes: they decrypt in place. */
static bool has_receiver(const struct receiving *in, bool *decrypts)
{
    bool any = false;
    *decrypts = false;
    for (size_t i = 0; i < in->policy->rules_len; i++) {
        const struct security_rule *r = &in->policy->rules[i].rule;
        const bool bcb = is_receiver(in, r, SECURITY_BCB);
        *decrypts = *decrypts || bcb;
        any = any || bcb || is_receiver(in, r, SECURITY_BIB);
    }
    return any;
}

static void finish_bundle(struct receiving *in, struct buf *bytes, struct security_undo *undo,
                          struct security_outcome *out)
{
    struct security_policy *p = in->policy;
    if (out->reason != SECURITY_PASSED || !in->changed)
        return;
    protect_primary(&p->work);
    policy_write(p, bytes, undo, out);
}

static void end_in_error(struct security_policy *p, struct security_outcome *out)
{
    p->counters.failed[SECURITY_REASON_ERROR]++;
    out->reason = SECURITY_REASON_ERROR;
}

void security_policy_too_many(struct security_policy *p, struct security_outcome *out)
{
    *out = (struct security_outcome){.reason = SECURITY_PASSED};
    end_in_error(p, out);
    p->counters.bundles_dropped++;
}

void security_policy_receive(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                             uint64_t dtn_ms, struct security_undo *undo,
                             struct security_outcome *out)
{
    uint64_t group, service;
    struct receiving in = {.policy = p,
                           .bundle = b,
                           .dtn_ms = dtn_ms,
                           .group = eid_imc(&b->destination, &group, &service)};
    bool decrypts;
    *out = (struct security_outcome){.reason = SECURITY_PASSED};
    if (undo != NULL)
        undo->placed = false;
    if (!has_receiver(&in, &decrypts))
        return;
    struct buf *own = policy_copy(bytes, decrypts);
    if (own == NULL || security_bundle_view(own, &p->work) != 0) {
        end_in_error(p, out);
    } else {
        apply_rules(&in, SECURITY_BCB, out);
        apply_rules(&in, SECURITY_BIB, out);
        finish_bundle(&in, bytes, undo, out);
        security_bundle_fini(&p->work);
    }
    p->counters.bundles_dropped += out->reason != SECURITY_PASSED;
}
