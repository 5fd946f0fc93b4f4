/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes that connect to each other at the same time (RFC 9174 leaves open what happens). */
#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/suite.h"

/* Two nodes with a place for one session connect to each other, at the same time or one of them
 * later: one connection stays. _i % 2: which of them has the greater name. */
START_TEST(both_connect)
{
    static const tick later[] = {0,           TICK_MS / 2, TICK_MS,     3 * TICK_MS / 2,
                                 2 * TICK_MS, 3 * TICK_MS, 4 * TICK_MS, 5 * TICK_MS,
                                 6 * TICK_MS};
    struct pair *p = pair_new();
    if (_i % 2 == 1) {
        p->a.node = p->b.peer = eid_ipn(0, 2, 0);
        p->b.node = p->a.peer = eid_ipn(0, 1, 0);
    }
    ck_assert_int_eq(address_parse("127.0.0.1:4556", &p->a.config.local), 0);
    ck_assert_int_eq(address_parse("127.0.0.1:4556", &p->b.config.remote.address), 0);
    p->a.config.sessions = p->b.config.sessions = 1;
    p->a.config.state = p->b.config.state = TCPCL_WANTED_DOWN; /* until both listen */
    ck_assert_int_eq(side_open(p, &p->a), 0);
    ck_assert_int_eq(side_open(p, &p->b), 0);
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, later[_i / 2]);
    p->b.cla->ops->set_link(p->b.cla, true);
    pair_pass(p, TICK_S / 2);
    ck_assert(p->a.up && p->b.up);
    const unsigned downs = p->a.downs + p->b.downs;
    pair_pass(p, 100 * TICK_S);
    ck_assert(p->a.up && p->b.up && p->a.downs + p->b.downs == downs);
    ck_assert_int_eq(side_send(&p->a, 1, 100), CLA_REASON_NONE);
    ck_assert_int_eq(side_send(&p->b, 2, 100), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.received + p->b.received, 2);
    pair_free(p);
}
END_TEST

SUITE(cla_tcpcl_both, t)
{
    tcase_add_loop_test(t, both_connect, 0, 18);
}
