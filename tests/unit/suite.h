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
#include <stdbool.h>

/*
 * Check writes the place of each check that passes to a file, so that it can say which one a crash
 * came after. That takes a third of the time of suites with checks in loops. Here a place is
 * written when a test reaches it for the first time.
 */
#define _mark_point(file, line)                                                                    \
    __extension__({                                                                                \
        static bool place_is_written;                                                              \
        if (!__atomic_load_n(&place_is_written, __ATOMIC_RELAXED)) {                               \
            __atomic_store_n(&place_is_written, true, __ATOMIC_RELAXED);                           \
            _mark_point(file, line);                                                               \
        }                                                                                          \
        (void)0;                                                                                   \
    })

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
