/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A security source of the context COSE: one message for each target. The content key of a message
 * with a recipient is new. What can go wrong: a key without its secret half, the cryptographic
 * library, no IV that is left, no room for the tag behind the content of a large extension block.
 */
#include <assert.h>

#include "base/secret.h"
#include "bp/codec/security/security_private.h"

enum { ALG = 1, KID = 4, IV = 5, PARTIAL_IV = 6, X5T = 34, SALT = -20 };
enum { EPHEMERAL_KEY = -1, STATIC_KEY = -2, STATIC_KID = -3 };
enum { PROTECTED_MAX = 16, SALT_BYTES = 16, ECDSA_MAX = 132 /* P-521 */ };

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
    uint8_t content_key[SECURITY_KEY_MAX], salt[SALT_BYTES];
    const struct cose_recipient *recipient; /* NULL: the message has none */
    struct slice used_salt;                 /* empty: none */
    uint8_t wrapped[CRYPTO_SIGNATURE_MAX];  /* the encrypted content key */
    size_t wrapped_len;
    uint8_t sender[CRYPTO_PUBLIC_MAX]; /* Diffie-Hellman: this node's public key */
    size_t sender_len;
    enum crypto_family family;
    uint8_t iv[SECURITY_IV];
    uint8_t value[CRYPTO_SIGNATURE_MAX]; /* MAC or signature */
    size_t value_len;
};

enum cose_id security_cose_id(const struct security_cose_key *key, uint64_t type)
{
    struct crypto_scheme scheme;
    const bool recipient = security_cose_recipient(key->alg) != NULL;
    if (type == SECURITY_BCB)
        return recipient ? COSE_ENCRYPT : COSE_ENCRYPT0;
    if (recipient)
        return COSE_MAC;
    return security_cose_scheme(key->alg, &scheme) ? COSE_SIGN1 : COSE_MAC0;
}

size_t security_cose_message_max(const struct security_cose_key *key)
{
    struct crypto_scheme scheme;
    const struct cose_recipient *r = security_cose_recipient(key->alg);
    const bool rsa = security_cose_scheme(key->alg, &scheme)
                         ? scheme.family == CRYPTO_RSA
                         : r != NULL && r->means == COSE_ENCAPSULATES;
    const size_t sender = r != NULL && r->means == COSE_AGREES ? COSE_KEY_PUBLIC_MAX : 0;
    return 120 + key->kid.len + key->salt.len + key->partial_iv.len + key->static_kid.len + sender +
           (rsa ? CRYPTO_SIGNATURE_MAX : ECDSA_MAX) + SECURITY_WRAPPED_MAX;
}

/* A recipient's content key is for the profile's strongest common algorithms. */
static int64_t content_of(const struct security_cose_key *key, uint64_t type)
{
    if (security_cose_recipient(key->alg) == NULL)
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

/* A given salt that is empty but not NULL: none is used. */
static bool choose_salt(struct making *m)
{
    const struct security_cose_key *k = m->r->cose;
    m->used_salt = k->salt.data != NULL ? k->salt : slice_of(m->salt, sizeof m->salt);
    return k->salt.data != NULL || m->crypto->random(m->crypto->self, m->salt, sizeof m->salt);
}

static struct cose_kdf kdf_of(const struct making *m)
{
    return (struct cose_kdf){.bits = m->recipient->bits,
                             .alg = m->alg,
                             .len = m->key.len,
                             .protected_map = m->recipient_protected,
                             .salt = m->used_salt,
                             .secret = m->r->cose->secret};
}

static enum security_verdict derive_key(struct making *m)
{
    const struct cose_kdf k = kdf_of(m);
    return security_cose_derive(m->s, &k, m->crypto, m->content_key) ? SECURITY_OK
                                                                     : SECURITY_NO_CRYPTO;
}

static bool choose_content_key(struct making *m)
{
    const struct slice given = m->r->content_key;
    if (given.len == 0)
        return m->crypto->random(m->crypto->self, m->content_key, m->key.len);
    assert(given.len == m->key.len);
    memcpy(m->content_key, given.data, given.len);
    return true;
}

static enum security_verdict wrap_key(struct making *m, struct slice kek)
{
    m->wrapped_len = m->key.len + 8;
    if (!choose_content_key(m))
        return SECURITY_NO_CRYPTO;
    return m->crypto->wrap(m->crypto->self, kek, m->key, m->wrapped)
               ? SECURITY_OK
               : security_crypto_failed(m->crypto, SECURITY_NO_CRYPTO);
}

/* A new key for this block, or this node's long-term key; and its public key. */
static bool choose_sender(struct making *m, uint8_t room[CRYPTO_EPHEMERAL_MAX], struct slice *out)
{
    const struct security_cose_key *k = m->r->cose;
    const struct crypto_signatures *c = &m->crypto->signatures;
    const struct crypto_exchange *e = &m->crypto->exchange;
    size_t len;
    *out = m->recipient->is_static ? k->secret : k->ephemeral;
    if (out->len > 0)
        return c->public_of(c->self, *out, true, &m->family, m->sender, &m->sender_len);
    if (!c->public_of(c->self, k->public_key, false, &m->family, m->sender, &m->sender_len) ||
        !e->generate(e->self, m->family, room, &len, m->sender, &m->sender_len))
        return false;
    *out = slice_of(room, len);
    return true;
}

static enum security_verdict agree_key(struct making *m)
{
    uint8_t room[CRYPTO_EPHEMERAL_MAX], kek[SECURITY_KEY_MAX];
    struct slice sender;
    const struct cose_recipient *r = m->recipient;
    enum security_verdict v = SECURITY_NO_CRYPTO;
    if (choose_sender(m, room, &sender) &&
        security_cose_agree(m->s, r, kdf_of(m),
                            r->is_static ? CRYPTO_LASTING_BOTH : CRYPTO_LASTING_PUBLIC, sender,
                            m->r->cose->public_key, m->crypto, r->wrap != 0 ? kek : m->content_key))
        v = r->wrap != 0 ? wrap_key(m, slice_of(kek, security_cose_wrap_bytes(r->wrap)))
                         : SECURITY_OK;
    secret_wipe(room, sizeof room);
    secret_wipe(kek, sizeof kek);
    return v;
}

static enum security_verdict encapsulate_key(struct making *m)
{
    const struct crypto_exchange *e = &m->crypto->exchange;
    return choose_content_key(m) && e->seal_key(e->self, m->recipient->bits, m->r->cose->public_key,
                                                m->key, m->wrapped, &m->wrapped_len)
               ? SECURITY_OK
               : SECURITY_NO_CRYPTO;
}

static enum security_verdict make_key(struct making *m)
{
    const enum cose_means means = m->recipient->means;
    const bool binds = means == COSE_DERIVES || means == COSE_AGREES;
    m->recipient_protected =
        binds ? write_map(m->recipient_map, m->r->cose->alg) : slice_of(NULL, 0);
    if (binds && !choose_salt(m))
        return SECURITY_NO_CRYPTO;
    return means == COSE_DERIVES  ? derive_key(m)
           : means == COSE_AGREES ? agree_key(m)
           : means == COSE_WRAPS  ? wrap_key(m, m->r->cose->secret)
                                  : encapsulate_key(m);
}

/* Has the key the part that the source needs, and may it serve for this type of block? */
static bool key_fits(const struct making *m, uint64_t type, size_t len)
{
    const struct security_cose_key *k = m->r->cose;
    const struct cose_recipient *r = m->recipient;
    struct crypto_scheme scheme;
    const bool cipher = m->alg == COSE_A128GCM || m->alg == COSE_A256GCM;
    if (r != NULL && type == SECURITY_BIB && !security_cose_proves_source(r))
        return false;
    if (r != NULL && r->means >= COSE_AGREES)
        return k->public_key.len > 0 && (k->secret.len > 0 || !r->is_static);
    return k->secret.len > 0 &&
           (security_cose_scheme(m->alg, &scheme) ? type == SECURITY_BIB
                                                  : len > 0 && cipher == (type == SECURITY_BCB));
}

static enum security_verdict choose_key(struct making *m, uint64_t type)
{
    const struct security_cose_key *k = m->r->cose;
    m->recipient = security_cose_recipient(k->alg);
    m->alg = content_of(k, type);
    m->body_protected = write_map(m->protected_map, m->alg);
    m->key = k->secret;
    const size_t len = security_cose_key_bytes(m->alg);
    if (!key_fits(m, type, len))
        return SECURITY_BAD_KEY;
    if (m->recipient == NULL)
        return SECURITY_OK;
    m->key = slice_of(m->content_key, len);
    return make_key(m);
}

/* ---- results ---- */

static enum security_verdict sign_target(struct making *m, const struct bundle_block *target)
{
    struct cose_parts p;
    struct crypto_scheme scheme;
    const struct crypto *c = m->crypto;
    if (!security_cose_parts(&p, m->b, m->s, target, m->security, m->id, m->body_protected, NULL))
        return SECURITY_NO_TARGET;
    if (security_cose_scheme(m->alg, &scheme))
        return c->signatures.sign(c->signatures.self, scheme, m->key, p.at, p.len, m->value,
                                  &m->value_len)
                   ? SECURITY_OK
                   : SECURITY_NO_CRYPTO;
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

/* Diffie-Hellman: the new key, or the name of the long-term one. */
static void put_sender(struct making *m, struct writer *w)
{
    const struct slice kid = m->r->cose->static_kid;
    if (m->recipient->is_static && kid.len > 0) {
        item_put_int(w, STATIC_KID);
        put_bytes(w, kid);
        return;
    }
    item_put_int(w, m->recipient->is_static ? STATIC_KEY : EPHEMERAL_KEY);
    if (!cose_key_put(w, m->family, slice_of(m->sender, m->sender_len)))
        w->bad = true;
}

static void put_recipient(struct making *m, struct writer *w)
{
    const bool agrees = m->recipient->means == COSE_AGREES, plain = m->recipient_protected.len == 0;
    item_put_array(w, 1);
    item_put_array(w, 3);
    put_bytes(w, m->recipient_protected);
    item_put_map(w, plain + count_names(m) + agrees + (m->used_salt.len > 0));
    if (plain) {
        item_put_int(w, ALG);
        item_put_int(w, m->r->cose->alg);
    }
    put_key_name(m, w);
    if (agrees)
        put_sender(m, w);
    if (m->used_salt.len > 0) {
        item_put_int(w, SALT);
        put_bytes(w, m->used_salt);
    }
    put_bytes(w, slice_of(m->wrapped, m->wrapped_len));
}

static void put_message(struct making *m, struct writer *w)
{
    const bool recipient = m->recipient != NULL, cipher = cose_id_is_cipher(m->id);
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
