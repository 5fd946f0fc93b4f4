/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a TCPCL session has under way (cla/tcpcl/tcpcl_flight.c), in virtual time. The session
 * is the real one. The path is a line with a rate, a queue in front of it, and a round trip; the
 * peer acknowledges segments, or only whole transfers.
 */
#include "tests/unit/cla_tcpcl_help.h"
#include "tests/unit/suite.h"

#define CHUNKS 65536 /* a power of two, of both rings */
#define MB 1000000

struct segment {
    uint64_t end; /* in the stream, octets */
    uint64_t id, length;
    uint8_t flags;
    tick answered; /* when its acknowledgement is here */
};

struct path {
    struct end e;
    uint64_t rate; /* octets/s; 0: the peer has stopped reading */
    tick round_trip;
    uint64_t room;  /* octets that the sockets and the network take */
    bool refuses;   /* transfers of several segments, when the first one is there */
    bool whole;     /* only whole transfers are acknowledged */
    size_t segment; /* longest */
    struct buf *bundle;
    uint64_t sent, written, departed, queue; /* octets of the stream; queue: of chunks */
    uint64_t bundles, acked;                 /* handed over; octets of those acknowledged */
    uint64_t done, done_wanted;              /* bundles; 0: none is waited for */
    tick done_at;                            /* when so many were done */
    size_t chunks[CHUNKS];
    uint64_t chunk_first, chunk_next;
    tick departs; /* the first chunk; TICK_NEVER: not now */
    struct segment *segments;
    uint64_t segment_first, segment_next,
        answer_first; /* [answer_first, segment_first): departed */
};

static struct path *open_path(uint64_t rate, tick round_trip, size_t bundle)
{
    struct path *p = calloc(1, sizeof *p);
    struct tcpcl_setup setup = setup_of(true);
    setup.terms.segment_max = p->segment = MB;
    *p = (struct path){.rate = rate,
                       .round_trip = round_trip,
                       .room = 4 << 20,
                       .segment = MB,
                       .bundle = buf_of(bundle),
                       .departs = TICK_NEVER};
    p->segments = calloc(CHUNKS, sizeof *p->segments);
    begin_end(&p->e, &setup);
    FEED(&p->e, CONTACT);
    FEED(&p->e, "\x07\x00\x1e\0\0\0\0\x40\0\0\0\0\0\0\0\x40\0\0\0\x00\x07ipn:2.0\0\0\0\0");
    ck_assert_int_eq(tcpcl_state(p->e.s), TCPCL_IN_UP);
    return p;
}

static void close_path(struct path *p)
{
    tcpcl_check(p->e.s);
    tcpcl_free(p->e.s);
    buf_drop(p->bundle);
    free(p->segments);
    free(p);
}

/* What the session will write for one bundle (RFC 9174 §5.2.2). */
static void note_segments(struct path *p, size_t len)
{
    for (size_t at = 0; at < len; at += p->segment) {
        const size_t part = len - at < p->segment ? len - at : p->segment;
        const bool start = at == 0, end = at + part == len;
        p->sent += (start ? end ? 22 : 35 : 18) + part;
        ck_assert_uint_lt(p->segment_next - p->answer_first, CHUNKS);
        p->segments[p->segment_next++ % CHUNKS] =
            (struct segment){.end = p->sent,
                             .id = p->bundles,
                             .length = at + part,
                             .flags = (uint8_t)((start ? 2 : 0) | (end ? 1 : 0))};
    }
}

static void send_bundle(struct path *p)
{
    ck_assert_int_eq(tcpcl_send(p->e.s, p->bundles, p->bundle), 0);
    note_segments(p, p->bundle->len);
    p->bundles++;
}

static void start_chunk(struct path *p)
{
    if (p->departs != TICK_NEVER || p->rate == 0 || p->chunk_first == p->chunk_next)
        return;
    const double octets = (double)p->chunks[p->chunk_first % CHUNKS];
    p->departs = p->e.now + (tick)(octets * 1e9 / (double)p->rate);
}

static void write_chunks(struct path *p)
{
    struct slice parts[2]; /* a head and its data */
    size_t n;
    while (p->queue < p->room && (n = tcpcl_output(p->e.s, parts, 2, p->e.now)) > 0) {
        size_t len = 0;
        for (size_t i = 0; i < n; i++)
            len += parts[i].len;
        tcpcl_wrote(p->e.s, len, p->e.now);
        ck_assert_uint_lt(p->chunk_next - p->chunk_first, CHUNKS);
        p->chunks[p->chunk_next++ % CHUNKS] = len;
        p->queue += len;
        start_chunk(p);
    }
}

static void depart_chunk(struct path *p)
{
    const size_t len = p->chunks[p->chunk_first++ % CHUNKS];
    p->queue -= len;
    p->departed += len;
    p->departs = TICK_NEVER;
    for (; p->segment_first < p->segment_next; p->segment_first++) {
        struct segment *s = &p->segments[p->segment_first % CHUNKS];
        if (s->end > p->departed)
            break;
        s->answered = p->e.now + p->round_trip;
    }
    start_chunk(p);
}

static void take_answer(struct path *p)
{
    const struct segment *s = &p->segments[p->answer_first++ % CHUNKS];
    uint8_t message[18];
    struct writer w = writer_of(message, sizeof message);
    struct tcpcl_notice n;
    size_t room;
    const bool refused = p->refuses && s->flags != 3;
    if (refused ? s->flags != 2 : p->whole && (s->flags & 1) == 0)
        return;
    writer_byte(&w, refused ? TCPCL_XFER_REFUSE : TCPCL_XFER_ACK);
    writer_byte(&w, s->flags);
    tcpcl_put(&w, s->id, 8);
    if (!refused)
        tcpcl_put(&w, s->length, 8);
    memcpy(tcpcl_space(p->e.s, &room), message, writer_len(&w));
    tcpcl_fed(p->e.s, writer_len(&w), p->e.now);
    while (tcpcl_poll(p->e.s, &n, p->e.now)) {
        ck_assert_int_eq(n.kind, TCPCL_DONE);
        ck_assert_int_eq(n.fate, refused ? TCPCL_REFUSED : TCPCL_ACKED);
        p->acked += n.length;
        if (++p->done == p->done_wanted)
            p->done_at = p->e.now;
    }
}

static tick answer_due(const struct path *p)
{
    return p->answer_first == p->segment_first ? TICK_NEVER
                                               : p->segments[p->answer_first % CHUNKS].answered;
}

/* Bundles go whenever the session is not full; none: when `sends` is not set. */
static void run_path(struct path *p, tick time, bool sends)
{
    const tick until = p->e.now + time;
    for (;;) {
        while (sends && !tcpcl_flight_full(p->e.s))
            send_bundle(p);
        write_chunks(p);
        const tick due = tick_min(p->departs, answer_due(p));
        if (due > until)
            break;
        p->e.now = due > p->e.now ? due : p->e.now;
        if (answer_due(p) <= p->e.now)
            take_answer(p);
        else
            depart_chunk(p);
    }
    p->e.now = until;
    tcpcl_check(p->e.s);
}

static uint64_t under_way(const struct path *p)
{
    return p->bundles * p->bundle->len - p->acked;
}

/* Part of the rate that is used for so long. */
static double use_path(struct path *p, tick time)
{
    const uint64_t before = p->acked;
    run_path(p, time, true);
    return (double)(p->acked - before) / ((double)p->rate * (double)time / 1e9);
}

/* A bundle that another source makes now is handed over as soon as the session is not full: when is
 * it acknowledged? */
static tick wait_for_another(struct path *p)
{
    const tick begun = p->e.now;
    while (tcpcl_flight_full(p->e.s))
        run_path(p, TICK_MS, false);
    send_bundle(p);
    p->done_wanted = p->bundles;
    p->done_at = TICK_NEVER;
    while (p->done_at == TICK_NEVER)
        run_path(p, 10 * TICK_MS, true);
    return p->done_at - begun;
}

#define ck_used(part, least) ck_assert_msg((part) >= (least), "%.3f of the rate is used", part)

/* 10 Gbit/s, a round trip of 600 ms: 750 MB fill the path. */
START_TEST(long_and_fast)
{
    struct path *p = open_path(1250 * MB, 600 * TICK_MS, MB);
    p->room = UINT64_C(4) << 30;
    run_path(p, 10 * TICK_S, true); /* by then it has grown */
    for (unsigned i = 0; i < 20; i++) {
        const double used = use_path(p, 5 * TICK_S);
        ck_used(used, 0.93);
        ck_assert_uint_le(under_way(p), (uint64_t)1700 * MB);
    }
    const double used = use_path(p, 60 * TICK_S);
    ck_used(used, 0.985);
    close_path(p);
}
END_TEST

/* As fast, and short. */
START_TEST(short_and_fast)
{
    struct path *p = open_path(1250 * MB, 200 * TICK_US, 100000);
    run_path(p, 10 * TICK_MS, true);
    const double used = use_path(p, 5 * TICK_S);
    ck_used(used, 0.99);
    ck_assert_uint_le(under_way(p), 3 * MB);
    close_path(p);
}
END_TEST

/* 40 Gbit/s, as between two processes of a machine: 2 ms of it are under way. */
START_TEST(short_and_faster)
{
    struct path *p = open_path((uint64_t)5000 * MB, 200 * TICK_US, 500000);
    run_path(p, 10 * TICK_MS, true);
    const double used = use_path(p, TICK_S);
    ck_used(used, 0.99);
    ck_assert_uint_ge(tcpcl_bound(p->e.s), 9 * MB);
    ck_assert_uint_le(under_way(p), 11 * MB);
    close_path(p);
}
END_TEST

/* The time is measured anew each 30 s, without what a short path has beyond its own. */
START_TEST(short_for_long)
{
    struct path *p = open_path(400 * MB, 200 * TICK_US, 100000);
    for (unsigned i = 0; i < 10; i++) {
        const double used = use_path(p, 10 * TICK_S);
        ck_used(used, 0.99);
        ck_assert_uint_le(under_way(p), TCPCL_FLOOR_MOST + 100000);
    }
    close_path(p);
}
END_TEST

/* Less than an octet fills the path: a bundle goes all the same. */
START_TEST(nothing_fills_it)
{
    struct path *p = open_path(2000, 100 * TICK_US, 100);
    for (unsigned i = 0; i < 10; i++) {
        const double used = use_path(p, 10 * TICK_S);
        ck_used(used, 0.8); /* of octets, heads are not among them */
    }
    close_path(p);
}
END_TEST

/* 200 kB/s: another source's bundle waits for a few seconds, later than for what was handed over
 * before the first acknowledgement. */
START_TEST(slow)
{
    struct path *p = open_path(200000, 20 * TICK_MS, 100000);
    run_path(p, TICK_S, true);
    ck_assert_uint_le(wait_for_another(p), 23 * TICK_S);
    run_path(p, 30 * TICK_S, true);
    for (unsigned i = 0; i < 20; i++) {
        const double used = use_path(p, 10 * TICK_S);
        ck_used(used, 0.94); /* of bundles of 0.5 s */
        ck_assert_uint_le(under_way(p), 600000);
        ck_assert_uint_le(wait_for_another(p), 4 * TICK_S);
    }
    close_path(p);
}
END_TEST

/* The peer stops reading, and then reads 200 kB/s. */
START_TEST(peer_stops)
{
    struct path *p = open_path(1000 * MB, TICK_MS, 100000);
    run_path(p, 5 * TICK_S, true);
    p->rate = 0;
    run_path(p, 60 * TICK_S, true);
    ck_assert_uint_le(under_way(p), 4 * MB);
    p->rate = 200000;
    start_chunk(p);
    ck_assert_uint_le(wait_for_another(p), 20 * TICK_S);
    run_path(p, 60 * TICK_S, true);
    ck_assert_uint_le(wait_for_another(p), 5 * TICK_S);
    p->rate = 1000 * MB; /* all is as it was */
    run_path(p, 5 * TICK_S, true);
    const double used = use_path(p, 5 * TICK_S);
    ck_used(used, 0.98);
    close_path(p);
}
END_TEST

/* Bundles longer than the bound go, and one more only when the peer has most of the one before. */
START_TEST(long_bundles)
{
    struct path *p = open_path(10 * MB, 20 * TICK_MS, 50 * MB);
    run_path(p, 40 * TICK_S, true);
    const double used = use_path(p, 100 * TICK_S);
    ck_used(used, 0.94);
    ck_assert_uint_le(wait_for_another(p), 11 * TICK_S); /* two of them take 10 s */
    close_path(p);
}
END_TEST

/* Against RFC 9174 §5.2.3: no acknowledgement before the end of a transfer. */
START_TEST(acknowledges_at_the_end)
{
    struct path *p = open_path(10 * MB, 500 * TICK_MS, 5 * MB);
    p->whole = true;
    run_path(p, 10 * TICK_S, true);
    const double used = use_path(p, 100 * TICK_S);
    ck_used(used, 0.97);
    ck_assert_uint_le(under_way(p), 30 * MB);
    close_path(p);
}
END_TEST

/* From 30 ms to 600 ms and back, within a session. */
START_TEST(path_changes)
{
    struct path *p = open_path(100 * MB, 30 * TICK_MS, 500000);
    p->room = 1 << 30;
    run_path(p, 5 * TICK_S, true);
    double used = use_path(p, 20 * TICK_S);
    ck_used(used, 0.98);
    ck_assert_uint_le(under_way(p), 8 * MB);
    p->round_trip = 600 * TICK_MS;
    run_path(p, 60 * TICK_S, true);
    used = use_path(p, 60 * TICK_S);
    ck_used(used, 0.97);
    p->round_trip = 30 * TICK_MS;
    run_path(p, 40 * TICK_S, true);
    used = use_path(p, 20 * TICK_S);
    ck_used(used, 0.98);
    ck_assert_uint_le(under_way(p), 8 * MB);
    close_path(p);
}
END_TEST

/* A source that sends little, then all it can: the bound has not become its rate. */
START_TEST(after_little)
{
    struct path *p = open_path(100 * MB, 600 * TICK_MS, 10000);
    p->room = 1 << 30;
    for (unsigned i = 0; i < 100; i++) { /* 10 kB/s */
        if (!tcpcl_flight_full(p->e.s))
            send_bundle(p);
        run_path(p, TICK_S, false);
    }
    ck_assert_uint_eq(under_way(p), 0);
    run_path(p, 12 * TICK_S, true);
    const double used = use_path(p, 10 * TICK_S);
    ck_used(used, 0.97);
    close_path(p);
}
END_TEST

/* ---- the time to acknowledge ---- */

static void send_short(struct path *p)
{
    struct buf *long_one = p->bundle;
    p->bundle = buf_of(100);
    send_bundle(p);
    buf_drop(p->bundle);
    p->bundle = long_one;
}

/* Two bundles, the second one so much later; both are acknowledged. */
static void send_two(struct path *p, tick later)
{
    send_bundle(p);
    run_path(p, later, false);
    send_bundle(p);
    run_path(p, 2 * p->round_trip, false);
    ck_assert_uint_eq(under_way(p), 0);
}

#define ck_trip(p)                                                                                 \
    ck_assert_msg(tcpcl_trip((p)->e.s) >= (p)->round_trip, "%.3f ms",                              \
                  (double)tcpcl_trip((p)->e.s) / TICK_MS)

/* 75 Mbit/s, a round trip of 300 ms: 2.8 MB fill the path. The second bundle is written long before
 * the round begins that it ends. */
START_TEST(two_at_a_time)
{
    struct path *p = open_path(9375000, 300 * TICK_MS, 100);
    for (unsigned i = 0; i < 50; i++) {
        send_two(p, 135 * TICK_MS);
        ck_trip(p);
    }
    for (tick later = 0; later < 300 * TICK_MS; later += 7 * TICK_MS) {
        send_two(p, later);
        ck_trip(p);
        ck_assert_uint_lt(tcpcl_trip(p->e.s), 301 * TICK_MS);
    }
    close_path(p);
}
END_TEST

/* As before, beside a source that sends all it can. */
START_TEST(two_at_a_time_beside_many)
{
    struct path *p = open_path(9375000, 300 * TICK_MS, 100000);
    for (unsigned i = 0; i < 50; i++) {
        send_short(p);
        run_path(p, 135 * TICK_MS, false);
        send_short(p);
        run_path(p, 600 * TICK_MS, false);
    }
    run_path(p, 10 * TICK_S, true);
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t before = p->acked;
        for (unsigned k = 0; k < 20; k++) {
            send_short(p);
            run_path(p, 135 * TICK_MS, true);
            send_short(p);
            run_path(p, (165 + 10 * k) * TICK_MS, true);
        }
        ck_trip(p);
        const double used = (double)(p->acked - before) / (9375000.0 * 0.395 * 20);
        ck_used(used, 0.93);
    }
    close_path(p);
}
END_TEST

/* The second one is written later, and acknowledged 80 us after the first one: that is not the
 * rate. */
START_TEST(two_acknowledged_at_once)
{
    struct path *p = open_path(1250 * MB, 300 * TICK_MS, 100000);
    for (unsigned i = 0; i < 50; i++) {
        p->round_trip = 300 * TICK_MS;
        send_bundle(p);
        run_path(p, 100 * TICK_MS, false);
        p->round_trip = 200 * TICK_MS;
        send_bundle(p);
        run_path(p, TICK_S, false);
        ck_trip(p);
        ck_assert_uint_le(tcpcl_bound(p->e.s), TCPCL_FLIGHT_FIRST);
    }
    ck_assert_uint_le(tcpcl_bound(p->e.s), TCPCL_FLOOR_MOST);
    close_path(p);
}
END_TEST

/* An acknowledgement is written between the bundle and its own one. */
START_TEST(acknowledges_between)
{
    struct path *p = open_path(9375000, 300 * TICK_MS, 100);
    run_path(p, TICK_S, false);
    for (uint8_t i = 0; i < 20; i++) {
        const uint8_t one[] = {1, 3, 0, 0, 0, 0, 0, 0, 0, i, 0,  0,
                               0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'a'};
        send_bundle(p);
        run_path(p, 70 * TICK_MS, false);
        p->e.notices_len = 0;
        feed(&p->e, one, sizeof one, SIZE_MAX);
        expect_notice(&p->e, TCPCL_RECEIVED);
        tcpcl_confirm(p->e.s, p->e.notices[0].token, true, TCPCL_REFUSE_UNKNOWN);
        buf_drop(p->e.notices[0].bundle);
        p->e.out_len = 0;
        settle(&p->e);
        ck_assert_uint_eq(p->e.out_len, 18);
        run_path(p, TICK_S, false);
        ck_trip(p);
    }
    close_path(p);
}
END_TEST

/* The peer refuses 2.5 MB with the first 50 kB of them: it has not even got the last ones. */
START_TEST(refused_at_its_beginning)
{
    struct path *p = open_path(9375000, 300 * TICK_MS, 2500000);
    p->refuses = true;
    p->room = 100000;
    p->segment = 50000;
    tcpcl_pace(p->e.s, p->segment);
    for (unsigned i = 0; i < 20; i++) {
        send_short(p);
        send_bundle(p);
        run_path(p, TICK_S, false);
        ck_trip(p);
        ck_assert_uint_eq(p->done, p->bundles);
    }
    send_short(p); /* it is measured all the same */
    run_path(p, TICK_S, false);
    ck_trip(p);
    ck_assert_uint_lt(tcpcl_trip(p->e.s), 301 * TICK_MS);
    close_path(p);
}
END_TEST

SUITE(cla_tcpcl_flight, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, long_and_fast);
    tcase_add_test(t, short_and_fast);
    tcase_add_test(t, short_and_faster);
    tcase_add_test(t, short_for_long);
    tcase_add_test(t, nothing_fills_it);
    tcase_add_test(t, slow);
    tcase_add_test(t, peer_stops);
    tcase_add_test(t, long_bundles);
    tcase_add_test(t, acknowledges_at_the_end);
    tcase_add_test(t, path_changes);
    tcase_add_test(t, after_little);
    tcase_add_test(t, two_at_a_time);
    tcase_add_test(t, two_at_a_time_beside_many);
    tcase_add_test(t, two_acknowledged_at_once);
    tcase_add_test(t, acknowledges_between);
    tcase_add_test(t, refused_at_its_beginning);
}
