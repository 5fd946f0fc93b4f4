/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of bundle security (RFC 9172): the key file format, and a key ring. Operations select keys
 * by id, peer and time. Two keys with the same id may be valid at once, so that a key can be
 * replaced without interruption: the security source uses the key that became valid last, and a
 * verifier tries all of them. The code is pure. The program that reads the files must keep the ring
 * out of swap and core dumps.
 *
 *     id: uplink                       # the name that rules use; 1 to 63 letters, digits, - _ .
 *     algorithm: hmac-sha-384          # or another of enum security_algorithm
 *     from: 2026-01-01T00:00:00Z       # valid from then (optional)
 *     until: 2027-01-01T00:00:00Z      # and until then, exclusive (optional)
 *     peers: ipn:2.*                   # the node at the other end (optional: any)
 *     uses: 4294967296                 # encryptions with this key at most (optional)
 *     key: 0f1e2d3c...                 # hexadecimal; or a key of a token (RFC 7512):
 *     key: pkcs11:token=ops;object=uplink?pin-source=.pin
 *
 * For the context COSE alone: hkdf-sha-512; keys of signatures (esp384 and so on); x509, the
 * certificates and revocation lists of trust anchors. Public and private keys and certificates
 * follow as PEM (RFC 7468) in place of `key`:
 *
 *     identify: x5chain                # how a source names its key: kid, x5t or x5chain
 *     kid: 4578616d706c65              # hexadecimal; the key identifier (optional: the id's text)
 *     base_iv: 6f3093eba5d8...         # hexadecimal; for messages with a Partial IV (optional)
 *     sender_kid: 53656e646572         # hexadecimal; ECDH-SS: of the sender's key (optional)
 *     -----BEGIN PRIVATE KEY-----
 *
 * `cose_key: a40102…` (hexadecimal) may be there in place of `key` or PEM: a COSE_Key (RFC 9052
 * §7). A file may also be a COSE_Key or COSE_KeySet in CBOR; its keys are named by their
 * identifiers (kid), and have no times and peers.
 */
#ifndef BP_SECURITY_KEY_H
#define BP_SECURITY_KEY_H

#include "bp/codec/security/security_cose.h"

#ifdef __cplusplus
extern "C" {
#endif

enum security_algorithm {
    SECURITY_KEY_HMAC_256,
    SECURITY_KEY_HMAC_384,
    SECURITY_KEY_HMAC_512,
    SECURITY_KEY_AES_128,
    SECURITY_KEY_AES_256,
    SECURITY_KEY_WRAP_128, /* encrypts a new key for each block (RFC 3394) */
    SECURITY_KEY_WRAP_256,
    SECURITY_KEY_HKDF_512, /* derives a new key for each block (direct+HKDF-SHA-512) */
    SECURITY_KEY_ES256,    /* signatures; their names are those of COSE */
    SECURITY_KEY_ES384,
    SECURITY_KEY_ES512,
    SECURITY_KEY_EDDSA,
    SECURITY_KEY_ESP256,
    SECURITY_KEY_ESP384,
    SECURITY_KEY_ESP512,
    SECURITY_KEY_ED25519,
    SECURITY_KEY_PS256, /* RSASSA-PSS */
    SECURITY_KEY_PS384,
    SECURITY_KEY_PS512,
    SECURITY_KEY_ES_HKDF_256, /* ECDH-ES: the other end's public key, or the own private one */
    SECURITY_KEY_ES_HKDF_512,
    SECURITY_KEY_ES_A128KW,
    SECURITY_KEY_ES_A256KW,
    SECURITY_KEY_SS_HKDF_256, /* ECDH-SS: the other end's public key and the own private one */
    SECURITY_KEY_SS_HKDF_512,
    SECURITY_KEY_SS_A128KW,
    SECURITY_KEY_SS_A256KW,
    SECURITY_KEY_OAEP_256, /* RSAES-OAEP */
    SECURITY_KEY_OAEP_512,
    SECURITY_KEY_X509, /* trust anchors: verify signatures whose certificates lead to them */
    SECURITY_KEY_ALGORITHMS
};
const char *security_algorithm_text(enum security_algorithm a); /* "hmac-sha-384"; static */
/* What a key of the algorithm can do, as bits. */
enum security_service {
    SECURITY_SERVES_BIB = 1, /* RFC 9173 */
    SECURITY_SERVES_BCB = 2,
    SECURITY_SERVES_COSE_BIB = 4,
    SECURITY_SERVES_COSE_BCB = 8,
};
/* The services of the algorithm, of enum security_service, or-ed. */
unsigned security_algorithm_services(enum security_algorithm a);
/* The service of a rule with this type of block and context. */
unsigned security_service_of(uint64_t type, bool cose);

#define SECURITY_KEY_ID 64      /* bytes of an id, with its zero */
#define SECURITY_KEY_FILE 16384 /* bytes of a key file at most */
#define SECURITY_KEY_DER 8192   /* bytes of its public and private keys and certificates */
#define SECURITY_KEY_URI 512    /* bytes of a key's URI, with its zero */
#define SECURITY_KEYS_MAX 64    /* keys of a ring */
#define SECURITY_KEY_TRIES 4    /* keys of one id that a verifier tries */
/* encryptions with one key, unless its file has a lower limit */
#define SECURITY_USES_MAX (1ull << 32)

struct security_der {
    uint16_t at, len; /* in `der`; len 0: none */
};

/* What a key may be used for; key_ops of a COSE_Key. */
enum security_key_use {
    SECURITY_USE_ANY,
    SECURITY_USE_SOURCE, /* to sign or encrypt only */
    SECURITY_USE_ACCEPTOR,
    SECURITY_USE_NONE,
};

struct security_key {
    char id[SECURITY_KEY_ID];
    enum security_algorithm algorithm;
    uint64_t from_ms, until_ms; /* DTN time (RFC 9171 §4.2.6); 0, UINT64_MAX: not limited */
    struct eid_patterns peers;  /* none: any peer */
    uint64_t uses_max;          /* encryptions */
    uint64_t uses;              /* encryptions so far; after a restart an upper bound */
    /* A key in a PKCS #11 token: its URI, and its line in the file. The module that opens the token
     * (os/crypto/token_keys.h) sets `secret` to a reference to the key; until then secret_len is 0.
     * Other keys: empty. */
    char uri[SECURITY_KEY_URI];
    unsigned uri_line;
    uint8_t secret[SECURITY_KEY_MAX];
    size_t secret_len;
    /* The context COSE */
    enum security_identify identify;
    enum security_key_use use;
    uint8_t kid[SECURITY_KEY_ID];
    size_t kid_len;
    uint8_t static_kid[SECURITY_KEY_ID]; /* sender_kid */
    size_t static_kid_len;
    uint8_t base_iv[SECURITY_IV];
    size_t base_iv_len;
    struct security_der private_key, public_key, certificates[COSE_CHAIN_MAX];
    struct security_der stated; /* the public key that a private COSE_Key says it has */
    size_t certificates_len;
    struct security_der revoked[COSE_CHAIN_MAX]; /* revocation lists of trust anchors */
    size_t revoked_len;
    uint8_t der[SECURITY_KEY_DER];
    size_t der_len;
};

/* Is it a valid id of a key? */
bool security_key_id_valid(const char *id);

/* Parses a key file of `len` bytes. Returns 0, or HELIO_EFORMAT with the reason in `why` ("line 3:
 * algorithm: …"; `cap` bytes) and *out wiped. The reason never contains a part of the secret. */
int security_key_parse(const char *text, size_t len, struct security_key *out, char *why,
                       size_t cap);

/* Is it a file of COSE_Keys (CBOR), and no text? */
bool security_key_is_cose(const char *text, size_t len);
/* Parses key i (from 0) of a COSE_Key or COSE_KeySet; *count: how many there are. Otherwise as
 * security_key_parse; the reason begins with "key 1 (kid …): ". */
int security_key_parse_cose(const char *text, size_t len, size_t i, size_t *count,
                            struct security_key *out, char *why, size_t cap);

/* After parsing: a private or public key is one of its algorithm, and belongs to its certificate;
 * the public key of a private one is added. HELIO_EFORMAT with the reason in `why`. */
int security_key_check(struct security_key *k, const struct crypto *crypto, char *why, size_t cap);

/* The key as the context COSE uses it: views of *k. False: it is none, or an HMAC key whose length
 * is not that of the MAC (draft-ietf-dtn-bpsec-cose-17 §3.2.2). */
bool security_key_cose(const struct security_key *k, struct security_cose_key *out);

/* Computes a number that differs for different secrets, to recognise a key after a restart. It is a
 * MAC by the key itself, so it does not disclose the key; for a key in a token, it is computed from
 * the URI. False: the library failed. */
bool security_key_mark(const struct security_key *k, const struct crypto *crypto, uint64_t *out);

/* The keys of a node, and its generator of initialization vectors (IVs). */
struct security_ring {
    struct security_key at[SECURITY_KEYS_MAX];
    size_t len;
    uint32_t sender; /* first 4 bytes of each IV; differs for each node with the same key */
    uint64_t iv_next, iv_end; /* last 8 bytes; [iv_next, iv_end) may be used */
    /* Reserves further IVs in [iv_next, iv_end), persistently: a value is never used twice, also
     * not after a restart. False: it failed. NULL: it always fails. */
    bool (*reserve)(void *self, struct security_ring *ring);
    void *self;
};

/* The node's part of the IVs: its number for ipn:NUMBER.0, else a hash. */
uint32_t security_sender_of(const struct eid *node);

/* Which key is needed? */
struct security_want {
    const char *id;
    uint64_t type;          /* SECURITY_BIB, SECURITY_BCB */
    bool cose;              /* for the context COSE */
    bool source;            /* to sign or encrypt; else to verify or decrypt */
    const struct eid *peer; /* the node at the other end */
    uint64_t dtn_ms;        /* 0: no clock; then only keys without times match */
};
/* Has the key this id, and are its algorithm, its parts and its use for this? */
bool security_key_serves(const struct security_key *k, const struct security_want *w);
/* The i-th key that serves, for this peer and at this time. The key that became valid last is the
 * first. NULL: there are no more. */
struct security_key *security_ring_find(struct security_ring *ring, const struct security_want *w,
                                        size_t i);
/* Has the ring a key of that name? */
bool security_ring_has(const struct security_ring *ring, const char *id);
/* Makes an unused IV and counts one use of the key. False: the key's uses are exhausted, or no IVs
 * can be reserved. */
bool security_ring_iv(struct security_ring *ring, struct security_key *k, uint8_t iv[SECURITY_IV]);

#ifdef __cplusplus
}
#endif

#endif
