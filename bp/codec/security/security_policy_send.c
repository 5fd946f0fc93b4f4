/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security source (RFC 9172 §5): a bundle that starts here gets an operation for each target of
 * each matching rule. Signing precedes encryption, and the primary block is signed first, because
 * it loses its CRC. If an operation fails the bundle is refused: it is never sent unprotected.
 */
#include <assert.h>

#include "bp/codec/security/security_policy_private.h"

struct sending {
    struct security_policy *policy;
    const struct bundle *bundle;
    uint64_t dtn_ms;
    struct security_key *key; /* of the rule in hand */
    bool exhausted;
};

static bool take_iv(void *self, uint8_t iv[SECURITY_IV])
{
    struct sending *s = self;
    const bool good = security_ring_iv(s->policy->ring, s->key, iv);
    s->exhausted = s->exhausted || !good;
    return good;
}

static enum security_variant variant_of(const struct security_key *k, uint64_t type)
{
    static const enum security_variant variants[] = {
        [SECURITY_KEY_HMAC_256] = SECURITY_HMAC_256, [SECURITY_KEY_HMAC_384] = SECURITY_HMAC_384,
        [SECURITY_KEY_HMAC_512] = SECURITY_HMAC_512, [SECURITY_KEY_AES_128] = SECURITY_AES_128,
        [SECURITY_KEY_AES_256] = SECURITY_AES_256,
    };
    if (k->algorithm >= SECURITY_KEY_WRAP_128)
        return type == SECURITY_BIB ? SECURITY_HMAC_384 : SECURITY_AES_256;
    return variants[k->algorithm];
}

static enum security_reason reason_of(const struct sending *s, enum security_verdict v)
{
    if (v == SECURITY_OK)
        return SECURITY_PASSED;
    if (s->exhausted)
        return SECURITY_REASON_EXHAUSTED;
    return v == SECURITY_NO_CRYPTO  ? SECURITY_REASON_ERROR
           : v == SECURITY_NO_TOKEN ? SECURITY_REASON_TOKEN
           : v == SECURITY_BAD_KEY  ? SECURITY_REASON_NO_KEY
                                    : SECURITY_REASON_CONFLICTING;
}

static enum security_reason protect_target(struct sending *s, const struct security_rule *rule,
                                           uint64_t target)
{
    struct security_policy *p = s->policy;
    uint64_t failed;
    struct security_cose_key cose;
    if (rule->cose && !security_key_cose(s->key, &cose))
        return SECURITY_REASON_NO_KEY;
    const struct security_request r = {
        .targets = {target},
        .targets_len = 1,
        .variant = rule->cose ? SECURITY_HMAC_384 : variant_of(s->key, rule->type),
        .scope = rule->scope,
        .source = p->node,
        .key = slice_of(s->key->secret, s->key->secret_len),
        .wrap = s->key->algorithm >= SECURITY_KEY_WRAP_128,
        .next_iv = take_iv,
        .iv_self = s,
        .cose = rule->cose ? &cose : NULL,
    };
    return reason_of(s, rule->type == SECURITY_BIB
                            ? security_sign(&p->work, &r, p->crypto)
                            : security_encrypt_each(&p->work, &r, p->crypto, &failed));
}

static enum security_reason apply_rule(struct sending *s, struct policy_rule *r)
{
    uint64_t targets[SECURITY_BLOCKS_MAX];
    enum security_reason reason = SECURITY_PASSED;
    struct security_policy *p = s->policy;
    const size_t n = policy_targets(&p->work, r->rule.target, targets);
    const struct security_want want = {.id = r->rule.key,
                                       .type = r->rule.type,
                                       .cose = r->rule.cose,
                                       .source = true,
                                       .peer = &s->bundle->destination,
                                       .dtn_ms = s->dtn_ms};
    s->key = security_ring_find(p->ring, &want, 0);
    if (s->key == NULL && n > 0)
        return SECURITY_REASON_NO_KEY;
    for (size_t i = 0; i < n && reason == SECURITY_PASSED; i++) {
        reason = protect_target(s, &r->rule, targets[i]);
        p->counters.sourced += reason == SECURITY_PASSED;
        r->good += reason == SECURITY_PASSED;
    }
    return reason;
}

/* The primary block's BIBs, the other BIBs, then what encrypts. */
static int pass_of(const struct security_rule *r)
{
    return r->type == SECURITY_BCB ? 2 : r->target != 0;
}

static enum security_reason apply_rules(struct sending *s, bool *changed)
{
    struct security_policy *p = s->policy;
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < p->rules_len; i++) {
            struct policy_rule *r = &p->rules[i];
            if (r->rule.role != SECURITY_ROLE_SOURCE || pass_of(&r->rule) != pass ||
                !policy_fits(&r->rule, &s->bundle->id.source, &s->bundle->destination))
                continue;
            const enum security_reason reason = apply_rule(s, r);
            if (reason == SECURITY_PASSED)
                *changed = true;
            else if (policy_fail(p, r, s->bundle, s->dtn_ms, reason))
                return reason;
        }
    }
    return SECURITY_PASSED;
}

static bool has_source(const struct security_policy *p, const struct bundle *b, bool *encrypts)
{
    bool any = false;
    *encrypts = false;
    for (size_t i = 0; i < p->rules_len; i++) {
        const struct security_rule *r = &p->rules[i].rule;
        if (r->role != SECURITY_ROLE_SOURCE || !policy_fits(r, &b->id.source, &b->destination))
            continue;
        any = true;
        *encrypts = *encrypts || r->type == SECURITY_BCB;
    }
    return any;
}

/* A BCB of a node with an ipn EID has some 90 bytes. With more room a part would remain unused. */
enum { POLICY_ROOM = 192 };

struct buf *policy_copy(struct buf *bytes, bool changes)
{
    if (!changes)
        return buf_keep(bytes);
    struct buf *out = buf_new(POLICY_ROOM, bytes->len + BUNDLE_TAIL_MAX);
    if (out != NULL)
        memcpy(buf_append(out, bytes->len), buf_data(bytes), bytes->len);
    return out;
}

void policy_write(struct security_policy *p, struct buf *bytes, struct security_undo *undo,
                  struct security_outcome *out)
{
    struct buf *own = p->work.bytes;
    struct security_undo none;
    if (own != bytes && security_bundle_place(&p->work, &none)) {
        assert(own->refs == 1);
        out->made = buf_keep(own);
        return;
    }
    /* two references: the caller's, and this one */
    if (own == bytes && undo != NULL && own->refs == 2 && security_bundle_place(&p->work, undo))
        return;
    out->made = security_bundle_write(&p->work);
    if (out->made == NULL)
        out->reason = SECURITY_REASON_ERROR;
}

bool security_policy_covers(const struct security_policy *p, const struct eid *source,
                            const struct eid *destination)
{
    for (size_t i = 0; i < p->rules_len; i++) {
        const struct security_rule *r = &p->rules[i].rule;
        if (r->role == SECURITY_ROLE_SOURCE && r->target == BLOCK_PAYLOAD && !r->dry_run &&
            policy_fits(r, source, destination))
            return true;
    }
    return false;
}

void security_policy_send(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                          uint64_t dtn_ms, struct security_undo *undo, struct security_outcome *out)
{
    struct sending s = {.policy = p, .bundle = b, .dtn_ms = dtn_ms};
    bool encrypts, changed = false;
    *out = (struct security_outcome){.reason = SECURITY_PASSED};
    if (undo != NULL)
        undo->placed = false;
    if (!has_source(p, b, &encrypts))
        return;
    struct buf *own = policy_copy(bytes, encrypts);
    if (own == NULL || security_bundle_view(own, &p->work) != 0) {
        p->counters.failed[SECURITY_REASON_ERROR]++;
        p->counters.not_sent++;
        out->reason = SECURITY_REASON_ERROR;
        return;
    }
    out->reason = apply_rules(&s, &changed);
    if (out->reason == SECURITY_PASSED && changed)
        policy_write(p, bytes, undo, out);
    p->counters.not_sent += out->reason != SECURITY_PASSED;
    security_bundle_fini(&p->work);
}
