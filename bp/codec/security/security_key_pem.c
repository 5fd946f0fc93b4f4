/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the context COSE: PEM texts of a key file are decoded into its DER, and the key is
 * checked and shown as the context uses it. What can go wrong: a text that is no PEM, that is
 * encrypted, or is longer than the room; a key on another curve than its algorithm says.
 */
#include "bp/codec/security/security_key_private.h"

#include <stdio.h>

#include "bp/codec/security/security_private.h"

/* ---- PEM ---- */

static bool has_prefix(struct slice s, const char *prefix)
{
    const size_t len = strlen(prefix);
    return s.len >= len && memcmp(s.data, prefix, len) == 0;
}

static const char *begin_text(struct pem_reader *r, struct slice label,
                              const struct security_key *k)
{
    static const struct {
        const char *text;
        enum pem_kind kind;
    } labels[] = {{"PRIVATE KEY-----", PEM_PRIVATE},     {"EC PRIVATE KEY-----", PEM_PRIVATE},
                  {"RSA PRIVATE KEY-----", PEM_PRIVATE}, {"PUBLIC KEY-----", PEM_PUBLIC},
                  {"CERTIFICATE-----", PEM_CERTIFICATE}, {"X509 CRL-----", PEM_REVOKED}};
    *r = (struct pem_reader){.kind = PEM_NONE, .start = k->der_len};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (slice_equal(label, slice_of(labels[i].text, strlen(labels[i].text))))
            r->kind = labels[i].kind;
    }
    return r->kind == PEM_NONE ? "expected PEM of a PRIVATE KEY, EC or RSA PRIVATE KEY, PUBLIC "
                                 "KEY, CERTIFICATE or X509 CRL"
                               : NULL;
}

static struct security_der *place_of(enum pem_kind kind, struct security_key *k)
{
    if (kind == PEM_CERTIFICATE)
        return k->certificates_len < COSE_CHAIN_MAX ? &k->certificates[k->certificates_len] : NULL;
    if (kind == PEM_REVOKED)
        return k->revoked_len < COSE_CHAIN_MAX ? &k->revoked[k->revoked_len] : NULL;
    struct security_der *one = kind == PEM_PRIVATE ? &k->private_key : &k->public_key;
    return one->len == 0 ? one : NULL;
}

static const char *end_text(struct pem_reader *r, struct security_key *k)
{
    struct security_der *to = place_of(r->kind, k);
    const size_t len = k->der_len - r->start;
    if (r->characters != 0 || len == 0)
        return "the PEM is not complete";
    if (to == NULL)
        return "a key file has one private and one public key, 4 certificates and 4 revocation "
               "lists at "
               "most";
    *to = (struct security_der){.at = (uint16_t)r->start, .len = (uint16_t)len};
    k->certificates_len += r->kind == PEM_CERTIFICATE;
    k->revoked_len += r->kind == PEM_REVOKED;
    r->kind = PEM_NONE;
    return NULL;
}

static int value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters are three bytes, and one less for each '='. */
static const char *read_character(struct pem_reader *r, uint8_t c, struct security_key *k,
                                  unsigned *padding)
{
    const int value = c == '=' ? 0 : value_of(c);
    if (value < 0 || (r->padded && c != '=') || (c == '=' && r->characters < 2))
        return "the PEM has other characters than Base64";
    r->padded = r->padded || c == '=';
    *padding += c == '=';
    r->bits = r->bits << 6 | (uint32_t)value;
    if (++r->characters < 4)
        return NULL;
    for (unsigned i = 0; i < 3 - *padding; i++) {
        if (k->der_len == SECURITY_KEY_DER)
            return "keys and certificates have more than 8192 bytes";
        k->der[k->der_len++] = (uint8_t)(r->bits >> (16 - 8 * i));
    }
    r->characters = 0;
    return NULL;
}

bool security_pem_line(struct pem_reader *r, struct slice line, struct security_key *k,
                       const char **wrong)
{
    static const char begin[] = "-----BEGIN ";
    unsigned padding = 0;
    if (r->kind == PEM_NONE) {
        if (!has_prefix(line, begin))
            return false;
        *wrong =
            begin_text(r, slice_of(line.data + sizeof begin - 1, line.len - (sizeof begin - 1)), k);
        return true;
    }
    if (has_prefix(line, "-----END ")) {
        *wrong = end_text(r, k);
        return true;
    }
    for (size_t i = 0; i < line.len && *wrong == NULL; i++)
        *wrong = read_character(r, line.data[i], k, &padding);
    return true;
}

/* ---- use ---- */

static struct slice view_of(const struct security_key *k, struct security_der d)
{
    return slice_of(k->der + d.at, d.len);
}

static int refuse_key(char *why, size_t cap, const char *text)
{
    snprintf(why, cap, "%s", text);
    return HELIO_EFORMAT;
}

/* A public key that was found, as OpenSSL writes it. */
struct found {
    enum crypto_family family;
    uint8_t der[CRYPTO_PUBLIC_MAX];
    size_t len; /* 0: none */
};

static bool is_same(const struct found *a, const struct found *b)
{
    return slice_equal(slice_of(a->der, a->len), slice_of(b->der, b->len));
}

/* It is the key's public one from now on. */
static int keep_public(struct security_key *k, const struct found *f, char *why, size_t cap)
{
    if (slice_equal(view_of(k, k->public_key), slice_of(f->der, f->len)))
        return 0;
    if (slice_equal(view_of(k, k->stated), slice_of(f->der, f->len))) {
        k->public_key = k->stated;
        return 0;
    }
    if (f->len > SECURITY_KEY_DER - k->der_len)
        return refuse_key(why, cap, "keys and certificates have more than 8192 bytes");
    memcpy(k->der + k->der_len, f->der, f->len);
    k->public_key = (struct security_der){.at = (uint16_t)k->der_len, .len = (uint16_t)f->len};
    k->der_len += f->len;
    return 0;
}

/* Are keys of this family keys of the algorithm? */
static bool is_family(enum security_algorithm a, enum crypto_family family)
{
    struct crypto_scheme scheme;
    const int64_t alg = security_algorithm_cose(a);
    const struct cose_recipient *r = security_cose_recipient(alg);
    if (security_cose_scheme(alg, &scheme))
        return family == scheme.family;
    return r != NULL &&
           (r->means == COSE_ENCAPSULATES ? family == CRYPTO_RSA
                                          : family <= CRYPTO_P521 || family == CRYPTO_X25519);
}

static int refuse_family(const struct security_key *k, char *why, size_t cap)
{
    snprintf(why, cap, "the key is not one of the algorithm %s",
             security_algorithm_text(k->algorithm));
    return HELIO_EFORMAT;
}

/* The public key of one of the key's parts; without it len is 0. */
static int find_part(const struct security_key *k, struct security_der part, bool is_private,
                     const struct crypto *crypto, struct found *out, char *why, size_t cap)
{
    const struct crypto_signatures *c = &crypto->signatures;
    out->len = 0;
    if (part.len == 0)
        return 0;
    return c->public_of(c->self, view_of(k, part), is_private, &out->family, out->der, &out->len) &&
                   is_family(k->algorithm, out->family)
               ? 0
               : refuse_family(k, why, cap);
}

static int find_certified(const struct security_key *k, const struct crypto *crypto,
                          struct found *out, char *why, size_t cap)
{
    const struct crypto_signatures *c = &crypto->signatures;
    const struct crypto_certificates of = {.certificate = view_of(k, k->certificates[0])};
    out->len = 0;
    if (k->certificates_len == 0)
        return 0;
    const char *wrong = c->certified(c->self, &of, &out->family, out->der, &out->len);
    if (wrong != NULL)
        return refuse_key(why, cap, wrong);
    return is_family(k->algorithm, out->family) ? 0 : refuse_family(k, why, cap);
}

static int check_anchors(const struct security_key *k, const struct crypto *crypto, char *why,
                         size_t cap)
{
    const struct crypto_signatures *c = &crypto->signatures;
    struct slice anchors[COSE_CHAIN_MAX], revoked[COSE_CHAIN_MAX];
    for (size_t i = 0; i < k->certificates_len; i++)
        anchors[i] = view_of(k, k->certificates[i]);
    for (size_t i = 0; i < k->revoked_len; i++)
        revoked[i] = view_of(k, k->revoked[i]);
    const struct crypto_certificates of = {.anchors = anchors,
                                           .anchors_len = k->certificates_len,
                                           .revoked = revoked,
                                           .revoked_len = k->revoked_len};
    const char *wrong = c->readable(c->self, &of);
    return wrong == NULL ? 0 : refuse_key(why, cap, wrong);
}

/* An own private key and the other end's public key. */
static int check_both(struct security_key *k, const struct found *own, const struct found *other,
                      char *why, size_t cap)
{
    if (own->family != other->family)
        return refuse_key(why, cap, "the private key and the public key are on different curves");
    return keep_public(k, other, why, cap);
}

static const char not_its_own[] = "the public key is not that of the private key or certificate";

int security_key_check(struct security_key *k, const struct crypto *crypto, char *why, size_t cap)
{
    struct found own = {0}, stated = {0}, given = {0}, certified = {0};
    const enum key_form form = security_algorithm_form(k->algorithm);
    if (form == FORM_SECRET)
        return 0;
    if (form == FORM_ANCHORS)
        return check_anchors(k, crypto, why, cap);
    int err = find_part(k, k->private_key, true, crypto, &own, why, cap);
    if (err == 0)
        err = find_part(k, k->stated, false, crypto, &stated, why, cap);
    if (err == 0)
        err = find_part(k, k->public_key, false, crypto, &given, why, cap);
    if (err == 0)
        err = find_certified(k, crypto, &certified, why, cap);
    if (err < 0)
        return err;
    if (stated.len > 0 && !is_same(&stated, &own))
        return refuse_key(why, cap, not_its_own);
    if (form == FORM_BOTH)
        return check_both(k, &own, &given, why, cap);
    const struct found *first = own.len > 0 ? &own : given.len > 0 ? &given : &certified;
    if ((given.len > 0 && !is_same(&given, first)) ||
        (certified.len > 0 && !is_same(&certified, first)))
        return refuse_key(why, cap, not_its_own);
    return keep_public(k, first, why, cap);
}

bool security_key_cose(const struct security_key *k, struct security_cose_key *out)
{
    const bool is_public = security_algorithm_form(k->algorithm) != FORM_SECRET;
    const int64_t alg = security_algorithm_cose(k->algorithm);
    *out = (struct security_cose_key){
        .alg = alg,
        .kid = k->kid_len > 0 ? slice_of(k->kid, k->kid_len) : slice_of(k->id, strlen(k->id)),
        .secret = is_public ? view_of(k, k->private_key) : slice_of(k->secret, k->secret_len),
        .public_key = view_of(k, k->public_key),
        .static_kid = slice_of(k->static_kid, k->static_kid_len),
        .base_iv = slice_of(k->base_iv, k->base_iv_len),
        .certificates_len = k->certificates_len,
        .revoked_len = k->revoked_len,
        .identify = k->identify};
    for (size_t i = 0; i < k->revoked_len; i++)
        out->revoked[i] = view_of(k, k->revoked[i]);
    for (size_t i = 0; i < k->certificates_len; i++)
        out->certificates[i] = view_of(k, k->certificates[i]);
    const bool mac = k->algorithm <= SECURITY_KEY_HMAC_512;
    return !mac || k->uri[0] != '\0' || k->secret_len == security_cose_key_bytes(alg);
}
