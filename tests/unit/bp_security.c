/* SPDX-License-Identifier: Apache-2.0 */
/* Bundle security: the four examples of RFC 9173 appendix A octet for octet in both directions,
 * altered bytes, random bundles. */
#include "bp_security_help.h"
#include "tests/unit/suite.h"

/* A.1: BIB over the payload with HMAC 512. */
START_TEST(example_1)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, HMAC_KEY);
    struct security_request r = request(SECURITY_HMAC_512, 0, 2, 1);
    r.key = k.slice;
    read_hex(PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    assert_bytes(&b, A1);
    security_bundle_fini(&b);
    read_hex(A1, &b);
    ck_assert_int_eq(verify(&b, 2, 0, k.slice), SECURITY_OK);
    k.bytes[3] ^= 1;
    ck_assert_int_eq(verify(&b, 2, 0, k.slice), SECURITY_WRONG);
    ck_assert_int_eq(security_strip(&b, (struct security_operation){.block = 0}), SECURITY_OK);
    assert_bytes(&b, PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* A.2: BCB over the payload with a wrapped key of 128 bits. */
START_TEST(example_2)
{
    struct security_bundle b;
    struct key kek, content, iv;
    set_key(&kek, KEK);
    set_key(&content, AES_KEY);
    set_key(&iv, IV);
    struct security_request r = request(SECURITY_AES_128, 0, 2, 1);
    r.key = kek.slice;
    r.wrap = true;
    r.content_key = content.slice;
    r.iv = iv.slice;
    read_hex(PLAIN, &b);
    ck_assert_int_eq(security_encrypt(&b, &r, &crypto), SECURITY_OK);
    assert_bytes(&b, A2);
    security_bundle_fini(&b);
    read_hex(A2, &b);
    ck_assert_int_eq(decrypt(&b, 2, 0, content.slice), SECURITY_BAD_KEY);
    assert_bytes(&b, A2);
    ck_assert_int_eq(decrypt(&b, 2, 0, kek.slice), SECURITY_OK);
    assert_bytes(&b, PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* A.3: a waypoint signs the primary block and the age; the source encrypts the payload. */
START_TEST(example_3)
{
    struct security_bundle b;
    struct key mac, aes, iv;
    set_key(&mac, HMAC_KEY);
    set_key(&aes, AES_KEY);
    set_key(&iv, IV);
    struct security_request sign = request(SECURITY_HMAC_256, 0, 3, 0);
    sign.targets[1] = 2;
    sign.targets_len = 2;
    sign.source = eid_ipn(0, 3, 0);
    sign.key = mac.slice;
    struct security_request seal = request(SECURITY_AES_128, 0, 4, 1);
    seal.key = aes.slice;
    seal.iv = iv.slice;
    read_hex("9f" PRIMARY A3_AGE PAYLOAD "ff", &b);
    ck_assert_int_eq(security_sign(&b, &sign, &crypto), SECURITY_OK);
    ck_assert_int_eq(security_encrypt(&b, &seal, &crypto), SECURITY_OK);
    assert_bytes(&b, A3);
    security_bundle_fini(&b);
    read_hex(A3, &b);
    ck_assert_int_eq(verify(&b, 3, 0, mac.slice), SECURITY_OK);
    ck_assert_int_eq(verify(&b, 3, 1, mac.slice), SECURITY_OK);
    ck_assert_int_eq(decrypt(&b, 4, 0, aes.slice), SECURITY_OK);
    ck_assert_int_eq(security_strip(&b, (struct security_operation){.target = 0}), SECURITY_OK);
    ck_assert_int_eq(verify(&b, 3, 0, mac.slice), SECURITY_OK); /* the age is the first now */
    ck_assert_int_eq(security_strip(&b, (struct security_operation){.target = 0}), SECURITY_OK);
    assert_bytes(&b, "9f" PRIMARY A3_AGE PAYLOAD "ff");
    security_bundle_fini(&b);
}
END_TEST

/* A.4: full scope; the BCB encrypts the payload and its BIB. */
START_TEST(example_4)
{
    struct security_bundle b;
    struct key mac, aes, iv;
    set_key(&mac, HMAC_KEY);
    set_key(&aes, AES_KEY AES_KEY);
    set_key(&iv, IV);
    struct security_request sign = request(SECURITY_HMAC_384, SECURITY_SCOPE_ALL, 3, 1);
    sign.key = mac.slice;
    struct security_request seal = request(SECURITY_AES_256, SECURITY_SCOPE_ALL, 2, 3);
    seal.targets[1] = 1;
    seal.targets_len = 2;
    seal.key = aes.slice;
    seal.iv = iv.slice;
    read_hex(PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &sign, &crypto), SECURITY_OK);
    ck_assert_int_eq(security_encrypt(&b, &seal, &crypto), SECURITY_OK);
    assert_bytes(&b, A4);
    security_bundle_fini(&b);
    read_hex(A4, &b);
    ck_assert_int_eq(verify(&b, 3, 0, mac.slice), SECURITY_ENCRYPTED);
    ck_assert_int_eq(decrypt(&b, 2, 0, aes.slice), SECURITY_OK);
    ck_assert_int_eq(verify(&b, 3, 0, mac.slice), SECURITY_ENCRYPTED); /* the payload still is */
    ck_assert_int_eq(decrypt(&b, 2, 0, aes.slice), SECURITY_OK);
    ck_assert_int_eq(verify(&b, 3, 0, mac.slice), SECURITY_OK);
    ck_assert_uint_eq(b.len, 2);
    security_bundle_fini(&b);
}
END_TEST

enum { CONTEXT_FLAGS_AT = 39 }; /* in the bundle of this test */

/* RFC 9172 §4: reserved flags of blocks and of the scope count as 0. */
static bool has_reserved(const struct security_bundle *b, const struct security_block *s)
{
    uint64_t flags = 0;
    for (size_t i = 0; i < b->len; i++)
        flags |= b->at[i].flags;
    return (flags & ~UINT64_C(0x17)) != 0 || s->scope > SECURITY_SCOPE_ALL;
}

/* Every bit of a bundle with full scope is covered, but for the security block's own parts that
 * name the operation; those lead to another verdict than SECURITY_OK, too. */
START_TEST(altered_bits_do_not_verify)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, HMAC_KEY);
    struct security_request r = request(SECURITY_HMAC_256, SECURITY_SCOPE_ALL, 2, 1);
    r.key = k.slice;
    read_hex(PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    struct buf *sent = security_bundle_write(&b);
    security_bundle_fini(&b);
    const size_t bits = sent->len * 8;
    size_t refused = 0;
    for (size_t i = 0; i < bits; i++) {
        struct buf *altered = buf_new(0, sent->len);
        memcpy(buf_append(altered, sent->len), buf_data(sent), sent->len);
        buf_data(altered)[i / 8] ^= (uint8_t)(1 << (i % 8));
        if (security_bundle_read(altered, &b, NULL) != 0) {
            refused++;
            continue;
        }
        for (size_t at = 0; at < b.len; at++) {
            struct security_block s;
            if (b.at[at].type != SECURITY_BIB ||
                security_block_parse(SECURITY_BIB, b.at[at].data, &s) != NULL)
                continue;
            /* RFC 9173 authenticates neither the source nor reserved context flags. */
            const struct security_operation op = {.block = at};
            if (eid_equal(&s.source, &r.source) && i / 8 != CONTEXT_FLAGS_AT &&
                !has_reserved(&b, &s))
                ck_assert_int_ne(security_verify(&b, op, k.slice, &crypto), SECURITY_OK);
        }
        security_bundle_fini(&b);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_lt(refused, bits);
    buf_drop(sent);
}
END_TEST

START_TEST(wrong_tags_leave_the_ciphertext)
{
    struct security_bundle b;
    struct key aes;
    set_key(&aes, AES_KEY AES_KEY);
    read_hex(A4, &b);
    for (size_t i = 0; i < 32; i++) {
        aes.bytes[i] ^= 0x80;
        ck_assert_int_eq(decrypt(&b, 2, i % 2, aes.slice), SECURITY_WRONG);
        aes.bytes[i] ^= 0x80;
        assert_bytes(&b, A4);
    }
    ck_assert_int_eq(decrypt(&b, 2, 1, aes.slice), SECURITY_OK);
    security_bundle_fini(&b);
}
END_TEST

/* RFC 9173 §4.4: a tag that is not among the results is the end of the ciphertext. */
START_TEST(tag_behind_the_ciphertext)
{
    struct security_bundle b;
    struct key aes;
    set_key(&aes, AES_KEY);
    read_hex("9f" PRIMARY "850c0401005821"
             "8101020182028202018382014c5477656c76653132313231328202018204008180"
             "85010100005833" SEALED "efa4b5ac0108e3816c5606479801bc04ff",
             &b);
    ck_assert_int_eq(decrypt(&b, 4, 0, aes.slice), SECURITY_OK);
    assert_bytes(&b, PLAIN);
    security_bundle_fini(&b);
}
END_TEST

/* Random bundles: blocks are signed and encrypted one by one, and accepted in any order that the
 * rules allow; at the end the bundle is what it was, but for the CRCs of targets. */
static void random_block(struct rng *rng, struct bundle *b, const uint8_t *bytes)
{
    const size_t len = (size_t)(rng_below(rng, 60));
    b->others[b->others_len++] = (struct bundle_block){.type = 192 + rng_below(rng, 60),
                                                       .flags = rng_u64(rng) & 0x17,
                                                       .crc = (enum crc_type)(rng_below(rng, 3)),
                                                       .data = slice_of(bytes, len)};
}

static void accept_all(struct security_bundle *b, struct slice mac, struct slice aes)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < b->len && !again; i++) {
            const struct security_operation op = {.block = i};
            if (b->at[i].type == SECURITY_BCB) {
                ck_assert_int_eq(security_decrypt(b, op, aes, &crypto), SECURITY_OK);
                again = true;
            } else if (b->at[i].type == SECURITY_BIB &&
                       security_verify(b, op, mac, &crypto) == SECURITY_OK) {
                ck_assert_int_eq(security_strip(b, op), SECURITY_OK);
                again = true;
            }
        }
    }
}

static void apply_some(struct rng *rng, struct security_bundle *b, struct slice mac,
                       struct slice aes)
{
    for (int i = 0; i < 12; i++) {
        const bool seal = rng_below(rng, 2);
        struct security_request r =
            request(seal ? (rng_below(rng, 2) ? SECURITY_AES_256 : SECURITY_AES_128)
                         : (enum security_variant)(SECURITY_HMAC_256 + rng_below(rng, 3)),
                    rng_below(rng, 8), 0, rng_below(rng, 8));
        r.wrap = seal && r.variant == SECURITY_AES_128; /* the key has 32 bytes */
        if (!seal && rng_below(rng, 2)) {
            r.targets[1] = (r.targets[0] + 1) % 8;
            r.targets_len = 2;
        }
        r.key = seal ? aes : mac;
        if (seal)
            security_encrypt(b, &r, &crypto);
        else
            security_sign(b, &r, &crypto);
    }
}

START_TEST(random_operations_come_back)
{
    struct key mac, aes;
    set_key(&mac, HMAC_KEY);
    set_key(&aes, AES_KEY AES_KEY);
    struct rng rng;
    rng_init(&rng, (uint64_t)_i + 1);
    uint8_t bytes[400];
    size_t secured = 0;
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)rng_u64(&rng);
        struct bundle plain = sample_bundle(bytes, (size_t)(rng_below(&rng, sizeof bytes)));
        for (uint64_t n = rng_below(&rng, 5); n > 0; n--)
            random_block(&rng, &plain, bytes);
        struct buf *wire = bundle_encode_copy(&plain);
        struct security_bundle b;
        ck_assert_int_eq(security_bundle_read(wire, &b, NULL), 0);
        const size_t before = b.len;
        apply_some(&rng, &b, mac.slice, aes.slice);
        secured += b.len - before;
        struct buf *sent = security_bundle_write(&b);
        security_bundle_fini(&b);
        ck_assert_int_eq(security_bundle_read(sent, &b, NULL), 0);
        accept_all(&b, mac.slice, aes.slice);
        ck_assert_uint_eq(b.len, before);
        ck_assert(slice_equal(b.at[b.len - 1].data, plain.payload));
        for (size_t i = 0; i < plain.others_len; i++)
            ck_assert(
                slice_equal(b.at[before - 1 - plain.others_len + i].data, plain.others[i].data));
        security_bundle_fini(&b);
    }
    ck_assert_uint_gt(secured, 100);
}
END_TEST

/* RFC 9171 §4.3.1: the primary block's integrity block is in the first fragment; the others have a
 * CRC. The first one shows what the whole looked like. */
START_TEST(fragments_of_a_signed_primary_block)
{
    struct security_bundle b;
    struct bundle whole, f;
    struct key k;
    read_hex(PLAIN, &b);
    b.primary.id.time_ms = 1; /* without a clock it needs an age */
    set_key(&k, HMAC_KEY);
    struct security_request r = request(SECURITY_HMAC_384, SECURITY_SCOPE_ALL, 0, 0);
    r.key = k.slice;
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    struct buf *wire = security_bundle_write(&b);
    security_bundle_fini(&b);
    ck_assert_int_eq(bundle_decode(buf_data(wire), wire->len, BUNDLE_STRICT, &whole, NULL), 0);
    for (uint64_t at = 0; at < 20; at += 10) {
        struct buf *part = bundle_fragment(&whole, at, 10);
        ck_assert_int_eq(bundle_decode(buf_data(part), part->len, BUNDLE_STRICT, &f, NULL), 0);
        ck_assert_int_eq(f.crc, at == 0 ? CRC_NONE : CRC_32C);
        buf_drop(part);
    }
    buf_drop(wire);
}
END_TEST

START_TEST(bundles_with_too_many_blocks)
{
    char hex[4096] = "9f" PRIMARY;
    for (int i = 0; i < SECURITY_BLOCKS_MAX; i++)
        sprintf(hex + strlen(hex), "8518c818%02x000040", 30 + i);
    strcat(hex, PAYLOAD "ff");
    struct security_bundle b;
    ck_assert_int_eq(security_bundle_read(bytes_of(hex), &b, NULL), HELIO_ESPACE);
    ck_assert_int_eq(security_bundle_read(bytes_of("9f00ff"), &b, NULL), HELIO_EFORMAT);
}
END_TEST

SUITE(bp_security, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, open_table, close_table);
    tcase_add_test(t, example_1);
    tcase_add_test(t, example_2);
    tcase_add_test(t, example_3);
    tcase_add_test(t, example_4);
    tcase_add_test(t, altered_bits_do_not_verify);
    tcase_add_test(t, wrong_tags_leave_the_ciphertext);
    tcase_add_test(t, tag_behind_the_ciphertext);
    tcase_add_loop_test(t, random_operations_come_back, 0, 5);
    tcase_add_test(t, fragments_of_a_signed_primary_block);
    tcase_add_test(t, bundles_with_too_many_blocks);
}
