/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle security (BPSec): security blocks (RFC 9172) and the two security contexts of RFC 9173,
 * BIB-HMAC-SHA2 for integrity and BCB-AES-GCM for confidentiality.
 *
 * Example: a node signs the payload of a bundle that it has as bytes, and another one verifies it.
 *
 *     security_bundle_read(bytes, &b);            struct security_operation op = {...};
 *     security_sign(&b, &request, &crypto);       security_bundle_read(received, &b);
 *     sent = security_bundle_write(&b);           verdict = security_verify(&b, &op, key, &crypto);
 *
 * The code is pure: the cryptography comes in as a table of functions. It holds no keys.
 */
#ifndef BP_SECURITY_H
#define BP_SECURITY_H

#include "base/crypto.h"
#include "bp/codec/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

enum security_block_type { SECURITY_BIB = 11, SECURITY_BCB = 12 }; /* RFC 9172 §11.1 */
enum security_context { SECURITY_BIB_HMAC_SHA2 = 1, SECURITY_BCB_AES_GCM = 2 }; /* RFC 9173 §5.1 */

/* RFC 9173 §3.3.1 (SHA variants) and §4.3.2 (AES variants) */
enum security_variant {
    SECURITY_AES_128 = 1,
    SECURITY_AES_256 = 3,
    SECURITY_HMAC_256 = 5,
    SECURITY_HMAC_384 = 6,
    SECURITY_HMAC_512 = 7,
};
/* What is authenticated beside the target's data (§3.3.3, §4.3.4); reserved bits are ignored. */
enum security_scope {
    SECURITY_SCOPE_PRIMARY = 1,  /* the primary block */
    SECURITY_SCOPE_TARGET = 2,   /* type, number and flags of the target */
    SECURITY_SCOPE_SECURITY = 4, /* type, number and flags of the security block */
    SECURITY_SCOPE_ALL = 7,
};

#define SECURITY_BLOCKS_MAX 64  /* blocks of a bundle that security can be applied to */
#define SECURITY_TARGETS_MAX 16 /* targets of one security block */
#define SECURITY_IV_MAX 16      /* bytes; RFC 9173 §4.3.1: 8 to 16, and 12 is recommended */
#define SECURITY_IV 12          /* bytes of those made here */
#define SECURITY_KEY_MAX 64     /* bytes of a key */
#define SECURITY_WRAPPED_MAX (SECURITY_KEY_MAX + 8)
#define SECURITY_MADE_MAX 8192 /* bytes of all security blocks that are added to one bundle */

/* The content of a security block (RFC 9172 §3.6). Slices are views of the parsed bytes. */
struct security_block {
    uint64_t targets[SECURITY_TARGETS_MAX]; /* block numbers */
    size_t targets_len;                     /* at least 1 */
    int64_t context;                        /* enum security_context; others are not read */
    bool known; /* the context is one of the two, and all below was read */
    struct eid source;
    bool has_parameters;
    bool has_variant, has_scope;   /* were they written? */
    enum security_variant variant; /* the default of RFC 9173 where it was not written */
    uint64_t scope;                /* enum security_scope */
    struct slice wrapped_key, iv;  /* empty: none */
    struct slice results[SECURITY_TARGETS_MAX]; /* MAC or tag of each target; empty: none */
};

/* Parses the data of a block of that type. NULL, or what is wrong with it (static text; the block
 * is malformed, or has more than SECURITY_TARGETS_MAX targets). */
const char *security_block_parse(uint64_t type, struct slice data, struct security_block *out);

/* A bundle as a list of its blocks. It is edited in place: a cipher replaces the bytes of a block
 * where they are. */
struct security_bundle {
    struct bundle primary; /* fields of the primary block; the other fields are not used */
    struct bundle_block at[SECURITY_BLOCKS_MAX]; /* as they came; the payload is the last */
    size_t len;
    struct buf *bytes; /* what the views point into; this struct has its only reference */
    size_t made_len;
    uint8_t made[SECURITY_MADE_MAX]; /* contents of blocks that were added */
};

/* Reads a bundle and takes the caller's only reference to `bytes`, also on failure. Returns 0;
 * HELIO_EFORMAT: it is malformed; HELIO_ESPACE: it has more than SECURITY_BLOCKS_MAX blocks;
 * HELIO_ENOMEM. After 0 security_bundle_fini is owed. findings may be NULL. */
int security_bundle_read(struct buf *bytes, struct security_bundle *out,
                         struct bundle_findings *findings);
/* The same for bytes that were decoded before: check values are not computed. `bytes` may have
 * other readers as long as nothing is encrypted or decrypted. */
int security_bundle_view(struct buf *bytes, struct security_bundle *out);
void security_bundle_fini(struct security_bundle *b);
/* The bundle in a new buffer. NULL: no memory. */
struct buf *security_bundle_write(const struct security_bundle *b);

/* What security_bundle_place changed of a buffer. The payload is not part of it. */
#define SECURITY_HEAD_MAX 1024 /* bytes in front of the payload, before and after */
#define SECURITY_TAIL_MAX 32   /* bytes behind it: a check value, or a tag */
struct security_undo {
    bool placed;
    size_t off, len;           /* of the buffer's data */
    size_t head_len, tail_len; /* bytes that came in front of the payload, and behind it */
    uint8_t head[SECURITY_HEAD_MAX], tail[SECURITY_TAIL_MAX];
};
/* Writes the bundle around its payload, which stays in its place in b->bytes: long payloads are
 * not copied. Nobody else reads these bytes. False: there is no room, or one of the lengths above
 * is exceeded; nothing is changed, and undo->placed is false. After true b is only good for
 * security_bundle_fini. */
bool security_bundle_place(struct security_bundle *b, struct security_undo *undo);
/* The buffer has again what came. The payload was not changed meanwhile. */
void security_bundle_undo(struct buf *bytes, const struct security_undo *undo);

/* What a security source asks for. */
struct security_request {
    uint64_t targets[SECURITY_TARGETS_MAX]; /* block numbers; 0: the primary block */
    size_t targets_len;
    enum security_variant variant;
    uint64_t scope;               /* enum security_scope */
    struct eid source;            /* security source: this node */
    struct slice key;             /* the key, or with `wrap` the key that encrypts a new one */
    bool wrap;                    /* make a key for this block, and send it wrapped by `key` */
    struct slice content_key, iv; /* for known answers in tests; empty: random */
    /* Where IVs come from when `iv` is empty. False: there is none. NULL: they are random. */
    bool (*next_iv)(void *self, uint8_t iv[SECURITY_IV]);
    void *iv_self;
    uint64_t number; /* of the security block; 0: the lowest free one */
};

/* Outcome of a security operation, at its source, a verifier or an acceptor. */
enum security_verdict {
    SECURITY_OK,
    SECURITY_MALFORMED, /* the security block cannot be parsed */
    SECURITY_UNKNOWN,   /* of another security context */
    SECURITY_NO_TARGET, /* no block has the target's number */
    SECURITY_ENCRYPTED, /* the security block, or the target, is itself encrypted */
    SECURITY_CONFLICT,  /* RFC 9172 §3.9 or §5.2 forbids the operation on this target */
    SECURITY_BAD_KEY,   /* of another length than the variant needs, or not unwrapped by it */
    SECURITY_WRONG,     /* the MAC or the tag does not match: not the key, or altered bytes */
    SECURITY_NO_ROOM,   /* more blocks or bytes than SECURITY_*_MAX */
    SECURITY_NO_CRYPTO, /* the table's function failed, or there is no memory */
    SECURITY_NO_TOKEN,  /* the token that has the key does not answer */
};
/* Static text: what the verdict says. */
const char *security_verdict_text(enum security_verdict v);

/*
 * Adds a block integrity block over the targets (RFC 9173 §3.8.1). A CRC of a target is removed
 * first, as that section demands. Forbidden (SECURITY_CONFLICT): targets that are security blocks,
 * that are encrypted, or that have a BIB; bundles with a security block that cannot be parsed;
 * fragments; a primary block with a CRC that another
 * operation covers, since that CRC would be removed. On failure b is unchanged.
 */
enum security_verdict security_sign(struct security_bundle *b, const struct security_request *r,
                                    const struct crypto *crypto);

/*
 * Encrypts the targets in place and adds a block confidentiality block (RFC 9173 §4.8.1).
 * Forbidden: the primary block, another BCB, a BIB of which no target is encrypted or asked for
 * (RFC 9172 §3.8), a target that is already encrypted, a target whose BIB
 * is neither encrypted nor, with all of its targets, asked for in this request (RFC 9172 §3.9:
 * results of other targets would have to move to another BIB), and fragments. One IV serves
 * all targets of a block. That reuses an IV unless each target has a block of its own, so more than
 * one target is refused unless the request gives the IV. On failure b is unchanged, except after
 * SECURITY_NO_CRYPTO and SECURITY_NO_TOKEN: if the table's `seal` failed, the bytes of that target
 * are undefined.
 */
enum security_verdict security_encrypt(struct security_bundle *b, const struct security_request *r,
                                       const struct crypto *crypto);

/*
 * The same with a block, and so an IV, for each target and for the BIB of each target. r->iv is
 * empty and r->number 0. `failed`: the target that the verdict is about. If it is not SECURITY_OK,
 * some targets may be encrypted: the caller drops the bundle.
 */
enum security_verdict security_encrypt_each(struct security_bundle *b,
                                            const struct security_request *r,
                                            const struct crypto *crypto, uint64_t *failed);

/* One security operation of a bundle (RFC 9172 §3.2): a security block and one of its targets. */
struct security_operation {
    size_t block;  /* index in b->at */
    size_t target; /* index in its targets */
};

/* Verifies one operation of a BIB. b is unchanged. */
enum security_verdict security_verify(const struct security_bundle *b, struct security_operation op,
                                      struct slice key, const struct crypto *crypto);

/* Decrypts one target of a BCB in place and removes the operation, and with its last target the
 * block. With any other verdict than SECURITY_OK b is unchanged: after SECURITY_WRONG the bytes are
 * again those that came. Indexes of blocks behind a removed one change. */
enum security_verdict security_decrypt(struct security_bundle *b, struct security_operation op,
                                       struct slice key, const struct crypto *crypto);

/* Removes one operation of a BIB: what an acceptor does when it has verified it (RFC 9172 §5.1.2).
 * With its last target the block is removed. SECURITY_OK, SECURITY_MALFORMED, SECURITY_UNKNOWN. */
enum security_verdict security_strip(struct security_bundle *b, struct security_operation op);

/* Is the block number a target of any BCB? */
bool security_is_encrypted(const struct security_bundle *b, uint64_t number);

#ifdef __cplusplus
}
#endif

#endif
