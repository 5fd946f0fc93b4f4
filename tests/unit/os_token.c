/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in a SoftHSM token: they give what OpenSSL gives with the same keys, and a token that is
 * away, locked or lacks something verifies nothing. TOKEN_SHIM: the module around SoftHSM's. */
#include <p11-kit/p11-kit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/crypto/crypto.h"
#include "os/crypto/token_keys.h"
#include "tests/unit/suite.h"

#define MODULE "/usr/lib/softhsm/libsofthsm2.so"
#define SHIM "?module-path=" TOKEN_SHIM "&pin-source=.pin"

static struct crypto crypto;
static struct token_keys *tokens;
static const struct crypto *table;
static char folder[64], why[512];
static const uint8_t secret[64] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.";

static void write_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* What is wrong with the token from now on. */
static void set_state(const char *word)
{
    write_file("state", word, 0600);
}

static long count_logins(void)
{
    struct stat st;
    char path[128];
    snprintf(path, sizeof path, "%s/state.logins", folder);
    return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static void add_key(CK_FUNCTION_LIST *m, CK_SESSION_HANDLE s, const char *label, CK_KEY_TYPE type,
                    size_t len, bool usable)
{
    CK_OBJECT_CLASS class = CKO_SECRET_KEY;
    CK_BBOOL yes = CK_TRUE, may = usable ? CK_TRUE : CK_FALSE;
    CK_OBJECT_HANDLE key;
    CK_ATTRIBUTE a[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type},
        {CKA_TOKEN, &yes, sizeof yes},     {CKA_LABEL, (void *)(uintptr_t)label, strlen(label)},
        {CKA_SIGN, &may, sizeof may},      {CKA_ENCRYPT, &may, sizeof may},
        {CKA_DECRYPT, &may, sizeof may},   {CKA_WRAP, &may, sizeof may},
        {CKA_UNWRAP, &may, sizeof may},    {CKA_VALUE, (void *)(uintptr_t)secret, len}};
    ck_assert_uint_eq(m->C_CreateObject(s, a, sizeof a / sizeof *a, &key), CKR_OK);
}

static void fill_token(void)
{
    CK_FUNCTION_LIST *m = p11_kit_module_load(MODULE, 0);
    CK_SLOT_ID slots[4]; /* the token's, then an empty one */
    CK_ULONG n = 4;
    CK_SESSION_HANDLE s;
    CK_UTF8CHAR pin[] = "1234";
    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(p11_kit_module_initialize(m), CKR_OK);
    ck_assert_uint_eq(m->C_GetSlotList(CK_TRUE, slots, &n), CKR_OK);
    ck_assert_uint_ge(n, 1);
    const CK_FLAGS flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
    ck_assert_uint_eq(m->C_OpenSession(slots[0], flags, NULL, NULL, &s), CKR_OK);
    ck_assert_uint_eq(m->C_Login(s, CKU_USER, pin, 4), CKR_OK);
    add_key(m, s, "mac", CKK_GENERIC_SECRET, 64, true);
    add_key(m, s, "mac 2", CKK_GENERIC_SECRET, 64, true);
    add_key(m, s, "mac 8", CKK_GENERIC_SECRET, 8, true);
    add_key(m, s, "aes 16", CKK_AES, 16, true);
    add_key(m, s, "aes 32", CKK_AES, 32, true);
    add_key(m, s, "no use", CKK_AES, 32, false);
    add_key(m, s, "no mac", CKK_GENERIC_SECRET, 32, false);
    add_key(m, s, "twice", CKK_AES, 32, true);
    add_key(m, s, "twice", CKK_AES, 32, true);
    (void)m->C_CloseSession(s);
    ck_assert_uint_eq(p11_kit_module_finalize(m), CKR_OK);
    p11_kit_module_release(m);
}

static void set_up(void)
{
    char text[512];
    strcpy(folder, "/tmp/unit-token-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(text, sizeof text, "%s/tokens", folder);
    ck_assert_int_eq(mkdir(text, 0700), 0);
    snprintf(text, sizeof text, "directories.tokendir = %s/tokens\nlog.level = ERROR\n", folder);
    write_file("softhsm.conf", text, 0600);
    write_file(".pin", "1234\n", 0600);
    snprintf(text, sizeof text, "%s/softhsm.conf", folder);
    setenv("SOFTHSM2_CONF", text, 1);
    snprintf(text, sizeof text, "%s/state", folder);
    setenv("TOKEN_SHIM", text, 1);
    snprintf(text, sizeof text,
             "softhsm2-util --init-token --free --label ops --pin 1234 --so-pin 5678 > %s/out 2>&1",
             folder);
    ck_assert_msg(system(text) == 0, "softhsm2 is missing: tools/setup.sh test");
    fill_token();
    ck_assert(crypto_open(&crypto));
    tokens = token_keys_new(&crypto);
    ck_assert_ptr_nonnull(tokens);
    table = token_keys_crypto(tokens);
}

static void tear_down(void)
{
    char command[128];
    token_keys_free(tokens);
    crypto_close(&crypto);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* 0, or an error with `why`. */
static int open_uri(const char *uri, enum token_use use, unsigned bits, struct slice *name)
{
    static uint8_t names[16][TOKEN_NAME_MAX];
    static size_t used;
    const struct token_want want = {.uri = uri, .folder = folder, .use = use, .bits = bits};
    size_t len = 0;
    uint8_t *room = names[used++ % 16];
    const int err = token_keys_open(tokens, &want, room, &len, why, sizeof why);
    *name = slice_of(room, len);
    return err;
}

static struct slice name_of(const char *object, enum token_use use, unsigned bits)
{
    char uri[512];
    struct slice name;
    snprintf(uri, sizeof uri, "pkcs11:token=ops;object=%s" SHIM, object);
    const int err = open_uri(uri, use, bits, &name);
    ck_assert_msg(err == 0, "%s: %s", object, why);
    token_keys_settle(tokens, true);
    return name;
}

START_TEST(macs_as_of_openssl)
{
    static uint8_t text[5000];
    uint8_t got[CRYPTO_MAC_MAX], want[CRYPTO_MAC_MAX];
    const unsigned bits[] = {256, 384, 512};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)i;
    for (size_t i = 0; i < 3; i++) {
        token_keys_begin(tokens);
        const struct slice name = name_of("mac", TOKEN_HMAC, bits[i]);
        const struct slice key = slice_of(secret, 64);
        for (size_t len = 0; len <= sizeof text; len = 3 * len + 1) {
            const struct slice parts[] = {slice_of(text, len / 3),
                                          slice_of(text + len / 3, len - len / 3)};
            ck_assert(table->mac(table->self, bits[i], name, parts, 2, got));
            ck_assert(crypto.mac(crypto.self, bits[i], key, parts, 2, want));
            ck_assert_int_eq(memcmp(got, want, bits[i] / 8), 0);
            /* the name itself is no key, and the key is for one algorithm */
            ck_assert(crypto.mac(crypto.self, bits[i], name, parts, 2, got));
            ck_assert_int_ne(memcmp(got, want, bits[i] / 8), 0);
            ck_assert(!table->mac(table->self, bits[(i + 1) % 3], name, parts, 2, got));
            ck_assert(!table->absent(table->self));
        }
    }
}
END_TEST

static void seal_both_ways(struct slice name, struct slice key, size_t len)
{
    static uint8_t text[3000], was[3000], sealed[3000];
    uint8_t tag[CRYPTO_TAG], iv[12] = {1, 2, 3};
    const struct slice aad = slice_of("headers", 7), vector = slice_of(iv, sizeof iv);
    const struct crypto *const from[] = {table, &crypto}, *const to[] = {&crypto, table};
    const struct slice with[] = {name, key};
    for (int i = 0; i < 2; i++) {
        iv[0] = (uint8_t)(len + (size_t)i);
        for (size_t k = 0; k < len; k++)
            text[k] = was[k] = (uint8_t)(k * 7);
        ck_assert(from[i]->seal(from[i]->self, with[i], vector, aad, text, len, tag));
        ck_assert(len < 8 || memcmp(text, was, len) != 0);
        memcpy(sealed, text, len);
        tag[3] ^= 1;
        const struct crypto *t = to[i];
        ck_assert(!t->open(t->self, with[1 - i], vector, aad, text, len, tag));
        ck_assert(t->absent == NULL || !t->absent(t->self));
        ck_assert(t->restore(t->self, with[1 - i], vector, aad, text, len));
        ck_assert_int_eq(memcmp(text, sealed, len), 0);
        tag[3] ^= 1;
        ck_assert(!t->open(t->self, with[1 - i], vector, slice_of("header", 6), text, len, tag));
        ck_assert(t->restore(t->self, with[1 - i], vector, slice_of("header", 6), text, len));
        ck_assert(t->open(t->self, with[1 - i], vector, aad, text, len, tag));
        ck_assert_int_eq(memcmp(text, was, len), 0);
    }
}

START_TEST(seals_as_of_openssl)
{
    for (unsigned bits = 128; bits <= 256; bits += 128) {
        const struct slice name = name_of(bits == 128 ? "aes%2016" : "aes%2032", TOKEN_GCM, bits);
        for (size_t len = 0; len < 3000; len = 2 * len + 1)
            seal_both_ways(name, slice_of(secret, bits / 8), len);
    }
}
END_TEST

START_TEST(wraps_as_of_openssl)
{
    uint8_t wrapped[72], again[72], back[64];
    for (unsigned bits = 128; bits <= 256; bits += 128) {
        const struct slice name = name_of(bits == 128 ? "aes%2016" : "aes%2032", TOKEN_WRAP, bits);
        const struct slice key = slice_of(secret, bits / 8);
        for (size_t len = 16; len <= 64; len += 8) {
            ck_assert(table->wrap(table->self, name, slice_of(secret, len), wrapped));
            ck_assert(crypto.wrap(crypto.self, key, slice_of(secret, len), again));
            ck_assert_int_eq(memcmp(wrapped, again, len + 8), 0);
            ck_assert(table->unwrap(table->self, name, slice_of(wrapped, len + 8), back));
            ck_assert_int_eq(memcmp(back, secret, len), 0);
            wrapped[len] ^= 1;
            ck_assert(!table->unwrap(table->self, name, slice_of(wrapped, len + 8), back));
            ck_assert(!table->absent(table->self));
            ck_assert(token_keys_answers(tokens, name));
        }
    }
}
END_TEST

START_TEST(wrong_entries)
{
    static const struct {
        const char *uri;
        enum token_use use;
        unsigned bits;
        const char *state, *text;
    } rows[] = {
        {"pkcs11:token", TOKEN_GCM, 256, "", "no PKCS #11 URI"},
        {"pkcs11:token=ops;objekt=a" SHIM, TOKEN_GCM, 256, "", "RFC 7512 does not define"},
        {"pkcs11:token=ops" SHIM, TOKEN_GCM, 256, "", "names no key"},
        {"pkcs11:object=a;type=cert" SHIM, TOKEN_GCM, 256, "", "write type=secret-key"},
        {"pkcs11:object=a?pin-value=1234", TOKEN_GCM, 256, "", "pin-source=FILE instead"},
        {"pkcs11:object=a?module-path=/none.so", TOKEN_GCM, 256, "", "/none.so cannot be used"},
        {"pkcs11:token=uplink;object=a" SHIM, TOKEN_GCM, 256, "",
         "the token \"uplink\" is not there; these are: \"ops\""},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_GCM, 256, "removed",
         "\"ops\" is not there; no other one is"},
        {"pkcs11:token=ops;object=aes%2032?module-path=" TOKEN_SHIM, TOKEN_GCM, 256, "",
         "wants a PIN; write pin-source"},
        {"pkcs11:token=ops;object=aes%2032" SHIM ".none", TOKEN_GCM, 256, "", ".pin.none: "},
        {"pkcs11:token=ops;object=aes%2032" SHIM ".open", TOKEN_GCM, 256, "", "chmod o="},
        {"pkcs11:token=ops;object=aes%2032" SHIM ".wrong", TOKEN_GCM, 256, "",
         "does not accept the PIN in"},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_GCM, 256, "final",
         "locked by one more wrong PIN"},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_GCM, 256, "locked", "is locked after"},
        {"pkcs11:token=ops;object=other" SHIM, TOKEN_GCM, 256, "",
         "\"ops\" has no secret key of this"},
        {"pkcs11:token=ops;object=twice" SHIM, TOKEN_GCM, 256, "", "several such secret keys"},
        {"pkcs11:token=ops;object=aes%2016" SHIM, TOKEN_GCM, 256, "", "has not 32 bytes"},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_WRAP, 128, "", "has not 16 bytes"},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_HMAC, 256, "", "is an AES key"},
        {"pkcs11:token=ops;object=mac" SHIM, TOKEN_WRAP, 256, "", "is no AES key"},
        {"pkcs11:token=ops;object=mac%208" SHIM, TOKEN_HMAC, 256, "", "less than 16 bytes"},
        {"pkcs11:token=ops;object=no%20use" SHIM, TOKEN_GCM, 256, "", "may not encrypt"},
        {"pkcs11:token=ops;object=no%20use" SHIM, TOKEN_WRAP, 256, "", "may not wrap"},
        {"pkcs11:token=ops;object=no%20mac" SHIM, TOKEN_HMAC, 256, "", "may not sign"},
        {"pkcs11:token=ops;object=mac" SHIM, TOKEN_HMAC, 384, "mechanism",
         "has no mechanism CKM_SHA384_HMAC; an aes-256-kw key"},
        {"pkcs11:token=ops;object=aes%2032" SHIM, TOKEN_WRAP, 256, "mechanism",
         "has no mechanism CKM_AES_KEY_WRAP"},
    };
    struct slice name;
    write_file(".pin.open", "1234\n", 0644);
    write_file(".pin.wrong", "4321\n", 0600);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_state(rows[i].state);
        const int err = open_uri(rows[i].uri, rows[i].use, rows[i].bits, &name);
        ck_assert_msg(err < 0, "%s was accepted", rows[i].uri);
        ck_assert_msg(strstr(why, rows[i].text) != NULL, "%s: %s", rows[i].uri, why);
        ck_assert_msg(strstr(why, "1234") == NULL && strstr(why, "4321") == NULL, "%s", why);
        token_keys_settle(tokens, false);
    }
    set_state("");
    name_of("aes%2032", TOKEN_GCM, 256);
}
END_TEST

/* HMAC-SHA-512 of a text by a key of the table. */
static bool sign_text(struct slice key, uint8_t out[CRYPTO_MAC_MAX])
{
    const struct slice part = slice_of("text", 4);
    return table->mac(table->self, 512, key, &part, 1, out);
}

START_TEST(token_that_is_removed)
{
    uint8_t before[CRYPTO_MAC_MAX], after[CRYPTO_MAC_MAX], text[32] = "sealed", tag[CRYPTO_TAG];
    uint8_t wrapped[40];
    const struct slice mac = name_of("mac", TOKEN_HMAC, 512), iv = slice_of("123456789012", 12);
    const struct slice gcm = name_of("aes%2032", TOKEN_GCM, 256);
    const struct slice kw = name_of("aes%2032", TOKEN_WRAP, 256), none = slice_of(NULL, 0);
    ck_assert(sign_text(mac, before));
    ck_assert(table->seal(table->self, gcm, iv, none, text, 32, tag));
    ck_assert(table->wrap(table->self, kw, slice_of(secret, 32), wrapped));
    set_state("removed");
    for (int i = 0; i < 3; i++) {
        uint8_t out[32], same[32];
        memcpy(same, text, sizeof same);
        ck_assert(!sign_text(mac, after));
        ck_assert(table->absent(table->self));
        ck_assert(!table->open(table->self, gcm, iv, none, text, 32, tag));
        ck_assert(table->absent(table->self));
        ck_assert(table->restore(table->self, gcm, iv, none, text, 32));
        ck_assert_int_eq(memcmp(text, same, sizeof same), 0);
        ck_assert(!table->seal(table->self, gcm, iv, none, text, 32, tag));
        ck_assert(!table->unwrap(table->self, kw, slice_of(wrapped, 40), out));
        ck_assert(table->absent(table->self));
        ck_assert(sign_text(slice_of(secret, 40), after)); /* a key that is no token's */
        ck_assert(!table->absent(table->self));
    }
    ck_assert(!token_keys_answers(tokens, mac) && !token_keys_answers(tokens, kw));
    ck_assert_uint_eq(token_keys_retry(tokens, why, sizeof why), 3);
    ck_assert_ptr_nonnull(strstr(why, "ops"));
    set_state("");
    for (int i = 0; i < 1000 && token_keys_retry(tokens, why, sizeof why) > 0; i++)
        usleep(100000);
    ck_assert(token_keys_answers(tokens, mac));
    ck_assert(sign_text(mac, after));
    ck_assert_int_eq(memcmp(before, after, 64), 0);
    ck_assert(table->open(table->self, gcm, iv, none, text, 32, tag));
    ck_assert_str_eq((const char *)text, "sealed");
}
END_TEST

/* A token locks itself after a few wrong PINs: one is enough for all of its keys. */
START_TEST(wrong_pin_is_tried_once)
{
    uint8_t out[CRYPTO_MAC_MAX];
    const struct slice mac = name_of("mac", TOKEN_HMAC, 512);
    name_of("aes%2032", TOKEN_WRAP, 256);
    name_of("aes%2016", TOKEN_GCM, 128);
    set_state("removed");
    ck_assert(!sign_text(mac, out));
    write_file(".pin", "9999\n", 0600);
    const long before = count_logins();
    ck_assert_int_gt(before, 0);
    (void)token_keys_retry(tokens, why, sizeof why); /* all are closed */
    for (int i = 0; i < 20; i++) {
        set_state(i < 2 ? "removed" : "");
        usleep(100000);
        (void)sign_text(mac, out);
        (void)token_keys_retry(tokens, why, sizeof why);
    }
    ck_assert_int_le(count_logins() - before, 1);
}
END_TEST

START_TEST(list_that_is_not_taken)
{
    uint8_t out[CRYPTO_MAC_MAX];
    struct slice other;
    const struct slice first = name_of("mac", TOKEN_HMAC, 512);
    token_keys_begin(tokens);
    ck_assert_int_eq(open_uri("pkcs11:token=ops;object=mac%202" SHIM, TOKEN_HMAC, 512, &other), 0);
    ck_assert(sign_text(other, out));
    token_keys_settle(tokens, false);
    ck_assert(sign_text(first, out));
    token_keys_begin(tokens);
    const struct slice again = name_of("mac", TOKEN_HMAC, 512);
    ck_assert(slice_equal(first, again));
    token_keys_begin(tokens);
    name_of("mac%202", TOKEN_HMAC, 512); /* taken, without the first one */
    uint8_t openssl[CRYPTO_MAC_MAX];
    const struct slice part = slice_of("text", 4);
    ck_assert(
        sign_text(first, out)); /* a name without its token is a random key, which nobody has */
    ck_assert(crypto.mac(crypto.self, 512, first, &part, 1, openssl));
    ck_assert_int_eq(memcmp(out, openssl, 64), 0);
}
END_TEST

SUITE(os_token, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, macs_as_of_openssl);
    tcase_add_test(t, seals_as_of_openssl);
    tcase_add_test(t, wraps_as_of_openssl);
    tcase_add_test(t, wrong_entries);
    tcase_add_test(t, token_that_is_removed);
    tcase_add_test(t, wrong_pin_is_tried_once);
    tcase_add_test(t, list_that_is_not_taken);
}
