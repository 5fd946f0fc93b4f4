/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of reading a scenario fails once: it is an error that is told, and nothing is
 * left behind or half made. */
#include <string.h>

#include "channel-emu/scenario/drop_log.h"
#include "channel-emu/scenario/scenario.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

static const struct slice none;

static const char text[] = "drop_log: d.csv\n"
                           "both: {delay: [{at: 0, delay: 4ms}, {at: 1min, delay: 2ms}],\n"
                           "  contacts: [{from: 0, to: 10s}], rules: [\"report:first=2\"]}\n"
                           "return: {erasures: {trace: A, iid: 0.1}, rules: \"ack\"}\n";

/* 0, or an error; *told: an error was told. */
static int attempt(long at, bool *told)
{
    static struct conf_errors errors;
    struct scenario s;
    conf_errors_init(&errors, "s.yaml");
    memory.failed = 0;
    memory.countdown = at;
    int rc = scenario_init(&s);
    if (rc < 0) {
        memory.countdown = -1;
        *told = true; /* by its return */
        return rc;
    }
    rc = scenario_apply(&s, text, sizeof text - 1, "", &errors);
    rc = rc < 0 ? rc : scenario_set(&s, "forward.rules", "[data, red]", false, &errors);
    memory.countdown = -1;
    *told = errors.total > 0;
    scenario_fini(&s);
    return rc;
}

START_TEST(reading)
{
    long n = 0;
    for (;; n++) {
        bool told = false;
        int rc = attempt(n, &told);
        if (!memory.failed) {
            ck_assert_int_eq(rc, 0);
            break;
        }
        ck_assert_msg(rc < 0 && told, "allocation %ld: %d", n, rc);
        ck_assert_int_lt(n, 10000);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

/* Without a page a record is lost and counted; the next one may have one. */
START_TEST(a_page)
{
    struct log_writer *w;
    ck_assert_int_eq(log_writer_open(&w, "/dev/null", 0, none), 0);
    memory.countdown = 0;
    void *refusal = log_writer_room(w, 100);
    memory.countdown = -1;
    ck_assert_ptr_eq(refusal, NULL);
    ck_assert_uint_eq(log_writer_lost(w), 1);
    ck_assert_ptr_ne(log_writer_room(w, 100), NULL);
    log_writer_put(w, 0);
    ck_assert_int_eq(log_writer_finish(w), 0);
    ck_assert_uint_eq(log_writer_lost(w), 1);
    log_writer_free(w);
    memory.countdown = 0;
    int rc = log_writer_open(&w, "/dev/null", 0, none);
    memory.countdown = -1;
    ck_assert_int_lt(rc, 0);
}
END_TEST

SUITE(emu_scenario_memory, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, reading);
    tcase_add_test(t, a_page);
}
