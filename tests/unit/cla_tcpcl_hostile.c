/* SPDX-License-Identifier: Apache-2.0 */
/* A TCPCL session and a peer that sends more than it should: turns, and messages that no correct
 * peer sends so often. */
#include "tests/unit/cla_tcpcl_help.h"
#include "tests/unit/suite.h"

/* `count` copies of a message, in reads as long as they may be. */
static void feed_many(struct end *e, const char *text, size_t len, size_t count)
{
    uint8_t *all = malloc(len * count);
    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * len, text, len);
    feed(e, all, len * count, SIZE_MAX);
    free(all);
}

#define FEED_MANY(e, text, count) feed_many(e, text, sizeof(text) - 1, count)

/* ---- turns ---- */

START_TEST(messages_wait_for_the_next_turn)
{
    struct end e;
    establish(&e, true);
    tcpcl_turn(e.s, 3);
    FEED_MANY(&e, "\x04", 10);
    ck_assert_uint_eq(e.n.rx[TCPCL_KEEPALIVE], 3);
    for (unsigned more = 6; more <= 12; more += 3) {
        ck_assert(tcpcl_stopped(e.s));
        ck_assert(!tcpcl_reads(e.s)); /* what is there comes first */
        tcpcl_turn(e.s, 3);
        settle(&e);
        ck_assert_uint_eq(e.n.rx[TCPCL_KEEPALIVE], more < 10 ? more : 10);
    }
    ck_assert(!tcpcl_stopped(e.s));
    ck_assert(tcpcl_reads(e.s));
    finish_end(&e);
}
END_TEST

/* Segments without data, and transfers that are refused, leave less of the turns that follow, and
 * never nothing. */
START_TEST(waste_takes_turns)
{
    struct end e;
    establish(&e, true);
    tcpcl_turn(e.s, 160);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
    FEED_MANY(&e, "\x01\x00" ID("\0") ID("\0"), 400);
    ck_assert_uint_eq(e.n.rx[TCPCL_XFER_SEGMENT], 160);
    for (uint64_t seen = 170; seen <= 220; seen += 10) { /* a debt of 159 x 15, and more */
        tcpcl_turn(e.s, 160);
        e.out_len = 0;
        settle(&e);
        ck_assert_uint_eq(e.n.rx[TCPCL_XFER_SEGMENT], seen);
    }
    finish_end(&e);
    establish(&e, true);
    tcpcl_turn(e.s, 32);
    FEED_MANY(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a", 200);
    ck_assert_uint_eq(e.notices_len, 32);
    for (size_t i = 0; i < 32; i++)
        tcpcl_confirm(e.s, e.notices[i].token, i >= 2, TCPCL_REFUSE_NOT_ACCEPTABLE);
    tcpcl_turn(e.s, 32); /* two were refused: 30 of it are gone */
    settle(&e);
    ck_assert_uint_eq(e.notices_len, 34);
    tcpcl_turn(e.s, 30);
    settle(&e);
    ck_assert_uint_eq(e.notices_len, 64);
    finish_end(&e);
}
END_TEST

/* A turn that is spent while nothing is left stops nobody; what comes then waits. */
START_TEST(turn_spent_exactly)
{
    struct end e;
    establish(&e, true);
    tcpcl_turn(e.s, 2);
    FEED_MANY(&e, "\x04", 2);
    ck_assert(!tcpcl_stopped(e.s));
    ck_assert(tcpcl_reads(e.s));
    FEED(&e, "\x04");
    ck_assert(tcpcl_stopped(e.s));
    ck_assert_uint_eq(e.n.rx[TCPCL_KEEPALIVE], 2);
    tcpcl_turn(e.s, 2);
    settle(&e);
    ck_assert_uint_eq(e.n.rx[TCPCL_KEEPALIVE], 3);
    finish_end(&e);
}
END_TEST

/* Bundles: their data belong to the message, however many octets they have. */
START_TEST(bundles_by_turns)
{
    struct end e;
    establish(&e, true);
    tcpcl_turn(e.s, 4);
    FEED_MANY(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\5") "abcde", 10);
    ck_assert_uint_eq(e.notices_len, 4);
    tcpcl_turn(e.s, 5);
    settle(&e);
    ck_assert_uint_eq(e.notices_len, 9);
    tcpcl_turn(e.s, 5);
    settle(&e);
    ck_assert_uint_eq(e.notices_len, 10);
    finish_end(&e);
}
END_TEST

/* A list can have 200,000 empty items: each counts as a message does. */
START_TEST(items_by_turns)
{
    struct end e;
    establish(&e, true);
    tcpcl_turn(e.s, 100);
    FEED(&e, "\x01\x02" ID("\0") "\x00\x0f\xff\xff");
    FEED_MANY(&e, "\0\x7f\xff\0\0", 500);
    ck_assert_uint_eq(e.n.items_ignored, 99);
    ck_assert(tcpcl_stopped(e.s));
    finish_end(&e);
}
END_TEST

/* Values of items that are not known are dropped as they come: who has not identified itself makes
 * nothing grow by them. */
START_TEST(long_items)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    static uint8_t item[5 + 65535] = {0, 0x7f, 0xff, 0xff, 0xff};
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, "\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn:1.0\x00\x03\x00\x0c");
    for (int i = 0; i < 3; i++)
        feed(&e, item, sizeof item, 1 + 4000 * (size_t)i);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    ck_assert_uint_eq(e.n.items_ignored, 3);
    FEED(&e, "\x01\x02" ID("\0") "\0\x01\0\x04");
    feed(&e, item, sizeof item, 3000);
    FEED(&e, ID("\1") "a");
    ck_assert_uint_eq(e.n.items_ignored, 4);
    finish_end(&e);
}
END_TEST

/* A list of 4 GiB would keep its transfer, and all behind it, waiting for ever. */
START_TEST(lists_that_are_too_long)
{
    static const struct {
        const char *length;
        bool good;
    } of[] = {{"\x00\x10\x00\x00", true}, {"\x00\x10\x00\x01", false}, {"\xff\xff\xff\xff", false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct end e;
        struct tcpcl_setup setup = setup_of(false);
        establish(&e, true);
        FEED(&e, "\x01\x02" ID("\0"));
        feed(&e, of[i].length, 4, SIZE_MAX);
        if (of[i].good) {
            OUT(&e, "");
            ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
        } else {
            OUT(&e, "\x03\x05" ID("\0") "\x05\x00\x05");
            expect_over(&e, TCPCL_END_ITEMS);
        }
        finish_end(&e);
        begin_end(&e, &setup);
        FEED(&e, CONTACT);
        e.out_len = 0;
        FEED(&e, "\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn:1.0");
        feed(&e, of[i].length, 4, SIZE_MAX);
        if (of[i].good) {
            ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_INIT);
        } else {
            OUT(&e, "\x05\x00\x05");
            expect_over(&e, TCPCL_END_ITEMS);
        }
        finish_end(&e);
    }
}
END_TEST

/* What came before the stream's end counts, in however many turns it is read. */
START_TEST(end_of_the_stream_waits)
{
    struct end e;
    establish(&e, true);
    for (uint64_t key = 0; key < 10; key++)
        send_one(&e, key, 1);
    settle(&e);
    tcpcl_turn(e.s, 1);
    uint8_t acks[180];
    for (uint8_t i = 0; i < 10; i++) {
        memcpy(acks + 18 * i, "\x02\x03" ID("\0") ID("\1"), 18);
        acks[18 * i + 9] = i;
    }
    feed(&e, acks, sizeof acks, SIZE_MAX);
    tcpcl_closed(e.s, e.now);
    settle(&e);
    while (tcpcl_stopped(e.s)) {
        ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
        tcpcl_turn(e.s, 1);
        settle(&e);
    }
    expect_over(&e, TCPCL_END_STREAM);
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(e.notices[i].fate, TCPCL_ACKED);
    finish_end(&e);
}
END_TEST

/* ---- what no correct peer sends ---- */

START_TEST(too_many_keepalives)
{
    struct end e;
    establish(&e, true);
    FEED_MANY(&e, "\x04", TCPCL_KEEPALIVES_SPARE);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    e.now += 3 * TICK_S;
    FEED_MANY(&e, "\x04", 3 * TCPCL_KEEPALIVES_PER_S);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    FEED(&e, "\x04");
    OUT(&e, "\x05\x00\x05"); /* resource exhaustion */
    expect_over(&e, TCPCL_END_FLOOD);
    finish_end(&e);
}
END_TEST

/* One each second, the most that RFC 9174 allows, for ten hours; and a hundred at once behind a
 * time in which nothing was read. */
START_TEST(keepalives_of_a_correct_peer)
{
    struct end e;
    establish(&e, true);
    for (int i = 0; i < 36000; i++) {
        e.now += TICK_S;
        FEED(&e, "\x04");
    }
    e.now += 100 * TICK_S;
    FEED_MANY(&e, "\x04", 100);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    finish_end(&e);
}
END_TEST

START_TEST(too_many_rejects)
{
    struct end e;
    establish(&e, true); /* contact header and SESS_INIT were sent */
    FEED_MANY(&e, "\x06\x03\x02", 2 + TCPCL_REJECTS_SPARE);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    FEED_MANY(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a", 3);
    for (size_t i = 0; i < 3; i++)
        tcpcl_confirm(e.s, e.notices[i].token, true, 0);
    settle(&e);
    FEED_MANY(&e, "\x06\x03\x02", 3); /* of the acknowledgements */
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    FEED(&e, "\x06\x03\x02");
    expect_over(&e, TCPCL_END_FLOOD);
    ck_assert_uint_eq(e.n.term_tx[TCPCL_TERM_RESOURCE_EXHAUSTION], 1);
    finish_end(&e);
}
END_TEST

/* ---- transfers that are shed ---- */

START_TEST(shed_anywhere)
{
    static const char in[] =
        "\x01\x02" ID("\0") "\0\0\0\0" ID("\4") "abcd"
                                                "\x01\x00" ID("\0") ID("\3") "efg"
                                                                             "\x01\x01" ID("\0")
                                                                                 ID("\1") "h";
    for (size_t at = 1; at < sizeof in; at++) {
        struct end e;
        establish(&e, true);
        feed(&e, in, at, SIZE_MAX);
        const bool open = find_notice(&e, TCPCL_RECEIVED) == NULL && at >= 14;
        ck_assert_uint_eq(tcpcl_held(e.s), !open      ? 0
                                           : at < 22  ? 0
                                           : at <= 26 ? at - 22
                                           : at < 44  ? 4
                                           : at <= 47 ? at - 40
                                                      : 7);
        tcpcl_shed(e.s, TCPCL_REFUSE_NO_RESOURCES, e.now);
        ck_assert_uint_eq(tcpcl_held(e.s), 0);
        tcpcl_shed(e.s, TCPCL_REFUSE_NO_RESOURCES, e.now);
        settle(&e);
        ck_assert_uint_eq(e.n.transfers_shed, open);
        ck_assert_uint_eq(e.n.refused_tx[TCPCL_REFUSE_NO_RESOURCES], open);
        feed(&e, in + at, sizeof in - 1 - at, SIZE_MAX);
        ck_assert_int_eq(find_notice(&e, TCPCL_RECEIVED) != NULL, !open);
        if (!open)
            buf_drop(find_notice(&e, TCPCL_RECEIVED)->bundle);
        e.notices_len = 0;
        FEED(&e, "\x01\x03" ID("\1") "\0\0\0\0" ID("\1") "z");
        expect_notice(&e, TCPCL_RECEIVED);
        buf_drop(e.notices[0].bundle);
        e.notices_len = 0;
        ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
        finish_end(&e);
    }
}
END_TEST

/* Segments without data, always more of them than a turn takes: it does not grow. */
START_TEST(idle_under_a_flood)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.transfer_idle = 7 * TICK_S;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    tcpcl_turn(e.s, 2);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
    const tick due = e.now + 7 * TICK_S;
    for (int i = 0; i < 7; i++) {
        ck_assert_uint_eq(tcpcl_deadline(e.s), due);
        FEED_MANY(&e, "\x01\x00" ID("\0") ID("\0"), 3);
        e.out_len = 0;
        ck_assert(tcpcl_stopped(e.s));
        e.now += TICK_S;
        while (tcpcl_stopped(e.s)) {
            tcpcl_turn(e.s, 2);
            settle(&e);
        }
    }
    tcpcl_expire(e.s, e.now);
    settle(&e);
    ck_assert_uint_eq(e.n.transfers_idle, 1);
    finish_end(&e);
}
END_TEST

/* Only what is begun has a deadline, only while this side reads, and bytes put it off. */
START_TEST(idle_transfer)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.transfer_idle = 7 * TICK_S;
    setup.terms.keepalive_s = 0;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    e.out_len = e.notices_len = 0;
    ck_assert_uint_eq(tcpcl_deadline(e.s), TICK_NEVER);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\4"));
    ck_assert_uint_eq(tcpcl_deadline(e.s), e.now + 7 * TICK_S);
    e.now += 5 * TICK_S;
    FEED(&e, "a");
    ck_assert_uint_eq(tcpcl_deadline(e.s), e.now + 7 * TICK_S);
    e.now += 7 * TICK_S;
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x03\x02" ID("\0"));
    ck_assert_uint_eq(e.n.transfers_idle, 1);
    ck_assert_uint_eq(tcpcl_held(e.s), 0);
    ck_assert_uint_eq(tcpcl_deadline(e.s), TICK_NEVER);
    FEED(&e, "bcd\x01\x03" ID("\1") "\0\0\0\0" ID("\1") "z");
    expect_notice(&e, TCPCL_RECEIVED);
    finish_end(&e);
}
END_TEST

SUITE(cla_tcpcl_hostile, t)
{
    tcase_add_test(t, messages_wait_for_the_next_turn);
    tcase_add_test(t, waste_takes_turns);
    tcase_add_test(t, turn_spent_exactly);
    tcase_add_test(t, bundles_by_turns);
    tcase_add_test(t, items_by_turns);
    tcase_add_test(t, long_items);
    tcase_add_test(t, lists_that_are_too_long);
    tcase_add_test(t, end_of_the_stream_waits);
    tcase_add_test(t, too_many_keepalives);
    tcase_add_test(t, keepalives_of_a_correct_peer);
    tcase_add_test(t, too_many_rejects);
    tcase_add_test(t, shed_anywhere);
    tcase_add_test(t, idle_transfer);
    tcase_add_test(t, idle_under_a_flood);
}
