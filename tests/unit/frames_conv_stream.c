/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of convolutional symbols: every rate, packed and soft, in pieces of any size, from any
 * symbol on, with lost ones, noise, and an end. */
#include "base/rng.h"
#include "frames/conv_stream.h"
#include "tests/unit/suite.h"

enum { OCTETS = 6000, SYMBOLS_MAX = 16 * OCTETS };

static uint8_t data[OCTETS], stream[SYMBOLS_MAX], got[OCTETS + CONV_OCTETS_MAX];
static struct conv_reader reader;
static struct rng rng;

static void draw_data(uint64_t seed)
{
    rng_init(&rng, seed);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rng_u64(&rng);
}

/* In pieces, as frames are written. Returns octets of the stream. */
static size_t write_stream(struct conv_format f, bool soft)
{
    struct conv_writer w;
    size_t len = 0;
    conv_writer_init(&w, f, soft);
    for (size_t at = 0, n; at < OCTETS; at += n) {
        static uint8_t symbols[SYMBOLS_MAX];
        n = 1 + rng_below(&rng, 700);
        n = n < OCTETS - at ? n : OCTETS - at;
        size_t count = conv_writer_encode(&w, data + at, n, symbols);
        const size_t octets = conv_writer_pack(&w, symbols, count, at + n == OCTETS);
        ck_assert_uint_le(octets, conv_writer_max(f, soft, n) + (at + n == OCTETS));
        memcpy(stream + len, symbols, octets);
        len += octets;
    }
    return len;
}

static size_t read_stream(const uint8_t *from, size_t len, bool locked)
{
    size_t have = 0;
    for (size_t at = 0, n; at < len; at += n) {
        n = 1 + rng_below(&rng, 900);
        n = n < len - at ? n : len - at;
        for (struct slice left = slice_of(from + at, n); left.len > 0;) {
            const size_t before = left.len;
            const size_t octets = conv_reader_input(&reader, &left, locked, got + have);
            ck_assert_uint_lt(left.len, before);
            ck_assert_uint_le(octets, CONV_OCTETS_MAX);
            have += octets;
            ck_assert_uint_le(have, OCTETS);
        }
    }
    return have;
}

/* Bits from there on in what was read that are those of `data` from another bit on. */
static size_t count_equal(size_t at, size_t of, size_t bits)
{
    size_t equal = 0;
    for (size_t i = 0; i < bits; i++)
        equal += (got[(at + i) / 8] >> (7 - (at + i) % 8) & 1) ==
                 (data[(of + i) / 8] >> (7 - (of + i) % 8) & 1);
    return equal;
}

START_TEST(each_rate)
{
    for (int k = 0; k < 2 * CONV_RATES; k++) {
        const bool soft = k >= CONV_RATES;
        const struct conv_format f = conv_format_of((enum conv_rate)(k % CONV_RATES));
        draw_data(1);
        const size_t len = write_stream(f, soft);
        conv_reader_init(&reader, f, soft, SYMBOLS_MAX);
        size_t n = read_stream(stream, len, false);
        ck_assert_uint_ge(n, OCTETS - CONV_ROOM / 8 - 1); /* decided without an end */
        ck_assert_int_eq(memcmp(got, data, n), 0);
        n += conv_reader_end(&reader, got + n);
        ck_assert(n == OCTETS || n == OCTETS + 1); /* symbols that filled the last octet */
        ck_assert_int_eq(memcmp(got, data, OCTETS - 2), 0);
        ck_assert_uint_eq(reader.begins, 1);
        ck_assert_uint_le(conv_reader_wrong(&reader), 8);
        ck_assert_uint_eq(reader.count, soft ? len : 8 * len);
        ck_assert_uint_eq(conv_reader_end(&reader, got), 0);
    }
}
END_TEST

/* A demodulator begins anywhere. Bits of the first period may be missing. */
START_TEST(from_any_symbol)
{
    for (int rate = 0; rate < CONV_RATES; rate++) {
        const struct conv_format f = conv_format_of((enum conv_rate)rate);
        const unsigned symbols = conv_period_symbols(f.rate), bits = conv_period_bits(f.rate);
        draw_data(2);
        const size_t len = write_stream(f, true);
        for (unsigned from = 0; from <= symbols; from++) {
            conv_reader_init(&reader, f, true, SYMBOLS_MAX);
            const size_t n = read_stream(stream + from, len - from, false);
            const size_t first = (from + symbols - 1) / symbols * bits;
            ck_assert_uint_gt(n, OCTETS - CONV_ROOM / 8 - 4);
            /* the first bits have no symbols of those before them */
            ck_assert_uint_eq(count_equal(64, first + 64, 8 * n - 128), 8 * n - 128);
        }
    }
}
END_TEST

/* After the loss nothing is found, and the period is searched again; while units are found it is
 * not. */
START_TEST(lost_symbols)
{
    const struct conv_format f = conv_format_of(CONV_3_4);
    draw_data(3);
    const size_t len = write_stream(f, true), half = len / 2 / 4 * 4;
    conv_reader_init(&reader, f, true, 5000);
    const size_t n = read_stream(stream, half, true);
    ck_assert_uint_eq(reader.begins, 1);
    ck_assert_int_eq(memcmp(got, data, n), 0);
    (void)read_stream(stream + half + 1, len - half - 1, false);
    ck_assert_uint_ge(reader.begins, 2);
    ck_assert_uint_ge(conv_reader_wrong(&reader), 100); /* of the period that was wrong */
    conv_reader_init(&reader, f, true, 5000);
    (void)read_stream(stream, len, true);
    ck_assert_uint_eq(reader.begins, 1);
    conv_reader_init(&reader, f, true, 5000);
    (void)read_stream(stream, len, false); /* searched over and over; its first symbols are right */
    ck_assert_uint_ge(reader.begins, 2);
    ck_assert_uint_eq(conv_reader_wrong(&reader), 0);
}
END_TEST

/* The period is found where the code corrects most of the errors: at 200 places. */
START_TEST(noise)
{
    static const double share[CONV_RATES] = {0.06, 0.03, 0.02, 0.012, 0.008};
    for (int rate = 0; rate < CONV_RATES; rate++) {
        const struct conv_format f = conv_format_of((enum conv_rate)rate);
        const unsigned symbols = conv_period_symbols(f.rate);
        draw_data(4 + (uint64_t)rate);
        const size_t len = write_stream(f, true);
        for (size_t i = 0; i < len; i++)
            stream[i] ^= rng_chance(&rng, share[rate]) ? 255 : 0;
        for (unsigned k = 0; k < 40; k++) {
            const size_t from = rng_below(&rng, (uint32_t)(len - CONV_LOOK));
            ck_assert_uint_eq(
                (from + conv_find_period(f, stream + from, CONV_LOOK, reader.decisions)) % symbols,
                0);
        }
    }
}
END_TEST

/* Less than what is searched, and nothing at all. */
START_TEST(short_streams)
{
    const struct conv_format f = conv_format_of(CONV_1_2);
    draw_data(5);
    (void)write_stream(f, false);
    conv_reader_init(&reader, f, false, SYMBOLS_MAX);
    ck_assert_uint_eq(conv_reader_end(&reader, got), 0);
    ck_assert_uint_eq(read_stream(stream, 200, false), 0);
    ck_assert_uint_eq(conv_reader_end(&reader, got), 100);
    ck_assert_int_eq(memcmp(got, data, 98), 0);
    ck_assert_uint_eq(read_stream(stream, 40, false), 0); /* another stream */
    ck_assert_uint_eq(conv_reader_end(&reader, got), 20);
    ck_assert_int_eq(memcmp(got, data, 18), 0);
    ck_assert_uint_eq(reader.begins, 2);
}
END_TEST

SUITE(frames_conv_stream, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, each_rate);
    tcase_add_test(t, from_any_symbol);
    tcase_add_test(t, lost_symbols);
    tcase_add_test(t, noise);
    tcase_add_test(t, short_streams);
}
