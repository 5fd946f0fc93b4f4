/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: the same exchange is run with the first, the second, … allocation failing,
 * once each, until one run gets by without the failure. Whatever fails, both engines stay
 * consistent and end idle, and a block that was accepted is reported done or cancelled. (Leaks are
 * the sanitizer's to find.) The linker puts failing_memory.c's functions before the library's.
 */
#include "tests/unit/failing_memory.h"
#include "tests/unit/suite.h"

/* The pair allocates for itself what it has in flight: that must not fail. */
#include <stdlib.h>
#define malloc(n) __real_malloc(n)
#include "tests/unit/ltp_pair.h"
#undef malloc

START_TEST(engine_new)
{
    for (long n = 0;; n++) {
        struct ltp *l = NULL;
        struct ltp_config config = {.engine = 1};
        struct ltp_span span = pair_span(2);
        memory.failed = 0;
        memory.countdown = n;
        int rc = ltp_new(&l, &config);
        if (rc == 0)
            rc = ltp_span_set(l, &span, 0);
        if (rc == 0)
            rc = ltp_service_open(l, 5);
        memory.countdown = -1;
        ck_assert_int_eq(rc, memory.failed ? HELIO_ENOMEM : 0);
        ltp_free(l);
        if (!memory.failed)
            break;
        ck_assert_int_lt(n, 20);
    }
}
END_TEST

static const struct scenario {
    size_t len, red;
    bool cancel;
    uint32_t segment_max;
    bool orange, faster; /* with the recovery switches, and confirmed */
} scenarios[] = {
    {60000, 60000, false, 1024, false, false}, {60000, 20000, false, 1024, false, false},
    {60000, 0, false, 1024, false, false},     {5000, 5000, true, 1024, false, false},
    {20000, 20000, false, 200, false, false},  {60000, 0, false, 1024, true, false},
    {2000, 0, false, 1024, true, false},       {60000, 60000, false, 200, false, true},
    {60000, 20000, false, 1024, false, true},  {60000, 0, false, 1024, true, true},
};

static struct pair *make(const struct scenario *sc)
{
    struct ltp_span to = pair_span(2), from = pair_span(1);
    to.segment_max = sc->segment_max;
    to.retries_max = from.retries_max = 4;
    from.claims_max = 2;
    if (sc->faster) {
        to.recovery = from.recovery = ltp_recovery_default;
        to.recovery.resend_wait = 3 * TICK_MS;
        to.recovery.checkpoint_segments = 10;
        from.confirm_import = true;
    }
    struct pair *p = pair_new(&to, &from);
    for (uint64_t i = 2; i < 30; i += 5)
        pair_drop(p, LTP_RED, i);
    pair_drop(p, LTP_GREEN_DATA, 3);
    pair_drop(p, LTP_RS, 1);
    return p;
}

/* Returns whether the failure happened. */
static bool run(const struct scenario *sc, long n)
{
    struct pair *p = make(sc);
    struct buf *b = pair_block(sc->len, 3);
    struct ltp_block block = {
        .peer = 2, .client_service = 1, .data = b, .red_len = sc->red, .orange = sc->orange};
    struct ltp_session_id id;
    memory.failed = 0;
    memory.countdown = n;
    int rc = ltp_send(p->l[0], &block, p->now, &id);
    if (sc->cancel) {
        pair_run_until(p, 5 * TICK_MS);
        if (rc == 0)
            ltp_cancel(p->l[1], id, LTP_SYS_CNCLD, p->now);
    }
    pair_run(p);
    memory.countdown = -1;
    ck_assert(rc == 0 || (memory.failed && rc == HELIO_ENOMEM));
    uint64_t ends = p->notices[LTP_EXPORT_DONE] + p->notices[LTP_EXPORT_CANCELLED] +
                    p->notices[LTP_EXPORT_LOST];
    ck_assert_uint_eq(ends, rc == 0 ? 1 : 0);
    ck_assert_uint_le(p->notices[LTP_BLOCK], 1);
    if (p->notices[LTP_EXPORT_DONE] > 0 && sc->orange)
        ck_assert(p->green_count == 1 && p->green[0]->len == sc->len);
    if (p->notices[LTP_EXPORT_DONE] > 0 && sc->red > 0)
        pair_assert_red(p, sc->red);
    pair_assert_idle(p);
    buf_drop(b);
    pair_free(p);
    return memory.failed;
}

START_TEST(exchange)
{
    long n = 0;
    while (run(&scenarios[_i], n))
        n++;
    ck_assert_int_gt(n, 8);
}
END_TEST

/* The user has taken the block, and memory is out just then: the sender still hears it. */
START_TEST(acceptance)
{
    struct ltp_span from = pair_span(1);
    from.confirm_import = true;
    struct pair *p = pair_new(NULL, &from);
    p->accept = false;
    struct ltp_session_id id = pair_send(p, 5000, 5000);
    pair_run_until(p, 20 * TICK_MS);
    ck_assert_uint_eq(p->notices[LTP_BLOCK], 1);
    memory.failed = 0;
    memory.countdown = 0;
    ck_assert_int_eq(ltp_accept(p->l[1], id, p->now), 0);
    memory.countdown = -1;
    ck_assert(memory.failed);
    ltp_check(p->l[1]);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_red(p, 5000);
    pair_assert_idle(p);
    pair_free(p);
}
END_TEST

SUITE(ltp_memory, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, engine_new);
    tcase_add_loop_test(t, exchange, 0, (int)(sizeof scenarios / sizeof *scenarios));
    tcase_add_test(t, acceptance);
}
