/* SPDX-License-Identifier: Apache-2.0 */
/* The main of each program of unit tests: runs the suites that its arguments name, without
 * arguments all. A name without a suite fails, and so does a run without tests. */
#include "tests/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct suite_part *parts, **parts_end = &parts;

void suite_register(struct suite_part *part)
{
    *parts_end = part;
    parts_end = &part->next;
}

static bool has_suite(const char *name)
{
    for (const struct suite_part *p = parts; p != NULL; p = p->next)
        if (strcmp(p->suite, name) == 0)
            return true;
    return false;
}

static bool is_named(const char *suite, char **names)
{
    if (*names == NULL)
        return true;
    while (*names != NULL && strcmp(*names, suite) != 0)
        names++;
    return *names != NULL;
}

/* The parts of a suite follow each other: they are registered from one file. */
static void add_suites(SRunner *r, char **names)
{
    const struct suite_part *last = NULL;
    Suite *s = NULL;
    for (const struct suite_part *p = parts; p != NULL; p = p->next) {
        if (!is_named(p->suite, names))
            continue;
        if (last == NULL || strcmp(last->suite, p->suite) != 0)
            srunner_add_suite(r, s = suite_create(p->suite));
        last = p;
        TCase *t = tcase_create(p->name);
        p->add_tests(t);
        suite_add_tcase(s, t);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!has_suite(argv[i])) {
            fprintf(stderr, "%s: no suite %s\n", argv[0], argv[i]);
            return 2;
        }
    }
    SRunner *r = srunner_create(NULL);
    add_suites(r, argv + 1);
    srunner_run_all(r, CK_ENV);
    const bool passed = srunner_ntests_run(r) > 0 && srunner_ntests_failed(r) == 0;
    srunner_free(r);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
