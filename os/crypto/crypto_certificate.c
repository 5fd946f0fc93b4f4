/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates of signers (draft-ietf-dtn-bpsec-cose-17 §2.5.1, §4): the path to a trust anchor by
 * OpenSSL at the time that the caller gives, then the profile: version 3, a key usage for
 * signatures, id-kp-bundleSecurity in each extended key usage, and the NODE-ID. Revocation is by
 * the lists of the caller alone. What can go wrong is a text.
 */
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "os/crypto/crypto_private.h"
#include "os/tls/tls_certificate.h"

enum { PATH_DEPTH = 8, SECURITY_LEVEL = 2 /* 112 bits */, DER_MAX = 8192 };

static X509 *read_certificate(struct slice der)
{
    const unsigned char *p = der.data;
    X509 *out = der.len > 0 && der.len <= DER_MAX ? d2i_X509(NULL, &p, (long)der.len) : NULL;
    if (out != NULL && p != der.data + der.len) {
        X509_free(out);
        out = NULL;
    }
    return out;
}

static STACK_OF(X509) * read_list(const struct slice *der, size_t len)
{
    STACK_OF(X509) *out = sk_X509_new_null();
    for (size_t i = 0; i < len && out != NULL; i++) {
        X509 *one = read_certificate(der[i]);
        if (one == NULL || sk_X509_push(out, one) <= 0) {
            X509_free(one);
            sk_X509_pop_free(out, X509_free);
            out = NULL;
        }
    }
    return out;
}

/* Every certificate of a path that has an extended key usage allows bundle security. */
static bool is_for_bundles(X509_STORE_CTX *c)
{
    STACK_OF(X509) *path = X509_STORE_CTX_get0_chain(c);
    for (int i = 0; i < sk_X509_num(path); i++) {
        if (!certificate_is_for_bundles(sk_X509_value(path, i)))
            return false;
    }
    return true;
}

/* ---- revocation ---- */

/* NULL: it is malformed. */
static X509_CRL *read_revoked(struct slice der)
{
    const unsigned char *p = der.data;
    X509_CRL *out =
        der.len > 0 && der.len <= DER_MAX ? d2i_X509_CRL(NULL, &p, (long)der.len) : NULL;
    if (out != NULL && p != der.data + der.len) {
        X509_CRL_free(out);
        out = NULL;
    }
    return out;
}

static bool is_list_of_any(X509_CRL *list, STACK_OF(X509) * issuers)
{
    for (int i = 0; i < sk_X509_num(issuers); i++) {
        X509 *one = sk_X509_value(issuers, i);
        if (X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(one)) == 0 &&
            X509_CRL_verify(list, X509_get0_pubkey(one)) == 1)
            return true;
    }
    return false;
}

/* A certificate of the path whose issuer has the name of the list's one. The dates of the list and
 * of the revocation do not count: who has a stolen key can write any creation time into a bundle.
 */
static bool lists_one(X509_CRL *list, STACK_OF(X509) * path)
{
    X509_REVOKED *entry;
    for (int i = 0; i < sk_X509_num(path); i++) {
        if (X509_CRL_get0_by_cert(list, &entry, sk_X509_value(path, i)) == 1)
            return true;
    }
    return false;
}

/* The signatures of the lists were verified when they were read (crypto_readable). Here anybody's
 * bundle would cause that work, before its own signature is verified. */
static const char *find_revoked(STACK_OF(X509) * path, const struct crypto_certificates *of)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < of->revoked_len && wrong == NULL; i++) {
        X509_CRL *list = read_revoked(of->revoked[i]);
        if (list == NULL)
            wrong = "a revocation list is malformed";
        else if (lists_one(list, path))
            wrong = "a certificate is revoked";
        X509_CRL_free(list);
    }
    return wrong;
}

static const char *judge_list(struct slice der, STACK_OF(X509) * anchors)
{
    X509_CRL *list = read_revoked(der);
    const char *wrong = list == NULL ? "a revocation list is malformed"
                        : is_list_of_any(list, anchors)
                            ? NULL
                            : "a revocation list is not of one of the authorities in this file";
    X509_CRL_free(list);
    return wrong;
}

const char *crypto_readable(void *self, const struct crypto_certificates *c)
{
    (void)self;
    STACK_OF(X509) *anchors = read_list(c->anchors, c->anchors_len);
    const char *wrong = anchors == NULL ? "a certificate is malformed" : NULL;
    for (size_t i = 0; i < c->revoked_len && wrong == NULL; i++)
        wrong = judge_list(c->revoked[i], anchors);
    sk_X509_pop_free(anchors, X509_free);
    ERR_clear_error();
    return wrong;
}

/* ---- paths ---- */

static const char *explain_path(int error)
{
    return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID
               ? "a certificate is not valid at the time of the bundle's creation"
               : "no path of certificates leads to a trust anchor";
}

static const char *check_path(X509 *signer, STACK_OF(X509) * others, STACK_OF(X509) * anchors,
                              const struct crypto_certificates *of)
{
    const char *wrong = "out of memory";
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *c = X509_STORE_CTX_new();
    if (store != NULL && c != NULL && X509_STORE_CTX_init(c, store, signer, others) == 1) {
        X509_VERIFY_PARAM *p = X509_STORE_CTX_get0_param(c);
        X509_STORE_CTX_set0_trusted_stack(c, anchors);
        X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_PARTIAL_CHAIN);
        X509_VERIFY_PARAM_set_depth(p, PATH_DEPTH);
        X509_VERIFY_PARAM_set_auth_level(p, SECURITY_LEVEL);
        X509_VERIFY_PARAM_set_time(p, (time_t)of->unix_s);
        wrong = X509_verify_cert(c) != 1 ? explain_path(X509_STORE_CTX_get_error(c))
                : !is_for_bundles(c)     ? "a certificate is not for bundle security"
                                         : find_revoked(X509_STORE_CTX_get0_chain(c), of);
    }
    X509_STORE_CTX_free(c);
    X509_STORE_free(store);
    return wrong;
}

static bool names_node(X509 *signer, const struct crypto_certificates *c)
{
    struct tls_names names = {.len = 0};
    bool found = false;
    (void)certificate_names(signer, &names);
    for (size_t i = 0; i < names.len; i++)
        found =
            found || (names.at[i].kind == TLS_BUNDLE_EID && c->is_node(c->node, names.at[i].text));
    certificate_forget(&names);
    return found;
}

/* Without anchors the signer's certificate is the anchor. */
static const char *validate(X509 *signer, const struct crypto_certificates *c)
{
    const char *wrong = certificate_judge(signer, false);
    if (wrong != NULL)
        return wrong;
    if (!names_node(signer, c))
        return "the certificate does not name the security source";
    const bool pinned = c->anchors_len == 0;
    STACK_OF(X509) *others = read_list(c->others, c->others_len);
    STACK_OF(X509) *anchors =
        read_list(pinned ? &c->certificate : c->anchors, pinned ? 1 : c->anchors_len);
    wrong = others == NULL || anchors == NULL ? "a certificate is malformed"
                                              : check_path(signer, others, anchors, c);
    sk_X509_pop_free(others, X509_free);
    sk_X509_pop_free(anchors, X509_free);
    return wrong;
}

const char *crypto_certified(void *self, const struct crypto_certificates *c,
                             enum crypto_family *family, uint8_t out[CRYPTO_PUBLIC_MAX],
                             size_t *len)
{
    (void)self;
    X509 *signer = read_certificate(c->certificate);
    const char *wrong = signer == NULL ? "a certificate is malformed" : NULL;
    if (wrong == NULL && c->node != NULL)
        wrong = validate(signer, c);
    if (wrong == NULL && !crypto_write_public(X509_get0_pubkey(signer), family, out, len))
        wrong = "the certificate's key is none of P-256, P-384, P-521, Ed25519, X25519 and RSA of "
                "2048 to 4096 bits";
    X509_free(signer);
    ERR_clear_error();
    return wrong;
}
