/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer's identity: is its certificate valid (RFC 9174 §4.4.4.1), and which names does it have?
 * OpenSSL verifies the path to a CA. The permitted use of a certificate follows the profile of RFC
 * 9174 instead of that of the web (tls_certificate.h). What can go wrong: any fault of a
 * certificate, each with a text; the first is reported. If the peer need not be verified, the
 * handshake continues, and none of its names is used.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/net/address.h"
#include "os/tls/tls_private.h"

int tls_verify(int ok, X509_STORE_CTX *x)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_stream *s = SSL_get_app_data(ssl);
    const char *fault = NULL;
    const int error = X509_STORE_CTX_get_error(x);
    s->untrusted =
        s->untrusted || (ok != 1 && (error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
                                     error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
                                     error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY));
    if (ok != 1 && error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
        fault = "self-signed certificate, which is not among the trusted ones";
    else if (ok != 1)
        fault = X509_verify_cert_error_string(error);
    else if (X509_STORE_CTX_get_error_depth(x) == 0)
        fault = certificate_judge(X509_STORE_CTX_get_current_cert(x), s->any_purpose);
    else if (!s->nodes_issue && certificate_names_node(X509_STORE_CTX_get_current_cert(x)))
        fault = "it was issued by a node's certificate";
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

bool tls_look_at_peer(struct tls_stream *s)
{
    assert(s->peer == NULL && s->names.len == 0);
    s->peer = SSL_get1_peer_certificate(s->ssl);
    if (s->peer == NULL) {
        s->unverified = "it shows none";
        return true;
    }
    if (X509_NAME_oneline(X509_get_subject_name(s->peer), s->subject, sizeof s->subject) == NULL)
        s->subject[0] = '\0';
    if (s->unverified != NULL)
        return true;
    const bool ok = certificate_names(s->peer, &s->names);
    if (!ok)
        snprintf(s->why, sizeof s->why, "the peer's certificate has more than %d names",
                 TLS_NAMES_MAX);
    return ok;
}

void tls_forget_peer(struct tls_stream *s)
{
    certificate_forget(&s->names);
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
        .names = s->names.at,
        .names_len = s->names.len,
    };
    assert(!out->verified || out->certificate);
    return true;
}

static bool has_kind(const struct tls_stream *s, enum tls_name_kind kind)
{
    for (size_t i = 0; i < s->names.len; i++)
        if (s->names.at[i].kind == kind)
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

enum tls_fault tls_fault(const struct stream *base)
{
    const struct tls_stream *s = stream_in(base);
    if (s->why[0] == '\0')
        return TLS_FAULT_NONE;
    if (s->alert >= 0)
        return TLS_FAULT_BY_PEER;
    return s->verify && s->unverified != NULL ? TLS_FAULT_CERTIFICATE : TLS_FAULT_OTHER;
}

bool tls_cut(const struct stream *base)
{
    return stream_in(base)->cut;
}
