// SPDX-License-Identifier: Apache-2.0
/* ION's cryptographic interface (ici/include/csi.h) over OpenSSL: HMAC-SHA2, AES-GCM and AES key
 * wrap. The public ION has only an implementation that does nothing. Preloaded before ION's
 * libraries, so ION itself is built unchanged: cc -shared -fPIC -DSPACE_ORDER=3 -Dlinux -I
 * ION_SOURCE/ici/include csi_openssl.c -o csi_openssl.so -lcrypto */
#include "platform.h"

#include "csi.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

enum { IV_LENGTH = 12, TAG_LENGTH = 16, CHUNK = 65000, WRONG = 4 };

struct context {
    EVP_MAC_CTX *mac;
    EVP_CIPHER_CTX *cipher;
    csi_val_t key;
    int encrypt;
};

static csi_val_t new_value(size_t length)
{
    csi_val_t value = {MTAKE(length ? length : 1), (int32_t)length};
    if (value.contents)
        memset(value.contents, 0, length ? length : 1);
    return value;
}

static size_t key_length(csi_csid_t suite)
{
    switch (suite) {
    case CSTYPE_HMAC_SHA384:
        return 48;
    case CSTYPE_HMAC_SHA512:
        return 64;
    case CSTYPE_AES128_GCM:
        return 16;
    default:
        return 32;
    }
}

static const char *digest_name(csi_csid_t suite)
{
    return suite == CSTYPE_HMAC_SHA512   ? "SHA512"
           : suite == CSTYPE_HMAC_SHA384 ? "SHA384"
                                         : "SHA256";
}

static int is_cipher(csi_csid_t suite)
{
    return suite == CSTYPE_AES128_GCM || suite == CSTYPE_AES256_GCM;
}

int csi_keywrap(int wrap, csi_val_t kek, csi_val_t input, csi_val_t *output)
{
    const EVP_CIPHER *cipher = kek.len == 16   ? EVP_aes_128_wrap()
                               : kek.len == 24 ? EVP_aes_192_wrap()
                               : kek.len == 32 ? EVP_aes_256_wrap()
                                               : NULL;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int length = 0, good = 0;
    *output = new_value((size_t)input.len + 16);
    if (ctx && cipher) {
        EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
        good = EVP_CipherInit_ex(ctx, cipher, NULL, kek.contents, NULL, wrap) == 1 &&
               EVP_CipherUpdate(ctx, output->contents, &length, input.contents, input.len) == 1 &&
               length > 0;
    }
    EVP_CIPHER_CTX_free(ctx);
    output->len = length;
    if (good)
        return 1;
    MRELEASE(output->contents);
    *output = (csi_val_t){NULL, 0};
    return ERROR;
}

uint32_t csi_blocksize(csi_csid_t suite)
{
    (void)suite;
    return CHUNK;
}

uint32_t csi_crypt_parm_get_len(csi_csid_t suite, csi_parmid_t id)
{
    return id == CSI_PARM_IV    ? IV_LENGTH
           : id == CSI_PARM_ICV ? TAG_LENGTH
                                : (uint32_t)key_length(suite);
}

csi_val_t csi_crypt_parm_get(csi_csid_t suite, csi_parmid_t id)
{
    csi_val_t value = new_value(csi_crypt_parm_get_len(suite, id));
    if (RAND_bytes(value.contents, value.len) != 1)
        value.len = 0;
    return value;
}

uint32_t csi_crypt_res_len(csi_csid_t suite, void *context, csi_blocksize_t size, csi_svcid_t svc)
{
    (void)suite, (void)context, (void)svc;
    return size.plaintextLen;
}

uint32_t csi_sign_res_len(csi_csid_t suite, void *context)
{
    (void)context;
    return (uint32_t)key_length(suite);
}

uint8_t *csi_ctx_init(csi_csid_t suite, csi_val_t key, csi_svcid_t svc)
{
    struct context *c = MTAKE(sizeof *c);
    memset(c, 0, sizeof *c);
    c->encrypt = svc == CSI_SVC_ENCRYPT;
    c->key = new_value((size_t)key.len);
    memcpy(c->key.contents, key.contents, (size_t)key.len);
    if (is_cipher(suite)) {
        c->cipher = EVP_CIPHER_CTX_new();
    } else {
        EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
        c->mac = EVP_MAC_CTX_new(mac);
        EVP_MAC_free(mac);
    }
    return (uint8_t *)c;
}

uint8_t csi_ctx_free(csi_csid_t suite, void *context)
{
    struct context *c = context;
    (void)suite;
    EVP_MAC_CTX_free(c->mac);
    EVP_CIPHER_CTX_free(c->cipher);
    MRELEASE(c->key.contents);
    MRELEASE(c);
    return 1;
}

int8_t csi_sign_start(csi_csid_t suite, void *context)
{
    struct context *c = context;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest_name(suite), 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_init(c->mac, c->key.contents, (size_t)c->key.len, parameters) == 1 ? 1 : ERROR;
}

int8_t csi_sign_update(csi_csid_t suite, void *context, csi_val_t data, csi_svcid_t svc)
{
    struct context *c = context;
    (void)suite, (void)svc;
    return EVP_MAC_update(c->mac, data.contents, (size_t)data.len) == 1 ? 1 : ERROR;
}

int8_t csi_sign_finish(csi_csid_t suite, void *context, csi_val_t *result, csi_svcid_t svc)
{
    struct context *c = context;
    unsigned char value[64];
    size_t length = 0;
    (void)suite;
    if (EVP_MAC_final(c->mac, value, &length, sizeof value) != 1)
        return ERROR;
    if (svc == CSI_SVC_VERIFY)
        return (size_t)result->len == length && CRYPTO_memcmp(result->contents, value, length) == 0
                   ? 1
                   : WRONG;
    *result = new_value(length);
    memcpy(result->contents, value, length);
    return 1;
}

int8_t csi_sign_full(csi_csid_t suite, csi_val_t input, csi_val_t key, csi_val_t *result,
                     csi_svcid_t svc)
{
    uint8_t *context = csi_ctx_init(suite, key, svc);
    int8_t good = csi_sign_start(suite, context);
    if (good == 1)
        good = csi_sign_update(suite, context, input, svc);
    if (good == 1)
        good = csi_sign_finish(suite, context, result, svc);
    csi_ctx_free(suite, context);
    return good;
}

int8_t csi_crypt_start(csi_csid_t suite, void *context, csi_cipherparms_t parms)
{
    struct context *c = context;
    const EVP_CIPHER *cipher = suite == CSTYPE_AES128_GCM ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    int length;
    if (c->key.len != EVP_CIPHER_get_key_length(cipher))
        return ERROR;
    if (EVP_CipherInit_ex(c->cipher, cipher, NULL, NULL, NULL, c->encrypt) != 1 ||
        EVP_CIPHER_CTX_ctrl(c->cipher, EVP_CTRL_AEAD_SET_IVLEN, parms.iv.len, NULL) != 1 ||
        EVP_CipherInit_ex(c->cipher, NULL, NULL, c->key.contents, parms.iv.contents, c->encrypt) !=
            1)
        return ERROR;
    if (parms.aad.len > 0 &&
        EVP_CipherUpdate(c->cipher, NULL, &length, parms.aad.contents, parms.aad.len) != 1)
        return ERROR;
    return 1;
}

csi_val_t csi_crypt_update(csi_csid_t suite, void *context, csi_svcid_t svc, csi_val_t data)
{
    struct context *c = context;
    csi_val_t out = new_value((size_t)data.len);
    int length = 0;
    (void)suite, (void)svc;
    if (EVP_CipherUpdate(c->cipher, out.contents, &length, data.contents, data.len) != 1)
        length = 0;
    out.len = length;
    return out;
}

int8_t csi_crypt_finish(csi_csid_t suite, void *context, csi_svcid_t svc, csi_cipherparms_t *parms)
{
    struct context *c = context;
    unsigned char rest[TAG_LENGTH];
    int length = 0;
    (void)suite, (void)svc;
    if (!c->encrypt) {
        if (parms->icv.len != TAG_LENGTH ||
            EVP_CIPHER_CTX_ctrl(c->cipher, EVP_CTRL_AEAD_SET_TAG, TAG_LENGTH,
                                parms->icv.contents) != 1)
            return ERROR;
        return EVP_CipherFinal_ex(c->cipher, rest, &length) == 1 ? 1 : ERROR;
    }
    parms->icv = new_value(TAG_LENGTH);
    return EVP_CipherFinal_ex(c->cipher, rest, &length) == 1 &&
                   EVP_CIPHER_CTX_ctrl(c->cipher, EVP_CTRL_AEAD_GET_TAG, TAG_LENGTH,
                                       parms->icv.contents) == 1
               ? 1
               : ERROR;
}

int8_t csi_crypt_full(csi_csid_t suite, csi_svcid_t svc, csi_cipherparms_t *parms, csi_val_t key,
                      csi_val_t input, csi_val_t *output)
{
    uint8_t *context = csi_ctx_init(suite, key, svc);
    int8_t good = csi_crypt_start(suite, context, *parms);
    *output = (csi_val_t){NULL, 0};
    if (good == 1) {
        *output = csi_crypt_update(suite, context, svc, input);
        good = csi_crypt_finish(suite, context, svc, parms);
    }
    csi_ctx_free(suite, context);
    return good;
}
