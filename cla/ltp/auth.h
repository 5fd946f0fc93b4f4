/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ciphersuites of LTP authentication (RFC 5327 §2.1), with keys from files:
 *
 *   HMAC-SHA1-80  one file for both directions: the key as hexadecimal digits, 16 to 128 bytes;
 *                 blanks and line ends between them are ignored
 *   RSA-SHA256    this node's private key and the peer's public key, PEM, 2048 to 4096 bits
 *   NULL          HMAC-SHA1-80 with the key printed in the RFC: detects errors, but no attacks
 */
#ifndef CLA_AUTH_H
#define CLA_AUTH_H

#include "base/err.h"
#include "ltp/auth.h"

struct auth_config {
    enum ltp_auth_suite suite;
    const char *key_file;      /* "" or NULL: not given */
    const char *peer_key_file; /* RSA only */
    const char *key_id;        /* at most LTP_KEY_ID_MAX bytes; "" or NULL: none */
};

/* Reads the keys. 0; HELIO_EINVAL with *key, the configuration key that is wrong, and a text of
 * what is wrong and what would be right; HELIO_ENOMEM. */
int auth_open(struct ltp_auth **out, const struct auth_config *config, const char **key, char *why,
              size_t why_cap);
void auth_close(struct ltp_auth *a); /* NULL is allowed */

#endif
