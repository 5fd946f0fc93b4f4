/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from a sender to a receiver: segments come at once, lost ones are repaired with any
 * symbols that are enough, in any order; short matrices, corrupted and foreign packets, nonsense.
 */
#include "erasure_help.h"
#include "tests/unit/suite.h"

static const struct gf_math *maths[] = {&gf_portable, &GF_FASTEST};

static const struct erasure_received *counts(const struct pair *p)
{
    return erasure_decoder_counters(p->decoder);
}

START_TEST(without_loss)
{
    static struct pair p;
    pair_init(&p, 60, 5, 4, &gf_portable, 1);
    send_segments(&p, 180);
    for (unsigned i = 0; i < p.packets_len; i++) {
        bool repair = p.packets[i].octets[0] == 0xE1;
        unsigned before = count_came(&p);
        enum erasure_verdict v = take_packet(&p, i);
        ck_assert(v == (repair ? ERASURE_LATE : ERASURE_SEGMENT));
        ck_assert_uint_eq(count_came(&p), before + !repair);
    }
    ck_assert_uint_eq(p.packets_len, 180 + 3 * 20);
    ck_assert_uint_eq(counts(&p)->whole, 3);
    ck_assert_uint_eq(count_came(&p), 180);
    ck_assert(erasure_decoder_deadline(p.decoder) == TICK_NEVER);
    ck_assert(erasure_encoder_deadline(p.encoder) == TICK_NEVER);
    pair_fini(&p);
}
END_TEST

static void shuffle(struct rng *r, unsigned *order, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        order[i] = i;
    for (unsigned i = n; i > 1; i--) {
        unsigned j = (unsigned)rng_below(r, i), was = order[i - 1];
        order[i - 1] = order[j];
        order[j] = was;
    }
}

/* One matrix of random size in random order with duplicates; from each codeword exactly as many
 * packets are lost as it has repair segments. */
static void run_matrix(const struct gf_math *math, uint64_t seed)
{
    static struct pair p;
    struct rng r;
    unsigned order[512], lost[ERASURE_DEPTH_MAX] = {0};
    rng_init(&r, seed);
    unsigned depth = 1 + (unsigned)rng_below(&r, 6), rows = 1 + (unsigned)rng_below(&r, 10);
    depth = math == NULL ? 1 : depth;
    unsigned span = 1 + (unsigned)rng_below(&r, 30 * depth);
    pair_init(&p, span, depth, rows, math, seed);
    unsigned sent = 1 + (unsigned)rng_below(&r, span), width = sent < depth ? sent : depth;
    send_segments(&p, sent);
    p.now += p.config.wait;
    erasure_encoder_expire(p.encoder, p.now);
    send_repairs(&p);
    unsigned each = (p.packets_len - sent) / width;
    ck_assert(each >= 1 && each <= rows && p.packets_len == sent + each * width);
    shuffle(&r, order, p.packets_len);
    for (unsigned i = 0; i < p.packets_len; i++) {
        unsigned n = order[i], word = n < sent ? n % depth : (n - sent) % width;
        if (lost[word] < each) {
            lost[word]++;
            continue;
        }
        take_packet(&p, n);
        if (rng_chance(&r, 0.2))
            take_packet(&p, n);
    }
    ck_assert_uint_eq(count_came(&p), sent);
    /* if all its repair segments were lost, the receiver does not know that it is whole */
    erasure_decoder_expire(p.decoder, tick_add(p.now, p.config.hold));
    ck_assert(erasure_decoder_deadline(p.decoder) == TICK_NEVER);
    ck_assert_uint_eq(counts(&p)->whole + counts(&p)->repaired, 1);
    ck_assert_uint_eq(counts(&p)->failed + counts(&p)->segments_corrupt, 0);
    pair_fini(&p);
}

START_TEST(random_matrices)
{
    for (uint64_t seed = 0; seed < 2000; seed++)
        run_matrix(seed % 3 == 2 ? NULL : maths[seed % 3], seed);
}
END_TEST

START_TEST(too_few_symbols)
{
    static struct pair p;
    pair_init(&p, 20, 1, 3, &gf_portable, 3);
    send_segments(&p, 20);
    for (unsigned i = 4; i < p.packets_len; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 16);
    ck_assert(erasure_decoder_deadline(p.decoder) == p.now + p.config.hold);
    erasure_decoder_expire(p.decoder, p.now + p.config.hold - 1);
    ck_assert_uint_eq(counts(&p)->failed, 0);
    erasure_decoder_expire(p.decoder, p.now + p.config.hold);
    ck_assert_uint_eq(counts(&p)->failed, 1);
    ck_assert_uint_eq(counts(&p)->segments_lost, 4);
    ck_assert(take_packet(&p, 0) == ERASURE_LATE); /* still useful */
    ck_assert_uint_eq(count_came(&p), 17);
    pair_fini(&p);
}
END_TEST

/* Any change of any octet makes a packet a lost one. */
START_TEST(corrupted_packets)
{
    static struct pair p;
    pair_init(&p, 40, _i == 0 ? 4 : 1, _i == 0 ? 5 : 20, _i == 0 ? &gf_portable : NULL, 4);
    send_segments(&p, 40);
    for (unsigned i = 0; i < p.packets_len; i++) {
        struct packet k = p.packets[i];
        if (i % 10 == 0)
            continue;
        k.octets[rng_below(&p.rng, k.len)] ^= (uint8_t)(1 + rng_below(&p.rng, 255));
        enum erasure_verdict v = take_octets(&p, k.octets, k.len);
        ck_assert(v == ERASURE_BAD_CRC || v == ERASURE_UNCODED);
    }
    ck_assert_uint_eq(count_came(&p), 0);
    for (unsigned i = 0; i < p.packets_len; i++)
        if (i % 10 != 0)
            take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 40);
    ck_assert_uint_eq(counts(&p)->repaired, 1);
    pair_fini(&p);
}
END_TEST

/* Repair segments of another sender with the same matrix number: nothing wrong comes of them. */
START_TEST(foreign_repairs)
{
    static struct pair p, other;
    pair_init(&p, 30, _i == 0 ? 2 : 1, 4, _i == 0 ? &gf_portable : NULL, 5);
    pair_init(&other, 30, _i == 0 ? 2 : 1, 4, _i == 0 ? &gf_portable : NULL, 6);
    other.sent = 1000;
    send_segments(&p, 30);
    send_segments(&other, 30);
    for (unsigned i = 2; i < 30; i++)
        take_packet(&p, i);
    for (unsigned i = 30; i < other.packets_len; i++)
        take_octets(&p, other.packets[i].octets, other.packets[i].len);
    ck_assert_uint_eq(count_came(&p), 28);
    ck_assert_uint_gt(counts(&p)->segments_corrupt + counts(&p)->verdicts[ERASURE_MISMATCH], 0);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

static unsigned count_first(const struct pair *p, unsigned n)
{
    unsigned came = 0;
    for (unsigned i = 0; i < n; i++)
        came += p->came[i] > 0;
    return came;
}

/* A forged repair segment says that the matrix is short; a forged segment comes before the true
 * one. That costs repairs: each true segment is given to LTP, which knows who may send. */
START_TEST(forged_first)
{
    static struct pair p, other;
    pair_init(&p, 30, _i == 0 ? 2 : 1, 4, _i == 0 ? &gf_portable : NULL, 5);
    pair_init(&other, 30, _i == 0 ? 2 : 1, 4, _i == 0 ? &gf_portable : NULL, 6);
    send_segments(&p, 30);
    other.sent = 1000;
    send_segments(&other, 20);
    other.now += other.config.wait;
    erasure_encoder_expire(other.encoder, other.now);
    send_repairs(&other);
    p.sent = 2000;
    ck_assert(take_octets(&p, other.packets[20].octets, other.packets[20].len) == ERASURE_REPAIR);
    ck_assert(take_octets(&p, other.packets[1].octets, other.packets[1].len) == ERASURE_SEGMENT);
    for (unsigned i = 0; i < 30; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_first(&p, 30), 30);
    ck_assert_uint_gt(counts(&p)->verdicts[ERASURE_MISMATCH], 0);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

START_TEST(other_configurations)
{
    static struct pair p, other;
    pair_init(&p, 30, 2, 4, &gf_portable, 7);
    pair_init(&other, 40, 3, 6, &gf_portable, 7);
    send_segments(&p, 1);
    send_segments(&other, 40);
    p.sent = other.sent;
    unsigned mismatches = 0;
    for (unsigned i = 0; i < other.packets_len; i++)
        mismatches +=
            take_octets(&p, other.packets[i].octets, other.packets[i].len) == ERASURE_MISMATCH;
    ck_assert_uint_eq(mismatches, 10 + 18); /* beyond our span, and other depths */
    ck_assert(take_octets(&p, (const uint8_t *)"\0\1\2\3", 4) == ERASURE_UNCODED);
    ck_assert(take_octets(&p, (const uint8_t *)"\xe0\1\2\3\0\0\0\0\0\0", 10) == ERASURE_MALFORMED);
    ck_assert(take_octets(&p, (const uint8_t *)"\xe1", 1) == ERASURE_MALFORMED);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

/* A thousand matrices of which one segment comes do not displace the one that has more, nor the one
 * that has just begun, as long as no more begin meanwhile than there is room for. */
START_TEST(nonsense_matrices)
{
    static struct pair p, other;
    pair_init(&p, 30, 2, 4, &gf_portable, 8);
    pair_init(&other, 1, 1, 1, &gf_portable, 8);
    send_segments(&p, 30);
    for (unsigned i = 0; i < 30; i++) {
        if (i % 10 != 9)
            take_packet(&p, i);
        for (unsigned n = 0; n < (i < 2 ? 1 : 40); n++) {
            uint8_t packet[PACKET_MAX];
            other.packets_len = other.sent = 0;
            send_segments(&other, 1);
            memcpy(packet, other.packets[1].octets, other.packets[1].len); /* its repair segment */
            memcpy(packet, other.packets[0].octets, other.packets[0].len);
            take_octets(&p, packet, other.packets[0].len);
        }
    }
    for (unsigned i = 30; i < p.packets_len; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 30);
    ck_assert_uint_eq(counts(&p)->repaired, 1);
    ck_assert_uint_gt(counts(&p)->verdicts[ERASURE_SEGMENT], 1000);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

START_TEST(sender_in_a_hurry)
{
    static struct pair p;
    uint8_t head[ERASURE_HEAD];
    pair_init(&p, 4, 2, 3, &gf_portable, 9);
    for (unsigned i = 0; i < 8; i++) /* nobody fetches repair segments */
        erasure_encoder_add(p.encoder, slice_of("abc", 3), slice_of(NULL, 0), 5, head);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->unsent, 6);
    ck_assert(erasure_encoder_pending(p.encoder));
    erasure_encoder_add(p.encoder, slice_of("abc", 3), slice_of(NULL, 0), 7, head);
    ck_assert(erasure_encoder_deadline(p.encoder) == TICK_NEVER);
    send_repairs(&p);
    ck_assert(erasure_encoder_deadline(p.encoder) == 7 + p.config.wait);
    erasure_encoder_expire(p.encoder, 7 + p.config.wait);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->short_matrices, 1);
    pair_fini(&p);
}
END_TEST

/* One large matrix: no call does more than its share, neither of the sender nor of the receiver. */
START_TEST(bounded_work)
{
    static struct pair p;
    unsigned segments = 2500, repairs = 900;
    pair_init(&p, segments, 1, repairs, NULL, 10);
    p.config.segment_max = SEGMENT_MAX;
    send_segments(&p, segments);
    for (unsigned i = 0; i < p.packets_len; i++)
        if (i % 7 >= 1)
            take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), segments);
    ck_assert_uint_eq(counts(&p)->repaired, 1);
    ck_assert_uint_le(counts(&p)->work_max, ERASURE_WORK_MAX);
    ck_assert_uint_le(erasure_encoder_counters(p.encoder)->work_max, ERASURE_WORK_MAX);
    ck_assert_uint_gt(counts(&p)->work_max, 0);
    pair_fini(&p);
}
END_TEST

/* While repair segments of an ended matrix are computed, segments have to wait; not those of
 * ERASURE_RS8, which are ready at once. */
START_TEST(segments_wait)
{
    static struct pair p;
    uint8_t head[ERASURE_HEAD];
    bool wide = _i == 1;
    pair_init(&p, 40, wide ? 1 : 4, 3, wide ? NULL : &gf_portable, 12);
    for (unsigned i = 0; i < 40; i++) {
        ck_assert(!erasure_encoder_computing(p.encoder));
        erasure_encoder_add(p.encoder, slice_of("abc", 3), slice_of(NULL, 0), 5, head);
    }
    ck_assert(erasure_encoder_computing(p.encoder) == wide);
    ck_assert(erasure_encoder_pending(p.encoder) == !wide);
    while (erasure_encoder_computing(p.encoder)) {
        ck_assert(erasure_encoder_deadline(p.encoder) == 5);
        erasure_encoder_expire(p.encoder, 5);
    }
    ck_assert(erasure_encoder_pending(p.encoder));
    pair_fini(&p);
}
END_TEST

/* A matrix of segments of blocks ends with one of them when the next one would not fit. */
START_TEST(ends_with_blocks)
{
    static struct pair p;
    uint8_t segment[4] = {0}, packet[PACKET_MAX];
    pair_init(&p, 100, 1, 30, NULL, 11);
    for (unsigned i = 1; i <= 300; i++) {
        segment[0] = i % 30 == 0 ? 3 : 0; /* red data, the end of the block */
        erasure_encoder_add(p.encoder, slice_of(segment, 4), slice_of(NULL, 0), p.now, packet);
        while (erasure_encoder_deadline(p.encoder) <= p.now)
            erasure_encoder_expire(p.encoder, p.now);
        bool ended = i % 90 == 0;
        ck_assert(erasure_encoder_pending(p.encoder) == ended);
        while (erasure_encoder_output(p.encoder, packet) > 0)
            ;
    }
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->matrices, 3);
    pair_fini(&p);
}
END_TEST

START_TEST(configurations)
{
    struct erasure_config c = {.segment_max = 1024, .matrices = 4};
    ck_assert_ptr_null(erasure_config_set(&c, 8192, 0.76, 0));
    ck_assert(c.depth >= 42 && c.depth <= 43 && c.rows >= 60 && c.rows <= 62);
    ck_assert_ptr_null(erasure_config_problem(&c));
    ck_assert_ptr_null(erasure_config_set(&c, 8192, 0.76, 64));
    ck_assert_uint_eq(c.depth, 64);
    ck_assert_uint_eq(c.rows, 40);
    ck_assert_ptr_nonnull(erasure_config_set(&c, 8192, 0.76, 20));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 0, 0.76, 20));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 70000, 0.76, 0));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 100, 1.0, 0));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 100, 0.0, 0));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 65535, 0.5, 0));
    ck_assert_ptr_null(erasure_config_set(&c, 10, 0.99, 0));
    ck_assert_uint_eq(c.rows, 1);
    c.codec = ERASURE_RS;
    ck_assert_ptr_null(erasure_config_set(&c, 10000, 0.78, 0));
    ck_assert_uint_eq(c.depth, 1);
    ck_assert_uint_eq(c.rows, 2821);
    ck_assert_ptr_null(erasure_config_set(&c, 49152, 0.825, 0));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 49153, 0.825, 0));
    ck_assert_ptr_nonnull(erasure_config_set(&c, 10000, 0.78, 2));
    c.requests = true;
    ck_assert_ptr_nonnull(erasure_config_set(&c, 10000, 0.78, 0));
    c.kept = 64;
    ck_assert_ptr_null(erasure_config_set(&c, 10000, 0.78, 0));
    c.kept = 65;
    ck_assert_ptr_nonnull(erasure_config_set(&c, 10000, 0.78, 0));
    c.kept = 1;
    c.codec = ERASURE_RS8;
    ck_assert_ptr_nonnull(erasure_config_set(&c, 100, 0.78, 0));
}
END_TEST

SUITE(erasure_matrix, t)
{
    tcase_add_test(t, without_loss);
    tcase_add_test(t, random_matrices);
    tcase_add_test(t, too_few_symbols);
    tcase_add_loop_test(t, corrupted_packets, 0, 2);
    tcase_add_loop_test(t, foreign_repairs, 0, 2);
    tcase_add_loop_test(t, forged_first, 0, 2);
    tcase_add_test(t, other_configurations);
    tcase_add_test(t, nonsense_matrices);
    tcase_add_test(t, sender_in_a_hurry);
    tcase_add_test(t, bounded_work);
    tcase_add_loop_test(t, segments_wait, 0, 2);
    tcase_add_test(t, ends_with_blocks);
    tcase_add_test(t, configurations);
}
