/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets are equal or not; that all of one is compared is seen by what is read of it. */
#include <string.h>

#include "base/secret.h"
#include "tests/unit/suite.h"

START_TEST(equal_or_not)
{
    static const struct {
        const char *secret, *given;
        bool equal;
    } rows[] = {{"", "", true},
                {"a", "a", true},
                {"secret", "secret", true},
                {"", "a", false},
                {"a", "", false},
                {"secret", "Secret", false},
                {"secret", "secreT", false},
                {"secret", "secre", false},
                {"secret", "secrets", false},
                {"ab", "abab", false},
                {"abab", "ab", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(secret_equal(rows[i].secret, strlen(rows[i].secret), rows[i].given,
                                   strlen(rows[i].given)) == rows[i].equal,
                      "%s %s", rows[i].secret, rows[i].given);
}
END_TEST

/* Each bit of each octet counts. */
START_TEST(one_bit)
{
    unsigned char a[40], b[40];
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = (unsigned char)(i * 37);
    for (size_t bit = 0; bit < 8 * sizeof a; bit++) {
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert(!secret_equal(a, sizeof a, b, sizeof b));
        for (size_t from = 0; from <= bit / 8; from++) /* of any length and place */
            ck_assert(!secret_same(a + from, b + from, sizeof a - from));
        ck_assert(secret_same(a, b, bit / 8));
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ck_assert(secret_equal(a, sizeof a, b, sizeof b));
}
END_TEST

SUITE(base_secret, t)
{
    tcase_add_test(t, equal_or_not);
    tcase_add_test(t, one_bit);
}
