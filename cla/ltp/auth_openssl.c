/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ciphersuites over OpenSSL. A key is read once; its contexts are reused for each segment.
 *
 * What can go wrong: a key file that cannot be read or has no such key, which the error text names;
 * later, no memory (then nothing is signed or verified).
 */
#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "cla/ltp/auth.h"
#include "os/input_file.h"
#include "os/secret.h"

#define HMAC_VALUE 10 /* RFC 5327 §2.1: the leftmost 80 bits */
#define HMAC_KEY_MIN 16
#define HMAC_KEY_MAX 128
#define FILE_MAX 16384

struct keys {
    struct ltp_auth face;
    EVP_MAC_CTX *mac;
    EVP_MD_CTX *digest;
    EVP_PKEY *own, *peer;
};

/* RFC 5327 §2.1: the key of the NULL ciphersuite. */
static const uint8_t null_key[20] = {0xc3, 0x7b, 0x7e, 0x64, 0x92, 0x58, 0x43, 0x40, 0xbe, 0xd1,
                                     0x22, 0x07, 0x80, 0x89, 0x41, 0x15, 0x50, 0x68, 0xf7, 0x38};

struct complaint {
    const char **key;
    char *why;
    size_t cap;
};

__attribute__((format(printf, 3, 4))) static int wrong(const struct complaint *c, const char *key,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, c->cap, format, args);
    va_end(args);
    *c->key = key;
    return HELIO_EINVAL;
}

static bool mac_of(struct keys *k, struct slice covered, uint8_t value[EVP_MAX_MD_SIZE])
{
    size_t len = 0;
    return EVP_MAC_init(k->mac, NULL, 0, NULL) == 1 &&
           EVP_MAC_update(k->mac, covered.data, covered.len) == 1 &&
           EVP_MAC_final(k->mac, value, &len, EVP_MAX_MD_SIZE) == 1 && len >= HMAC_VALUE;
}

static bool hmac_sign(void *context, struct slice covered, uint8_t *value)
{
    uint8_t whole[EVP_MAX_MD_SIZE];
    if (!mac_of(context, covered, whole))
        return false;
    memcpy(value, whole, HMAC_VALUE);
    return true;
}

static bool hmac_verify(void *context, struct slice covered, struct slice value)
{
    uint8_t whole[EVP_MAX_MD_SIZE];
    return value.len == HMAC_VALUE && mac_of(context, covered, whole) &&
           CRYPTO_memcmp(whole, value.data, HMAC_VALUE) == 0;
}

static bool rsa_sign(void *context, struct slice covered, uint8_t *value)
{
    struct keys *k = context;
    size_t len = k->face.value_len;
    return EVP_DigestSignInit(k->digest, NULL, EVP_sha256(), NULL, k->own) == 1 &&
           EVP_DigestSign(k->digest, value, &len, covered.data, covered.len) == 1 &&
           len == k->face.value_len;
}

static bool rsa_verify(void *context, struct slice covered, struct slice value)
{
    struct keys *k = context;
    return EVP_DigestVerifyInit(k->digest, NULL, EVP_sha256(), NULL, k->peer) == 1 &&
           EVP_DigestVerify(k->digest, value.data, value.len, covered.data, covered.len) == 1;
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static int hmac_open(struct keys *k, const uint8_t *key, size_t len)
{
    assert(len >= HMAC_KEY_MIN && len <= HMAC_KEY_MAX);
    char digest[] = "SHA1";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    k->mac = hmac == NULL ? NULL : EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    if (k->mac == NULL || EVP_MAC_init(k->mac, key, len, params) != 1)
        return HELIO_ENOMEM;
    k->face.value_len = HMAC_VALUE;
    k->face.sign = hmac_sign;
    k->face.verify = hmac_verify;
    return 0;
}

static FILE *key_file(const char *key, bool is_secret, const char *path, const char *holds,
                      const struct complaint *c)
{
    if (!given(path)) {
        wrong(c, key, "is not given; write the name of the file that holds %s", holds);
        return NULL;
    }
    char why[512];
    FILE *f = is_secret ? secret_file_open(path, why, sizeof why)
                        : input_file_regular(path, why, sizeof why);
    if (f == NULL && is_secret)
        wrong(c, key, "%s; it should hold %s", why, holds);
    else if (f == NULL)
        wrong(c, key, "%s: %s; it should hold %s", path, why, holds);
    return f;
}

static int hmac_from_file(struct keys *k, const char *path, const struct complaint *c)
{
    char text[FILE_MAX];
    uint8_t key[HMAC_KEY_MAX];
    FILE *f = key_file("auth.key_file", true, path, "16 to 128 bytes as hexadecimal digits", c);
    if (f == NULL)
        return HELIO_EINVAL;
    size_t len = fread(text, 1, sizeof text, f);
    bool failed = ferror(f) != 0;
    fclose(f);
    int n = failed ? HELIO_EFORMAT : hex_parse(text, len, key, sizeof key);
    int r = n < HMAC_KEY_MIN
                ? wrong(c, "auth.key_file",
                        "%s: not a key; write 16 to 128 bytes as hexadecimal digits", path)
                : hmac_open(k, key, (size_t)n);
    OPENSSL_cleanse(text, sizeof text);
    OPENSSL_cleanse(key, sizeof key);
    return r;
}

/* No question on a terminal: keys are not under a passphrase here. */
static int no_passphrase(char *buf, int size, int rw, void *context)
{
    (void)buf;
    (void)size;
    (void)rw;
    (void)context;
    return -1;
}

static int rsa_from_file(EVP_PKEY **out, bool is_private, const char *path,
                         const struct complaint *c)
{
    const char *key = is_private ? "auth.key_file" : "auth.peer_key_file";
    const char *holds = is_private ? "this node's private RSA key (PEM, no passphrase)"
                                   : "the peer's public RSA key (PEM)";
    FILE *f = key_file(key, is_private, path, holds, c);
    if (f == NULL)
        return HELIO_EINVAL;
    *out = is_private ? PEM_read_PrivateKey(f, NULL, no_passphrase, NULL)
                      : PEM_read_PUBKEY(f, NULL, no_passphrase, NULL);
    fclose(f);
    int bits =
        *out == NULL || EVP_PKEY_get_base_id(*out) != EVP_PKEY_RSA ? 0 : EVP_PKEY_get_bits(*out);
    if (bits == 0)
        return wrong(c, key, "%s: not such a key; it should hold %s", path, holds);
    if (bits < 2048 || bits > 4096)
        return wrong(c, key, "%s: a key of %d bits; use 2048 to 4096", path, bits);
    return 0;
}

static int rsa_open(struct keys *k, const struct auth_config *config, const struct complaint *c)
{
    int r = rsa_from_file(&k->own, true, config->key_file, c);
    if (r == 0)
        r = rsa_from_file(&k->peer, false, config->peer_key_file, c);
    if (r != 0)
        return r;
    k->digest = EVP_MD_CTX_new();
    k->face.value_len = (uint16_t)EVP_PKEY_get_size(k->own);
    k->face.sign = rsa_sign;
    k->face.verify = rsa_verify;
    return k->digest == NULL ? HELIO_ENOMEM : 0;
}

int auth_open(struct ltp_auth **out, const struct auth_config *config, const char **key, char *why,
              size_t why_cap)
{
    const struct complaint c = {key, why, why_cap};
    const char *id = config->key_id == NULL ? "" : config->key_id;
    if (strlen(id) > LTP_KEY_ID_MAX)
        return wrong(&c, "auth.key_id", "is longer than %d bytes", LTP_KEY_ID_MAX);
    struct keys *k = calloc(1, sizeof *k);
    if (k == NULL)
        return HELIO_ENOMEM;
    k->face.suite = config->suite;
    k->face.key_id_len = (uint8_t)strlen(id);
    memcpy(k->face.key_id, id, k->face.key_id_len);
    k->face.context = k;
    int r;
    if (config->suite == LTP_RSA_SHA256)
        r = rsa_open(k, config, &c);
    else if (config->suite == LTP_AUTH_NULL)
        r = hmac_open(k, null_key, sizeof null_key);
    else
        r = hmac_from_file(k, config->key_file, &c);
    if (r != 0)
        auth_close(&k->face);
    else
        *out = &k->face;
    assert(r != 0 || (k->face.value_len > 0 && k->face.verify != NULL));
    return r;
}

void auth_close(struct ltp_auth *a)
{
    if (a == NULL)
        return;
    struct keys *k = a->context;
    EVP_MAC_CTX_free(k->mac);
    EVP_MD_CTX_free(k->digest);
    EVP_PKEY_free(k->own);
    EVP_PKEY_free(k->peer);
    free(k);
}
