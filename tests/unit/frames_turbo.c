/* SPDX-License-Identifier: Apache-2.0 */
/* Turbo codes: codewords that deepspace-turbo (C, commit 7f26d3f) has written; the permutation;
 * decoding in white noise beside the frame error rates of CCSDS 130.1-G, of wrong bits, and of what
 * is no codeword. */
#include "frames/turbo.h"

#include <math.h>

#include "base/rng.h"
#include "frames/fecf.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

static struct turbo code;
static struct turbo_work work;
static uint8_t block[TURBO_BLOCK_MAX / 8], codeword[TURBO_CODEWORD_MAX / 8];
static uint8_t symbols[TURBO_CODEWORD_MAX], got[TURBO_BLOCK_MAX / 8];

static const uint32_t sizes[] = {1784, 3568, 7136, 8920};
enum { SIZES = 4 };

/* With a check value at its end. */
static void fill_block(struct rng *r)
{
    const size_t len = code.k / 8;
    for (size_t i = 0; i < len; i++)
        block[i] = (uint8_t)rng_u64(r);
    uint16_t check = fecf_crc(FECF_INIT, block, len - 2);
    block[len - 2] = (uint8_t)(check >> 8);
    block[len - 1] = (uint8_t)check;
}

START_TEST(problems)
{
    ck_assert_ptr_nonnull(turbo_problem(TURBO_1_2, 1783));
    ck_assert_ptr_nonnull(turbo_problem(TURBO_1_2, 5352)); /* 223 x 3 octets are no block */
    ck_assert_ptr_nonnull(turbo_problem(TURBO_RATES, 1784));
    for (int i = 0; i < SIZES; i++)
        ck_assert_ptr_null(turbo_problem(TURBO_1_6, sizes[i]));
}
END_TEST

/* 16 octets from the 64th on, and the CRC of all octets. That program punctures for rate 1/2 in
 * another order: here its rate 1/3 is punctured as 131.0-B says. */
START_TEST(other_implementation)
{
    static const struct {
        enum turbo_rate rate;
        uint32_t k, n;
        const char *octets;
        uint16_t crc;
    } vectors[] = {{TURBO_1_2, 1784, 3576, "e80bf898fe17fbc4bfaa157c41b35370", 0x8916},
                   {TURBO_1_3, 1784, 5364, "4331a4cf44e293408798b783627bcafc", 0x8e11},
                   {TURBO_1_4, 1784, 7152, "1fca01d94ec9b384e351264d8651f125", 0x6270},
                   {TURBO_1_6, 1784, 10728, "c3a33e332135e6d243b7b22e8ca03a33", 0xb80f},
                   {TURBO_1_2, 3568, 7144, "e80be999ef07ead5bfaa057c41b25361", 0x7fac},
                   {TURBO_1_3, 3568, 10716, "c178a4df04e213018798b7836233eafe", 0xfeb8},
                   {TURBO_1_4, 3568, 14288, "0ecb01d94ec9a295f350365d9740f035", 0xb8fe},
                   {TURBO_1_6, 3568, 21432, "d3603e03e339f65143a7b1269c613613", 0xaafe},
                   {TURBO_1_2, 7136, 14280, "e80ae899ef17ebc5bebb057d41a35260", 0x83d5},
                   {TURBO_1_3, 7136, 21420, "4331a05d0dc60349878abfa7f232ea6e", 0xba97},
                   {TURBO_1_4, 7136, 28560, "0fda01c85fc9a295f251374c8740e034", 0x4d18},
                   {TURBO_1_6, 7136, 42840, "c3a13633e139d6924f97f12abc223223", 0x4dd7},
                   {TURBO_1_2, 8920, 17848, "f81af988ef16ebd4bfab047c51a24361", 0xb153},
                   {TURBO_1_3, 8920, 26772, "c179a0cf4de68108879abea7f03aeefc", 0x7cc7},
                   {TURBO_1_4, 8920, 35696, "1edb10c84ec8a284f351264d8751e025", 0x8447},
                   {TURBO_1_6, 8920, 53544, "d3203e132039c6934fb73126ac213603", 0x4aac}};
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
        turbo_init(&code, vectors[v].rate, vectors[v].k);
        ck_assert_uint_eq(code.n, vectors[v].n);
        fill_steps(block, code.k / 8, 3);
        turbo_encode(&code, block, codeword);
        assert_hex(codeword + 64, 16, vectors[v].octets);
        ck_assert_uint_eq(fecf_crc(FECF_INIT, codeword, (code.n + 7) / 8), vectors[v].crc);
    }
}
END_TEST

/* Each bit is read once; the first ones of the shortest block, as the text's formula gives them. */
START_TEST(permutations)
{
    static uint8_t seen[TURBO_BLOCK_MAX];
    static const uint16_t first[] = {3, 170, 299, 466, 595, 762};
    for (int i = 0; i < SIZES; i++) {
        turbo_init(&code, TURBO_1_3, sizes[i]);
        memset(seen, 0, sizeof seen);
        for (uint32_t s = 0; s < code.k; s++) {
            ck_assert_uint_lt(code.permuted[s], code.k);
            ck_assert_uint_eq(seen[code.permuted[s]]++, 0);
        }
        for (size_t s = 0; s < sizeof first / sizeof first[0] && i == 0; s++)
            ck_assert_uint_eq(code.permuted[s], first[s]);
    }
}
END_TEST

START_TEST(undisturbed)
{
    struct rng r;
    rng_init(&r, 6);
    for (int rate = 0; rate < TURBO_RATES; rate++) {
        for (int i = 0; i < SIZES; i++) {
            turbo_init(&code, (enum turbo_rate)rate, sizes[i]);
            fill_block(&r);
            turbo_encode(&code, block, codeword);
            turbo_harden(&code, codeword, symbols);
            struct turbo_result result = turbo_decode(&code, &work, symbols, 1, true, got);
            ck_assert(result.decoded && result.corrected == 0 && result.iterations == 1);
            ck_assert_mem_eq(got, block, code.k / 8);
        }
    }
}
END_TEST

static double draw_normal(struct rng *r)
{
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

/* Binary antipodal symbols with white noise of that Eb/N0. Returns how many are wrong. */
static uint32_t disturb(struct rng *r, double ebn0_db)
{
    double sigma = sqrt((double)code.n / (2.0 * code.k * pow(10, ebn0_db / 10)));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < code.n; i++) {
        bool bit = (codeword[i / 8] >> (7 - i % 8) & 1) != 0;
        double x = round(128 + 24 * ((bit ? 1 : -1) + sigma * draw_normal(r)));
        symbols[i] = (uint8_t)fmin(fmax(x, 0), 255);
        wrong += bit != (symbols[i] >= 128);
    }
    return wrong;
}

/* Not decoded: as received. */
static void assert_received(void)
{
    const unsigned bits = code.n / (code.k + TURBO_TAIL);
    for (uint32_t k = 0; k < code.k; k++)
        ck_assert_int_eq(got[k / 8] >> (7 - k % 8) & 1, symbols[k * bits] >= 128);
}

/* Frames of `frames` that were not decoded; each other one is right, and with the corrections that
 * it had. */
static unsigned count_lost(struct rng *r, double ebn0_db, unsigned frames)
{
    unsigned lost = 0;
    for (unsigned i = 0; i < frames; i++) {
        fill_block(r);
        turbo_encode(&code, block, codeword);
        uint32_t wrong = disturb(r, ebn0_db);
        struct turbo_result result =
            turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, true, got);
        lost += !result.decoded;
        if (result.decoded) {
            ck_assert_mem_eq(got, block, code.k / 8);
            ck_assert_uint_eq(result.corrected, wrong);
            continue;
        }
        ck_assert(result.iterations == TURBO_ITERATIONS && result.corrected == 0);
        assert_received();
    }
    return lost;
}

/*
 * Frame error rates that CCSDS 130.1-G publishes (tables of rates 1/2 and 1/3, by a simulation with
 * ten iterations; public programs quote the values). Max-log-MAP needs up to 0.25 dB more than
 * their decoder: at that much more, no more frames may be lost than chance takes from 1/20 with the
 * published rate below 1/100. Well below the threshold, frames are lost as there.
 */
START_TEST(published_rates)
{
    enum { LOSS_CENTIBEL = 25, FRAMES = 40 };
    static const struct {
        enum turbo_rate rate;
        uint32_t k;
        double good, bad; /* dB: published rates of 0.001 to 0.009, and of 0.5 and more */
    } points[] = {{TURBO_1_2, 1784, 1.2, 0.6},  /* 0.0080, 0.75 */
                  {TURBO_1_3, 1784, 0.6, -0.2}, /* 0.0045, 0.90 */
                  {TURBO_1_3, 3568, 0.4, -0.2}, /* 0.0090 */
                  {TURBO_1_3, 8920, 0.3, 0.0}}; /* 0.0090, 0.83 */
    struct rng r;
    rng_init(&r, 7);
    for (size_t p = 0; p < sizeof points / sizeof points[0]; p++) {
        turbo_init(&code, points[p].rate, points[p].k);
        const double good = points[p].good + LOSS_CENTIBEL / 100.0;
        ck_assert_uint_le(count_lost(&r, good, FRAMES), FRAMES / 20);
        ck_assert_uint_ge(count_lost(&r, points[p].bad, 10), 4);
    }
}
END_TEST

/* Rates 1/4 and 1/6: 1 dB and 0.8 dB above the least Eb/N0 that any code of that rate needs (-0.79
 * and -1.08 dB), and below that. */
START_TEST(low_rates)
{
    static const double bad[TURBO_RATES] = {0, 0, -0.8, -1.1}, good[TURBO_RATES] = {0, 0, 0.5, 0.3};
    struct rng r;
    rng_init(&r, 8);
    for (int rate = TURBO_1_4; rate < TURBO_RATES; rate++) {
        turbo_init(&code, (enum turbo_rate)rate, 8920);
        ck_assert_uint_eq(count_lost(&r, good[rate], 10), 0);
        ck_assert_uint_eq(count_lost(&r, bad[rate], 3), 3);
    }
}
END_TEST

static void flip_hard(struct rng *r, double share)
{
    turbo_encode(&code, block, codeword);
    turbo_harden(&code, codeword, symbols);
    for (uint32_t i = 0; i < code.n; i++)
        symbols[i] = (uint8_t)(rng_chance(r, share) ? 256 - symbols[i] : symbols[i]);
}

/* Hard decisions, a share of them wrong; symbols of which nothing is known. */
START_TEST(hard_and_erased)
{
    static const double wrong[TURBO_RATES] = {0.07, 0.12, 0.15, 0.18}, unknown = 0.35;
    struct rng r;
    rng_init(&r, 9);
    for (int rate = 0; rate < TURBO_RATES; rate++) {
        turbo_init(&code, (enum turbo_rate)rate, 3568);
        fill_block(&r);
        flip_hard(&r, wrong[rate]);
        struct turbo_result result =
            turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, true, got);
        ck_assert_msg(result.decoded && result.corrected > 300, "%d", rate);
        ck_assert_mem_eq(got, block, code.k / 8);
        turbo_harden(&code, codeword, symbols);
        for (uint32_t i = 0; i < code.n; i++)
            symbols[i] = rng_chance(&r, unknown) ? 128 : symbols[i];
        ck_assert(turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, true, got).decoded);
        ck_assert_mem_eq(got, block, code.k / 8);
    }
}
END_TEST

/* Without a check value both component decoders have to agree; with one, it has to be right. */
START_TEST(check_values)
{
    struct rng r;
    rng_init(&r, 10);
    turbo_init(&code, TURBO_1_3, 1784);
    fill_block(&r);
    block[code.k / 8 - 1] ^= 1;
    flip_hard(&r, 0.05);
    struct turbo_result result = turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, true, got);
    ck_assert(!result.decoded && result.iterations == TURBO_ITERATIONS);
    assert_received();
    result = turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, false, got);
    ck_assert(result.decoded && result.iterations < TURBO_ITERATIONS);
    ck_assert_mem_eq(got, block, code.k / 8);
}
END_TEST

/* Symbols that are sure and no codeword: sums of metrics stay in their bounds (assertions and
 * sanitizers), nothing is decoded. */
START_TEST(no_codewords)
{
    struct rng r;
    rng_init(&r, 11);
    for (int rate = 0; rate < TURBO_RATES; rate++) {
        turbo_init(&code, (enum turbo_rate)rate, 1784);
        for (int t = 0; t < 8; t++) {
            for (uint32_t i = 0; i < code.n; i++)
                symbols[i] = rng_chance(&r, 0.5) ? 0 : 255;
            struct turbo_result result =
                turbo_decode(&code, &work, symbols, TURBO_ITERATIONS, t % 2 == 0, got);
            ck_assert(!result.decoded && result.iterations == TURBO_ITERATIONS);
            assert_received();
        }
    }
}
END_TEST

SUITE(frames_turbo, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, problems);
    tcase_add_test(t, other_implementation);
    tcase_add_test(t, permutations);
    tcase_add_test(t, undisturbed);
    tcase_add_test(t, published_rates);
    tcase_add_test(t, low_rates);
    tcase_add_test(t, hard_and_erased);
    tcase_add_test(t, check_values);
    tcase_add_test(t, no_codewords);
}
