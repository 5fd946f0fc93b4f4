/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of ISP1 (CCSDS 913.1-B-2 §3.1.2). The hash is the host's: sle/ does no cryptography,
 * it puts together what is hashed, and compares.
 */
#ifndef SLE_AUTH_H
#define SLE_AUTH_H

#include "sle/sle.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SLE_PASSWORD_MAX = 64, SLE_DIGEST_MAX = 32, SLE_CREDENTIALS_MAX = 256 };

enum sle_hash {
    SLE_HASH_BY_VERSION,
    /* SHA-1 up to version 4, SHA-256 from 5 on */ SLE_SHA1,
    SLE_SHA256
};
enum sle_auth_level { SLE_AUTH_NONE, SLE_AUTH_BIND /* BIND and its return */, SLE_AUTH_ALL };

/* Computes SHA-1 (20 octets) or SHA-256 (32) of `in` into `out`. False: it failed; then messages
 * are sent without credentials, and received ones are refused. Must not call the engine. `which` is
 * never SLE_HASH_BY_VERSION. */
typedef bool sle_hash_function(void *context, enum sle_hash which, struct slice in, uint8_t *out);

struct sle_identity { /* of one side */
    char id[SLE_AUTHORITY_MAX + 1];
    uint8_t password[SLE_PASSWORD_MAX];
    uint8_t password_len;
};

/* Parses a password of a configuration: two hexadecimal digits per octet; "" is an empty password.
 * False: invalid, *who is unchanged. */
bool sle_password_read(const char *hex, struct sle_identity *who);

/* ISP1Credentials as they are inside `used [1]`. */
struct sle_credentials {
    struct sle_time time;
    uint32_t random; /* 31 bits when made here; 32 are accepted */
    uint8_t digest[SLE_DIGEST_MAX];
    uint8_t digest_len; /* 20 or 32 */
};

/* DER of HashInput; octets written, 0: does not fit. 160 always do. */
size_t sle_hash_input(const struct sle_identity *who, struct sle_time time, uint32_t random,
                      uint8_t *out, size_t room);
/* DER of ISP1Credentials, 42 or 54 octets less 2 (the CHOICE's tag and length); 0: does not fit. */
size_t sle_credentials_write(const struct sle_credentials *c, uint8_t *out, size_t room);
/* False: malformed. Any BER form of definite length. */
bool sle_credentials_read(struct slice in, struct sle_credentials *out);

/* Sets `out` for a message of `who` at this time; false: the hash failed. `which` must not be
 * SLE_HASH_BY_VERSION. */
bool sle_credentials_make(const struct sle_identity *who, enum sle_hash which,
                          sle_hash_function *hash, void *context, struct sle_time time,
                          uint32_t random, struct sle_credentials *out);

/* Credentials are right; were made too long before or after now; are wrong. */
enum sle_auth_verdict { SLE_AUTH_OK, SLE_AUTH_TIME, SLE_AUTH_WRONG };
/* Were they made by `who`, at most `delay` before or after `now`? The digest's length determines
 * the hash. */
enum sle_auth_verdict sle_credentials_check(const struct sle_credentials *c,
                                            const struct sle_identity *who, sle_hash_function *hash,
                                            void *context, struct sle_time now, tick delay);

#ifdef __cplusplus
}
#endif

#endif
