/* SPDX-License-Identifier: Apache-2.0 */
/* Files of COSE_Key and COSE_KeySet, and their keys in lines of key files: what is read, for what a
 * key may be used, and what the messages say. */
#include "bp_cose_help.h"

#include "bp/codec/security/security_key.h"
#include "tests/unit/suite.h"

static struct security_key key;
static char why[600];
static size_t count;

static int parse_hex(const char *hex, size_t i)
{
    static uint8_t bytes[8192];
    const size_t len = unhex(hex, bytes, sizeof bytes);
    const char *text = (const char *)bytes;
    ck_assert(security_key_is_cose(text, len));
    const int err = security_key_parse_cose(text, len, i, &count, &key, why, sizeof why);
    return err < 0 ? err : security_key_check(&key, &crypto, why, sizeof why);
}

static int parse_text(const char *text)
{
    const int err = security_key_parse(text, strlen(text), &key, why, sizeof why);
    return err < 0 ? err : security_key_check(&key, &crypto, why, sizeof why);
}

static bool serves(uint64_t type, bool cose, bool source)
{
    const struct security_want w = {.id = key.id, .type = type, .cose = cose, .source = source};
    return security_key_serves(&key, &w);
}

/* The keys of the draft's examples. */
START_TEST(keys_of_the_draft)
{
    struct security_cose_key c;
    ck_assert_msg(parse_hex(COSE_A7_KEY, 0) == 0, "%s", why);
    ck_assert_str_eq(key.id, "ExampleA.7");
    ck_assert_int_eq(key.algorithm, SECURITY_KEY_ES_A256KW);
    ck_assert_uint_eq(count, 1);
    ck_assert(security_key_cose(&key, &c));
    ck_assert(slice_equal(c.kid, text_slice("ExampleA.7")) && c.secret.len > 0);
    ck_assert(serves(SECURITY_BCB, true, false) && serves(SECURITY_BCB, true, true));
    ck_assert(!serves(SECURITY_BIB, true, false) && !serves(SECURITY_BCB, false, false));
    ck_assert_msg(parse_hex(COSE_A3_KEY, 0) == 0, "%s", why);
    ck_assert_int_eq(key.algorithm, SECURITY_KEY_PS384);
    ck_assert(serves(SECURITY_BIB, true, true) && !serves(SECURITY_BCB, true, true));
    ck_assert_msg(parse_hex(COSE_A9_KEY, 0) == 0, "%s", why);
    ck_assert_int_eq(key.algorithm, SECURITY_KEY_OAEP_512);
    ck_assert_int_lt(parse_hex(COSE_A8_KEY, 0), 0);
    ck_assert_ptr_nonnull(strstr(why, "needs the keys of both ends"));
}
END_TEST

#define MAC_KEY                                                                                    \
    "a4010402416103062058"                                                                         \
    "30" COSE_MAC_KEY
#define CEK "a40104024261ff0303205820" COSE_CEK

START_TEST(key_sets)
{
    ck_assert_msg(parse_hex("83" MAC_KEY COSE_A7_KEY CEK, 0) == 0, "%s", why);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(key.id, "a");
    ck_assert_int_eq(key.algorithm, SECURITY_KEY_HMAC_384);
    ck_assert(serves(SECURITY_BIB, true, true) && serves(SECURITY_BIB, false, false));
    ck_assert_msg(parse_hex("83" MAC_KEY COSE_A7_KEY CEK, 1) == 0, "%s", why);
    ck_assert_str_eq(key.id, "ExampleA.7");
    ck_assert_msg(parse_hex("83" MAC_KEY COSE_A7_KEY CEK, 2) == 0, "%s", why);
    ck_assert_str_eq(key.id, "61ff"); /* no word */
    ck_assert_uint_eq(key.kid_len, 2);
    ck_assert_int_lt(parse_hex("83" MAC_KEY COSE_A7_KEY CEK, 3), 0);
    ck_assert_int_lt(parse_hex("80", 0), 0);
    ck_assert_ptr_nonnull(strstr(why, "1 to 64 keys"));
    ck_assert_int_lt(parse_hex("82" MAC_KEY "a1", 0), 0);
    ck_assert_ptr_nonnull(strstr(why, "no COSE_Key"));
    ck_assert_int_lt(parse_hex("82" MAC_KEY "a1024162", 1), 0);
    ck_assert_ptr_nonnull(strstr(why, "key 2 (kid \"b\"): kty (1)"));
}
END_TEST

/* key_ops limits a key to one end. */
START_TEST(operations)
{
    ck_assert_int_eq(parse_hex("a501040241610306048109205830" COSE_MAC_KEY, 0), 0);
    ck_assert(serves(SECURITY_BIB, true, true) && !serves(SECURITY_BIB, true, false));
    ck_assert_int_eq(parse_hex("a50104024161030604810a205830" COSE_MAC_KEY, 0), 0);
    ck_assert(!serves(SECURITY_BIB, true, true) && serves(SECURITY_BIB, true, false));
    ck_assert_int_eq(parse_hex("a5010402416103060482090a205830" COSE_MAC_KEY, 0), 0);
    ck_assert(serves(SECURITY_BIB, true, true) && serves(SECURITY_BIB, true, false));
    ck_assert_int_lt(parse_hex("a50104024161030604811818205830" COSE_MAC_KEY, 0), 0);
    ck_assert_ptr_nonnull(strstr(why, "key_ops (4)"));
}
END_TEST

/* X and Y of a key on P-384, without its private number: the public key of A.7. */
static void public_part(char out[400])
{
    const char *from = strstr(COSE_A7_KEY, "200221"); /* crv, x, y, d */
    ck_assert_ptr_nonnull(from);
    sprintf(out,
            "a601020241780338"
            "1e"
            "%.*s",
            (int)(6 + 4 + 96 + 6 + 96), from);
}

START_TEST(public_keys)
{
    char text[400];
    public_part(text);
    ck_assert_msg(parse_hex(text, 0) == 0, "%s: %s", why, text);
    ck_assert(key.private_key.len == 0 && key.public_key.len > 0);
    ck_assert(serves(SECURITY_BCB, true, true) && !serves(SECURITY_BCB, true, false));
}
END_TEST

/* A private key with the x of another one, in a file or a line. */
START_TEST(contradictions)
{
    char text[1024], lines[2048], open[400];
    public_part(open);
    snprintf(text, sizeof text, "%s", COSE_A7_KEY);
    char *x = strstr(text, "215830");
    ck_assert_ptr_nonnull(x);
    memcpy(x, strstr(COSE_A7_SENDER, "215830"), 2 * 102);
    ck_assert_int_lt(parse_hex(text, 0), 0);
    ck_assert_str_eq(why, "the public key is not that of the private key or certificate");
    snprintf(lines, sizeof lines, "cose_key: %s\nid: b\n", text);
    ck_assert_int_lt(parse_text(lines), 0);
    ck_assert_str_eq(why, "the public key is not that of the private key or certificate");
    snprintf(lines, sizeof lines,
             "id: b\nalgorithm: ecdh-ss-a256kw\ncose_key: a401022002%.*s\n"
             "cose_key: a501022002%.*s\n",
             2 * 102, strstr(open, "215830"), 3 * 102, x);
    ck_assert_int_lt(parse_text(lines), 0);
    ck_assert_str_eq(why, "the public key is not that of the private key or certificate");
    x[7] ^= 1; /* not on the curve */
    ck_assert_int_lt(parse_hex(text, 0), 0);
    ck_assert_str_eq(why, "the key is not one of the algorithm ecdh-es-a256kw");
}
END_TEST

START_TEST(lines)
{
    char text[4096], open[400];
    public_part(open);
    snprintf(text, sizeof text, "id: b\npeers: ipn:2.*\ncose_key: %s\n", COSE_A7_KEY);
    ck_assert_msg(parse_text(text) == 0, "%s", why);
    ck_assert_str_eq(key.id, "b");
    ck_assert_int_eq(key.algorithm, SECURITY_KEY_ES_A256KW);
    ck_assert(key.kid_len == 10 && key.peers.len == 1);
    snprintf(text, sizeof text, "id: b\nalgorithm: ecdh-es-hkdf-512\ncose_key: %s\n", COSE_A7_KEY);
    ck_assert_int_lt(parse_text(text), 0);
    ck_assert_ptr_nonnull(strstr(why, "is not the alg of the COSE_Key"));
    /* ECDH-SS: the public key of the other end, and the own private key */
    snprintf(text, sizeof text,
             "id: b\nalgorithm: ecdh-ss-a256kw\nsender_kid: 0102\ncose_key: a401022002%.*s\n"
             "cose_key: a501022002%.*s\n",
             2 * 102, strstr(open, "215830"), 3 * 102, strstr(COSE_A8_SENDER, "215830"));
    ck_assert_msg(parse_text(text) == 0, "%s", why);
    ck_assert(key.private_key.len > 0 && key.public_key.len > 0 && key.static_kid_len == 2);
    ck_assert(serves(SECURITY_BIB, true, true) && serves(SECURITY_BCB, true, false));
    snprintf(text, sizeof text, "id: b\nalgorithm: aes-256-gcm\ncose_key: %s\n", CEK);
    ck_assert_msg(parse_text(text) == 0, "%s", why);
    ck_assert_uint_eq(key.secret_len, 32);
}
END_TEST

/* ECDH-SS: neither COSE_Key's kid is that of the pair, whatever the order of the lines is. */
START_TEST(order_of_lines)
{
    static const char *const others[] = {"algorithm: ecdh-ss-a256kw\n",
                                         "algorithm: ecdh-ss-a256kw\nkid: 0102\n"};
    char text[8192], pair[2048], open[400];
    public_part(open);
    snprintf(pair, sizeof pair,
             "cose_key: a501020241702002%.*s\n"
             "cose_key: a601020241712002%.*s\n",
             2 * 102, strstr(open, "215830"), 3 * 102, strstr(COSE_A8_SENDER, "215830"));
    for (size_t i = 0; i < 2; i++) {
        for (int first = 0; first < 2; first++) {
            snprintf(text, sizeof text, "id: b\n%s%s", first ? pair : others[i],
                     first ? others[i] : pair);
            ck_assert_msg(parse_text(text) == 0, "%s", why);
            ck_assert_uint_eq(key.kid_len, 2 * i);
        }
    }
}
END_TEST

START_TEST(wrong_keys)
{
    static const struct {
        const char *hex, *why;
    } wrong[] = {
        {"a3010402416103"
         "06",
         "key 1 (kid \"a\"): k (-1) is missing"},
        {"a30104030620581000112233445566778899aabbccddeeff", "kid (2) is missing"},
        {"a3010402416120581000112233445566778899aabbccddeeff", "alg (3) is missing"},
        {"a40104024161031863"
         "20581000112233445566778899aabbccddeeff",
         "alg (3) is not implemented"},
        {"a401040241610303"
         "20581000112233445566778899aabbccddeeff",
         "k (-1): write as many bytes"},
        {"a40104024161033832"
         "20581000112233445566778899aabbccddeeff",
         "this alg has a public or private key: write 1, 2 or 3"},
        {"a3010202416103381e", "crv (-1): write 1 (P-256)"},
        {"a4010102416103381e2001", "crv (-1): write 4 (X25519)"},
        {"a4010202416103381e2001", "x (-2) is missing"},
        {"a5010202416103381e2001214101", "as long as the curve's"},
        {"a4010302416103382520"
         "4101",
         "n (-1) and e (-2)"},
        {"a6010302416103382520"
         "4101"
         "2141032241"
         "05",
         "all of d, p, q"},
        {"a301040104024161", "there twice"},
        {"a101", "no COSE_Key"},
        {"a40105024161030620"
         "4101",
         "kty (1): write 1 (OKP)"},
        {"a40104024161030620f6", "no number, byte string or boolean"},
        {"a50104024161030605410120581000112233445566778899aabbccddeeff", "Base IV (5)"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_lt(parse_hex(wrong[i].hex, 0), 0);
        ck_assert_msg(strstr(why, wrong[i].why) != NULL, "%zu: %s", i, why);
    }
    ck_assert_int_lt(parse_text("id: a\ncose_key: zz\n"), 0);
    ck_assert_str_eq(why, "line 2: cose_key: write its CBOR as hexadecimal digits");
    ck_assert_int_lt(parse_text("id: a\ncose_key: a10104\n"), 0);
    ck_assert_ptr_nonnull(strstr(why, "line 2: cose_key: k (-1) is missing"));
    ck_assert(!security_key_is_cose("id: a", 5) && !security_key_is_cose("", 0));
}
END_TEST

SUITE(bp_cose_key, t)
{
    tcase_add_unchecked_fixture(t, open_table, close_table);
    tcase_add_test(t, keys_of_the_draft);
    tcase_add_test(t, key_sets);
    tcase_add_test(t, operations);
    tcase_add_test(t, public_keys);
    tcase_add_test(t, contradictions);
    tcase_add_test(t, lines);
    tcase_add_test(t, order_of_lines);
    tcase_add_test(t, wrong_keys);
}
