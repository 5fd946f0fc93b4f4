/* SPDX-License-Identifier: Apache-2.0 */
/* A TCPCL session by itself, octet by octet: transfers (RFC 9174 §5.2). */
#include "tests/unit/cla_tcpcl_help.h"
#include "tests/unit/suite.h"

/* ---- transfers out: §5.2 ---- */

START_TEST(one_segment)
{
    struct end e;
    establish(&e, true);
    send_one(&e, 11, 3);
    OUT(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\3") "abc");
    ck_assert_uint_eq(tcpcl_in_flight(e.s), 1);
    FEED(&e, "\x02\x03" ID("\0") ID("\3"));
    expect_notice(&e, TCPCL_DONE);
    ck_assert_uint_eq(e.notices[0].key, 11);
    ck_assert_int_eq(e.notices[0].fate, TCPCL_ACKED);
    FEED(&e, "\x02\x03" ID("\0") ID("\3")); /* once more: late, no offence */
    OUT(&e, "");
    ck_assert_uint_eq(e.n.late, 1);
    finish_end(&e);
}
END_TEST

START_TEST(segments_by_the_peers_mru)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, "\x07\x00\x1e\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x0a\x00\x07ipn:2.0\0\0\0\0");
    e.out_len = 0;
    struct buf *b = buf_of(11);
    ck_assert_int_eq(tcpcl_send(e.s, 1, b), HELIO_ESPACE); /* transfer MRU 10 */
    buf_drop(b);
    send_one(&e, 2, 10);
    send_one(&e, 3, 4);
    OUT(&e, "\x01\x02" ID("\0") "\0\0\0\x0d\0\0\x01\0\x08" ID("\x0a")
                ID("\4") "abcd"
                         "\x01\x00" ID("\0")
                             ID("\4") "efgh"
                                      "\x01\x01" ID("\0")
                                          ID("\2") "ij"
                                                   "\x01\x03" ID("\1") "\0\0\0\0" ID("\4") "abcd");
    e.notices_len = 0;
    FEED(&e, "\x02\x02" ID("\0") ID("\4") "\x02\x00" ID("\0") ID("\x08"));
    ck_assert_uint_eq(e.notices_len, 0);
    FEED(&e, "\x02\x03" ID("\1") ID("\4")); /* out of order: no matter */
    ck_assert_uint_eq(e.notices[0].key, 3);
    FEED(&e, "\x02\x01" ID("\0") ID("\x0b")); /* more than there is */
    OUT(&e, "\x06\x03\x02");
    FEED(&e, "\x02\x01" ID("\0") ID("\x0a"));
    ck_assert_uint_eq(e.notices[1].key, 2);
    ck_assert_int_eq(e.notices[1].fate, TCPCL_ACKED);
    finish_end(&e);
}
END_TEST

START_TEST(refused_on_the_way)
{
    struct end e;
    struct slice parts[1];
    struct tcpcl_setup setup = setup_of(true);
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, "\x07\x00\x1e\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\x10\0\0\x00\x07ipn:2.0\0\0\0\0");
    e.out_len = e.notices_len = 0;
    send_one(&e, 1, 400000); /* 400 segments: they are planned piece by piece */
    send_one(&e, 2, 1);
    ck_assert_uint_eq(tcpcl_output(e.s, parts, 1, e.now), 1);
    tcpcl_wrote(e.s, 20, e.now); /* in the middle of the first segment's head */
    size_t room;
    uint8_t *at = tcpcl_space(e.s, &room);
    memcpy(at, "\x03\x02" ID("\0"), 10);
    tcpcl_fed(e.s, 10, e.now);
    settle(&e);
    ck_assert_int_eq(e.notices[0].fate, TCPCL_REFUSED);
    ck_assert_int_eq(e.notices[0].refusal, TCPCL_REFUSE_NO_RESOURCES);
    ck_assert_uint_lt(e.out_len, 300000); /* what was planned ends whole, no more begins */
    ck_assert_int_eq(
        memcmp(e.out + e.out_len - 23, "\x01\x03" ID("\1") "\0\0\0\0" ID("\1") "a", 23), 0);
    FEED(&e, "\x03\x63" ID("\1")); /* a reason that no document has */
    ck_assert_int_eq(e.notices[1].refusal, TCPCL_REFUSE_UNKNOWN);
    finish_end(&e);
}
END_TEST

START_TEST(taken_back)
{
    struct end e;
    uint64_t len = 0;
    establish(&e, true);
    send_one(&e, 1, 5);
    ck_assert(tcpcl_take_back(e.s, 1, &len));
    ck_assert_uint_eq(len, 5);
    OUT(&e, "");
    send_one(&e, 2, 5);
    settle(&e);
    ck_assert(!tcpcl_take_back(e.s, 2, &len)); /* it has left */
    finish_end(&e);
}
END_TEST

START_TEST(lost_with_the_stream)
{
    struct end e;
    establish(&e, true);
    send_one(&e, 1, 5);
    settle(&e);
    send_one(&e, 2, 5);
    tcpcl_closed(e.s, e.now);
    expect_over(&e, TCPCL_END_STREAM);
    ck_assert_uint_eq(e.notices_len, 4); /* ending, two outcomes, over */
    ck_assert_int_eq(e.notices[1].fate, TCPCL_UNSENT);
    ck_assert_uint_eq(e.notices[1].key, 2);
    ck_assert_int_eq(e.notices[2].fate, TCPCL_LOST);
    ck_assert_int_eq(tcpcl_send(e.s, 3, NULL), HELIO_EAGAIN);
    finish_end(&e);
}
END_TEST

/* ---- transfers in ---- */

START_TEST(received)
{
    for (size_t step = 1; step <= 64; step *= 8) {
        struct end e;
        establish(&e, true);
        static const char in[] = "\x01\x02" ID("\x09") "\0\0\0\x0d\x01\0\x01\0\x08" ID("\6")
            ID("\4") "abcd"
                     "\x01\x01" ID("\x09") ID("\2") "ef"
                                                    "\x01\x03" ID("\x0a") "\0\0\0\0" ID("\1") "z";
        feed(&e, in, sizeof in - 1, step);
        OUT(&e, "\x02\x02" ID("\x09") ID("\4"));
        ck_assert_uint_eq(e.notices_len, 2);
        ck_assert_uint_eq(e.notices[0].bundle->len, 6);
        ck_assert_int_eq(memcmp(buf_data(e.notices[0].bundle), "abcdef", 6), 0);
        ck_assert_uint_eq(tcpcl_unconfirmed(e.s), 2);
        tcpcl_confirm(e.s, e.notices[1].token, true, 0);
        OUT(&e, ""); /* answers come in the order of the transfers */
        tcpcl_confirm(e.s, e.notices[0].token, true, 0);
        OUT(&e, "\x02\x01" ID("\x09") ID("\6") "\x02\x03" ID("\x0a") ID("\1"));
        finish_end(&e);
    }
}
END_TEST

START_TEST(refused_by_the_owner)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a");
    tcpcl_confirm(e.s, e.notices[0].token, false, TCPCL_REFUSE_NO_RESOURCES);
    OUT(&e, "\x03\x02" ID("\0"));
    ck_assert_uint_eq(e.n.refused_tx[TCPCL_REFUSE_NO_RESOURCES], 1);
    finish_end(&e);
}
END_TEST

/* Each is refused, skipped, and the next transfer is received. */
START_TEST(transfers_that_are_refused)
{
    static const struct {
        const char *text;
        size_t len;
        uint8_t reason;
    } bad[] = {
#define CASE(t, reason) {t, sizeof(t) - 1, reason}
        /* announces 5001 bytes; an item that must be understood; its list is wrong, twice */
        CASE("\x01\x02" ID("\0") "\0\0\0\x0d\x01\0\x01\0\x08\0\0\0\0\0\0\x13\x89" ID("\1") "a", 4),
        CASE("\x01\x02" ID("\0") "\0\0\0\x06\x01\x7f\xff\0\x01q" ID("\1") "a", 5),
        CASE("\x01\x02" ID("\0") "\0\0\0\x06\x00\x7f\xff\0\x02q" ID("\1") "a", 5),
        CASE("\x01\x02" ID("\0") "\0\0\0\x02\x00\x7f" ID("\1") "a", 5),
        /* Transfer Length twice, and of 4 bytes */
        CASE("\x01\x02" ID("\0") "\0\0\0\x1a\x01\0\x01\0\x08" ID("\2") "\x01\0\x01\0\x08" ID("\2")
                 ID("\1") "a",
             5),
        CASE("\x01\x02" ID("\0") "\0\0\0\x09\x01\0\x01\0\x04\0\0\0\2" ID("\1") "a", 5),
        /* more than was announced, less than that, nothing at all */
        CASE("\x01\x02" ID("\0") "\0\0\0\x0d\x01\0\x01\0\x08" ID("\1") ID("\2") "ab", 4),
        CASE("\x01\x03" ID("\0") "\0\0\0\x0d\x01\0\x01\0\x08" ID("\3") ID("\2") "ab", 4),
        CASE("\x01\x03" ID("\0") "\0\0\0\0" ID("\0"), 4),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct end e;
        uint8_t want[10] = "\x03\x00";
        establish(&e, true);
        feed(&e, bad[i].text, bad[i].len, 1 + i % 3);
        want[1] = bad[i].reason;
        expect_out(&e, want, 10);
        FEED(&e, "\x01\x03" ID("\1") "\0\0\0\0" ID("\1") "b");
        ck_assert_uint_eq(e.notices_len, 1);
        finish_end(&e);
    }
}
END_TEST

START_TEST(what_follows_a_refusal)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\x06\x01\x7f\xff\0\x01q" ID("\1") "a");
    OUT(&e, "\x03\x05" ID("\0"));
    FEED(&e, "\x01\x00" ID("\0") ID("\2") "bc"); /* had crossed: refused again */
    OUT(&e, "\x03\x00" ID("\0"));
    FEED(&e, "\x01\x01" ID("\0") ID("\1") "d");
    OUT(&e, "\x03\x00" ID("\0"));
    ck_assert_uint_eq(e.notices_len, 0);
    finish_end(&e);
}
END_TEST

START_TEST(too_long)
{
    struct end e;
    uint8_t data[1000] = {0};
    establish(&e, true);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0\0\0\0\0\0\0\x03\xe8");
    feed(&e, data, 1000, 300);
    e.out_len = 0;
    for (int i = 0; i < 4; i++) {
        FEED(&e, "\x01\x00" ID("\0") "\0\0\0\0\0\0\x03\xe8");
        feed(&e, data, 1000, SIZE_MAX);
    }
    e.out_len = 0;
    FEED(&e, "\x01\x01" ID("\0") ID("\1") "x"); /* 5001 in all */
    OUT(&e, "\x03\x04" ID("\0"));
    FEED(&e, "\x01\x02" ID("\1") "\0\0\0\0\0\0\0\0\0\0\x03\xe9"); /* a segment above the MRU */
    feed(&e, data, 1000, SIZE_MAX);
    FEED(&e, "y");
    OUT(&e, "\x03\x04" ID("\1"));
    ck_assert_uint_eq(e.notices_len, 0);
    finish_end(&e);
}
END_TEST

START_TEST(interleaved)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
    e.out_len = 0;
    /* rejected, and the session terminates; the items of the other one change nothing */
    FEED(&e, "\x01\x03" ID("\1") "\0\0\0\x0d\1\0\1\0\x08" ID("\1") ID("\1") "b");
    OUT(&e, "\x06\x03\x01\x05\x00\x00");
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_ENDING);
    FEED(&e, "\x01\x01" ID("\0") ID("\2") "cd"); /* the first one goes on to its end */
    const struct tcpcl_notice *n = find_notice(&e, TCPCL_RECEIVED);
    ck_assert_ptr_nonnull(n);
    ck_assert_uint_eq(n->bundle->len, 3);
    ck_assert_int_eq(memcmp(buf_data(n->bundle), "acd", 3), 0);
    tcpcl_confirm(e.s, n->token, true, TCPCL_REFUSE_UNKNOWN);
    OUT(&e, "\x02\x01" ID("\0") ID("\3"));
    FEED(&e, "\x05\x01\x00");
    expect_over(&e, TCPCL_END_PROTOCOL);
    ck_assert_uint_eq(e.n.transfers_cut, 0);
    for (size_t i = 0; i < e.notices_len; i++)
        ck_assert(i == (size_t)(n - e.notices) || e.notices[i].kind != TCPCL_RECEIVED);
    finish_end(&e);
}
END_TEST

/* What follows could be of either of them: nothing of it is taken. */
START_TEST(begun_again_with_the_same_id)
{
    struct end e;
    establish(&e, true);
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
    e.out_len = 0;
    FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "b");
    OUT(&e, "\x06\x03\x01\x03\x00" ID("\0") "\x05\x00\x00");
    FEED(&e, "\x01\x01" ID("\0") ID("\1") "c");
    OUT(&e, "\x03\x00" ID("\0"));
    FEED(&e, "\x05\x01\x00");
    expect_over(&e, TCPCL_END_PROTOCOL);
    ck_assert_ptr_null(find_notice(&e, TCPCL_RECEIVED));
    finish_end(&e);
}
END_TEST

/* ---- lengths: every boundary ---- */

static size_t put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
    return bytes;
}

/* The head of a START segment with a Transfer Length item. */
static size_t write_start(uint8_t *at, uint8_t flags, uint64_t id, uint64_t total, uint64_t len)
{
    size_t n = 0;
    at[n++] = 1;
    at[n++] = flags;
    n += put_number(at + n, id, 8);
    n += put_number(at + n, 13, 4);
    at[n++] = 0;
    n += put_number(at + n, 1, 2);
    n += put_number(at + n, 8, 2);
    n += put_number(at + n, total, 8);
    return n + put_number(at + n, len, 8);
}

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 999,
                                 1000, /* the segment MRU */
                                 1001,
                                 4999,
                                 5000, /* the transfer MRU */
                                 5001,
                                 UINT32_MAX,
                                 (uint64_t)UINT32_MAX + 1,
                                 INT64_MAX,
                                 (uint64_t)INT64_MAX + 1,
                                 UINT64_MAX - 4999,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};

/* Two octets in one segment: received when two are announced, else refused, once. */
START_TEST(announced_length)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        struct end e;
        uint8_t in[64];
        establish(&e, true);
        size_t n = write_start(in, 3, 0, edges[i], 2);
        in[n++] = 'a';
        in[n++] = 'b';
        feed(&e, in, n, SIZE_MAX);
        if (edges[i] == 2) {
            expect_notice(&e, TCPCL_RECEIVED);
            OUT(&e, "");
        } else {
            ck_assert_uint_eq(e.notices_len, 0);
            OUT(&e, "\x03\x04" ID("\0"));
        }
        FEED(&e, "\x01\x03" ID("\1") "\0\0\0\0" ID("\1") "c");
        expect_notice(&e, TCPCL_RECEIVED);
        ck_assert_uint_eq(e.notices[e.notices_len - 1].bundle->len, 1);
        finish_end(&e);
    }
}
END_TEST

/* The head of a segment, first of its transfer or behind one octet: what is longer than an MRU, or
 * than was announced, is refused as soon as its length is there. */
START_TEST(segment_length)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (int later = 0; later <= 1; later++) {
            struct end e;
            uint8_t in[64] = {1};
            establish(&e, true);
            if (later)
                FEED(&e, "\x01\x02" ID("\0") "\0\0\0\0" ID("\1") "a");
            e.out_len = 0;
            in[1] = later ? 0 : 2;
            size_t n = 2 + put_number(in + 2, 0, 8);
            n += later ? 0 : put_number(in + n, 0, 4);
            n += put_number(in + n, edges[i], 8);
            feed(&e, in, n, SIZE_MAX);
            if (edges[i] > 1000)
                OUT(&e, "\x03\x04" ID("\0"));
            else if (edges[i] > 0)
                OUT(&e, ""); /* its octets are awaited */
            ck_assert_uint_eq(e.notices_len, 0);
            ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
            finish_end(&e);
        }
    }
}
END_TEST

/* A segment must not bring more than is left of what was announced, however large both are. */
START_TEST(beyond_what_was_announced)
{
    static const struct {
        uint64_t total, first, second;
        bool refused;
    } cases[] = {{1000, 400, 600, false}, {1000, 400, 601, true}, {5000, 1000, 1000, false},
                 {1000, 1000, 1, true},   {1, 0, 1, false},       {0, 0, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct end e;
        uint8_t in[64], data[1000] = {0};
        establish(&e, true);
        feed(&e, in, write_start(in, 2, 0, cases[i].total, cases[i].first), SIZE_MAX);
        feed(&e, data, cases[i].first, SIZE_MAX);
        in[0] = 1;
        in[1] = 0;
        size_t n = 2 + put_number(in + 2, 0, 8);
        n += put_number(in + n, cases[i].second, 8);
        feed(&e, in, n, SIZE_MAX);
        ck_assert_uint_eq(e.n.refused_tx[TCPCL_REFUSE_NOT_ACCEPTABLE], cases[i].refused);
        finish_end(&e);
    }
}
END_TEST

/* An acknowledgement of more than was sent is no acknowledgement. */
START_TEST(acknowledged_length)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        struct end e;
        uint8_t in[18] = {2, 3};
        establish(&e, true);
        send_one(&e, 7, 3);
        settle(&e);
        e.out_len = 0;
        put_number(in + 10, edges[i], 8);
        feed(&e, in, sizeof in, SIZE_MAX);
        ck_assert_uint_eq(e.notices_len, edges[i] == 3);
        if (edges[i] > 3)
            OUT(&e, "\x06\x03\x02");
        else
            OUT(&e, "");
        finish_end(&e);
    }
}
END_TEST

START_TEST(back_pressure)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.held_bytes = 1;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    e.notices_len = e.out_len = 0;
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a" /* at most one byte: still read */
                                                     "\x01\x03" ID("\1") "\0\0\0\0" ID(
                                                         "\2") "bc"
                                                               "\x01\x03" ID("\2") "\0\0\0\0" ID(
                                                                   "\3") "def");
    ck_assert_uint_eq(e.notices_len, 2);
    ck_assert(!tcpcl_reads(e.s));
    ck_assert(tcpcl_unconfirmed_full(e.s));
    ck_assert_uint_eq(tcpcl_unconfirmed_bytes(e.s), 3);
    e.now += 1000 * TICK_S; /* not listening is not the peer's silence */
    tcpcl_expire(e.s, e.now);
    OUT(&e, "\x04");
    tcpcl_confirm(e.s, e.notices[0].token, true, 0);
    ck_assert(!tcpcl_reads(e.s));
    e.now += 1000 * TICK_S;
    tcpcl_confirm(e.s, e.notices[1].token, true, 0);
    settle(&e);
    ck_assert_uint_gt(tcpcl_deadline(e.s), e.now); /* nor is it when it listens again */
    ck_assert_int_eq(tcpcl_state(e.s), TCPCL_IN_UP);
    ck_assert_uint_eq(e.notices_len, 3);
    ck_assert_uint_eq(tcpcl_unconfirmed_bytes(e.s), 3); /* the last one, "def" */
    finish_end(&e);
}
END_TEST

static void discard_output(struct end *e)
{
    struct slice parts[8];
    size_t count, len;
    while ((count = tcpcl_output(e->s, parts, 8, e->now)) > 0) {
        len = 0;
        for (size_t i = 0; i < count; i++)
            len += parts[i].len;
        tcpcl_wrote(e->s, len, e->now);
    }
}

/* Acknowledgements behind that of an unconfirmed bundle: nothing is read beyond a number of them.
 */
START_TEST(answers_that_wait)
{
    static const char segment[] = "\x01\x00" ID("\1") ID("\1") "b";
    const size_t len = sizeof segment - 1, count = TCPCL_ANSWERS_MAX;
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.transfer_mru = 1 << 20;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    e.notices_len = 0;
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0" ID("\1") "a");
    FEED(&e, "\x01\x02" ID("\1") "\0\0\0\0" ID("\1") "b");
    uint8_t *all = malloc(len * count);
    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * len, segment, len);
    bool unread = true;
    ck_assert_uint_eq(tcpcl_answers(e.s, &unread), 2);
    ck_assert(!unread);
    feed(&e, all, len * (count - 3), SIZE_MAX);
    ck_assert(tcpcl_reads(e.s));
    ck_assert_uint_eq(e.n.answers_full, 0);
    feed(&e, all, len * 3, SIZE_MAX);
    ck_assert(!tcpcl_reads(e.s));
    ck_assert_uint_eq(tcpcl_answers(e.s, &unread), count);
    ck_assert(!unread);
    ck_assert_uint_eq(e.n.answers_full, 1);
    tcpcl_confirm(e.s, e.notices[0].token, true, 0);
    ck_assert_uint_eq(tcpcl_answers(e.s, &unread), count);
    ck_assert(unread);
    discard_output(&e);
    ck_assert(tcpcl_reads(e.s));
    ck_assert_uint_eq(tcpcl_answers(e.s, &unread), 0);
    ck_assert(!unread);
    e.out_len = 0;
    settle(&e); /* what was read of the last two */
    ck_assert_uint_eq(e.out_len, 2 * 18);
    ck_assert_uint_eq(e.n.answers_full, 1);
    free(all);
    finish_end(&e);
}
END_TEST

/* Longer than what is read at once: straight into the bundle. */
START_TEST(read_where_it_belongs)
{
    struct end e;
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.segment_mru = setup.terms.transfer_mru = 1 << 20;
    begin_end(&e, &setup);
    FEED(&e, CONTACT);
    FEED(&e, INIT("ipn:2.0"));
    e.notices_len = e.out_len = 0;
    FEED(&e, "\x01\x03" ID("\0") "\0\0\0\0\0\0\0\0\0\x08\0\0");
    size_t room, left = 0x80000;
    while (left > 0) {
        uint8_t *at = tcpcl_space(e.s, &room);
        ck_assert_uint_eq(room, left); /* all the rest, and not a byte of what follows */
        size_t n = left < 100000 ? left : 100000;
        memset(at, 'x', n);
        tcpcl_fed(e.s, n, e.now);
        settle(&e);
        left -= n;
    }
    expect_notice(&e, TCPCL_RECEIVED);
    ck_assert_uint_eq(e.notices[0].bundle->len, 0x80000);
    bool same = true; /* one assertion for all: each takes a system call */
    for (size_t i = 0; i < 0x80000; i++)
        same = same && buf_data(e.notices[0].bundle)[i] == 'x';
    ck_assert(same);
    finish_end(&e);
}
END_TEST

SUITE(cla_tcpcl_transfer, t)
{
    tcase_add_test(t, one_segment);
    tcase_add_test(t, segments_by_the_peers_mru);
    tcase_add_test(t, refused_on_the_way);
    tcase_add_test(t, taken_back);
    tcase_add_test(t, lost_with_the_stream);
    tcase_add_test(t, received);
    tcase_add_test(t, refused_by_the_owner);
    tcase_add_test(t, transfers_that_are_refused);
    tcase_add_test(t, what_follows_a_refusal);
    tcase_add_test(t, too_long);
    tcase_add_test(t, interleaved);
    tcase_add_test(t, begun_again_with_the_same_id);
    tcase_add_test(t, announced_length);
    tcase_add_test(t, segment_length);
    tcase_add_test(t, beyond_what_was_announced);
    tcase_add_test(t, acknowledged_length);
    tcase_add_test(t, back_pressure);
    tcase_add_test(t, answers_that_wait);
    tcase_add_test(t, read_where_it_belongs);
}
