/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security policy of a node (RFC 9172 §7): which bundles the node protects as their source, and
 * which it verifies when they arrive. Pure: the caller passes keys and cryptography.
 *
 *     rule 1: role acceptor, from ipn:1.*, to ipn:2.*, target payload, bib-hmac-sha2, key uplink
 *
 * With this rule a bundle from ipn:1.7 to ipn:2.4 must have a block integrity block (BIB) over its
 * payload, and one of the keys "uplink" must verify it. The node is the security acceptor: it
 * removes the block and processes the bundle. If the block is absent or wrong, the operation has
 * failed: the failure is counted by reason, and the rule's `reaction` is applied. All matching
 * rules apply to a bundle.
 */
#ifndef BP_SECURITY_POLICY_H
#define BP_SECURITY_POLICY_H

#include "bp/codec/admin.h"
#include "bp/codec/security/security_key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum security_role {
    /* adds the operation to bundles that this node originates and transmits */
    SECURITY_ROLE_SOURCE,
    SECURITY_ROLE_VERIFIER, /* verifies, and leaves the operation in the bundle (§5.1) */
    SECURITY_ROLE_ACCEPTOR, /* verifies, and removes the operation; for a BCB: decrypts */
};
/* Action for a bundle with a failed operation. */
enum security_reaction {
    SECURITY_DROP_BUNDLE, /* deleted without a status report */
    /* The target block is removed. If it is the primary block or the payload, the bundle is
     * deleted. */
    SECURITY_DROP_BLOCK,
    SECURITY_REPORT, /* deleted, with a status report if the bundle requests one */
};

#define SECURITY_RULES_MAX 256
struct security_rule {
    struct eid_patterns from, to; /* source and destination of the bundle */
    enum security_role role;
    /* Block type; 0: the primary block. For an extension block: all blocks of the type. */
    uint64_t target;
    uint64_t type;  /* SECURITY_BIB, SECURITY_BCB */
    bool cose;      /* by the context COSE; else by that of RFC 9173 */
    uint64_t scope; /* enum security_scope; verifier and acceptor: the required scope */
    char key[SECURITY_KEY_ID];
    enum security_reaction reaction;
    bool dry_run;  /* a failed operation is only counted */
    uint32_t line; /* line in the configuration; for messages */
};

/* Why an operation failed. Each is counted. code: RFC 9172 §11.2, for status reports. */
#define SECURITY_REASONS(X)                                                                        \
    X(MISSING, "missing", "missing security operation", 12)                                        \
    X(UNKNOWN, "unknown", "unknown security operation", 13)                                        \
    X(UNEXPECTED, "unexpected", "unexpected security operation", 14)                               \
    X(FAILED, "failed", "failed security operation", 15)                                           \
    X(CONFLICTING, "conflicting", "conflicting security operation", 16)                            \
    X(FRAGMENT, "fragment", "a fragment cannot be verified on its way", 15)                        \
    X(NO_KEY, "no_key", "no key of that id is valid for the peer at this time", 15)                \
    X(EXHAUSTED, "exhausted", "the key was used as often as it may be, or no IV is left", 15)      \
    X(CERTIFICATE, "certificate", "the signer's certificate is not valid for it", 15)              \
    X(TOKEN, "token", "the token that has the key does not answer", 15)                            \
    X(ERROR, "error", "out of memory, or the cryptographic library failed", 15)
#define SECURITY_REASON_ENUM(name, word, text, code) SECURITY_REASON_##name,
enum security_reason {
    SECURITY_PASSED = -1,
    SECURITY_REASONS(SECURITY_REASON_ENUM) SECURITY_REASON_COUNT
};
#undef SECURITY_REASON_ENUM
const char *security_reason_word(enum security_reason r); /* "missing"; static */
/* The reason in a sentence for the operator; static. */
const char *security_reason_text(enum security_reason r);
/* The reason code of a status report about it (RFC 9172 §7.1). */
enum status_reason security_reason_code(enum security_reason r);

/* Numbers of operations, unless noted. `failed` includes `passed`. */
struct security_counters {
    uint64_t sourced, verified, accepted;
    uint64_t failed[SECURITY_REASON_COUNT];
    uint64_t passed;                          /* failed operations of rules with dry_run */
    uint64_t bundles_dropped, blocks_dropped; /* received bundles; blocks */
    uint64_t not_sent;                        /* bundles of this node that were refused */
};

struct security_failure {
    uint64_t number; /* number of the failure, from 1 */
    uint64_t dtn_ms;
    size_t rule;   /* index in the rules of that time */
    uint32_t line; /* its line in the configuration */
    enum security_reason reason;
    bool passed; /* dry_run */
    struct bundle_id id;
    struct eid destination;
};
#define SECURITY_FAILURES 32 /* latest failures that are kept */

struct security_policy;

/* node: the security source of the node's own bundles. crypto and ring must exist as long as the
 * policy. Returns 0 or HELIO_ENOMEM. */
int security_policy_new(struct security_policy **out, const struct eid *node,
                        const struct crypto *crypto, struct security_ring *ring);
/* Frees the policy; the ring is the caller's. NULL is allowed. */
void security_policy_free(struct security_policy *p);
/* Replaces the rules; they are copied. The counters of rules start at 0. HELIO_ENOMEM: nothing is
 * changed. len <= SECURITY_RULES_MAX. */
int security_policy_set(struct security_policy *p, const struct security_rule *rules, size_t len);

/* Does a verifier or acceptor rule match these? */
bool security_policy_receives(const struct security_policy *p, const struct eid *source,
                              const struct eid *destination);

struct security_outcome {
    enum security_reason reason; /* SECURITY_PASSED: processing continues */
    bool report;                 /* otherwise: a status report is due if the bundle requests one */
    struct buf *made;            /* the bundle to process, owned by the caller; NULL: `bytes` */
};
/* Applies the rules to an arriving bundle that was decoded before. Not for fragments that this node
 * reassembles. undo: NULL, or permission to change `bytes`, of which the caller must have the only
 * reference. Then `bytes` may become the processed bundle around the same payload; if so,
 * undo->placed is true, and *b still views the bytes as received. */
void security_policy_receive(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                             uint64_t dtn_ms, struct security_undo *undo,
                             struct security_outcome *out);
/* For a bundle that matches rules but has more than SECURITY_BLOCKS_MAX blocks: it cannot be
 * verified. It is counted like a bundle that security_policy_receive dropped. */
void security_policy_too_many(struct security_policy *p, struct security_outcome *out);
/* Applies the rules to an encoded bundle that this node originates and transmits; undo as above. */
void security_policy_send(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                          uint64_t dtn_ms, struct security_undo *undo,
                          struct security_outcome *out);
/* Will security_policy_send sign, encrypt or refuse such a bundle's payload? Then the payload needs
 * no CRC, because the operation removes it. */
bool security_policy_covers(const struct security_policy *p, const struct eid *source,
                            const struct eid *destination);

/* The policy's counters, which stay valid as long as it. */
const struct security_counters *security_policy_counters(const struct security_policy *p);
/* Copies the i-th rule with its numbers of successful and failed operations. False: there are no
 * more. */
bool security_policy_rule(const struct security_policy *p, size_t i, struct security_rule *rule,
                          uint64_t *good, uint64_t *failed);
/* Copies the i-th failure, the latest first. False: no more are kept. */
bool security_policy_failure(const struct security_policy *p, size_t i,
                             struct security_failure *out);

#ifdef __cplusplus
}
#endif

#endif
