/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suites of an area are one program. Each registers itself; base_bucket.c ends with
 *
 *     SUITE(base_bucket, t)
 *     {
 *         tcase_add_test(t, ideal_line);
 *     }
 *
 * `unit_base` runs every suite of base/, `unit_base base_bucket` runs this one. A suite has the
 * name of its file: by that name ctest runs it.
 */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <check.h>

struct suite_part {
    const char *suite, *name;
    void (*add_tests)(TCase *t);
    struct suite_part *next;
};

/* Adds a part to its suite. The program's main calls `add_tests` if the suite is to run. */
void suite_register(struct suite_part *part);

/* The suite has several test cases, with fixtures and time limits of their own: one part for each.
 */
#define SUITE_PART(suite, name, t)                                                                 \
    static void add_##suite##_##name(TCase *t);                                                    \
    __attribute__((constructor)) static void register_##suite##_##name(void)                       \
    {                                                                                              \
        static struct suite_part part = {#suite, #name, add_##suite##_##name, NULL};               \
        suite_register(&part);                                                                     \
    }                                                                                              \
    static void add_##suite##_##name(TCase *t)

#define SUITE(suite, t) SUITE_PART(suite, suite, t)

#endif
