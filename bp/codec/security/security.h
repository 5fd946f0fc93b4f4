/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle security (BPSec): security blocks (RFC 9172) and the two security contexts of RFC 9173,
 * BIB-HMAC-SHA2 for integrity and BCB-AES-GCM for confidentiality. security_cose.h has the third
 * context, COSE, for both.
 *
 * Example: a node signs the payload of an encoded bundle, and another node verifies it.
 *
 *     security_bundle_read(bytes, &b);            struct security_operation op = {...};
 *     security_sign(&b, &request, &crypto);       security_bundle_read(received, &b);
 *     sent = security_bundle_write(&b);           verdict = security_verify(&b, &op, key, &crypto);
 *
 * The code is pure: the caller passes the cryptography as a table of functions. The code keeps no
 * keys.
 */
#ifndef BP_SECURITY_H
#define BP_SECURITY_H

#include "base/crypto.h"
#include "bp/codec/bundle.h"
#include "bp/codec/security/cose.h"

#ifdef __cplusplus
extern "C" {
#endif

enum security_block_type { SECURITY_BIB = 11, SECURITY_BCB = 12 }; /* RFC 9172 §11.1 */
enum security_context {
    SECURITY_BIB_HMAC_SHA2 = 1, /* RFC 9173 §5.1 */
    SECURITY_BCB_AES_GCM = 2,
    SECURITY_COSE = 3, /* draft-ietf-dtn-bpsec-cose-17 §2 */
};

/* RFC 9173 §3.3.1 (SHA variants) and §4.3.2 (AES variants) */
enum security_variant {
    SECURITY_AES_128 = 1,
    SECURITY_AES_256 = 3,
    SECURITY_HMAC_256 = 5,
    SECURITY_HMAC_384 = 6,
    SECURITY_HMAC_512 = 7,
};
/* Additional authenticated data (§3.3.3, §4.3.4); reserved bits are ignored. */
enum security_scope {
    SECURITY_SCOPE_PRIMARY = 1,  /* the primary block */
    SECURITY_SCOPE_TARGET = 2,   /* type, number and flags of the target */
    SECURITY_SCOPE_SECURITY = 4, /* type, number and flags of the security block */
    SECURITY_SCOPE_ALL = 7,
};

/* blocks of a bundle; security is not applied to bundles with more */
#define SECURITY_BLOCKS_MAX 64
#define SECURITY_TARGETS_MAX 16 /* targets of one security block */
#define SECURITY_IV_MAX 16      /* bytes; RFC 9173 §4.3.1: 8 to 16, and 12 is recommended */
#define SECURITY_IV 12          /* bytes of IVs that this node makes */
#define SECURITY_KEY_MAX 64     /* bytes of a key */
#define SECURITY_WRAPPED_MAX (SECURITY_KEY_MAX + 8)
#define SECURITY_MADE_MAX 16384 /* bytes of all security blocks that are added to one bundle */

/* The AAD scope of a COSE block (draft-ietf-dtn-bpsec-cose-17 §2.2.2): what is authenticated beside
 * the target. In the order of the authenticated data: block numbers rising, then -1 and -2. */
#define SECURITY_AAD_MAX 16
/* Keys of a scope that are no block number: the target, the security block. */
enum security_aad_key { SECURITY_AAD_TARGET = -1, SECURITY_AAD_SECURITY = -2 };
/* Which part of a block is authenticated: its metadata, its content. */
enum security_aad_flag { SECURITY_AAD_METADATA = 1, SECURITY_AAD_CONTENT = 2 };
struct security_aad_scope {
    struct {
        int64_t key;    /* block number, or enum security_aad_key */
        uint64_t flags; /* enum security_aad_flag; other bits are ignored, but authenticated */
    } at[SECURITY_AAD_MAX];
    size_t len;
};

/* The content of a security block (RFC 9172 §3.6). Slices are views of the parsed bytes. */
struct security_block {
    uint64_t targets[SECURITY_TARGETS_MAX]; /* block numbers */
    size_t targets_len;                     /* at least 1 */
    int64_t context; /* enum security_context; other contexts are not parsed */
    bool known;      /* the context is one of the three, and all following fields were read */
    struct eid source;
    bool has_parameters;
    bool has_variant, has_scope;                /* were they present? */
    enum security_variant variant;              /* or the default of RFC 9173, if absent */
    uint64_t scope;                             /* enum security_scope */
    struct slice wrapped_key, iv;               /* empty: none */
    struct slice results[SECURITY_TARGETS_MAX]; /* MAC or tag of each target; empty: none */
    /* The context COSE alone. `results` are its encoded messages; `scope` has the bits that `aad`
     * implies. */
    uint64_t ids[SECURITY_TARGETS_MAX];              /* of each result: enum cose_id */
    struct slice added_protected, added_unprotected; /* encoded maps; data NULL: absent */
    struct security_aad_scope aad;
};

/* Parses the block-type-specific data of a block of this type. Returns NULL, or the reason of the
 * failure (static): the block is malformed, or has more than SECURITY_TARGETS_MAX targets. */
const char *security_block_parse(uint64_t type, struct slice data, struct security_block *out);

/* A bundle as a list of its blocks. Encryption and decryption change the bytes of a block in
 * place. */
struct security_bundle {
    struct bundle primary; /* fields of the primary block; the other fields are not used */
    struct bundle_block at[SECURITY_BLOCKS_MAX]; /* as received; the payload is the last */
    size_t len;
    struct buf *bytes; /* the bytes of the views; this struct has the only reference */
    size_t made_len;
    uint8_t made[SECURITY_MADE_MAX]; /* contents of added blocks */
};

/* Reads a bundle. It takes the caller's only reference to `bytes`, also on failure. Returns 0;
 * HELIO_EFORMAT: malformed; HELIO_ESPACE: more than SECURITY_BLOCKS_MAX blocks; HELIO_ENOMEM. After
 * 0 the caller must call security_bundle_fini. `findings` may be NULL. */
int security_bundle_read(struct buf *bytes, struct security_bundle *out,
                         struct bundle_findings *findings);
/* security_bundle_read for bytes that were decoded before: CRCs are not computed. `bytes` may have
 * other readers if nothing is encrypted or decrypted. */
int security_bundle_view(struct buf *bytes, struct security_bundle *out);
/* Drops the view's reference to the bundle's bytes. */
void security_bundle_fini(struct security_bundle *b);
/* Encodes the bundle into a new buffer, owned by the caller. NULL: no memory. */
struct buf *security_bundle_write(const struct security_bundle *b);

/* The bytes of a buffer that security_bundle_place replaced. The payload is not among them. */
#define SECURITY_HEAD_MAX 1024 /* bytes before the payload, old and new */
#define SECURITY_TAIL_MAX 32   /* bytes after the payload: a CRC, or a tag */
struct security_undo {
    bool placed;
    size_t off, len;           /* of the buffer's data */
    size_t head_len, tail_len; /* original bytes before and after the payload */
    uint8_t head[SECURITY_HEAD_MAX], tail[SECURITY_TAIL_MAX];
};
/* Writes the bundle around its payload in b->bytes. The payload is not moved or copied. These bytes
 * must have no other reader. False: no room, or one of the limits above is exceeded; nothing is
 * changed and undo->placed is false. After true, *b may only be passed to security_bundle_fini. */
bool security_bundle_place(struct security_bundle *b, struct security_undo *undo);
/* Restores the original bytes of the buffer. The payload must be unchanged since. */
void security_bundle_undo(struct buf *bytes, const struct security_undo *undo);

struct security_cose_key; /* security_cose.h */

/* Parameters of a security source. */
struct security_request {
    uint64_t targets[SECURITY_TARGETS_MAX]; /* block numbers; 0: the primary block */
    size_t targets_len;
    enum security_variant variant;
    uint64_t scope;               /* enum security_scope */
    struct eid source;            /* security source: this node */
    struct slice key;             /* the key; with `wrap`, the key-encryption key */
    bool wrap;                    /* make a key for this block and transmit it wrapped by `key` */
    struct slice content_key, iv; /* for known-answer tests; empty: random */
    /* Makes IVs when `iv` is empty. False: none is left. NULL: IVs are random. */
    bool (*next_iv)(void *self, uint8_t iv[SECURITY_IV]);
    void *iv_self;
    uint64_t number; /* of the security block; 0: the lowest free one */
    /* NULL, or the context COSE with this key; then variant, key and wrap are not used. A BCB has
     * one target. */
    const struct security_cose_key *cose;
    const struct security_aad_scope *aad; /* COSE: instead of `scope`; NULL: by `scope` */
};

/* Outcome of a security operation, at its source, a verifier or an acceptor. */
enum security_verdict {
    SECURITY_OK,
    SECURITY_MALFORMED,   /* the security block cannot be parsed */
    SECURITY_UNKNOWN,     /* unknown security context */
    SECURITY_NO_TARGET,   /* no block has the target's number */
    SECURITY_ENCRYPTED,   /* the security block, or the target, is itself encrypted */
    SECURITY_CONFLICT,    /* RFC 9172 §3.9 or §5.2 forbids the operation on this target */
    SECURITY_BAD_KEY,     /* wrong length for the variant, or unwrapping failed */
    SECURITY_WRONG,       /* the MAC or tag does not match: wrong key, or altered bytes */
    SECURITY_NO_ROOM,     /* more blocks or bytes than SECURITY_*_MAX */
    SECURITY_NO_CRYPTO,   /* the table's function failed, or there is no memory */
    SECURITY_NO_TOKEN,    /* the token with the key does not respond */
    SECURITY_NOT_TRUSTED, /* COSE: the signer's certificate was refused */
};
/* Text of a verdict; static. */
const char *security_verdict_text(enum security_verdict v);

/*
 * Adds a block integrity block over the targets (RFC 9173 §3.8.1). The CRC of a target is removed
 * first, as that section requires. On failure *b is unchanged.
 *
 * Returns SECURITY_CONFLICT for: targets that are security blocks, are encrypted, or have a BIB;
 * bundles with a security block that cannot be parsed; fragments; a primary block with a CRC that
 * another operation covers, because that CRC would be removed.
 */
enum security_verdict security_sign(struct security_bundle *b, const struct security_request *r,
                                    const struct crypto *crypto);

/*
 * Encrypts the targets in place and adds a block confidentiality block (RFC 9173 §4.8.1).
 *
 * Forbidden are: the primary block; another BCB; a BIB none of whose targets is encrypted or
 * requested (RFC 9172 §3.8); a target that is already encrypted; fragments; and a target whose BIB
 * is not encrypted, unless this request has the BIB and all of its targets (RFC 9172 §3.9: results
 * of other targets would have to move to another BIB).
 *
 * One IV serves all targets of a block. That reuses an IV, so a request with several targets is
 * refused unless it gives the IV. On failure *b is unchanged, except after SECURITY_NO_CRYPTO and
 * SECURITY_NO_TOKEN: if the table's `seal` failed, the bytes of that target are undefined.
 */
enum security_verdict security_encrypt(struct security_bundle *b, const struct security_request *r,
                                       const struct crypto *crypto);

/*
 * security_encrypt with a separate block, and so a separate IV, for each target and for the BIB of
 * each target. r->iv must be empty and r->number 0. *failed is the target of the verdict. Unless
 * the verdict is SECURITY_OK some targets may be encrypted: the caller must drop the bundle.
 */
enum security_verdict security_encrypt_each(struct security_bundle *b,
                                            const struct security_request *r,
                                            const struct crypto *crypto, uint64_t *failed);

/* One security operation of a bundle (RFC 9172 §3.2): a security block and one of its targets. */
struct security_operation {
    size_t block;  /* index in b->at */
    size_t target; /* index in its targets */
};

/* Verifies one operation of a BIB. *b is unchanged. */
enum security_verdict security_verify(const struct security_bundle *b, struct security_operation op,
                                      struct slice key, const struct crypto *crypto);

/* Decrypts one target of a BCB in place and removes the operation. The block is removed with its
 * last target. Then the indexes of later blocks change. With any verdict other than SECURITY_OK *b
 * is unchanged: after SECURITY_WRONG the bytes are those received. */
enum security_verdict security_decrypt(struct security_bundle *b, struct security_operation op,
                                       struct slice key, const struct crypto *crypto);

/* Removes one operation of a BIB, as an acceptor does after verification (RFC 9172 §5.1.2). The
 * block is removed with its last target. Returns SECURITY_OK, SECURITY_MALFORMED or
 * SECURITY_UNKNOWN. */
enum security_verdict security_strip(struct security_bundle *b, struct security_operation op);

/* Is block `number` a target of any BCB? */
bool security_is_encrypted(const struct security_bundle *b, uint64_t number);

#ifdef __cplusplus
}
#endif

#endif
