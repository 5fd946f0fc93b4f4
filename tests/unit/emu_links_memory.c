/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of reading a file of links, and changes of them by name, fails once: it is an
 * error that is told, and nothing is left behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/scenario/scenario_links.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

static const char text[] =
    "start: 5s\n"
    "seed: 3\n"
    "link: {both: {delay: 7ms}, overhead: 10B}\n"
    "links:\n"
    "  a: {listen: '127.0.0.1:1', to: '127.0.0.1:2', forward: {rules: [\"report:first=2\"]}}\n"
    "  b: {forward: {delay: [{at: 0, delay: 4ms}, {at: 1min, delay: 2ms}]}}\n"
    "  c: {return: {erasures: {trace: A, iid: 0.1}}}\n"
    "  l: {listen: '127.0.0.1:3', to: '127.0.0.1:4', handover: [{at: 1s, link: b},\n"
    "      {at: 2s, link: none}, {at: 3s, link: c, gap: 4ms, in_flight: lost}]}\n"
    "shared:\n"
    "  up: {of: [a.forward, b.return], rate: 3Mbit/s, queue: 20ms, codel: yes,\n"
    "       changes: [{at: 1s, rate: 1Mbit/s}]}\n";

static const char changed[] = "{a: {forward: {delay: 1ms}}, up: {rate: 100Mbit/s}}";

static struct conf_errors errors;

/* 0, or an error; *told: it was told by a message, or is HELIO_ENOMEM. */
static int attempt(long at, bool *told)
{
    static struct scenario_links_change out[SCENARIO_LINKS_CHANGES_MAX];
    struct scenario_links s;
    conf_errors_init(&errors, "l.yaml");
    memory.countdown = at;
    int rc = scenario_links_read(&s, text, sizeof text - 1, "", &errors);
    if (rc == 0) {
        int n = scenario_links_change_read(out, &s, changed, sizeof changed - 1, &errors);
        rc = n < 0 ? n : n == 2 ? 0 : HELIO_EINVAL;
    }
    memory.countdown = -1;
    *told = errors.total > 0 || rc == HELIO_ENOMEM;
    scenario_links_fini(&s);
    return rc;
}

START_TEST(reading)
{
    long n = 0;
    for (;; n++) {
        bool told = false;
        uint64_t before = memory.failed;
        int rc = attempt(n, &told);
        if (memory.failed == before) {
            ck_assert_msg(rc == 0, "%d: %s", rc, errors.text[0]);
            break;
        }
        ck_assert_msg(rc < 0 && told, "allocation %ld: %d", n, rc);
        ck_assert_int_lt(n, 100000);
    }
    ck_assert_int_gt(n, 50);
}
END_TEST

START_TEST(a_file)
{
    char path[] = "/tmp/emu_links_memory.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
    for (long at = 0; at < 5; at++) {
        struct scenario_links s;
        uint64_t before = memory.failed;
        conf_errors_init(&errors, path);
        memory.countdown = at;
        int rc = scenario_links_load(&s, path, &errors);
        memory.countdown = -1;
        scenario_links_fini(&s);
        ck_assert_uint_eq(memory.failed, before + 1);
        ck_assert_int_lt(rc, 0);
        ck_assert(rc == HELIO_ENOMEM || errors.total > 0);
    }
    ck_assert_int_eq(remove(path), 0);
}
END_TEST

SUITE(emu_links_memory, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, reading);
    tcase_add_test(t, a_file);
}
