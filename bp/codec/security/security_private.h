/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/security_*.c. */
#ifndef BP_SECURITY_PRIVATE_H
#define BP_SECURITY_PRIVATE_H

#include "bp/codec/cbor.h"
#include "bp/codec/security/cose_key.h"
#include "bp/codec/security/security_cose.h"

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
/* Makes room for n more bytes behind the content of a block, which may be moved, and returns it
 * writable; its length stays. NULL: no room or no memory; *b is then unchanged. */
uint8_t *security_extend(struct security_bundle *b, struct bundle_block *block, size_t n);
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

/* security_accept.c */

/* The security block of an operation, parsed; SECURITY_OK, or why it cannot be used. */
enum security_verdict security_read_operation(const struct security_bundle *b,
                                              struct security_operation op, uint64_t type,
                                              struct security_block *out);
/* The index of the target; b->len with SECURITY_OK: the primary block. */
enum security_verdict security_find_target(const struct security_bundle *b, uint64_t number,
                                           size_t *at);
/* Removes one target from a security block; with the last one the block. */
enum security_verdict security_remove_operation(struct security_bundle *b,
                                                struct security_operation op,
                                                struct security_block *s);

/* security_cose_block.c: parameters and results of the context COSE. NULL, or what is wrong. */

const char *security_cose_read_parameter(struct item_reader *r, uint64_t id,
                                         struct security_block *out);
const char *security_cose_read_result(struct item_reader *r, uint64_t type, size_t target,
                                      struct security_block *out);
/* After the parameters: sets the default AAD scope if there is none, and `scope` by the scope. */
void security_cose_settle(struct security_block *out);
void security_cose_write_parameters(struct writer *w, const struct security_block *s);
/* Writes the map in the order of deterministic encoding (RFC 8949 §4.2.1). */
void security_cose_write_aad_scope(struct writer *w, const struct security_aad_scope *a);
/* The scope of a source by enum security_scope. */
struct security_aad_scope security_cose_scope_of(uint64_t scope);

/* security_cose.c: what source and acceptor share */

enum { COSE_PARTS_BYTES = 3072, COSE_PARTS_MAX = 4 * SECURITY_AAD_MAX + 12 };
/* An authenticated structure of RFC 9052 (§4.4, §5.3, §6.3) as the concatenation of its parts. */
struct cose_parts {
    uint8_t bytes[COSE_PARTS_BYTES];
    struct writer w;
    const uint8_t *from; /* of the bytes that are in no part yet */
    struct slice at[COSE_PARTS_MAX];
    size_t len;
};
/* `signer`: NULL, or the layer of a COSE_Sign message's signature. target: NULL for the primary
 * block. False: the AAD cannot be built, because a block is missing or a key is unknown. */
bool security_cose_parts(struct cose_parts *p, const struct security_bundle *b,
                         const struct security_block *s, const struct bundle_block *target,
                         const struct bundle_block *security, enum cose_id id,
                         struct slice protected_map, const struct cose_layer *signer);
/* The parts in one piece, owned by the caller. NULL: no memory. */
struct buf *security_cose_join(const struct cose_parts *p);
/* The scheme of a signature algorithm; false: it is none that is implemented. */
bool security_cose_scheme(int64_t alg, struct crypto_scheme *out);
/* Bytes of a content algorithm's key: HMAC, AES-GCM; 0: another algorithm. */
size_t security_cose_key_bytes(int64_t alg);

/* security_cose_recipient.c: how a recipient gets the content key (RFC 9053 §6, RFC 8230 §3) */

enum cose_means {
    COSE_WRAPS,        /* a shared key encrypts it */
    COSE_DERIVES,      /* it is derived from a shared key */
    COSE_AGREES,       /* it, or the key that encrypts it, is derived by Diffie-Hellman */
    COSE_ENCAPSULATES, /* RSA encrypts it */
};
struct cose_recipient {
    enum cose_means means;
    int64_t wrap;   /* the algorithm that encrypts the content key; 0: none */
    unsigned bits;  /* of the hash */
    bool is_static; /* Diffie-Hellman: the sender's key is also a long-term key */
};
/* NULL: it is no algorithm of recipients, or `direct`. */
const struct cose_recipient *security_cose_recipient(int64_t alg);
/* Does it need a secret of the sender? A MAC by another one proves nothing: everybody has the
 * recipient's public key. */
bool security_cose_proves_source(const struct cose_recipient *r);
/* Bytes of a key of AES key wrap; 0: another algorithm. */
size_t security_cose_wrap_bytes(int64_t alg);

/* What a key is derived from. */
struct cose_kdf {
    unsigned bits; /* of the hash */
    int64_t alg;   /* that will use the key */
    size_t len;    /* of the key, bytes */
    struct slice protected_map, salt, secret;
};
/* HKDF (RFC 5869) with the KDF context of §2.4.2. */
bool security_cose_derive(const struct security_block *s, const struct cose_kdf *k,
                          const struct crypto *crypto, uint8_t out[SECURITY_KEY_MAX]);
/* By Diffie-Hellman: the content key, or with r->wrap the key that encrypts it. Sets k's bits and
 * secret, and with r->wrap alg and len. */
bool security_cose_agree(const struct security_block *s, const struct cose_recipient *r,
                         struct cose_kdf k, enum crypto_lasting lasting, struct slice private_key,
                         struct slice public_key, const struct crypto *crypto,
                         uint8_t out[SECURITY_KEY_MAX]);

/* security_cose_source.c */

/* Signs or encrypts one target, and writes its message. */
enum security_verdict security_cose_protect(struct security_bundle *b,
                                            const struct security_request *r,
                                            const struct security_block *s, uint64_t target,
                                            const struct bundle_block *security,
                                            const struct crypto *crypto, struct writer *out);
/* The id of the messages that the key makes in a block of this type. */
enum cose_id security_cose_id(const struct security_cose_key *key, uint64_t type);
/* Bytes of a message at most. */
size_t security_cose_message_max(const struct security_cose_key *key);

#endif
