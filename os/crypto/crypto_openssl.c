/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms are fetched once, since a look-up costs more than the MAC of a short bundle. For the
 * same reason the contexts of the keys that were used last are kept: they begin the next operation
 * without the set-up of the key. What can go wrong: OpenSSL's providers lack an algorithm (FIPS),
 * memory, lengths that an algorithm does not take.
 */
#include "os/crypto/crypto.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "os/crypto/crypto_private.h"
#include "os/secret.h"

static void free_kept(struct kept *k)
{
    EVP_MAC_CTX_free(k->mac);
    EVP_CIPHER_CTX_free(k->cipher);
    secret_wipe(k->key, sizeof *k->key);
    *k = (struct kept){.key = k->key};
}

static struct kept *find_kept(struct openssl *o, unsigned use, struct slice key)
{
    for (size_t i = 0; i < KEPT_CONTEXTS; i++) {
        struct kept *k = &o->kept[i];
        if (k->used != 0 && k->use == use && k->key_len == key.len && k->key->here &&
            secret_same(k->key->bytes, key.data, key.len)) {
            k->used = ++o->count;
            return k;
        }
    }
    return NULL;
}

/* Replaces the least recently used context. The caller initialises the new one. */
static struct kept *add_kept(struct openssl *o, unsigned use, struct slice key)
{
    struct kept *k = &o->kept[0];
    for (size_t i = 1; i < KEPT_CONTEXTS; i++) {
        if (o->kept[i].used < k->used)
            k = &o->kept[i];
    }
    free_kept(k);
    k->used = ++o->count;
    k->use = use;
    k->key_len = key.len;
    k->key->here = true;
    memcpy(k->key->bytes, key.data, key.len);
    return k;
}

/* The context of a MAC, ready for data; params: what the algorithm needs. NULL: it failed. */
static EVP_MAC_CTX *begin_mac(struct openssl *o, unsigned use, struct slice key,
                              const OSSL_PARAM *params)
{
    if (key.len == 0 || key.len > KEPT_KEY)
        return NULL;
    struct kept *k = find_kept(o, use, key);
    if (k != NULL && EVP_MAC_init(k->mac, NULL, 0, NULL) == 1)
        return k->mac;
    if (k == NULL)
        k = add_kept(o, use, key);
    if (k->mac == NULL)
        k->mac = EVP_MAC_CTX_new(use == USE_CMAC ? o->cmac : o->hmac);
    if (k->mac != NULL && EVP_MAC_init(k->mac, key.data, key.len, params) == 1)
        return k->mac;
    free_kept(k);
    return NULL;
}

/* c is NULL where that failed. */
static bool finish_mac(EVP_MAC_CTX *c, const struct slice *parts, size_t parts_len, uint8_t *out,
                       size_t out_len)
{
    size_t len = 0;
    bool ok = c != NULL;
    for (size_t i = 0; i < parts_len && ok; i++)
        ok = parts[i].len == 0 || EVP_MAC_update(c, parts[i].data, parts[i].len) == 1;
    return ok && EVP_MAC_final(c, out, &len, out_len) == 1 && len == out_len;
}

static bool mac(void *self, unsigned bits, struct slice key, const struct slice *parts,
                size_t parts_len, uint8_t *out)
{
    char digest[] = "SHA2-256";
    if (bits != 256)
        memcpy(digest, bits == 384 ? "SHA2-384" : "SHA2-512", sizeof digest);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
    return finish_mac(begin_mac(self, bits, key, params), parts, parts_len, out, bits / 8);
}

static bool cmac(void *self, struct slice key, const struct slice *parts, size_t parts_len,
                 uint8_t out[CRYPTO_CMAC])
{
    char cipher[] = "AES-128-CBC";
    if (key.len != 16)
        memcpy(cipher, "AES-256-CBC", sizeof cipher);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
                                 OSSL_PARAM_construct_end()};
    return (key.len == 16 || key.len == 32) &&
           finish_mac(begin_mac(self, USE_CMAC, key, params), parts, parts_len, out, CRYPTO_CMAC);
}

static bool set_up_gcm(struct openssl *o, struct kept *k, struct slice key)
{
    const EVP_CIPHER *cipher = key.len == 16 ? o->gcm128 : key.len == 32 ? o->gcm256 : NULL;
    k->cipher = cipher == NULL ? NULL : EVP_CIPHER_CTX_new();
    return k->cipher != NULL &&
           EVP_CipherInit_ex2(k->cipher, cipher, key.data, NULL, (int)k->use, NULL) == 1;
}

static bool begin_iv(struct kept *k, struct slice iv, struct slice aad)
{
    int n;
    if (k->iv_len != iv.len &&
        EVP_CIPHER_CTX_ctrl(k->cipher, EVP_CTRL_AEAD_SET_IVLEN, (int)iv.len, NULL) != 1)
        return false;
    k->iv_len = iv.len;
    return EVP_CipherInit_ex2(k->cipher, NULL, NULL, iv.data, (int)k->use, NULL) == 1 &&
           (aad.len == 0 || EVP_CipherUpdate(k->cipher, NULL, &n, aad.data, (int)aad.len) == 1);
}

/* The context of the key after IV and additional data; encrypt: 1 or 0. NULL: it failed. */
static EVP_CIPHER_CTX *begin_gcm(struct openssl *o, unsigned encrypt, struct slice key,
                                 struct slice iv, struct slice aad)
{
    if ((key.len != 16 && key.len != 32) || aad.len > INT_MAX || iv.len == 0 || iv.len > 128)
        return NULL;
    struct kept *k = find_kept(o, encrypt, key);
    bool good = k != NULL;
    if (k == NULL) {
        k = add_kept(o, encrypt, key);
        good = set_up_gcm(o, k, key);
    }
    if (good && begin_iv(k, iv, aad))
        return k->cipher;
    free_kept(k);
    return NULL;
}

/* OpenSSL uses int lengths, so long data is passed in pieces. */
static bool update_cipher(EVP_CIPHER_CTX *c, uint8_t *data, size_t len)
{
    bool ok = true;
    while (len > 0 && ok) {
        const int piece = len > (1 << 30) ? 1 << 30 : (int)len;
        int n = 0;
        ok = EVP_CipherUpdate(c, data, &n, data, piece) == 1 && n == piece;
        data += piece;
        len -= (size_t)piece;
    }
    return ok;
}

static bool seal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                 size_t len, uint8_t tag[CRYPTO_TAG])
{
    uint8_t rest[16];
    int n;
    EVP_CIPHER_CTX *c = begin_gcm(self, 1, key, iv, aad);
    return c != NULL && update_cipher(c, data, len) && EVP_CipherFinal_ex(c, rest, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, CRYPTO_TAG, tag) == 1;
}

static bool open_sealed(void *self, struct slice key, struct slice iv, struct slice aad,
                        uint8_t *data, size_t len, const uint8_t tag[CRYPTO_TAG])
{
    uint8_t rest[16], given[CRYPTO_TAG];
    int n;
    memcpy(given, tag, sizeof given);
    EVP_CIPHER_CTX *c = begin_gcm(self, 0, key, iv, aad);
    return c != NULL && update_cipher(c, data, len) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, CRYPTO_TAG, given) == 1 &&
           EVP_CipherFinal_ex(c, rest, &n) == 1;
}

/* The cipher is a key stream: encrypting once more restores what was decrypted. */
static bool restore_sealed(void *self, struct slice key, struct slice iv, struct slice aad,
                           uint8_t *data, size_t len)
{
    uint8_t unused[CRYPTO_TAG];
    return seal(self, key, iv, aad, data, len, unused);
}

static bool run_wrap(struct openssl *o, int encrypt, struct slice kek, struct slice in,
                     uint8_t *out, size_t out_len)
{
    const EVP_CIPHER *cipher = kek.len == 16   ? o->wrap128
                               : kek.len == 24 ? o->wrap192
                               : kek.len == 32 ? o->wrap256
                                               : NULL;
    int n = 0, rest = 0;
    EVP_CIPHER_CTX_set_flags(o->cipher, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    return cipher != NULL && in.len <= 4096 &&
           EVP_CipherInit_ex2(o->cipher, cipher, kek.data, NULL, encrypt, NULL) == 1 &&
           EVP_CipherUpdate(o->cipher, out, &n, in.data, (int)in.len) == 1 &&
           EVP_CipherFinal_ex(o->cipher, out + n, &rest) == 1 && n + rest == (int)out_len;
}

static bool wrap(void *self, struct slice kek, struct slice key, uint8_t *out)
{
    return key.len >= 16 && run_wrap(self, 1, kek, key, out, key.len + 8);
}

static bool unwrap(void *self, struct slice kek, struct slice wrapped, uint8_t *out)
{
    return wrapped.len >= 24 && run_wrap(self, 0, kek, wrapped, out, wrapped.len - 8);
}

static bool random_bytes(void *self, uint8_t *out, size_t len)
{
    (void)self;
    return len <= INT_MAX && RAND_priv_bytes(out, (int)len) == 1;
}

static void free_all(struct openssl *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < KEPT_CONTEXTS && o->keys != NULL; i++)
        free_kept(&o->kept[i]);
    secret_memory_free(o->keys, KEPT_CONTEXTS * sizeof *o->keys);
    crypto_forget_pairs(o);
    EVP_MAC_free(o->hmac);
    EVP_MAC_free(o->cmac);
    EVP_CIPHER_free(o->gcm128);
    EVP_CIPHER_free(o->gcm256);
    EVP_CIPHER_free(o->wrap128);
    EVP_CIPHER_free(o->wrap192);
    EVP_CIPHER_free(o->wrap256);
    EVP_CIPHER_CTX_free(o->cipher);
    free(o);
}

bool crypto_open(struct crypto *out)
{
    bool locked;
    struct openssl *o = calloc(1, sizeof *o);
    if (o == NULL)
        return false;
    o->keys = secret_memory_new(KEPT_CONTEXTS * sizeof *o->keys, &locked);
    for (size_t i = 0; i < KEPT_CONTEXTS && o->keys != NULL; i++)
        o->kept[i].key = &o->keys[i];
    o->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    o->cmac = EVP_MAC_fetch(NULL, "CMAC", NULL);
    o->gcm128 = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    o->gcm256 = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    o->wrap128 = EVP_CIPHER_fetch(NULL, "AES-128-WRAP", NULL);
    o->wrap192 = EVP_CIPHER_fetch(NULL, "AES-192-WRAP", NULL);
    o->wrap256 = EVP_CIPHER_fetch(NULL, "AES-256-WRAP", NULL);
    o->cipher = EVP_CIPHER_CTX_new();
    if (o->keys == NULL || o->hmac == NULL || o->cmac == NULL || o->gcm128 == NULL ||
        o->gcm256 == NULL || o->wrap128 == NULL || o->wrap192 == NULL || o->wrap256 == NULL ||
        o->cipher == NULL) {
        free_all(o);
        return false;
    }
    *out = (struct crypto){.self = o,
                           .mac = mac,
                           .cmac = cmac,
                           .seal = seal,
                           .open = open_sealed,
                           .restore = restore_sealed,
                           .wrap = wrap,
                           .unwrap = unwrap,
                           .random = random_bytes,
                           .signatures = {.self = o,
                                          .digest = crypto_digest,
                                          .sign = crypto_sign,
                                          .verify = crypto_verify,
                                          .public_of = crypto_public_of,
                                          .certified = crypto_certified,
                                          .readable = crypto_readable},
                           .exchange = crypto_exchange_table};
    out->exchange.self = o;
    return true;
}

void crypto_forget(struct crypto *c)
{
    struct openssl *o = c->self;
    for (size_t i = 0; i < KEPT_CONTEXTS; i++)
        free_kept(&o->kept[i]);
    crypto_forget_pairs(o);
}

void crypto_close(struct crypto *c)
{
    free_all(c->self);
    c->self = NULL;
}
