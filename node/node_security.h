/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundle security of a node: its policy and keys from the configuration, at the start and when the
 * file is read again. The ring is in memory that is neither swapped out nor in core dumps;
 * OpenSSL's contexts are in ordinary memory.
 */
#ifndef NODE_NODE_SECURITY_H
#define NODE_NODE_SECURITY_H

#include "bp/codec/security/security_key.h"
#include "node/node.h"
#include "node/node_key_warn.h"

struct json_t;
struct node_ivs;
struct token_keys;

struct node_security {
    struct crypto crypto;       /* OpenSSL's */
    struct token_keys *tokens;  /* with keys of tokens: what the policy uses */
    struct security_ring *ring; /* os/secret.h */
    struct security_policy *policy;
    struct node_ivs *ivs; /* node_ivs.h; NULL: this node has no store */
    uint64_t failures_told;
    tick told_after;                              /* until then failures are only counted */
    struct key_warning warned[SECURITY_KEYS_MAX]; /* of each key of the ring: what was logged */
    bool token_told;                              /* that a token does not answer */
};

/* After the agent is there, before the store's bundles are. Without rules there is none:
 * n->security is NULL until a reload brings some. 0, or an error that was said. */
int node_security_open(struct node *n);
/* The store's folder is there and locked: from here on IVs can be noted. 0, or an error that was
 * said. */
int node_security_begin(struct node *n);
/* Rules and keys as `c` and the key folder have them now. On an error with its text those from
 * before remain. *applied: something changed. */
int node_security_reload(struct node *n, const struct config *c, bool *applied, char *why,
                         size_t why_cap);
/* Each second: a line about operations that failed, one in 10 s; a line for each threshold of a key
 * that was passed; a line when tokens do not answer, and when all of them do again. */
void node_security_tick(struct node *n);
/* Keys of the ring that have a warning now. */
size_t node_security_warnings(const struct node *n);
/* What the start would read of keys, without a node: 0, or an error with its text. `warn` is called
 * for each warning. */
int node_security_check(const struct config *c, const char *path, uint64_t dtn_ms,
                        void (*warn)(const char *folder, const char *key, const char *text),
                        char *why, size_t why_cap);
/* After the agent. */
void node_security_free(struct node *n);

#endif
