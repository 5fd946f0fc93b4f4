/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Algorithms are fetched once, since a look-up costs more than the MAC of a short bundle. Contexts
 * are reused for the same reason. What can go wrong: OpenSSL's providers lack an algorithm (FIPS),
 * memory, lengths that an algorithm does not take.
 */
#include "os/crypto.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdlib.h>

struct openssl {
    EVP_MAC *hmac;
    EVP_MAC_CTX *hmac_ctx;
    EVP_CIPHER *gcm128, *gcm256, *wrap128, *wrap192, *wrap256;
    EVP_CIPHER_CTX *cipher;
};

static bool mac(void *self, unsigned bits, struct slice key, const struct slice *parts,
                size_t parts_len, uint8_t *out)
{
    struct openssl *o = self;
    char digest[] = "SHA2-256";
    if (bits != 256)
        memcpy(digest, bits == 384 ? "SHA2-384" : "SHA2-512", sizeof digest);
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
    size_t len = 0;
    bool ok = EVP_MAC_init(o->hmac_ctx, key.data, key.len, params) == 1;
    for (size_t i = 0; i < parts_len && ok; i++)
        ok = parts[i].len == 0 || EVP_MAC_update(o->hmac_ctx, parts[i].data, parts[i].len) == 1;
    return ok && EVP_MAC_final(o->hmac_ctx, out, &len, bits / 8) == 1 && len == bits / 8;
}

/* Key, IV and additional data; `encrypt` as OpenSSL has it. */
static bool begin_gcm(struct openssl *o, int encrypt, struct slice key, struct slice iv,
                      struct slice aad)
{
    const EVP_CIPHER *cipher = key.len == 16 ? o->gcm128 : key.len == 32 ? o->gcm256 : NULL;
    int n;
    return cipher != NULL && aad.len <= INT_MAX && iv.len > 0 && iv.len <= 128 &&
           EVP_CipherInit_ex2(o->cipher, cipher, NULL, NULL, encrypt, NULL) == 1 &&
           EVP_CIPHER_CTX_ctrl(o->cipher, EVP_CTRL_AEAD_SET_IVLEN, (int)iv.len, NULL) == 1 &&
           EVP_CipherInit_ex2(o->cipher, NULL, key.data, iv.data, encrypt, NULL) == 1 &&
           (aad.len == 0 || EVP_CipherUpdate(o->cipher, NULL, &n, aad.data, (int)aad.len) == 1);
}

/* OpenSSL counts in int, so long data goes in pieces. */
static bool update_cipher(struct openssl *o, uint8_t *data, size_t len)
{
    bool ok = true;
    while (len > 0 && ok) {
        const int piece = len > (1 << 30) ? 1 << 30 : (int)len;
        int n = 0;
        ok = EVP_CipherUpdate(o->cipher, data, &n, data, piece) == 1 && n == piece;
        data += piece;
        len -= (size_t)piece;
    }
    return ok;
}

static bool seal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                 size_t len, uint8_t tag[CRYPTO_TAG])
{
    struct openssl *o = self;
    uint8_t rest[16];
    int n;
    return begin_gcm(o, 1, key, iv, aad) && update_cipher(o, data, len) &&
           EVP_CipherFinal_ex(o->cipher, rest, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(o->cipher, EVP_CTRL_AEAD_GET_TAG, CRYPTO_TAG, tag) == 1;
}

static bool open_sealed(void *self, struct slice key, struct slice iv, struct slice aad,
                        uint8_t *data, size_t len, const uint8_t tag[CRYPTO_TAG])
{
    struct openssl *o = self;
    uint8_t rest[16], given[CRYPTO_TAG];
    int n;
    memcpy(given, tag, sizeof given);
    return begin_gcm(o, 0, key, iv, aad) && update_cipher(o, data, len) &&
           EVP_CIPHER_CTX_ctrl(o->cipher, EVP_CTRL_AEAD_SET_TAG, CRYPTO_TAG, given) == 1 &&
           EVP_CipherFinal_ex(o->cipher, rest, &n) == 1;
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
    EVP_MAC_CTX_free(o->hmac_ctx);
    EVP_MAC_free(o->hmac);
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
    struct openssl *o = calloc(1, sizeof *o);
    if (o == NULL)
        return false;
    o->hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    o->hmac_ctx = o->hmac == NULL ? NULL : EVP_MAC_CTX_new(o->hmac);
    o->gcm128 = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    o->gcm256 = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    o->wrap128 = EVP_CIPHER_fetch(NULL, "AES-128-WRAP", NULL);
    o->wrap192 = EVP_CIPHER_fetch(NULL, "AES-192-WRAP", NULL);
    o->wrap256 = EVP_CIPHER_fetch(NULL, "AES-256-WRAP", NULL);
    o->cipher = EVP_CIPHER_CTX_new();
    if (o->hmac_ctx == NULL || o->gcm128 == NULL || o->gcm256 == NULL || o->wrap128 == NULL ||
        o->wrap192 == NULL || o->wrap256 == NULL || o->cipher == NULL) {
        free_all(o);
        return false;
    }
    *out = (struct crypto){.self = o,
                           .mac = mac,
                           .seal = seal,
                           .open = open_sealed,
                           .wrap = wrap,
                           .unwrap = unwrap,
                           .random = random_bytes};
    return true;
}

void crypto_close(struct crypto *c)
{
    free_all(c->self);
    c->self = NULL;
}
