/* SPDX-License-Identifier: Apache-2.0 */
/* A TCPCL session by itself, octet by octet: how it begins, is kept, and ends (RFC 9174 §4, §5.1,
 * §6). */
#include "tests/unit/cla_tcpcl_help.h"
#include "tests/unit/suite.h"

/* ---- establishment: §4.1 to §4.8 ---- */

START_TEST(active_side)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    begin_end(&e, &setup);
    OUT(&e, CONTACT); /* at once */
    FEED(&e, CONTACT);
    OUT(&e, INIT("ipn:1.0"));
    FEED(&e, INIT("ipn:2.0"));
    OUT(&e, "");
    expect_notice(&e, TCPCL_UP);
    ck_assert_uint_eq(e.notices_len, 3);
    ck_assert_str_eq(tcpcl_peer(e.s)->node_id, "ipn:2.0");
    ck_assert_uint_eq(tcpcl_peer(e.s)->segment_mru, 1000);
    ck_assert_uint_eq(tcpcl_peer(e.s)->transfer_mru, 5000);
    finish_end(&e);
}
END_TEST

START_TEST(passive_side_waits)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    OUT(&e, "");
    feed(&e, CONTACT, 6, 1);
    OUT(&e, CONTACT);
    feed(&e, INIT("ipn:1.0"), sizeof INIT("ipn:1.0") - 1, 1);
    OUT(&e, INIT("ipn:2.0"));
    expect_notice(&e, TCPCL_UP);
    finish_end(&e);
}
END_TEST

START_TEST(no_byte_behind_the_contact_header_is_read_early)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    size_t room;
    setup.tls = TCPCL_TLS_REQUIRED;
    begin_end(&e, &setup);
    e.secure = false;
    OUT(&e, "dtn!\x04\x01");
    (void)tcpcl_space(e.s, &room);
    ck_assert_uint_eq(room, 6);
    FEED(&e, "dtn!\x04\xff"); /* reserved flags are ignored */
    OUT(&e, "");
    expect_notice(&e, TCPCL_CONTACT);
    ck_assert(e.notices[0].tls && !tcpcl_reads(e.s));
    tcpcl_secured(e.s, true, e.now);
    ck_assert(tcpcl_reads(e.s));
    OUT(&e, INIT("ipn:1.0"));
    finish_end(&e);
}
END_TEST

START_TEST(tls_is_the_and_of_both)
{
    for (int own = TCPCL_TLS_OFF; own <= TCPCL_TLS_REQUIRED; own++) {
        for (int peer = 0; peer <= 1; peer++) {
            struct end e;
            struct tcpcl_setup setup = setup_of(false);
            setup.tls = (enum tcpcl_tls)own;
            begin_end(&e, &setup);
            feed(&e, peer ? "dtn!\x04\x01" : CONTACT, 6, 6);
            if (own == TCPCL_TLS_REQUIRED && !peer) {
                OUT(&e, "dtn!\x04\x01\x05\x00\x04"); /* contact failure */
                expect_over(&e, TCPCL_END_NO_TLS);
            } else {
                ck_assert_int_eq(find_notice(&e, TCPCL_CONTACT)->tls, own != 0 && peer);
            }
            finish_end(&e);
        }
    }
}
END_TEST

START_TEST(handshake_fails)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.tls = TCPCL_TLS_OPTIONAL;
    begin_end(&e, &setup);
    e.secure = false;
    FEED(&e, "dtn!\x04\x01");
    e.out_len = 0;
    tcpcl_secured(e.s, false, e.now);
    OUT(&e, ""); /* there is no session to terminate */
    expect_over(&e, TCPCL_END_TLS);
    finish_end(&e);
}
END_TEST

START_TEST(no_contact_header)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    FEED(&e, "GET / ");
    OUT(&e, "");
    expect_over(&e, TCPCL_END_MAGIC);
    finish_end(&e);
}
END_TEST

START_TEST(other_versions)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    FEED(&e, "dtn!\x03\x00");
    OUT(&e, CONTACT "\x05\x00\x02"); /* its own header, then version mismatch */
    expect_over(&e, TCPCL_END_VERSION);
    finish_end(&e);
    setup = setup_of(true);
    begin_end(&e, &setup);
    OUT(&e, CONTACT);
    FEED(&e, "dtn!\x03\x00");
    OUT(&e, "");
    expect_over(&e, TCPCL_END_VERSION);
    finish_end(&e);
}
END_TEST

START_TEST(sess_init_that_cannot_be)
{
    static const struct {
        const char *text;
        size_t len;
    } bad[] = {
#define BAD(t) {t, sizeof(t) - 1}
        /* segment MRU 0; transfer MRU 0; a Node ID with a zero in it; one that is too long */
        BAD("\x07\x00\x1e\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\x88\x00\x07ipn:2.0\0\0\0\0"),
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\0\0\x00\x07ipn:2.0\0\0\0\0"),
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn\0"
            "2.0\0\0\0\0"),
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x10\x00"),
        /* an unknown item that is critical; a list whose item is longer; one of three bytes */
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn:2.0\0\0\0\x05"
            "\x01\x7f\x00\x00\x00"),
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn:2.0\0\0\0\x06"
            "\x00\x7f\x00\x00\x02x"),
        BAD("\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x07ipn:2.0\0\0\0\x03"
            "\x00\x7f\x00"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct end e;
        struct tcpcl_setup setup = setup_of(true);
        begin_end(&e, &setup);
        FEED(&e, CONTACT);
        e.out_len = 0;
        feed(&e, bad[i].text, bad[i].len, 1);
        OUT(&e, "\x05\x00\x04");
        expect_over(&e, TCPCL_END_INIT);
        ck_assert_ptr_null(find_notice(&e, TCPCL_UP));
        finish_end(&e);
    }
}
END_TEST

START_TEST(items_of_the_session_that_are_ignored)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    feed(&e,
         "\x07\x00\x0a\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\x13\x88\x00\x00\0\0\0\x0d"
         "\x00\x7f\x00\x00\x03xyz\xfe\x00\x01\x00\x00",
         38, 1); /* no Node ID, and reserved flags */
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    ck_assert_uint_eq(e.n.items_ignored, 2);
    ck_assert_str_eq(tcpcl_peer(e.s)->node_id, "");
    ck_assert_uint_eq(tcpcl_peer(e.s)->keepalive_s, 10); /* the smaller one */
    finish_end(&e);
}
END_TEST

START_TEST(not_let_in)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    e.admit = false;
    FEED(&e, CONTACT INIT("ipn:9.0")); /* what is behind the header waits in the stream */
    FEED(&e, INIT("ipn:9.0"));
    expect_notice(&e, TCPCL_PEER);
    e.out_len = 0;
    tcpcl_terminate(e.s, TCPCL_TERM_CONTACT_FAILURE, e.now);
    OUT(&e, "\x05\x00\x04");
    expect_over(&e, TCPCL_END_NOT_ADMITTED);
    finish_end(&e);
}
END_TEST

START_TEST(silence_at_the_beginning)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    e.now = tcpcl_deadline(e.s);
    ck_assert_uint_eq(e.now, 1000 + 10 * TICK_S);
    tcpcl_expire(e.s, e.now);
    OUT(&e, ""); /* closed without a word */
    expect_over(&e, TCPCL_END_CONTACT_TIMEOUT);
    finish_end(&e);
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    e.out_len = 0;
    e.now = tcpcl_deadline(e.s);
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x05\x00\x01");
    expect_over(&e, TCPCL_END_CONTACT_TIMEOUT);
    finish_end(&e);
}
END_TEST

START_TEST(transfers_before_sess_init)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(false);
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    e.out_len = 0;
    FEED(&e, "\x02\x01" ID("\0") ID("\5"));
    OUT(&e, "\x06\x03\x02\x05\x00\x00"); /* and SESS_TERM */
    expect_over(&e, TCPCL_END_PROTOCOL);
    finish_end(&e);
}
END_TEST

/* ---- upkeep: §5.1 ---- */

START_TEST(keepalives)
{
    struct end e;
    establish(&e, true);
    tick begun = e.now;
    ck_assert_uint_eq(tcpcl_deadline(e.s), begun + 30 * TICK_S);
    e.now = begun + 30 * TICK_S;
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x04");
    ck_assert_uint_eq(tcpcl_deadline(e.s), begun + 60 * TICK_S); /* both are due then */
    e.now = begun + 50 * TICK_S;
    FEED(&e, "\x04");
    ck_assert_uint_eq(tcpcl_deadline(e.s), begun + 60 * TICK_S);
    e.now = begun + 60 * TICK_S;
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x04");
    e.now = begun + 90 * TICK_S;
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x04");
    e.now = begun + 110 * TICK_S; /* twice the interval after the last word */
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x05\x00\x01");
    expect_over(&e, TCPCL_END_IDLE);
    finish_end(&e);
}
END_TEST

START_TEST(without_keepalive)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.keepalive_s = 0;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    ck_assert_uint_eq(tcpcl_peer(e.s)->keepalive_s, 0);
    ck_assert_uint_eq(tcpcl_deadline(e.s), TICK_NEVER);
    finish_end(&e);
}
END_TEST

START_TEST(unknown_messages)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x55");
    OUT(&e, "\x06\x01\x55");
    expect_over(&e, TCPCL_END_PROTOCOL);
    ck_assert_uint_eq(e.n.unknown_rx, 1);
    finish_end(&e);
}
END_TEST

START_TEST(messages_at_the_wrong_time)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x02\x01" ID("\7") ID("\5")); /* acknowledges what was never sent */
    OUT(&e, "\x06\x03\x02");
    FEED(&e, "\x03\x02" ID("\7"));
    OUT(&e, "\x06\x03\x03");
    FEED(&e, "\x01\x01" ID("\7") ID("\2") "xy"); /* the end of what never began: skipped */
    OUT(&e, "\x06\x03\x01");
    FEED(&e, "\x05\x01\x00"); /* a reply to nothing */
    OUT(&e, "\x06\x03\x05");
    FEED(&e, "\x06\x03\x04"); /* a rejection is only noted */
    OUT(&e, "");
    ck_assert_uint_eq(e.n.rejected_rx[TCPCL_REJECT_UNEXPECTED], 1);
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    finish_end(&e);
}
END_TEST

/* §5.1.2: it is rejected, whatever is in it, and the session goes on as it was agreed. */
START_TEST(sess_init_twice)
{
    static const char with_items[] =
        "\x07\x00\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\x07ipn:9.0\0\0\0\x0c"
        "\x01\x7f\xff\0\x02xy\x01\x7f\xff\x01\x02";
    struct end e;
    establish(&e, true);
    for (size_t step = 1; step <= 7; step += 3) {
        FEED(&e, INIT("ipn:2.0"));
        OUT(&e, "\x06\x03\x07");
        feed(&e, with_items, sizeof with_items - 1, step);
        OUT(&e, "\x06\x03\x07");
        ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    }
    ck_assert_str_eq(tcpcl_peer(e.s)->node_id, "ipn:2.0");
    ck_assert_uint_eq(tcpcl_peer(e.s)->keepalive_s, 30);
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\2") "ab");
    expect_notice(&e, TCPCL_RECEIVED);
    FEED(&e, "\x05\x00\x03"); /* ending: again */
    e.out_len = 0;
    FEED(&e, INIT("ipn:2.0"));
    OUT(&e, "\x06\x03\x07");
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_ENDING);
    finish_end(&e);
    /* one whose items are too long to be skipped */
    establish(&e, true);
    FEED(&e, "\x07\x00\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\x00\xff\xff\xff\xff");
    OUT(&e, "\x06\x03\x07\x05\x00\x05");
    expect_over(&e, TCPCL_END_ITEMS);
    finish_end(&e);
}
END_TEST

/* ---- the end: §6.1 ---- */

START_TEST(terminated_here)
{
    struct end e;
    establish(&e, true);
    send_one(&e, 1, 3);
    settle(&e);
    send_one(&e, 2, 3);
    e.out_len = 0;
    tcpcl_terminate(e.s, TCPCL_TERM_UNKNOWN, e.now);
    OUT(&e, "\x05\x00\x00");
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_ENDING);
    ck_assert_int_eq(e.notices[1].fate, TCPCL_UNSENT);     /* the one not begun */
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a"); /* no new one comes in */
    OUT(&e, "\x03\x06" ID("\0"));
    FEED(&e, "\x05\x01\x00");
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_ENDING); /* one is under way */
    FEED(&e, "\x02\x03" ID("\0") ID("\3"));
    expect_over(&e, TCPCL_END_OWN_TERM);
    ck_assert_int_eq(e.notices[2].fate, TCPCL_ACKED);
    finish_end(&e);
}
END_TEST

START_TEST(terminated_there)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
    e.out_len = 0;
    FEED(&e, "\x05\x00\x03");
    OUT(&e, "\x05\x01\x03"); /* the same data, as a reply */
    expect_notice(&e, TCPCL_ENDING);
    FEED(&e, "\x01\x01" ID("\0") ID("\1") "b"); /* what was begun may end */
    expect_notice(&e, TCPCL_RECEIVED);
    tcpcl_confirm(e.s, e.notices[1].token, true, 0);
    OUT(&e, "\x02\x01" ID("\0") ID("\2"));
    expect_over(&e, TCPCL_END_PEER_TERM);
    finish_end(&e);
}
END_TEST

START_TEST(both_terminate)
{
    struct end e;
    establish(&e, true);
    tcpcl_terminate(e.s, TCPCL_TERM_BUSY, e.now);
    OUT(&e, "\x05\x00\x03");
    FEED(&e, "\x05\x00\x01"); /* crossed: no reply */
    OUT(&e, "");
    expect_over(&e, TCPCL_END_OWN_TERM);
    finish_end(&e);
}
END_TEST

START_TEST(ending_has_an_end)
{
    struct end e;
    establish(&e, true);
    send_one(&e, 1, 3);
    settle(&e);
    tcpcl_terminate(e.s, TCPCL_TERM_UNKNOWN, e.now);
    settle(&e);
    e.now = tcpcl_deadline(e.s);
    ck_assert_uint_eq(e.now, 1000 + 5 * TICK_S);
    tcpcl_expire(e.s, e.now);
    expect_over(&e, TCPCL_END_OWN_TERM);
    ck_assert_int_eq(find_notice(&e, TCPCL_DONE)->fate, TCPCL_LOST);
    finish_end(&e);
}
END_TEST

START_TEST(texts)
{
    ck_assert_str_eq(tcpcl_message_text(TCPCL_MSG_REJECT), "reject");
    ck_assert_ptr_null(tcpcl_message_text(0));
    ck_assert_ptr_null(tcpcl_message_text(8));
    ck_assert_str_eq(tcpcl_refusal_text(6), "session terminating");
    ck_assert_str_eq(tcpcl_refusal_text(7), "unknown");
    ck_assert_str_eq(tcpcl_rejection_text(2), "message unsupported");
    ck_assert_str_eq(tcpcl_term_text(5), "resource exhaustion");
}
END_TEST

SUITE(cla_tcpcl_session, t)
{
    tcase_add_test(t, active_side);
    tcase_add_test(t, passive_side_waits);
    tcase_add_test(t, no_byte_behind_the_contact_header_is_read_early);
    tcase_add_test(t, tls_is_the_and_of_both);
    tcase_add_test(t, handshake_fails);
    tcase_add_test(t, no_contact_header);
    tcase_add_test(t, other_versions);
    tcase_add_test(t, sess_init_that_cannot_be);
    tcase_add_test(t, items_of_the_session_that_are_ignored);
    tcase_add_test(t, not_let_in);
    tcase_add_test(t, silence_at_the_beginning);
    tcase_add_test(t, transfers_before_sess_init);
    tcase_add_test(t, keepalives);
    tcase_add_test(t, without_keepalive);
    tcase_add_test(t, unknown_messages);
    tcase_add_test(t, messages_at_the_wrong_time);
    tcase_add_test(t, sess_init_twice);
    tcase_add_test(t, terminated_here);
    tcase_add_test(t, terminated_there);
    tcase_add_test(t, both_terminate);
    tcase_add_test(t, ending_has_an_end);
    tcase_add_test(t, texts);
}
