/* SPDX-License-Identifier: Apache-2.0 */
/* One space of errors: what the system says has a code in it, and each code a text. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "tests/unit/suite.h"

START_TEST(the_systems_errors_have_codes)
{
    static const struct {
        int number, code;
    } known[] = {{ENOMEM, HELIO_ENOMEM}, {EINVAL, HELIO_EINVAL},   {EAGAIN, HELIO_EAGAIN},
                 {ENOENT, HELIO_ENOENT}, {EEXIST, HELIO_EEXIST},   {ENOSPC, HELIO_ESPACE},
                 {EDQUOT, HELIO_ESPACE}, {EBADMSG, HELIO_EFORMAT}, {EIO, HELIO_EIO}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_int_eq(helio_code(helio_from_errno(known[i].number)), known[i].code);
    for (int number = 1; number < 200; number++) {
        int code = helio_code(helio_from_errno(number));
        ck_assert_int_lt(code, 0);
        ck_assert_str_ne(helio_strerror(code), "unknown error");
    }
}
END_TEST

/* A person reads the system's words, and a program finds the number again. */
START_TEST(the_systems_number_stays)
{
    for (int number = 1; number < 134; number++) {
        int error = helio_from_errno(number);
        if (number == ENOMEM || number == 41 || number == 58) /* the latter two are not in use */
            continue;
        ck_assert_int_lt(error, HELIO_ESTOPPED); /* none of the plain codes */
        ck_assert_int_eq(helio_errno(error), number);
        ck_assert_str_eq(helio_strerror(error), strerror(number));
    }
    ck_assert_int_eq(helio_from_errno(ENOMEM), HELIO_ENOMEM);
    ck_assert_int_eq(helio_from_errno(0), 0);
    ck_assert_str_eq(helio_strerror(helio_from_errno(4000)), "unknown error");
}
END_TEST

START_TEST(plain_codes_are_themselves)
{
    for (int code = HELIO_OK; code >= HELIO_ESTOPPED; code--) {
        ck_assert_int_eq(helio_code(code), code);
        ck_assert_int_eq(helio_errno(code), 0);
    }
    ck_assert_int_eq(helio_code(5), 0); /* a success that counts */
    ck_assert_int_eq(helio_errno(5), 0);
    ck_assert_str_eq(helio_strerror(INT_MIN), "unknown error");
}
END_TEST

START_TEST(texts_differ)
{
    for (int a = HELIO_OK; a >= HELIO_ESTOPPED; a--) {
        for (int b = HELIO_OK; b > a; b--)
            ck_assert_str_ne(helio_strerror(a), helio_strerror(b));
    }
    ck_assert_str_eq(helio_strerror(HELIO_ESTOPPED - 1), "unknown error");
}
END_TEST

SUITE(base_err, t)
{
    tcase_add_test(t, the_systems_errors_have_codes);
    tcase_add_test(t, the_systems_number_stays);
    tcase_add_test(t, plain_codes_are_themselves);
    tcase_add_test(t, texts_differ);
}
