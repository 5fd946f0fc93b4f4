/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bp/codec/security_key*.c. */
#ifndef BP_SECURITY_KEY_PRIVATE_H
#define BP_SECURITY_KEY_PRIVATE_H

#include "bp/codec/security_key.h"

int64_t security_algorithm_cose(enum security_algorithm a); /* enum cose_algorithm; 0: none */
/* Are its keys public and private ones, or certificates? */
bool security_algorithm_is_public(enum security_algorithm a);

/* PEM (RFC 7468) in a key file, line by line. */
enum pem_kind { PEM_NONE, PEM_PRIVATE, PEM_PUBLIC, PEM_CERTIFICATE };
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
