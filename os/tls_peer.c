/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the peer is: whether its certificate is good (RFC 9174 §4.4.4.1), and what it names. OpenSSL
 * follows the path to a CA; what a certificate may be used for is judged here, by RFC 9174's
 * profile instead of the web's.
 *
 * What can go wrong: anything about a certificate, each with a text; the first counts. When the
 * peer need not be verified the handshake goes on, and none of its names counts.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/address.h"
#include "os/tls_private.h"

#define BUNDLE_SECURITY "1.3.6.1.5.5.7.3.35" /* id-kp-bundleSecurity */
#define BUNDLE_EID "1.3.6.1.5.5.7.8.11"      /* id-on-bundleEID */

static bool is_oid(const ASN1_OBJECT *o, const char *dotted)
{
    char text[64];
    int n = OBJ_obj2txt(text, sizeof text, o, 1);
    return n > 0 && (size_t)n < sizeof text && strcmp(text, dotted) == 0;
}

/* RFC 9174 §4.4.5 recommends it: who says what it is for says that it is for bundles. */
static bool is_for_bundles(const X509 *cert)
{
    int critical = 0;
    EXTENDED_KEY_USAGE *uses = X509_get_ext_d2i(cert, NID_ext_key_usage, &critical, NULL);
    bool found = uses == NULL && critical == -1; /* there is no such extension */
    for (int i = 0; uses != NULL && i < sk_ASN1_OBJECT_num(uses); i++)
        found = found || is_oid(sk_ASN1_OBJECT_value(uses, i), BUNDLE_SECURITY);
    sk_ASN1_OBJECT_pop_free(uses, ASN1_OBJECT_free);
    return found;
}

/* NULL: it will do. §4.4.2 */
static const char *judge_certificate(X509 *cert, bool any_purpose)
{
    if (X509_get_version(cert) != X509_VERSION_3)
        return "it is not of version 3";
    if ((X509_get_key_usage(cert) & KU_DIGITAL_SIGNATURE) == 0)
        return "its key usage does not allow digital signatures";
    if (!any_purpose && !is_for_bundles(cert))
        return "its extended key usage does not allow bundle security";
    return NULL;
}

int tls_verify(int ok, X509_STORE_CTX *x)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_stream *s = SSL_get_app_data(ssl);
    const char *fault = NULL;
    if (ok != 1)
        fault = X509_verify_cert_error_string(X509_STORE_CTX_get_error(x));
    else if (X509_STORE_CTX_get_error_depth(x) == 0)
        fault = judge_certificate(X509_STORE_CTX_get_current_cert(x), s->any_purpose);
    if (fault == NULL)
        return 1;
    if (s->unverified == NULL)
        s->unverified = fault;
    if (!s->verify)
        return 1;
    /* §4.4.4.1: the peer hears bad_certificate */
    X509_STORE_CTX_set_error(x, X509_V_ERR_CERT_REJECTED);
    return 0;
}

/* ---- names ---- */

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

static bool read_names(struct tls_stream *s, const GENERAL_NAMES *all)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        enum tls_name_kind kind = TLS_DNS;
        char *text = read_name(sk_GENERAL_NAME_value(all, i), &kind);
        if (text == NULL)
            continue;
        if (s->names_len == TLS_NAMES_MAX) {
            free(text);
            snprintf(s->why, sizeof s->why, "the peer's certificate has more than %d names",
                     TLS_NAMES_MAX);
            return false;
        }
        s->names[s->names_len++] = (struct tls_name){kind, text};
    }
    return true;
}

bool tls_look_at_peer(struct tls_stream *s)
{
    assert(s->peer == NULL && s->names_len == 0);
    s->peer = SSL_get1_peer_certificate(s->ssl);
    if (s->peer == NULL) {
        s->unverified = "it shows none";
        return true;
    }
    if (X509_NAME_oneline(X509_get_subject_name(s->peer), s->subject, sizeof s->subject) == NULL)
        s->subject[0] = '\0';
    if (s->unverified != NULL)
        return true;
    GENERAL_NAMES *all = X509_get_ext_d2i(s->peer, NID_subject_alt_name, NULL, NULL);
    bool ok = all == NULL || read_names(s, all);
    GENERAL_NAMES_free(all);
    ERR_clear_error();
    return ok;
}

void tls_forget_peer(struct tls_stream *s)
{
    for (size_t i = 0; i < s->names_len; i++) {
        union { /* we made them */
            const char *in;
            void *out;
        } text = {.in = s->names[i].text};
        free(text.out);
    }
    s->names_len = 0;
    X509_free(s->peer);
    s->peer = NULL;
}

/* ---- what a user asks ---- */

static struct tls_stream *stream_in(const struct stream *s)
{
    return tls_stream_of((struct stream *)(uintptr_t)s); /* it is not changed */
}

bool tls_peer(const struct stream *base, struct tls_peer *out)
{
    const struct tls_stream *s = stream_in(base);
    if (!s->announced)
        return false;
    *out = (struct tls_peer){
        .version = SSL_get_version(s->ssl),
        .cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(s->ssl)),
        .certificate = s->peer != NULL,
        .verified = s->unverified == NULL,
        .unverified = s->unverified,
        .subject = s->subject,
        .names = s->names,
        .names_len = s->names_len,
    };
    assert(!out->verified || out->certificate);
    return true;
}

static bool has_kind(const struct tls_stream *s, enum tls_name_kind kind)
{
    for (size_t i = 0; i < s->names_len; i++)
        if (s->names[i].kind == kind)
            return true;
    return false;
}

enum tls_match tls_match_host(const struct stream *base, const char *host)
{
    const struct tls_stream *s = stream_in(base);
    const unsigned flags =
        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
    if (!has_kind(s, TLS_DNS))
        return TLS_ABSENT;
    bool same = host != NULL && X509_check_host(s->peer, host, strlen(host), flags, NULL) == 1;
    return same ? TLS_SUCCESS : TLS_FAILURE;
}

enum tls_match tls_match_address(const struct stream *base, const struct address *a)
{
    const struct tls_stream *s = stream_in(base);
    struct slice ip = {NULL, 0};
    if (!has_kind(s, TLS_IP))
        return TLS_ABSENT;
    if (a->sa.sa_family == AF_INET)
        ip = slice_of(&a->v4.sin_addr, 4);
    else if (a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
        ip = slice_of(a->v6.sin6_addr.s6_addr + 12, 4);
    else if (a->sa.sa_family == AF_INET6)
        ip = slice_of(&a->v6.sin6_addr, 16);
    bool same = ip.len > 0 && X509_check_ip(s->peer, ip.data, ip.len, 0) == 1;
    return same ? TLS_SUCCESS : TLS_FAILURE;
}

const char *tls_match_text(enum tls_match m)
{
    static const char *const texts[] = {"absent", "success", "failure"};
    return (unsigned)m < sizeof texts / sizeof *texts ? texts[m] : "?";
}

const char *tls_why(const struct stream *base)
{
    return stream_in(base)->why;
}

bool tls_cut(const struct stream *base)
{
    return stream_in(base)->cut;
}
