/* SPDX-License-Identifier: Apache-2.0 */
/* A peer's certificate, as OpenSSL read it: may a bundle node use it, and what does it name? */
#ifndef OS_TLS_CERTIFICATE_H
#define OS_TLS_CERTIFICATE_H

#include <openssl/x509.h>

#include "os/tls/tls.h"

struct tls_names {
    struct tls_name at[TLS_NAMES_MAX];
    size_t len;
};

/* By RFC 9174 §4.4.2: version, key usage, and, unless any_purpose, extended key usage. NULL: it
 * will do; else what is wrong, static text. */
const char *certificate_judge(X509 *cert, bool any_purpose);
/* Has it no extended key usage, or one that includes id-kp-bundleSecurity? */
bool certificate_is_for_bundles(X509 *cert);
/* The names of its subjectAltName that count (id-on-bundleEID, DNS, IP; printable, at most
 * TLS_NAME_MAX characters) into *out, which is empty. Their texts are to be forgotten in any case.
 * False: there are more than TLS_NAMES_MAX; the first ones are in *out. */
bool certificate_names(X509 *cert, struct tls_names *out);
/* Does it name a node, by id-on-bundleEID or by a URI of the schemes ipn or dtn, whatever else it
 * says? */
bool certificate_names_node(X509 *cert);
void certificate_forget(struct tls_names *n);

#endif
