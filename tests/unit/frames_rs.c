/* SPDX-License-Identifier: Apache-2.0 */
/* Reed-Solomon: the book's coefficients and basis, check symbols by plain division, every number of
 * errors at every depth with fill, and words beyond the code's capacity. */
#include "base/rng.h"
#include "frames/rs.h"
#include "frames_help.h"
#include "tests/unit/suite.h"

/* Powers of the root of x^8 + x^7 + x^2 + x + 1. */
static uint8_t alpha(unsigned n)
{
    unsigned x = 1;
    for (n %= 255; n > 0; n--)
        x = x << 1 ^ (x & 0x80 ? 0x187 : 0);
    return (uint8_t)x;
}

static uint8_t multiply(uint8_t a, uint8_t b)
{
    unsigned sum = 0, x = a;
    for (; b != 0; b >>= 1, x = x << 1 ^ (x & 0x80 ? 0x187 : 0))
        sum ^= b & 1 ? x : 0;
    return (uint8_t)sum;
}

/* The generators' coefficients as logarithms, of x^0 up to the middle (131.0-B annex G); they are
 * symmetrical. */
static const uint8_t logs_223[] = {0,  249, 59,  66, 4,  43,  126, 251, 97,
                                   30, 3,   213, 50, 66, 170, 5,   24};
static const uint8_t logs_239[] = {0, 30, 230, 49, 235, 129, 81, 76, 173};

START_TEST(published_coefficients)
{
    static struct rs rs;
    for (int code = RS_255_223; code <= RS_255_239; code++) {
        const uint8_t *logs = code == RS_255_223 ? logs_223 : logs_239;
        uint8_t one = 1, checks[RS_CHECKS_MAX];
        rs_init(&rs, (enum rs_code)code, RS_CONVENTIONAL);
        rs_encode(&rs, &one, 1, 1, checks); /* the rest of x^2E is the generator without it */
        for (unsigned i = 0; i < rs.checks; i++) {
            unsigned power = rs.checks - 1 - i;
            ck_assert_uint_eq(checks[i],
                              alpha(logs[power <= rs.checks / 2 ? power : rs.checks - power]));
        }
    }
}
END_TEST

/* The dual basis: bit z_i of an octet is the trace of the element times the i-th power of the
 * basis' element, a^117 (131.0-B 4.3.9). */
static unsigned trace(uint8_t x)
{
    unsigned sum = 0;
    for (int i = 0; i < 8; i++, x = multiply(x, x))
        sum ^= x;
    ck_assert_uint_le(sum, 1);
    return sum;
}

START_TEST(dual_basis)
{
    static struct rs rs;
    rs_init(&rs, RS_255_223, RS_DUAL);
    for (unsigned element = 0; element < 256; element++) {
        unsigned octet = 0;
        for (unsigned i = 0; i < 8; i++)
            octet |= trace(multiply((uint8_t)element, alpha(117 * i))) << (7 - i);
        ck_assert_uint_eq(rs.from_field[element], octet);
        ck_assert_uint_eq(rs.to_field[octet], element);
    }
    ck_assert_uint_eq(rs.from_field[alpha(0)], 0x7b); /* of the book's table */
    ck_assert_uint_eq(rs.from_field[alpha(1)], 0xaf);
    ck_assert_uint_eq(rs.from_field[alpha(31)], rs.from_field[0xcd]);
}
END_TEST

/* Is it a codeword: zero at each root? */
static bool has_roots(const struct rs *rs, const uint8_t *block, size_t n, unsigned depth)
{
    for (unsigned w = 0; w < depth; w++) {
        for (unsigned j = 128 - rs->checks / 2; j < 128 + rs->checks / 2; j++) {
            uint8_t root = alpha(11 * j), sum = 0;
            for (size_t i = w; i < n; i += depth)
                sum = multiply(sum, root) ^ rs->to_field[block[i]];
            if (sum != 0)
                return false;
        }
    }
    return true;
}

/* A random frame's codeblock; returns its octets, the frame's in *frame_len. */
static size_t make_block(const struct rs *rs, struct rng *r, unsigned depth, uint8_t *block,
                         size_t *frame_len)
{
    unsigned most = RS_WORD - rs->checks;
    unsigned each = rng_chance(r, 0.3) ? most : 1 + (unsigned)rng_below(r, most);
    *frame_len = (size_t)each * depth;
    for (size_t i = 0; i < *frame_len; i++)
        block[i] = (uint8_t)rng_u64(r);
    rs_encode(rs, block, *frame_len, depth, block + *frame_len);
    return *frame_len + rs_checks_len(rs, depth);
}

/* That many errors in codeword w. */
static void spoil_word(struct rng *r, uint8_t *block, size_t n, unsigned depth, unsigned w,
                       unsigned errors)
{
    bool hit[RS_WORD] = {false};
    for (unsigned k = 0; k < errors;) {
        size_t at = rng_below(r, n / depth);
        if (hit[at])
            continue;
        hit[at] = true;
        block[at * depth + w] ^= (uint8_t)(1 + rng_below(r, 255));
        k++;
    }
}

START_TEST(corrects_to_capacity)
{
    static struct rs rs;
    struct rng r;
    rng_init(&r, 1);
    for (unsigned k = 0; k < 4; k++) {
        rs_init(&rs, k & 1 ? RS_255_223 : RS_255_239, k & 2 ? RS_DUAL : RS_CONVENTIONAL);
        for (unsigned depth = 1; depth <= RS_DEPTH_MAX; depth++) {
            for (unsigned errors = 0; errors <= rs.checks / 2; errors++) {
                uint8_t block[RS_BLOCK_MAX], want[RS_BLOCK_MAX];
                size_t frame_len, n = make_block(&rs, &r, depth, block, &frame_len);
                struct rs_result result;
                unsigned sum = 0, worst = 0;
                ck_assert(errors > 0 || has_roots(&rs, block, n, depth));
                memcpy(want, block, n);
                for (unsigned w = 0; w < depth; w++) {
                    unsigned some = w == 0 ? errors : (unsigned)rng_below(&r, errors + 1);
                    spoil_word(&r, block, n, depth, w, some);
                    sum += some;
                    worst = some > worst ? some : worst;
                }
                ck_assert(rs_decode(&rs, block, frame_len, depth, &result));
                ck_assert_mem_eq(block, want, n);
                ck_assert_uint_eq(result.corrected, sum);
                ck_assert_uint_eq(result.worst, worst);
                ck_assert_uint_eq(result.failed, 0);
            }
        }
    }
}
END_TEST

/* More errors than the code corrects: the word is left as it is, the others are corrected; or it is
 * another codeword, which is rare. */
START_TEST(beyond_capacity)
{
    static struct rs rs;
    struct rng r;
    unsigned failed = 0, tried = 0;
    rng_init(&r, 2);
    for (unsigned k = 0; k < 400; k++) {
        rs_init(&rs, k & 1 ? RS_255_223 : RS_255_239, RS_DUAL);
        uint8_t block[RS_BLOCK_MAX], spoiled[RS_BLOCK_MAX];
        size_t frame_len, n = make_block(&rs, &r, 5, block, &frame_len);
        struct rs_result result;
        unsigned half = rs.checks / 2;
        if (n / 5 < half + 9)
            continue;
        spoil_word(&r, block, n, 5, 3, half + 1 + (unsigned)rng_below(&r, 8));
        memcpy(spoiled, block, n);
        spoil_word(&r, block, n, 5, 1, half);
        bool good = rs_decode(&rs, block, frame_len, 5, &result);
        tried++;
        failed += !good;
        ck_assert_uint_eq(result.failed, !good);
        if (!good) {
            ck_assert_uint_eq(result.corrected, half);
            ck_assert_mem_eq(block, spoiled, n);
        } else {
            ck_assert(has_roots(&rs, block, n, 5));
        }
    }
    ck_assert_uint_gt(tried, 200);
    ck_assert_uint_ge(failed + 2, tried);
}
END_TEST

START_TEST(problems)
{
    static struct rs rs;
    rs_init(&rs, RS_255_223, RS_DUAL);
    ck_assert_ptr_null(rs_problem(&rs, 1115, 5));
    ck_assert_ptr_null(rs_problem(&rs, 5, 5));
    ck_assert_ptr_nonnull(rs_problem(&rs, 1116, 5));
    ck_assert_ptr_nonnull(rs_problem(&rs, 1120, 5));
    ck_assert_ptr_nonnull(rs_problem(&rs, 0, 1));
    ck_assert_ptr_nonnull(rs_problem(&rs, 9, 9));
    ck_assert_ptr_nonnull(rs_problem(&rs, 9, 0));
    ck_assert_uint_eq(rs_checks_len(&rs, 5), 160);
    rs_init(&rs, RS_255_239, RS_DUAL);
    ck_assert_uint_eq(rs_code_checks(RS_255_239), rs.checks);
    ck_assert_ptr_null(rs_problem(&rs, 1912, 8));
    ck_assert_ptr_null(rs_code_problem(RS_255_239, 1912, 8));
    ck_assert_ptr_nonnull(rs_code_problem(RS_255_223, 1912, 8));
    ck_assert_ptr_nonnull(rs_problem(&rs, 1920, 8));
    ck_assert_uint_eq(rs_checks_len(&rs, 8), 128);
}
END_TEST

SUITE(frames_rs, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, published_coefficients);
    tcase_add_test(t, dual_basis);
    tcase_add_test(t, corrects_to_capacity);
    tcase_add_test(t, beyond_capacity);
    tcase_add_test(t, problems);
}
