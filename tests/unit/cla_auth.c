/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ciphersuites of RFC 5327: against values computed by others, there and back, with every byte
 * changed; and what is said of key files that are none.
 */
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "cla/ltp/auth.h"
#include "tests/unit/suite.h"

static char path[2][64];

static void write_file(int i, const char *text)
{
    snprintf(path[i], sizeof path[i], "/tmp/helio_auth_%ld_%d", (long)getpid(), i);
    FILE *f = fopen(path[i], "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fchmod(fileno(f), 0600), 0); /* it may be a private key */
    fputs(text, f);
    fclose(f);
}

static void remove_files(void)
{
    for (int i = 0; i < 2; i++)
        if (path[i][0] != '\0')
            unlink(path[i]);
}

static struct ltp_auth *opened(enum ltp_auth_suite suite)
{
    struct auth_config c = {
        .suite = suite, .key_file = path[0], .peer_key_file = path[1], .key_id = "moon"};
    struct ltp_auth *a = NULL;
    const char *key = "";
    char why[256] = "";
    ck_assert_msg(auth_open(&a, &c, &key, why, sizeof why) == 0, "%s: %s", key, why);
    ck_assert_int_eq(a->suite, suite);
    ck_assert_uint_eq(a->key_id_len, 4);
    return a;
}

static void refused(enum ltp_auth_suite suite, const char *file, const char *peer_file,
                    const char *key, const char *text)
{
    struct auth_config c = {.suite = suite, .key_file = file, .peer_key_file = peer_file};
    struct ltp_auth *a = NULL;
    const char *which = "";
    char why[256] = "";
    ck_assert_int_eq(auth_open(&a, &c, &which, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(which, key);
    ck_assert_msg(strstr(why, text) != NULL, "%s", why);
    ck_assert_ptr_null(a);
}

/* RFC 2202 §3, cases 3 and 5: the left 80 bits of HMAC-SHA1. */
START_TEST(hmac_of_others)
{
    const uint8_t want3[] = {0x12, 0x5d, 0x73, 0x42, 0xb9, 0xac, 0x11, 0xcd, 0x91, 0xa3};
    const uint8_t want5[] = {0x4c, 0x1a, 0x03, 0x42, 0x4b, 0x55, 0xe0, 0x7f, 0xe7, 0xf2};
    uint8_t data[50], value[LTP_AUTH_VALUE_MAX];
    memset(data, 0xdd, sizeof data);
    write_file(0, "aaaaaaaa aaaaaaaa AAAAAAAA aaaaaaaa\naaaaaaaa\n");
    struct ltp_auth *a = opened(LTP_HMAC_SHA1_80);
    ck_assert_uint_eq(a->value_len, 10);
    ck_assert(a->sign(a->context, slice_of(data, sizeof data), value));
    ck_assert_mem_eq(value, want3, 10);
    auth_close(a);
    write_file(0, "0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c");
    a = opened(LTP_HMAC_SHA1_80);
    ck_assert(a->sign(a->context, slice_of("Test With Truncation", 20), value));
    ck_assert_mem_eq(value, want5, 10);
    auth_close(a);
}
END_TEST

static void write_key(int i, EVP_PKEY *k, bool is_private)
{
    write_file(i, "");
    FILE *f = fopen(path[i], "w");
    ck_assert_int_eq(fchmod(fileno(f), 0600), 0); /* it may be a private key */
    ck_assert_int_eq(is_private ? PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL)
                                : PEM_write_PUBKEY(f, k),
                     1);
    fclose(f);
}

/* Signs, verifies, and refuses each changed byte of what is covered and of the value. */
static void there_and_back(const struct ltp_auth *a)
{
    uint8_t data[70], value[LTP_AUTH_VALUE_MAX];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    struct slice covered = slice_of(data, sizeof data), got = slice_of(value, a->value_len);
    ck_assert(a->sign(a->context, covered, value));
    ck_assert(a->verify(a->context, covered, got));
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] ^= 1;
        ck_assert(!a->verify(a->context, covered, got));
        data[i] ^= 1;
    }
    for (size_t i = 0; i < got.len; i++) {
        value[i] ^= 0x80;
        ck_assert(!a->verify(a->context, covered, got));
        value[i] ^= 0x80;
    }
    for (size_t len = 0; len < got.len; len++)
        ck_assert(!a->verify(a->context, covered, slice_of(value, len)));
    ck_assert(a->verify(a->context, covered, got));
}

START_TEST(hmac)
{
    write_file(0, "000102030405060708090a0b0c0d0e0f");
    struct ltp_auth *a = opened(LTP_HMAC_SHA1_80), *n = opened(LTP_AUTH_NULL);
    uint8_t value[LTP_AUTH_VALUE_MAX];
    there_and_back(a);
    there_and_back(n);
    ck_assert(a->sign(a->context, slice_of("x", 1), value));
    ck_assert(!n->verify(n->context, slice_of("x", 1), slice_of(value, 10)));
    auth_close(a);
    auth_close(n);
}
END_TEST

/* The NULL ciphersuite is HMAC-SHA1-80 with the key that RFC 5327 prints. */
START_TEST(null_key)
{
    uint8_t value[LTP_AUTH_VALUE_MAX];
    write_file(0, "c37b7e64 92584340 bed12207 80894115 5068f738");
    struct ltp_auth *a = opened(LTP_HMAC_SHA1_80), *n = opened(LTP_AUTH_NULL);
    ck_assert(n->sign(n->context, slice_of("segment", 7), value));
    ck_assert(a->verify(a->context, slice_of("segment", 7), slice_of(value, 10)));
    auth_close(a);
    auth_close(n);
}
END_TEST

START_TEST(rsa)
{
    EVP_PKEY *k = EVP_RSA_gen(2048), *other = EVP_RSA_gen(2048);
    write_key(0, k, true);
    write_key(1, k, false);
    struct ltp_auth *a = opened(LTP_RSA_SHA256);
    ck_assert_uint_eq(a->value_len, 256);
    there_and_back(a);
    uint8_t value[LTP_AUTH_VALUE_MAX];
    ck_assert(a->sign(a->context, slice_of("x", 1), value));
    write_key(1, other, false);
    struct ltp_auth *b = opened(LTP_RSA_SHA256);
    ck_assert(!b->verify(b->context, slice_of("x", 1), slice_of(value, 256)));
    auth_close(a);
    auth_close(b);
    EVP_PKEY_free(k);
    EVP_PKEY_free(other);
}
END_TEST

START_TEST(files_that_hold_no_key)
{
    refused(LTP_HMAC_SHA1_80, "", "", "auth.key_file", "is not given");
    refused(LTP_HMAC_SHA1_80, NULL, NULL, "auth.key_file", "is not given");
    refused(LTP_HMAC_SHA1_80, "/nonexistent/key", "", "auth.key_file", "No such file");
    refused(LTP_HMAC_SHA1_80, "/tmp", "", "auth.key_file", "hexadecimal");
    const char *const texts[] = {"", "00", "000102030405060708090a0b0c0d0e0",
                                 "not a key at all..."};
    for (int i = 0; i < 4; i++) {
        write_file(0, texts[i]);
        refused(LTP_HMAC_SHA1_80, path[0], "", "auth.key_file", "16 to 128 bytes");
        refused(LTP_RSA_SHA256, path[0], "", "auth.key_file", "not such a key");
    }
    EVP_PKEY *small = EVP_RSA_gen(1024), *k = EVP_RSA_gen(2048);
    write_key(0, small, true);
    refused(LTP_RSA_SHA256, path[0], "", "auth.key_file", "1024 bits");
    write_key(0, k, true);
    refused(LTP_RSA_SHA256, path[0], "", "auth.peer_key_file", "is not given");
    refused(LTP_RSA_SHA256, path[0], path[0], "auth.peer_key_file", "not such a key");
    EVP_PKEY_free(small);
    EVP_PKEY_free(k);
    struct auth_config c = {.suite = LTP_AUTH_NULL, .key_id = "seventeen letters"};
    struct ltp_auth *a = NULL;
    const char *which = "";
    char why[256] = "";
    ck_assert_int_eq(auth_open(&a, &c, &which, why, sizeof why), HELIO_EINVAL);
    ck_assert_str_eq(which, "auth.key_id");
}
END_TEST

START_TEST(hex)
{
    uint8_t out[3];
    ck_assert_int_eq(hex_parse("", 0, out, 3), 0);
    ck_assert_int_eq(hex_parse(" 0A b\nF ", 8, out, 3), 2);
    ck_assert_mem_eq(out, "\x0a\xbf", 2);
    ck_assert_int_eq(hex_parse("010203", 6, out, 3), 3);
    ck_assert_int_eq(hex_parse("01020304", 8, out, 3), HELIO_EFORMAT);
    ck_assert_int_eq(hex_parse("012", 3, out, 3), HELIO_EFORMAT);
    ck_assert_int_eq(hex_parse("0g", 2, out, 3), HELIO_EFORMAT);
}
END_TEST

SUITE(cla_auth, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, NULL, remove_files);
    tcase_add_test(t, hmac_of_others);
    tcase_add_test(t, hmac);
    tcase_add_test(t, null_key);
    tcase_add_test(t, rsa);
    tcase_add_test(t, files_that_hold_no_key);
    tcase_add_test(t, hex);
}
