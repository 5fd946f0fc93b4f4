/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COSE_Key (RFC 9052 §7): a key as a CBOR map.
 *
 *     {1: 2, 2: 'uplink', 3: -51, -1: 2, -2: h'0057…', -3: h'4b72…'}    a public key on P-384
 *
 * Keys of curves (RFC 9053 §7.1), RSA (RFC 8230 §4) and symmetric keys (RFC 9053 §7.2) are read.
 * Nothing is copied or allocated: slices are views of the parsed bytes.
 */
#ifndef BP_COSE_KEY_H
#define BP_COSE_KEY_H

#include "base/crypto.h"
#include "base/cursor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* IANA's registry of COSE key types */
enum cose_key_type { COSE_OKP = 1, COSE_EC2 = 2, COSE_RSA = 3, COSE_SYMMETRIC = 4 };
/* and of key operations: RFC 9052 table 5 */
enum cose_key_operation {
    COSE_MAY_SIGN = 1,
    COSE_MAY_VERIFY = 2,
    COSE_MAY_ENCRYPT = 3,
    COSE_MAY_DECRYPT = 4,
    COSE_MAY_WRAP = 5,
    COSE_MAY_UNWRAP = 6,
    COSE_MAY_DERIVE = 7,
    COSE_MAY_DERIVE_BITS = 8,
    COSE_MAY_MAC = 9,
    COSE_MAY_VERIFY_MAC = 10,
};
/* Numbers of an RSA key, in the order of their labels and of RFC 8017 appendix A.1.2 */
enum { COSE_RSA_NUMBERS = 8 };

struct cose_key {
    enum cose_key_type type;
    bool has_alg;
    int64_t alg; /* 0: a name, or a reserved number */
    struct slice kid, base_iv;
    bool has_operations;
    uint32_t operations;       /* bit i: operation i of enum cose_key_operation */
    enum crypto_family family; /* of public keys */
    struct slice x, y;         /* EC2: y is absent if the point is compressed; OKP: x alone */
    bool y_odd;                /* of a compressed point */
    struct slice secret;       /* symmetric: k; EC2 and OKP: d; absent: a public key */
    struct slice rsa[COSE_RSA_NUMBERS]; /* n, e; of a private key also d, p, q, dP, dQ, qInv */
};

/* Parses one encoded COSE_Key. Returns NULL, or the reason of the failure (static): malformed
 * items; a parameter that is there twice; a type, curve or length that is not implemented. */
const char *cose_key_parse(struct slice map, struct cose_key *out);
/* Is the private part of the key there? */
bool cose_key_is_private(const struct cose_key *k);
/* Writes the public key, which is there, as SubjectPublicKeyInfo (RFC 5280). Sets w->bad if there
 * is no room. */
void cose_key_write_public(const struct cose_key *k, struct writer *w);
/* Writes the private key as PKCS #8, of RSA as RSAPrivateKey (RFC 8017). The key has that part. */
void cose_key_write_private(const struct cose_key *k, struct writer *w);
/* Bytes of a coordinate or number of a curve; 0: RSA. */
size_t cose_curve_bytes(enum crypto_family family);
/* Writes the public key of a curve as COSE_Key. public_key: SubjectPublicKeyInfo, not compressed.
 * False: no room, or the key has another length. */
bool cose_key_put(struct writer *w, enum crypto_family family, struct slice public_key);
/* Bytes that this needs at most. */
#define COSE_KEY_PUBLIC_MAX 150
/* Is it the public key `public_key`, a SubjectPublicKeyInfo, not compressed? */
bool cose_key_is_of(const struct cose_key *k, struct slice public_key);

#ifdef __cplusplus
}
#endif

#endif
