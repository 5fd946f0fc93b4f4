/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/codec/security_key*.c. */
#ifndef BP_SECURITY_KEY_PRIVATE_H
#define BP_SECURITY_KEY_PRIVATE_H

#include "bp/codec/security/security_key.h"

#include "bp/codec/security/cose_key.h"

int64_t security_algorithm_cose(enum security_algorithm a); /* enum cose_algorithm; 0: none */
/* The algorithm with that number of COSE; SECURITY_KEY_ALGORITHMS: none that is implemented. */
enum security_algorithm security_algorithm_of_cose(int64_t alg);
/* What its keys are */
enum key_form {
    FORM_SECRET,    /* shared */
    FORM_SIGNER,    /* private at a source; public key or certificate at the other end */
    FORM_RECIPIENT, /* the other way round */
    FORM_BOTH,      /* an own private key, and the other end's public key */
    FORM_ANCHORS,   /* certificates of authorities */
};
enum key_form security_algorithm_form(enum security_algorithm a);
/* Has the secret a length that its algorithm has? NULL, or what would be right (static). */
const char *security_key_secret_wrong(const struct security_key *k);
/* 1 to 63 letters, digits, '-', '_' and '.'? */
bool security_key_is_word(struct slice s);

/* security_key_cose.c: takes a COSE_Key as the key's secret, or its private or public part. NULL,
 * or what is wrong (static). */
const char *security_key_take(struct security_key *k, const struct cose_key *c);

/* PEM (RFC 7468) in a key file, line by line. */
enum pem_kind { PEM_NONE, PEM_PRIVATE, PEM_PUBLIC, PEM_CERTIFICATE, PEM_REVOKED };
struct pem_reader {
    enum pem_kind kind;  /* of the text in hand */
    uint32_t bits;       /* of characters that are no whole byte yet */
    unsigned characters; /* of the group of four */
    bool padded;
    size_t start; /* in k->der */
};
/* Takes the line if it is a part of a PEM text; false: it is none. *wrong: what is wrong, static.
 */
bool security_pem_line(struct pem_reader *r, struct slice line, struct security_key *k,
                       const char **wrong);

#endif
