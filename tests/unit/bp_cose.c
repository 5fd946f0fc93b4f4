/* SPDX-License-Identifier: Apache-2.0 */
/* The context COSE: the examples of draft-ietf-dtn-bpsec-cose-17 octet for octet in both directions
 * (A.1, A.4 to A.6, A.11, A.12; the signature of A.2 is random), certificates, altered bits, and
 * every algorithm. */
#include "bp_cose_help.h"

#include "bp/codec/cbor.h"
#include "tests/unit/suite.h"

/* A.1, A.11, A.12: COSE_Mac0 with HMAC 384. */
START_TEST(examples_of_mac)
{
    struct octets secret, added;
    struct security_cose_key k = {.alg = COSE_HMAC_384,
                                  .kid = text_slice("ExampleA.1"),
                                  .secret = octets(&secret, COSE_MAC_KEY)};
    play_example(COSE_PLAIN, COSE_A1, cose_request(&k, 1), SECURITY_BIB);
    const struct security_aad_scope wide = {
        .at = {{0, SECURITY_AAD_METADATA},
               {1, SECURITY_AAD_METADATA | SECURITY_AAD_CONTENT},
               {SECURITY_AAD_TARGET, SECURITY_AAD_METADATA}},
        .len = 3};
    struct security_request r = cose_request(&k, 2);
    r.aad = &wide;
    play_example(COSE_A11_PLAIN, COSE_A11, r, SECURITY_BIB);
    struct security_cose_key in_block = k;
    in_block.identify = SECURITY_BY_X5CHAIN; /* no kid in the message */
    in_block.added_protected = octets(&added, "a1044a4578616d706c65412e31");
    play_example(COSE_PLAIN, COSE_A12, cose_request(&in_block, 1), SECURITY_BIB);
    /* an additional protected header is authenticated */
    struct security_bundle b;
    struct buf *bytes = bytes_of(COSE_A12);
    uint8_t *kid = memmem(buf_data(bytes), bytes->len, "ExampleA.1", 10);
    ck_assert_ptr_nonnull(kid);
    kid[9] = '2';
    ck_assert_int_eq(security_bundle_read(bytes, &b, NULL), 0);
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_BAD_KEY);
    k.kid = text_slice("ExampleA.2");
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_WRONG);
    security_bundle_fini(&b);
}
END_TEST

/* A.4, A.5, A.6: COSE_Encrypt0 with a Partial IV; COSE_Encrypt with key wrap, and with HKDF. */
START_TEST(examples_of_encryption)
{
    struct octets secret, base, partial, cek, iv, salt;
    struct security_cose_key k = {.alg = COSE_A256GCM,
                                  .kid = text_slice("ExampleA.4"),
                                  .secret = octets(&secret, COSE_CEK),
                                  .base_iv = octets(&base, COSE_BASE_IV),
                                  .partial_iv = octets(&partial, "484a")};
    play_example(COSE_PLAIN, COSE_A4, cose_request(&k, 1), SECURITY_BCB);
    k = (struct security_cose_key){
        .alg = COSE_A256KW, .kid = text_slice("ExampleA.5"), .secret = octets(&secret, COSE_KEK)};
    struct security_request r = cose_request(&k, 1);
    r.content_key = octets(&cek, COSE_CEK);
    r.iv = octets(&iv, COSE_IV);
    play_example(COSE_PLAIN, COSE_A5, r, SECURITY_BCB);
    k = (struct security_cose_key){.alg = COSE_HKDF_512,
                                   .kid = text_slice("ExampleA.6"),
                                   .secret = octets(&secret, COSE_KDK),
                                   .salt = octets(&salt, COSE_SALT)};
    r.content_key = slice_of(NULL, 0);
    play_example(COSE_PLAIN, COSE_A6, r, SECURITY_BCB);
}
END_TEST

/* The public key of a private one. */
static struct slice public_of(struct octets *o, struct slice private_key)
{
    enum crypto_family family;
    ck_assert(crypto.signatures.public_of(crypto.signatures.self, private_key, true, &family,
                                          o->bytes, &o->slice.len));
    o->slice.data = o->bytes;
    return o->slice;
}

/* A.2: COSE_Sign1 with ESP384, verified by the public key and by the certificate. */
START_TEST(example_of_signature)
{
    struct octets secret, public_key, cert, other;
    struct security_bundle b;
    struct security_cose_key k = {.alg = COSE_ESP384,
                                  .kid = text_slice("ExampleA.2"),
                                  .secret = octets(&secret, COSE_SIGN_KEY)};
    k.public_key = public_of(&public_key, k.secret);
    read_hex(COSE_A2, &b);
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    k.alg = COSE_ES384; /* the same for this curve */
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    k.alg = COSE_ESP256;
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_BAD_KEY);
    k.alg = COSE_ESP384;
    k.certificates[0] = octets(&cert, COSE_SIGN_CERT);
    k.certificates_len = 1;
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    k.certificates[0] = octets(&other, COSE_OTHER_CERT); /* of another node, for key agreement */
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_NOT_TRUSTED);
    k.certificates_len = 0;
    ck_assert_int_eq(security_strip(&b, (struct security_operation){.block = 0}), SECURITY_OK);
    assert_bytes(&b, COSE_PLAIN);
    struct security_request r = cose_request(&k, 1);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    ck_assert_int_eq(cose_verify(&b, 3, 0, &k), SECURITY_OK);
    security_bundle_fini(&b);
}
END_TEST

/* ---- certificates ---- */

static struct octets ca_octets, cert_octets, key_octets;

static struct security_cose_key signer(enum security_identify identify)
{
    return (struct security_cose_key){
        .alg = COSE_ESP384,
        .secret = octets(&key_octets, COSE_SIGN_KEY),
        .certificates = {octets(&cert_octets, COSE_SIGN_CERT), octets(&ca_octets, COSE_CA)},
        .certificates_len = 2,
        .identify = identify};
}

static enum security_verdict verify_by(struct security_request r, const char *plain,
                                       const struct security_cose_key *anchor)
{
    struct security_bundle b, received;
    read_hex(plain, &b);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    struct buf *sent = security_bundle_write(&b);
    security_bundle_fini(&b);
    ck_assert_int_eq(security_bundle_read(sent, &received, NULL), 0);
    const enum security_verdict v = cose_verify(&received, 3, 0, anchor);
    security_bundle_fini(&received);
    return v;
}

/* {32: [certificate of another node, certificate]} */
static struct slice bag_of(struct octets *o, struct slice certificate, const char *other)
{
    struct octets der;
    struct writer w = writer_of(o->bytes, sizeof o->bytes);
    item_put_map(&w, 1);
    item_put_uint(&w, 32);
    item_put_array(&w, 2);
    octets(&der, other);
    item_put_bytes_head(&w, der.slice.len);
    writer_bytes(&w, der.slice.data, der.slice.len);
    item_put_bytes_head(&w, certificate.len);
    writer_bytes(&w, certificate.data, certificate.len);
    ck_assert(!w.bad);
    return o->slice = slice_of(o->bytes, writer_len(&w));
}

/* COSE_PLAIN of another creation time, without CRC. */
#define PLAIN_AT(time)                                                                             \
    "9f880700008201692f2f6473742f7376638201692f2f7372632f7376638201662f2f7372632f82" time "001a"   \
    "000f42408601010002466568656c6c6f444ec359d2ff"

START_TEST(certificates)
{
    struct octets ca, cert, other;
    struct security_cose_key k = signer(SECURITY_BY_X5CHAIN), thumb = signer(SECURITY_BY_X5T);
    const struct security_cose_key anchor = {.certificates = {octets(&ca, COSE_CA)},
                                             .certificates_len = 1};
    const struct security_cose_key pinned = {
        .alg = COSE_ES384, .certificates = {octets(&cert, COSE_SIGN_CERT)}, .certificates_len = 1};
    const struct security_cose_key both = {
        .certificates = {anchor.certificates[0], pinned.certificates[0]}, .certificates_len = 2};
    const struct security_cose_key wrong = {.alg = COSE_ES384,
                                            .certificates = {octets(&other, COSE_OTHER_CERT)},
                                            .certificates_len = 1};
    ck_assert_int_eq(verify_by(cose_request(&k, 1), COSE_PLAIN, &anchor), SECURITY_OK);
    ck_assert_int_eq(verify_by(cose_request(&k, 1), COSE_PLAIN, &pinned), SECURITY_OK);
    ck_assert_int_eq(verify_by(cose_request(&k, 1), COSE_PLAIN, &wrong), SECURITY_BAD_KEY);
    ck_assert_int_eq(verify_by(cose_request(&thumb, 1), COSE_PLAIN, &pinned), SECURITY_OK);
    ck_assert_int_eq(verify_by(cose_request(&thumb, 1), COSE_PLAIN, &both), SECURITY_OK);
    ck_assert_int_eq(verify_by(cose_request(&thumb, 1), COSE_PLAIN, &anchor), SECURITY_BAD_KEY);
    struct octets bag;
    thumb.added_protected = bag_of(&bag, pinned.certificates[0], COSE_OTHER_CERT);
    ck_assert_int_eq(verify_by(cose_request(&thumb, 1), COSE_PLAIN, &anchor), SECURITY_OK);
    thumb.added_protected = bag_of(&bag, anchor.certificates[0], COSE_OTHER_CERT);
    ck_assert_int_eq(verify_by(cose_request(&thumb, 1), COSE_PLAIN, &anchor), SECURITY_BAD_KEY);
    /* the CA is another one */
    struct security_cose_key strange = anchor;
    strange.certificates[0] = octets(&other, COSE_OTHER_CERT);
    ck_assert_int_eq(verify_by(cose_request(&k, 1), COSE_PLAIN, &strange), SECURITY_NOT_TRUSTED);
    /* valid from 2025-10-06 to 2025-10-16, at the time of creation */
    ck_assert_int_eq(verify_by(cose_request(&k, 1), PLAIN_AT("1b000000bd51281400"), &anchor),
                     SECURITY_OK);
    ck_assert_int_eq(verify_by(cose_request(&k, 1), PLAIN_AT("1b000000bd81281400"), &anchor),
                     SECURITY_NOT_TRUSTED);
    ck_assert_int_eq(verify_by(cose_request(&k, 1), PLAIN_AT("1b000000bd31281400"), &pinned),
                     SECURITY_NOT_TRUSTED);
    /* without a clock at the source: the present of the verifier, here 2000-01-01 */
    ck_assert_int_eq(verify_by(cose_request(&k, 1), PLAIN_AT("00"), &anchor), SECURITY_NOT_TRUSTED);
    /* another security source than the certificate names; a service of the node is its node */
    struct security_request r = cose_request(&k, 1);
    r.source = eid_named("dtn://other/");
    ck_assert_int_eq(verify_by(r, COSE_PLAIN, &anchor), SECURITY_NOT_TRUSTED);
    r.source = eid_named("dtn://src/in/7");
    ck_assert_int_eq(verify_by(r, COSE_PLAIN, &anchor), SECURITY_OK);
}
END_TEST

/* ---- all algorithms ---- */

static const struct {
    int64_t alg;
    size_t bytes;
} symmetric[] = {{COSE_HMAC_256, 32}, {COSE_HMAC_384, 48}, {COSE_HMAC_512, 64}, {COSE_A128KW, 16},
                 {COSE_A256KW, 32},   {COSE_HKDF_512, 32}, {COSE_A128GCM, 16},  {COSE_A256GCM, 32}};

/* Every bit outside of the security block's content matters, and of a MAC or signature at its end.
 * Unprotected headers may be changed: the message is then for another key, or for any. */
static void refuse_altered(struct buf *sent, const struct security_cose_key *k, uint64_t type,
                           struct slice content)
{
    const uint8_t *found = memmem(buf_data(sent), sent->len, content.data, content.len);
    ck_assert_ptr_nonnull(found);
    const bool ends = type == SECURITY_BIB && k->alg != COSE_A128KW && k->alg != COSE_A256KW &&
                      k->alg != COSE_HKDF_512;
    const size_t first = (size_t)(found - buf_data(sent)),
                 last = first + content.len - (ends ? 32 : 0);
    for (size_t bit = 0; bit < sent->len * 8; bit++) {
        if (bit / 8 >= first && bit / 8 < last)
            continue;
        struct buf *bytes = buf_new(0, sent->len);
        struct security_bundle b;
        memcpy(buf_append(bytes, sent->len), buf_data(sent), sent->len);
        buf_data(bytes)[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        if (security_bundle_read(bytes, &b, NULL) != 0)
            continue;
        for (size_t i = 0; i < b.len; i++) {
            const struct security_operation op = {.block = i};
            if (b.at[i].type != type)
                continue;
            const enum security_verdict v = type == SECURITY_BIB
                                                ? security_cose_verify(&b, op, k, 0, &crypto)
                                                : security_cose_decrypt(&b, op, k, &crypto);
            ck_assert_msg(v != SECURITY_OK, "bit %zu", bit);
        }
        security_bundle_fini(&b);
    }
}

static void play_key(const struct security_cose_key *k, const struct security_cose_key *verifier,
                     uint64_t type)
{
    struct security_bundle b;
    struct security_request r = cose_request(k, 1);
    r.scope = SECURITY_SCOPE_ALL;
    read_hex(PLAIN_AT("1b000000bd51281400"),
             &b); /* CRC-32C of the payload: altered bits reach us */
    b.at[b.len - 1].crc = CRC_NONE;
    ck_assert_int_eq(type == SECURITY_BIB ? security_sign(&b, &r, &crypto)
                                          : security_encrypt(&b, &r, &crypto),
                     SECURITY_OK);
    struct buf *sent = security_bundle_write(&b);
    refuse_altered(sent, verifier, type, b.at[index_of(&b, 3)].data);
    ck_assert_int_eq(type == SECURITY_BIB ? cose_verify(&b, 3, 0, verifier)
                                          : cose_decrypt(&b, 3, 0, verifier),
                     SECURITY_OK);
    ck_assert_int_eq(slice_equal(b.at[b.len - 1].data, slice_of("ehello", 6)), 1);
    security_bundle_fini(&b);
    buf_drop(sent);
}

START_TEST(symmetric_algorithms)
{
    uint8_t secret[64];
    memset(secret, 0x5a, sizeof secret);
    for (size_t i = 0; i < sizeof symmetric / sizeof *symmetric; i++) {
        const struct security_cose_key k = {.alg = symmetric[i].alg,
                                            .kid = text_slice("k"),
                                            .secret = slice_of(secret, symmetric[i].bytes)};
        if (k.alg != COSE_A128GCM && k.alg != COSE_A256GCM)
            play_key(&k, &k, SECURITY_BIB);
        if (k.alg < COSE_HMAC_256)
            play_key(&k, &k, SECURITY_BCB);
    }
}
END_TEST

/* PKCS #8 of the curves, up to the private number. */
static const struct {
    int64_t algs[2];
    const char *head;
    size_t bytes;
} asymmetric[] = {
    {{COSE_ES256, COSE_ESP256},
     "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420",
     32},
    {{COSE_ES384, COSE_ESP384},
     "304e020100301006072a8648ce3d020106052b81040022043730350201010430",
     48},
    {{COSE_ES512, COSE_ESP512},
     "3060020100301006072a8648ce3d020106052b81040023044930470201010442",
     66},
    {{COSE_EDDSA, COSE_ED25519}, "302e020100300506032b657004220420", 32},
};

START_TEST(signature_algorithms)
{
    const size_t i = (size_t)_i / 2;
    struct octets secret, public_key;
    octets(&secret, asymmetric[i].head);
    memset(secret.bytes + secret.slice.len, 0x11, asymmetric[i].bytes);
    if (asymmetric[i].bytes == 66)
        secret.bytes[secret.slice.len] = 0; /* below the order of P-521 */
    secret.slice.len += asymmetric[i].bytes;
    const struct security_cose_key k = {
        .alg = asymmetric[i].algs[_i % 2], .kid = text_slice("k"), .secret = secret.slice};
    const struct security_cose_key verifier = {.alg = asymmetric[i].algs[0],
                                               .kid = text_slice("k"),
                                               .public_key = public_of(&public_key, k.secret)};
    play_key(&k, &verifier, SECURITY_BIB);
    struct security_bundle b;
    struct security_request r = cose_request(&verifier, 1);
    read_hex(COSE_PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_BAD_KEY); /* a public key */
    r.cose = &k;
    ck_assert_int_eq(security_encrypt(&b, &r, &crypto), SECURITY_BAD_KEY);
    assert_bytes(&b, COSE_PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* Several targets in one block: one is removed, the others remain correct. */
START_TEST(several_targets)
{
    struct octets secret;
    struct security_bundle b;
    const struct security_cose_key k = {.alg = COSE_HMAC_512,
                                        .kid = text_slice("k"),
                                        .secret = octets(&secret, COSE_MAC_KEY COSE_SALT)};
    struct security_request r = cose_request(&k, 1);
    r.targets[0] = 2;
    r.targets[1] = 0;
    r.targets[2] = 1;
    r.targets_len = 3;
    r.scope = SECURITY_SCOPE_ALL;
    read_hex(COSE_A11_PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(cose_verify(&b, 3, i, &k), SECURITY_OK);
    ck_assert_int_eq(cose_verify(&b, 3, 3, &k), SECURITY_MALFORMED);
    const struct security_operation first = {.block = index_of(&b, 3)};
    ck_assert_int_eq(security_strip(&b, first), SECURITY_OK);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(cose_verify(&b, 3, i, &k), SECURITY_OK);
    ck_assert_int_eq(security_strip(&b, first), SECURITY_OK);
    ck_assert_int_eq(security_strip(&b, first), SECURITY_OK);
    assert_bytes(&b, COSE_A11_PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* The functions of the other contexts refuse COSE, and these refuse the others. */
START_TEST(contexts_do_not_mix)
{
    struct octets secret;
    struct security_bundle b;
    const struct security_cose_key k = {.alg = COSE_HMAC_384,
                                        .kid = text_slice("ExampleA.1"),
                                        .secret = octets(&secret, COSE_MAC_KEY)};
    read_hex(COSE_A1, &b);
    ck_assert_int_eq(verify(&b, 3, 0, k.secret), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
    read_hex(COSE_A4, &b);
    ck_assert_int_eq(decrypt(&b, 3, 0, k.secret), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
    read_hex(A1, &b);
    ck_assert_int_eq(cose_verify(&b, 2, 0, &k), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
    read_hex(A2, &b);
    ck_assert_int_eq(cose_decrypt(&b, 2, 0, &k), SECURITY_BAD_KEY);
    security_bundle_fini(&b);
}
END_TEST

SUITE(bp_cose, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_unchecked_fixture(t, open_table, close_table);
    tcase_add_test(t, examples_of_mac);
    tcase_add_test(t, examples_of_encryption);
    tcase_add_test(t, example_of_signature);
    tcase_add_test(t, certificates);
    tcase_add_test(t, symmetric_algorithms);
    tcase_add_loop_test(t, signature_algorithms, 0, 8);
    tcase_add_test(t, several_targets);
    tcase_add_test(t, contexts_do_not_mix);
}
