/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for the store, and for how many bundles of others: one user of applications floods it,
 * another one sends now and then. The test is a store that answers one bundle after the other, in
 * the order in which it was given them.
 */
#include "bp_agent_help.h"
#include "tests/unit/suite.h"

#define FLOOD 20000
#define FLOODER 66 /* users */
#define HONEST 7
#define SHARED_MOST                                                                                \
    600 /* bundles in the store's hands while users share it: 4 MiB of 8 KiB each                  \
         */

static struct binder n;
static uint64_t keys[4 * FLOOD], first, last; /* given to the store; [first, last) not answered */
static uint64_t noted;

static void setup(void)
{
    struct agent_config c = config_of("ipn:2.0");
    relay_init(&n, &c);
    first = last = noted = 0;
}

static void teardown(void)
{
    binder_fini(&n);
}

/* Takes what the agent asks for. */
static void poll_all(void)
{
    struct agent_action x;
    while (agent_poll(n.a, &x)) {
        if (x.kind != AGENT_STORE)
            continue;
        ck_assert_uint_lt(last, sizeof keys / sizeof *keys);
        keys[last++] = x.key;
        buf_drop(x.bundle);
        if (x.sequence_end != 0) {
            ck_assert_uint_ge(x.sequence_end, noted);
            noted = x.sequence_end;
        }
    }
}

static void answer_one(bool ok)
{
    ck_assert_uint_lt(first, last);
    agent_stored(n.a, keys[first++], ok, n.now);
    poll_all();
}

static void send_one(uint64_t user, const char *from)
{
    struct agent_request q = request_of(from, "ipn:3.9", 1);
    q.user = user;
    ck_assert_int_eq(app_send(&n, &q, "ten bytes."), REFUSE_NONE);
}

/* How many bundles of others are stored from now on before the one with this key. */
static uint64_t count_before(uint64_t key, bool refill)
{
    for (uint64_t count = 0;; count++) {
        const uint64_t answered = keys[first];
        answer_one(true);
        if (answered == key)
            return count;
        if (refill)
            send_one(FLOODER, "ipn:2.66");
        ck_assert_uint_lt(count, FLOOD);
    }
}

START_TEST(test_turns)
{
    for (int i = 0; i < FLOOD; i++)
        send_one(FLOODER, "ipn:2.66");
    poll_all();
    send_one(HONEST, "ipn:2.5"); /* from now on they share it */
    (void)count_before(FLOOD + 1, false);
    ck_assert_uint_le(last - first, SHARED_MOST);
    agent_check(n.a);
    for (int i = 0; i < 5; i++) {
        send_one(HONEST, "ipn:2.5");
        const uint64_t key = agent_counters(n.a)->offered;
        ck_assert_uint_le(count_before(key, true), SHARED_MOST);
    }
    agent_check(n.a);
    while (first < last)
        answer_one(first % 7 != 0); /* what the store refuses leaves like what it takes */
    ck_assert_uint_eq(agent_counters(n.a)->storing, 0);
    agent_check(n.a);
}
END_TEST

/* A user alone: one commit serves all that it sends. Others who were here share no more. */
START_TEST(test_alone)
{
    for (int i = 0; i < 4096; i++)
        send_one(FLOODER, "ipn:2.66");
    poll_all();
    ck_assert_uint_eq(last - first, 4096);
    send_one(HONEST, "ipn:2.5");
    while (first < last)
        answer_one(true);
    pass(&n, 2 * TICK_S);
    send_one(FLOODER, "ipn:2.66");
    pass(&n, 2 * TICK_S);
    for (int i = 0; i < 4096; i++)
        send_one(FLOODER, "ipn:2.66");
    poll_all();
    ck_assert_uint_eq(last - first, 4097);
    agent_check(n.a);
}
END_TEST

/* However long a bundle is, one at least goes. */
START_TEST(test_long)
{
    static char text[5 << 20];
    memset(text, 'x', sizeof text - 1);
    send_one(FLOODER, "ipn:2.66");
    send_one(HONEST, "ipn:2.5");
    poll_all();
    for (int i = 0; i < 3; i++) {
        struct agent_request q = request_of("ipn:2.5", "ipn:3.9", 1);
        q.user = HONEST;
        ck_assert_int_eq(app_send(&n, &q, text), REFUSE_NONE);
        poll_all();
    }
    ck_assert_uint_eq(last - first, 3);
    for (uint64_t i = 0; i < 5; i++)
        answer_one(true);
    ck_assert_uint_eq(agent_counters(n.a)->storing, 0);
}
END_TEST

/* What waits can be deleted by an operator, and ends when the store has answered. */
START_TEST(test_deleted)
{
    for (int i = 0; i < FLOOD; i++)
        send_one(FLOODER, "ipn:2.66");
    send_one(HONEST, "ipn:2.5");
    ck_assert_int_eq(agent_delete(n.a, FLOOD, n.now), 0);
    poll_all();
    while (first < last)
        answer_one(true);
    ck_assert_uint_eq(agent_counters(n.a)->ended[END_DELETED], 1);
    ck_assert_uint_eq(agent_counters(n.a)->bundles, FLOOD);
    agent_check(n.a);
}
END_TEST

SUITE(bp_agent_storing, t)
{
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test_turns);
    tcase_add_test(t, test_alone);
    tcase_add_test(t, test_long);
    tcase_add_test(t, test_deleted);
}
