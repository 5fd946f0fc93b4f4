/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules and keys are read together: a rule whose key is not in the folder refuses both, so that no
 * bundle meets a policy that cannot work. At a reload the present ones stay until the new ones are
 * known to be valid. What can go wrong: the operator's files, memory, the cryptographic library.
 */
#include "node/node_security.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "node/config/config.h"
#include "node/config/config_tables.h"
#include "node/node_ivs.h"
#include "node/node_keys.h"
#include "os/crypto/crypto.h"
#include "os/crypto/token_keys.h"
#include "os/secret.h"

#define TELL_PAUSE (10 * TICK_S)

static struct security_rule *list_rules(const struct config *c)
{
    const struct config_security *s = c->security;
    struct security_rule *rules = calloc(c->security_len + 1, sizeof *rules);
    for (size_t i = 0; rules != NULL && i < c->security_len; i++)
        rules[i] = s[i].rule;
    return rules;
}

/* Has it a key of that id for that kind of operation? For COSE its length must fit, too. */
static bool has_key(const struct security_ring *ring, const struct security_rule *r)
{
    struct security_cose_key cose;
    const struct security_want want = {
        .id = r->key, .type = r->type, .cose = r->cose, .source = r->role == SECURITY_ROLE_SOURCE};
    for (size_t i = 0; i < ring->len; i++) {
        if (security_key_serves(&ring->at[i], &want) &&
            (!r->cose || security_key_cose(&ring->at[i], &cose)))
            return true;
    }
    return false;
}

/* What a rule needs, and an algorithm that does it. */
static const char *needs_of(const struct security_rule *r)
{
    if (r->cose && r->type == SECURITY_BIB)
        return r->role == SECURITY_ROLE_SOURCE
                   ? "to sign by COSE; write a key file with this id, an algorithm such as esp384 "
                     "and its private key, or hmac-sha-384 with a key of 96 digits"
                   : "to verify by COSE; write a key file with this id, an algorithm such as "
                     "esp384 with the public key or certificate, x509 with the authority's, or "
                     "hmac-sha-384 with a key of 96 digits";
    if (r->cose)
        return r->role == SECURITY_ROLE_SOURCE
                   ? "to encrypt by COSE; write a key file with this id and aes-256-gcm, or an "
                     "algorithm such as ecdh-es-a256kw with the other node's public key"
                   : "to decrypt by COSE; write a key file with this id and aes-256-gcm, or an "
                     "algorithm such as ecdh-es-a256kw with this node's private key";
    return r->type == SECURITY_BIB
               ? "for HMAC; write a key file with this id and an algorithm such as hmac-sha-384"
               : "for AES; write a key file with this id and an algorithm such as aes-256-gcm";
}

static int check_keys(const char *path, const struct config *c, const struct security_ring *ring,
                      char *why, size_t cap)
{
    const struct config_security *s = c->security;
    for (size_t i = 0; i < c->security_len; i++) {
        const struct security_rule *r = &s[i].rule;
        if (has_key(ring, r))
            continue;
        snprintf(why, cap, "%s:%" PRIu32 ": security.key: the folder %s has no key \"%s\" %s",
                 path != NULL ? path : "line", r->line, c->security_keys, r->key, needs_of(r));
        return HELIO_EFORMAT;
    }
    return 0;
}

static bool same_secret(const struct security_key *a, const struct security_key *b)
{
    return a->secret_len == b->secret_len && a->der_len == b->der_len &&
           secret_same(a->secret, b->secret, b->secret_len) &&
           secret_same(a->der, b->der, b->der_len);
}

/* Uses go on for keys that remain. */
static void keep_uses(const struct security_ring *was, struct security_ring *now)
{
    for (size_t i = 0; i < now->len; i++) {
        struct security_key *k = &now->at[i];
        for (size_t j = 0; j < was->len; j++) {
            const struct security_key *old = &was->at[j];
            if (same_secret(old, k) && old->uses > k->uses)
                k->uses = old->uses;
        }
    }
}

/* What was logged of a key that remains as it was is not logged again. */
static void keep_warned(struct node_security *s, const struct security_ring *now)
{
    struct key_warning warned[SECURITY_KEYS_MAX] = {{0}};
    for (size_t i = 0; i < now->len; i++) {
        const struct security_key *k = &now->at[i];
        for (size_t j = 0; j < s->ring->len; j++) {
            const struct security_key *old = &s->ring->at[j];
            if (same_secret(old, k) && strcmp(old->id, k->id) == 0 &&
                old->until_ms == k->until_ms && old->uses_max == k->uses_max)
                warned[i] = s->warned[j];
        }
    }
    memcpy(s->warned, warned, sizeof warned);
}

static bool same_keys(const struct security_ring *a, const struct security_ring *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++) {
        const struct security_key *x = &a->at[i], *y = &b->at[i];
        same = strcmp(x->id, y->id) == 0 && x->algorithm == y->algorithm &&
               x->from_ms == y->from_ms && x->until_ms == y->until_ms &&
               x->uses_max == y->uses_max && same_secret(x, y) && x->identify == y->identify &&
               x->use == y->use && x->static_kid_len == y->static_kid_len &&
               memcmp(x->static_kid, y->static_kid, sizeof x->static_kid) == 0 &&
               x->kid_len == y->kid_len && memcmp(x->kid, y->kid, sizeof x->kid) == 0 &&
               x->base_iv_len == y->base_iv_len &&
               memcmp(x->base_iv, y->base_iv, sizeof x->base_iv) == 0 &&
               x->peers.len == y->peers.len;
        for (size_t k = 0; same && k < x->peers.len; k++)
            same = eid_patterns_have(&y->peers, &x->peers.at[k]);
    }
    return same;
}

/* The agent works by them from now on. */
static int take_policy(struct node_security *s, const struct config *c,
                       const struct security_ring *fresh, bool rules, bool keys)
{
    if (rules) {
        struct security_rule *list = list_rules(c);
        const int err =
            list == NULL ? HELIO_ENOMEM : security_policy_set(s->policy, list, c->security_len);
        free(list);
        if (err < 0)
            return err;
    }
    if (keys) {
        keep_warned(s, fresh);
        memcpy(s->ring->at, fresh->at, sizeof fresh->at);
        s->ring->len = fresh->len;
        crypto_forget(&s->crypto);
        if (s->ivs != NULL)
            node_ivs_keys(s->ivs);
    }
    return 0;
}

/* Keys of tokens that are not in use any more are closed. */
static int read_keys(const char *path, const struct config *c, struct token_keys *tokens,
                     struct security_ring *out, char *why, size_t cap)
{
    int err = 0;
    token_keys_begin(tokens);
    if (c->security_len > 0)
        err = node_keys_read(c->security_keys, out, tokens, why, cap);
    return err == 0 ? check_keys(path, c, out, why, cap) : err;
}

static int read_policy(struct node *n, const struct config *c, bool rules, bool *applied, char *why,
                       size_t cap)
{
    struct node_security *s = n->security;
    bool locked;
    struct security_ring *fresh = secret_memory_new(sizeof *fresh, &locked);
    *applied = false;
    if (fresh == NULL) {
        snprintf(why, cap, "out of memory");
        return HELIO_ENOMEM;
    }
    int err = read_keys(n->path, c, s->tokens, fresh, why, cap);
    if (err == 0) {
        keep_uses(s->ring, fresh);
        const bool keys = !same_keys(s->ring, fresh);
        err = take_policy(s, c, fresh, rules, keys);
        *applied = err == 0 && (rules || keys);
        if (err < 0)
            snprintf(why, cap, "out of memory");
    }
    token_keys_settle(s->tokens, err == 0);
    secret_memory_free(fresh, sizeof *fresh);
    return err;
}

static void free_security(struct node_security *s)
{
    security_policy_free(s->policy);
    node_ivs_free(s->ivs);
    secret_memory_free(s->ring, sizeof *s->ring);
    token_keys_free(s->tokens);
    if (s->crypto.mac != NULL)
        crypto_close(&s->crypto);
    free(s);
}

static struct node_security *new_security(struct node *n)
{
    bool locked = true;
    struct node_security *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->ring = secret_memory_new(sizeof *s->ring, &locked);
    const struct eid *node = &n->config->node;
    if (s->ring == NULL || !crypto_open(&s->crypto) ||
        (s->tokens = token_keys_new(&s->crypto)) == NULL ||
        security_policy_new(&s->policy, node, token_keys_crypto(s->tokens), s->ring) < 0) {
        free_security(s);
        return NULL;
    }
    s->ring->sender = security_sender_of(node);
    if (!locked)
        say(&n->say, LEVEL_WARNING,
            "security: keys cannot be locked in memory (RLIMIT_MEMLOCK below %zu bytes): the "
            "kernel may swap them out",
            sizeof *s->ring);
    return s;
}

static int begin_ivs(struct node *n, char *why, size_t cap)
{
    struct node_security *s = n->security;
    if (n->config->store.durability == STORE_NONE || s->ivs != NULL)
        return 0;
    return node_ivs_open(&s->ivs, n->config->store.path, token_keys_crypto(s->tokens), s->ring,
                         node_now(n).dtn_ms, why, cap);
}

int node_security_open(struct node *n)
{
    char why[512] = "out of memory, or the cryptographic library lacks an algorithm";
    bool applied;
    if (n->config->security_len == 0)
        return 0;
    n->security = new_security(n);
    int err = n->security == NULL ? HELIO_ENOMEM
                                  : read_policy(n, n->config, true, &applied, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "security: %s", why);
    else
        agent_security(n->agent, n->security->policy);
    return err;
}

int node_security_begin(struct node *n)
{
    char why[512] = "out of memory";
    if (n->security == NULL)
        return 0;
    const int err = begin_ivs(n, why, sizeof why);
    if (err < 0)
        say(&n->say, LEVEL_ERROR, "security: %s", why);
    return err;
}

int node_security_reload(struct node *n, const struct config *c, bool *applied, char *why,
                         size_t why_cap)
{
    const struct config *was = n->file != NULL ? n->file : n->config;
    const bool first = n->security == NULL;
    *applied = false;
    snprintf(why, why_cap, "out of memory, or the cryptographic library lacks an algorithm");
    if (first && c->security_len == 0)
        return 0;
    if (first && (n->security = new_security(n)) == NULL)
        return HELIO_ENOMEM;
    const bool rules = first || config_lists_differ(config_security_lists, was, c) != NULL;
    int err = first ? begin_ivs(n, why, why_cap) : 0;
    if (err == 0)
        err = read_policy(n, c, rules, applied, why, why_cap);
    if (err == 0 && first)
        agent_security(n->agent, n->security->policy);
    if (err < 0 && first) {
        free_security(n->security);
        n->security = NULL;
    }
    return err;
}

static uint64_t count_failures(const struct security_counters *c)
{
    uint64_t all = 0;
    for (int r = 0; r < SECURITY_REASON_COUNT; r++)
        all += c->failed[r];
    return all;
}

size_t node_security_warnings(const struct node *n)
{
    size_t count = 0;
    const struct node_security *s = n->security;
    for (size_t i = 0; s != NULL && i < s->ring->len; i++) {
        const struct key_warning w = key_warning_of(s->ring, i, node_now(n).dtn_ms);
        count += w.time > 0 || w.uses > 0;
    }
    return count;
}

/* Once for each threshold. */
static void warn_keys(struct node *n, uint64_t dtn_ms)
{
    struct node_security *s = n->security;
    char text[KEY_WARN_TEXT];
    for (size_t i = 0; i < s->ring->len; i++) {
        const struct key_warning w = key_warning_of(s->ring, i, dtn_ms);
        struct key_warning *was = &s->warned[i];
        if ((w.time > was->time || w.uses > was->uses) &&
            key_warning_text(s->ring, i, dtn_ms, text))
            say(&n->say, LEVEL_WARNING, "security: key \"%s\": %s; install another one",
                s->ring->at[i].id, text);
        *was = w;
    }
}

/* Once when tokens do not answer, and once when all do again. */
static void tell_tokens(struct node *n)
{
    struct node_security *s = n->security;
    char why[256];
    const size_t absent = token_keys_retry(s->tokens, why, sizeof why);
    if (absent > 0 && !s->token_told)
        say(&n->say, LEVEL_ERROR,
            "security: %zu keys cannot be used: %s; bundles that need them are refused until the "
            "token answers",
            absent, why);
    else if (absent == 0 && s->token_told)
        say(&n->say, LEVEL_INFO, "security: all tokens answer again");
    s->token_told = absent > 0;
}

int node_security_check(const struct config *c, const char *path, uint64_t dtn_ms,
                        void (*warn)(const char *folder, const char *key, const char *text),
                        char *why, size_t why_cap)
{
    bool locked;
    char text[KEY_WARN_TEXT];
    struct crypto crypto;
    if (c->security_len == 0)
        return 0;
    snprintf(why, why_cap, "out of memory, or the cryptographic library lacks an algorithm");
    if (!crypto_open(&crypto))
        return HELIO_ENOMEM;
    struct security_ring *ring = secret_memory_new(sizeof *ring, &locked);
    struct token_keys *tokens = token_keys_new(&crypto);
    int err = ring == NULL || tokens == NULL ? HELIO_ENOMEM
                                             : read_keys(path, c, tokens, ring, why, why_cap);
    for (size_t i = 0; err == 0 && i < ring->len; i++) {
        if (key_warning_text(ring, i, dtn_ms, text))
            warn(c->security_keys, ring->at[i].id, text);
    }
    token_keys_free(tokens);
    crypto_close(&crypto);
    secret_memory_free(ring, sizeof *ring);
    return err;
}

void node_security_tick(struct node *n)
{
    struct node_security *s = n->security;
    struct security_failure last;
    char source[EID_TEXT_MAX], destination[EID_TEXT_MAX];
    const tick now = node_now(n).now;
    int error;
    if (s == NULL)
        return;
    warn_keys(n, node_now(n).dtn_ms);
    tell_tokens(n);
    if (now < s->told_after)
        return;
    if (s->ivs != NULL && node_ivs_trouble(s->ivs, &error)) {
        s->told_after = now + TELL_PAUSE;
        say(&n->say, LEVEL_ERROR, "security: initialization vectors cannot be noted: %s",
            strerror(error));
    }
    const uint64_t all = count_failures(security_policy_counters(s->policy));
    if (all == s->failures_told || !security_policy_failure(s->policy, 0, &last))
        return;
    eid_text(&last.id.source, source);
    eid_text(&last.destination, destination);
    say(&n->say, LEVEL_WARNING,
        "security: %" PRIu64 " operations failed; the last: rule in line %" PRIu32
        ", bundle from %s to %s: %s",
        all - s->failures_told, last.line, source, destination, security_reason_text(last.reason));
    s->failures_told = all;
    s->told_after = now + TELL_PAUSE;
}

void node_security_free(struct node *n)
{
    if (n->security != NULL)
        free_security(n->security);
    n->security = NULL;
}
