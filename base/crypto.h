/* SPDX-License-Identifier: Apache-2.0 */
/* The cryptography that pure code uses, as a table of functions; os/crypto/crypto.h implements it.
 */
#ifndef BASE_CRYPTO_H
#define BASE_CRYPTO_H

#include <stdbool.h>

#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CRYPTO_MAC_MAX 64 /* bytes of the longest MAC */
#define CRYPTO_CMAC 16    /* bytes of an AES-CMAC */
#define CRYPTO_TAG 16     /* bytes of an AES-GCM authentication tag */

/* Families of public keys: elliptic curves, and RSA with a modulus of 2048 to 4096 bits */
enum crypto_family {
    CRYPTO_P256,
    CRYPTO_P384,
    CRYPTO_P521,
    CRYPTO_ED25519, /* signatures */
    CRYPTO_X25519,  /* key agreement */
    CRYPTO_RSA,
    CRYPTO_FAMILIES
};
#define CRYPTO_SIGNATURE_MAX 512 /* bytes: RSA of 4096 bits; also of a key encrypted by RSA */
#define CRYPTO_PUBLIC_MAX 560    /* bytes of a public key: RSA of 4096 bits */
#define CRYPTO_SHARED_MAX 66     /* bytes of a shared secret: a coordinate of P-521 */
#define CRYPTO_EPHEMERAL_MAX 256 /* bytes of a new private key on a curve */

#define CRYPTO_SHA_512_256 1 /* SHA-512/256 (FIPS 180-4), which writes 32 bytes */

/* A signature algorithm: the family of its keys, and the bits of its hash (SHA-2); 0 for
 * Ed25519. */
struct crypto_scheme {
    enum crypto_family family;
    unsigned bits;
};

/* Certificates (X.509, DER). */
struct crypto_certificates {
    struct slice certificate;   /* of the signer */
    const struct slice *others; /* that may be between it and an anchor; not trusted */
    size_t others_len;
    const struct slice *anchors; /* trusted; none: the signer's certificate is */
    size_t anchors_len;
    /* revocation lists (RFC 5280 §5) that `readable` has accepted; their dates do not count */
    const struct slice *revoked;
    size_t revoked_len;
    int64_t unix_s; /* they must be valid at this time */
    /* Does a NODE-ID of the certificate, such as "ipn:2.0", name the node that they must name? */
    bool (*is_node)(const void *node, const char *text);
    const void *node;
};

/* Signatures and certificates; in every other respect as struct crypto. */
struct crypto_signatures {
    void *self;
    /* SHA-2 of 256, 384 or 512 bits, which writes bits / 8 bytes; or CRYPTO_SHA_512_256. */
    bool (*digest)(void *self, unsigned bits, struct slice data, uint8_t *out);
    /* Signatures over the concatenated parts: ECDSA (FIPS 186-5) as r and s of equal length (RFC
     * 9053 §2.1); RSASSA-PSS with a salt as long as the hash (RFC 8230 §2); or Ed25519 (RFC 8032),
     * for which all parts are copied into one piece of memory. A private key is PKCS #8, RFC 5915
     * or RFC 8017, a public key is a SubjectPublicKeyInfo (RFC 5280), both DER. */
    bool (*sign)(void *self, struct crypto_scheme scheme, struct slice private_key,
                 const struct slice *parts, size_t parts_len, uint8_t out[CRYPTO_SIGNATURE_MAX],
                 size_t *len);
    bool (*verify)(void *self, struct crypto_scheme scheme, struct slice public_key,
                   const struct slice *parts, size_t parts_len, struct slice signature);
    /* The public key of a private key, or of a public key; points are not compressed. False: it is
     * no key of one of the families. */
    bool (*public_of)(void *self, struct slice key, bool is_private, enum crypto_family *family,
                      uint8_t out[CRYPTO_PUBLIC_MAX], size_t *len);
    /* The public key of the signer's certificate, after validation of the path to an anchor (RFC
     * 5280 §6), of its purpose and of the node that it names. node NULL: nothing is validated.
     * NULL, or what is wrong (static). */
    const char *(*certified)(void *self, const struct crypto_certificates *c,
                             enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                             size_t *len);
    /* Are the anchors and revocation lists readable, and is each list one of an anchor? NULL, or
     * what is wrong (static). */
    const char *(*readable)(void *self, const struct crypto_certificates *c);
};

/* Which of two keys will be used again? */
enum crypto_lasting { CRYPTO_LASTING_PRIVATE = 1, CRYPTO_LASTING_PUBLIC, CRYPTO_LASTING_BOTH };

/* Secret keys for the owner of a public key; keys are DER, as those of signatures. */
struct crypto_exchange {
    void *self;
    /* A new private key on a curve, and its public key as public_of writes it. */
    bool (*generate)(void *self, enum crypto_family family, uint8_t out[CRYPTO_EPHEMERAL_MAX],
                     size_t *len, uint8_t public_key[CRYPTO_PUBLIC_MAX], size_t *public_len);
    /* Diffie-Hellman on the curve of both keys: the x coordinate (SEC 1 §3.3.1), or X25519 (RFC
     * 7748). `lasting` says which of the keys will be used again, and may be kept. False: the keys
     * are on different curves, or the point is not on the curve. */
    bool (*agree)(void *self, enum crypto_lasting lasting, struct slice private_key,
                  struct slice public_key, uint8_t out[CRYPTO_SHARED_MAX], size_t *len);
    /* RSAES-OAEP (RFC 8017 §7.1) with SHA-2 of so many bits and an empty label. `open_key` returns
     * false unless the key has `len` bytes. */
    bool (*seal_key)(void *self, unsigned bits, struct slice public_key, struct slice key,
                     uint8_t out[CRYPTO_SIGNATURE_MAX], size_t *len);
    bool (*open_key)(void *self, unsigned bits, struct slice private_key, struct slice sealed,
                     uint8_t *out, size_t len);
};

/* Each function returns true on success. Keys, IVs, tags and parts are views for the duration of
 * the call. An implementation may keep copies of keys; its owner can wipe them. It may also know
 * keys that it does not show (os/crypto/token_keys.h): then the octets given as the key only name
 * one. */
struct crypto {
    void *self;
    /* HMAC (RFC 2104) with SHA-2 of 256, 384 or 512 bits over the concatenated parts. Writes bits /
     * 8 bytes. */
    bool (*mac)(void *self, unsigned bits, struct slice key, const struct slice *parts,
                size_t parts_len, uint8_t *out);
    /* AES-CMAC (NIST SP 800-38B) with a key of 16 or 32 bytes over the concatenated parts. */
    bool (*cmac)(void *self, struct slice key, const struct slice *parts, size_t parts_len,
                 uint8_t out[CRYPTO_CMAC]);
    /* AES-GCM (NIST SP 800-38D) with a key of 16 or 32 bytes. Encrypts or decrypts `len` bytes at
     * `data` in place. `open` returns false when the tag is wrong. The bytes are then undefined,
     * until `restore` with the same arguments restores the bytes that `open` received. */
    bool (*seal)(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                 size_t len, uint8_t tag[CRYPTO_TAG]);
    bool (*open)(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                 size_t len, const uint8_t tag[CRYPTO_TAG]);
    bool (*restore)(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                    size_t len);
    /* AES key wrap (RFC 3394) with a key-encryption key of 16, 24 or 32 bytes. `out` must have
     * key.len + 8, or wrapped.len - 8, bytes. Both are multiples of 8, and the key has at least
     * 16. */
    bool (*wrap)(void *self, struct slice kek, struct slice key, uint8_t *out);
    bool (*unwrap)(void *self, struct slice kek, struct slice wrapped, uint8_t *out);
    /* Cryptographically secure random bytes. */
    bool (*random)(void *self, uint8_t *out, size_t len);
    /* Did the last of these calls fail because the token with the key did not respond? Then nothing
     * is known about the data. NULL: there are no tokens. */
    bool (*absent)(void *self);
    struct crypto_signatures signatures;
    struct crypto_exchange exchange;
};

#ifdef __cplusplus
}
#endif

#endif
