/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions that were opened and never continued make room: which of them, what an honest one loses
 * by it, and what is left of a peer's goodput while somebody who can forge its address opens 1,000
 * sessions a second in its name.
 */
#include "tests/unit/ltp_pair.h"
#include "tests/unit/suite.h"

#define JUNK ((uint64_t)1 << 40) /* sessions of the forger have numbers from here on */
#define LONG_BYTES 4200

/* ---- goodput ---- */

/* A sender at a rate, and a receiver that is `delay` away. */
struct course {
    tick delay, segment_time, end;
    uint64_t block;   /* bytes */
    unsigned loss;    /* percent of data segments */
    uint32_t imports; /* 0: the default */
    double least;     /* of the goodput without a flood */
};

enum junk {
    JUNK_NONE,
    JUNK_BYTE,
    JUNK_FULL,
    JUNK_GREEN,
    JUNK_LONG, /* an opening segment longer than what counts as little */
    JUNK_MIXED,
    JUNK_CHECKPOINT,
    JUNK_LONG_CHECKPOINT,
    JUNK_WHOLE,
    JUNK_PAIR,
    JUNK_KINDS
};

struct race {
    const struct course *course;
    struct ltp *from, *to;
    struct flight *flights; /* a ring: arrivals are in order */
    size_t head, len, cap;
    tick now;
    uint64_t delivered, cancelled, junk;
    struct buf *block;
    struct rng rng;
};

static struct ltp *engine_of(uint64_t engine, const struct course *c)
{
    struct ltp_config config = {.engine = engine, .seed = engine + 90};
    struct ltp_span span = pair_span(3 - engine);
    struct ltp *l;
    span.rto = 2 * c->delay + 20 * TICK_MS;
    span.export_sessions = 64;
    span.import_sessions = c->imports;
    span.idle_timeout = 60 * TICK_S;
    ck_assert_int_eq(ltp_new(&l, &config), 0);
    ck_assert_int_eq(ltp_span_set(l, &span, 0), 0);
    ck_assert_int_eq(ltp_link(l, 3 - engine, true, 0), 0);
    return l;
}

static void put_flight(struct race *r, int to, const struct ltp_out *out)
{
    ck_assert_uint_lt(r->len, r->cap);
    struct flight *f = &r->flights[(r->head + r->len++) % r->cap];
    *f = (struct flight){.at = r->now + r->course->delay,
                         .to = to,
                         .len = out->head_len + out->data.len,
                         .bytes = malloc(out->head_len + out->data.len)};
    memcpy(f->bytes, out->head, out->head_len);
    if (out->data.len > 0)
        memcpy(f->bytes + out->head_len, out->data.data, out->data.len);
}

/* One segment with data of the sender; what has none is short, and all goes. */
static void send_segments(struct race *r)
{
    uint8_t head[1400];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    bool data = false;
    while (!data && ltp_output(r->from, 2, r->now, &out) != 0) {
        data = out.data.len > 0;
        if (!data || rng_below(&r->rng, 100) >= r->course->loss)
            put_flight(r, 2, &out);
    }
    while (ltp_output(r->to, 1, r->now, &out) != 0)
        put_flight(r, 1, &out);
}

static size_t junk_bytes(enum junk kind)
{
    if (kind == JUNK_BYTE)
        return 1;
    return kind == JUNK_LONG || kind == JUNK_LONG_CHECKPOINT ? LONG_BYTES : 1000;
}

/* What the forger sends arrives at once. */
static void forge(struct race *r, enum junk kind)
{
    static const uint8_t bytes[LONG_BYTES];
    static const uint8_t types[JUNK_KINDS] = {[JUNK_GREEN] = LTP_GREEN_DATA,
                                              [JUNK_CHECKPOINT] = LTP_RED_CP,
                                              [JUNK_LONG_CHECKPOINT] = LTP_RED_CP,
                                              [JUNK_WHOLE] = LTP_RED_CP_EOB};
    if (kind == JUNK_MIXED) /* with and without claims */
        kind = r->junk % 8 == 0 ? JUNK_CHECKPOINT : JUNK_FULL;
    struct ltp_segment s = {.type = types[kind],
                            .id = {1, JUNK + r->junk++},
                            .client_service = 1,
                            .data = slice_of(bytes, junk_bytes(kind)),
                            .cp_serial =
                                types[kind] == LTP_RED || types[kind] == LTP_GREEN_DATA ? 0 : 1};
    for (int i = 0; i < (kind == JUNK_PAIR ? 2 : 1); i++) {
        uint8_t segment[LONG_BYTES + 100];
        size_t len = segment_write(&s, segment, sizeof segment);
        ltp_input(r->to, segment, len, r->now);
        s.offset += s.data.len;
    }
}

static void take_notices(struct race *r)
{
    struct ltp_notice n;
    while (ltp_poll(r->from, &n) != 0)
        r->cancelled += n.kind == LTP_EXPORT_CANCELLED;
    while (ltp_poll(r->to, &n) != 0) {
        if (n.kind == LTP_BLOCK && n.id.number < JUNK)
            r->delivered += n.data->len;
        buf_drop(n.data);
    }
}

static void land(struct race *r)
{
    for (; r->len > 0 && r->flights[r->head].at <= r->now; r->len--) {
        struct flight *f = &r->flights[r->head];
        ltp_input(f->to == 2 ? r->to : r->from, f->bytes, f->len, r->now);
        free(f->bytes);
        r->head = (r->head + 1) % r->cap;
    }
}

static void end_race(struct race *r)
{
    ltp_check(r->to);
    ltp_check(r->from);
    for (; r->len > 0; r->len--) {
        free(r->flights[r->head].bytes);
        r->head = (r->head + 1) % r->cap;
    }
    ltp_free(r->from);
    ltp_free(r->to);
    buf_drop(r->block);
    free(r->flights);
}

/* Bytes that were delivered. */
static uint64_t race(const struct course *c, enum junk kind)
{
    struct race r = {.course = c, .from = engine_of(1, c), .to = engine_of(2, c)};
    struct ltp_session_id id;
    r.cap = (size_t)(c->delay / c->segment_time) * 2 + 8192;
    r.flights = calloc(r.cap, sizeof *r.flights);
    rng_init(&r.rng, 5);
    r.block = pair_block(c->block, 3);
    struct ltp_block b = {.peer = 2, .client_service = 1, .data = r.block, .red_len = c->block};
    tick forged = 0;
    for (; r.now < c->end; r.now += c->segment_time) {
        while (ltp_send(r.from, &b, r.now, &id) == 0)
            continue;
        send_segments(&r);
        for (; kind != JUNK_NONE && forged <= r.now; forged += TICK_MS)
            forge(&r, kind);
        land(&r);
        ltp_expire(r.from, r.now);
        ltp_expire(r.to, r.now);
        take_notices(&r);
    }
    ck_assert_uint_eq(r.cancelled, 0);
    end_race(&r);
    return r.delivered;
}

/* Near, far, very far; with losses, after which sessions are silent for a round trip; blocks of one
 * segment; a slow line; few places. */
static const struct course courses[] = {
    {5 * TICK_MS, 50 * TICK_US, 3 * TICK_S, 100000, 0, 0, 0.95},
    {5 * TICK_MS, 50 * TICK_US, 3 * TICK_S, 100000, 5, 0, 0.95},
    {300 * TICK_MS, 200 * TICK_US, 12 * TICK_S, 60000, 5, 0, 0.95},
    {5 * TICK_S, 2 * TICK_MS, 120 * TICK_S, 60000, 5, 0, 0.9},
    {300 * TICK_MS, 20 * TICK_MS, 30 * TICK_S, 900, 5, 0, 0.8},
    {20 * TICK_MS, 15 * TICK_MS, 30 * TICK_S, 5000, 0, 0, 0.8},
    {5 * TICK_MS, 50 * TICK_US, 3 * TICK_S, 100000, 2, 80, 0.8},
};

#define COURSES (int)(sizeof courses / sizeof *courses)

START_TEST(goodput_beside_openings)
{
    const struct course *c = &courses[_i];
    uint64_t alone = race(c, JUNK_NONE);
    ck_assert_uint_gt(alone, 20 * c->block);
    for (int kind = JUNK_BYTE; kind <= JUNK_MIXED; kind++) {
        uint64_t beside = race(c, (enum junk)kind);
        ck_assert_msg((double)beside >= c->least * (double)alone, "junk %d: %llu of %llu bytes",
                      kind, (unsigned long long)beside, (unsigned long long)alone);
    }
}
END_TEST

/* Checkpoints, which the peer has to acknowledge the reports of; and where the round trip is short,
 * whole blocks, and openings that are continued once. */
START_TEST(goodput_beside_checkpoints)
{
    const struct course *c = &courses[_i];
    uint64_t alone = race(c, JUNK_NONE);
    for (int kind = JUNK_CHECKPOINT; kind < (_i == 0 ? JUNK_KINDS : JUNK_WHOLE); kind++) {
        uint64_t beside = race(c, (enum junk)kind);
        ck_assert_msg((double)beside >= 0.8 * (double)alone, "junk %d: %llu of %llu bytes", kind,
                      (unsigned long long)beside, (unsigned long long)alone);
    }
}
END_TEST

/* ---- which of them ---- */

static struct pair *with_places(uint32_t places, struct ltp_config *config)
{
    struct pair *p = pair_new(NULL, NULL);
    struct ltp_span from = pair_span(1);
    from.import_sessions = places;
    config->engine = 2;
    config->seed = 1;
    ltp_free(p->l[1]);
    ck_assert_int_eq(ltp_new(&p->l[1], config), 0);
    ck_assert_int_eq(ltp_span_set(p->l[1], &from, 0), 0);
    ck_assert_int_eq(ltp_link(p->l[1], 1, true, 0), 0);
    return p;
}

static enum verdict open_one(struct pair *p, uint64_t number, size_t len)
{
    struct ltp_segment s = pair_data(number, LTP_RED, 0, len);
    enum verdict v = pair_feed(p, 1, &s);
    p->now += TICK_MS;
    return v;
}

static bool is_open(const struct pair *p, uint64_t number)
{
    struct ltp_session_info info;
    return ltp_session_get(p->l[1], (struct ltp_session_id){1, number}, &info) == 0;
}

START_TEST(fewest_bytes_longest_silence)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(4, &config);
    ck_assert_int_eq(open_one(p, 1, 900), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 2, 3), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 3, 2), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 4, 100), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 5, 1), VERDICT_LIMIT_SESSIONS); /* all are young */
    p->now += 10 * TICK_MS;
    struct ltp_segment more = pair_data(2, LTP_RED, 3, 1);
    ck_assert_int_eq(pair_feed(p, 1, &more), VERDICT_OK);
    p->now += 10 * TICK_MS;
    ck_assert_int_eq(open_one(p, 5, 900), VERDICT_OK);
    ck_assert(!is_open(p, 3) && is_open(p, 2));
    ck_assert_int_eq(open_one(p, 6, 900), VERDICT_OK);
    ck_assert(!is_open(p, 2) && is_open(p, 4));
    ck_assert_int_eq(open_one(p, 7, 900), VERDICT_OK);
    ck_assert(!is_open(p, 4) && is_open(p, 1));
    ck_assert_int_eq(open_one(p, 8, 900), VERDICT_OK);
    ck_assert(!is_open(p, 1));
    ck_assert_int_eq(open_one(p, 9, 900), VERDICT_LIMIT_SESSIONS);
    const struct ltp_counters *n = ltp_counters(p->l[1]);
    ck_assert_uint_eq(n->closed[OUTCOME_DISCARDED], 4);
    ck_assert_uint_eq(n->closed[OUTCOME_CANCELLED_LOCAL], 0);
    ck_assert_uint_eq(n->opened_import, 8);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 0); /* nobody is told */
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 0);
    pair_free(p);
}
END_TEST

/* Much data, a claim, a user who has still to accept: only after several timers of silence. */
START_TEST(what_was_continued_stays)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(3, &config);
    for (uint64_t i = 0; i < 6; i++) {
        struct ltp_segment s = pair_data(1, LTP_RED, i * 1000, 1000);
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    }
    for (uint64_t i = 0; i < 6; i++) {
        struct ltp_segment s = pair_data(2, i == 5 ? LTP_RED_CP : LTP_RED, i * 1000, 1000);
        ck_assert_int_eq(pair_feed(p, 1, &s), VERDICT_OK);
    }
    struct ltp_segment whole = pair_data(3, LTP_RED_CP_EOB, 0, 10);
    ck_assert_int_eq(pair_feed(p, 1, &whole), VERDICT_OK);
    ltp_link_directions(p->l[1], 1, LTP_TRANSMIT, false, p->now); /* reports stay here */
    for (tick end = p->now + 119 * TICK_MS; p->now < end;)
        ck_assert_int_eq(open_one(p, 4, 1), VERDICT_LIMIT_SESSIONS);
    p->now += 2 * TICK_MS;
    ck_assert_int_eq(open_one(p, 4, 1), VERDICT_OK); /* 4 x 30 ms */
    ck_assert(!is_open(p, 2));
    ck_assert_int_eq(open_one(p, 5, 1), VERDICT_OK);
    ck_assert(!is_open(p, 3));
    p->now += 20 * TICK_MS;
    ck_assert_int_eq(open_one(p, 6, 1), VERDICT_OK);
    ck_assert(!is_open(p, 4)); /* little before much */
    ck_assert_int_eq(open_one(p, 7, 1), VERDICT_OK);
    ck_assert(!is_open(p, 5) && is_open(p, 1));
    ck_assert_int_eq(open_one(p, 8, 1), VERDICT_OK);
    ck_assert(!is_open(p, 1));
    const struct ltp_counters *n = ltp_counters(p->l[1]);
    ck_assert_uint_eq(n->closed[OUTCOME_CANCELLED_LOCAL], 2); /* what had claimed is told */
    ck_assert_uint_eq(n->closed[OUTCOME_DISCARDED], 3);
    ltp_link_directions(p->l[1], 1, LTP_TRANSMIT, true, p->now);
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 2);
    pair_free(p);
}
END_TEST

/* The opening segment's length protects nothing, as little as its checkpoint does; a second segment
 * does. What comes behind the opening segment makes much of little. */
START_TEST(opening_length_does_not_count)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(4, &config);
    struct ltp_segment cp = pair_data(1, LTP_RED_CP, 0, LONG_BYTES);
    struct ltp_segment more = pair_data(3, LTP_RED, 1000, 1);
    struct ltp_segment much = pair_data(4, LTP_RED, 1, 4096);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 3, 1000), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 1, &more), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 4, 1), VERDICT_OK);
    ck_assert_int_eq(pair_feed(p, 1, &much), VERDICT_OK);
    p->now += 100 * TICK_MS;
    ck_assert_int_eq(open_one(p, 2, LONG_BYTES), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 5, 900), VERDICT_OK);
    ck_assert(!is_open(p, 3)); /* the other one is still young */
    p->now += 10 * TICK_MS;
    struct ltp_segment again = pair_data(5, LTP_RED, 900, 1);
    ck_assert_int_eq(pair_feed(p, 1, &again), VERDICT_OK);
    p->now += 20 * TICK_MS;
    ck_assert_int_eq(open_one(p, 6, 900), VERDICT_OK);
    ck_assert(!is_open(p, 2) && is_open(p, 5));
    p->now += 10 * TICK_MS;
    ck_assert_int_eq(open_one(p, 7, 900), VERDICT_OK);
    ck_assert(!is_open(p, 6) && is_open(p, 5)); /* less silent, but never continued */
    ck_assert(is_open(p, 1));
    ck_assert_int_eq(open_one(p, 8, 900), VERDICT_OK);
    ck_assert(!is_open(p, 5));
    ck_assert_int_eq(open_one(p, 9, 900), VERDICT_OK);
    ck_assert(!is_open(p, 1) && is_open(p, 4));
    pair_free(p);
}
END_TEST

/* A short segment of a slow sender outlives a longer one that came long before. */
START_TEST(silence_counts_against_length)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(2, &config);
    ck_assert_int_eq(open_one(p, 1, LONG_BYTES), VERDICT_OK);
    p->now += 200 * TICK_MS;
    ck_assert_int_eq(open_one(p, 2, 900), VERDICT_OK);
    p->now += 15 * TICK_MS;
    ck_assert_int_eq(open_one(p, 3, LONG_BYTES), VERDICT_OK);
    ck_assert(!is_open(p, 1) && is_open(p, 2));
    pair_free(p);
}
END_TEST

/* Little that was claimed goes after little that was not; the sender is told. */
START_TEST(little_with_a_claim)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(2, &config);
    struct ltp_segment cp = pair_data(1, LTP_RED_CP, 0, 10);
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    ck_assert_int_eq(open_one(p, 2, 900), VERDICT_OK);
    p->now += 10 * TICK_MS;
    ck_assert_int_eq(open_one(p, 3, 900), VERDICT_OK);
    ck_assert(is_open(p, 1) && !is_open(p, 2));
    ck_assert_int_eq(open_one(p, 4, 900), VERDICT_OK);
    ck_assert(!is_open(p, 1));
    pair_drain(p);
    ck_assert_uint_eq(p->sent[LTP_CR], 1);
    pair_free(p);
}
END_TEST

/* Who names a report in its checkpoint hears us; an acknowledgement says less. */
START_TEST(proven_ones_stay)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(1, &config);
    uint8_t head[1400];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct ltp_segment cp = pair_data(2, LTP_RED_CP, 0, 10), report;
    ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    ck_assert_int_eq(ltp_output(p->l[1], 1, p->now, &out), 1);
    ck_assert_int_eq(segment_parse(&report, head, out.head_len), VERDICT_OK);
    if (_i == 0) {
        struct ltp_segment ra = {.type = LTP_RA, .id = {1, 2}, .rpt_serial = report.rpt_serial};
        ck_assert_int_eq(pair_feed(p, 1, &ra), VERDICT_OK);
    } else {
        cp.cp_serial++;
        cp.rpt_serial = report.rpt_serial;
        ck_assert_int_eq(pair_feed(p, 1, &cp), VERDICT_OK);
    }
    for (int i = 0; i < 10 && is_open(p, 2); i++) {
        p->now += TICK_S;
        ck_assert_int_eq(open_one(p, 3, 1), _i == 0 ? VERDICT_OK : VERDICT_LIMIT_SESSIONS);
    }
    ck_assert_int_eq(is_open(p, 2), _i == 1);
    pair_free(p);
}
END_TEST

/* Silence that an outage explains is none. */
START_TEST(outages_do_not_count)
{
    struct ltp_config config = {0};
    struct pair *p = with_places(1, &config);
    ck_assert_int_eq(open_one(p, 1, 900), VERDICT_OK);
    ltp_link_directions(p->l[1], 1, LTP_RECEIVE, false, p->now);
    p->now += TICK_S;
    ltp_link_directions(p->l[1], 1, LTP_RECEIVE, true, p->now);
    ck_assert_int_eq(open_one(p, 2, 900), VERDICT_LIMIT_SESSIONS);
    p->now += 10 * TICK_MS;
    ck_assert_int_eq(open_one(p, 2, 900), VERDICT_OK);
    pair_free(p);
}
END_TEST

START_TEST(who_heard_of_its_start)
{
    struct ltp_config config = {.tell_start = true};
    struct pair *p = with_places(1, &config);
    ck_assert_int_eq(open_one(p, 1, 9), VERDICT_OK);
    p->now += 10 * TICK_MS;
    ck_assert_int_eq(open_one(p, 2, 9), VERDICT_OK);
    pair_drain(p);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_START], 2);
    ck_assert_uint_eq(p->notices[LTP_IMPORT_CANCELLED], 1);
    ck_assert_uint_eq(p->last[LTP_IMPORT_CANCELLED].id.number, 1);
    ck_assert(!p->last[LTP_IMPORT_CANCELLED].remote);
    pair_free(p);
}
END_TEST

/* What an honest session loses by it is as if it had been lost on the way. */
START_TEST(honest_ones_recover)
{
    struct ltp_config config = {.earlier_life = true};
    struct pair *p = with_places(2, &config);
    struct ltp_session_id id = pair_send(p, 3000, 3000);
    p->drops[p->drop_count].type = LTP_RED; /* all but the first; the checkpoint, too */
    p->drops[p->drop_count++].nth = 1;
    p->drops[p->drop_count].type = LTP_RED_CP_EOB;
    p->drops[p->drop_count++].nth = 0;
    pair_run_until(p, 20 * TICK_MS);
    ck_assert(is_open(p, id.number));
    ck_assert_int_eq(open_one(p, JUNK, 1000), VERDICT_OK);
    ck_assert_int_eq(open_one(p, JUNK + 1, 1000), VERDICT_OK);
    ck_assert(!is_open(p, id.number));
    p->now += 10 * TICK_MS;
    pair_run_until(p, p->now + TICK_S);
    pair_assert_red(p, 3000);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_DONE], 1);
    ck_assert_uint_eq(p->notices[LTP_EXPORT_CANCELLED], 0);
    pair_free(p);
}
END_TEST

SUITE(ltp_discard, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, goodput_beside_openings, 0, COURSES);
    tcase_add_loop_test(t, goodput_beside_checkpoints, 0, 3);
    tcase_add_test(t, fewest_bytes_longest_silence);
    tcase_add_test(t, what_was_continued_stays);
    tcase_add_test(t, opening_length_does_not_count);
    tcase_add_test(t, silence_counts_against_length);
    tcase_add_test(t, little_with_a_claim);
    tcase_add_loop_test(t, proven_ones_stay, 0, 2);
    tcase_add_test(t, outages_do_not_count);
    tcase_add_test(t, who_heard_of_its_start);
    tcase_add_test(t, honest_ones_recover);
}
