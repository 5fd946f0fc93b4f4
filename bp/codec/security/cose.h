/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COSE messages (RFC 9052, 9053, 9360) in the form that bundle security uses
 * (draft-ietf-dtn-bpsec-cose-17 §2.3): without a CBOR tag, and with a detached payload.
 *
 *     [protected: h'a10106', {4: 'uplink'}, null, h'ec82…']      COSE_Mac0, HMAC 384/384
 *
 * A message has one layer, or a second one of signatures or recipients. Nothing is copied or
 * allocated: slices are views of the parsed bytes.
 */
#ifndef BP_COSE_H
#define BP_COSE_H

#include <stdbool.h>

#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CBOR tags of RFC 9052 §2; in a security block they are result ids. */
enum cose_id {
    COSE_ENCRYPT0 = 16,
    COSE_MAC0 = 17,
    COSE_SIGN1 = 18,
    COSE_ENCRYPT = 96,
    COSE_MAC = 97,
    COSE_SIGN = 98,
};

/* IANA's registry of COSE algorithms: those that are implemented */
enum cose_algorithm {
    COSE_A128GCM = 1,
    COSE_A256GCM = 3,
    COSE_HMAC_256 = 5,
    COSE_HMAC_384 = 6,
    COSE_HMAC_512 = 7,
    COSE_A128KW = -3,
    COSE_A256KW = -5,
    COSE_DIRECT = -6,
    COSE_ES256 = -7,
    COSE_EDDSA = -8,
    COSE_ESP256 = -9,
    COSE_HKDF_512 = -11, /* direct+HKDF-SHA-512 */
    COSE_SHA_256_64 = -15,
    COSE_SHA_256 = -16,
    COSE_SHA_512_256 = -17,
    COSE_ED25519 = -19,
    COSE_ES384 = -35,
    COSE_ES512 = -36,
    COSE_SHA_384 = -43,
    COSE_SHA_512 = -44,
    COSE_ESP384 = -51,
    COSE_ESP512 = -52,
    COSE_ECDH_ES_HKDF_256 = -25, /* ephemeral-static: the recipient derives the content key */
    COSE_ECDH_ES_HKDF_512 = -26,
    COSE_ECDH_SS_HKDF_256 = -27, /* static-static: the sender has a long-term key, too */
    COSE_ECDH_SS_HKDF_512 = -28,
    COSE_ECDH_ES_A128KW = -29, /* the derived key unwraps the content key */
    COSE_ECDH_ES_A256KW = -31,
    COSE_ECDH_SS_A128KW = -32,
    COSE_ECDH_SS_A256KW = -34,
    COSE_PS256 = -37,
    COSE_PS384 = -38,
    COSE_PS512 = -39,
    COSE_OAEP_256 = -41, /* RSAES-OAEP with SHA-256 */
    COSE_OAEP_512 = -42,
};

#define COSE_LAYERS_MAX 16 /* signatures or recipients of a message; the profile wants 10 */
#define COSE_LABELS_MAX 16 /* header parameters of a layer */
#define COSE_CHAIN_MAX 4   /* certificates of an x5chain or x5bag */
#define COSE_LEVELS_MAX 4  /* arrays, maps and tags within each other in a header parameter */

/* Header parameters of a layer, of both maps. A slice whose data is NULL: absent. */
struct cose_headers {
    bool has_alg;
    int64_t alg;
    struct slice kid, iv, partial_iv, salt;
    int64_t x5t_alg;
    struct slice x5t;                   /* thumbprint of the end-entity certificate */
    struct slice chain[COSE_CHAIN_MAX]; /* x5chain, DER; the end-entity certificate is the first */
    size_t chain_len;
    struct slice bag[COSE_CHAIN_MAX]; /* x5bag: certificates in any order */
    size_t bag_len;
    struct slice ephemeral_key, static_key; /* COSE_Key maps of the sender, not parsed */
    struct slice static_kid;                /* identifier of the sender's static key */
    bool critical;                          /* `crit` demands a parameter that is not implemented */
    int64_t labels[COSE_LABELS_MAX];
    size_t labels_len;
};

struct cose_layer {
    struct slice protected_map; /* as authenticated: empty for an empty map (RFC 9052 §4.4) */
    bool alg_protected;
    struct cose_headers headers;
    struct slice value; /* MAC, signature, or a recipient's encrypted key */
};

struct cose_message {
    enum cose_id id;
    struct cose_layer body;
    struct cose_layer at[COSE_LAYERS_MAX]; /* signatures or recipients */
    size_t len;                            /* 0 for the messages of one layer */
};

/*
 * Parses a message. added_protected and added_unprotected are the additional header maps of the
 * security block (§2.2.1), each the encoded map or empty: their parameters become those of the last
 * layers that do not have them. Returns NULL, or the reason of the failure (static): malformed
 * items; a label that is twice in a layer; both IV and Partial IV; a header of the KDF context,
 * which §3.3 forbids; no protected algorithm in the first layer; more than two layers; one of the
 * limits above exceeded.
 */
const char *cose_message_parse(uint64_t id, struct slice message, struct slice added_protected,
                               struct slice added_unprotected, struct cose_message *out);

/* Is it the id of a message for block integrity blocks (§2.3.1)? */
bool cose_id_is_integrity(uint64_t id);
/* Is it the id of a message for block confidentiality blocks? */
bool cose_id_is_cipher(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
