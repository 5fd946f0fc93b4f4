/* SPDX-License-Identifier: Apache-2.0 */
/* Cryptography of many keys in turn: the contexts that are kept give what a new one gives. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/crypto/crypto.h"
#include "tests/unit/suite.h"

enum { KEYS = 20, TEXT = 300 };

static struct crypto crypto;

static void set_up(void)
{
    ck_assert(crypto_open(&crypto));
}

static void tear_down(void)
{
    crypto_close(&crypto);
}

static struct slice key_of(int i, size_t len)
{
    static uint8_t key[64];
    memset(key, i + 1, sizeof key);
    return slice_of(key, len);
}

/* As a table that was opened for it alone. */
static void mac_alone(unsigned bits, struct slice key, const struct slice *text, uint8_t *out)
{
    struct crypto fresh;
    ck_assert(crypto_open(&fresh));
    ck_assert(fresh.mac(fresh.self, bits, key, text, 1, out));
    crypto_close(&fresh);
}

START_TEST(macs_of_many_keys)
{
    uint8_t text[TEXT] = {7}, got[CRYPTO_MAC_MAX], want[CRYPTO_MAC_MAX];
    const unsigned bits[] = {256, 384, 512};
    const struct slice part = slice_of(text, sizeof text);
    for (int i = 0; i < 4 * KEYS; i++) {
        /* few keys come again and again, others rarely */
        const struct slice key = key_of(i % 3 == 0 ? i % KEYS : i % 2, 16 + (size_t)(i % 5) * 8);
        const unsigned b = bits[i % 3];
        if (i == 2 * KEYS)
            crypto_forget(&crypto);
        mac_alone(b, key, &part, want);
        for (int again = 0; again < 2; again++) {
            ck_assert(crypto.mac(crypto.self, b, key, &part, 1, got));
            ck_assert_int_eq(memcmp(got, want, b / 8), 0);
        }
    }
}
END_TEST

/* NIST SP 800-38B, annex D: 40 octets under both keys, in turn and in parts. */
START_TEST(cmac_vectors)
{
    static const uint8_t text[] = {0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d,
                                   0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a, 0xae, 0x2d, 0x8a, 0x57,
                                   0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f, 0xac, 0x45, 0xaf,
                                   0x8e, 0x51, 0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11};
    static const uint8_t key128[] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                     0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    static const uint8_t key256[] = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe,
                                     0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
                                     0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7,
                                     0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
    static const uint8_t want128[] = {0xdf, 0xa6, 0x67, 0x47, 0xde, 0x9a, 0xe6, 0x30,
                                      0x30, 0xca, 0x32, 0x61, 0x14, 0x97, 0xc8, 0x27};
    static const uint8_t want256[] = {0xaa, 0xf3, 0xd8, 0xf1, 0xde, 0x56, 0x40, 0xc2,
                                      0x32, 0xf5, 0xb1, 0x69, 0xb9, 0xc9, 0x11, 0xe6};
    uint8_t got[CRYPTO_CMAC];
    for (size_t cut = 0; cut <= sizeof text; cut++) {
        const struct slice parts[] = {slice_of(text, cut), slice_of(text + cut, sizeof text - cut)};
        ck_assert(crypto.cmac(crypto.self, slice_of(key128, 16), parts, 2, got));
        ck_assert_int_eq(memcmp(got, want128, sizeof got), 0);
        ck_assert(crypto.cmac(crypto.self, slice_of(key256, 32), parts, 2, got));
        ck_assert_int_eq(memcmp(got, want256, sizeof got), 0);
        if (cut == 20)
            crypto_forget(&crypto);
    }
    ck_assert(!crypto.cmac(crypto.self, slice_of(key256, 24), NULL, 0, got));
}
END_TEST

/* Sealed by a table that is used for all, opened by one of its own, and the other way round. */
START_TEST(seals_of_many_keys)
{
    uint8_t text[TEXT], tag[CRYPTO_TAG], iv[16] = {0};
    const struct slice aad = slice_of("aad", 3);
    for (int i = 0; i < 4 * KEYS; i++) {
        const struct slice key = key_of(i % 3 == 0 ? i % KEYS : i % 2, i % 4 < 2 ? 16 : 32);
        const struct slice vector = slice_of(iv, i % 5 == 0 ? 16 : 12);
        struct crypto fresh;
        ck_assert(crypto_open(&fresh));
        const struct crypto *from = i % 2 == 0 ? &crypto : &fresh;
        const struct crypto *to = i % 2 == 0 ? &fresh : &crypto;
        iv[0] = (uint8_t)i;
        memset(text, 5, sizeof text);
        ck_assert(from->seal(from->self, key, vector, aad, text, sizeof text, tag));
        tag[0] ^= 1;
        ck_assert(!to->open(to->self, key, vector, aad, text, sizeof text, tag));
        tag[0] ^= 1;
        ck_assert(
            to->seal(to->self, key, vector, aad, text, sizeof text, (uint8_t[CRYPTO_TAG]){0}));
        ck_assert(to->open(to->self, key, vector, aad, text, sizeof text, tag));
        for (size_t k = 0; k < sizeof text; k++)
            ck_assert_int_eq(text[k], 5);
        if (i == 2 * KEYS)
            crypto_forget(&crypto);
        crypto_close(&fresh);
    }
}
END_TEST

START_TEST(wrong_lengths)
{
    uint8_t text[TEXT] = {0}, tag[CRYPTO_TAG], mac[CRYPTO_MAC_MAX];
    const struct slice none = slice_of(NULL, 0), part = slice_of(text, sizeof text);
    const struct slice key = key_of(1, 16), iv = slice_of(text, 12);
    ck_assert(!crypto.seal(crypto.self, key_of(1, 24), iv, none, text, 1, tag));
    ck_assert(!crypto.seal(crypto.self, key, none, none, text, 1, tag));
    ck_assert(!crypto.mac(crypto.self, 384, none, &part, 1, mac));
    ck_assert(crypto.seal(crypto.self, key, iv, none, text, 1, tag));
}
END_TEST

/* A fork wipes what is kept; the child's operations are right all the same. */
START_TEST(after_a_fork)
{
    uint8_t text[TEXT] = {7}, want[CRYPTO_MAC_MAX], got[CRYPTO_MAC_MAX], zeros[CRYPTO_MAC_MAX];
    const struct slice part = slice_of(text, sizeof text);
    const uint8_t nothing[16] = {0};
    int status;
    mac_alone(256, slice_of(nothing, 16), &part, zeros);
    ck_assert(crypto.mac(crypto.self, 256, key_of(1, 16), &part, 1, want));
    const pid_t child = fork();
    if (child == 0) {
        const bool same = crypto.mac(crypto.self, 256, key_of(1, 16), &part, 1, got) &&
                          memcmp(got, want, 32) == 0 &&
                          crypto.mac(crypto.self, 256, slice_of(nothing, 16), &part, 1, got) &&
                          memcmp(got, zeros, 32) == 0;
        _exit(same ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

SUITE(os_crypto, t)
{
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, macs_of_many_keys);
    tcase_add_test(t, cmac_vectors);
    tcase_add_test(t, seals_of_many_keys);
    tcase_add_test(t, wrong_lengths);
    tcase_add_test(t, after_a_fork);
}
