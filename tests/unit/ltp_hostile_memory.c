/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that does its worst to each thing that it can make grow. Every byte that the engine has
 * allocated is counted, whatever for: it never has more than its configured total and 5 %. The
 * linker puts the functions below before the library's.
 */
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

#include <malloc.h>

static size_t allocated, peak; /* by the engine: while it is called */
static int in_engine;

static void *counted(void *p)
{
    allocated += p == NULL || !in_engine ? 0 : malloc_usable_size(p);
    peak = allocated > peak ? allocated : peak;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    size_t before = p == NULL ? 0 : malloc_usable_size(p);
    void *q = __real_realloc(p, n);
    if (q != NULL && in_engine)
        allocated -= before;
    return q == NULL ? NULL : counted(q);
}

void __wrap_free(void *p)
{
    allocated -= p == NULL || !in_engine ? 0 : malloc_usable_size(p);
    __real_free(p);
}

#include <stdbool.h>

#include "base/rng.h"
#include "ltp/ltp.h"
#include "ltp/segment.h"
#include "tests/unit/suite.h"

#define HELD ((size_t)32 << 20)
#define UNCONFIGURED 64
#define UNCONFIGURED_COST 4096 /* bytes of each, beside its sessions */
#define ENGINE(call) (in_engine = 1, (call), in_engine = 0)

struct victim {
    struct ltp *l;
    tick now;
};

static struct victim victim_new(uint32_t sessions)
{
    struct victim v = {.now = TICK_MS};
    struct ltp_span unconfigured = {.rto = 30 * TICK_MS, .idle_timeout = TICK_S};
    struct ltp_config config = {.engine = 2,
                                .seed = 7,
                                .held_bytes = HELD,
                                .import_sessions = sessions,
                                .closed_memory = 4096,
                                .unconfigured_max = UNCONFIGURED,
                                .unconfigured = &unconfigured};
    struct ltp_span span = {.peer = 1, .import_sessions = sessions, .rto = 30 * TICK_MS};
    int rc;
    allocated = peak = 0;
    ENGINE(rc = ltp_new(&v.l, &config));
    ck_assert_int_eq(rc, 0);
    ENGINE(rc = ltp_span_set(v.l, &span, 0));
    ck_assert_int_eq(rc, 0);
    return v;
}

static void poll_all(struct victim *v)
{
    struct ltp_notice n;
    while (ltp_poll(v->l, &n) != 0)
        ENGINE(buf_drop(n.data));
}

static enum verdict feed(struct victim *v, const struct ltp_segment *s)
{
    uint8_t bytes[2000];
    size_t len = segment_write(s, bytes, sizeof bytes);
    ck_assert_uint_gt(len, 0);
    enum verdict got;
    ENGINE(got = ltp_input(v->l, bytes, len, v->now));
    poll_all(v);
    return got;
}

static enum verdict data(struct victim *v, int type, uint64_t number, uint64_t offset,
                         uint64_t serial)
{
    static const uint8_t zeros[8];
    struct ltp_segment s = {.type = (uint8_t)type,
                            .id = {1, number},
                            .client_service = 1,
                            .offset = offset,
                            .data = slice_of(zeros, 1),
                            .cp_serial = serial};
    return feed(v, &s);
}

/* The whole test: the bound, then that nothing of it stays. */
static void victim_end(struct victim *v)
{
    ltp_check(v->l);

    ck_assert_msg(peak <= HELD + HELD / 20 + UNCONFIGURED * UNCONFIGURED_COST, "%zu bytes of %zu",
                  peak, HELD);
    ENGINE(ltp_free(v->l));
    ck_assert_uint_eq(allocated, 0);
}

static uint64_t count(const struct victim *v, enum verdict what)
{
    return ltp_counters(v->l)->verdicts[what];
}

/* One byte each: the receiver allots each session more than that. */
START_TEST(sessions_without_end)
{
    struct victim v = victim_new(1000);
    for (uint64_t i = 1; i <= 50000; i++)
        data(&v, LTP_RED, i, 0, 0);
    ck_assert_uint_eq(count(&v, VERDICT_OK),
                      750); /* a quarter is promised to the unconfigured peers */
    ck_assert_uint_eq(count(&v, VERDICT_LIMIT_SESSIONS), 49250);
    victim_end(&v);
    v = victim_new(100000);
    for (uint64_t i = 1; i <= 50000; i++)
        data(&v, i % 2 == 0 ? LTP_RED : LTP_GREEN_DATA, i, 0, 0);
    ck_assert_uint_gt(count(&v, VERDICT_OK), HELD / 20000 * 3 / 4);
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_SESSIONS) + count(&v, VERDICT_LIMIT_BYTES), 40000);
    victim_end(&v);
}
END_TEST

/* The same slowly enough that old ones make room: of some a part is claimed. */
START_TEST(sessions_that_make_room)
{
    struct victim v = victim_new(1000);
    ltp_link(v.l, 1, true, v.now);
    for (uint64_t i = 1; i <= 50000; i++) {
        data(&v, i % 7 == 0 ? LTP_RED_CP : LTP_RED, i, 0, i);
        v.now += TICK_MS;
        ENGINE(ltp_expire(v.l, v.now));
        poll_all(&v);
    }
    ck_assert_uint_eq(count(&v, VERDICT_OK), 50000);
    ck_assert_uint_gt(ltp_counters(v.l)->closed[OUTCOME_DISCARDED], 40000);
    ck_assert_uint_gt(ltp_counters(v.l)->closed[OUTCOME_CANCELLED_LOCAL], 5000);
    victim_end(&v);
}
END_TEST

/* The last byte first: it takes no more memory than that; within the window it does. */
START_TEST(far_offsets)
{
    static const uint64_t from[] = {70000, 30000}, reach[] = {HELD / 8, 30000};
    struct victim v = victim_new(4096);
    struct rng r;
    rng_init(&r, 3);
    for (uint64_t i = 1; i <= 20000; i++)
        data(&v, LTP_RED, i, from[_i] + rng_below(&r, reach[_i]), 0);
    ck_assert_uint_gt(count(&v, VERDICT_OK), _i == 0 ? 3000 : 500);
    ck_assert((count(&v, VERDICT_LIMIT_BYTES) > 0) == (_i == 1));
    victim_end(&v);
}
END_TEST

/* Every second byte, in many sessions. */
START_TEST(gaps)
{
    struct victim v = victim_new(4096);
    for (uint64_t i = 1; i <= 400; i++) {
        for (uint64_t k = 0; k < 5000; k++)
            data(&v, LTP_RED, i, 2 * k, 0);
    }
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_RANGES), 0);
    victim_end(&v);
}
END_TEST

/* Checkpoints, each asking for reports with as many claims as fit, none of which is acknowledged.
 */
START_TEST(reports)
{
    struct victim v = victim_new(4096);
    uint64_t made = 0;
    for (uint64_t i = 1; i <= 200; i++) {
        for (uint64_t k = 0; k < 1000; k++)
            data(&v, LTP_RED, i, 4 * k, 0);
        for (uint64_t k = 0; k < 1000; k++)
            made += data(&v, LTP_RED_CP, i, 4 * k + 2, k + 1) == VERDICT_OK;
    }
    ck_assert_uint_gt(made, 1000);
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_BYTES), 0);
    victim_end(&v);
}
END_TEST

/* Its cancels are acknowledged, what it miscolours is cancelled; the link carries nothing. */
START_TEST(cancels)
{
    struct victim v = victim_new(500);
    for (uint64_t i = 1; i <= 50000; i++) {
        data(&v, LTP_GREEN_DATA, i, 5, 0);
        data(&v, LTP_RED, i, 9, 0);
        feed(&v, &(struct ltp_segment){.type = LTP_CS, .id = {1, i + 1000000}});
    }
    ck_assert_uint_eq(count(&v, VERDICT_MISCOLOURED), 50000);
    ck_assert_uint_eq(ltp_counters(v.l)->acks_dropped, 50000 - 4096);
    ck_assert_uint_gt(ltp_counters(v.l)->cancels_unsent, 0);
    ck_assert_uint_gt(ltp_counters(v.l)->closed_evicted, 90000);
    victim_end(&v);
}
END_TEST

/* Green blocks with holes all run out at once, before the user polls. */
START_TEST(green_pieces)
{
    struct victim v = victim_new(4096);
    static const uint8_t zeros[1400];
    for (uint64_t i = 1; i <= 40; i++) {
        for (uint64_t k = 0; k < 600; k++) {
            struct ltp_segment s = {.type = LTP_GREEN_DATA,
                                    .id = {1, i},
                                    .client_service = 1,
                                    .offset = k * 1500,
                                    .data = slice_of(zeros, 1400)};
            feed(&v, &s);
        }
    }
    ltp_link(v.l, 1, true, v.now);
    v.now += TICK_S;
    ENGINE(ltp_expire(v.l, v.now));
    ltp_check(v.l);
    poll_all(&v);
    ck_assert_uint_gt(count(&v, VERDICT_OK), 10000);
    victim_end(&v);
}
END_TEST

/* The same with pieces that are smaller than what tells of them. */
START_TEST(green_crumbs)
{
    struct victim v = victim_new(4096);
    ltp_link(v.l, 1, true, v.now);
    for (uint64_t i = 1; i <= 300; i++) {
        for (uint64_t k = 0; k < 4000; k++)
            data(&v, LTP_GREEN_DATA, i, k * 2, 0);
    }
    v.now += TICK_S;
    ENGINE(ltp_expire(v.l, v.now));
    ltp_check(v.l);
    poll_all(&v);
    ck_assert_uint_gt(count(&v, VERDICT_OK), 500000);
    ck_assert_uint_gt(ltp_counters(v.l)->pieces_dropped, 0);
    victim_end(&v);
}
END_TEST

/* Our own blocks at a receiver that reports every second byte, and asks again and again for the
 * rest while the link carries nothing. */
START_TEST(reports_to_us)
{
    struct victim v = victim_new(10);
    struct ltp_session_id id[16];
    uint8_t head[1500], bytes[2000];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct buf *b = buf_new(0, 200000);
    memset(buf_append(b, 200000), 1, 200000);
    struct ltp_block block = {.peer = 1, .client_service = 1, .data = b, .red_len = 200000};
    ltp_link(v.l, 1, true, v.now);
    for (int i = 0; i < 16; i++) {
        int rc;
        ENGINE(rc = ltp_send(v.l, &block, v.now, &id[i]));
        ck_assert_int_eq(rc, 0);
    }
    while (ltp_output(v.l, 1, v.now, &out) != 0)
        ;
    poll_all(&v);
    ltp_link(v.l, 1, false, v.now);
    for (uint64_t i = 0; i < 20000; i++) {
        struct range claims[100];
        uint64_t at = i / 16 * 200 % 16000;
        for (uint64_t k = 0; k < 100; k++)
            claims[k] = (struct range){at + 2 * k, at + 2 * k + 1};
        struct ltp_segment s = {.type = LTP_RS,
                                .id = id[i % 16],
                                /* of one incarnation with gaps between; or of ever new ones, which
                                   also take back what was claimed */
                                .rpt_serial = _i == 0 ? 1 + 2 * (i / 16) : 1 + i * (1 + i % 3),
                                .lower = _i == 1 && i % 5 == 0 ? 0 : at,
                                .upper = at + 300,
                                .claim_count = 100};
        size_t len = segment_write_report(&s, claims, bytes, sizeof bytes);
        ck_assert_uint_gt(len, 0);
        ENGINE(ltp_input(v.l, bytes, len, v.now));
        poll_all(&v);
    }
    ck_assert_uint_gt(count(&v, VERDICT_OK), 100);
    if (_i == 0) /* what is known of ended incarnations is forgotten before that */
        ck_assert_uint_gt(count(&v, VERDICT_LIMIT_BYTES), 1000);
    victim_end(&v);
    buf_drop(b);
}
END_TEST

/* Reports that ask for a byte each; no checkpoint that closes such a byte is ever answered. */
START_TEST(asking_for_crumbs)
{
    struct victim v = victim_new(10);
    uint8_t head[1500], bytes[200];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct buf *b = buf_new(0, 60000);
    memset(buf_append(b, 60000), 1, 60000);
    struct ltp_block block = {.peer = 1, .client_service = 1, .data = b, .red_len = 60000};
    struct ltp_span span = {.peer = 1, .rto = 30 * TICK_MS, .recovery = ltp_recovery_default};
    span.recovery.merge_claims = _i == 1;
    ck_assert_int_eq(ltp_span_set(v.l, &span, v.now), 0);
    ltp_link(v.l, 1, true, v.now);
    for (int i = 0; i < 16; i++) {
        struct ltp_session_id id;
        int rc;
        ENGINE(rc = ltp_send(v.l, &block, v.now, &id));
        ck_assert_int_eq(rc, 0);
        for (uint64_t k = 0; k < 16000; k++) {
            for (int more = 1; more != 0;)
                ENGINE(more = ltp_output(v.l, 1, v.now, &out));
            struct ltp_segment s = {
                .type = LTP_RS, .id = id, .rpt_serial = 1 + k, .lower = 2 * k, .upper = 2 * k + 1};
            size_t len = segment_write(&s, bytes, sizeof bytes);
            ENGINE(ltp_input(v.l, bytes, len, v.now));
        }
        ltp_check(v.l);
        poll_all(&v);
    }
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_BYTES), 100000);
    victim_end(&v);
    buf_drop(b);
}
END_TEST

/* It asks for all of the block for ever: the session is cancelled, and before that it has cost no
 * more than all retries would (RFC 5326 §6.13). */
START_TEST(asking_for_ever)
{
    struct victim v = victim_new(10);
    struct ltp_session_id id;
    uint8_t head[1500], bytes[200];
    struct ltp_out out = {.head = head, .head_cap = sizeof head};
    struct buf *b = buf_new(0, 100000);
    memset(buf_append(b, 100000), 1, 100000);
    struct ltp_block block = {.peer = 1, .client_service = 1, .data = b, .red_len = 100000};
    ltp_link(v.l, 1, true, v.now);
    ck_assert_int_eq(ltp_send(v.l, &block, v.now, &id), 0);
    uint64_t sent = 0, asked = 0;
    enum verdict got = VERDICT_OK;
    for (; got == VERDICT_OK && asked < 1000; asked++) {
        while (ltp_output(v.l, 1, v.now, &out) != 0)
            sent += out.data.len;
        struct ltp_segment s = {.type = LTP_RS, .id = id, .rpt_serial = 1 + asked, .upper = 100000};
        got = ltp_input(v.l, bytes, segment_write(&s, bytes, sizeof bytes), v.now);
    }
    ck_assert_int_eq(got, VERDICT_LIMIT_REPORTS);
    ck_assert_uint_eq(ltp_counters(v.l)->closed[OUTCOME_CANCELLED_LOCAL], 1);
    ck_assert_uint_le(sent, 23 * 100000);
    ck_assert_uint_ge(sent, 20 * 100000);
    ltp_free(v.l);
    buf_drop(b);
}
END_TEST

/* Orange blocks without end, whole and not: each wants an answer, which the link does not carry. */
START_TEST(orange_blocks)
{
    static const uint8_t asks[] = {0xC4, 3, 'O', 'R', 1}, zeros[8];
    struct victim v = victim_new(500);
    ltp_link(v.l, 1, true, v.now);
    for (uint64_t i = 1; i <= 100000; i++) {
        struct ltp_segment s = {.type = i % 3 == 0 ? LTP_GREEN_DATA : LTP_GREEN_EOB,
                                .id = {1, i},
                                .header_count = 1,
                                .headers = slice_of(asks, sizeof asks),
                                .client_service = 1,
                                .offset = i % 3 == 1 ? 0 : 7,
                                .data = slice_of(zeros, sizeof zeros)};
        feed(&v, &s);
        if (i % 100 == 0) {
            v.now += TICK_MS;
            ENGINE(ltp_expire(v.l, v.now));
            poll_all(&v);
        }
    }
    ltp_check(v.l);
    ck_assert_uint_gt(ltp_counters(v.l)->closed[OUTCOME_DONE], 5000);
    ck_assert_uint_gt(ltp_counters(v.l)->closed[OUTCOME_DISCARDED], 5000); /* not whole */
    ck_assert_uint_gt(ltp_counters(v.l)->cancels_unsent, 5000);
    victim_end(&v);
}
END_TEST

/* A hundred thousand engines that nobody knows, and those that got in do what they can. */
START_TEST(unknown_senders)
{
    struct victim v = victim_new(4096);
    static const uint8_t zeros[8];
    struct rng r;
    rng_init(&r, 9171);
    for (uint64_t i = 0; i < 400000; i++) {
        uint64_t engine = 10 + (i < 200000 ? i / 2 : rng_below(&r, 2 * UNCONFIGURED));
        struct ltp_segment s = {.type = (uint8_t)rng_below(&r, 8),
                                .id = {engine, rng_below(&r, 2000)},
                                .client_service = 1,
                                .offset = rng_below(&r, rng_below(&r, 50) == 0 ? HELD : 20000),
                                .data = slice_of(zeros, 1),
                                .cp_serial = 1 + rng_below(&r, 3000)};
        s.cp_serial = segment_is_checkpoint(&s) ? s.cp_serial : 0;
        if (rng_below(&r, 10) == 0)
            s = (struct ltp_segment){.type = LTP_CS, .id = s.id};
        feed(&v, &s);
        if (i % 1000 == 0) {
            v.now += rng_below(&r, 20 * TICK_MS);
            ENGINE(ltp_expire(v.l, v.now));
            ltp_check(v.l);
        }
    }
    ck_assert_uint_eq(ltp_counters(v.l)->unconfigured_accepted, UNCONFIGURED);
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_PEERS), 100000);
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_BYTES) + count(&v, VERDICT_LIMIT_SESSIONS), 0);
    victim_end(&v);
}
END_TEST

/* All of it, drawn: links go up and down, time passes, some of what we send is answered. */
START_TEST(everything)
{
    struct victim v = victim_new(2000);
    struct rng r;
    rng_init(&r, 11);
    for (int i = 0; i < 300000; i++) {
        uint64_t number = rng_below(&r, 3000);
        uint64_t offset = rng_below(&r, rng_below(&r, 50) == 0 ? HELD : 20000);
        int type = (int)rng_below(&r, 8);
        data(&v, type == 5 || type == 6 ? LTP_RED : type, number, offset,
             type >= 1 && type <= 3 ? 1 + rng_below(&r, 3000) : 0);
        if (i % 1000 == 0) {
            ltp_link(v.l, 1, rng_below(&r, 2) == 0, v.now);
            v.now += rng_below(&r, 20 * TICK_MS);
            ENGINE(ltp_expire(v.l, v.now));
            ltp_check(v.l);
            poll_all(&v);
        }
    }
    ck_assert_uint_gt(count(&v, VERDICT_LIMIT_BYTES), 0);
    ck_assert_uint_gt(count(&v, VERDICT_MISCOLOURED), 0);
    victim_end(&v);
}
END_TEST

SUITE(ltp_hostile_memory, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, sessions_without_end);
    tcase_add_test(t, sessions_that_make_room);
    tcase_add_loop_test(t, far_offsets, 0, 2);
    tcase_add_test(t, gaps);
    tcase_add_test(t, reports);
    tcase_add_test(t, cancels);
    tcase_add_test(t, green_pieces);
    tcase_add_test(t, green_crumbs);
    tcase_add_loop_test(t, reports_to_us, 0, 2);
    tcase_add_loop_test(t, asking_for_crumbs, 0, 2);
    tcase_add_test(t, asking_for_ever);
    tcase_add_test(t, orange_blocks);
    tcase_add_test(t, unknown_senders);
    tcase_add_test(t, everything);
}
