/* SPDX-License-Identifier: Apache-2.0 */
/* LDPC codes AR4JA: codewords that labrador-ldpc 1.2.1 (Rust) has written, with the generators that
 * it prints; the parity-check matrix and codewords by elimination; decoding up to the code's
 * strength and far beyond. */
#include "frames/ldpc.h"

#include <math.h>

#include "base/rng.h"
#include "frames/fecf.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

enum { RATES = LDPC_4_5 + 1 };

static struct ldpc code;
static struct ldpc_work work;
static uint8_t block[LDPC_BLOCK_MAX / 8], codeword[LDPC_CODEWORD_MAX / 8];
static uint8_t symbols[LDPC_CODEWORD_MAX], got[LDPC_BLOCK_MAX / 8];

static const uint32_t sizes[] = {1024, 4096, 16384};

static void fill_block(struct rng *r)
{
    for (size_t i = 0; i < code.k / 8; i++)
        block[i] = (uint8_t)rng_u64(r);
}

START_TEST(problems)
{
    ck_assert_ptr_nonnull(ldpc_problem(LDPC_1_2, 1023));
    ck_assert_ptr_nonnull(ldpc_problem(LDPC_1_2, 2048));
    ck_assert_ptr_nonnull(ldpc_problem(LDPC_RATES, 1024));
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(ldpc_problem(LDPC_4_5, sizes[i]));
}
END_TEST

/* The first octets of the parity, and the CRC of all of it. */
START_TEST(other_implementation)
{
    static const struct {
        uint32_t k, n;
        enum ldpc_rate rate;
        const char *parity;
        uint16_t crc;
    } vectors[] = {{1024, 2048, LDPC_1_2, "7056e2c02a2d51eef04da4b2c726680f", 0x2cb0},
                   {1024, 1536, LDPC_2_3, "7814536055973000fc24ce3e7a47df5e", 0x7430},
                   {1024, 1280, LDPC_4_5, "65ec18abb135ca41eb0795e2410f0e78", 0x102e},
                   {4096, 8192, LDPC_1_2, "73df67d8ae64c6a63b84cf8494c41dd7", 0x19e9},
                   {4096, 6144, LDPC_2_3, "2b59c3496eb84cb10318049eb1e7661e", 0x671c},
                   {4096, 5120, LDPC_4_5, "a43bd4ffd994f23c080a9d3007d9ac53", 0x35a3}};
    for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
        ldpc_init(&code, vectors[v].rate, vectors[v].k);
        ck_assert_uint_eq(code.n, vectors[v].n);
        fill_steps(block, code.k / 8, 3);
        ldpc_encode(&code, block, codeword);
        ck_assert_mem_eq(codeword, block, code.k / 8);
        assert_hex(codeword + code.k / 8, 16, vectors[v].parity);
        ck_assert_uint_eq(fecf_crc(FECF_INIT, codeword + code.k / 8, (code.n - code.k) / 8),
                          vectors[v].crc);
    }
}
END_TEST

/* Ones of a row: 3 or 6, and 4 more in two block rows for each further pair of block columns. No
 * two of them coincide. Returns pairs of rows that share two columns: where there are none, the
 * girth is 6 at least. */
static unsigned check_matrix(enum ldpc_rate rate, uint32_t k)
{
    unsigned cycles = 0;
    static uint32_t rows_of[LDPC_COLUMNS_MAX][8];
    static uint8_t degree[LDPC_COLUMNS_MAX];
    static uint32_t seen[3 * 8192];
    uint32_t columns[LDPC_ROW_MAX];
    unsigned wide = rate == LDPC_1_2 ? 6 : rate == LDPC_2_3 ? 10 : 18;
    ldpc_init(&code, rate, k);
    memset(degree, 0, sizeof degree);
    memset(seen, 0, sizeof seen);
    for (uint32_t row = 0; row < 3 * code.m; row++) {
        unsigned n = ldpc_row(&code, row, columns);
        ck_assert_uint_eq(n, row < code.m ? 3 : wide);
        for (unsigned i = 0; i < n; i++) {
            ck_assert_uint_lt(columns[i], code.n + code.m);
            for (unsigned j = 0; j < degree[columns[i]]; j++) {
                uint32_t other = rows_of[columns[i]][j];
                ck_assert_uint_ne(other, row);
                cycles += seen[other] == row + 1;
                seen[other] = row + 1;
            }
        }
        for (unsigned i = 0; i < n; i++) {
            ck_assert_uint_lt(degree[columns[i]], 6);
            rows_of[columns[i]][degree[columns[i]]++] = row;
        }
    }
    for (uint32_t c = 0; c < code.m; c++) { /* of the last five block columns */
        ck_assert_uint_eq(degree[code.n - 4 * code.m + c], 2);
        ck_assert_uint_eq(degree[code.n - 3 * code.m + c], 3);
        ck_assert_uint_eq(degree[code.n - 2 * code.m + c], 1);
        ck_assert_uint_eq(degree[code.n - code.m + c], 3);
        ck_assert_uint_eq(degree[code.n + c], 6);
    }
    return cycles;
}

START_TEST(matrices)
{
    /* The codes are like that: shorter ones of higher rates have some. */
    static const unsigned cycles[RATES][3] = {{0, 0, 0}, {128, 0, 0}, {320, 128, 512}};
    for (int rate = 0; rate < RATES; rate++)
        for (int i = 0; i < 3; i++)
            ck_assert_uint_eq(check_matrix((enum ldpc_rate)rate, sizes[i]), cycles[rate][i]);
}
END_TEST

enum { CHECKS = 3 * 512, ROW_WORDS = CHECKS / 64 + 1 };

static void toggle(uint64_t *row, uint32_t bit)
{
    row[bit / 64] ^= UINT64_C(1) << bit % 64;
}

static bool has(const uint64_t *row, uint32_t bit)
{
    return (row[bit / 64] >> bit % 64 & 1) != 0;
}

/* The checks as equations for all 3 M parity bits; the last column is what they have to sum to. */
static void fill_equations(uint64_t (*a)[ROW_WORDS])
{
    uint32_t columns[LDPC_ROW_MAX], checks = 3 * code.m;
    memset(a, 0, CHECKS * sizeof *a);
    for (uint32_t row = 0; row < checks; row++) {
        unsigned n = ldpc_row(&code, row, columns);
        for (unsigned i = 0; i < n; i++) {
            uint32_t c = columns[i];
            if (c >= code.k)
                toggle(a[row], c - code.k);
            else if ((block[c / 8] >> (7 - c % 8) & 1) != 0)
                toggle(a[row], checks);
        }
    }
}

/* Every bit of the parity is determined: the matrix has full rank. */
static void eliminate(uint64_t (*a)[ROW_WORDS], uint32_t checks)
{
    for (uint32_t c = 0; c < checks; c++) {
        uint32_t pivot = c;
        while (pivot < checks && !has(a[pivot], c))
            pivot++;
        ck_assert_uint_lt(pivot, checks);
        for (uint32_t w = 0; w < ROW_WORDS && pivot != c; w++)
            a[c][w] ^= a[pivot][w];
        for (uint32_t row = 0; row < checks; row++)
            for (uint32_t w = 0; row != c && w < ROW_WORDS && has(a[row], c);)
                for (; w < ROW_WORDS; w++)
                    a[row][w] ^= a[c][w];
    }
}

START_TEST(elimination)
{
    static uint64_t a[CHECKS][ROW_WORDS];
    struct rng r;
    rng_init(&r, 5);
    for (int rate = 0; rate < RATES; rate++) {
        ldpc_init(&code, (enum ldpc_rate)rate, 1024);
        fill_block(&r);
        ldpc_encode(&code, block, codeword);
        fill_equations(a);
        eliminate(a, 3 * code.m);
        for (uint32_t i = 0; i < code.n - code.k; i++) {
            uint32_t bit = code.k + i;
            ck_assert_int_eq(has(a[i], 3 * code.m), codeword[bit / 8] >> (7 - bit % 8) & 1);
        }
    }
}
END_TEST

/* All checks of an undisturbed codeword hold after the punctured bits are found; so for the longest
 * blocks, too. */
START_TEST(undisturbed)
{
    struct rng r;
    rng_init(&r, 6);
    for (int rate = 0; rate < RATES; rate++) {
        for (int i = 0; i < 3; i++) {
            ldpc_init(&code, (enum ldpc_rate)rate, sizes[i]);
            fill_block(&r);
            ldpc_encode(&code, block, codeword);
            ldpc_harden(&code, codeword, symbols);
            struct ldpc_result result = ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got);
            ck_assert(result.decoded && result.corrected == 0 && result.iterations <= 3);
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
        double x = round(128 + 32 * ((bit ? 1 : -1) + sigma * draw_normal(r)));
        symbols[i] = (uint8_t)fmin(fmax(x, 0), 255);
        wrong += bit != (symbols[i] >= 128);
    }
    return wrong;
}

/* Frames of 20 that were decoded; each of them right, and with the corrections that it had. */
static unsigned count_decoded(struct rng *r, double ebn0_db)
{
    unsigned decoded = 0;
    for (int i = 0; i < 20; i++) {
        fill_block(r);
        ldpc_encode(&code, block, codeword);
        uint32_t wrong = disturb(r, ebn0_db);
        struct ldpc_result result = ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got);
        decoded += result.decoded;
        if (result.decoded) {
            ck_assert_mem_eq(got, block, code.k / 8);
            ck_assert_uint_eq(result.corrected, wrong);
            continue;
        }
        ck_assert(result.iterations == LDPC_ITERATIONS && result.corrected == 0);
        for (uint32_t k = 0; k < code.k; k++)
            ck_assert_int_eq(got[k / 8] >> (7 - k % 8) & 1, symbols[k] >= 128);
    }
    return decoded;
}

/* Octets that are no codeword take ten rounds of the longest blocks, not fifty; codewords with as
 * many wrong bits as can be corrected take more than that. */
START_TEST(no_codewords)
{
    static const double wrong[RATES] = {0.084, 0.043, 0.018};
    struct rng r;
    uint32_t longest = 0;
    rng_init(&r, 9);
    for (int rate = 0; rate < RATES; rate++) {
        ldpc_init(&code, (enum ldpc_rate)rate, 16384);
        for (int t = 0; t < 6; t++) {
            for (uint32_t k = 0; k < code.n; k++)
                symbols[k] = rng_chance(&r, 0.5) ? 64 : 192;
            struct ldpc_result result = ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got);
            ck_assert(!result.decoded && result.iterations == LDPC_LOOK);
        }
        for (int t = 0; t < 6; t++) {
            fill_block(&r);
            ldpc_encode(&code, block, codeword);
            ldpc_harden(&code, codeword, symbols);
            for (uint32_t k = 0; k < code.n; k++)
                if (rng_chance(&r, wrong[rate]))
                    symbols[k] = (uint8_t)(256 - symbols[k]);
            struct ldpc_result result = ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got);
            ck_assert_msg(result.decoded, "%d %u", rate, result.iterations);
            longest = result.iterations > longest ? result.iterations : longest;
        }
    }
    ck_assert_uint_gt(longest, LDPC_LOOK);
}
END_TEST

/* Well below and well above the decoder's own threshold at blocks of 1024 bits: it fails, and it
 * succeeds. A comparison with published curves it is not. */
START_TEST(noise)
{
    static const double bad[RATES] = {0, 0.8, 1.7}, good[RATES] = {2.4, 3.1, 4.1};
    struct rng r;
    rng_init(&r, 7);
    for (int rate = 0; rate < RATES; rate++) {
        ldpc_init(&code, (enum ldpc_rate)rate, 1024);
        ck_assert_uint_eq(count_decoded(&r, good[rate]), 20);
        ck_assert_uint_le(count_decoded(&r, bad[rate]), 2);
    }
}
END_TEST

/* Hard decisions, a share of them wrong; symbols of which nothing is known. */
START_TEST(hard_and_erased)
{
    struct rng r;
    rng_init(&r, 8);
    ldpc_init(&code, LDPC_1_2, 4096);
    fill_block(&r);
    ldpc_encode(&code, block, codeword);
    ldpc_harden(&code, codeword, symbols);
    for (uint32_t i = 0; i < code.n; i++)
        symbols[i] = (uint8_t)(rng_chance(&r, 0.05) ? 256 - symbols[i] : symbols[i]);
    struct ldpc_result result = ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got);
    ck_assert(result.decoded && result.corrected > 300);
    ck_assert_mem_eq(got, block, code.k / 8);
    ldpc_harden(&code, codeword, symbols);
    for (uint32_t i = 0; i < code.n; i++)
        symbols[i] = rng_chance(&r, 0.35) ? 128 : symbols[i];
    ck_assert(ldpc_decode(&code, &work, symbols, LDPC_ITERATIONS, got).decoded);
    ck_assert_mem_eq(got, block, code.k / 8);
    memset(symbols, 255, sizeof symbols); /* no codeword, and surely so */
    result = ldpc_decode(&code, &work, symbols, 3, got);
    ck_assert(!result.decoded && result.iterations == 3);
}
END_TEST

SUITE(frames_ldpc, t)
{
    tcase_set_timeout(t, 300);
    tcase_add_test(t, problems);
    tcase_add_test(t, other_implementation);
    tcase_add_test(t, matrices);
    tcase_add_test(t, elimination);
    tcase_add_test(t, undisturbed);
    tcase_add_test(t, noise);
    tcase_add_test(t, hard_and_erased);
    tcase_add_test(t, no_codewords);
}
