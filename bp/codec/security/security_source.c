/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A security source adds a BIB or a BCB (RFC 9173 §3.8.1, §4.8.1): it checks every target, makes
 * the key, removes the targets' CRCs (not for COSE), computes a result for each target, and inserts
 * the block. If
 * a step fails, the bundle is as it was before.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/block.h"
#include "bp/codec/security/security_private.h"

/* A request in process. */
struct source {
    struct security_bundle *bundle;
    const struct security_request *request;
    const struct crypto *crypto;
    struct bundle_block block; /* the new block; its content is written at the end */
    struct security_block content;
    struct slice key; /* what the operation uses */
    uint8_t content_key[SECURITY_KEY_MAX], wrapped[SECURITY_WRAPPED_MAX], iv[SECURITY_IV];
    uint8_t results[SECURITY_TARGETS_MAX][CRYPTO_MAC_MAX];
    uint8_t messages[SECURITY_MADE_MAX];      /* of COSE */
    enum crc_type crcs[SECURITY_TARGETS_MAX]; /* of the targets, before */
};

/* May an operation that is there have authenticated the primary block with its CRC? */
static bool covers_primary(const struct security_bundle *b)
{
    struct security_block s;
    for (size_t i = 0; i < b->len; i++) {
        if (security_is_block(b->at[i].type) &&
            (security_block_parse(b->at[i].type, b->at[i].data, &s) != NULL || !s.known ||
             (s.scope & SECURITY_SCOPE_PRIMARY)))
            return true;
    }
    return false;
}

static enum security_verdict may_sign(struct security_bundle *b, const struct security_request *r,
                                      uint64_t target)
{
    if (b->primary.id.fragment || security_is_encrypted(b, target) ||
        security_targeting(b, SECURITY_BIB, target) < b->len)
        return SECURITY_CONFLICT;
    if (target == SECURITY_PRIMARY) /* it loses its CRC, so it is signed before it is covered */
        return r->cose == NULL && b->primary.crc != CRC_NONE && covers_primary(b)
                   ? SECURITY_CONFLICT
                   : SECURITY_OK;
    const struct bundle_block *block = security_find(b, target);
    if (block == NULL)
        return SECURITY_NO_TARGET;
    return security_is_block(block->type) ? SECURITY_CONFLICT : SECURITY_OK;
}

static bool asks_for(const struct security_request *r, uint64_t number)
{
    for (size_t i = 0; i < r->targets_len; i++) {
        if (r->targets[i] == number)
            return true;
    }
    return false;
}

/* RFC 9172 §3.8: an integrity block is encrypted together with one of its targets, or after it. */
static bool shares_target(const struct security_bundle *b, const struct security_request *together,
                          const struct bundle_block *bib)
{
    struct security_block s;
    if (security_block_parse(SECURITY_BIB, bib->data, &s) != NULL)
        return false;
    for (size_t i = 0; i < s.targets_len; i++) {
        if (asks_for(together, s.targets[i]) || security_is_encrypted(b, s.targets[i]))
            return true;
    }
    return false;
}

/* Is an integrity block encrypted, or asked for, with all of its targets? The results of other
 * targets would be hidden from their verifiers. */
static bool goes_along(const struct security_bundle *b, const struct security_request *r,
                       size_t bib)
{
    struct security_block s;
    const uint64_t number = b->at[bib].number;
    if (security_is_encrypted(b, number))
        return true;
    if (!asks_for(r, number) || security_block_parse(SECURITY_BIB, b->at[bib].data, &s) != NULL)
        return false;
    for (size_t i = 0; i < s.targets_len; i++) {
        if (!asks_for(r, s.targets[i]) && !security_is_encrypted(b, s.targets[i]))
            return false;
    }
    return true;
}

/* A block that cannot be read may have any target. */
static bool has_unreadable(const struct security_bundle *b)
{
    struct security_block s;
    for (size_t i = 0; i < b->len; i++) {
        if (security_is_block(b->at[i].type) && !security_is_encrypted(b, b->at[i].number) &&
            security_block_parse(b->at[i].type, b->at[i].data, &s) != NULL)
            return true;
    }
    return false;
}

static enum security_verdict may_encrypt(struct security_bundle *b,
                                         const struct security_request *r, uint64_t target)
{
    if (b->primary.id.fragment || target == SECURITY_PRIMARY || security_is_encrypted(b, target))
        return SECURITY_CONFLICT;
    const struct bundle_block *block = security_find(b, target);
    if (block == NULL)
        return SECURITY_NO_TARGET;
    if (block->type == SECURITY_BCB || (block->type == SECURITY_BIB && !shares_target(b, r, block)))
        return SECURITY_CONFLICT;
    /* RFC 9172 §3.9: the integrity block of an encrypted target must be encrypted as well. */
    const size_t bib = security_targeting(b, SECURITY_BIB, target);
    return bib == b->len || goes_along(b, r, bib) ? SECURITY_OK : SECURITY_CONFLICT;
}

static bool is_legal(const struct security_request *r, uint64_t type)
{
    if (r->targets_len == 0 || r->targets_len > SECURITY_TARGETS_MAX ||
        (r->cose == NULL && security_is_cipher(r->variant) != (type == SECURITY_BCB)) ||
        (r->cose != NULL && type == SECURITY_BCB && r->targets_len > 1))
        return false;
    for (size_t i = 0; i < r->targets_len; i++) {
        for (size_t k = 0; k < i; k++) {
            if (r->targets[i] == r->targets[k])
                return false;
        }
    }
    return type == SECURITY_BIB || r->targets_len == 1 || r->iv.len > 0;
}

static enum security_verdict check_request(struct security_bundle *b,
                                           const struct security_request *r,
                                           const struct security_request *together, uint64_t type)
{
    if (!is_legal(r, type) || has_unreadable(b))
        return SECURITY_CONFLICT;
    for (size_t i = 0; i < r->targets_len; i++) {
        const enum security_verdict v = type == SECURITY_BIB
                                            ? may_sign(b, r, r->targets[i])
                                            : may_encrypt(b, together, r->targets[i]);
        if (v != SECURITY_OK)
            return v;
    }
    return SECURITY_OK;
}

/* The additional protected headers: an x5chain (RFC 9360 §2). */
static size_t added_bytes(const struct security_cose_key *k)
{
    size_t size = 6 + k->added_protected.len;
    for (size_t i = 0; i < k->certificates_len; i++)
        size += item_size(k->certificates[i].len) + k->certificates[i].len;
    return size;
}

/* The caller has made sure that there is room for them. */
static struct slice write_added(struct security_bundle *b, const struct security_cose_key *k)
{
    enum { X5CHAIN = 33 };
    struct writer w = writer_of(b->made + b->made_len, SECURITY_MADE_MAX - b->made_len);
    item_put_map(&w, 1);
    item_put_uint(&w, X5CHAIN);
    if (k->certificates_len > 1)
        item_put_array(&w, k->certificates_len);
    for (size_t i = 0; i < k->certificates_len; i++) {
        item_put_bytes_head(&w, k->certificates[i].len);
        writer_bytes(&w, k->certificates[i].data, k->certificates[i].len);
    }
    assert(!w.bad);
    b->made_len += writer_len(&w);
    return slice_of(w.start, writer_len(&w));
}

/* Is there room for the block, with all parameters and a result for each target? */
static bool has_room(const struct security_bundle *b, const struct security_request *r)
{
    size_t most = 100 + SECURITY_WRAPPED_MAX + SECURITY_IV_MAX + eid_size(&r->source) +
                  r->targets_len * (9 + 6 + CRYPTO_MAC_MAX);
    if (r->cose != NULL)
        most = 100 + SECURITY_AAD_MAX * 18 + eid_size(&r->source) + added_bytes(r->cose) +
               r->targets_len * (9 + 9 + security_cose_message_max(r->cose));
    return b->len < SECURITY_BLOCKS_MAX &&
           most + (r->cose != NULL ? added_bytes(r->cose) : 0) <= SECURITY_MADE_MAX - b->made_len;
}

/* The metadata of the primary block as a target would be that block itself, which is signed. */
static void plan_cose(struct source *s)
{
    const struct security_request *r = s->request;
    const bool primary = r->targets_len == 1 && r->targets[0] == SECURITY_PRIMARY;
    s->content.context = SECURITY_COSE;
    s->content.aad = r->aad != NULL
                         ? *r->aad
                         : security_cose_scope_of(
                               r->scope & (primary ? SECURITY_SCOPE_SECURITY : SECURITY_SCOPE_ALL));
    if (r->cose->added_protected.len > 0)
        s->content.added_protected = r->cose->added_protected;
    else if (r->cose->identify == SECURITY_BY_X5CHAIN && s->block.type == SECURITY_BIB)
        s->content.added_protected = write_added(s->bundle, r->cose);
}

static enum security_verdict plan_block(struct source *s, uint64_t type)
{
    const struct security_request *r = s->request;
    const uint64_t number = r->number != 0 ? r->number : security_free_number(s->bundle);
    if (!has_room(s->bundle, r))
        return SECURITY_NO_ROOM;
    if (number < 2 || security_number_used(s->bundle, number))
        return SECURITY_CONFLICT;
    /* RFC 9172 §3.8: an encrypted payload's BCB is replicated in every fragment. */
    const bool replicate = type == SECURITY_BCB && asks_for(r, 1);
    s->block = (struct bundle_block){
        .type = type, .number = number, .flags = replicate ? BLOCK_REPLICATE : 0, .crc = CRC_NONE};
    s->content = (struct security_block){.targets_len = r->targets_len,
                                         .context = type == SECURITY_BIB ? SECURITY_BIB_HMAC_SHA2
                                                                         : SECURITY_BCB_AES_GCM,
                                         .known = true,
                                         .source = r->source,
                                         .has_parameters = true,
                                         .has_variant = true,
                                         .has_scope = true,
                                         .variant = r->variant,
                                         .scope = r->scope & SECURITY_SCOPE_ALL};
    memcpy(s->content.targets, r->targets, r->targets_len * sizeof *r->targets);
    if (r->cose != NULL)
        plan_cose(s);
    return SECURITY_OK;
}

/* Uses the given key, or makes a content key and wraps it by the given one (RFC 3394). */
static enum security_verdict plan_key(struct source *s)
{
    const struct security_request *r = s->request;
    s->key = r->key;
    if (!r->wrap)
        return security_key_fits(r->variant, r->key.len) ? SECURITY_OK : SECURITY_BAD_KEY;
    const size_t len = r->content_key.len > 0 ? r->content_key.len : security_key_bytes(r->variant);
    if (!security_wraps(r->key.len) || !security_key_fits(r->variant, len) || len % 8 != 0 ||
        len < 16)
        return SECURITY_BAD_KEY;
    if (r->content_key.len > 0)
        memcpy(s->content_key, r->content_key.data, len);
    else if (!s->crypto->random(s->crypto->self, s->content_key, len))
        return SECURITY_NO_CRYPTO;
    s->key = slice_of(s->content_key, len);
    if (!s->crypto->wrap(s->crypto->self, r->key, s->key, s->wrapped))
        return security_crypto_failed(s->crypto, SECURITY_NO_CRYPTO);
    s->content.wrapped_key = slice_of(s->wrapped, len + 8);
    return SECURITY_OK;
}

static enum crc_type *crc_of(struct security_bundle *b, uint64_t number)
{
    return number == SECURITY_PRIMARY ? &b->primary.crc : &security_find(b, number)->crc;
}

/* Removes the CRCs of the targets (§3.8.1, §4.8.1): the security block replaces them. */
static void remove_crcs(struct source *s)
{
    for (size_t i = 0; i < s->request->targets_len; i++) {
        enum crc_type *crc = crc_of(s->bundle, s->request->targets[i]);
        s->crcs[i] = *crc;
        *crc = CRC_NONE;
    }
}

static void restore_crcs(struct source *s)
{
    for (size_t i = 0; i < s->request->targets_len; i++)
        *crc_of(s->bundle, s->request->targets[i]) = s->crcs[i];
}

/* Puts the block behind the security blocks that are there, and in front of all others: the order
 * of the examples in RFC 9173. */
static void add_block(struct source *s)
{
    struct security_bundle *b = s->bundle;
    struct writer w = writer_of(b->made + b->made_len, SECURITY_MADE_MAX - b->made_len);
    security_block_write(&w, s->block.type, &s->content);
    assert(!w.bad);
    s->block.data = slice_of(w.start, writer_len(&w));
    b->made_len += writer_len(&w);
    size_t at = 0;
    while (at + 1 < b->len && security_is_block(b->at[at].type))
        at++;
    if (!security_insert(b, at, &s->block))
        assert(false); /* has_room */
}

static enum security_verdict sign_targets(struct source *s)
{
    for (size_t i = 0; i < s->request->targets_len; i++) {
        const struct bundle_block *target = security_find(s->bundle, s->request->targets[i]);
        if (!security_make_mac(s->bundle, &s->content, target, &s->block, s->key, s->crypto,
                               s->results[i]))
            return security_crypto_failed(s->crypto, SECURITY_NO_CRYPTO);
        s->content.results[i] = slice_of(s->results[i], security_mac_bytes(s->request->variant));
    }
    return SECURITY_OK;
}

static bool seal_target(struct source *s, size_t i)
{
    struct bundle_block *target = security_find(s->bundle, s->request->targets[i]);
    struct security_headers h;
    security_put_headers(&h, s->bundle, s->content.scope, target, &s->block);
    return s->crypto->seal(s->crypto->self, s->key, s->content.iv, slice_of(h.bytes, h.len),
                           security_mutable(s->bundle, target->data), target->data.len,
                           s->results[i]);
}

/* Decrypts the targets that were encrypted before one failed. */
static void open_targets(struct source *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bundle_block *target = security_find(s->bundle, s->request->targets[i]);
        struct security_headers h;
        security_put_headers(&h, s->bundle, s->content.scope, target, &s->block);
        s->crypto->open(s->crypto->self, s->key, s->content.iv, slice_of(h.bytes, h.len),
                        security_mutable(s->bundle, target->data), target->data.len, s->results[i]);
    }
}

static enum security_verdict seal_targets(struct source *s)
{
    s->content.iv = s->request->iv;
    if (s->content.iv.len == 0) {
        const struct security_request *r = s->request;
        if (!(r->next_iv != NULL ? r->next_iv(r->iv_self, s->iv)
                                 : s->crypto->random(s->crypto->self, s->iv, sizeof s->iv)))
            return SECURITY_NO_CRYPTO;
        s->content.iv = slice_of(s->iv, sizeof s->iv);
    }
    for (size_t i = 0; i < s->request->targets_len; i++) {
        if (!seal_target(s, i)) {
            const enum security_verdict v = security_crypto_failed(s->crypto, SECURITY_NO_CRYPTO);
            open_targets(s, i);
            return v;
        }
        s->content.results[i] = slice_of(s->results[i], CRYPTO_TAG);
    }
    return SECURITY_OK;
}

static enum security_verdict make_messages(struct source *s)
{
    struct writer w = writer_of(s->messages, sizeof s->messages);
    for (size_t i = 0; i < s->request->targets_len; i++) {
        const uint8_t *start = w.p;
        const enum security_verdict v = security_cose_protect(
            s->bundle, s->request, &s->content, s->request->targets[i], &s->block, s->crypto, &w);
        if (v != SECURITY_OK)
            return v;
        s->content.ids[i] = security_cose_id(s->request->cose, s->block.type);
        s->content.results[i] = slice_of(start, (size_t)(w.p - start));
    }
    return SECURITY_OK;
}

/* COSE leaves the targets' CRCs as they are. */
static enum security_verdict apply_cose(struct source *s)
{
    const enum security_verdict v = make_messages(s);
    if (v == SECURITY_OK)
        add_block(s);
    return v;
}

static enum security_verdict apply_request(struct security_bundle *b,
                                           const struct security_request *r,
                                           const struct security_request *together,
                                           const struct crypto *crypto, uint64_t type)
{
    struct source s;
    enum security_verdict v = check_request(b, r, together, type);
    if (v != SECURITY_OK)
        return v;
    s.bundle = b;
    s.request = r;
    s.crypto = crypto;
    v = plan_block(&s, type);
    if (v == SECURITY_OK && r->cose != NULL)
        return apply_cose(&s);
    if (v == SECURITY_OK)
        v = plan_key(&s);
    if (v == SECURITY_OK) {
        remove_crcs(&s);
        v = type == SECURITY_BIB ? sign_targets(&s) : seal_targets(&s);
        if (v == SECURITY_OK)
            add_block(&s);
        else
            restore_crcs(&s);
    }
    secret_wipe(s.content_key, sizeof s.content_key);
    return v;
}

enum security_verdict security_sign(struct security_bundle *b, const struct security_request *r,
                                    const struct crypto *crypto)
{
    return apply_request(b, r, r, crypto, SECURITY_BIB);
}

enum security_verdict security_encrypt(struct security_bundle *b, const struct security_request *r,
                                       const struct crypto *crypto)
{
    return apply_request(b, r, r, crypto, SECURITY_BCB);
}

/* The targets with their integrity blocks, each of these in front of its target. False: too many.
 */
static bool add_integrity(const struct security_bundle *b, const struct security_request *r,
                          struct security_request *all)
{
    *all = *r;
    all->targets_len = 0;
    for (size_t i = 0; i < r->targets_len; i++) {
        const size_t bib = security_targeting(b, SECURITY_BIB, r->targets[i]);
        const uint64_t add[2] = {bib < b->len ? b->at[bib].number : r->targets[i], r->targets[i]};
        for (size_t k = 0; k < 2; k++) {
            if (asks_for(all, add[k]) || (k == 0 && security_is_encrypted(b, add[k])))
                continue;
            if (all->targets_len == SECURITY_TARGETS_MAX)
                return false;
            all->targets[all->targets_len++] = add[k];
        }
    }
    return true;
}

enum security_verdict security_encrypt_each(struct security_bundle *b,
                                            const struct security_request *r,
                                            const struct crypto *crypto, uint64_t *failed)
{
    struct security_request all, one = *r;
    *failed = r->targets_len > 0 ? r->targets[0] : 1;
    if (r->targets_len == 0 || r->iv.len > 0 || r->number != 0 || !add_integrity(b, r, &all))
        return SECURITY_CONFLICT;
    one.targets_len = 1;
    for (size_t i = 0; i < all.targets_len; i++) {
        *failed = one.targets[0] = all.targets[i];
        const enum security_verdict v = apply_request(b, &one, &all, crypto, SECURITY_BCB);
        if (v != SECURITY_OK)
            return v;
    }
    return SECURITY_OK;
}
