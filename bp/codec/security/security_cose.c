/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a source and an acceptor of the context COSE compute alike: the external AAD
 * (draft-ietf-dtn-bpsec-cose-17 §2.4.1), and the structures of RFC 9052 around it.
 * The structures are lists of slices, so that contents of blocks are not copied. What can go wrong:
 * the AAD scope names a block that the bundle does not have.
 */
#include <assert.h>

#include "bp/codec/block.h"
#include "bp/codec/security/security_private.h"

/* ---- parts ---- */

/* What was written since the last part becomes one. */
static void end_part(struct cose_parts *p)
{
    assert(p->len < COSE_PARTS_MAX);
    if (p->w.p > p->from)
        p->at[p->len++] = slice_of(p->from, (size_t)(p->w.p - p->from));
    p->from = p->w.p;
}

/* A byte string whose content stays where it is. */
static void put_view(struct cose_parts *p, struct slice s)
{
    item_put_bytes_head(&p->w, s.len);
    end_part(p);
    if (s.len > 0)
        p->at[p->len++] = s;
}

static void put_metadata(struct writer *w, const struct bundle_block *block)
{
    item_put_uint(w, block->type);
    item_put_uint(w, block->number);
    item_put_uint(w, block->flags);
}

/* The block of a key of the AAD scope; *out NULL: the primary block. False: there is none. */
static bool find_block(const struct security_bundle *b, int64_t key,
                       const struct bundle_block *target, const struct bundle_block *security,
                       const struct bundle_block **out)
{
    *out = key == SECURITY_AAD_TARGET ? target : key == SECURITY_AAD_SECURITY ? security : NULL;
    if (key < 0)
        return key >= SECURITY_AAD_SECURITY;
    for (size_t i = 0; i < b->len && key > 0; i++) {
        if (b->at[i].number == (uint64_t)key)
            *out = &b->at[i];
    }
    /* a new security block is not in the list yet, and has no content */
    return key == 0 || *out != NULL;
}

/* §2.4.1: security source, scope, the blocks of the scope, additional protected headers. */
static bool put_aad(struct cose_parts *p, const struct security_bundle *b,
                    const struct security_block *s, const struct bundle_block *target,
                    const struct bundle_block *security)
{
    eid_write(&p->w, &s->source);
    security_cose_write_aad_scope(&p->w, &s->aad);
    for (size_t i = 0; i < s->aad.len; i++) {
        const struct bundle_block *block;
        const uint64_t flags = s->aad.at[i].flags;
        if (!find_block(b, s->aad.at[i].key, target, security, &block))
            return false;
        if (block == NULL) {
            primary_write(&p->w, &b->primary);
            continue;
        }
        if (flags & SECURITY_AAD_METADATA)
            put_metadata(&p->w, block);
        if (flags & SECURITY_AAD_CONTENT)
            put_view(p, block->data);
    }
    put_view(p, s->added_protected);
    end_part(p);
    return true;
}

static const char *context_of(enum cose_id id)
{
    switch (id) {
    case COSE_MAC0:
        return "MAC0";
    case COSE_MAC:
        return "MAC";
    case COSE_SIGN1:
        return "Signature1";
    case COSE_SIGN:
        return "Signature";
    case COSE_ENCRYPT0:
        return "Encrypt0";
    default:
        return "Encrypt";
    }
}

static size_t sum_from(const struct cose_parts *p, size_t from)
{
    size_t sum = 0;
    for (size_t i = from; i < p->len; i++)
        sum += p->at[i].len;
    return sum;
}

/* The head of the external AAD precedes it, and is known after it: a part is kept free for it. */
static bool put_external(struct cose_parts *p, const struct security_bundle *b,
                         const struct security_block *s, const struct bundle_block *target,
                         const struct bundle_block *security)
{
    end_part(p);
    const size_t head = p->len++;
    if (!put_aad(p, b, s, target, security))
        return false;
    item_put_bytes_head(&p->w, sum_from(p, head + 1));
    p->at[head] = slice_of(p->from, (size_t)(p->w.p - p->from));
    p->from = p->w.p;
    return true;
}

bool security_cose_parts(struct cose_parts *p, const struct security_bundle *b,
                         const struct security_block *s, const struct bundle_block *target,
                         const struct bundle_block *security, enum cose_id id,
                         struct slice protected_map, const struct cose_layer *signer)
{
    const char *context = context_of(id);
    const bool payload = cose_id_is_integrity(id);
    p->w = writer_of(p->bytes, sizeof p->bytes);
    p->from = p->bytes;
    p->len = 0;
    item_put_array(&p->w, 3u + payload + (signer != NULL));
    item_put_text(&p->w, slice_of(context, strlen(context)));
    put_view(p, protected_map);
    if (signer != NULL)
        put_view(p, signer->protected_map);
    if (!put_external(p, b, s, target, security))
        return false;
    if (payload && target != NULL) {
        put_view(p, target->data);
    } else if (payload) {
        item_put_bytes_head(&p->w, primary_size(&b->primary));
        primary_write(&p->w, &b->primary);
    }
    end_part(p);
    return !p->w.bad;
}

struct buf *security_cose_join(const struct cose_parts *p)
{
    struct buf *out = buf_new(0, sum_from(p, 0) + 1);
    for (size_t i = 0; i < p->len && out != NULL; i++)
        memcpy(buf_append(out, p->at[i].len), p->at[i].data, p->at[i].len);
    return out;
}

/* ---- algorithms ---- */

bool security_cose_scheme(int64_t alg, struct crypto_scheme *out)
{
    static const struct {
        int64_t alg;
        struct crypto_scheme scheme;
    } schemes[] = {{COSE_ES256, {CRYPTO_P256, 256}},  {COSE_ESP256, {CRYPTO_P256, 256}},
                   {COSE_ES384, {CRYPTO_P384, 384}},  {COSE_ESP384, {CRYPTO_P384, 384}},
                   {COSE_ES512, {CRYPTO_P521, 512}},  {COSE_ESP512, {CRYPTO_P521, 512}},
                   {COSE_EDDSA, {CRYPTO_ED25519, 0}}, {COSE_ED25519, {CRYPTO_ED25519, 0}},
                   {COSE_PS256, {CRYPTO_RSA, 256}},   {COSE_PS384, {CRYPTO_RSA, 384}},
                   {COSE_PS512, {CRYPTO_RSA, 512}}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        *out = schemes[i].scheme;
        if (schemes[i].alg == alg)
            return true;
    }
    return false;
}

size_t security_cose_key_bytes(int64_t alg)
{
    switch (alg) {
    case COSE_A128GCM:
        return 16;
    case COSE_A256GCM:
    case COSE_HMAC_256:
        return 32;
    case COSE_HMAC_384:
        return 48;
    case COSE_HMAC_512:
        return 64;
    default:
        return 0;
    }
}
