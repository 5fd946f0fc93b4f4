/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that no span names: refused, or accepted into a set of fixed size. In virtual time. */
#include "ltp_pair.h"
#include "tests/unit/suite.h"

#define PLACES 8
#define BLOCK 50000

static struct ltp_span unconfigured_span(void)
{
    struct ltp_span s = pair_span(0);
    s.idle_timeout = 10 * TICK_S;
    s.retries_max = 3;
    return s;
}

/* Engine 2 knows nobody and has places for unconfigured peers; engine 1 knows engine 2. */
static struct pair *with_unconfigured(struct ltp_config *config, const struct ltp_span *span)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span given = unconfigured_span();
    config->engine = 2;
    config->seed = 5;
    config->unconfigured_max = PLACES;
    config->unconfigured = span == NULL ? &given : span;
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], config), 0);
    return p;
}

static enum verdict from(struct pair *p, const char *source, const struct ltp_segment *s)
{
    static uint8_t bytes[61000];
    size_t len = segment_write(s, bytes, sizeof bytes);
    struct slice at = slice_of(source, strlen(source));
    enum verdict v = ltp_input_from(p->l[1], bytes, len, at, p->now);
    ltp_check(p->l[1]);
    return v;
}

static struct ltp_segment data_of(uint64_t engine, uint64_t number, int type)
{
    struct ltp_segment s = pair_data(number, type, 0, 100);
    s.id.originator = engine;
    return s;
}

static uint64_t count(const struct pair *p, enum verdict v)
{
    return ltp_counters(p->l[1])->verdicts[v];
}

static bool is_in(const struct pair *p, uint64_t engine)
{
    struct ltp_unconfigured g;
    for (uint32_t i = 0; i < PLACES; i++) {
        if (ltp_unconfigured_at(p->l[1], i, &g) && g.peer == engine)
            return true;
    }
    return false;
}

START_TEST(a_unconfigured_sends)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    pair_drop(p, LTP_RED, 3);
    pair_drop(p, LTP_RED_CP_EOB, 0);
    pair_drop(p, LTP_RS, 0);
    pair_send(p, BLOCK, BLOCK);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    pair_assert_red(p, BLOCK);
    pair_send(p, 3000, 0);
    pair_run(p);
    ck_assert_uint_eq(p->notices[LTP_GREEN], 1);
    pair_assert_idle(p);
    ck_assert(ltp_is_unconfigured(p->l[1], 1));
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured_accepted, 1);
    /* and nothing more than that */
    struct buf *b = pair_block(10, 1);
    struct ltp_block block = {.peer = 1, .client_service = 1, .data = b, .red_len = 10};
    struct ltp_session_id id;
    ck_assert_int_eq(ltp_send(p->l[1], &block, p->now, &id), HELIO_ENOENT);
    ck_assert_int_eq(ltp_link(p->l[1], 1, false, p->now), HELIO_ENOENT); /* none is known of */
    ck_assert_uint_eq(ltp_room(p->l[1], 1), 0);
    buf_drop(b);
    pair_free(p);
}
END_TEST

START_TEST(who_cannot_be_one)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_segment s = data_of(2, 1, LTP_RED);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_UNKNOWN_PEER); /* us */
    s.id.originator = 0;
    ck_assert_int_eq(from(p, "a", &s), VERDICT_UNKNOWN_PEER);
    s.id.originator = 7;
    s.client_service = 99; /* would open no session; an unknown sender gets no answer */
    ck_assert_int_eq(from(p, "a", &s), VERDICT_NO_CLIENT_SERVICE);
    s = data_of(7, 1, LTP_RED);
    s.offset = UINT64_C(1) << 40;
    ck_assert_int_eq(from(p, "a", &s), VERDICT_LIMIT_BYTES);
    s = (struct ltp_segment){.type = LTP_CS, .id = {7, 1}};
    ck_assert_int_eq(from(p, "a", &s), VERDICT_UNKNOWN_PEER);
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured_accepted, 0);
    ck_assert(!ltp_unconfigured_ready(p->l[1]));
    pair_free(p);
    p = pair_new(NULL, NULL); /* without places */
    s = data_of(7, 1, LTP_RED);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_UNKNOWN_PEER);
    pair_free(p);
}
END_TEST

START_TEST(what_is_asked_for_must_make_sense)
{
    struct ltp_span span = unconfigured_span();
    struct ltp_config config = {.engine = 2, .unconfigured_max = 8};
    struct ltp *l;
    ck_assert_int_eq(ltp_new(&l, &config), HELIO_EINVAL);
    config.unconfigured = &span;
    span.idle_timeout = 0;
    ck_assert_int_eq(ltp_new(&l, &config), HELIO_EINVAL);
    span.idle_timeout = TICK_S;
    span.rto = 0;
    ck_assert_int_eq(ltp_new(&l, &config), HELIO_EINVAL);
    span.rto = TICK_S;
    config.unconfigured_max = 65537;
    ck_assert_int_eq(ltp_new(&l, &config), HELIO_EINVAL);
}
END_TEST

/* Bound to the first source: who only knows the engine's number changes and learns nothing. */
START_TEST(bound_to_its_source)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_segment s = data_of(7, 1, LTP_RED_CP), other = data_of(7, 2, LTP_RED);
    struct ltp_segment cancel = {.type = LTP_CS, .id = {7, 1}};
    struct ltp_segment ack = {.type = LTP_RA, .id = {7, 1}, .rpt_serial = 1};
    ck_assert_int_eq(from(p, "home", &s), VERDICT_OK);
    s.offset = 100;
    s.type = LTP_RED_CP_EOB;
    ck_assert_int_eq(from(p, "away", &s), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(p, "away", &other), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(p, "away", &cancel), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(p, "away", &ack), VERDICT_WRONG_SOURCE);
    ck_assert_int_eq(from(p, "homer", &s), VERDICT_WRONG_SOURCE);
    struct ltp_unconfigured g;
    ck_assert(ltp_unconfigured_next(p->l[1], &g)); /* the report goes where the data came from */
    ck_assert(slice_equal(slice_of(g.source, g.source_len), slice_of("home", 4)));
    ck_assert_int_eq(from(p, "home", &s), VERDICT_OK);
    ck_assert_uint_eq(count(p, VERDICT_WRONG_SOURCE), 5);
    pair_free(p);
}
END_TEST

START_TEST(a_flood_finds_the_set_full)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    uint8_t bytes[300];
    for (uint64_t i = 0; i < 100000; i++) {
        struct ltp_segment s = data_of(1000 + i, i, i % 3 == 0 ? LTP_GREEN_EOB : LTP_RED_CP_EOB);
        ltp_input(p->l[1], bytes, segment_write(&s, bytes, sizeof bytes), p->now);
        p->now += 10 * TICK_US;
    }
    pair_drain(p);
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured, PLACES);
    ck_assert_uint_eq(ltp_counters(p->l[1])->opened_import, PLACES);
    ck_assert_uint_eq(count(p, VERDICT_LIMIT_PEERS), 100000 - PLACES);
    for (uint64_t i = 0; i < PLACES; i++)
        ck_assert(is_in(p, 1000 + i));
    pair_free(p);
}
END_TEST

/* All that is left of its sessions must be over, and closed_time have passed since. */
START_TEST(a_place_comes_free_by_silence)
{
    struct ltp_config config = {.closed_time = 60 * TICK_S};
    struct pair *p = with_unconfigured(&config, NULL);
    for (uint64_t i = 0; i < PLACES; i++) {
        struct ltp_segment s = data_of(10 + i, 1, LTP_GREEN_EOB); /* over at once */
        ck_assert_int_eq(from(p, "x", &s), VERDICT_OK);
        p->now += TICK_MS;
    }
    pair_drain(p);
    tick last = p->now;
    struct ltp_segment late = data_of(50, 1, LTP_GREEN_EOB), again = data_of(10, 1, LTP_GREEN_EOB);
    for (; p->now < 59 * TICK_S; p->now += TICK_S)
        ck_assert_int_eq(from(p, "y", &late), VERDICT_LIMIT_PEERS);
    ck_assert_int_eq(from(p, "x", &again),
                     VERDICT_CLOSED_SESSION); /* the first: it is still here */
    p->now = last + 60 * TICK_S - PLACES * TICK_MS;
    ck_assert_int_eq(from(p, "y", &late), VERDICT_LIMIT_PEERS);
    p->now += 2 * TICK_MS; /* the second has been silent for 60 s */
    ck_assert_int_eq(from(p, "y", &late), VERDICT_OK);
    ck_assert(is_in(p, 50) && is_in(p, 10) && !is_in(p, 11));
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured, PLACES);
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured_accepted, PLACES + 1);
    pair_free(p);
}
END_TEST

START_TEST(never_while_something_is_open)
{
    struct ltp_config config = {.closed_time = TICK_S};
    struct ltp_span span = unconfigured_span();
    span.idle_timeout = 3600 * TICK_S;
    struct pair *p = with_unconfigured(&config, &span);
    for (uint64_t i = 0; i < PLACES; i++) {
        struct ltp_segment s = data_of(10 + i, 1, LTP_RED);
        ck_assert_int_eq(from(p, "x", &s), VERDICT_OK);
    }
    struct ltp_segment late = data_of(50, 1, LTP_GREEN_EOB);
    for (int i = 0; i < 3000; i++) {
        p->now += TICK_S;
        ck_assert_int_eq(from(p, "y", &late), VERDICT_LIMIT_PEERS);
    }
    /* the idle timeout closes one; its cancel, unanswered, is the last thing to be over */
    p->now = ltp_deadline(p->l[1]);
    ltp_expire(p->l[1], p->now);
    pair_drain(p);
    ck_assert_int_eq(from(p, "y", &late), VERDICT_LIMIT_PEERS);
    struct ltp_unconfigured g;
    struct ltp_out out = {.head = (uint8_t[2000]){0}, .head_cap = 2000};
    for (int i = 0; i < 1000; i++) {
        p->now += 10 * TICK_MS;
        ltp_expire(p->l[1], p->now);
        while (ltp_unconfigured_next(p->l[1], &g))
            ck_assert_int_eq(ltp_output(p->l[1], g.peer, p->now, &out), 1);
    }
    p->now += TICK_S;
    ck_assert_int_eq(from(p, "y", &late), VERDICT_OK);
    pair_free(p);
}
END_TEST

/* What unconfigured peers may have in all does not reach into what is left for others. */
START_TEST(their_share)
{
    struct ltp_config config = {.import_sessions = 100,
                                .unconfigured_sessions = 20,
                                .held_bytes = 1 << 20,
                                .unconfigured_bytes = 1 << 18,
                                .closed_memory = 40};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_span known = pair_span(1);
    ck_assert_int_eq(ltp_span_set(p->l[1], &known, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        struct ltp_segment s = data_of(10 + i % PLACES, i, LTP_RED);
        s.offset = i % 2 == 0 ? 0 : i * 100;
        enum verdict v = from(p, "x", &s);
        ck_assert(v == VERDICT_OK || v == VERDICT_LIMIT_SESSIONS || v == VERDICT_LIMIT_BYTES);
    }
    struct ltp_segment s = data_of(1, 1, LTP_RED);
    ck_assert_uint_gt(count(p, VERDICT_LIMIT_SESSIONS), 0);
    for (s.id.number = 1; s.id.number <= 40; s.id.number++) /* a configured peer has the rest */
        ck_assert_int_eq(from(p, "z", &s), VERDICT_OK);
    /* a closed session of the peer is remembered whatever unconfigured peers do */
    struct ltp_segment over = data_of(1, 500, LTP_GREEN_EOB);
    ck_assert_int_eq(from(p, "z", &over), VERDICT_OK);
    for (uint64_t i = 2000; i < 4000; i++) {
        struct ltp_segment g = {.type = LTP_CS, .id = {10 + i % PLACES, i}};
        (void)from(p, "x", &g);
        pair_drain(p);
    }
    ck_assert_int_eq(from(p, "z", &over), VERDICT_CLOSED_SESSION);
    pair_free(p);
}
END_TEST

/* Without a number of their own: a quarter of all sessions, rounded up. */
START_TEST(a_quarter_of_the_sessions)
{
    static const struct {
        uint32_t all, theirs;
    } of[] = {{0, 1024}, {100, 25}, {10, 3}, {1, 1}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ltp_config config = {.import_sessions = of[i].all};
        struct pair *p = with_unconfigured(&config, NULL);
        uint32_t open = 0;
        for (uint64_t k = 0; k < 2000; k++) {
            struct ltp_segment s = data_of(10 + k % PLACES, 1 + k / PLACES, LTP_RED);
            open += from(p, "x", &s) == VERDICT_OK;
        }
        ck_assert_uint_eq(open, of[i].theirs);
        pair_free(p);
    }
}
END_TEST

/* Also of those that are no unconfigured peers yet. */
START_TEST(unknown_senders_find_the_share_used)
{
    struct ltp_config config = {.unconfigured_sessions = 3};
    struct pair *p = with_unconfigured(&config, NULL);
    for (uint64_t i = 0; i < PLACES; i++) {
        struct ltp_segment s = data_of(10 + i, 1, LTP_RED);
        ck_assert_int_eq(from(p, "x", &s), i < 3 ? VERDICT_OK : VERDICT_LIMIT_SESSIONS);
    }
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured, 3);
    pair_free(p);
    config = (struct ltp_config){.unconfigured_bytes = 20000};
    p = with_unconfigured(&config, NULL);
    struct ltp_segment s = data_of(10, 1, LTP_RED);
    s.offset = 18000;
    ck_assert_int_eq(from(p, "x", &s), VERDICT_OK);
    s = data_of(11, 1, LTP_RED);
    ck_assert_int_eq(from(p, "x", &s), VERDICT_LIMIT_SESSIONS);
    ck_assert(!is_in(p, 11));
    pair_free(p);
}
END_TEST

START_TEST(with_a_cookie)
{
    struct ltp_config config = {0};
    struct ltp_span span = unconfigured_span();
    span.cookie_len = 2;
    memcpy(span.cookie, "\x5f\x0a", 2);
    struct pair *p = with_unconfigured(&config, &span);
    struct ltp_segment s = data_of(7, 1, LTP_RED);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_BAD_COOKIE);
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured_accepted, 0);
    static const uint8_t field[] = {1, 2, 0x5f, 0x0a};
    s.header_count = 1;
    s.headers = slice_of(field, sizeof field);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    s.header_count = 0;
    s.headers = slice_of(NULL, 0);
    s.offset = 100;
    ck_assert_int_eq(from(p, "a", &s), VERDICT_BAD_COOKIE);
    pair_free(p);
}
END_TEST

START_TEST(a_unconfigured_gets_a_span)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_span known = pair_span(7);
    struct ltp_segment s = data_of(7, 1, LTP_RED);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    ck_assert_int_eq(ltp_span_set(p->l[1], &known, p->now), HELIO_EAGAIN);
    ltp_cancel(p->l[1], s.id, LTP_USR_CNCLD, p->now);
    struct ltp_out out = {.head = (uint8_t[2000]){0}, .head_cap = 2000};
    ck_assert_int_eq(ltp_output(p->l[1], 7, p->now, &out), 1);
    s = (struct ltp_segment){.type = LTP_CAR, .id = {7, 1}};
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    ck_assert_int_eq(ltp_span_set(p->l[1], &known, p->now), 0);
    ck_assert(!ltp_is_unconfigured(p->l[1], 7));
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured, 0);
    s = data_of(7, 2, LTP_RED);
    ck_assert_int_eq(from(p, "elsewhere", &s), VERDICT_OK);
    pair_free(p);
}
END_TEST

#define UDP_IPV4 28u
#define UDP_IPV6 48u

/* All that leaves for an unconfigured peer, bytes with the longest headers. */
static uint64_t segments;

static uint64_t sent_to(struct pair *p, uint64_t engine, struct ltp_segment *last)
{
    uint8_t head[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    uint64_t bytes = 0;
    while (ltp_output(p->l[1], engine, p->now, &out) != 0) {
        bytes += out.head_len + out.data.len + UDP_IPV6;
        segments++;
        ck_assert_int_eq(segment_parse(last, head, out.head_len), VERDICT_OK);
    }
    return bytes;
}

/* Timers run until none is left. */
static uint64_t sent_at_last(struct pair *p, uint64_t engine, struct ltp_segment *last)
{
    uint64_t bytes = sent_to(p, engine, last);
    while (ltp_deadline(p->l[1]) != TICK_NEVER) {
        p->now = ltp_deadline(p->l[1]);
        ltp_expire(p->l[1], p->now);
        bytes += sent_to(p, engine, last);
        ltp_check(p->l[1]);
    }
    return bytes;
}

/* Somebody forges an address with the shortest segments of each kind that wants answers. */
START_TEST(a_forged_address_gets_little)
{
    static const int types[] = {LTP_RED_CP, LTP_RED_CP_EOB, LTP_RED_CP_EORP};
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_segment got;
    uint64_t in = 0, out = 0;
    for (uint64_t i = 0; i < 300; i++) {
        struct ltp_segment s = data_of(7, i / 3, types[i % 3]);
        struct ltp_segment cancel = {.type = LTP_CS, .id = {7, i}};
        uint8_t bytes[200];
        s.data = slice_of("x", 1);
        s.cp_serial = i + 1;
        s.offset = i % 3;
        from(p, "a", &s);
        in += UDP_IPV4 + segment_write(&s, bytes, sizeof bytes);
        if (i % 5 == 4) {
            from(p, "a", &cancel);
            in += UDP_IPV4 + segment_write(&cancel, bytes, sizeof bytes);
        }
        out += i % 10 == 9 ? sent_at_last(p, 7, &got) : sent_to(p, 7, &got);
        ck_assert_uint_le(out, 3 * in);
    }
    ck_assert_uint_gt(out, 2 * in); /* it is made use of */
    ck_assert_uint_gt(ltp_counters(p->l[1])->unconfigured_unsent, 100);
    ck_assert_uint_eq(ltp_counters(p->l[1])->tx_bytes + UDP_IPV6 * segments, out);
    ck_assert(!ltp_has_output(p->l[1], 7)); /* and nothing waits for ever */
    pair_free(p);
}
END_TEST

/* A datagram of 60,000 bytes pays for some hundred reports, each with the headers of its datagram.
 */
START_TEST(a_long_datagram_pays_for_headers)
{
    static uint8_t block[60000], whole[61000];
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_segment got, s = data_of(7, 0, LTP_RED_CP);
    s.cp_serial = 1;
    s.data = slice_of(block, sizeof block);
    from(p, "a", &s);
    uint64_t in = UDP_IPV4 + segment_write(&s, whole, sizeof whole), out = sent_to(p, 7, &got);
    for (uint64_t i = 1; i < 700; i++) {
        uint8_t bytes[200];
        s = data_of(7, i, LTP_RED_CP);
        s.cp_serial = i + 1;
        s.data = slice_of("x", 1);
        from(p, "a", &s);
        in += UDP_IPV4 + segment_write(&s, bytes, sizeof bytes);
        out += sent_to(p, 7, &got);
    }
    out += sent_at_last(p, 7, &got);
    ck_assert_uint_le(out, 3 * in);
    ck_assert_uint_gt(out, 2 * in);
    pair_free(p);
}
END_TEST

/* Serial numbers that are wrong prove nothing; the right one, or a checkpoint that names it, does.
 */
START_TEST(an_address_is_proven)
{
    struct ltp_config config = {0};
    struct pair *p = with_unconfigured(&config, NULL);
    struct ltp_segment s = data_of(7, 1, LTP_RED_CP), got = {.rpt_serial = 0};
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    ck_assert_uint_gt(sent_to(p, 7, &got), 0);
    ck_assert_int_eq(got.type, LTP_RS);
    uint64_t serial = got.rpt_serial;
    struct ltp_segment ra = {.type = LTP_RA, .id = {7, 1}};
    for (ra.rpt_serial = 1; _i == 0 && ra.rpt_serial < 20000; ra.rpt_serial++)
        ck_assert(ra.rpt_serial == serial || from(p, "a", &ra) != VERDICT_OK);
    ck_assert_uint_le(serial, 1 << 30);
    ra.rpt_serial = serial;
    s.cp_serial++;
    s.rpt_serial = serial;
    ck_assert_int_eq(from(p, "a", _i == 0 ? &ra : &s), VERDICT_OK);
    /* from now on its reports are repeated as a configured peer's */
    s = data_of(7, 2, LTP_RED_CP);
    s.data = slice_of("x", 1);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    ck_assert_uint_gt(sent_at_last(p, 7, &got), 60);
    ck_assert_uint_eq(ltp_counters(p->l[1])->unconfigured_unsent, 0);
    s = data_of(7, 3, LTP_RED_CP);
    ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
    sent_to(p, 7, &got);
    ck_assert_uint_le(got.rpt_serial, 8192);
    pair_free(p);
}
END_TEST

/* Each place has its own, however many engines one address names. */
START_TEST(serials_are_unlike)
{
    struct ltp_config config = {.secret = {1, 2}};
    struct pair *p = with_unconfigured(&config, NULL);
    uint64_t seen[PLACES];
    for (uint64_t i = 0; i < PLACES; i++) {
        struct ltp_segment s = data_of(10 + i, 1, LTP_RED_CP), got;
        ck_assert_int_eq(from(p, "a", &s), VERDICT_OK);
        ck_assert_uint_gt(sent_to(p, 10 + i, &got), 0);
        seen[i] = got.rpt_serial;
        for (uint64_t k = 0; k < i; k++)
            ck_assert_uint_ne(seen[k], seen[i]);
    }
    pair_free(p);
}
END_TEST

SUITE(ltp_unconfigured, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_unconfigured_sends);
    tcase_add_test(t, who_cannot_be_one);
    tcase_add_test(t, what_is_asked_for_must_make_sense);
    tcase_add_test(t, bound_to_its_source);
    tcase_add_test(t, a_flood_finds_the_set_full);
    tcase_add_test(t, a_place_comes_free_by_silence);
    tcase_add_test(t, never_while_something_is_open);
    tcase_add_test(t, their_share);
    tcase_add_test(t, a_quarter_of_the_sessions);
    tcase_add_test(t, unknown_senders_find_the_share_used);
    tcase_add_test(t, with_a_cookie);
    tcase_add_test(t, a_unconfigured_gets_a_span);
    tcase_add_test(t, a_forged_address_gets_little);
    tcase_add_test(t, a_long_datagram_pays_for_headers);
    tcase_add_loop_test(t, an_address_is_proven, 0, 2);
    tcase_add_test(t, serials_are_unlike);
}
