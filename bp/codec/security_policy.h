/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security policy of a node (RFC 9172 §7): which bundles it protects when they start here, and
 * which it verifies when they arrive. Pure: keys and cryptography are given to it.
 *
 *     rule 1: role acceptor, from ipn:1.*, to ipn:2.*, target payload, bib-hmac-sha2, key uplink
 *
 * With this rule a bundle from ipn:1.7 to ipn:2.4 must have a block integrity block (BIB) over its
 * payload that one of the keys "uplink" verifies. The block is removed (the node is the security
 * acceptor), and the bundle goes on. Without the block, or with a wrong one, the operation failed:
 * it is counted by its reason, and the rule says what becomes of the bundle. All rules that fit a
 * bundle apply.
 */
#ifndef BP_SECURITY_POLICY_H
#define BP_SECURITY_POLICY_H

#include "bp/codec/admin.h"
#include "bp/codec/security_key.h"

#ifdef __cplusplus
extern "C" {
#endif

enum security_role {
    SECURITY_ROLE_SOURCE,   /* adds the operation to bundles that start here and leave */
    SECURITY_ROLE_VERIFIER, /* verifies, and leaves the operation in the bundle (§5.1) */
    SECURITY_ROLE_ACCEPTOR, /* verifies, and removes the operation; of a BCB: decrypts */
};
/* What becomes of a bundle of which an operation failed. */
enum security_reaction {
    SECURITY_DROP_BUNDLE, /* deleted, silently */
    SECURITY_DROP_BLOCK,  /* the target block is removed; of the primary block or the payload: the
                             bundle is deleted */
    SECURITY_REPORT,      /* deleted, with a status report where the bundle asks for one */
};

#define SECURITY_RULES_MAX 256
struct security_rule {
    struct eid_patterns from, to; /* source and destination of the bundle */
    enum security_role role;
    uint64_t target; /* block type; 0: the primary block. Of an extension block: all of the type */
    uint64_t type;   /* SECURITY_BIB, SECURITY_BCB */
    uint64_t scope;  /* enum security_scope; of verifier and acceptor: what must be covered */
    char key[SECURITY_KEY_ID];
    enum security_reaction reaction;
    bool dry_run;  /* a failed operation is counted, and the bundle passes */
    uint32_t line; /* of the configuration; for messages */
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
    X(TOKEN, "token", "the token that has the key does not answer", 15)                            \
    X(ERROR, "error", "out of memory, or the cryptographic library failed", 15)
#define SECURITY_REASON_ENUM(name, word, text, code) SECURITY_REASON_##name,
enum security_reason {
    SECURITY_PASSED = -1,
    SECURITY_REASONS(SECURITY_REASON_ENUM) SECURITY_REASON_COUNT
};
#undef SECURITY_REASON_ENUM
const char *security_reason_word(enum security_reason r); /* "missing"; static */
const char *security_reason_text(enum security_reason r);
enum status_reason security_reason_code(enum security_reason r);

/* Operations, but for those named otherwise. failed counts passed ones, too. */
struct security_counters {
    uint64_t sourced, verified, accepted;
    uint64_t failed[SECURITY_REASON_COUNT];
    uint64_t passed;                          /* failed operations of rules with dry_run */
    uint64_t bundles_dropped, blocks_dropped; /* received bundles; blocks */
    uint64_t not_sent;                        /* bundles that start here and were refused */
};

struct security_failure {
    uint64_t number; /* of all failures, from 1 */
    uint64_t dtn_ms;
    size_t rule;   /* place in the list of that time */
    uint32_t line; /* its line in the configuration */
    enum security_reason reason;
    bool passed; /* dry_run */
    struct bundle_id id;
    struct eid destination;
};
#define SECURITY_FAILURES 32 /* that are remembered */

struct security_policy;

/* node: the security source of what starts here; crypto and ring outlive the policy. 0 or
 * HELIO_ENOMEM. */
int security_policy_new(struct security_policy **out, const struct eid *node,
                        const struct crypto *crypto, struct security_ring *ring);
void security_policy_free(struct security_policy *p);
/* Replaces the rules; they are copied. Counters of rules begin anew. HELIO_ENOMEM: as before.
 * len <= SECURITY_RULES_MAX. */
int security_policy_set(struct security_policy *p, const struct security_rule *rules, size_t len);

/* Do rules for arriving bundles fit these? */
bool security_policy_receives(const struct security_policy *p, const struct eid *source,
                              const struct eid *destination);

struct security_outcome {
    enum security_reason reason; /* SECURITY_PASSED: it goes on */
    bool report;                 /* else: a status report is due if the bundle asks for one */
    struct buf *made;            /* the bundle to go on with, the caller's; NULL: `bytes` */
};
/* An arriving bundle that was decoded before. Not to be called for fragments that this node
 * reassembles. undo: if the caller has the only reference to `bytes`, they may become the bundle to
 * go on with, around the same payload; then undo->placed is true, and b views what was there
 * before. NULL: `bytes` is not changed. */
void security_policy_receive(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                             uint64_t dtn_ms, struct security_undo *undo,
                             struct security_outcome *out);
/* A bundle that rules fit has more than SECURITY_BLOCKS_MAX blocks, so it cannot pass: counted like
 * one that security_policy_receive has dropped for it. */
void security_policy_too_many(struct security_policy *p, struct security_outcome *out);
/* A bundle that starts here and leaves, as it was encoded; undo as above. */
void security_policy_send(struct security_policy *p, struct buf *bytes, const struct bundle *b,
                          uint64_t dtn_ms, struct security_undo *undo,
                          struct security_outcome *out);
/* Is the payload of such a bundle signed or encrypted, or else the bundle refused? Then a check
 * value of the payload is computed in vain: the operation removes it. */
bool security_policy_covers(const struct security_policy *p, const struct eid *source,
                            const struct eid *destination);

const struct security_counters *security_policy_counters(const struct security_policy *p);
/* The i-th rule with the operations that succeeded and failed; false: there are no more. */
bool security_policy_rule(const struct security_policy *p, size_t i, struct security_rule *rule,
                          uint64_t *good, uint64_t *failed);
/* The i-th failure, the last one first; false: no more are remembered. */
bool security_policy_failure(const struct security_policy *p, size_t i,
                             struct security_failure *out);

#ifdef __cplusplus
}
#endif

#endif
