/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of what links have between them fails once: it is an error, and nothing is left
 * behind. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "channel-emu/scenario/scenario_links_run.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

static const char text[] =
    "links:\n"
    "  a: {listen: x, to: y}\n"
    "  l: {listen: z, to: y, handover: [{at: 0, link: p}, {at: 1s, link: q, in_flight: lost},\n"
    "      {at: 2s, link: p, gap: 10ms, in_flight: lost}]}\n"
    "  p: {}\n"
    "  q: {}\n"
    "shared: {up: {of: [a.forward, p.forward], rate: 1Mbit/s, changes: [{at: 1s, rate: "
    "2Mbit/s}]}}\n";

START_TEST(each_allocation_fails)
{
    static struct conf_errors errors;
    struct scenario_links file;
    struct links_run r;
    long n = 0;
    conf_errors_init(&errors, "l.yaml");
    ck_assert_int_eq(scenario_links_read(&file, text, sizeof text - 1, "", &errors), 0);
    for (;; n++) {
        memory.failed = 0;
        memory.countdown = n;
        int rc = links_run_init(&r, &file, 5, TICK_S);
        memory.countdown = -1;
        if (!memory.failed)
            break;
        ck_assert_int_eq(rc, HELIO_ENOMEM);
        links_run_fini(&r);
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_int_ge(n, 8);
    struct chan_config k = {.queue_bytes = 7};
    links_run_fit(&r, 2, 0, &k);
    ck_assert(k.shared == r.line[0].shared && k.queue_bytes == 0 && k.cut_count == 1);
    ck_assert_uint_eq(k.cuts[0], 5 + TICK_S);
    ck_assert_uint_eq(links_run_enter(&r, 1, 0, 4), CHAN_NOWHERE); /* before the first one */
    ck_assert_uint_eq(links_run_enter(&r, 1, 0, 5), 2);
    ck_assert_uint_eq(links_run_enter(&r, 1, 0, 5 + TICK_S), 3);
    ck_assert_uint_eq(links_run_enter(&r, 1, 0, 6), 3); /* time is held */
    ck_assert_uint_eq(links_run_enter(&r, 0, 0, 6), 0); /* of its own */
    ck_assert(r.at[1].directions[0].gap == 1 && r.at[1].directions[0].via[3].in == 2);
    links_run_fini(&r);
    scenario_links_fini(&file);
}
END_TEST

SUITE(emu_links_run_memory, t)
{
    tcase_add_test(t, each_allocation_fails);
}
