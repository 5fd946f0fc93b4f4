/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secret keys for the owner of a public key, by OpenSSL: Diffie-Hellman on a curve, and RSAES-OAEP.
 * Keys that are new for each block are not kept. What can go wrong:
 * keys of different curves, a point that is not on the curve, a key for another owner.
 */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/secret.h"
#include "os/crypto/crypto_private.h"

static bool generate_key(void *self, enum crypto_family family, uint8_t out[CRYPTO_EPHEMERAL_MAX],
                         size_t *len, uint8_t public_key[CRYPTO_PUBLIC_MAX], size_t *public_len)
{
    unsigned char *der = NULL;
    enum crypto_family made;
    (void)self;
    EVP_PKEY *key = family == CRYPTO_X25519 ? EVP_PKEY_Q_keygen(NULL, NULL, "X25519")
                    : family > CRYPTO_P521  ? NULL
                                            : EVP_PKEY_Q_keygen(NULL, NULL, "EC",
                                                               family == CRYPTO_P256   ? "P-256"
                                                                : family == CRYPTO_P384 ? "P-384"
                                                                                        : "P-521");
    const int n = key != NULL ? i2d_PrivateKey(key, &der) : 0;
    const bool good = n > 0 && n <= CRYPTO_EPHEMERAL_MAX &&
                      crypto_write_public(key, &made, public_key, public_len);
    if (good) {
        memcpy(out, der, (size_t)n);
        *len = (size_t)n;
    }
    OPENSSL_clear_free(der, n > 0 ? (size_t)n : 0);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

static bool same_curve(const EVP_PKEY *a, const EVP_PKEY *b)
{
    enum crypto_family x, y;
    return a != NULL && b != NULL && crypto_family_of(a, &x) && crypto_family_of(b, &y) && x == y &&
           (x <= CRYPTO_P521 || x == CRYPTO_X25519);
}

static EVP_PKEY *take_key(struct openssl *o, bool keep, struct slice der, bool is_private)
{
    EVP_PKEY *key = keep ? crypto_find_key(o, der, is_private) : crypto_read_key(der, is_private);
    if (keep && key != NULL)
        EVP_PKEY_up_ref(key);
    return key;
}

static bool agree_secret(void *self, enum crypto_lasting lasting, struct slice private_key,
                         struct slice public_key, uint8_t out[CRYPTO_SHARED_MAX], size_t *len)
{
    EVP_PKEY *own = take_key(self, (lasting & CRYPTO_LASTING_PRIVATE) != 0, private_key, true);
    EVP_PKEY *peer = take_key(self, (lasting & CRYPTO_LASTING_PUBLIC) != 0, public_key, false);
    EVP_PKEY_CTX *c = same_curve(own, peer) ? EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL) : NULL;
    *len = CRYPTO_SHARED_MAX;
    const bool good = c != NULL && EVP_PKEY_derive_init(c) == 1 &&
                      EVP_PKEY_derive_set_peer(c, peer) == 1 && EVP_PKEY_derive(c, out, len) == 1;
    EVP_PKEY_CTX_free(c);
    EVP_PKEY_free(peer);
    EVP_PKEY_free(own);
    ERR_clear_error();
    return good;
}

/* A context of RSAES-OAEP whose use is begun. NULL: it is no RSA key, or OpenSSL failed. */
static EVP_PKEY_CTX *begin_oaep(struct openssl *o, unsigned bits, struct slice der, bool is_private)
{
    enum crypto_family family;
    EVP_PKEY *key = crypto_find_key(o, der, is_private);
    EVP_PKEY_CTX *c = key != NULL && crypto_family_of(key, &family) && family == CRYPTO_RSA
                          ? EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL)
                          : NULL;
    if (c != NULL && (is_private ? EVP_PKEY_decrypt_init(c) : EVP_PKEY_encrypt_init(c)) == 1 &&
        EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_OAEP_PADDING) == 1 &&
        EVP_PKEY_CTX_set_rsa_oaep_md(c, crypto_digest_of(bits)) == 1 &&
        EVP_PKEY_CTX_set_rsa_mgf1_md(c, crypto_digest_of(bits)) == 1)
        return c;
    EVP_PKEY_CTX_free(c);
    return NULL;
}

static bool seal_key(void *self, unsigned bits, struct slice public_key, struct slice key,
                     uint8_t out[CRYPTO_SIGNATURE_MAX], size_t *len)
{
    EVP_PKEY_CTX *c = begin_oaep(self, bits, public_key, false);
    *len = CRYPTO_SIGNATURE_MAX;
    const bool good = c != NULL && EVP_PKEY_encrypt(c, out, len, key.data, key.len) == 1;
    EVP_PKEY_CTX_free(c);
    ERR_clear_error();
    return good;
}

static bool open_key(void *self, unsigned bits, struct slice private_key, struct slice sealed,
                     uint8_t *out, size_t len)
{
    uint8_t room[CRYPTO_SIGNATURE_MAX];
    size_t n = sizeof room;
    EVP_PKEY_CTX *c = begin_oaep(self, bits, private_key, true);
    const bool good = c != NULL && sealed.len <= sizeof room &&
                      EVP_PKEY_decrypt(c, room, &n, sealed.data, sealed.len) == 1 && n == len;
    if (good)
        memcpy(out, room, len);
    secret_wipe(room, sizeof room);
    EVP_PKEY_CTX_free(c);
    ERR_clear_error();
    return good;
}

const struct crypto_exchange crypto_exchange_table = {
    .generate = generate_key, .agree = agree_secret, .seal_key = seal_key, .open_key = open_key};
