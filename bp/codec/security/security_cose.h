/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security context COSE (draft-ietf-dtn-bpsec-cose-17) for bundle security: signatures with
 * public keys, MACs and encryption, in COSE messages (cose.h). The security source uses
 * security_sign and security_encrypt with request.cose.
 *
 * | algorithm | block | message |
 * |---|---|---|
 * | ES256, ES384, ES512, EdDSA; ESP256, ESP384, ESP512, Ed25519 | BIB | COSE_Sign1 |
 * | PS256, PS384, PS512 (RSA) | BIB | COSE_Sign1 |
 * | HMAC with SHA-256, 384, 512 | BIB | COSE_Mac0 |
 * | AES-GCM, 128 and 256 bits | BCB | COSE_Encrypt0 |
 * | AES key wrap, direct+HKDF-SHA-512 | both | COSE_Mac, COSE_Encrypt with one recipient |
 * | ECDH-SS, with HKDF or AES key wrap | both | the same |
 * | ECDH-ES, with HKDF or AES key wrap; RSAES-OAEP | BCB | COSE_Encrypt with one recipient |
 *
 * Verifiers and acceptors also read COSE_Sign, recipients "direct", and messages of up to
 * COSE_LAYERS_MAX signatures or recipients: the one that the key identifies is used. A MAC by
 * ECDH-ES or RSAES-OAEP is refused: everybody can make one. Not implemented: ML-DSA, OCSP.
 */
#ifndef BP_SECURITY_COSE_H
#define BP_SECURITY_COSE_H

#include "bp/codec/security/security.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a source names its key to verifiers (§3.5). */
enum security_identify {
    SECURITY_BY_KID,
    SECURITY_BY_X5T,     /* the thumbprint (SHA-256) of the certificate */
    SECURITY_BY_X5CHAIN, /* the certificates, in the additional protected headers */
};

/* A key; all slices are views. */
struct security_cose_key {
    /* enum cose_algorithm. ES256 and ESP256 (and so on) are the same for a verifier. 0: trust
     * anchors. */
    int64_t alg;
    struct slice kid;        /* key identifier; empty: none */
    struct slice secret;     /* symmetric key; own private key (base/crypto.h) */
    struct slice public_key; /* of the other end; of a verifier with certificates it may be empty */
    struct slice static_kid; /* ECDH-SS: identifier of the sender's key; empty: none */
    struct slice base_iv;    /* for messages with a Partial IV; empty: none */
    /* The signer's certificate and those above it; or trust anchors (alg 0). */
    struct slice certificates[COSE_CHAIN_MAX];
    size_t certificates_len;
    struct slice revoked[COSE_CHAIN_MAX]; /* revocation lists of trust anchors */
    size_t revoked_len;
    enum security_identify identify;
    /* of a source, for known-answer tests; empty: made, or absent */
    struct slice partial_iv, salt, added_protected;
    struct slice ephemeral; /* private key */
};

/*
 * Verifies one operation of a BIB. *b is unchanged. A signature by a certificate is verified only
 * if the certificate is valid at the bundle's creation time (at dtn_ms, the present, if the source
 * has no clock), for bundle security, and names the security source's node (§2.5.1, §4).
 *
 * Returns SECURITY_BAD_KEY if the message is not for this key: another identifier or algorithm.
 * SECURITY_UNKNOWN: an algorithm or a critical header that is not implemented.
 * SECURITY_NOT_TRUSTED: the certificate was refused.
 */
enum security_verdict security_cose_verify(const struct security_bundle *b,
                                           struct security_operation op,
                                           const struct security_cose_key *key, uint64_t dtn_ms,
                                           const struct crypto *crypto);

/* Decrypts one target of a BCB in place and removes the operation, like security_decrypt. */
enum security_verdict security_cose_decrypt(struct security_bundle *b, struct security_operation op,
                                            const struct security_cose_key *key,
                                            const struct crypto *crypto);

#ifdef __cplusplus
}
#endif

#endif
