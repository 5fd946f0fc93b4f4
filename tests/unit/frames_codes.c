/* SPDX-License-Identifier: Apache-2.0 */
/* Check values, sequences and codes: published vectors, the definitions computed again bit by bit,
 * and every pattern of errors that a code corrects or detects. */
#include "base/rng.h"
#include "frames/bch.h"
#include "frames/clcw.h"
#include "frames/cltu.h"
#include "frames/fecf.h"
#include "frames/fhec.h"
#include "frames/pn.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

START_TEST(fecf_vectors)
{
    ck_assert_uint_eq(fecf_crc(FECF_INIT, "123456789", 9), 0x29b1);
    ck_assert_uint_eq(fecf_crc_sliced(FECF_INIT, "123456789", 9), 0x29b1);
    ck_assert_uint_eq(fecf_crc_bytewise(FECF_INIT, "123456789", 9), 0x29b1);
    ck_assert_uint_eq(fecf_crc(0x1234, "", 0), 0x1234);
}
END_TEST

static uint16_t crc_bits(uint16_t crc, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < 8 * len; i++) {
        unsigned out = (crc >> 15 ^ p[i / 8] >> (7 - i % 8)) & 1;
        crc = (uint16_t)((crc << 1) ^ (out ? 0x1021 : 0));
    }
    return crc;
}

START_TEST(fecf_definition)
{
    uint8_t data[4200];
    struct rng r;
    rng_init(&r, 1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rng_u64(&r);
    for (size_t len = 0; len < 700; len++) {
        size_t at = rng_below(&r, 17), cut = rng_below(&r, len + 1);
        uint16_t from = (uint16_t)rng_u64(&r), want = crc_bits(from, data + at, len);
        ck_assert_uint_eq(fecf_crc_bytewise(from, data + at, len), want);
        ck_assert_uint_eq(fecf_crc_sliced(from, data + at, len), want);
        ck_assert_uint_eq(fecf_crc(from, data + at, len), want);
        ck_assert_uint_eq(fecf_crc(fecf_crc(from, data + at, cut), data + at + cut, len - cut),
                          want);
    }
    for (int k = 0; k < 200; k++) {
        size_t len = rng_below(&r, sizeof data + 1);
        ck_assert_uint_eq(fecf_crc(FECF_INIT, data, len), crc_bits(FECF_INIT, data, len));
    }
}
END_TEST

START_TEST(pn_vectors)
{
    uint8_t out[16];
    pn_fill(PN_TM, out, sizeof out);
    assert_hex(out, sizeof out, "ff480ec09a0d70bc8e2c93ada7b746ce");
    pn_fill(PN_TC, out, sizeof out);
    assert_hex(out, sizeof out, "ff399e5a68e906f56c892fa1315e08c0");
    pn_fill(PN_TM_LONG, out, 5);
    assert_hex(out, 5, "1c71b91ba9"); /* the book's 40 bits */
}
END_TEST

/* Of a recurrence: bit n + 8 is the sum of bits n + t for t in the mask. */
static void compute_sequence(unsigned taps, uint8_t *out, size_t len)
{
    unsigned state = 0xff; /* bit t: the sequence's bit n + t */
    memset(out, 0, len);
    for (size_t i = 0; i < 8 * len; i++) {
        unsigned next = (unsigned)__builtin_parity(state & taps);
        out[i / 8] |= (uint8_t)((state & 1) << (7 - i % 8));
        state = state >> 1 | next << 7;
    }
}

START_TEST(pn_definition)
{
    enum { LEN = 1115 };
    static const unsigned taps[] = {0xa9, 0x5f}; /* 1 x^3 x^5 x^7; 1 x x^2 x^3 x^4 x^6 */
    uint8_t want[LEN], got[LEN], back[LEN];
    for (int s = PN_TM; s <= PN_TC; s++) {
        compute_sequence(taps[s], want, LEN);
        pn_fill((enum pn_sequence)s, got, LEN);
        ck_assert_mem_eq(got, want, LEN);
        memset(back, 0x5c, LEN);
        pn_apply((enum pn_sequence)s, back, got, LEN);
        for (size_t i = 0; i < LEN; i++)
            ck_assert_uint_eq(got[i], 0x5c ^ want[i]);
        pn_apply((enum pn_sequence)s, got, got, LEN);
        ck_assert_mem_eq(got, back, LEN);
    }
}
END_TEST

START_TEST(pn_long_definition)
{
    enum { LEN = 131071 + 40 }; /* octets: more than 8 periods */
    static uint8_t want[LEN], got[LEN];
    uint32_t state = 0x18e38;
    for (size_t i = 0; i < 8 * (size_t)LEN; i++) {
        want[i / 8] |= (uint8_t)((state & 1) << (7 - i % 8));
        state = state >> 1 | ((state ^ state >> 14) & 1) << 16; /* 1 x^14 */
    }
    pn_fill(PN_TM_LONG, got, LEN);
    ck_assert_mem_eq(got, want, LEN);
    ck_assert_mem_eq(got, got + 131071, 40);
    for (size_t len = 0; len < 200; len++) {
        memset(got, 0x5c, len + 1);
        pn_apply(PN_TM_LONG, got, got, len);
        for (size_t i = 0; i < len; i++)
            ck_assert_uint_eq(got[i], 0x5c ^ want[i]);
        ck_assert_uint_eq(got[len], 0x5c);
    }
}
END_TEST

/* The remainder of 56 bits times x^7, complemented, then the filler. */
static uint8_t parity_bits(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < BCH_INFORMATION; i++)
        v = v << 8 | p[i];
    v <<= 7;
    for (int bit = 62; bit >= 7; bit--)
        if (v >> bit & 1)
            v ^= UINT64_C(0xc5) << (bit - 7); /* x^7 + x^6 + x^2 + 1 */
    return (uint8_t)(~(v << 1) & 0xfe);
}

static void flip_bit(uint8_t *data, size_t bit)
{
    data[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

START_TEST(bch_errors)
{
    struct rng r;
    uint8_t block[BCH_CODEBLOCK], broken[BCH_CODEBLOCK], got[BCH_INFORMATION];
    rng_init(&r, 2);
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < BCH_INFORMATION; i++)
            block[i] = (uint8_t)rng_u64(&r);
        block[BCH_INFORMATION] = bch_parity(block);
        ck_assert_uint_eq(block[BCH_INFORMATION], parity_bits(block));
        ck_assert_int_eq(bch_decode(block, BCH_DETECT, got), BCH_GOOD);
        for (size_t a = 0; a < 63; a++) {
            memcpy(broken, block, sizeof block);
            flip_bit(broken, a);
            ck_assert_int_eq(bch_decode(broken, BCH_DETECT, got), BCH_REJECTED);
            ck_assert_int_eq(bch_decode(broken, BCH_CORRECT, got), BCH_CORRECTED);
            ck_assert_mem_eq(got, block, BCH_INFORMATION);
            broken[BCH_INFORMATION] ^= 1; /* a filler bit of 1 forbids it */
            ck_assert_int_eq(bch_decode(broken, BCH_CORRECT, got), BCH_REJECTED);
            broken[BCH_INFORMATION] ^= 1;
            for (size_t b = a + 1; b < 63; b++) {
                flip_bit(broken, b);
                ck_assert_int_eq(bch_decode(broken, BCH_CORRECT, got), BCH_REJECTED);
                size_t c = rng_below(&r, 63); /* a third, or one of them taken back */
                flip_bit(broken, c);
                ck_assert_int_eq(bch_decode(broken, BCH_DETECT, got), BCH_REJECTED);
                flip_bit(broken, c);
                flip_bit(broken, b);
            }
        }
    }
}
END_TEST

#define TC_FRAME "21ab0c1c2ae51610171e252c333a41484f565d646b727980878e95162a"
#define PLAIN                                                                                      \
    "eb9021ab0c1c2ae516de10171e252c333afa41484f565d646b10727980878e9516a02a5555555555555ac5c5c5c5" \
    "c5c5c579"
#define RANDOMISED                                                                                 \
    "eb90de929246420c1086e57b970a8d0264b649881dfee6ca25c4b0be6de152adc21ed25555555555558ac5c5c5c5" \
    "c5c5c579"

START_TEST(cltu_vectors)
{
    uint8_t frame[64], out[128], back[128];
    struct cltu c;
    size_t n = read_hex(TC_FRAME, frame);
    for (int randomise = 0; randomise < 2; randomise++) {
        ck_assert_uint_eq(cltu_size(n), 50);
        ck_assert_uint_eq(cltu_write(frame, n, randomise, out, 49), 0);
        ck_assert_uint_eq(cltu_write(frame, n, randomise, out, sizeof out), 50);
        assert_hex(out, 50, randomise ? RANDOMISED : PLAIN);
        ck_assert_int_eq(cltu_read(out, 50, BCH_DETECT, randomise, back, sizeof back, &c), CLTU_OK);
        ck_assert_uint_eq(c.len, 35);
        ck_assert_uint_eq(c.used, 50);
        ck_assert_mem_eq(back, frame, n);
        ck_assert_int_eq(cltu_read(out, 50, BCH_CORRECT, randomise, back, 34, &c), CLTU_LONG);
    }
    ck_assert_uint_eq(cltu_size(1024), 1186);
    ck_assert_uint_eq(cltu_write(frame, 0, false, out, sizeof out), 0);
}
END_TEST

START_TEST(cltu_errors)
{
    uint8_t frame[64], out[128], back[128];
    struct cltu c;
    size_t n = read_hex(TC_FRAME, frame), size = cltu_write(frame, n, true, out, sizeof out);
    for (size_t bit = 0; bit < 8 * size; bit++) { /* any one wrong bit */
        flip_bit(out, bit);
        bool filler = bit >= 16 && (bit - 16) % 64 == 63;
        bool tail = bit >= 8 * (size - CLTU_TAIL_LEN);
        enum cltu_verdict v = cltu_read(out, size, BCH_CORRECT, true, back, sizeof back, &c);
        ck_assert_int_eq(v, CLTU_OK); /* no error of one bit makes the tail a codeblock */
        ck_assert_uint_ge(c.len, 35);
        ck_assert_mem_eq(back, frame, n);
        ck_assert_uint_eq(c.corrected, bit >= 16 && !tail && !filler);
        v = cltu_read(out, size, BCH_DETECT, true, back, sizeof back, &c);
        ck_assert_int_eq(v, bit < 16                   ? CLTU_NO_START
                            : bit < 16 + 64 && !filler ? CLTU_EMPTY
                                                       : CLTU_OK);
        flip_bit(out, bit);
    }
    flip_bit(out, 16 + 128 + 3); /* two in the third codeblock: what is before is kept */
    flip_bit(out, 16 + 128 + 40);
    ck_assert_int_eq(cltu_read(out, size, BCH_CORRECT, true, back, sizeof back, &c), CLTU_OK);
    ck_assert_uint_eq(c.len, 14);
    ck_assert_uint_eq(c.used, 18);
    ck_assert_mem_eq(back, frame, 14);
    ck_assert_int_eq(cltu_read(out, size - 9, BCH_CORRECT, true, back, sizeof back, &c), CLTU_OK);
    ck_assert_int_eq(cltu_read(out, 2, BCH_CORRECT, true, back, sizeof back, &c), CLTU_NO_TAIL);
    ck_assert_int_eq(cltu_read(out, 1, BCH_CORRECT, true, back, sizeof back, &c), CLTU_NO_START);
    ck_assert_str_eq(cltu_verdict_name(CLTU_LONG), "long");
}
END_TEST

/* Several in one buffer behind octets of acquisition, of every length. */
START_TEST(cltu_stream)
{
    static uint8_t stream[4096], data[3][1024], back[1200];
    struct rng r;
    rng_init(&r, 3);
    for (size_t len = 1; len <= 1024; len += 1 + len / 5) {
        size_t at = 0, lens[3] = {len, 1 + rng_below(&r, len), 1 + rng_below(&r, 7)};
        bool randomise = rng_chance(&r, 0.5);
        for (int i = 0; i < 3; i++) {
            for (size_t k = 0; k < lens[i]; k++)
                data[i][k] = (uint8_t)rng_u64(&r);
            memset(stream + at, 0x55, 16);
            at += 16;
            at += cltu_write(data[i], lens[i], randomise, stream + at, sizeof stream - at);
        }
        size_t from = 0;
        for (int i = 0; i < 3; i++) {
            struct cltu c;
            ck_assert_int_eq(
                cltu_read(stream + from, at - from, BCH_DETECT, randomise, back, sizeof back, &c),
                CLTU_OK);
            ck_assert_uint_eq(c.len, (lens[i] + 6) / 7 * 7);
            ck_assert_mem_eq(back, data[i], lens[i]);
            from += c.used;
        }
        ck_assert_uint_eq(from, at);
    }
}
END_TEST

START_TEST(fhec_errors)
{
    ck_assert_uint_eq(fhec_encode(0x1234, 0x56), 0x94dc); /* as in the tests of Yamcs */
    ck_assert_uint_eq(fhec_encode(0x369c, 0xfa), 0x457c);
    struct rng r;
    rng_init(&r, 4);
    for (int k = 0; k < 4; k++) {
        uint16_t id = (uint16_t)rng_u64(&r);
        uint8_t signal = (uint8_t)rng_u64(&r);
        uint64_t word = (uint64_t)id << 24 | (uint64_t)signal << 16 | fhec_encode(id, signal);
        for (unsigned a = 0; a < 10 * 15; a++) {
            for (unsigned b = 0; b < 10 * 15; b++) {
                uint64_t bad = word ^ (uint64_t)(a / 10 + 1) << (4 * (a % 10));
                if (b % 10 != a % 10)
                    bad ^= (uint64_t)(b / 10 + 1) << (4 * (b % 10));
                uint16_t got_id = (uint16_t)(bad >> 24), field = (uint16_t)bad;
                uint8_t got_signal = (uint8_t)(bad >> 16);
                ck_assert_int_eq(fhec_correct(&got_id, &got_signal, &field),
                                 b % 10 != a % 10 ? 2 : 1);
                ck_assert_uint_eq((uint64_t)got_id << 24 | (uint64_t)got_signal << 16 | field,
                                  word);
            }
        }
        uint16_t field = (uint16_t)word;
        ck_assert_int_eq(fhec_correct(&id, &signal, &field), 0);
    }
    int refused = 0; /* three and more: most are noticed, none changes what it refuses */
    for (int k = 0; k < 2000; k++) {
        uint16_t id = 0x1234 ^ 0x1110, field = (uint16_t)rng_u64(&r);
        uint8_t signal = (uint8_t)rng_u64(&r), was = signal;
        if (fhec_correct(&id, &signal, &field) < 0) {
            refused++;
            ck_assert(id == (0x1234 ^ 0x1110) && signal == was);
        }
    }
    ck_assert_int_gt(refused, 1000);
}
END_TEST

START_TEST(clcw_fields)
{
    struct clcw c = {.cop = 1, .vcid = 5, .farm_b = 2, .report_value = 0x77}, back;
    ck_assert_uint_eq(clcw_encode(&c), 0x01140477);
    struct rng r;
    rng_init(&r, 5);
    for (int k = 0; k < 1000; k++) {
        uint32_t word = (uint32_t)rng_u64(&r);
        ck_assert_int_eq(clcw_decode(word, &back), word >> 29 == 0);
        if (word >> 29 == 0) /* but the spare bits */
            ck_assert_uint_eq(clcw_encode(&back), word & ~(UINT32_C(3) << 16 | 1U << 8));
    }
}
END_TEST

SUITE(frames_codes, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, fecf_vectors);
    tcase_add_test(t, fecf_definition);
    tcase_add_test(t, pn_vectors);
    tcase_add_test(t, pn_definition);
    tcase_add_test(t, pn_long_definition);
    tcase_add_test(t, bch_errors);
    tcase_add_test(t, cltu_vectors);
    tcase_add_test(t, cltu_errors);
    tcase_add_test(t, cltu_stream);
    tcase_add_test(t, fhec_errors);
    tcase_add_test(t, clcw_fields);
}
