/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine needs of an authentication ciphersuite (RFC 5327 §2.1). The engine does no
 * cryptography: it puts the extensions where they belong and hands over what they cover, which is
 * the whole segment up to the authentication value at its end. These functions are the only ones of
 * a user that an engine calls; they must not call it back.
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
    uint8_t key_id[LTP_KEY_ID_MAX]; /* names the key to the peer */
    uint8_t key_id_len;             /* 0: the peer knows */
    uint16_t value_len;             /* of the values that sign makes, 1 … LTP_AUTH_VALUE_MAX */
    void *context;
    /* Writes the authentication value; false when that is not possible (the segment then leaves
     * with one that the peer will refuse). */
    bool (*sign)(void *context, struct slice covered, uint8_t *value);
    bool (*verify)(void *context, struct slice covered, struct slice value);
};

/* What is asked of segments that come in. */
enum ltp_auth_mode {
    LTP_AUTH_ACCEPT, /* those that are authenticated must be so rightly */
    LTP_AUTH_REQUIRE /* and all must be */
};

#ifdef __cplusplus
}
#endif

#endif
