/* SPDX-License-Identifier: Apache-2.0 */
/* The number of repair segments that follows what matrices needed, and its reports. */
#include "erasure/needs.h"
#include "erasure/packet.h"
#include "erasure_help.h"
#include "tests/unit/suite.h"

START_TEST(follows_needs)
{
    struct needs n;
    struct rng r;
    unsigned changes = 0, above = 0;
    rng_init(&r, 1);
    needs_init(&n, 1000, 400);
    for (unsigned i = 0; i < NEEDS_FIRST - 1; i++)
        needs_add(&n, 1000, 100);
    ck_assert_uint_eq(n.rows, 400); /* too few are known */
    for (unsigned i = 0; i < 1000; i++) {
        unsigned before = n.rows, needed = 80 + (unsigned)rng_below(&r, 41); /* deviation: 11.8 */
        above += needed > n.rows;
        needs_add(&n, 1000, needed);
        changes += n.rows != before;
        ck_assert_uint_le(n.rows, 160);
    }
    ck_assert_uint_ge(n.rows, 125);
    ck_assert_uint_le(above, 5);
    ck_assert_uint_le(changes, 600);
    for (unsigned i = 0; i < 4; i++) /* the channel becomes worse: four matrices are enough */
        needs_add(&n, 500, 100);
    ck_assert_uint_ge(n.rows, 180);
    for (unsigned i = 0; i < 200; i++)
        needs_add(&n, 1000, 0);
    ck_assert_uint_eq(n.rows, 400 / NEEDS_LEAST);
    for (unsigned i = 0; i < 200; i++)
        needs_add(&n, 1000, 65535);
    ck_assert_uint_eq(n.rows, 400);
}
END_TEST

static void open_adaptive(struct pair *p, bool sender, bool receiver)
{
    pair_config(p, 100, 1, 40, NULL, 21);
    p->config.requests = true;
    p->config.kept = 4;
    p->config.answer = 500 * TICK_MS;
    p->config.each = TICK_MS;
    p->config.pause = 20 * TICK_MS;
    p->config.adaptive = receiver;
    pair_open(p);
    erasure_encoder_free(p->encoder);
    p->config.adaptive = sender;
    ck_assert_int_eq(erasure_encoder_new(&p->encoder, &p->config), 0);
}

/* Reports go to the sender. */
static void pass_reports(struct pair *p)
{
    uint8_t packet[ERASURE_HEAD];
    size_t len;
    while ((len = erasure_decoder_request(p->decoder, p->now, packet)) > 0)
        ck_assert(erasure_encoder_request(p->encoder, slice_of(packet, len), p->now) ==
                  ERASURE_REQUEST);
}

/* Of each matrix ten segments are lost: it needs ten repair segments. */
static void send_matrices(struct pair *p, unsigned count)
{
    for (unsigned n = 0; n < count; n++) {
        p->packets_len = 0;
        send_segments(p, 100);
        for (unsigned i = 10; i < p->packets_len; i++)
            take_packet(p, i);
        pass_reports(p);
    }
}

START_TEST(reports_of_needs)
{
    static struct pair p;
    open_adaptive(&p, true, true);
    send_matrices(&p, 30);
    const struct erasure_sent *s = erasure_encoder_counters(p.encoder);
    ck_assert_uint_eq(s->reports, 30);
    ck_assert_uint_eq(erasure_decoder_counters(p.decoder)->reports, 30);
    ck_assert_uint_eq(p.packets_len, 100 + s->rows);
    ck_assert_uint_le(s->rows, 12);
    ck_assert_uint_ge(s->rows, 10);
    ck_assert_uint_eq(erasure_decoder_counters(p.decoder)->repaired, 30);
    ck_assert_uint_eq(count_came(&p), p.sent);
    pair_fini(&p);
}
END_TEST

/* One end alone is adaptive: the code works, with the full number. */
START_TEST(one_end_alone)
{
    static struct pair p;
    open_adaptive(&p, _i == 0, _i == 1);
    send_matrices(&p, 12);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->rows, 40);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->reports, 0);
    ck_assert_uint_eq(erasure_decoder_counters(p.decoder)->repaired, 12);
    pair_fini(&p);
}
END_TEST

/* Reports of matrices that are not kept, and a second one of the same, count for nothing. */
START_TEST(forged_reports)
{
    static struct pair p;
    uint8_t packet[ERASURE_HEAD];
    open_adaptive(&p, true, true);
    send_matrices(&p, 2);
    for (uint32_t matrix = 0; matrix < 64; matrix++) {
        struct packet_head h = {.need = true, .matrix = matrix, .index = 0};
        h.crc = erasure_packet_crc(&h, slice_of(NULL, 0), slice_of(NULL, 0));
        size_t len = erasure_packet_write(&h, packet);
        ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, len), p.now) ==
                  ERASURE_REQUEST);
    }
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->reports, 2);
    packet[9] ^= 1;
    ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, ERASURE_HEAD), p.now) ==
              ERASURE_BAD_CRC);
    pair_fini(&p);
}
END_TEST

/* A matrix that needed an answer reports the rows of it as well. */
START_TEST(need_above_the_rows)
{
    static struct pair p;
    uint8_t packet[ERASURE_HEAD];
    open_adaptive(&p, true, true);
    send_segments(&p, 100);
    unsigned before = p.packets_len;
    for (unsigned i = 45; i < before; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(erasure_decoder_request(p.decoder, p.now, packet), ERASURE_HEAD);
    ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, ERASURE_HEAD), p.now) ==
              ERASURE_REQUEST);
    send_repairs(&p);
    for (unsigned i = before; i < p.packets_len; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 100);
    ck_assert_uint_eq(erasure_decoder_request(p.decoder, p.now, packet), ERASURE_HEAD);
    ck_assert_uint_eq(packet[0], 0xE5);
    ck_assert_uint_eq(get_u16(packet + 4), 45);
    pair_fini(&p);
}
END_TEST

SUITE(erasure_needs, t)
{
    tcase_add_test(t, follows_needs);
    tcase_add_test(t, reports_of_needs);
    tcase_add_loop_test(t, one_end_alone, 0, 2);
    tcase_add_test(t, forged_reports);
    tcase_add_test(t, need_above_the_rows);
}
