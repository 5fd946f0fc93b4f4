/* SPDX-License-Identifier: Apache-2.0 */
/* Bundle security: blocks that cannot be parsed, operations that RFC 9172 forbids, a library that
 * fails. */
#include "bp_security_help.h"
#include "tests/unit/suite.h"

/* The default of an absent variant is HMAC 384, of absent scope flags all (§3.3). */
START_TEST(defaults_of_absent_parameters)
{
    struct security_block s;
    uint8_t bytes[128];
    size_t len = unhex("8101010082028202018180", bytes, sizeof bytes);
    ck_assert_ptr_null(security_block_parse(SECURITY_BIB, slice_of(bytes, len), &s));
    ck_assert(s.known && !s.has_parameters && !s.has_variant && !s.has_scope);
    ck_assert_int_eq(s.variant, SECURITY_HMAC_384);
    ck_assert_uint_eq(s.scope, SECURITY_SCOPE_ALL);
    ck_assert_uint_eq(s.results[0].len, 0);
}
END_TEST

static const struct {
    uint64_t type;
    const char *hex;
} malformed[] = {
    {SECURITY_BIB, "800101820282020180"},                   /* no target */
    {SECURITY_BIB, "82010101008202820201828080"},           /* a target twice */
    {SECURITY_BIB, "81010100820282020180"},                 /* no array of results for the target */
    {SECURITY_BIB, "810101008202820201818080"},             /* bytes behind the results */
    {SECURITY_BIB, "810101018202820201818201048180"},       /* variant 4 */
    {SECURITY_BIB, "810101018202820201818204008180"},       /* parameter 4 */
    {SECURITY_BIB, "810101018202820201828201058201058180"}, /* variant twice */
    {SECURITY_BIB, "810101008202820201818182024101"},       /* result 2 */
    {SECURITY_BIB, "8101010082028202018181820140"},         /* an empty MAC */
    {SECURITY_BIB, "81010100820282020181828201410182014101"},       /* a result twice */
    {SECURITY_BCB, "8101020082028202018180"},                       /* AES-GCM without IV */
    {SECURITY_BCB, "810102018202820201818201475477656c7665318180"}, /* IV of 7 bytes */
    {SECURITY_BIB, ""},
};

START_TEST(malformed_blocks)
{
    struct security_block s;
    uint8_t bytes[128];
    const size_t len = unhex(malformed[_i].hex, bytes, sizeof bytes);
    ck_assert_ptr_nonnull(security_block_parse(malformed[_i].type, slice_of(bytes, len), &s));
}
END_TEST

/* Another context is kept unread: it may be anything. */
START_TEST(other_contexts_are_unknown)
{
    struct security_block s;
    uint8_t bytes[64];
    size_t len = unhex("81012001820282020181820301a0", bytes, sizeof bytes); /* context -1 */
    ck_assert_ptr_null(security_block_parse(SECURITY_BIB, slice_of(bytes, len), &s));
    ck_assert(!s.known);
    len = unhex("8101040082028202018180", bytes, sizeof bytes); /* unassigned */
    ck_assert_ptr_null(security_block_parse(SECURITY_BCB, slice_of(bytes, len), &s));
    ck_assert(!s.known);
    len = unhex("8101020082028202018180", bytes, sizeof bytes); /* BCB's context in a BIB */
    ck_assert_ptr_null(security_block_parse(SECURITY_BIB, slice_of(bytes, len), &s));
    ck_assert(!s.known);
}
END_TEST

static void assert_refused(struct security_bundle *b, const struct security_request *r, bool seal,
                           enum security_verdict want, const char *unchanged)
{
    ck_assert_int_eq(seal ? security_encrypt(b, r, &crypto) : security_sign(b, r, &crypto), want);
    assert_bytes(b, unchanged);
}

/* RFC 9172 §3.7 to §3.9 and §5.2 */
START_TEST(forbidden_operations)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, AES_KEY AES_KEY);
    struct security_request sign = request(SECURITY_HMAC_256, 7, 0, 1);
    struct security_request seal = request(SECURITY_AES_256, 7, 0, 1);
    sign.key = seal.key = k.slice;
    read_hex(A1, &b);
    assert_refused(&b, &sign, false, SECURITY_CONFLICT, A1); /* has a BIB */
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A1);  /* its BIB would stay readable */
    sign.targets[0] = seal.targets[0] = 2;
    assert_refused(&b, &sign, false, SECURITY_CONFLICT, A1); /* a BIB over a BIB */
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A1);  /* a BIB without its target: §3.8 */
    sign.targets[0] = seal.targets[0] = 9;
    assert_refused(&b, &sign, false, SECURITY_NO_TARGET, A1);
    assert_refused(&b, &seal, true, SECURITY_NO_TARGET, A1);
    seal.targets[0] = 0;
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A1); /* the primary block */
    seal.targets[0] = 1;
    seal.targets[1] = 2;
    seal.targets_len = 2;
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A1); /* two targets, one IV */
    seal.targets_len = 1;
    sign.targets[0] = 0;
    sign.number = 1;
    assert_refused(&b, &sign, false, SECURITY_CONFLICT, A1); /* the payload's number */
    sign.number = 0;
    sign.variant = SECURITY_AES_128;
    assert_refused(&b, &sign, false, SECURITY_CONFLICT, A1);
    sign.variant = SECURITY_HMAC_256;
    sign.key = slice_of(NULL, 0);
    assert_refused(&b, &sign, false, SECURITY_BAD_KEY, A1);
    security_bundle_fini(&b);
    read_hex(A2, &b);
    sign.key = k.slice;
    sign.targets[0] = 1;
    assert_refused(&b, &sign, false, SECURITY_CONFLICT, A2); /* encrypted */
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A2);  /* twice */
    seal.targets[0] = 2;
    assert_refused(&b, &seal, true, SECURITY_CONFLICT, A2); /* a BCB over a BCB */
    security_bundle_fini(&b);
}
END_TEST

/* The target of a BIB was removed on the way. A new block must not get its number: the BIB would be
 * about it. */
START_TEST(numbers_of_removed_targets_stay_free)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, HMAC_KEY);
    struct security_request r = request(SECURITY_HMAC_256, 7, 5, 2);
    r.key = k.slice;
    read_hex("9f" PRIMARY "85070200004319012c" PAYLOAD "ff", &b); /* block 2: bundle age */
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    b.at[1] = b.at[2]; /* the target, between its BIB and the payload, goes */
    b.len = 2;
    r.targets[0] = 1;
    r.number = 2;
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_CONFLICT);
    r.number = 0;
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    ck_assert_uint_eq(b.len, 3);
    ck_assert_uint_eq(b.at[0].number, 5);
    ck_assert_uint_eq(b.at[1].number, 3); /* the lowest that nothing names */
    security_bundle_fini(&b);
}
END_TEST

/* Flags that no document defines are not authenticated, in neither direction. */
START_TEST(reserved_flags_count_as_zero)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, HMAC_KEY);
    struct security_request r = request(SECURITY_HMAC_256, 0xff07, 2, 1);
    r.key = k.slice;
    read_hex(PLAIN, &b);
    b.at[0].flags = 0x28;
    ck_assert_int_eq(security_sign(&b, &r, &crypto), SECURITY_OK);
    b.at[1].flags = 0;
    ck_assert_int_eq(verify(&b, 2, 0, k.slice), SECURITY_OK);
    b.at[1].flags = 1;
    ck_assert_int_eq(verify(&b, 2, 0, k.slice), SECURITY_WRONG);
    security_bundle_fini(&b);
}
END_TEST

/* A BIB over primary block and payload: encrypting one would hide the other's MAC. A security block
 * that cannot be parsed may have any target. A BIB over a BIB is never correct. */
START_TEST(overlaps_and_unreadable_blocks)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, AES_KEY AES_KEY);
    struct security_request sign = request(SECURITY_HMAC_256, 7, 2, 0);
    struct security_request seal = request(SECURITY_AES_256, 7, 0, 2);
    sign.targets[1] = 1;
    sign.targets_len = 2;
    sign.key = seal.key = k.slice;
    read_hex(PLAIN, &b);
    ck_assert_int_eq(security_sign(&b, &sign, &crypto), SECURITY_OK);
    seal.targets[1] = 1;
    seal.targets_len = 2;
    seal.iv = slice_of("123456789012", 12);
    ck_assert_int_eq(security_encrypt(&b, &seal, &crypto), SECURITY_CONFLICT);
    security_bundle_fini(&b);
    read_hex("9f" PRIMARY "850c0200004b8101020082028202018180" PAYLOAD "ff", &b); /* no IV */
    sign.targets_len = 1;
    sign.targets[0] = seal.targets[0] = 1;
    sign.number = 0;
    seal.targets_len = 1;
    ck_assert_int_eq(security_sign(&b, &sign, &crypto), SECURITY_CONFLICT);
    ck_assert_int_eq(security_encrypt(&b, &seal, &crypto), SECURITY_CONFLICT);
    security_bundle_fini(&b);
    read_hex("9f" PRIMARY "850b0300004b8102010082028202018180" A1_BIB PAYLOAD "ff", &b);
    ck_assert_int_eq(verify(&b, 3, 0, k.slice), SECURITY_CONFLICT);
    security_bundle_fini(&b);
}
END_TEST

/* RFC 9172 §3.8, §3.9: a target and its integrity block, each with an IV of its own; the integrity
 * block alone only when its target is encrypted already. */
START_TEST(targets_with_their_integrity_blocks)
{
    struct security_bundle b;
    struct key k;
    uint64_t failed;
    set_key(&k, AES_KEY AES_KEY);
    struct security_request seal = request(SECURITY_AES_256, 7, 0, 2);
    seal.key = k.slice;
    read_hex(A1, &b);
    ck_assert_int_eq(security_encrypt_each(&b, &seal, &crypto, &failed), SECURITY_CONFLICT);
    ck_assert_uint_eq(failed, 2);
    assert_bytes(&b, A1);
    seal.targets[0] = 1;
    ck_assert_int_eq(security_encrypt_each(&b, &seal, &crypto, &failed), SECURITY_OK);
    ck_assert(security_is_encrypted(&b, 1) && security_is_encrypted(&b, 2));
    ck_assert_uint_eq(b.len, 4);
    ck_assert_int_eq(decrypt(&b, 4, 0, k.slice), SECURITY_OK); /* the payload's */
    ck_assert_int_eq(decrypt(&b, 3, 0, k.slice), SECURITY_OK);
    assert_bytes(&b, A1);
    security_bundle_fini(&b);
}
END_TEST

static bool fails(void *self, struct slice key, struct slice iv, struct slice aad, uint8_t *data,
                  size_t len, uint8_t tag[CRYPTO_TAG])
{
    (void)iv, (void)aad, (void)data, (void)len, (void)tag, (void)key, (void)self;
    return false;
}

START_TEST(failing_library_leaves_the_bundle)
{
    struct security_bundle b;
    struct key k;
    set_key(&k, AES_KEY);
    struct security_request seal = request(SECURITY_AES_128, 7, 0, 1);
    seal.key = k.slice;
    struct crypto broken = crypto;
    broken.seal = fails;
    struct bundle plain = sample_bundle("x", 1);
    struct buf *wire = bundle_encode_copy(&plain);
    ck_assert_int_eq(security_bundle_read(wire, &b, NULL), 0);
    ck_assert_int_eq(security_encrypt(&b, &seal, &broken), SECURITY_NO_CRYPTO);
    ck_assert_int_eq(b.at[b.len - 1].crc, CRC_32C);
    security_bundle_fini(&b);
}
END_TEST

SUITE(bp_security_rules, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_unchecked_fixture(t, open_table, close_table);
    tcase_add_test(t, defaults_of_absent_parameters);
    tcase_add_loop_test(t, malformed_blocks, 0, (int)(sizeof malformed / sizeof *malformed));
    tcase_add_test(t, other_contexts_are_unknown);
    tcase_add_test(t, forbidden_operations);
    tcase_add_test(t, numbers_of_removed_targets_stay_free);
    tcase_add_test(t, reserved_flags_count_as_zero);
    tcase_add_test(t, overlaps_and_unreadable_blocks);
    tcase_add_test(t, targets_with_their_integrity_blocks);
    tcase_add_test(t, failing_library_leaves_the_bundle);
}
