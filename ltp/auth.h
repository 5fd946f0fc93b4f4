/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an authentication ciphersuite (RFC 5327 §2.1) that the engine calls. The engine
 * does no cryptography. It places the extensions and passes the covered bytes: the whole segment up
 * to the authentication value at its end. The functions must not call the engine.
 */
#ifndef LTP_AUTH_H
#define LTP_AUTH_H

#include <stdbool.h>

#include "base/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RFC 5327 §2.1.3 … §2.1.5 */
enum ltp_auth_suite { LTP_HMAC_SHA1_80 = 0, LTP_RSA_SHA256 = 1, LTP_AUTH_NULL = 255 };

#define LTP_KEY_ID_MAX 16      /* bytes */
#define LTP_COOKIE_MAX 32      /* bytes */
#define LTP_AUTH_VALUE_MAX 512 /* bytes: RSA with 4096 bits */

struct ltp_auth {
    enum ltp_auth_suite suite;
    uint8_t key_id[LTP_KEY_ID_MAX]; /* identifies the key for the peer */
    uint8_t key_id_len;             /* 0: the peer knows the key without it */
    uint16_t value_len; /* length of the values that `sign` writes, 1 … LTP_AUTH_VALUE_MAX */
    void *context;
    /* Writes the authentication value. Returns false on failure: the segment is then sent with a
     * value that the peer refuses. */
    bool (*sign)(void *context, struct slice covered, uint8_t *value);
    bool (*verify)(void *context, struct slice covered, struct slice value);
};

/* Which received segments must be authenticated. */
enum ltp_auth_mode {
    LTP_AUTH_ACCEPT, /* segments with an authentication extension are verified */
    LTP_AUTH_REQUIRE /* all segments must be authenticated */
};

#ifdef __cplusplus
}
#endif

#endif
