/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/codec/security_policy*.c. */
#ifndef BP_SECURITY_POLICY_PRIVATE_H
#define BP_SECURITY_POLICY_PRIVATE_H

#include "bp/codec/security/security_policy.h"
#include "bp/codec/security/security_private.h"

struct policy_rule {
    struct security_rule rule;
    uint64_t good, failed; /* number of operations */
};

struct security_policy {
    struct eid node;
    const struct crypto *crypto;
    struct security_ring *ring;
    struct policy_rule *rules;
    size_t rules_len;
    struct security_counters counters;
    struct security_failure failures[SECURITY_FAILURES]; /* a ring */
    uint64_t failed;                                     /* all failures since the start */
    struct security_bundle work;                         /* the bundle being processed */
};

bool policy_fits(const struct security_rule *r, const struct eid *source,
                 const struct eid *destination);
/* Counts and records a failed operation. True: the caller must apply the rule's reaction. */
bool policy_fail(struct security_policy *p, struct policy_rule *r, const struct bundle *b,
                 uint64_t dtn_ms, enum security_reason reason);
/* A reference to `bytes`; or, if the operation changes them, a copy with room for security blocks.
 * NULL: no memory. */
struct buf *policy_copy(struct buf *bytes, bool changes);
/* Writes the changed bundle: into `bytes` if the caller permits it, else into the copy or a new
 * buffer. */
void policy_write(struct security_policy *p, struct buf *bytes, struct security_undo *undo,
                  struct security_outcome *out);
/* Writes the numbers of the blocks of the rule's target type; returns how many. */
size_t policy_targets(const struct security_bundle *b, uint64_t type,
                      uint64_t out[SECURITY_BLOCKS_MAX]);

#endif
