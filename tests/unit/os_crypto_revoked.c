/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation lists: which are accepted beside trust anchors, and which certificates they revoke. */
#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"
#include "tests/unit/tls_help.h"

enum { DER_MAX = 2048, TWO = 2 };

/* Two authorities; the first one certified another, and that one the signer. */
struct scene {
    struct crypto crypto;
    struct pair ca, other, middle, signer;
    uint8_t der[8][DER_MAX];
    size_t used;
    struct slice anchors[TWO], others[1], lists[TWO];
};

static struct scene scene;

static uint8_t *take_room(void)
{
    ck_assert_uint_lt(scene.used, sizeof scene.der / sizeof *scene.der);
    return scene.der[scene.used++];
}

static struct slice der_of(X509 *cert)
{
    uint8_t *room = take_room(), *p = room;
    ck_assert(i2d_X509(cert, NULL) <= DER_MAX);
    return slice_of(room, (size_t)i2d_X509(cert, &p));
}

/* Revokes the certificate, if it is one of that authority; of `day` from NOW. */
static struct slice make_list(const struct pair *by, const EVP_PKEY *key, const X509 *revoked,
                              long day)
{
    X509_CRL *list = X509_CRL_new();
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_TIME *time = ASN1_TIME_set(NULL, NOW + day * DAY);
    X509_CRL_set_version(list, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list, X509_get_subject_name(by->cert));
    X509_CRL_set1_lastUpdate(list, time);
    X509_CRL_set1_nextUpdate(list, time);
    X509_REVOKED_set_serialNumber(entry,
                                  (ASN1_INTEGER *)(uintptr_t)X509_get0_serialNumber(revoked));
    X509_REVOKED_set_revocationDate(entry, time);
    ck_assert_int_eq(X509_CRL_add0_revoked(list, entry), 1);
    X509_CRL_sort(list);
    ck_assert_int_gt(X509_CRL_sign(list, (EVP_PKEY *)(uintptr_t)key, EVP_sha256()), 0);
    uint8_t *room = take_room(), *p = room;
    ck_assert(i2d_X509_CRL(list, NULL) <= DER_MAX);
    const size_t len = (size_t)i2d_X509_CRL(list, &p);
    ASN1_TIME_free(time);
    X509_CRL_free(list);
    return slice_of(room, len);
}

static void set_up(void)
{
    static const struct wish authority = {.ca = true, .use = "keyCertSign,cRLSign"};
    struct scene *s = &scene;
    memset(s, 0, sizeof *s);
    ck_assert(crypto_open(&s->crypto));
    s->ca = make_pair("the CA", &authority);
    s->other = make_pair("another CA", &authority);
    s->middle =
        make_pair("an issuer", &(struct wish){.ca = true, .use = authority.use, .by = &s->ca});
    s->signer = make_pair("two", &(struct wish){.names = EID_NAME "ipn:2.0",
                                                .use = "digitalSignature",
                                                .purpose = "1.3.6.1.5.5.7.3.35",
                                                .by = &s->middle});
    s->anchors[0] = der_of(s->ca.cert);
    s->anchors[1] = der_of(s->other.cert);
    s->others[0] = der_of(s->middle.cert);
}

static void tear_down(void)
{
    drop_pair(&scene.ca);
    drop_pair(&scene.other);
    drop_pair(&scene.middle);
    drop_pair(&scene.signer);
    crypto_close(&scene.crypto);
}

static bool is_node(const void *node, const char *text)
{
    return strcmp(node, text) == 0;
}

/* With the first n lists. */
static struct crypto_certificates given(size_t n)
{
    return (struct crypto_certificates){.others = scene.others,
                                        .others_len = 1,
                                        .anchors = scene.anchors,
                                        .anchors_len = TWO,
                                        .revoked = scene.lists,
                                        .revoked_len = n,
                                        .unix_s = NOW,
                                        .is_node = is_node,
                                        .node = "ipn:2.0"};
}

static const char *read_lists(size_t n)
{
    const struct crypto_certificates c = given(n);
    return scene.crypto.signatures.readable(scene.crypto.signatures.self, &c);
}

static const char *certify(size_t n)
{
    struct crypto_certificates c = given(n);
    enum crypto_family family;
    uint8_t key[CRYPTO_PUBLIC_MAX], *room = take_room(), *p = room;
    size_t len;
    c.certificate = slice_of(room, (size_t)i2d_X509(scene.signer.cert, &p));
    scene.used--;
    return scene.crypto.signatures.certified(scene.crypto.signatures.self, &c, &family, key, &len);
}

/* A list of an anchor revokes what it names on the path, whatever its date is. */
START_TEST(revoked)
{
    const struct scene *s = &scene;
    ck_assert_ptr_null(certify(0));
    for (long day = -400; day <= 400; day += 400) {
        scene.used = 3;
        scene.lists[0] = make_list(&s->ca, s->ca.key, s->middle.cert, day);
        ck_assert_ptr_null(read_lists(1));
        ck_assert_str_eq(certify(1), "a certificate is revoked");
    }
    scene.anchors[1] = scene.others[0]; /* the issuer itself is an anchor, too */
    scene.lists[0] = make_list(&s->ca, s->ca.key, s->signer.cert, 0);
    scene.lists[1] = make_list(&s->middle, s->middle.key, s->signer.cert, 0);
    ck_assert_ptr_null(read_lists(2));
    ck_assert_ptr_null(certify(1));
    ck_assert_str_eq(certify(2), "a certificate is revoked");
}
END_TEST

/* A list with the same serial numbers, but of another authority or of other certificates. */
START_TEST(unrelated)
{
    const struct scene *s = &scene;
    scene.lists[0] = make_list(&s->other, s->other.key, s->middle.cert, 0);
    scene.lists[1] = make_list(&s->ca, s->ca.key, s->other.cert, 0);
    ck_assert_ptr_null(read_lists(2));
    ck_assert_ptr_null(certify(2));
}
END_TEST

/* A list counts beside the certificate of its authority alone, and by that one's signature. This
 * is verified when a file is read; a bundle's verification would repeat it for anybody. */
START_TEST(accepted_lists)
{
    static const char strange[] = "a revocation list is not of one of the authorities in this file";
    const struct scene *s = &scene;
    scene.lists[0] = make_list(&s->middle, s->middle.key, s->signer.cert, 0);
    ck_assert_str_eq(read_lists(1), strange);
    scene.lists[0] = make_list(&s->ca, s->other.key, s->middle.cert, 0); /* forged */
    ck_assert_str_eq(read_lists(1), strange);
    ck_assert_str_eq(certify(1), "a certificate is revoked"); /* by its name */
    scene.lists[0].len--;
    ck_assert_str_eq(read_lists(1), "a revocation list is malformed");
    ck_assert_str_eq(certify(1), "a revocation list is malformed");
}
END_TEST

SUITE(os_crypto_revoked, t)
{
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, revoked);
    tcase_add_test(t, unrelated);
    tcase_add_test(t, accepted_lists);
}
