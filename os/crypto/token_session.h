/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One secret key of a PKCS #11 token (a hardware security module, a smart card, SoftHSM): found by
 * its URI (RFC 7512), with a session that is logged in. For os/crypto/token_*.c alone; p11-kit
 * loads the modules and reads the URIs.
 *
 *     init ──► (closed) ──open──► open ──close──► (closed)        the token may be away meanwhile
 */
#ifndef OS_TOKEN_SESSION_H
#define OS_TOKEN_SESSION_H

#include <p11-kit/pkcs11.h>
#include <p11-kit/uri.h>
#include <stdbool.h>
#include <stddef.h>

struct token_session {
    P11KitUri *uri;
    char *pin_path;             /* NULL: the URI names none */
    char label[33];             /* the token's name as the URI has it; may be empty */
    CK_FUNCTION_LIST **modules; /* p11-kit's; NULL: not loaded yet */
    CK_FUNCTION_LIST *module;   /* of the open session */
    CK_SLOT_ID slot;
    CK_SESSION_HANDLE handle;
    CK_OBJECT_HANDLE object;
    bool open;
    bool pin_refused; /* it is not tried again: wrong ones lock a token */
};

/* Reads the URI. `folder`: where a relative pin-source begins. 0; HELIO_EFORMAT or HELIO_ENOMEM
 * with `why`: what is wrong and what would be right. token_session_fini is owed in any case. */
int token_session_init(struct token_session *s, const char *uri, const char *folder, char *why,
                       size_t why_cap);
/* Finds token and key, and logs in. 0, or HELIO_EIO with `why`; then it is closed. Never tries a
 * PIN that the token has refused, nor the last try before the token is locked. */
int token_session_open(struct token_session *s, char *why, size_t why_cap);
void token_session_close(struct token_session *s);
void token_session_fini(struct token_session *s);

/* Does the token have the mechanism with all of these flags (CKF_SIGN …)? */
bool token_session_can(const struct token_session *s, CK_MECHANISM_TYPE mechanism, CK_FLAGS flags);
/* A number or truth value of the key; false: the token does not say. */
bool token_session_value(const struct token_session *s, CK_ATTRIBUTE_TYPE type, CK_ULONG *out);

#endif
