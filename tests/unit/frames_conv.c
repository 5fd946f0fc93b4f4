/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutional codes: published symbols and patterns, decoding of each rate in pieces, with errors
 * and soft symbols, the most likely path by trying all, and the beginning of periods. */
#include "base/rng.h"
#include "frames/conv.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

enum { BITS_MAX = 20000, ROOM = 1024, DEPTH = 192 };

static uint8_t symbols[2 * BITS_MAX], decisions[(BITS_MAX + 1) * CONV_STATES];

static void pack_symbols(size_t n, uint8_t *out)
{
    memset(out, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++)
        out[i / 8] |= (uint8_t)((symbols[i] & 1) << (7 - i % 8));
}

/* The marker as receivers of coded streams look for it, behind zeros; without inversion they often
 * write it inverted, fca2b63db00d9794. */
START_TEST(published_marker)
{
    struct conv_encoder e;
    struct conv_format plain = {.rate = CONV_1_2}, book = conv_format_of(CONV_1_2);
    uint8_t out[8];
    conv_encoder_init(&e, plain);
    ck_assert_uint_eq(conv_encode(&e, (const uint8_t *)"\x1a\xcf\xfc\x1d", 32, symbols), 64);
    pack_symbols(64, out);
    assert_hex(out, 8, "035d49c24ff2686b");
    conv_encoder_init(&e, book);
    conv_encode(&e, (const uint8_t *)"\x1a\xcf\xfc\x1d", 32, symbols);
    pack_symbols(64, out);
    assert_hex(out, 8, "56081c971aa73d3e");
}
END_TEST

/* The answer to a single 1 is the generators (131.0-B 3.3.1), the second one inverted. */
START_TEST(impulse)
{
    struct conv_encoder e;
    conv_encoder_init(&e, conv_format_of(CONV_1_2));
    ck_assert_uint_eq(conv_encode(&e, (const uint8_t *)"\x80", 7, symbols), 14);
    for (unsigned i = 0; i < 7; i++) {
        ck_assert_uint_eq(symbols[2 * i], "1111001"[i] == '1' ? 255 : 0);
        ck_assert_uint_eq(symbols[2 * i + 1], "1011011"[i] == '1' ? 0 : 255);
    }
}
END_TEST

/* The punctured symbols are those of rate 1/2 at the places of the book's table. */
START_TEST(patterns)
{
    static const struct {
        unsigned bits;
        const char *sent; /* generator and bit of each symbol */
    } table[CONV_RATES] = {
        {1, "a1b1"}, {2, "a1b1b2"}, {3, "a1b1b2a3"}, {5, "a1b1b2a3b4a5"}, {7, "a1b1b2b3b4a5b6a7"}};
    uint8_t data[70], all[1200];
    struct rng r;
    rng_init(&r, 1);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rng_u64(&r);
    struct conv_encoder e;
    conv_encoder_init(&e, (struct conv_format){.rate = CONV_1_2});
    conv_encode(&e, data, 525, all);
    for (int rate = CONV_2_3; rate < CONV_RATES; rate++) {
        struct conv_format f = conv_format_of((enum conv_rate)rate);
        ck_assert(!f.inverted);
        ck_assert_uint_eq(conv_period_bits(f.rate), table[rate].bits);
        ck_assert_uint_eq(conv_period_symbols(f.rate), strlen(table[rate].sent) / 2);
        conv_encoder_init(&e, f);
        size_t n = conv_encode(&e, data, 420, symbols), at = 0;
        for (unsigned from = 0; from < 420; from += table[rate].bits)
            for (const char *s = table[rate].sent; *s != '\0'; s += 2, at++)
                ck_assert_uint_eq(symbols[at],
                                  all[2 * (from + (unsigned)(s[1] - '1')) + (s[0] == 'b')]);
        ck_assert_uint_eq(at, n);
    }
}
END_TEST

static size_t make_symbols(struct conv_format f, struct rng *r, uint8_t *data, size_t bits)
{
    struct conv_encoder e;
    for (size_t i = 0; i < (bits + 7) / 8; i++)
        data[i] = (uint8_t)rng_u64(r);
    conv_encoder_init(&e, f);
    return conv_encode(&e, data, bits, symbols);
}

static void assert_bits(const uint8_t *got, const uint8_t *want, size_t bits)
{
    for (size_t i = 0; i < bits; i++)
        ck_assert_msg((got[i / 8] >> (7 - i % 8) & 1) == (want[i / 8] >> (7 - i % 8) & 1),
                      "bit %zu", i);
}

/* As a stream, in pieces, with errors that are far enough from each other. */
START_TEST(streams)
{
    static uint8_t data[BITS_MAX / 8], got[BITS_MAX / 8 + 8];
    struct rng r;
    rng_init(&r, 2);
    for (int k = 0; k < 4 * CONV_RATES; k++) {
        struct conv_format f = conv_format_of((enum conv_rate)(k % CONV_RATES));
        struct conv_decoder d;
        struct conv_bits out = {.data = got};
        size_t n = make_symbols(f, &r, data, BITS_MAX), errors = 0;
        for (size_t i = 50; k >= CONV_RATES && i + 200 < n; i += 60 + rng_below(&r, 60), errors++)
            symbols[i] ^= k >= 2 * CONV_RATES ? (uint8_t)(0x80 | rng_below(&r, 128)) : 255;
        conv_decoder_init(&d, f, 0, decisions, ROOM, DEPTH);
        for (size_t at = 0; at < n;) {
            size_t piece = 1 + rng_below(&r, k % 2 == 0 ? 5 : 3000), before = out.count;
            piece = piece < n - at ? piece : n - at;
            conv_decode(&d, symbols + at, piece, &out);
            ck_assert_uint_le(out.count - before, piece + ROOM);
            at += piece;
        }
        if (k < 2 * CONV_RATES)
            ck_assert_uint_eq(conv_distance(&d), 255 * errors);
        conv_decoder_end(&d, -1, &out);
        ck_assert_uint_eq(out.count, BITS_MAX);
        assert_bits(got, data, BITS_MAX - 12); /* behind the last ones is nothing that tells */
    }
}
END_TEST

/* Errors of short blocks: no other path is nearer than the decoder's, and the tail ends in 0. */
START_TEST(most_likely)
{
    enum { BITS = 10 };
    struct rng r;
    rng_init(&r, 3);
    for (int k = 0; k < 300; k++) {
        struct conv_format f = conv_format_of((enum conv_rate)(k % CONV_RATES));
        uint8_t data[4] = {(uint8_t)rng_u64(&r), (uint8_t)(rng_u64(&r) & 0xc0)}, got[8];
        uint8_t received[64];
        struct conv_encoder e;
        struct conv_decoder d;
        struct conv_bits out = {.data = got};
        conv_encoder_init(&e, f);
        size_t n = conv_encode(&e, data, BITS + CONV_TAIL, received);
        for (size_t i = 0; i < n; i++)
            if (rng_chance(&r, 0.3))
                received[i] = (uint8_t)rng_u64(&r);
        conv_decoder_init(&d, f, 0, decisions, BITS_MAX, 1);
        conv_decode(&d, received, n, &out);
        ck_assert_uint_eq(out.count, 0);
        conv_decoder_end(&d, 0, &out);
        ck_assert_uint_eq(out.count, BITS + CONV_TAIL);
        ck_assert_uint_eq((unsigned)(got[0] << 8 | got[1]) & 0x3f, 0);
        unsigned least = UINT32_MAX, ours = UINT32_MAX;
        for (unsigned word = 0; word < 1U << BITS; word++) {
            uint8_t try[2] = {(uint8_t)(word >> 2), (uint8_t)(word << 6)};
            unsigned far = 0;
            conv_encoder_init(&e, f);
            conv_encode(&e, try, BITS + CONV_TAIL, symbols);
            for (size_t i = 0; i < n; i++)
                far += (unsigned)abs(symbols[i] - received[i]);
            least = far < least ? far : least;
            ours = memcmp(try, got, 2) == 0 ? far : ours;
        }
        ck_assert_uint_eq(ours, least);
    }
}
END_TEST

/* A demodulator begins anywhere, and its bits may be inverted. */
START_TEST(periods)
{
    static uint8_t data[BITS_MAX / 8];
    struct rng r;
    rng_init(&r, 4);
    for (int rate = 0; rate < CONV_RATES; rate++) {
        struct conv_format f = conv_format_of((enum conv_rate)rate);
        unsigned period = conv_period_symbols(f.rate);
        size_t n = make_symbols(f, &r, data, BITS_MAX);
        for (size_t i = 0; i < n; i++)
            symbols[i] ^= rng_chance(&r, 0.01) ? 255 : 0;
        for (unsigned from = 0; from < 2 * period; from++)
            ck_assert_uint_eq(conv_find_period(f, symbols + from, 6000, decisions),
                              (period - from % period) % period);
        for (size_t i = 0; i < n; i++)
            symbols[i] ^= 255;
        ck_assert_uint_eq(conv_find_period(f, symbols + 1, 6000, decisions), period - 1);
    }
}
END_TEST

SUITE(frames_conv, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, published_marker);
    tcase_add_test(t, impulse);
    tcase_add_test(t, patterns);
    tcase_add_test(t, streams);
    tcase_add_test(t, most_likely);
    tcase_add_test(t, periods);
}
