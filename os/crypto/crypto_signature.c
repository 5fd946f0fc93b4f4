/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures by OpenSSL. To read a key from its DER costs more than to sign with it, so the keys
 * that were used last are kept. ECDSA's two numbers are DER in OpenSSL, and have a fixed length in
 * COSE. What can go wrong: a key that is none, on another curve than the caller wants; memory.
 */
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "os/crypto/crypto_private.h"

enum { RSA_LEAST = 2048, RSA_MOST = 4096 /* bits of the modulus */ };

const EVP_MD *crypto_digest_of(unsigned bits)
{
    return bits == 256 ? EVP_sha256() : bits == 384 ? EVP_sha384() : EVP_sha512();
}

bool crypto_digest(void *self, unsigned bits, struct slice data, uint8_t *out)
{
    const bool cut = bits == CRYPTO_SHA_512_256;
    unsigned n = 0;
    (void)self;
    return EVP_Digest(data.data, data.len, out, &n, cut ? EVP_sha512_256() : crypto_digest_of(bits),
                      NULL) == 1 &&
           n == (cut ? 32 : bits / 8);
}

static bool find_curve(const EVP_PKEY *key, enum crypto_family *out)
{
    static const char *const names[] = {
        [CRYPTO_P256] = "prime256v1", [CRYPTO_P384] = "secp384r1", [CRYPTO_P521] = "secp521r1"};
    char group[32];
    if (!EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME,
                                                                    group, sizeof group, NULL) != 1)
        return false;
    for (int i = CRYPTO_P256; i <= CRYPTO_P521; i++) {
        *out = (enum crypto_family)i;
        if (strcmp(group, names[i]) == 0)
            return true;
    }
    return false;
}

bool crypto_family_of(const EVP_PKEY *key, enum crypto_family *out)
{
    *out = EVP_PKEY_is_a(key, "ED25519") ? CRYPTO_ED25519 : CRYPTO_X25519;
    if (*out == CRYPTO_ED25519 || EVP_PKEY_is_a(key, "X25519"))
        return true;
    if (!EVP_PKEY_is_a(key, "RSA"))
        return find_curve(key, out);
    const int bits = EVP_PKEY_get_bits(key);
    *out = CRYPTO_RSA;
    return bits >= RSA_LEAST && bits <= RSA_MOST;
}

/* Equal points have equal octets. */
static bool expand_point(EVP_PKEY *key, enum crypto_family family)
{
    return family > CRYPTO_P521 ||
           EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                          OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED) == 1;
}

bool crypto_write_public(EVP_PKEY *key, enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                         size_t *len)
{
    unsigned char *der = NULL;
    const bool known = key != NULL && crypto_family_of(key, family) && expand_point(key, *family);
    const int n = known ? i2d_PUBKEY(key, &der) : 0;
    const bool good = n > 0 && n <= CRYPTO_PUBLIC_MAX;
    if (good) {
        memcpy(out, der, (size_t)n);
        *len = (size_t)n;
    }
    OPENSSL_free(der);
    ERR_clear_error();
    return good;
}

/* ---- keys ---- */

static void free_pair(struct kept_pair *p)
{
    EVP_PKEY_free(p->key);
    *p = (struct kept_pair){.key = NULL};
}

void crypto_forget_pairs(struct openssl *o)
{
    for (size_t i = 0; i < KEPT_PAIRS; i++)
        free_pair(&o->pairs[i]);
}

EVP_PKEY *crypto_read_key(struct slice der, bool is_private)
{
    const unsigned char *p = der.data;
    EVP_PKEY *key = der.len > 8192 ? NULL
                    : is_private   ? d2i_AutoPrivateKey(NULL, &p, (long)der.len)
                                   : d2i_PUBKEY(NULL, &p, (long)der.len);
    if (key != NULL && p != der.data + der.len) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    ERR_clear_error();
    return key;
}

EVP_PKEY *crypto_find_key(struct openssl *o, struct slice der, bool is_private)
{
    uint8_t mark[32];
    struct kept_pair *oldest = &o->pairs[0];
    if (der.len == 0 || !crypto_digest(o, 256, der, mark))
        return NULL;
    for (size_t i = 0; i < KEPT_PAIRS; i++) {
        struct kept_pair *p = &o->pairs[i];
        if (p->key != NULL && p->is_private == is_private &&
            secret_same(p->mark, mark, sizeof mark)) {
            p->used = ++o->count;
            return p->key;
        }
        if (p->used < oldest->used)
            oldest = p;
    }
    EVP_PKEY *key = crypto_read_key(der, is_private);
    if (key == NULL)
        return NULL;
    free_pair(oldest);
    *oldest = (struct kept_pair){.key = key, .used = ++o->count, .is_private = is_private};
    memcpy(oldest->mark, mark, sizeof mark);
    return key;
}

/* The same, if it is of that family. */
static EVP_PKEY *find_in(struct openssl *o, struct slice der, bool is_private,
                         enum crypto_family want)
{
    enum crypto_family family;
    EVP_PKEY *key = crypto_find_key(o, der, is_private);
    return key != NULL && crypto_family_of(key, &family) && family == want ? key : NULL;
}

bool crypto_public_of(void *self, struct slice key, bool is_private, enum crypto_family *family,
                      uint8_t out[CRYPTO_PUBLIC_MAX], size_t *len)
{
    return crypto_write_public(crypto_find_key(self, key, is_private), family, out, len);
}

/* ---- ECDSA and RSASSA-PSS ---- */

/* Bytes of each of the two numbers of ECDSA. */
static size_t number_bytes(enum crypto_family family)
{
    return family == CRYPTO_P256 ? 32 : family == CRYPTO_P384 ? 48 : 66;
}

static bool write_numbers(const uint8_t *der, size_t len, size_t each, uint8_t *out)
{
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &der, (long)len);
    const bool good = s != NULL && BN_bn2binpad(ECDSA_SIG_get0_r(s), out, (int)each) > 0 &&
                      BN_bn2binpad(ECDSA_SIG_get0_s(s), out + each, (int)each) > 0;
    ECDSA_SIG_free(s);
    return good;
}

/* The DER of r and s; to be freed by OPENSSL_free. NULL: no memory. */
static uint8_t *read_numbers(struct slice signature, int *len)
{
    const int each = (int)(signature.len / 2);
    unsigned char *der = NULL;
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *first = BN_bin2bn(signature.data, each, NULL);
    BIGNUM *second = BN_bin2bn(signature.data + each, each, NULL);
    if (s == NULL || first == NULL || second == NULL || ECDSA_SIG_set0(s, first, second) != 1) {
        BN_free(first);
        BN_free(second);
    } else {
        *len = i2d_ECDSA_SIG(s, &der);
    }
    ECDSA_SIG_free(s);
    return der;
}

static bool set_padding(EVP_PKEY_CTX *c, enum crypto_family family)
{
    return family != CRYPTO_RSA ||
           (EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(c, RSA_PSS_SALTLEN_DIGEST) == 1);
}

static bool sign_hashed(EVP_MD_CTX *c, EVP_PKEY *key, struct crypto_scheme scheme,
                        const struct slice *parts, size_t parts_len, uint8_t *out, size_t *len)
{
    uint8_t raw[CRYPTO_SIGNATURE_MAX + 16];
    EVP_PKEY_CTX *padding;
    bool good = EVP_DigestSignInit(c, &padding, crypto_digest_of(scheme.bits), NULL, key) == 1 &&
                set_padding(padding, scheme.family);
    for (size_t i = 0; i < parts_len && good; i++)
        good = parts[i].len == 0 || EVP_DigestSignUpdate(c, parts[i].data, parts[i].len) == 1;
    *len = sizeof raw;
    if (!good || EVP_DigestSignFinal(c, raw, len) != 1)
        return false;
    if (scheme.family == CRYPTO_RSA) {
        memcpy(out, raw, *len);
        return true;
    }
    const size_t each = number_bytes(scheme.family);
    const size_t der_len = *len;
    *len = 2 * each;
    return write_numbers(raw, der_len, each, out);
}

static bool verify_raw(EVP_MD_CTX *c, EVP_PKEY *key, struct crypto_scheme scheme,
                       const struct slice *parts, size_t parts_len, struct slice raw)
{
    EVP_PKEY_CTX *padding;
    bool good = EVP_DigestVerifyInit(c, &padding, crypto_digest_of(scheme.bits), NULL, key) == 1 &&
                set_padding(padding, scheme.family);
    for (size_t i = 0; i < parts_len && good; i++)
        good = parts[i].len == 0 || EVP_DigestVerifyUpdate(c, parts[i].data, parts[i].len) == 1;
    return good && EVP_DigestVerifyFinal(c, raw.data, raw.len) == 1;
}

static bool verify_hashed(EVP_MD_CTX *c, EVP_PKEY *key, struct crypto_scheme scheme,
                          const struct slice *parts, size_t parts_len, struct slice signature)
{
    int len = 0;
    if (scheme.family == CRYPTO_RSA)
        return verify_raw(c, key, scheme, parts, parts_len, signature);
    if (signature.len != 2 * number_bytes(scheme.family))
        return false;
    uint8_t *der = read_numbers(signature, &len);
    const bool good =
        der != NULL && verify_raw(c, key, scheme, parts, parts_len, slice_of(der, (size_t)len));
    OPENSSL_free(der);
    return good;
}

/* ---- Ed25519 ---- */

/* All parts in one piece, which the caller frees. */
static uint8_t *join_parts(const struct slice *parts, size_t parts_len, size_t *len)
{
    *len = 0;
    for (size_t i = 0; i < parts_len; i++)
        *len += parts[i].len;
    uint8_t *all = malloc(*len + 1), *p = all;
    for (size_t i = 0; i < parts_len && all != NULL; i++) {
        if (parts[i].len > 0)
            memcpy(p, parts[i].data, parts[i].len);
        p += parts[i].len;
    }
    return all;
}

static bool sign_edwards(EVP_MD_CTX *c, EVP_PKEY *key, const struct slice *parts, size_t parts_len,
                         uint8_t *out, size_t *signature_len)
{
    size_t len;
    uint8_t *all = join_parts(parts, parts_len, &len);
    *signature_len = CRYPTO_SIGNATURE_MAX;
    const bool good = all != NULL && EVP_DigestSignInit(c, NULL, NULL, NULL, key) == 1 &&
                      EVP_DigestSign(c, out, signature_len, all, len) == 1;
    free(all);
    return good;
}

static bool verify_edwards(EVP_MD_CTX *c, EVP_PKEY *key, const struct slice *parts,
                           size_t parts_len, struct slice signature)
{
    size_t len;
    uint8_t *all = join_parts(parts, parts_len, &len);
    const bool good = all != NULL && EVP_DigestVerifyInit(c, NULL, NULL, NULL, key) == 1 &&
                      EVP_DigestVerify(c, signature.data, signature.len, all, len) == 1;
    free(all);
    return good;
}

/* ---- the table's functions ---- */

bool crypto_sign(void *self, struct crypto_scheme scheme, struct slice private_key,
                 const struct slice *parts, size_t parts_len, uint8_t out[CRYPTO_SIGNATURE_MAX],
                 size_t *len)
{
    EVP_PKEY *key = find_in(self, private_key, true, scheme.family);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool good = key != NULL && c != NULL;
    if (good)
        good = scheme.family == CRYPTO_ED25519
                   ? sign_edwards(c, key, parts, parts_len, out, len)
                   : sign_hashed(c, key, scheme, parts, parts_len, out, len);
    EVP_MD_CTX_free(c);
    ERR_clear_error();
    return good;
}

bool crypto_verify(void *self, struct crypto_scheme scheme, struct slice public_key,
                   const struct slice *parts, size_t parts_len, struct slice signature)
{
    EVP_PKEY *key = find_in(self, public_key, false, scheme.family);
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool good = key != NULL && c != NULL && signature.len <= CRYPTO_SIGNATURE_MAX;
    if (good)
        good = scheme.family == CRYPTO_ED25519
                   ? verify_edwards(c, key, parts, parts_len, signature)
                   : verify_hashed(c, key, scheme, parts, parts_len, signature);
    EVP_MD_CTX_free(c);
    ERR_clear_error();
    return good;
}
