/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL reads the DER; what of it counts is decided here: RFC 9174's profile of certificates, and
 * three kinds of names. What can go wrong: names that are no printable text, or too many; memory
 * for a name, which then is as if it were not there.
 */
#include "os/tls/tls_certificate.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE_SECURITY "1.3.6.1.5.5.7.3.35" /* id-kp-bundleSecurity */
#define BUNDLE_EID "1.3.6.1.5.5.7.8.11"      /* id-on-bundleEID */

static bool is_oid(const ASN1_OBJECT *o, const char *dotted)
{
    char text[64];
    int n = OBJ_obj2txt(text, sizeof text, o, 1);
    return n > 0 && (size_t)n < sizeof text && strcmp(text, dotted) == 0;
}

/* Recommended by RFC 9174 §4.4.5: a certificate with an extended key usage must include bundles. */
bool certificate_is_for_bundles(X509 *cert)
{
    int critical = 0;
    EXTENDED_KEY_USAGE *uses = X509_get_ext_d2i(cert, NID_ext_key_usage, &critical, NULL);
    bool found = uses == NULL && critical == -1; /* there is no such extension */
    for (int i = 0; uses != NULL && i < sk_ASN1_OBJECT_num(uses); i++)
        found = found || is_oid(sk_ASN1_OBJECT_value(uses, i), BUNDLE_SECURITY);
    sk_ASN1_OBJECT_pop_free(uses, ASN1_OBJECT_free);
    return found;
}

const char *certificate_judge(X509 *cert, bool any_purpose)
{
    if (X509_get_version(cert) != X509_VERSION_3)
        return "it is not of version 3";
    if ((X509_get_key_usage(cert) & KU_DIGITAL_SIGNATURE) == 0)
        return "its key usage does not allow digital signatures";
    if (!any_purpose && !certificate_is_for_bundles(cert))
        return "its extended key usage does not allow bundle security";
    return NULL;
}

/* A text of the certificate: printable, whole, not too long; else it is no name. */
static char *copy_text(const ASN1_STRING *text)
{
    int len = ASN1_STRING_length(text);
    const unsigned char *at = ASN1_STRING_get0_data(text);
    if (len <= 0 || len > TLS_NAME_MAX)
        return NULL;
    for (int i = 0; i < len; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return NULL;
    return strndup((const char *)at, (size_t)len);
}

static char *write_address(const ASN1_OCTET_STRING *ip)
{
    char text[INET6_ADDRSTRLEN];
    int len = ASN1_STRING_length(ip);
    if (len != 4 && len != 16)
        return NULL;
    if (inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(ip), text, sizeof text) ==
        NULL)
        return NULL;
    return strdup(text);
}

/* NULL: none that counts here. */
static char *read_name(const GENERAL_NAME *g, enum tls_name_kind *kind)
{
    int type = 0;
    const void *value = GENERAL_NAME_get0_value(g, &type);
    switch (type) {
    case GEN_OTHERNAME: {
        const OTHERNAME *other = value;
        *kind = TLS_BUNDLE_EID;
        return is_oid(other->type_id, BUNDLE_EID) && other->value->type == V_ASN1_IA5STRING
                   ? copy_text(other->value->value.ia5string)
                   : NULL;
    }
    case GEN_DNS:
        *kind = TLS_DNS;
        return copy_text(value);
    case GEN_IPADD:
        *kind = TLS_IP;
        return write_address(value);
    default:
        return NULL;
    }
}

bool certificate_names(X509 *cert, struct tls_names *out)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool fits = true;
    assert(out->len == 0);
    for (int i = 0; all != NULL && fits && i < sk_GENERAL_NAME_num(all); i++) {
        enum tls_name_kind kind = TLS_DNS;
        char *text = read_name(sk_GENERAL_NAME_value(all, i), &kind);
        fits = text == NULL || out->len < TLS_NAMES_MAX;
        if (text != NULL && fits)
            out->at[out->len++] = (struct tls_name){kind, text};
        else
            free(text);
    }
    GENERAL_NAMES_free(all);
    ERR_clear_error();
    assert(out->len <= TLS_NAMES_MAX);
    return fits;
}

static bool names_node(const GENERAL_NAME *g)
{
    if (g->type == GEN_OTHERNAME)
        return is_oid(g->d.otherName->type_id, BUNDLE_EID);
    if (g->type != GEN_URI || ASN1_STRING_length(g->d.uniformResourceIdentifier) < 4)
        return false;
    const char *uri = (const char *)ASN1_STRING_get0_data(g->d.uniformResourceIdentifier);
    return strncasecmp(uri, "ipn:", 4) == 0 || strncasecmp(uri, "dtn:", 4) == 0;
}

bool certificate_names_node(X509 *cert)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    bool found = false;
    for (int i = 0; all != NULL && !found && i < sk_GENERAL_NAME_num(all); i++)
        found = names_node(sk_GENERAL_NAME_value(all, i));
    GENERAL_NAMES_free(all);
    ERR_clear_error();
    return found;
}

void certificate_forget(struct tls_names *n)
{
    for (size_t i = 0; i < n->len; i++) {
        union { /* we made them */
            const char *in;
            void *out;
        } text = {.in = n->at[i].text};
        free(text.out);
    }
    n->len = 0;
}
