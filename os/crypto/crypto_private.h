/* SPDX-License-Identifier: Apache-2.0 */
/* Private to os/crypto_*.c: what a table of OpenSSL keeps, and its functions for signatures. */
#ifndef OS_CRYPTO_PRIVATE_H
#define OS_CRYPTO_PRIVATE_H

#include <openssl/evp.h>

#include "base/crypto.h"

enum { KEPT_CONTEXTS = 8, KEPT_PAIRS = 8, KEPT_KEY = 128, USE_CMAC = 2 };

/* In secret memory, which a fork wipes. */
struct kept_key {
    bool here;
    uint8_t bytes[KEPT_KEY];
};

/* A context with its key; one of mac and cipher. */
struct kept {
    EVP_MAC_CTX *mac;
    EVP_CIPHER_CTX *cipher;
    uint64_t used; /* the count at its last use; 0: none */
    unsigned use;  /* bits of an HMAC; 0 and 1: decryption, encryption; USE_CMAC */
    size_t key_len, iv_len;
    struct kept_key *key;
};

/* A private or public key of signatures. */
struct kept_pair {
    EVP_PKEY *key; /* NULL: none */
    uint64_t used;
    bool is_private;
    uint8_t mark[32]; /* SHA-256 of its DER */
};

struct openssl {
    EVP_MAC *hmac, *cmac;
    EVP_CIPHER *gcm128, *gcm256, *wrap128, *wrap192, *wrap256;
    EVP_CIPHER_CTX *cipher; /* of key wrap */
    struct kept kept[KEPT_CONTEXTS];
    struct kept_key *keys; /* of each */
    uint64_t count;
    struct kept_pair pairs[KEPT_PAIRS];
};

/* Functions of the table: crypto_signature.c, crypto_certificate.c and crypto_exchange.c */
bool crypto_digest(void *self, unsigned bits, struct slice data, uint8_t *out);
bool crypto_sign(void *self, struct crypto_scheme scheme, struct slice private_key,
                 const struct slice *parts, size_t parts_len, uint8_t out[CRYPTO_SIGNATURE_MAX],
                 size_t *len);
bool crypto_verify(void *self, struct crypto_scheme scheme, struct slice public_key,
                   const struct slice *parts, size_t parts_len, struct slice signature);
bool crypto_public_of(void *self, struct slice key, bool is_private, enum crypto_family *family,
                      uint8_t out[CRYPTO_PUBLIC_MAX], size_t *len);
const char *crypto_certified(void *self, const struct crypto_certificates *c,
                             enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                             size_t *len);
const char *crypto_readable(void *self, const struct crypto_certificates *c);
extern const struct crypto_exchange crypto_exchange_table;

const EVP_MD *crypto_digest_of(unsigned bits);
/* A kept key, or one that replaces the least recently used one. NULL: it is no key. */
EVP_PKEY *crypto_find_key(struct openssl *o, struct slice der, bool is_private);
/* A key that is not kept; NULL: it is none. The caller frees it. */
EVP_PKEY *crypto_read_key(struct slice der, bool is_private);
bool crypto_family_of(const EVP_PKEY *key, enum crypto_family *out);
/* A public key of one of the families, as DER. False: it is none. */
bool crypto_write_public(EVP_PKEY *key, enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                         size_t *len);
/* Frees all kept private and public keys. */
void crypto_forget_pairs(struct openssl *o);

#endif
