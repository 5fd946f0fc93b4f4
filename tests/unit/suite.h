/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a test program's main. */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs the suite; returns the program's exit code. */
static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    const int wrong = srunner_ntests_failed(r);
    srunner_free(r);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
