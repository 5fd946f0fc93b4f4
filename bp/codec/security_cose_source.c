/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A security source of the context COSE: one message for each target. The content key of a message
 * with a recipient is new. What can go wrong: a key without its secret half, the cryptographic
 * library, no IV that is left, no room for the tag behind the content of a large extension block.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/security_private.h"

enum { ALG = 1, KID = 4, IV = 5, PARTIAL_IV = 6, X5T = 34, SALT = -20, SALT_BYTES = 16 };
enum { PROTECTED_MAX = 16 };

/* A message in process. */
struct making {
    struct security_bundle *b;
    const struct security_request *r;
    const struct security_block *s;
    const struct bundle_block *security;
    const struct crypto *crypto;
    enum cose_id id;
    int64_t alg; /* of the content */
    uint8_t protected_map[PROTECTED_MAX], recipient_map[PROTECTED_MAX];
    struct slice body_protected, recipient_protected;
    struct slice key; /* that is used */
    uint8_t content_key[SECURITY_KEY_MAX], wrapped[SECURITY_WRAPPED_MAX], salt[SALT_BYTES];
    struct slice used_salt;
    uint8_t iv[SECURITY_IV];
    uint8_t value[CRYPTO_SIGNATURE_MAX]; /* MAC or signature */
    size_t value_len;
};

static bool has_recipient(int64_t alg)
{
    return alg == COSE_A128KW || alg == COSE_A256KW || alg == COSE_HKDF_512;
}

enum cose_id security_cose_id(const struct security_cose_key *key, uint64_t type)
{
    enum crypto_curve curve;
    if (type == SECURITY_BCB)
        return has_recipient(key->alg) ? COSE_ENCRYPT : COSE_ENCRYPT0;
    if (has_recipient(key->alg))
        return COSE_MAC;
    return security_cose_curve(key->alg, &curve) ? COSE_SIGN1 : COSE_MAC0;
}

size_t security_cose_message_max(const struct security_cose_key *key)
{
    return 120 + key->kid.len + key->salt.len + key->partial_iv.len + CRYPTO_SIGNATURE_MAX +
           SECURITY_WRAPPED_MAX;
}

/* A recipient's content key is for the profile's strongest common algorithms. */
static int64_t content_of(const struct security_cose_key *key, uint64_t type)
{
    if (!has_recipient(key->alg))
        return key->alg;
    return type == SECURITY_BIB ? COSE_HMAC_384 : COSE_A256GCM;
}

static struct slice write_map(uint8_t room[PROTECTED_MAX], int64_t alg)
{
    struct writer w = writer_of(room, PROTECTED_MAX);
    item_put_map(&w, 1);
    item_put_uint(&w, ALG);
    item_put_int(&w, alg);
    return slice_of(room, writer_len(&w));
}

/* ---- keys ---- */

static enum security_verdict derive_key(struct making *m)
{
    const struct security_cose_key *k = m->r->cose;
    m->recipient_protected = write_map(m->recipient_map, k->alg);
    m->used_salt = k->salt.len > 0 ? k->salt : slice_of(m->salt, sizeof m->salt);
    if (k->salt.len == 0 && !m->crypto->random(m->crypto->self, m->salt, sizeof m->salt))
        return SECURITY_NO_CRYPTO;
    return security_cose_derive(m->s, m->alg, m->recipient_protected, m->used_salt, k->secret,
                                m->crypto, m->content_key)
               ? SECURITY_OK
               : SECURITY_NO_CRYPTO;
}

static enum security_verdict wrap_key(struct making *m, size_t len)
{
    const struct slice given = m->r->content_key;
    if (given.len > 0) {
        assert(given.len == len);
        memcpy(m->content_key, given.data, len);
    } else if (!m->crypto->random(m->crypto->self, m->content_key, len)) {
        return SECURITY_NO_CRYPTO;
    }
    m->recipient_protected = slice_of(NULL, 0);
    return m->crypto->wrap(m->crypto->self, m->r->cose->secret, m->key, m->wrapped)
               ? SECURITY_OK
               : security_crypto_failed(m->crypto, SECURITY_NO_CRYPTO);
}

static enum security_verdict choose_key(struct making *m, uint64_t type)
{
    const struct security_cose_key *k = m->r->cose;
    enum crypto_curve curve;
    m->alg = content_of(k, type);
    m->body_protected = write_map(m->protected_map, m->alg);
    m->key = k->secret;
    const size_t len = security_cose_key_bytes(m->alg);
    const bool cipher = m->alg == COSE_A128GCM || m->alg == COSE_A256GCM;
    const bool fits = security_cose_curve(m->alg, &curve)
                          ? type == SECURITY_BIB
                          : len > 0 && cipher == (type == SECURITY_BCB);
    if (!fits || k->secret.len == 0)
        return SECURITY_BAD_KEY;
    if (!has_recipient(k->alg))
        return SECURITY_OK;
    m->key = slice_of(m->content_key, len);
    return k->alg == COSE_HKDF_512 ? derive_key(m) : wrap_key(m, len);
}

/* ---- results ---- */

static enum security_verdict sign_target(struct making *m, const struct bundle_block *target)
{
    struct cose_parts p;
    enum crypto_curve curve;
    const struct crypto *c = m->crypto;
    if (!security_cose_parts(&p, m->b, m->s, target, m->security, m->id, m->body_protected, NULL))
        return SECURITY_NO_TARGET;
    if (security_cose_curve(m->alg, &curve)) {
        m->value_len = crypto_signature_bytes(curve);
        return c->signatures.sign(c->signatures.self, curve, m->key, p.at, p.len, m->value)
                   ? SECURITY_OK
                   : SECURITY_NO_CRYPTO;
    }
    m->value_len = security_cose_key_bytes(m->alg);
    return c->mac(c->self, (unsigned)m->value_len * 8, m->key, p.at, p.len, m->value)
               ? SECURITY_OK
               : security_crypto_failed(c, SECURITY_NO_CRYPTO);
}

static bool choose_iv(struct making *m)
{
    const struct security_request *r = m->r;
    const struct slice partial = r->cose->partial_iv, base = r->cose->base_iv;
    if (partial.len > 0) {
        assert(base.len == SECURITY_IV && partial.len <= SECURITY_IV);
        memcpy(m->iv, base.data, SECURITY_IV);
        for (size_t i = 0; i < partial.len; i++)
            m->iv[SECURITY_IV - partial.len + i] ^= partial.data[i];
        return true;
    }
    if (r->iv.len > 0) {
        assert(r->iv.len == SECURITY_IV);
        memcpy(m->iv, r->iv.data, SECURITY_IV);
        return true;
    }
    return r->next_iv != NULL ? r->next_iv(r->iv_self, m->iv)
                              : m->crypto->random(m->crypto->self, m->iv, sizeof m->iv);
}

/* The tag follows the ciphertext (§2.3.2). */
static enum security_verdict seal_content(struct making *m, struct bundle_block *target,
                                          struct slice aad)
{
    const size_t len = target->data.len;
    const struct crypto *c = m->crypto;
    if (!choose_iv(m))
        return SECURITY_NO_CRYPTO;
    uint8_t *bytes = security_extend(m->b, target, CRYPTO_TAG);
    if (bytes == NULL)
        return SECURITY_NO_ROOM;
    if (!c->seal(c->self, m->key, slice_of(m->iv, sizeof m->iv), aad, bytes, len, bytes + len))
        return security_crypto_failed(c, SECURITY_NO_CRYPTO);
    target->data = slice_of(bytes, len + CRYPTO_TAG);
    return SECURITY_OK;
}

static enum security_verdict seal_target(struct making *m, struct bundle_block *target)
{
    struct cose_parts p;
    assert(target != NULL); /* the primary block is never encrypted */
    if (!security_cose_parts(&p, m->b, m->s, target, m->security, m->id, m->body_protected, NULL))
        return SECURITY_NO_TARGET;
    struct buf *aad = security_cose_join(&p);
    const enum security_verdict v =
        aad == NULL ? SECURITY_NO_CRYPTO : seal_content(m, target, buf_slice(aad));
    buf_drop(aad);
    return v;
}

/* ---- the message ---- */

static void put_bytes(struct writer *w, struct slice s)
{
    item_put_bytes_head(w, s.len);
    writer_bytes(w, s.data, s.len);
}

static void put_thumbprint(struct making *m, struct writer *w)
{
    const struct crypto_signatures *c = &m->crypto->signatures;
    uint8_t hash[32];
    item_put_int(w, X5T);
    item_put_array(w, 2);
    item_put_int(w, COSE_SHA_256);
    if (!c->digest(c->self, 256, m->r->cose->certificates[0], hash))
        w->bad = true;
    put_bytes(w, slice_of(hash, sizeof hash));
}

static bool has_kid(const struct making *m)
{
    return m->r->cose->identify == SECURITY_BY_KID && m->r->cose->kid.len > 0;
}

static void put_key_name(struct making *m, struct writer *w)
{
    if (has_kid(m)) {
        item_put_int(w, KID);
        put_bytes(w, m->r->cose->kid);
    } else if (m->r->cose->identify == SECURITY_BY_X5T) {
        put_thumbprint(m, w);
    }
}

static size_t count_names(const struct making *m)
{
    return has_kid(m) || m->r->cose->identify == SECURITY_BY_X5T;
}

static void put_recipient(struct making *m, struct writer *w)
{
    const struct security_cose_key *k = m->r->cose;
    const bool wraps = k->alg != COSE_HKDF_512;
    item_put_array(w, 1);
    item_put_array(w, 3);
    put_bytes(w, m->recipient_protected);
    item_put_map(w, 1 + count_names(m));
    if (wraps) {
        item_put_int(w, ALG);
        item_put_int(w, k->alg);
    }
    put_key_name(m, w);
    if (!wraps) {
        item_put_int(w, SALT);
        put_bytes(w, m->used_salt);
    }
    put_bytes(w, wraps ? slice_of(m->wrapped, m->key.len + 8) : slice_of(NULL, 0));
}

static void put_message(struct making *m, struct writer *w)
{
    const bool recipient = has_recipient(m->r->cose->alg), cipher = cose_id_is_cipher(m->id);
    const struct slice partial = m->r->cose->partial_iv;
    item_put_array(w, 3u + !cipher + recipient);
    put_bytes(w, m->body_protected);
    item_put_map(w, (recipient ? 0 : count_names(m)) + (size_t)cipher);
    if (!recipient)
        put_key_name(m, w);
    if (cipher) {
        item_put_int(w, partial.len > 0 ? PARTIAL_IV : IV);
        put_bytes(w, partial.len > 0 ? partial : slice_of(m->iv, sizeof m->iv));
    }
    item_put_null(w);
    if (!cipher)
        put_bytes(w, slice_of(m->value, m->value_len));
    if (recipient)
        put_recipient(m, w);
}

enum security_verdict security_cose_protect(struct security_bundle *b,
                                            const struct security_request *r,
                                            const struct security_block *s, uint64_t target,
                                            const struct bundle_block *security,
                                            const struct crypto *crypto, struct writer *out)
{
    struct making m = {.b = b,
                       .r = r,
                       .s = s,
                       .security = security,
                       .crypto = crypto,
                       .id = security_cose_id(r->cose, security->type)};
    struct bundle_block *block = target == SECURITY_PRIMARY ? NULL : security_find(b, target);
    enum security_verdict v = choose_key(&m, security->type);
    if (v == SECURITY_OK)
        v = security->type == SECURITY_BIB ? sign_target(&m, block) : seal_target(&m, block);
    if (v == SECURITY_OK)
        put_message(&m, out);
    assert(!out->bad);
    secret_wipe(m.content_key, sizeof m.content_key);
    return v;
}
