/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifiers and acceptors of the context COSE: the message of an operation is parsed, the layer is
 * found that the key identifies, its content key is unwrapped or derived, and the MAC, signature or
 * tag is verified. What can go wrong is a verdict; the bundle is then unchanged.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/security/security_private.h"

/* An operation in process. */
struct accepting {
    const struct security_bundle *b;
    const struct security_cose_key *key;
    const struct crypto *crypto;
    uint64_t dtn_ms;
    size_t at; /* of the target; b->len: the primary block */
    const struct bundle_block *security;
    struct security_block s;
    struct cose_message m;
    const struct cose_layer *layer; /* that the key identifies */
    uint8_t room[SECURITY_WRAPPED_MAX];
};

static const struct bundle_block *target_of(const struct accepting *a)
{
    return a->at < a->b->len ? &a->b->at[a->at] : NULL;
}

static enum security_verdict read_message(struct accepting *a, struct security_operation op,
                                          uint64_t type)
{
    enum security_verdict v = security_read_operation(a->b, op, type, &a->s);
    if (v == SECURITY_OK && a->s.context != SECURITY_COSE)
        v = SECURITY_BAD_KEY;
    if (v == SECURITY_OK)
        v = security_find_target(a->b, a->s.targets[op.target], &a->at);
    a->security = &a->b->at[op.block];
    if (v == SECURITY_OK &&
        cose_message_parse(a->s.ids[op.target], a->s.results[op.target], a->s.added_protected,
                           a->s.added_unprotected, &a->m) != NULL)
        v = SECURITY_MALFORMED;
    return v;
}

/* ---- which layer is for the key? ---- */

/* Is it the thumbprint of the certificate (RFC 9360 §2)? */
static bool has_thumbprint(const struct accepting *a, const struct cose_headers *h,
                           struct slice certificate)
{
    const struct crypto_signatures *c = &a->crypto->signatures;
    const int64_t alg = h->x5t_alg;
    const unsigned bits = alg == COSE_SHA_256 || alg == COSE_SHA_256_64 ? 256
                          : alg == COSE_SHA_384                         ? 384
                          : alg == COSE_SHA_512                         ? 512
                          : alg == COSE_SHA_512_256                     ? CRYPTO_SHA_512_256
                                                                        : 0;
    const size_t len = alg == COSE_SHA_256_64 ? 8 : bits == CRYPTO_SHA_512_256 ? 32 : bits / 8;
    uint8_t hash[64];
    return bits > 0 && h->x5t.len == len && c->digest(c->self, bits, certificate, hash) &&
           memcmp(hash, h->x5t.data, len) == 0;
}

/* A layer without identifiers is for the keys of the security source (§3.1). */
static bool is_for_key(const struct accepting *a, const struct cose_layer *layer)
{
    const struct cose_headers *h = &layer->headers;
    const struct security_cose_key *k = a->key;
    const bool certified = h->chain_len > 0 || h->x5t.data != NULL;
    if (k->alg == 0)
        return certified;
    if (k->certificates_len > 0 && h->chain_len > 0 && slice_equal(h->chain[0], k->certificates[0]))
        return true;
    if (k->certificates_len > 0 && h->x5t.data != NULL && has_thumbprint(a, h, k->certificates[0]))
        return true;
    return h->kid.data != NULL ? slice_equal(h->kid, k->kid) : !certified;
}

static enum security_verdict find_layer(struct accepting *a)
{
    a->layer = NULL;
    if (a->m.len == 0 && is_for_key(a, &a->m.body))
        a->layer = &a->m.body;
    for (size_t i = 0; i < a->m.len && a->layer == NULL; i++) {
        if (is_for_key(a, &a->m.at[i]))
            a->layer = &a->m.at[i];
    }
    if (a->layer == NULL)
        return SECURITY_BAD_KEY;
    return a->layer->headers.critical || a->m.body.headers.critical ? SECURITY_UNKNOWN
                                                                    : SECURITY_OK;
}

/* ---- content keys ---- */

static enum security_verdict unwrap_key(struct accepting *a, struct slice kek, size_t len)
{
    const struct crypto *c = a->crypto;
    if (a->layer->value.len != len + 8)
        return SECURITY_MALFORMED;
    return c->unwrap(c->self, kek, a->layer->value, a->room)
               ? SECURITY_OK
               : security_crypto_failed(c, SECURITY_WRONG);
}

/* The sender's public key, as DER: the message's ephemeral one, or that of the key. A static key
 * that the message names must be that one. */
static enum security_verdict find_sender(const struct accepting *a, bool is_static,
                                         uint8_t room[CRYPTO_PUBLIC_MAX], struct slice *out)
{
    const struct cose_headers *h = &a->layer->headers;
    const struct slice given = is_static ? h->static_key : h->ephemeral_key;
    struct cose_key sender;
    *out = a->key->public_key;
    if (given.data == NULL && !is_static)
        return SECURITY_MALFORMED;
    if (given.data != NULL && (cose_key_parse(given, &sender) != NULL || sender.x.data == NULL))
        return SECURITY_MALFORMED;
    if (!is_static) {
        struct writer w = writer_of(room, CRYPTO_PUBLIC_MAX);
        cose_key_write_public(&sender, &w);
        assert(!w.bad);
        *out = slice_of(room, writer_len(&w));
        return SECURITY_OK;
    }
    if (given.data != NULL && !cose_key_is_of(&sender, *out))
        return SECURITY_BAD_KEY;
    return h->static_kid.data == NULL || a->key->static_kid.len == 0 ||
                   slice_equal(h->static_kid, a->key->static_kid)
               ? SECURITY_OK
               : SECURITY_BAD_KEY;
}

static enum security_verdict agree_key(struct accepting *a, const struct cose_recipient *r,
                                       int64_t content, size_t len)
{
    uint8_t room[CRYPTO_PUBLIC_MAX], kek[SECURITY_KEY_MAX];
    struct slice sender;
    const struct cose_kdf k = {.alg = content,
                               .len = len,
                               .protected_map = a->layer->protected_map,
                               .salt = a->layer->headers.salt};
    enum security_verdict v = find_sender(a, r->is_static, room, &sender);
    if (v != SECURITY_OK)
        return v;
    if (r->is_static && k.salt.len == 0) /* else all messages would have one key */
        return SECURITY_MALFORMED;
    if (!security_cose_agree(&a->s, r, k,
                             r->is_static ? CRYPTO_LASTING_BOTH : CRYPTO_LASTING_PRIVATE,
                             a->key->secret, sender, a->crypto, r->wrap != 0 ? kek : a->room))
        v = SECURITY_WRONG;
    else if (r->wrap == 0)
        v = a->layer->value.len == 0 ? SECURITY_OK : SECURITY_MALFORMED;
    else
        v = unwrap_key(a, slice_of(kek, security_cose_wrap_bytes(r->wrap)), len);
    secret_wipe(kek, sizeof kek);
    return v;
}

/* The content key that a recipient has; into a->room. */
static enum security_verdict receive_key(struct accepting *a, int64_t content, size_t len)
{
    const struct cose_headers *h = &a->layer->headers;
    const struct cose_recipient *r = security_cose_recipient(h->alg);
    const struct crypto_exchange *e = &a->crypto->exchange;
    if (r == NULL || (cose_id_is_integrity(a->m.id) && !security_cose_proves_source(r)))
        return SECURITY_UNKNOWN;
    const bool binds = r->means == COSE_DERIVES || r->means == COSE_AGREES;
    if (!binds && a->layer->protected_map.len > 0) /* nothing would authenticate it */
        return SECURITY_MALFORMED;
    if (r->means == COSE_AGREES)
        return agree_key(a, r, content, len);
    if (r->means == COSE_WRAPS)
        return unwrap_key(a, a->key->secret, len);
    if (r->means == COSE_ENCAPSULATES)
        return e->open_key(e->self, r->bits, a->key->secret, a->layer->value, a->room, len)
                   ? SECURITY_OK
                   : SECURITY_WRONG;
    const struct cose_kdf k = {.bits = r->bits,
                               .alg = content,
                               .len = len,
                               .protected_map = a->layer->protected_map,
                               .salt = h->salt,
                               .secret = a->key->secret};
    return h->salt.len > 0 && security_cose_derive(&a->s, &k, a->crypto, a->room) ? SECURITY_OK
                                                                                  : SECURITY_WRONG;
}

/* The key of the body's algorithm: the given one, or the recipient's. */
static enum security_verdict find_secret(struct accepting *a, struct slice *out)
{
    const struct cose_headers *h = &a->layer->headers;
    const int64_t content = a->m.body.headers.alg;
    const size_t len = security_cose_key_bytes(content);
    const bool direct = a->m.len == 0 || h->alg == COSE_DIRECT;
    if (len == 0 || (a->m.len > 0 && !h->has_alg))
        return SECURITY_UNKNOWN;
    if (a->key->alg != (direct ? content : h->alg))
        return SECURITY_BAD_KEY;
    *out = a->key->secret;
    if (direct)
        return a->layer->value.len == 0 || a->m.len == 0 ? SECURITY_OK : SECURITY_MALFORMED;
    *out = slice_of(a->room, len);
    return receive_key(a, content, len);
}

static bool build_parts(const struct accepting *a, struct cose_parts *p,
                        const struct cose_layer *signer)
{
    return security_cose_parts(p, a->b, &a->s, target_of(a), a->security, a->m.id,
                               a->m.body.protected_map, signer);
}

static enum security_verdict verify_mac(struct accepting *a)
{
    struct cose_parts p;
    struct slice key;
    uint8_t mac[CRYPTO_MAC_MAX];
    const size_t len = security_cose_key_bytes(a->m.body.headers.alg);
    enum security_verdict v = find_secret(a, &key);
    if (v != SECURITY_OK)
        return v;
    if (a->m.body.headers.alg < COSE_HMAC_256)
        return SECURITY_UNKNOWN;
    if (!build_parts(a, &p, NULL))
        return SECURITY_NO_TARGET;
    if (!a->crypto->mac(a->crypto->self, (unsigned)len * 8, key, p.at, p.len, mac))
        return security_crypto_failed(a->crypto, SECURITY_NO_CRYPTO);
    const struct slice given = a->m.body.value;
    return given.len == len && secret_same(given.data, mac, len) ? SECURITY_OK : SECURITY_WRONG;
}

/* ---- signatures ---- */

/* The certificate names the security source's node (RFC 9174 §4.4.1). */
static bool is_node(const void *node, const char *text)
{
    struct eid named;
    return eid_parse(text, &named) == 0 && eid_is_node(&named) && eid_same_node(&named, node);
}

/* The certificate of the signer, and the others beside it. */
static struct slice find_certificate(const struct accepting *a, struct crypto_certificates *c)
{
    const struct cose_headers *h = &a->layer->headers;
    const struct security_cose_key *k = a->key;
    if (k->alg != 0) /* it was found by the identifier */
        return k->certificates[0];
    c->anchors = k->certificates;
    c->anchors_len = k->certificates_len;
    c->revoked = k->revoked;
    c->revoked_len = k->revoked_len;
    if (h->chain_len > 0) {
        c->others = h->chain + 1;
        c->others_len = h->chain_len - 1;
        return h->chain[0];
    }
    c->others = h->bag;
    c->others_len = h->bag_len;
    for (size_t i = 0; i < k->certificates_len; i++) {
        if (has_thumbprint(a, h, k->certificates[i]))
            return k->certificates[i];
    }
    for (size_t i = 0; i < h->bag_len; i++) {
        if (has_thumbprint(a, h, h->bag[i]))
            return h->bag[i];
    }
    return slice_of(NULL, 0);
}

#define DTN_EPOCH_S 946684800 /* 2000-01-01, Unix time */

/* The public key: the given one, or that of a valid certificate. */
static enum security_verdict find_public(struct accepting *a, enum crypto_family want,
                                         uint8_t room[CRYPTO_PUBLIC_MAX], struct slice *out)
{
    const struct crypto_signatures *c = &a->crypto->signatures;
    const uint64_t created = a->b->primary.id.time_ms;
    const uint64_t ms = created != 0 ? created : a->dtn_ms;
    struct crypto_certificates of = {
        .unix_s = (int64_t)(ms / 1000) + DTN_EPOCH_S, .is_node = is_node, .node = &a->s.source};
    enum crypto_family family;
    size_t len;
    *out = a->key->public_key;
    if (a->key->certificates_len == 0)
        return out->len > 0 ? SECURITY_OK : SECURITY_BAD_KEY;
    of.certificate = find_certificate(a, &of);
    if (of.certificate.len == 0)
        return SECURITY_BAD_KEY;
    if (c->certified(c->self, &of, &family, room, &len) != NULL)
        return SECURITY_NOT_TRUSTED;
    *out = slice_of(room, len);
    return family == want ? SECURITY_OK : SECURITY_BAD_KEY;
}

static enum security_verdict verify_signature(struct accepting *a)
{
    struct cose_parts p;
    uint8_t room[CRYPTO_PUBLIC_MAX];
    struct slice public_key;
    struct crypto_scheme scheme, of_key;
    const struct crypto_signatures *c = &a->crypto->signatures;
    const bool many = a->m.id == COSE_SIGN;
    if (!a->layer->alg_protected)
        return SECURITY_MALFORMED;
    if (!security_cose_scheme(a->layer->headers.alg, &scheme))
        return SECURITY_UNKNOWN;
    if (a->key->alg != 0 && (!security_cose_scheme(a->key->alg, &of_key) ||
                             of_key.family != scheme.family || of_key.bits != scheme.bits))
        return SECURITY_BAD_KEY;
    const enum security_verdict v = find_public(a, scheme.family, room, &public_key);
    if (v != SECURITY_OK)
        return v;
    if (!build_parts(a, &p, many ? a->layer : NULL))
        return SECURITY_NO_TARGET;
    return c->verify(c->self, scheme, public_key, p.at, p.len, a->layer->value) ? SECURITY_OK
                                                                                : SECURITY_WRONG;
}

enum security_verdict security_cose_verify(const struct security_bundle *b,
                                           struct security_operation op,
                                           const struct security_cose_key *key, uint64_t dtn_ms,
                                           const struct crypto *crypto)
{
    struct accepting a;
    a.b = b;
    a.key = key;
    a.crypto = crypto;
    a.dtn_ms = dtn_ms;
    enum security_verdict v = read_message(&a, op, SECURITY_BIB);
    if (v != SECURITY_OK)
        return v;
    const struct bundle_block *target = target_of(&a);
    if (security_is_encrypted(b, target == NULL ? SECURITY_PRIMARY : target->number))
        return SECURITY_ENCRYPTED;
    if (target != NULL && security_is_block(target->type))
        return SECURITY_CONFLICT; /* RFC 9172 §3.7 */
    v = find_layer(&a);
    if (v == SECURITY_OK)
        v = a.m.id == COSE_SIGN1 || a.m.id == COSE_SIGN ? verify_signature(&a) : verify_mac(&a);
    secret_wipe(a.room, sizeof a.room);
    return v;
}

/* ---- encryption ---- */

/* The whole IV: its header, or the key's base IV and the Partial IV (RFC 9052 §3.1). */
static bool find_iv(const struct accepting *a, uint8_t out[SECURITY_IV])
{
    const struct cose_headers *h = &a->m.body.headers;
    const struct slice base = a->key->base_iv, partial = h->partial_iv;
    if (h->iv.data != NULL) {
        if (h->iv.len == SECURITY_IV)
            memcpy(out, h->iv.data, SECURITY_IV);
        return h->iv.len == SECURITY_IV;
    }
    if (partial.data == NULL || base.len != SECURITY_IV || partial.len > SECURITY_IV)
        return false;
    memcpy(out, base.data, SECURITY_IV);
    for (size_t i = 0; i < partial.len; i++)
        out[SECURITY_IV - partial.len + i] ^= partial.data[i];
    return true;
}

static enum security_verdict open_content(struct accepting *a, struct security_bundle *b,
                                          struct slice key, struct slice aad)
{
    struct bundle_block *target = &b->at[a->at];
    const struct crypto *c = a->crypto;
    uint8_t iv[SECURITY_IV], tag[CRYPTO_TAG];
    if (!find_iv(a, iv))
        return SECURITY_MALFORMED;
    if (target->data.len < CRYPTO_TAG)
        return SECURITY_WRONG;
    const struct slice vector = slice_of(iv, sizeof iv),
                       data = slice_of(target->data.data, target->data.len - CRYPTO_TAG);
    memcpy(tag, data.data + data.len, CRYPTO_TAG);
    uint8_t *bytes = security_mutable(b, data);
    if (c->open(c->self, key, vector, aad, bytes, data.len, tag)) {
        target->data = data;
        return SECURITY_OK;
    }
    const enum security_verdict v = security_crypto_failed(c, SECURITY_WRONG);
    return c->restore(c->self, key, vector, aad, bytes, data.len)
               ? v
               : security_crypto_failed(c, SECURITY_NO_CRYPTO);
}

static enum security_verdict open_target(struct accepting *a, struct security_bundle *b)
{
    struct cose_parts p;
    struct slice key;
    enum security_verdict v = find_secret(a, &key);
    if (v != SECURITY_OK)
        return v;
    if (a->m.body.headers.alg > COSE_A256GCM)
        return SECURITY_UNKNOWN;
    if (!build_parts(a, &p, NULL))
        return SECURITY_NO_TARGET;
    struct buf *aad = security_cose_join(&p);
    v = aad == NULL ? SECURITY_NO_CRYPTO : open_content(a, b, key, buf_slice(aad));
    buf_drop(aad);
    return v;
}

enum security_verdict security_cose_decrypt(struct security_bundle *b, struct security_operation op,
                                            const struct security_cose_key *key,
                                            const struct crypto *crypto)
{
    struct accepting a;
    a.b = b;
    a.key = key;
    a.crypto = crypto;
    a.dtn_ms = 0;
    enum security_verdict v = read_message(&a, op, SECURITY_BCB);
    if (v != SECURITY_OK)
        return v;
    if (a.at == b->len || a.at == op.block || b->at[a.at].type == SECURITY_BCB)
        return SECURITY_CONFLICT;
    v = find_layer(&a);
    if (v == SECURITY_OK)
        v = open_target(&a, b);
    secret_wipe(a.room, sizeof a.room);
    return v == SECURITY_OK ? security_remove_operation(b, op, &a.s) : v;
}
