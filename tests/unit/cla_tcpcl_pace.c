/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of TCPCL links in a virtual world: configured, of a contact, changed, and both ways; and
 * what is under way at most. */
#include <jansson.h>

#include "tests/unit/cla_tcpcl_pair.h"
#include "tests/unit/suite.h"

#define BUNDLE 10000

static struct pair *open_at(uint64_t rate)
{
    struct pair *p = pair_new();
    struct side *sides[] = {&p->a, &p->b};
    for (size_t i = 0; i < 2; i++) {
        sides[i]->config.pace =
            (struct pace_keys){.rate = rate, .burst = 100 * TICK_US, .slack = 2 * TICK_MS};
        sides[i]->config.window = 1024;
        sides[i]->config.window_bytes = 64 << 20;
    }
    ck_assert_int_eq(side_open(p, &p->b), 0);
    ck_assert_int_eq(side_open(p, &p->a), 0);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up && p->b.up);
    return p;
}

static void send_bundles(struct side *s, unsigned n, size_t len)
{
    for (uint64_t i = 0; i < n; i++)
        ck_assert_int_eq(side_send(s, i, len), CLA_REASON_NONE);
}

/* 0.9 MB take 0.9 s at 8 Mbit/s: none of it comes early, all of it in time. */
static void check_900_kb(struct pair *p, struct side *from, struct side *to)
{
    const uint64_t before = to->received_bytes;
    send_bundles(from, 90, BUNDLE);
    for (unsigned i = 1; i <= 9; i++) {
        pair_pass(p, TICK_S / 10);
        const uint64_t at_most = i * UINT64_C(100000) + 2 * 1448, got = to->received_bytes - before;
        ck_assert_msg(got <= at_most && got + 2 * BUNDLE >= i * UINT64_C(98000), "%u: %llu", i,
                      (unsigned long long)got);
    }
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_eq(to->received_bytes - before, 90 * BUNDLE);
}

START_TEST(configured)
{
    struct pair *p = open_at(8000000);
    struct cla_gauges g = {.heard = TICK_NEVER};
    check_900_kb(p, &p->a, &p->b);
    check_900_kb(p, &p->b, &p->a);
    p->a.cla->ops->gauges(p->a.cla, &g);
    ck_assert_uint_eq(g.rate, 8000000);
    pair_free(p);
}
END_TEST

/* The lower one of the configured rate and the contact's; without a contact the link is down. */
START_TEST(of_a_contact)
{
    const struct cla_contact fast = {true, true, 80000000, TICK_NEVER},
                             slow = {true, true, 8000000, TICK_NEVER},
                             none = {false, true, 8000000, TICK_NEVER};
    struct pair *p = open_at(8000000);
    p->a.cla->ops->contact(p->a.cla, &fast);
    check_900_kb(p, &p->a, &p->b);
    pair_free(p);
    p = open_at(0);
    p->a.cla->ops->contact(p->a.cla, &slow);
    check_900_kb(p, &p->a, &p->b);
    p->a.cla->ops->contact(p->a.cla, &none);
    pair_pass(p, TICK_S);
    ck_assert(!p->a.up);
    p->a.cla->ops->set_link(p->a.cla, false);
    p->a.cla->ops->contact(p->a.cla, &slow); /* the operator's word holds */
    pair_pass(p, 10 * TICK_S);
    ck_assert(!p->a.up);
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up);
    p->a.cla->ops->contact(p->a.cla, NULL); /* no plan: no rate */
    const uint64_t before = p->b.received_bytes;
    send_bundles(&p->a, 90, BUNDLE);
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_eq(p->b.received_bytes - before, 90 * BUNDLE);
    pair_free(p);
}
END_TEST

/* A new rate holds for what is queued. */
START_TEST(changed)
{
    struct pair *p = open_at(8000000);
    char why[100];
    send_bundles(&p->a, 90, BUNDLE);
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_lt(p->b.received_bytes, 110000);
    struct tcpcl_config fast = p->a.config;
    fast.pace.rate = 80000000;
    ck_assert_int_eq(p->a.cla->ops->set(p->a.cla, &fast, NULL, why, sizeof why), 0);
    pair_pass(p, TICK_S / 10);
    ck_assert_uint_eq(p->b.received_bytes, 90 * BUNDLE);
    pair_free(p);
}
END_TEST

/* At a low rate acknowledgements do not wait for one long segment, nor does the session end. */
START_TEST(answers_pass_long_bundles)
{
    struct pair *p = open_at(100000); /* 12.5 kB/s */
    send_bundles(&p->a, 1, 500000);   /* 40 s */
    pair_pass(p, TICK_S);
    ck_assert_int_eq(side_send(&p->b, 7, 1000), CLA_REASON_NONE);
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->b.outcomes[CLA_DELIVERED], 1);
    pair_pass(p, 37 * TICK_S);
    ck_assert_uint_eq(p->b.received, 0);
    pair_pass(p, 4 * TICK_S);
    ck_assert_uint_eq(p->b.received, 1);
    ck_assert_uint_eq(p->a.ups, 1);
    pair_free(p);
}
END_TEST

/* Time without bundles gives no credit. */
START_TEST(rests)
{
    struct pair *p = open_at(8000000);
    pair_pass(p, 10 * TICK_S);
    check_900_kb(p, &p->a, &p->b);
    json_t *o = json_object();
    p->a.cla->ops->status(p->a.cla, o);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "rate_bps")), 8000000);
    ck_assert_int_lt(json_integer_value(json_object_get(o, "credit_lost")), 1448);
    json_decref(o);
    pair_free(p);
}
END_TEST

/* A session has no more under way than its peer's acknowledgements justify, and the link's window
 * says so; the next session begins anew. */
START_TEST(under_way)
{
    struct pair *p = open_at(0);
    uint64_t n = 0;
    p->b.hold = true;
    while (side_send(&p->a, n, 500000) == CLA_REASON_NONE)
        n++;
    ck_assert_uint_eq(n, 9); /* 4 MiB before the first acknowledgement */
    ck_assert_uint_eq(p->a.cla->limits.window, 9);
    pair_pass(p, 10 * TICK_S);
    ck_assert_uint_eq(p->a.cla->limits.window, 9);
    p->a.cla->ops->set_link(p->a.cla, false);
    pair_pass(p, 20 * TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_FAILED], 9);
    p->b.tokens_len = 0;
    p->a.cla->ops->set_link(p->a.cla, true);
    pair_pass(p, TICK_S);
    ck_assert(p->a.up);
    ck_assert_uint_eq(p->a.cla->limits.window, 9);
    send_bundles(&p->a, 9, 500000);
    ck_assert_int_eq(side_send(&p->a, 9, 1), CLA_REASON_BUSY);
    p->b.hold = false;
    pair_pass(p, TICK_S);
    ck_assert_uint_eq(p->a.outcomes[CLA_DELIVERED], 9);
    ck_assert_uint_ge(p->a.cla->limits.window, 9);
    pair_free(p);
}
END_TEST

/* Bundles as long as those of late: the agent gives a fixed order to no more than that. */
START_TEST(window_of_length)
{
    struct pair *p = pair_open();
    p->b.hold = true;
    ck_assert_int_eq(side_send(&p->a, 0, 200000), CLA_REASON_NONE);
    ck_assert_uint_eq(p->a.cla->limits.window, 6); /* of 1 MiB, and one more */
    ck_assert_int_eq(side_send(&p->a, 1, 600000), CLA_REASON_NONE);
    ck_assert_uint_eq(p->a.cla->limits.window, 5);
    for (uint64_t i = 2; i < 15; i++) { /* short ones go all the same */
        ck_assert_int_eq(side_send(&p->a, i, 100), CLA_REASON_NONE);
        ck_assert_uint_gt(p->a.cla->limits.window, i + 1);
    }
    ck_assert_int_eq(side_send(&p->a, 15, 100), CLA_REASON_NONE);
    ck_assert_uint_eq(p->a.cla->limits.window, 16);
    pair_free(p);
}
END_TEST

SUITE(cla_tcpcl_pace, t)
{
    tcase_add_test(t, configured);
    tcase_add_test(t, of_a_contact);
    tcase_add_test(t, changed);
    tcase_add_test(t, answers_pass_long_bundles);
    tcase_add_test(t, rests);
    tcase_add_test(t, under_way);
    tcase_add_test(t, window_of_length);
}
