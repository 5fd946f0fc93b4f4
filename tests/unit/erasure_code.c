/* SPDX-License-Identifier: Apache-2.0 */
/* The field's laws, both arithmetics against single products, and codewords: any lost symbols, as
 * many as there are rows, are computed again. */
#include <string.h>

#include "base/rng.h"
#include "erasure/code.h"
#include "tests/unit/suite.h"

enum { LEN_MAX = 1100, PATTERNS = 100000 };

static const struct gf_math *maths[] = {&gf_portable, &GF_FASTEST};

static unsigned slow_product(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (; b != 0; b >>= 1, a = a << 1 ^ (a & 0x80 ? 0x11d : 0))
        sum ^= b & 1 ? a : 0;
    return sum;
}

START_TEST(field)
{
    struct gf gf;
    gf_init(&gf);
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            ck_assert_uint_eq(gf_multiply(&gf, (uint8_t)a, (uint8_t)b), slow_product(a, b));
    for (unsigned a = 1; a < 256; a++)
        ck_assert_uint_eq(slow_product(a, gf_inverse(&gf, (uint8_t)a)), 1);
}
END_TEST

static void fill_random(struct rng *r, uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)rng_u64(r);
}

/* Sums by one source at a time, and by all, of every length near the vectors' ends. */
static void check_sums(const struct gf_math *math, size_t len, unsigned rows, unsigned sources)
{
    static uint8_t from[8][LEN_MAX], one[8][LEN_MAX + 1], all[8][LEN_MAX + 1];
    uint8_t coefficients[64], tables[64 * GF_TABLE_BYTES_MAX], *to_one[8], *to_all[8];
    const uint8_t *sources_of[8];
    struct rng r;
    rng_init(&r, len + 1);
    for (unsigned i = 0; i < rows * sources; i++)
        coefficients[i] = (uint8_t)(1 + rng_below(&r, 255));
    for (unsigned s = 0; s < sources; s++) {
        fill_random(&r, from[s], len);
        sources_of[s] = from[s];
    }
    math->prepare(coefficients, rows, sources, tables);
    for (unsigned row = 0; row < rows; row++) {
        memset(one[row], 0, len);
        to_one[row] = one[row];
        to_all[row] = all[row];
        one[row][len] = all[row][len] = 0xa5;
    }
    for (unsigned s = 0; s < sources; s++)
        math->update(tables, rows, sources, s, from[s], to_one, len);
    math->product(tables, rows, sources, sources_of, to_all, len);
    for (unsigned row = 0; row < rows; row++) {
        for (size_t i = 0; i < len; i++) {
            unsigned sum = 0;
            for (unsigned s = 0; s < sources; s++)
                sum ^= slow_product(from[s][i], coefficients[row * sources + s]);
            ck_assert_uint_eq(one[row][i], sum);
            ck_assert_uint_eq(all[row][i], sum);
        }
        ck_assert(one[row][len] == 0xa5 && all[row][len] == 0xa5);
    }
}

START_TEST(sums)
{
    for (size_t m = 0; m < sizeof maths / sizeof *maths; m++) {
        for (size_t len = 1; len < 140; len++)
            check_sums(maths[m], len, 1 + len % 8, 1 + len / 8 % 8);
        for (size_t len = 500; len < 530; len++)
            check_sums(maths[m], len, 3, 5);
        check_sums(maths[m], LEN_MAX, 7, 8);
    }
}
END_TEST

struct trial {
    uint8_t data[CODE_WORD][40], repair[CODE_WORD][40], out[CODE_LOST_MAX][40];
    unsigned segments, rows;
    size_t len;
};

static void encode(const struct gf *gf, struct trial *t)
{
    for (unsigned row = 0; row < t->rows; row++) {
        memset(t->repair[row], 0, t->len);
        for (unsigned s = 0; s < t->segments; s++) {
            uint8_t c = code_coefficient(gf, row, s);
            for (size_t i = 0; i < t->len; i++)
                t->repair[row][i] ^= gf_multiply(gf, c, t->data[s][i]);
        }
    }
}

/* Loses any of all symbols, as many as there are rows, and repairs the others. */
static void lose_and_repair(struct code *code, struct trial *t, struct rng *r)
{
    struct code_word w = {.len = t->len};
    unsigned order[CODE_WORD], all = t->segments + t->rows, rows = 0;
    bool lost[CODE_WORD] = {false};
    for (unsigned i = 0; i < all; i++)
        order[i] = i;
    for (unsigned i = 0; i < t->rows; i++) {
        unsigned j = i + (unsigned)rng_below(r, all - i), at = order[j];
        order[j] = order[i];
        lost[at] = true;
    }
    for (unsigned s = 0; s < t->segments; s++) {
        if (lost[s]) {
            w.out[w.lost] = t->out[w.lost];
            w.lost_at[w.lost++] = (uint8_t)s;
        } else {
            w.data[w.known] = t->data[s];
            w.known_at[w.known++] = (uint8_t)s;
        }
    }
    for (unsigned row = 0; row < t->rows; row++) {
        if (lost[t->segments + row])
            continue;
        w.repair[rows] = t->repair[row];
        w.rows[rows++] = (uint8_t)row;
    }
    rows = rows < w.lost ? rows : w.lost;
    ck_assert_uint_eq(rows, w.lost);
    if (w.lost == 0)
        return;
    code_repair(code, &w);
    for (unsigned i = 0; i < w.lost; i++)
        ck_assert_mem_eq(w.out[i], t->data[w.lost_at[i]], t->len);
}

static void run_patterns(const struct gf_math *math, unsigned patterns, unsigned symbols_max)
{
    static struct trial t;
    struct code *code;
    struct rng r;
    struct gf gf;
    gf_init(&gf);
    rng_init(&r, 28);
    ck_assert_int_eq(code_new(&code, math, sizeof t.data[0]), 0);
    for (unsigned n = 0; n < patterns; n++) {
        if (n % 100 == 0) {
            unsigned all = 2 + (unsigned)rng_below(&r, symbols_max - 1);
            t.rows = 1 + (unsigned)rng_below(&r, all - 1);
            t.segments = all - t.rows;
            t.len = 1 + rng_below(&r, sizeof t.data[0]);
            for (unsigned s = 0; s < t.segments; s++)
                fill_random(&r, t.data[s], t.len);
            encode(&gf, &t);
        }
        lose_and_repair(code, &t, &r);
    }
    code_free(code);
}

START_TEST(any_pattern)
{
    run_patterns(maths[_i], PATTERNS, 40);
    run_patterns(maths[_i], PATTERNS / 50, CODE_WORD);
}
END_TEST

SUITE(erasure_code, t)
{
    tcase_add_test(t, field);
    tcase_add_test(t, sums);
    tcase_add_loop_test(t, any_pattern, 0, sizeof maths / sizeof *maths);
}
