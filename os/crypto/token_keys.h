/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that stay in PKCS #11 tokens, behind the table of base/crypto.h: an operation with such a
 * key is made by its token, and one with any other key by another table (os/crypto/crypto.h). A key
 * of a token is named to the table by random octets, which are no key: without its token nothing
 * can be verified with it, and nothing is signed.
 *
 * A token that does not answer is asked again after TOKEN_PAUSE, or nine times as long as it took
 * to fail, TOKEN_PAUSE_MAX at most. Meanwhile operations with its keys fail at once, and the
 * table's `absent` says why. Calls wait for the token: a slow one delays its caller. One thread
 * uses a struct token_keys at a time.
 */
#ifndef OS_TOKEN_KEYS_H
#define OS_TOKEN_KEYS_H

#include "base/crypto.h"
#include "base/tick.h"

#define TOKEN_KEYS_MAX                                                                             \
    128                   /* keys: those in use and those of a reload, of SECURITY_KEYS_MAX each   \
                           */
#define TOKEN_NAME_MAX 32 /* bytes by which a key is named */
#define TOKEN_PAUSE TICK_S
#define TOKEN_PAUSE_MAX (30 * TICK_S) /* the process may have been stopped meanwhile */

enum token_use { TOKEN_HMAC, TOKEN_GCM, TOKEN_WRAP };

struct token_want {
    const char *uri;    /* RFC 7512 */
    const char *folder; /* where a relative pin-source begins */
    enum token_use use;
    unsigned bits; /* of the HMAC: 256, 384, 512; of the AES key: 128, 256 */
};

struct token_keys;

/* `other` serves all other keys, and outlives it. NULL: no memory. */
struct token_keys *token_keys_new(const struct crypto *other);
void token_keys_free(struct token_keys *t);
const struct crypto *token_keys_crypto(struct token_keys *t);

/* Opens a key and tries it, or tries one with the same URI and use again. `name`: TOKEN_NAME_MAX
 * bytes, of which *name_len name the key to the table; the same ones as long as the key is kept. 0,
 * or HELIO_EFORMAT, HELIO_EIO, HELIO_ENOMEM with `why`: what is wrong, and what would be right. */
int token_keys_open(struct token_keys *t, const struct token_want *want, uint8_t *name,
                    size_t *name_len, char *why, size_t why_cap);
/* The keys that are opened from here on are those of a new list. */
void token_keys_begin(struct token_keys *t);
/* The new list is taken: other keys are closed. Or it is not: those that only it had are closed. */
void token_keys_settle(struct token_keys *t, bool taken);

/* Does the key with this name answer? True for names of other keys. */
bool token_keys_answers(const struct token_keys *t, struct slice name);
/* Asks the tokens that do not answer again, each after its pause. How many keys remain without one;
 * `why`: the failure of the first of them. */
size_t token_keys_retry(struct token_keys *t, char *why, size_t why_cap);

#endif
