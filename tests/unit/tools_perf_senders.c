/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends on request: nothing before the one who asks has shown that it is there that
 * it asks from, and within limits. */
#include <string.h>

#include "sim/virtual.h"
#include "tests/unit/suite.h"
#include "tools/perf/perf_senders.h"

#define SESSION 77

struct lab {
    struct virtual_world world;
    struct rng rng;
    struct perf_options options;
    struct perf_senders senders;
    uint8_t body[PERF_REQUEST_LEN];
};

static void lab_init(struct lab *l)
{
    *l = (struct lab){.options = {.socket = "/nobody", .reverse_max = 60 * TICK_S}};
    rng_init(&l->rng, 1);
    virtual_init(&l->world, 0, &l->rng, TICK_US);
    ck_assert_int_eq(perf_senders_init(&l->senders, &l->world.world, &l->options), 0);
    l->senders.quiet = true;
    const struct perf_options asked = {.mode = PERF_MODE_DATA,
                                       .data = 1000,
                                       .window = 3,
                                       .payload = 100,
                                       .lifetime_ms = 30 * 24 * UINT64_C(3600000),
                                       .ack_timeout = 1};
    perf_request_write(&asked, l->body);
}

static void lab_fini(struct lab *l)
{
    perf_senders_stop(&l->senders);
    perf_senders_fini(&l->senders);
    virtual_fini(&l->world);
}

/* `peer` asks with that number; *out is the one that it shall ask with. */
static enum perf_answer ask(struct lab *l, const char *peer, uint64_t session, uint64_t echo,
                            uint64_t *out)
{
    const struct perf_head h = {.kind = PERF_REQUEST, .session = session, .seq = echo};
    enum perf_answer a =
        perf_senders_take(&l->senders, peer, &h, slice_of(l->body, sizeof l->body), out);
    perf_senders_check(&l->senders);
    return a;
}

/* A forger does not see the answer, which goes to the named endpoint. */
START_TEST(nothing_goes_before_the_echo)
{
    struct lab l;
    uint64_t echo = 0, other = 0, again = 0;
    lab_init(&l);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, 0, &echo), PERF_ECHO);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo + 1, &again), PERF_ECHO);
    ck_assert_uint_eq(again, echo); /* nothing is kept of a request */
    ck_assert_int_eq(ask(&l, "ipn:9.2", SESSION, echo, &other), PERF_ECHO);
    ck_assert_uint_ne(other, echo); /* of an endpoint */
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION + 1, echo, &other), PERF_ECHO);
    ck_assert_uint_ne(other, echo); /* and of a session */
    ck_assert_uint_eq(l.senders.len, 0);
    ck_assert_uint_eq(l.senders.refused, 0);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo, &again), PERF_GOES);
    ck_assert_uint_eq(l.senders.len, 1);
    lab_fini(&l);
}
END_TEST

/* Another process has other numbers. */
START_TEST(numbers_are_of_a_process)
{
    struct lab l;
    uint64_t echo = 0, other = 0;
    lab_init(&l);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, 0, &echo), PERF_ECHO);
    l.senders.secret[1]++;
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo, &other), PERF_ECHO);
    ck_assert_uint_ne(other, echo);
    lab_fini(&l);
}
END_TEST

START_TEST(timeout_and_lifetime_have_limits)
{
    struct lab l;
    uint64_t echo = 0;
    lab_init(&l);
    (void)ask(&l, "ipn:9.1", SESSION, 0, &echo);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo, &echo), PERF_GOES);
    const struct perf_sender *e =
        container_of(list_first(&l.senders.list), struct perf_sender, order);
    ck_assert_uint_eq(e->options.ack_timeout, PERF_REQUEST_ACK_MIN);
    ck_assert_uint_eq(e->options.lifetime_ms, PERF_REQUEST_LIFETIME_MAX);
    lab_fini(&l);
}
END_TEST

static void advance(struct lab *l, tick until)
{
    while (virtual_due(&l->world) <= until) {
        virtual_advance(&l->world, virtual_due(&l->world));
        virtual_fire(&l->world);
        perf_senders_check(&l->senders);
    }
    virtual_advance(&l->world, until);
}

/* At a rate nothing is acknowledged: who asked asks again, or the server ends it. A forger who does
 * not know the number keeps nobody alive. */
START_TEST(who_is_silent_is_sent_no_more)
{
    struct lab l;
    uint64_t echo = 0, unused = 0;
    lab_init(&l);
    l.options.reverse_max = 3600 * TICK_S;
    l.options.reconnect = 7200 * TICK_S; /* there is no node, and the sender waits for it */
    const struct perf_options asked = {.mode = PERF_MODE_TIME,
                                       .time = 1000 * TICK_S,
                                       .rate = 8000,
                                       .payload = 100,
                                       .lifetime_ms = 60000};
    perf_request_write(&asked, l.body);
    (void)ask(&l, "ipn:9.1", SESSION, 0, &echo);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo, &unused), PERF_GOES);
    const struct perf_sender *e =
        container_of(list_first(&l.senders.list), struct perf_sender, order);
    for (int i = 1; i <= 5; i++) {
        advance(&l, (tick)i * 50 * TICK_S);
        ck_assert(!e->over && !e->client.interrupted);
        ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo, &unused), PERF_GOES);
        ck_assert_int_eq(ask(&l, "ipn:9.2", SESSION, echo, &unused), PERF_GOES); /* not its own */
    }
    advance(&l, 300 * TICK_S);
    ck_assert_int_eq(ask(&l, "ipn:9.1", SESSION, echo + 1, &unused), PERF_GOES);
    ck_assert(!e->over && !e->client.interrupted);
    advance(&l, 310 * TICK_S + TICK_MS);
    ck_assert(e->over && e->client.interrupted);
    lab_fini(&l);
}
END_TEST

SUITE(tools_perf_senders, t)
{
    tcase_add_test(t, nothing_goes_before_the_echo);
    tcase_add_test(t, numbers_are_of_a_process);
    tcase_add_test(t, who_is_silent_is_sent_no_more);
    tcase_add_test(t, timeout_and_lifetime_have_limits);
}
