/* SPDX-License-Identifier: Apache-2.0 */
/* The context COSE with key agreement (ECDH) and RSA: the examples A.3, A.7, A.8 and A.9 of
 * draft-ietf-dtn-bpsec-cose-17, with their keys read as COSE_Key; every algorithm on every curve;
 * what a recipient refuses. */
#include "bp_cose_help.h"

#include "bp/codec/security/cose_key.h"
#include "bp/codec/security/security_key.h"
#include "tests/unit/suite.h"

/* A COSE_Key of an example. The two keys of ECDH-SS are no key by themselves. */
static struct cose_key parse_key(struct octets *o, const char *hex)
{
    struct cose_key k;
    const char *wrong = cose_key_parse(octets(o, hex), &k);
    ck_assert_msg(wrong == NULL, "%s", wrong);
    return k;
}

static struct slice der_of(struct octets *o, const struct cose_key *k, bool is_private)
{
    struct writer w = writer_of(o->bytes, sizeof o->bytes);
    if (is_private)
        cose_key_write_private(k, &w);
    else
        cose_key_write_public(k, &w);
    ck_assert(!w.bad);
    return o->slice = slice_of(o->bytes, writer_len(&w));
}

/* A private key, its public key, and an identifier. */
struct pair {
    struct octets text, secret, open;
    struct cose_key key;
};

static void read_pair(struct pair *p, const char *hex)
{
    p->key = parse_key(&p->text, hex);
    der_of(&p->secret, &p->key, true);
    der_of(&p->open, &p->key, false);
}

static enum security_verdict protect(struct security_bundle *b, const struct security_cose_key *k,
                                     uint64_t type)
{
    const struct security_request r = cose_request(k, 1);
    read_hex(COSE_PLAIN, b);
    return type == SECURITY_BIB ? security_sign(b, &r, &crypto) : security_encrypt(b, &r, &crypto);
}

static enum security_verdict accept_at(struct security_bundle *b, const struct security_cose_key *k,
                                       uint64_t type)
{
    return type == SECURITY_BIB ? cose_verify(b, 3, 0, k) : cose_decrypt(b, 3, 0, k);
}

/* A.7: ECDH-ES + A256KW on P-384, without a salt. */
START_TEST(example_of_wrapping)
{
    static struct pair sender, recipient;
    struct octets iv, cek;
    read_pair(&sender, COSE_A7_SENDER);
    read_pair(&recipient, COSE_A7_KEY);
    const struct security_cose_key k = {.alg = recipient.key.alg,
                                        .kid = recipient.key.kid,
                                        .secret = recipient.secret.slice,
                                        .public_key = recipient.open.slice,
                                        .ephemeral = sender.secret.slice,
                                        .salt = slice_of("", 0)};
    struct security_request r = cose_request(&k, 1);
    r.iv = octets(&iv, COSE_IV);
    r.content_key = octets(&cek, COSE_CEK);
    play_example(COSE_PLAIN, COSE_A7, r, SECURITY_BCB);
}
END_TEST

/* A.8: ECDH-SS + HKDF-512 on P-384. The source and the recipient have different keys. */
START_TEST(example_of_agreement)
{
    static struct pair sender, recipient;
    struct octets iv, salt;
    struct security_bundle b;
    read_pair(&sender, COSE_A8_SENDER);
    read_pair(&recipient, COSE_A8_KEY);
    struct security_cose_key k = {.alg = COSE_ECDH_SS_HKDF_512,
                                  .kid = recipient.key.kid,
                                  .static_kid = sender.key.kid,
                                  .secret = sender.secret.slice,
                                  .public_key = recipient.open.slice,
                                  .salt = octets(&salt, COSE_SALT)};
    struct security_request r = cose_request(&k, 1);
    r.iv = octets(&iv, COSE_IV);
    play_example(COSE_PLAIN, COSE_A8, r, SECURITY_BCB); /* the shared secret is the same */
    k.secret = recipient.secret.slice;
    k.public_key = sender.open.slice;
    read_hex(COSE_A8, &b);
    k.static_kid = text_slice("another");
    ck_assert_int_eq(cose_decrypt(&b, 3, 0, &k), SECURITY_BAD_KEY);
    k.static_kid = slice_of(NULL, 0);
    k.public_key = recipient.open.slice; /* another sender */
    ck_assert_int_eq(cose_decrypt(&b, 3, 0, &k), SECURITY_WRONG);
    k.public_key = sender.open.slice;
    ck_assert_int_eq(cose_decrypt(&b, 3, 0, &k), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* A.3 (PS384) and A.9 (RSAES-OAEP with SHA-512) are random: verified and decrypted; what is made
 * anew, too. */
START_TEST(examples_of_rsa)
{
    static struct pair signer, recipient;
    struct security_bundle b;
    read_pair(&signer, COSE_A3_KEY);
    read_pair(&recipient, COSE_A9_KEY);
    struct security_cose_key k = {
        .alg = signer.key.alg, .kid = signer.key.kid, .public_key = signer.open.slice};
    ck_assert_int_eq(k.alg, COSE_PS384);
    read_hex(COSE_A3, &b);
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    k.alg = COSE_PS512;
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_BAD_KEY);
    k.alg = COSE_PS384;
    k.secret = signer.secret.slice;
    ck_assert_int_eq(security_strip(&b, (struct security_operation){.block = 0}), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    struct security_request r = cose_request(&k, 1);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    security_bundle_fini(&b);

    k = (struct security_cose_key){.alg = recipient.key.alg,
                                   .kid = recipient.key.kid,
                                   .public_key = recipient.open.slice,
                                   .secret = recipient.secret.slice};
    ck_assert_int_eq(k.alg, COSE_OAEP_512);
    read_hex(COSE_A9, &b);
    ck_assert_int_eq(cose_decrypt(&b, 3, 0, &k), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    security_bundle_fini(&b);
    ck_assert_int_eq(protect(&b, &k, SECURITY_BCB), SECURITY_OK);
    ck_assert_int_eq(cose_decrypt(&b, 3, 0, &k), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* ---- every algorithm ---- */

static const enum crypto_family curves[] = {CRYPTO_P256, CRYPTO_P384, CRYPTO_P521, CRYPTO_X25519};
static const struct {
    int64_t alg;
    bool is_static;
} agreements[] = {{COSE_ECDH_ES_HKDF_256, false}, {COSE_ECDH_ES_HKDF_512, false},
                  {COSE_ECDH_ES_A128KW, false},   {COSE_ECDH_ES_A256KW, false},
                  {COSE_ECDH_SS_HKDF_256, true},  {COSE_ECDH_SS_HKDF_512, true},
                  {COSE_ECDH_SS_A128KW, true},    {COSE_ECDH_SS_A256KW, true}};
enum {
    CURVES = sizeof curves / sizeof *curves,
    AGREEMENTS = sizeof agreements / sizeof *agreements
};

static void generate(enum crypto_family family, struct octets *secret, struct octets *open)
{
    const struct crypto_exchange *e = &crypto.exchange;
    ck_assert(e->generate(e->self, family, secret->bytes, &secret->slice.len, open->bytes,
                          &open->slice.len));
    secret->slice.data = secret->bytes;
    open->slice.data = open->bytes;
}

/* Every 37th bit of the bundle is altered. */
static void refuse_bits(const struct security_bundle *sent, const struct security_cose_key *k,
                        uint64_t type)
{
    struct buf *bytes = security_bundle_write(sent);
    const struct slice plain = slice_of("ehello", 6); /* the payload of COSE_PLAIN */
    for (size_t bit = 0; bit < bytes->len * 8; bit += 37) {
        struct buf *copy = buf_new(0, bytes->len);
        struct security_bundle b;
        memcpy(buf_append(copy, bytes->len), buf_data(bytes), bytes->len);
        buf_data(copy)[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        if (security_bundle_read(copy, &b, NULL) != 0)
            continue;
        for (size_t i = 0; i < b.len; i++) {
            const struct security_operation op = {.block = i};
            const enum security_verdict v = b.at[i].type != type ? SECURITY_WRONG
                                            : type == SECURITY_BIB
                                                ? security_cose_verify(&b, op, k, 0, &crypto)
                                                : security_cose_decrypt(&b, op, k, &crypto);
            /* a name without meaning was altered */
            if (v == SECURITY_OK && type == SECURITY_BCB)
                assert_bytes(&b, COSE_PLAIN);
            if (v == SECURITY_OK)
                ck_assert_msg(slice_equal(b.at[index_of(&b, 1)].data, plain), "bit %zu", bit);
        }
        security_bundle_fini(&b);
    }
    buf_drop(bytes);
}

/* What makes the key of a block a new one: the ephemeral key, or the salt of static ones. */
static struct slice novelty_of(const struct security_bundle *b, bool is_static)
{
    struct security_block s;
    struct cose_message m;
    ck_assert_ptr_null(security_block_parse(SECURITY_BCB, b->at[index_of(b, 3)].data, &s));
    ck_assert_ptr_null(
        cose_message_parse(s.ids[0], s.results[0], s.added_protected, s.added_unprotected, &m));
    ck_assert_uint_eq(m.len, 1);
    const struct cose_headers *h = &m.at[0].headers;
    const struct slice out = is_static ? h->salt : h->ephemeral_key;
    ck_assert_uint_gt(out.len, 0);
    return out;
}

START_TEST(key_agreements)
{
    struct octets own, own_open, other, other_open;
    struct security_bundle b, next;
    const enum crypto_family family = curves[_i % CURVES];
    const bool is_static = agreements[_i / CURVES].is_static;
    generate(family, &own, &own_open);
    generate(family, &other, &other_open);
    const struct security_cose_key source = {.alg = agreements[_i / CURVES].alg,
                                             .kid = text_slice("k"),
                                             .secret = is_static ? own.slice : slice_of(NULL, 0),
                                             .public_key = other_open.slice};
    const struct security_cose_key recipient = {.alg = source.alg,
                                                .kid = text_slice("k"),
                                                .secret = other.slice,
                                                .public_key =
                                                    is_static ? own_open.slice : slice_of(NULL, 0)};
    ck_assert_int_eq(protect(&b, &source, SECURITY_BCB), SECURITY_OK);
    ck_assert_int_eq(protect(&next, &source, SECURITY_BCB), SECURITY_OK);
    ck_assert(!slice_equal(novelty_of(&b, is_static), novelty_of(&next, is_static)));
    security_bundle_fini(&next);
    refuse_bits(&b, &recipient, SECURITY_BCB);
    ck_assert_int_eq(accept_at(&b, &recipient, SECURITY_BCB), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    security_bundle_fini(&b);
    /* a MAC by an ephemeral key proves nothing */
    ck_assert_int_eq(protect(&b, &source, SECURITY_BIB),
                     is_static ? SECURITY_OK : SECURITY_BAD_KEY);
    if (is_static) {
        refuse_bits(&b, &recipient, SECURITY_BIB);
        ck_assert_int_eq(accept_at(&b, &recipient, SECURITY_BIB), SECURITY_OK);
    }
    security_bundle_fini(&b);
}
END_TEST

/* A recipient with a key of another curve, or of another pair. */
START_TEST(wrong_recipients)
{
    struct octets own, own_open, other, other_open;
    struct security_bundle b;
    generate(CRYPTO_P256, &own, &own_open);
    for (size_t i = 0; i < CURVES; i++) {
        generate(curves[i], &other, &other_open);
        struct security_cose_key k = {
            .alg = COSE_ECDH_ES_A256KW, .kid = text_slice("k"), .public_key = own_open.slice};
        ck_assert_int_eq(protect(&b, &k, SECURITY_BCB), SECURITY_OK);
        k.secret = other.slice;
        ck_assert_int_eq(accept_at(&b, &k, SECURITY_BCB), SECURITY_WRONG);
        k.alg = COSE_ECDH_ES_A128KW;
        ck_assert_int_eq(accept_at(&b, &k, SECURITY_BCB), SECURITY_BAD_KEY);
        k.alg = COSE_ECDH_ES_A256KW;
        k.secret = own.slice;
        ck_assert_int_eq(accept_at(&b, &k, SECURITY_BCB), SECURITY_OK);
        security_bundle_fini(&b);
    }
}
END_TEST

/* Ed25519 keys agree on nothing; keys of a curve do not sign by RSA. */
START_TEST(wrong_sources)
{
    static struct pair rsa;
    struct octets own, own_open;
    struct security_bundle b;
    read_pair(&rsa, COSE_A9_KEY);
    generate(CRYPTO_X25519, &own, &own_open);
    struct security_cose_key k = {
        .alg = COSE_ECDH_ES_HKDF_512, .kid = text_slice("k"), .public_key = rsa.open.slice};
    ck_assert_int_eq(protect(&b, &k, SECURITY_BCB), SECURITY_NO_CRYPTO);
    security_bundle_fini(&b);
    k.alg = COSE_OAEP_256;
    k.public_key = own_open.slice;
    ck_assert_int_eq(protect(&b, &k, SECURITY_BCB), SECURITY_NO_CRYPTO);
    security_bundle_fini(&b);
    k.alg = COSE_PS256;
    k.secret = own.slice;
    ck_assert_int_eq(protect(&b, &k, SECURITY_BIB), SECURITY_NO_CRYPTO);
    security_bundle_fini(&b);
    k.alg = COSE_ECDH_SS_HKDF_512;
    k.secret = slice_of(NULL, 0);
    ck_assert_int_eq(protect(&b, &k, SECURITY_BCB), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
    k.alg = COSE_OAEP_256;
    k.public_key = rsa.open.slice;
    ck_assert_int_eq(protect(&b, &k, SECURITY_BIB), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
}
END_TEST

/* A COSE_Key is the same public key with a compressed point. */
START_TEST(compressed_points)
{
    for (size_t i = 0; i < 3; i++) {
        struct octets own, own_open, text, der, whole;
        struct cose_key k;
        enum crypto_family family;
        const struct crypto_signatures *c = &crypto.signatures;
        generate(curves[i], &own, &own_open);
        struct writer w = writer_of(text.bytes, sizeof text.bytes);
        ck_assert(cose_key_put(&w, curves[i], own_open.slice));
        ck_assert_uint_le(writer_len(&w), COSE_KEY_PUBLIC_MAX);
        ck_assert_ptr_null(cose_key_parse(slice_of(text.bytes, writer_len(&w)), &k));
        ck_assert(cose_key_is_of(&k, own_open.slice));
        k.y_odd = (k.y.data[k.y.len - 1] & 1) != 0;
        k.y = slice_of(NULL, 0);
        ck_assert(cose_key_is_of(&k, own_open.slice));
        der_of(&der, &k, false);
        ck_assert(c->public_of(c->self, der.slice, false, &family, whole.bytes, &whole.slice.len));
        ck_assert(slice_equal(slice_of(whole.bytes, whole.slice.len), own_open.slice));
        k.y_odd = !k.y_odd;
        ck_assert(!cose_key_is_of(&k, own_open.slice));
    }
}
END_TEST

static bool agree(struct slice own, struct slice other, uint8_t out[CRYPTO_SHARED_MAX], size_t *len)
{
    const struct crypto_exchange *e = &crypto.exchange;
    return e->agree(e->self, CRYPTO_LASTING_PRIVATE, own, other, out, len);
}

/* A point that is not on the curve is no key. */
START_TEST(points_off_the_curve)
{
    struct octets own, own_open, other, other_open, text, der;
    struct cose_key k;
    uint8_t shared[CRYPTO_SHARED_MAX];
    size_t len;
    generate(CRYPTO_P384, &own, &own_open);
    generate(CRYPTO_P384, &other, &other_open);
    struct writer w = writer_of(text.bytes, sizeof text.bytes);
    ck_assert(cose_key_put(&w, CRYPTO_P384, other_open.slice));
    ck_assert_ptr_null(cose_key_parse(slice_of(text.bytes, writer_len(&w)), &k));
    der_of(&der, &k, false);
    ck_assert(agree(own.slice, der.slice, shared, &len));
    ck_assert_uint_eq(len, 48);
    der.bytes[der.slice.len - 1] ^= 1;
    ck_assert(!agree(own.slice, der.slice, shared, &len));
    memset(der.bytes + der.slice.len - 96, 0, 96);
    ck_assert(!agree(own.slice, der.slice, shared, &len));
}
END_TEST

SUITE(bp_cose_exchange, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_unchecked_fixture(t, open_table, close_table);
    tcase_add_test(t, example_of_wrapping);
    tcase_add_test(t, example_of_agreement);
    tcase_add_test(t, examples_of_rsa);
    tcase_add_loop_test(t, key_agreements, 0, CURVES * AGREEMENTS);
    tcase_add_test(t, wrong_recipients);
    tcase_add_test(t, wrong_sources);
    tcase_add_test(t, compressed_points);
    tcase_add_test(t, points_off_the_curve);
}
