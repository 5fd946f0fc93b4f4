/* SPDX-License-Identifier: Apache-2.0 */
/* A table of cryptography that is not secure, and fast: sums instead of MACs and hashes, an
 * exclusive or instead of a cipher, keys as they are. */
#ifndef TESTS_FUZZ_TOY_CRYPTO_H
#define TESTS_FUZZ_TOY_CRYPTO_H

#include <stdlib.h>

#include "base/crypto.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

static bool toy_sum(void *self, unsigned bits, struct slice key, const struct slice *parts,
                    size_t parts_len, uint8_t *out)
{
    uint8_t sum = key.len == 0 ? 0 : key.data[0];
    (void)self;
    for (size_t i = 0; i < parts_len; i++) {
        for (size_t k = 0; k < parts[i].len; k++)
            sum = (uint8_t)(sum + parts[i].data[k]);
    }
    memset(out, key.len == 0 ? 0 : key.data[0], bits / 8);
    out[0] = sum;
    return true;
}

static bool toy_seal(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                     size_t len, uint8_t tag[CRYPTO_TAG])
{
    (void)self;
    memset(tag, aad.len > 0 ? aad.data[aad.len - 1] : 0, CRYPTO_TAG);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(data[i] ^ key.data[i % key.len] ^ iv.data[i % iv.len]);
    return true;
}

static bool toy_open(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                     size_t len, const uint8_t tag[CRYPTO_TAG])
{
    uint8_t right[CRYPTO_TAG];
    toy_seal(self, key, iv, aad, data, len, right);
    return memcmp(right, tag, sizeof right) == 0;
}

static bool toy_restore(void *self, struct slice key, struct slice iv, struct slice aad,
                        uint8_t *data, size_t len)
{
    uint8_t unused[CRYPTO_TAG];
    return toy_seal(self, key, iv, aad, data, len, unused);
}

static bool toy_wrap(void *self, struct slice kek, struct slice in, uint8_t *out)
{
    (void)self;
    (void)kek;
    memcpy(out, in.data, in.len);
    memset(out + in.len, 0, 8);
    return true;
}

static bool toy_unwrap(void *self, struct slice kek, struct slice in, uint8_t *out)
{
    (void)self;
    (void)kek;
    memcpy(out, in.data, in.len - 8);
    return true;
}

static bool toy_random(void *self, uint8_t *out, size_t len)
{
    (void)self;
    memset(out, 7, len);
    return true;
}

static bool toy_digest(void *self, unsigned bits, struct slice text, uint8_t *out)
{
    return toy_sum(self, bits == CRYPTO_SHA_512_256 ? 256 : bits, slice_of(NULL, 0), &text, 1, out);
}

static bool toy_verify(void *self, struct crypto_scheme scheme, struct slice public_key,
                       const struct slice *parts, size_t parts_len, struct slice signature)
{
    uint8_t out[64];
    (void)scheme;
    toy_sum(self, 512, public_key, parts, parts_len, out);
    return signature.len > 0 && out[0] == signature.data[0];
}

static const char *toy_certified(void *self, const struct crypto_certificates *c,
                                 enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                                 size_t *len)
{
    (void)self;
    *family = (enum crypto_family)(c->certificate.data[0] % CRYPTO_FAMILIES);
    memset(out, 1, CRYPTO_PUBLIC_MAX);
    *len = CRYPTO_PUBLIC_MAX;
    return c->is_node(c->node, "ipn:2.0") ? NULL : "another node";
}

static bool toy_agree(void *self, enum crypto_lasting lasting, struct slice private_key,
                      struct slice public_key, uint8_t out[CRYPTO_SHARED_MAX], size_t *len)
{
    (void)lasting;
    *len = 32;
    return public_key.len > 0 && toy_sum(self, 256, private_key, &public_key, 1, out);
}

static bool toy_open_key(void *self, unsigned bits, struct slice private_key, struct slice sealed,
                         uint8_t *out, size_t len)
{
    (void)self;
    (void)bits;
    (void)private_key;
    if (sealed.len < len)
        return false;
    memcpy(out, sealed.data, len);
    return true;
}

static struct crypto toy_crypto(void)
{
    return (struct crypto){
        .mac = toy_sum,
        .seal = toy_seal,
        .open = toy_open,
        .restore = toy_restore,
        .wrap = toy_wrap,
        .unwrap = toy_unwrap,
        .random = toy_random,
        .signatures = {.digest = toy_digest, .verify = toy_verify, .certified = toy_certified},
        .exchange = {.agree = toy_agree, .open_key = toy_open_key}};
}

#endif
