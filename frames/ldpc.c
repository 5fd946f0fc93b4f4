/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes AR4JA, and decoding of all codes; ldpc_c2.c has the encoder of C2.
 *
 * A parity-check matrix of AR4JA has three block rows. Each of its submatrices is a sum of
 * permutations, and a permutation is four circulants of N = M / 4 bits: row r of row block j has
 * its one in column (r + phi) mod N of column block (theta + j) mod 4. So all of the matrix is
 * circulants, polynomials modulo x^N - 1, and a column vector's block of bits v is v(x).
 *
 * Encoding solves the checks for the parity. With the block rows' sums of the information s1, s2,
 * and the parity's blocks p2, p3 and p4, of which p4 is punctured:
 *
 *     p2 = (I + Pi1) p4       p3 = s1 + A p4       (I + B A) p4 = s2 + B s1
 *
 * where A = Pi2 + Pi3 + Pi4 and B = Pi7 + Pi8. I + B A is inverted once, as a matrix of four by
 * four polynomials. As N is a power of two, a polynomial of odd weight is a unit: f^N = f(x^N) = 1,
 * so its inverse is the product of f, f^2, f^4 to f^(N/2), whose powers only move coefficients.
 *
 * Decoding is min-sum, check by check: each uses what those before it have found. What can go
 * wrong: too many errors, and then the checks do not all hold in the end.
 */
#include "frames/ldpc.h"

#include <assert.h>
#include <string.h>

#include "frames/ldpc_c2.h"
#include "frames/ldpc_tables.h"

enum { WORD = 32, WORDS_MAX = LDPC_CIRCULANT_MAX / WORD, BITS_LIMIT = 8191, MESSAGE_LIMIT = 1023 };
enum { EXTRA_MAX = 6, COMMON = 5, IDENTITY = 0 }; /* block columns; the permutation of none */
static_assert(LDPC_COLUMNS_MAX == 5 * 8192 && LDPC_EDGES_MAX == 15 * 8192, "rate 1/2, k 16384");

/* A submatrix's term. Block columns are counted from those that all rates have; rate 2/3 has two
 * before them, and rate 4/5 four more. */
struct term {
    uint8_t row;
    int8_t column;
    uint8_t permutation; /* 1 to 26, or IDENTITY */
};

static const struct term terms[] = {
    {0, 2, IDENTITY},  {0, 4, IDENTITY},  {0, 4, 1},        {1, -6, 21},      {1, -6, 22},
    {1, -6, 23},       {1, -5, IDENTITY}, {1, -4, 15},      {1, -4, 16},      {1, -4, 17},
    {1, -3, IDENTITY}, {1, -2, 9},        {1, -2, 10},      {1, -2, 11},      {1, -1, IDENTITY},
    {1, 0, IDENTITY},  {1, 1, IDENTITY},  {1, 3, IDENTITY}, {1, 4, 2},        {1, 4, 3},
    {1, 4, 4},         {2, -6, IDENTITY}, {2, -5, 24},      {2, -5, 25},      {2, -5, 26},
    {2, -4, IDENTITY}, {2, -3, 18},       {2, -3, 19},      {2, -3, 20},      {2, -2, IDENTITY},
    {2, -1, 12},       {2, -1, 13},       {2, -1, 14},      {2, 0, IDENTITY}, {2, 1, 5},
    {2, 1, 6},         {2, 3, 7},         {2, 3, 8},        {2, 4, IDENTITY}};
enum { TERMS = sizeof terms / sizeof terms[0] };

static int extra_columns(const struct ldpc *l)
{
    return l->rate == LDPC_1_2 ? 0 : l->rate == LDPC_2_3 ? 2 : EXTRA_MAX;
}

static unsigned size_index(const struct ldpc *l)
{
    unsigned i = 0;
    while (128U << i < l->m)
        i++;
    return i;
}

/* Where a permutation's row block j has its ones: the column block and the shift. */
static unsigned find_circulant(const struct ldpc *l, unsigned permutation, unsigned j,
                               unsigned *shift)
{
    if (permutation == IDENTITY) {
        *shift = 0;
        return j;
    }
    *shift = ldpc_phi[size_index(l)][permutation - 1][j];
    return (ldpc_theta[permutation - 1] + j) % 4;
}

/* ---- polynomials modulo x^N - 1, of N / 32 words ---- */

/* out += a x^-shift: what a circulant that begins in column `shift` makes of a vector. */
static void add_turned(uint32_t *out, const uint32_t *a, unsigned shift, unsigned words)
{
    unsigned at = shift / WORD, bit = shift % WORD;
    for (unsigned i = 0; i < words; i++) {
        uint32_t low = a[(i + at) % words], high = a[(i + at + 1) % words];
        out[i] ^= bit == 0 ? low : low >> bit | high << (WORD - bit);
    }
}

static bool get_bit(const uint32_t *a, unsigned i)
{
    return (a[i / WORD] >> i % WORD & 1) != 0;
}

/* out += a b */
static void add_product(uint32_t *out, const uint32_t *a, const uint32_t *b, unsigned words)
{
    unsigned n = words * WORD;
    for (unsigned i = 0; i < n; i++)
        if (get_bit(b, i))
            add_turned(out, a, (n - i) % n, words);
}

static bool is_unit(const uint32_t *a, unsigned words)
{
    uint32_t sum = 0;
    for (unsigned i = 0; i < words; i++)
        sum ^= a[i];
    for (unsigned s = 16; s > 0; s /= 2)
        sum ^= sum >> s;
    return (sum & 1) != 0;
}

/* The product of a, a^2, a^4 up to a^(N/2). */
static void invert_unit(const uint32_t *a, uint32_t *out, unsigned words)
{
    uint32_t power[WORDS_MAX], square[WORDS_MAX], product[WORDS_MAX];
    unsigned n = words * WORD;
    assert(is_unit(a, words));
    memcpy(power, a, words * sizeof *a);
    memcpy(out, a, words * sizeof *a);
    for (unsigned exponent = 2; exponent < n; exponent *= 2) {
        memset(square, 0, sizeof square);
        for (unsigned i = 0; i < n; i++)
            if (get_bit(power, i))
                square[2 * i % n / WORD] ^= UINT32_C(1) << 2 * i % n % WORD;
        memcpy(power, square, words * sizeof *a);
        memset(product, 0, sizeof product);
        add_product(product, out, power, words);
        memcpy(out, product, words * sizeof *a);
    }
}

typedef uint32_t matrix[4][4][WORDS_MAX];

static void multiply_row(uint32_t (*row)[WORDS_MAX], const uint32_t *factor, unsigned words)
{
    uint32_t product[WORDS_MAX];
    for (unsigned c = 0; c < 4; c++) {
        memset(product, 0, sizeof product);
        add_product(product, row[c], factor, words);
        memcpy(row[c], product, sizeof product);
    }
}

static void swap_rows(uint32_t (*a)[WORDS_MAX], uint32_t (*b)[WORDS_MAX])
{
    uint32_t kept[4][WORDS_MAX];
    memcpy(kept, a, sizeof kept);
    memcpy(a, b, sizeof kept);
    memcpy(b, kept, sizeof kept);
}

/* Takes `column` out of row `to`: adds row `from` times what is there. */
static void clear_entry(matrix a, matrix inverse, unsigned to, unsigned from, unsigned column,
                        unsigned words)
{
    uint32_t factor[WORDS_MAX];
    memcpy(factor, a[to][column], sizeof factor);
    for (unsigned c = 0; c < 4; c++) {
        add_product(a[to][c], a[from][c], factor, words);
        add_product(inverse[to][c], inverse[from][c], factor, words);
    }
}

/* Gauss and Jordan, with units for pivots: there is one in each column of an invertible matrix,
 * because the polynomials of even weight are a maximal ideal, and the only one. */
static void invert_matrix(matrix a, matrix inverse, unsigned words)
{
    uint32_t pivot[WORDS_MAX] = {0};
    memset(inverse, 0, sizeof(matrix));
    for (unsigned i = 0; i < 4; i++)
        inverse[i][i][0] = 1;
    for (unsigned i = 0; i < 4; i++) {
        unsigned row = i;
        while (!is_unit(a[row][i], words)) {
            row++;
            assert(row < 4);
        }
        if (row != i) {
            swap_rows(a[i], a[row]);
            swap_rows(inverse[i], inverse[row]);
        }
        invert_unit(a[i][i], pivot, words);
        multiply_row(a[i], pivot, words);
        multiply_row(inverse[i], pivot, words);
        for (unsigned other = 0; other < 4; other++)
            if (other != i)
                clear_entry(a, inverse, other, i, i, words);
    }
}

/* ---- the code ---- */

const char *ldpc_problem(enum ldpc_rate rate, uint32_t k)
{
    if ((unsigned)rate >= LDPC_RATES)
        return "the rate is 1/2, 2/3, 4/5 or 7/8";
    if (rate == LDPC_7_8)
        return k == LDPC_C2_BLOCK ? NULL : "a block has 7136 bits: 892 octets";
    return k == 1024 || k == 4096 || k == 16384 ? NULL
                                                : "a block has 1024, 4096 or 16384 bits: 128, 512 "
                                                  "or 2048 octets";
}

/* M: bits of a submatrix. */
static uint32_t submatrix_bits(enum ldpc_rate rate, uint32_t k)
{
    if (rate == LDPC_7_8)
        return LDPC_C2_CIRCULANT;
    return rate == LDPC_1_2 ? k / 2 : rate == LDPC_2_3 ? k / 4 : k / 8;
}

uint32_t ldpc_codeword_bits(enum ldpc_rate rate, uint32_t k)
{
    assert(ldpc_problem(rate, k) == NULL);
    return k + 2 * submatrix_bits(rate, k) + (rate == LDPC_7_8 ? LDPC_C2_END : 0);
}

static bool is_c2(const struct ldpc *l)
{
    return l->rate == LDPC_7_8;
}

/* sum += H v of a block column, for block row `row`; v and sum are M bits. */
static void add_terms(const struct ldpc *l, unsigned row, int column, const uint32_t *v,
                      uint32_t *sum)
{
    unsigned words = l->m / 4 / WORD, shift;
    for (unsigned t = 0; t < TERMS; t++) {
        if (terms[t].row != row || terms[t].column != column)
            continue;
        for (unsigned j = 0; j < 4; j++) {
            unsigned from = find_circulant(l, terms[t].permutation, j, &shift);
            add_turned(sum + j * words, v + from * words, shift, words);
        }
    }
}

/* out = v + B A v, which the punctured parity satisfies. */
static void apply_checks(const struct ldpc *l, const uint32_t *v, uint32_t *out)
{
    uint32_t turned[4 * WORDS_MAX] = {0};
    memcpy(out, v, l->m / 8);
    add_terms(l, 1, 4, v, turned);
    add_terms(l, 2, 3, turned, out);
}

void ldpc_init(struct ldpc *l, enum ldpc_rate rate, uint32_t k)
{
    matrix a;
    uint32_t unit[4 * WORDS_MAX], image[4 * WORDS_MAX];
    assert(ldpc_problem(rate, k) == NULL);
    *l = (struct ldpc){.rate = rate, .k = k};
    l->m = submatrix_bits(rate, k);
    l->n = ldpc_codeword_bits(rate, k);
    if (is_c2(l)) {
        ldpc_c2_init(l);
        return;
    }
    unsigned words = l->m / 4 / WORD;
    memset(a, 0, sizeof a);
    for (unsigned column = 0; column < 4; column++) {
        memset(unit, 0, sizeof unit);
        unit[column * words] = 1;
        apply_checks(l, unit, image);
        for (unsigned row = 0; row < 4; row++)
            memcpy(a[row][column], image + row * words, words * sizeof *image);
    }
    invert_matrix(a, l->inverse, words);
}

/* Octets, the first bit of each the highest, and words, the lowest bit first. */
static void load_bits(const uint8_t *octets, uint32_t bits, uint32_t *words)
{
    memset(words, 0, bits / 8);
    for (uint32_t i = 0; i < bits; i++)
        words[i / WORD] |= (uint32_t)(octets[i / 8] >> (7 - i % 8) & 1) << i % WORD;
}

static void store_bits(const uint32_t *words, uint32_t bits, uint8_t *octets)
{
    memset(octets, 0, bits / 8);
    for (uint32_t i = 0; i < bits; i++)
        octets[i / 8] |= (uint8_t)((words[i / WORD] >> i % WORD & 1) << (7 - i % 8));
}

static void solve_punctured(const struct ldpc *l, const uint32_t *sum, uint32_t *p)
{
    unsigned words = l->m / 4 / WORD;
    memset(p, 0, l->m / 8);
    for (unsigned row = 0; row < 4; row++)
        for (unsigned c = 0; c < 4; c++)
            add_product(p + row * words, l->inverse[row][c], sum + c * words, words);
}

void ldpc_encode(const struct ldpc *l, const uint8_t *block, uint8_t *codeword)
{
    uint32_t v[4 * WORDS_MAX], first[4 * WORDS_MAX] = {0}, second[4 * WORDS_MAX] = {0};
    uint32_t hidden[4 * WORDS_MAX], parity[4 * WORDS_MAX] = {0};
    int extra = extra_columns(l);
    if (is_c2(l)) {
        ldpc_c2_encode(l, block, codeword);
        return;
    }
    memcpy(codeword, block, l->k / 8);
    for (int column = -extra; column < 2; column++) {
        load_bits(block + (uint32_t)(column + extra) * (l->m / 8), l->m, v);
        add_terms(l, 1, column, v, first);
        add_terms(l, 2, column, v, second);
    }
    add_terms(l, 2, 3, first, second);
    solve_punctured(l, second, hidden);
    add_terms(l, 0, 4, hidden, parity);
    store_bits(parity, l->m, codeword + l->k / 8);
    add_terms(l, 1, 4, hidden, first);
    store_bits(first, l->m, codeword + l->k / 8 + l->m / 8);
}

/* ---- decoding ---- */

/* The part of a row that all rows of its circulants share: where its bits begin. */
struct run {
    uint32_t base[LDPC_ROW_MAX], shift[LDPC_ROW_MAX];
    unsigned count;
    uint32_t rows; /* of a circulant */
};

static void add_circulant(struct run *r, uint32_t base, unsigned shift)
{
    assert(r->count < LDPC_ROW_MAX && shift < r->rows);
    r->base[r->count] = base;
    r->shift[r->count++] = shift;
}

static struct run find_c2_run(unsigned block_row)
{
    struct run r = {.rows = LDPC_C2_CIRCULANT};
    for (unsigned column = 0; column < LDPC_C2_COLUMNS; column++)
        for (unsigned i = 0; i < 2; i++)
            add_circulant(&r, column * LDPC_C2_CIRCULANT, ldpc_c2_ones[block_row][column][i]);
    return r;
}

static unsigned count_runs(const struct ldpc *l)
{
    return is_c2(l) ? LDPC_C2_ROWS : 12;
}

/* Of AR4JA: that quarter of that block row, each in turn. */
static struct run find_run(const struct ldpc *l, unsigned part)
{
    const unsigned block_row = part / 4, quarter = part % 4;
    const int extra = extra_columns(l);
    if (is_c2(l))
        return find_c2_run(part);
    struct run r = {.rows = l->m / 4};
    for (unsigned t = 0; t < TERMS; t++) {
        unsigned shift;
        if (terms[t].row != block_row || terms[t].column < -extra)
            continue;
        unsigned to = find_circulant(l, terms[t].permutation, quarter, &shift);
        add_circulant(&r, (uint32_t)(terms[t].column + extra) * l->m + to * r.rows, shift);
    }
    return r;
}

static uint32_t column_of(const struct run *r, unsigned i, uint32_t row)
{
    const uint32_t at = row + r->shift[i];
    return r->base[i] + (at < r->rows ? at : at - r->rows);
}

uint32_t ldpc_rows(const struct ldpc *l)
{
    return (is_c2(l) ? LDPC_C2_ROWS : 3) * l->m;
}

unsigned ldpc_row(const struct ldpc *l, uint32_t row, uint32_t columns[LDPC_ROW_MAX])
{
    assert(row < ldpc_rows(l));
    const uint32_t rows = ldpc_rows(l) / count_runs(l);
    const struct run r = find_run(l, row / rows);
    for (unsigned i = 0; i < r.count; i++)
        columns[i] = column_of(&r, i, row % rows);
    return r.count;
}

static int limit_value(int value, int limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

/* One check: each of its bits hears what the others say. True: it failed. */
static bool update_check(const struct run *r, uint32_t row, struct ldpc_work *work,
                         int16_t *messages)
{
    int16_t *bits[LDPC_ROW_MAX];
    int others[LDPC_ROW_MAX], least = INT16_MAX, second = INT16_MAX;
    unsigned where = 0;
    bool odd = false;
    for (unsigned i = 0; i < r->count; i++) {
        bits[i] = &work->bits[column_of(r, i, row)];
        int q = *bits[i] - messages[i];
        int size = q < 0 ? -q : q;
        others[i] = q;
        odd ^= q < 0;
        if (size < least) {
            second = least;
            least = size;
            where = i;
        } else if (size < second) {
            second = size;
        }
    }
    for (unsigned i = 0; i < r->count; i++) {
        int message = limit_value((i == where ? second : least) * 3 / 4, MESSAGE_LIMIT);
        message = odd != (others[i] < 0) ? -message : message;
        messages[i] = (int16_t)message;
        *bits[i] = (int16_t)limit_value(others[i] + message, BITS_LIMIT);
    }
    return odd;
}

/* Returns how many failed. */
static uint32_t update_checks(const struct ldpc *l, struct ldpc_work *work)
{
    int16_t *messages = work->messages;
    uint32_t failed = 0;
    for (unsigned part = 0; part < count_runs(l); part++) {
        const struct run r = find_run(l, part);
        for (uint32_t row = 0; row < r.rows; row++, messages += r.count)
            failed += update_check(&r, row, work, messages);
    }
    assert(messages <= work->messages + LDPC_EDGES_MAX);
    return failed;
}

/* Of octets that are no codeword 48 % of the checks fail in each round, and more. Of codewords that
 * are decoded in the end, with as much noise as there may be, at most 44 % do after ten rounds.
 * Shorter ones vary more. Of C2 it is 43 % or more, and at most 42 %. */
static bool is_hopeless(const struct ldpc *l, uint32_t rounds, uint32_t failed)
{
    if (rounds < LDPC_LOOK)
        return false;
    return is_c2(l) ? failed > 2 * l->m * 43 / 100 : l->k >= 16384 && failed > l->m * 141 / 100;
}

static bool all_hold(const struct ldpc *l, const struct ldpc_work *work)
{
    for (unsigned part = 0; part < count_runs(l); part++) {
        const struct run r = find_run(l, part);
        for (uint32_t row = 0; row < r.rows; row++) {
            bool odd = false;
            for (unsigned i = 0; i < r.count; i++)
                odd ^= work->bits[column_of(&r, i, row)] < 0;
            if (odd)
                return false;
        }
    }
    return !is_c2(l) || ldpc_c2_sums_hold(l, work->bits);
}

/* A bit of the fill has four checks. Each can take twice the limit of a message from it. */
static_assert(BITS_LIMIT > 8 * MESSAGE_LIMIT, "fill stays 0");

/* What is known of the columns of the matrix before the first round. */
static void load_symbols(const struct ldpc *l, const uint8_t *symbols, int16_t *bits)
{
    const uint32_t fill = is_c2(l) ? LDPC_C2_FILL : 0, end = is_c2(l) ? LDPC_C2_END : 0;
    for (uint32_t i = 0; i < fill; i++)
        bits[i] = BITS_LIMIT;
    for (uint32_t i = 0; i < l->n - end; i++)
        bits[fill + i] = (int16_t)(128 - symbols[i]);
    if (!is_c2(l))
        memset(bits + l->n, 0, l->m * sizeof bits[0]); /* nothing is known of punctured bits */
}

/* Bit i of the codeword, after decoding. */
static bool decide_bit(const struct ldpc *l, const int16_t *bits, uint32_t i)
{
    if (!is_c2(l))
        return bits[i] < 0;
    return i < l->n - LDPC_C2_END && bits[LDPC_C2_FILL + i] < 0;
}

/* What is decided, or was received when that failed. */
static uint32_t take_block(const struct ldpc *l, const struct ldpc_work *work,
                           const uint8_t *symbols, bool decoded, uint8_t *block)
{
    uint32_t corrected = 0;
    memset(block, 0, l->k / 8);
    for (uint32_t i = 0; i < l->n; i++) {
        bool received = symbols[i] >= 128, bit = decoded ? decide_bit(l, work->bits, i) : received;
        corrected += bit != received;
        if (i < l->k)
            block[i / 8] |= (uint8_t)(bit << (7 - i % 8));
    }
    return corrected;
}

struct ldpc_result ldpc_decode(const struct ldpc *l, struct ldpc_work *work, const uint8_t *symbols,
                               uint32_t iterations_max, uint8_t *block)
{
    struct ldpc_result result = {.decoded = false};
    assert(iterations_max >= 1);
    load_symbols(l, symbols, work->bits);
    memset(work->messages, 0, sizeof work->messages);
    bool ends = false;
    while (!ends && result.iterations < iterations_max) {
        const uint32_t failed = update_checks(l, work);
        result.iterations++;
        result.decoded = all_hold(l, work);
        ends = result.decoded || is_hopeless(l, result.iterations, failed);
    }
    result.corrected = take_block(l, work, symbols, result.decoded, block);
    return result;
}

void ldpc_harden(const struct ldpc *l, const uint8_t *codeword, uint8_t *symbols)
{
    for (uint32_t i = 0; i < l->n; i++)
        symbols[i] = (codeword[i / 8] >> (7 - i % 8) & 1) != 0 ? 192 : 64;
}
