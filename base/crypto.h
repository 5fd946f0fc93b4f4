/* SPDX-License-Identifier: Apache-2.0 */
/* The cryptography that pure code uses, as a table of functions; os/crypto.h implements it. */
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

/* Each function returns true on success. Keys, IVs, tags and parts are views for the duration of
 * the call. An implementation may keep copies of keys; its owner can wipe them. It may also know
 * keys that it does not show (os/token_keys.h): then the octets given as the key only name one. */
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
};

#ifdef __cplusplus
}
#endif

#endif
