/* SPDX-License-Identifier: Apache-2.0 */
/* What a link can usefully have in hand, as measured (agent_service.c), and what follows: on a link
 * that is not idle long bundles have no more of its time than short ones. */
#include "bp/agent/agent_service.h"
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define KB UINT64_C(1000)

START_TEST(unknown_at_first)
{
    struct service s;
    service_init(&s, 5 * TICK_S);
    ck_assert_uint_eq(service_octets(&s), 0);
    service_begin(&s, 1, 5 * TICK_S);
    service_end(&s, 1, 1000 * KB, 5 * TICK_S + 100 * TICK_MS);
    ck_assert_uint_eq(service_octets(&s), 0); /* no rate yet */
    service_end(&s, 2, 1000 * KB, 6 * TICK_S);
    ck_assert_uint_ge(service_octets(&s), 400 * KB); /* 2 × 2 MB/s × 0.1 s */
    ck_assert_uint_le(service_octets(&s), 401 * KB);
}
END_TEST

START_TEST(shortest_and_fastest)
{
    struct service s;
    service_init(&s, 0);
    service_begin(&s, 1, 0);
    service_begin(&s, 2, TICK_MS); /* one at a time is timed */
    service_end(&s, 2, 0, 2 * TICK_MS);
    service_end(&s, 1, 10000 * KB, TICK_S);
    ck_assert_uint_ge(service_octets(&s), 19999 * KB);
    service_begin(&s, 3, TICK_S);
    service_forget(&s, 3); /* it failed: no time of service */
    service_begin(&s, 4, TICK_S);
    service_end(&s, 4, 0, TICK_S + 100 * TICK_MS);
    ck_assert_uint_ge(service_octets(&s), 1999 * KB);
    ck_assert_uint_le(service_octets(&s), 2001 * KB);
    for (tick t = 2; t < 10; t++) /* hardly anything: the rate falls slowly, the time stays */
        service_end(&s, 5, 1, t * TICK_S);
    ck_assert_uint_ge(service_octets(&s), 600 * KB);
    for (tick t = 10; t < 100; t++)
        service_end(&s, 5, 1, t * TICK_S);
    ck_assert_uint_eq(service_octets(&s), SERVICE_LEAST);
}
END_TEST

#define RATE 1000000 /* octets/s, of the link */
#define MANY 700     /* bundles at most */

struct service_run {
    struct binder n;
    uint64_t keys[MANY], lengths[MANY + 1]; /* given, first in, first out; of a bundle by its key */
    size_t first, last;
};

/* Sequence number i is the bundle's key. */
static void bring(struct service_run *x, uint64_t from, uint64_t to, uint64_t user, size_t len)
{
    static char text[300000];
    memset(text, 'x', len);
    text[len] = 0;
    for (uint64_t i = from; i <= to; i++) {
        struct agent_request q = request_of(user == 1 ? "ipn:2.7" : "ipn:2.6", "ipn:3.5", i);
        q.user = user;
        ck_assert_int_eq(app_send(&x->n, &q, text), REFUSE_NONE);
        x->lengths[i] = len;
        skip(&x->n);
    }
}

static void take_given(struct service_run *x)
{
    struct agent_action out;
    while (agent_poll(x->n.a, &out)) {
        x->n.len = 0;
        if (out.kind != AGENT_SEND) {
            do_action(&x->n, &out);
            continue;
        }
        ck_assert_uint_lt(x->last, MANY);
        x->keys[x->last++] = out.key;
        buf_drop(out.bundle);
    }
}

/* Octets of the first `shorts` bundles among those that the link serves between 2 and 6 s. */
static double part_of_short(struct service_run *x, uint64_t shorts)
{
    const tick begun = x->n.now.now;
    double part = 0, all = 0;
    for (;;) {
        take_given(x);
        agent_check(x->n.a);
        ck_assert_uint_lt(x->first, x->last);
        const uint64_t key = x->keys[x->first++], len = x->lengths[key];
        x->n.now.now += len * TICK_S / RATE;
        if (x->n.now.now - begun > 6 * TICK_S)
            return part / all;
        if (x->n.now.now - begun > 2 * TICK_S) {
            all += (double)len;
            part += key <= shorts ? (double)len : 0;
        }
        agent_sent(x->n.a, key, true, x->n.now);
    }
}

START_TEST(long_bundles_leave_time)
{
    struct service_run *x = calloc(1, sizeof *x);
    struct agent_config c = config_of("ipn:2.0");
    struct eid_pattern to;
    struct eid three = eid_of("ipn:3.0");
    binder_init(&x->n, &c);
    ck_assert_int_eq(agent_link_add(x->n.a, 1, &three, 8), 0);
    ck_assert_int_eq(eid_pattern_parse("ipn:3.*", &to), 0);
    ck_assert_int_eq(agent_route_add(x->n.a, &to, 1), 0);
    bring(x, 1, 600, 1, 10000);
    bring(x, 601, 640, 2, 200000);
    agent_link(x->n.a, 1, true, x->n.now);
    const double part = part_of_short(x, 600);
    ck_assert_msg(part > 0.35 && part < 0.6, "%.3f", part); /* with equal places 0.05 */
    x->n.len = 0;
    binder_fini(&x->n);
    free(x);
}
END_TEST

SUITE(bp_agent_service, t)
{
    tcase_add_test(t, unknown_at_first);
    tcase_add_test(t, shortest_and_fastest);
    tcase_add_test(t, long_bundles_leave_time);
}
