/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/security_*.c. */
#ifndef BP_SECURITY_PRIVATE_H
#define BP_SECURITY_PRIVATE_H

#include "bp/codec/cbor.h"
#include "bp/codec/security.h"

enum { SECURITY_PRIMARY = 0 }; /* the primary block's number as a target */

/* Writes the content of a security block of a known context. */
void security_block_write(struct writer *w, uint64_t type, const struct security_block *s);

/* security_bundle.c: the list of blocks */

/* The block with that number; NULL: none. The primary block has none. */
struct bundle_block *security_find(struct security_bundle *b, uint64_t number);
/* Adds a block at index `at`, in front of the payload; false: SECURITY_BLOCKS_MAX are there. */
bool security_insert(struct security_bundle *b, size_t at, const struct bundle_block *block);
void security_remove(struct security_bundle *b, size_t at);
/* The bytes of s, writable. s is a view of b's bytes. */
uint8_t *security_mutable(struct security_bundle *b, struct slice s);
/* Is `number` the number of a block or a target of a security block? */
bool security_number_used(const struct security_bundle *b, uint64_t number);
/* The lowest unused number above 1. */
uint64_t security_free_number(const struct security_bundle *b);

/* security_context.c: functions of both source and acceptor */

/* Is it the type of a BIB or BCB? */
bool security_is_block(uint64_t type);
/* Is it a variant of BCB-AES-GCM? */
bool security_is_cipher(enum security_variant v);
/* The index of the block of that type which has `number` as a target; b->len: none. */
size_t security_targeting(const struct security_bundle *b, uint64_t type, uint64_t number);

/* Additional authenticated data beside the target's bytes: scope flags, primary block, two block
 * headers. An EID of the primary block has up to 300 bytes; a BIB of the primary block also covers
 * that block. */
enum { SECURITY_HEADERS_MAX = 1200 };
struct security_headers {
    uint8_t bytes[SECURITY_HEADERS_MAX];
    size_t len;
};
/* RFC 9173 §3.7 and §4.7.2. target: NULL for the primary block. */
void security_put_headers(struct security_headers *h, const struct security_bundle *b,
                          uint64_t scope, const struct bundle_block *target,
                          const struct bundle_block *security);
/* The verdict for the failure of the last crypto function: SECURITY_NO_TOKEN, or `otherwise`. */
enum security_verdict security_crypto_failed(const struct crypto *c,
                                             enum security_verdict otherwise);
/* Computes the MAC over a target (NULL: the primary block). False: the crypto function failed. */
bool security_make_mac(const struct security_bundle *b, const struct security_block *s,
                       const struct bundle_block *target, const struct bundle_block *security,
                       struct slice key, const struct crypto *crypto, uint8_t *out);

/* Length of a variant's MAC, and of the key that is made for it, bytes. */
size_t security_mac_bytes(enum security_variant v);
size_t security_key_bytes(enum security_variant v);
/* An HMAC key may have any length (RFC 2104): RFC 9173's own examples have 16 bytes. */
bool security_key_fits(enum security_variant v, size_t len);
/* May a key of that length encrypt keys (RFC 3394)? */
bool security_wraps(size_t len);
/* The key that an operation uses: the given one, or the block's, unwrapped by it into `room`. */
bool security_find_key(const struct security_block *s, struct slice given,
                       const struct crypto *crypto, uint8_t room[SECURITY_WRAPPED_MAX],
                       struct slice *out);

#endif
