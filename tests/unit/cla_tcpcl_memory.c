/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter "tcpcl" without memory: each allocation of a short run fails once. Every bundle that
 * a link took has its outcome, links find each other again, and nothing is left behind. */
#include "tests/unit/cla_tcpcl_help.h"
#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

static struct buf *bundle_of(size_t len)
{
    struct buf *b = buf_new(0, len);
    memset(buf_append(b, len), 'x', len);
    return b;
}

/* False: the countdown has not come to its end. */
static bool live_once(long n)
{
    struct buf *small = bundle_of(100), *large = bundle_of(300000);
    struct pair *p = pair_new();
    unsigned given = 0;
    memory.countdown = n;
    if (side_open(p, &p->b) == 0 && side_open(p, &p->a) == 0) {
        pair_pass(p, 10 * TICK_S);
        for (uint64_t i = 0; i < 4 && p->a.up; i++)
            given +=
                p->a.cla->ops->send(p->a.cla, i, i % 2 == 0 ? small : large) == CLA_REASON_NONE;
        pair_pass(p, 100 * TICK_S);
        bool reached = memory.countdown < 0;
        memory.countdown = -1;
        ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED] + p->a.outcomes[CLA_FAILED] +
                              p->a.outcomes[CLA_REFUSED],
                          given);
        pair_pass(p, 100 * TICK_S);
        ck_assert(p->a.up && p->b.up);
        p->a.outcomes[CLA_DELIVERED] = 0;
        ck_assert_int_eq(p->a.cla->ops->send(p->a.cla, 9, large), CLA_REASON_NONE);
        pair_pass(p, TICK_S);
        ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 1);
        memory.countdown = reached ? -1 : 0;
    }
    bool more = memory.countdown < 0;
    memory.countdown = -1;
    pair_free(p);
    ck_assert_uint_eq(small->refs, 1);
    ck_assert_uint_eq(large->refs, 1);
    buf_drop(small);
    buf_drop(large);
    return more;
}

START_TEST(each_allocation_fails)
{
    long n = 0;
    while (live_once(n))
        n++;
    ck_assert_int_ge(n, 20);
}
END_TEST

/* No memory for a longer buffer of what is read: it is read in shorter pieces, a head that is not
 * whole at the end of the buffer included. */
START_TEST(a_buffer_that_cannot_grow)
{
    static const char begin[] = "\x01\x02" ID("\x09") "\0\0\0\0" ID("\x01") "x";
    static const char more[] = "\x01\x00" ID("\x09") ID("\x01") "x";
    enum { LEN = sizeof more - 1, COUNT = 4000 };
    struct end e;
    establish(&e, false);
    FEED(&e, begin);
    for (size_t at = 0; at < (size_t)LEN * COUNT;) {
        size_t room = 0;
        memory.countdown = 0;
        uint8_t *to = tcpcl_space(e.s, &room);
        memory.countdown = -1;
        ck_assert_uint_ge(room, 1);
        room = room < (size_t)LEN * COUNT - at ? room : (size_t)LEN * COUNT - at;
        for (size_t i = 0; i < room; i++)
            to[i] = (uint8_t)more[at++ % LEN];
        tcpcl_fed(e.s, room, e.now);
        settle(&e);
        e.out_len = 0;
    }
    ck_assert_uint_eq(tcpcl_held(e.s), COUNT + 1);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    finish_end(&e);
}
END_TEST

SUITE(cla_tcpcl_memory, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_allocation_fails);
    tcase_add_test(t, a_buffer_that_cannot_grow);
}
