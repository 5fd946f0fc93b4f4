/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a receiver for more repair segments: answered once for each, lost, late, in vain, and
 * forged. */
#include "erasure/packet.h"
#include "erasure_help.h"
#include "tests/unit/suite.h"

static const struct erasure_received *counts(const struct pair *p)
{
    return erasure_decoder_counters(p->decoder);
}

/* The receiver's next request goes to the sender, and its answer becomes packets. False: none. */
static bool pass_request(struct pair *p)
{
    uint8_t packet[ERASURE_HEAD];
    size_t len = erasure_decoder_request(p->decoder, p->now, packet);
    if (len == 0)
        return false;
    ck_assert_uint_eq(len, ERASURE_HEAD);
    ck_assert_uint_eq(packet[0], 0xE4);
    ck_assert(erasure_encoder_request(p->encoder, slice_of(packet, len), p->now) ==
              ERASURE_REQUEST);
    send_repairs(p);
    erasure_decoder_check(p->decoder);
    return true;
}

static void wait_for(struct pair *p, tick time)
{
    struct slice s;
    p->now += time;
    while (erasure_decoder_deadline(p->decoder) <= p->now) {
        erasure_decoder_expire(p->decoder, p->now);
        while (erasure_decoder_next(p->decoder, &s))
            take_segment(p, s);
        erasure_decoder_check(p->decoder);
    }
}

/* 100 segments and 25 rows, where 64 are computed: 28 segments are lost. */
START_TEST(requested_repairs)
{
    static struct pair p;
    pair_init_requests(&p, 100, 25, 2, 20);
    send_segments(&p, 100);
    ck_assert_uint_eq(p.packets_len, 125);
    for (unsigned i = 28; i < 124; i++)
        take_packet(&p, i);
    ck_assert(!erasure_decoder_requesting(p.decoder)); /* one more row may come */
    take_packet(&p, 124);
    ck_assert(erasure_decoder_requesting(p.decoder));
    ck_assert(pass_request(&p));
    ck_assert(!erasure_decoder_requesting(p.decoder));
    ck_assert_uint_eq(p.packets_len, 125 + 3 + 1 + 25 / 8 + 1); /* half more, and a bit */
    wait_for(&p, ERASURE_REQUEST_SPACING);
    unsigned before = p.packets_len;
    ck_assert(pass_request(&p)); /* a copy, which is not answered */
    ck_assert_uint_eq(p.packets_len, before);
    take_packet(&p, before - 1); /* the others of the answer are lost */
    wait_for(&p, 2 * p.config.pause);
    ck_assert(pass_request(&p));
    ck_assert_uint_eq(p.packets_len, before + 2 + 1 + 25 / 8 + 1);
    for (unsigned i = before + 5; i < p.packets_len; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 100);
    ck_assert_uint_eq(counts(&p)->requested, 1);
    ck_assert_uint_eq(counts(&p)->requested_repaired, 1);
    ck_assert_uint_eq(counts(&p)->repaired, 1);
    const struct erasure_sent *n = erasure_encoder_counters(p.encoder);
    ck_assert(n->requests == 3 && n->answered == 2 && n->more == 8 + 7 && n->too_late == 0);
    pair_fini(&p);
}
END_TEST

/* The end of a matrix is lost in a fade, and nothing comes after it. */
START_TEST(request_after_a_pause)
{
    static struct pair p;
    pair_init_requests(&p, 60, 24, 1, 21);
    send_segments(&p, 60);
    for (unsigned i = 0; i < 62; i++)
        if (i % 10 != 0)
            take_packet(&p, i);
    wait_for(&p, 22 * p.config.each + p.config.pause - 1); /* rows 2 to 23 are missing */
    ck_assert(!erasure_decoder_requesting(p.decoder));
    wait_for(&p, 1);
    unsigned copies = 0, before = p.packets_len;
    for (; erasure_decoder_requesting(p.decoder); wait_for(&p, ERASURE_REQUEST_SPACING), copies++)
        ck_assert(pass_request(&p));
    ck_assert_uint_eq(copies, ERASURE_REQUEST_COPIES);
    for (unsigned i = before; i < p.packets_len; i++)
        take_packet(&p, i);
    ck_assert_uint_eq(count_came(&p), 60);
    pair_fini(&p);
}
END_TEST

/* A pause of the sender is no end: the receiver asks in it, the sender does not answer yet, and the
 * receiver asks again behind the last row. */
START_TEST(request_too_early)
{
    static struct pair p;
    uint8_t head[ERASURE_HEAD], early[ERASURE_HEAD];
    pair_init_requests(&p, 4, 4, 2, 22);
    for (unsigned i = 0; i < 4; i++)
        erasure_encoder_add(p.encoder, slice_of("abc", 3), slice_of(NULL, 0), 0, head);
    while (erasure_encoder_deadline(p.encoder) <= p.now)
        erasure_encoder_expire(p.encoder, p.now);
    struct slice s;
    struct packet k;
    for (unsigned i = 0; i < 4; i++) {
        k.len = erasure_encoder_output(p.encoder, k.octets);
        if (i > 1)
            continue;
        erasure_decoder_input(p.decoder, slice_of(k.octets, k.len), p.now, &s);
        p.now += 3 * p.config.each + p.config.pause;
        erasure_decoder_expire(p.decoder, p.now);
        ck_assert_uint_gt(erasure_decoder_request(p.decoder, p.now, early), 0);
        ck_assert(erasure_encoder_request(p.encoder, slice_of(early, sizeof early), p.now) ==
                  ERASURE_REQUEST);
    }
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->answered, 0);
    ck_assert_uint_eq(counts(&p)->requested, 1); /* the matrix, not its requests */
    erasure_decoder_input(p.decoder, slice_of(k.octets, k.len), p.now, &s);
    erasure_decoder_expire(p.decoder, p.now);
    ck_assert_uint_gt(erasure_decoder_request(p.decoder, p.now, early), 0);
    ck_assert(erasure_encoder_request(p.encoder, slice_of(early, sizeof early), p.now) ==
              ERASURE_REQUEST);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->answered, 1);
    pair_fini(&p);
}
END_TEST

/* Who forges requests for more than there is takes no answer of the true ones. */
START_TEST(forged_requests)
{
    static struct pair p;
    pair_init_requests(&p, 100, 25, 2, 23);
    send_segments(&p, 100);
    for (unsigned i = 26; i < 125; i++)
        take_packet(&p, i);
    uint8_t packet[ERASURE_HEAD];
    struct packet_head h = {.request = true, .matrix = p.config.first, .index = 65535};
    h.crc = erasure_packet_crc(&h, slice_of(NULL, 0), slice_of(NULL, 0));
    for (unsigned n = 0; n < 2 * ERASURE_ANSWERS_MAX; n++) {
        ck_assert_uint_eq(erasure_packet_write(&h, packet), ERASURE_HEAD);
        ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, sizeof packet), p.now) ==
                  ERASURE_REQUEST);
        wait_for(&p, ERASURE_REQUEST_SAME);
    }
    ck_assert(pass_request(&p));
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->answered, 1);
    pair_fini(&p);
}
END_TEST

/* More is missing than there are rows; a matrix that is not kept any more; what is no request. */
START_TEST(requests_in_vain)
{
    static struct pair p, other;
    uint8_t packet[ERASURE_HEAD];
    pair_init_requests(&p, 100, 25, 2, 23);
    pair_init(&other, 100, 1, 25, NULL, 23);
    send_segments(&p, 100);
    for (unsigned i = 65; i < 125; i++)
        take_packet(&p, i);
    ck_assert(pass_request(&p));
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->too_late, 1);
    ck_assert(!erasure_encoder_pending(p.encoder));
    wait_for(&p, ERASURE_REQUEST_SPACING);
    ck_assert_uint_gt(erasure_decoder_request(p.decoder, p.now, packet), 0);
    ck_assert(erasure_encoder_request(other.encoder, slice_of(packet, sizeof packet), p.now) ==
              ERASURE_MISMATCH);
    ck_assert(take_octets(&other, packet, sizeof packet) == ERASURE_MISMATCH);
    ck_assert(take_octets(&p, packet, sizeof packet) == ERASURE_REQUEST);
    ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, sizeof packet - 1), p.now) ==
              ERASURE_MALFORMED);
    send_segments(&p, 200); /* two more matrices: the first one is not kept */
    ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, sizeof packet), p.now) ==
              ERASURE_REQUEST);
    ck_assert_uint_eq(erasure_encoder_counters(p.encoder)->too_late, 2);
    packet[5] ^= 1;
    ck_assert(erasure_encoder_request(p.encoder, slice_of(packet, sizeof packet), p.now) ==
              ERASURE_BAD_CRC);
    ck_assert(take_octets(&other, p.packets[0].octets, p.packets[0].len) == ERASURE_MISMATCH);
    wait_for(&p, ERASURE_REQUEST_SPACING);
    while (pass_request(&p)) /* the last copy of the request */
        ;
    wait_for(&p, p.config.answer - 1);
    ck_assert_uint_eq(counts(&p)->failed, 0);
    wait_for(&p, 1);
    ck_assert_uint_eq(counts(&p)->failed, 1);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

static unsigned matrix_of(const struct pair *p, unsigned i)
{
    const uint8_t *o = p->packets[i].octets;
    unsigned number = (unsigned)o[1] << 16 | (unsigned)o[2] << 8 | o[3];
    number = (number - p->config.first) & 0xffffff;
    ck_assert_uint_lt(number, 5);
    return number;
}

/* Several matrices with random losses before the answers come: as many symbols as segments repair
 * each, whatever they are. */
static void run_requests(uint64_t seed, unsigned *answers)
{
    static struct pair p;
    struct rng r;
    rng_init(&r, seed);
    unsigned span = 8 + (unsigned)rng_below(&r, 60), rows = 2 + (unsigned)rng_below(&r, 16);
    pair_init_requests(&p, span, rows, 4, seed);
    double loss = 0.9 * rows / (span + rows) + 0.05;
    send_segments(&p, 3 * span);
    p.now += p.config.wait;
    erasure_encoder_expire(p.encoder, p.now);
    send_repairs(&p);
    unsigned before = p.packets_len, sent = 0, of[3 * 68], size[5] = {0}, arrived[5] = {0};
    for (unsigned i = 0; i < before; i++) {
        if (p.packets[i].octets[0] == 0xE6)
            size[of[sent++] = matrix_of(&p, i)]++;
        if (!rng_chance(&r, loss)) {
            take_packet(&p, i);
            arrived[matrix_of(&p, i)]++;
        }
    }
    wait_for(&p, rows * p.config.each + p.config.pause);
    while (pass_request(&p))
        ;
    for (unsigned i = before; i < p.packets_len; i++)
        if (!rng_chance(&r, loss / 2)) {
            take_packet(&p, i);
            arrived[matrix_of(&p, i)]++;
        }
    for (unsigned n = 0; n < 60; n++)
        wait_for(&p, p.config.pause);
    ck_assert(erasure_decoder_deadline(p.decoder) == TICK_NEVER);
    ck_assert_uint_le(counts(&p)->segments_lost, p.sent - count_came(&p));
    ck_assert_uint_eq(counts(&p)->segments_corrupt, 0);
    for (unsigned i = 0; i < p.sent; i++)
        ck_assert(p.came[i] == 1 || (p.came[i] == 0 && arrived[of[i]] < size[of[i]]));
    *answers += (unsigned)counts(&p)->requested_repaired;
    pair_fini(&p);
}

START_TEST(random_requests)
{
    unsigned answers = 0;
    for (uint64_t seed = 0; seed < 200; seed++)
        run_requests(seed, &answers);
    ck_assert_uint_gt(answers, 100);
}
END_TEST

SUITE(erasure_requests, t)
{
    tcase_add_test(t, requested_repairs);
    tcase_add_test(t, request_after_a_pause);
    tcase_add_test(t, request_too_early);
    tcase_add_test(t, forged_requests);
    tcase_add_test(t, requests_in_vain);
    tcase_add_test(t, random_requests);
}
