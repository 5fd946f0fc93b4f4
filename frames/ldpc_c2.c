/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A circulant is a polynomial modulo x^511 - 1: row r has its ones r places further than row 0, so
 * a one at place k of row 0 multiplies a column vector v(x) by x^-k.
 *
 * Encoding solves D p = s for the two parity blocks p. D is the matrix's last 2 by 2 circulants,
 * and s is the sums of the checks over the information. As 511 = 2^9 - 1, a^512 = a for each
 * polynomial a. So a^510, the product of a^2, a^4 to a^256, is the inverse of a at each root of
 * x^511 - 1 where a is not 0, and is 0 at the others. The determinant of D is 0 at x = 1 alone: all
 * circulants have two ones a row, and the rank of D is 1020. So E = adj(D) det(D)^510 gives p but
 * for the value at x = 1, which is the sum of the bits of a parity block.
 *
 * The checks hold with any such sum. The standard chooses it (7.3.4): the first row of each
 * circulant of the generator ends with 0. A polynomial of E that does not is complemented, and then
 * its information block counts in the sum.
 */
#include "frames/ldpc_c2.h"

#include <assert.h>
#include <string.h>

enum { BITS = LDPC_C2_CIRCULANT, WORD = 64, WORDS = 8, INFORMATION = LDPC_C2_COLUMNS - 2 };
static_assert(BITS == WORDS * WORD - 1, "one bit of the last word is unused");
static_assert(LDPC_C2_TWICE == 2 * WORDS, "two polynomials, one behind the other");
static_assert(INFORMATION * BITS == LDPC_C2_FILL + LDPC_C2_BLOCK, "shortened");

const uint16_t ldpc_c2_ones[LDPC_C2_ROWS][LDPC_C2_COLUMNS][2] = {{{0, 176},
                                                                  {12, 239},
                                                                  {0, 352},
                                                                  {24, 431},
                                                                  {0, 392},
                                                                  {151, 409},
                                                                  {0, 351},
                                                                  {9, 359},
                                                                  {0, 307},
                                                                  {53, 329},
                                                                  {0, 207},
                                                                  {18, 281},
                                                                  {0, 399},
                                                                  {202, 457},
                                                                  {0, 247},
                                                                  {36, 261}},
                                                                 {{99, 471},
                                                                  {130, 473},
                                                                  {198, 435},
                                                                  {260, 478},
                                                                  {215, 420},
                                                                  {282, 481},
                                                                  {48, 396},
                                                                  {193, 445},
                                                                  {273, 430},
                                                                  {302, 451},
                                                                  {96, 379},
                                                                  {191, 386},
                                                                  {244, 467},
                                                                  {364, 470},
                                                                  {51, 382},
                                                                  {192, 414}}};

/* The lowest bit of the first word is the coefficient of x^0, and the first bit of a block. */
struct polynomial {
    uint64_t words[WORDS];
};

static bool get_bit(const uint64_t *words, unsigned i)
{
    return (words[i / WORD] >> i % WORD & 1) != 0;
}

/* Twice the bits, so that any 511 of them in a row are the polynomial, turned. */
static void write_twice(const struct polynomial *a, uint64_t twice[LDPC_C2_TWICE])
{
    memcpy(twice, a->words, sizeof a->words);
    twice[WORDS - 1] |= a->words[0] << (WORD - 1);
    for (unsigned i = 0; i < WORDS; i++)
        twice[WORDS + i] = a->words[i] >> 1 | (i + 1 < WORDS ? a->words[i + 1] << (WORD - 1) : 0);
}

/* out += a x^-shift */
static void add_turned(struct polynomial *out, const uint64_t twice[LDPC_C2_TWICE], unsigned shift)
{
    const unsigned at = shift / WORD, bit = shift % WORD;
    for (unsigned i = 0; i < WORDS; i++) {
        const uint64_t low = twice[at + i];
        out->words[i] ^= bit == 0 ? low : low >> bit | twice[at + i + 1] << (WORD - bit);
    }
    out->words[WORDS - 1] &= UINT64_MAX >> 1;
}

/* out += a b */
static void add_product(struct polynomial *out, const uint64_t twice[LDPC_C2_TWICE],
                        const struct polynomial *b)
{
    for (unsigned i = 0; i < BITS; i++)
        if (get_bit(b->words, i))
            add_turned(out, twice, (BITS - i) % BITS);
}

static struct polynomial multiply_polynomials(const struct polynomial *a,
                                              const struct polynomial *b)
{
    struct polynomial out = {{0}};
    uint64_t twice[LDPC_C2_TWICE];
    write_twice(a, twice);
    add_product(&out, twice, b);
    return out;
}

/* a^510 */
static struct polynomial invert_polynomial(struct polynomial a)
{
    struct polynomial inverse = {{1}};
    for (unsigned exponent = 2; exponent <= 256; exponent *= 2) {
        a = multiply_polynomials(&a, &a);
        inverse = multiply_polynomials(&inverse, &a);
    }
    return inverse;
}

static struct polynomial make_circulant(unsigned row, unsigned column)
{
    struct polynomial a = {{0}};
    for (unsigned i = 0; i < 2; i++) {
        const unsigned power = (BITS - (unsigned)ldpc_c2_ones[row][column][i]) % BITS;
        a.words[power / WORD] |= UINT64_C(1) << power % WORD;
    }
    return a;
}

/* Does the first row of that circulant of the generator, as E gives it, end with 1? */
static bool ends_with_one(const struct ldpc *l, unsigned column, unsigned parity)
{
    bool one = false;
    for (unsigned row = 0; row < LDPC_C2_ROWS; row++)
        for (unsigned i = 0; i < 2; i++)
            one ^= get_bit(l->c2.solve[parity][row], BITS - 1 + ldpc_c2_ones[row][column][i]);
    return one;
}

void ldpc_c2_init(struct ldpc *l)
{
    struct polynomial d[2][2], determinant;
    for (unsigned row = 0; row < 2; row++)
        for (unsigned c = 0; c < 2; c++)
            d[row][c] = make_circulant(row, INFORMATION + c);
    const struct polynomial main = multiply_polynomials(&d[0][0], &d[1][1]);
    const struct polynomial other = multiply_polynomials(&d[0][1], &d[1][0]);
    for (unsigned i = 0; i < WORDS; i++)
        determinant.words[i] = main.words[i] ^ other.words[i];
    const struct polynomial inverse = invert_polynomial(determinant);
    /* Signs do not matter, so the adjugate is {{d11, d01}, {d10, d00}}. */
    for (unsigned parity = 0; parity < 2; parity++) {
        for (unsigned row = 0; row < 2; row++) {
            const struct polynomial e = multiply_polynomials(&d[1 - row][1 - parity], &inverse);
            write_twice(&e, l->c2.solve[parity][row]);
        }
        l->c2.complemented[parity] = 0;
        for (unsigned column = 0; column < INFORMATION; column++)
            l->c2.complemented[parity] |= (uint16_t)(ends_with_one(l, column, parity) << column);
    }
}

/* The 511 bits of a column of circulants, of the block behind its fill. */
static struct polynomial load_column(const uint8_t *block, unsigned column)
{
    struct polynomial v = {{0}};
    for (unsigned i = column == 0 ? LDPC_C2_FILL : 0; i < BITS; i++) {
        const unsigned bit = column * BITS + i - LDPC_C2_FILL;
        v.words[i / WORD] |= (uint64_t)(block[bit / 8] >> (7 - bit % 8) & 1) << i % WORD;
    }
    return v;
}

static bool is_odd(const struct polynomial *a)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WORDS; i++)
        sum ^= a->words[i];
    for (unsigned s = WORD / 2; s > 0; s /= 2)
        sum ^= sum >> s;
    return (sum & 1) != 0;
}

static void store_parity(const struct polynomial *p, bool complemented, unsigned at,
                         uint8_t *octets)
{
    for (unsigned i = 0; i < BITS; i++, at++)
        octets[at / 8] |= (uint8_t)((get_bit(p->words, i) != complemented) << (7 - at % 8));
}

void ldpc_c2_encode(const struct ldpc *l, const uint8_t *block, uint8_t *codeword)
{
    struct polynomial sums[2] = {{{0}}, {{0}}};
    unsigned odd = 0;
    for (unsigned column = 0; column < INFORMATION; column++) {
        uint64_t twice[LDPC_C2_TWICE];
        const struct polynomial v = load_column(block, column);
        odd |= (unsigned)is_odd(&v) << column;
        write_twice(&v, twice);
        for (unsigned row = 0; row < 2; row++)
            for (unsigned i = 0; i < 2; i++)
                add_turned(&sums[row], twice, ldpc_c2_ones[row][column][i]);
    }
    memcpy(codeword, block, LDPC_C2_BLOCK / 8);
    memset(codeword + LDPC_C2_BLOCK / 8, 0, (l->n - LDPC_C2_BLOCK) / 8);
    for (unsigned parity = 0; parity < 2; parity++) {
        struct polynomial p = {{0}};
        for (unsigned row = 0; row < 2; row++)
            add_product(&p, l->c2.solve[parity][row], &sums[row]);
        const bool complemented = __builtin_parity(odd & l->c2.complemented[parity]) != 0;
        store_parity(&p, complemented, parity * BITS, codeword + LDPC_C2_BLOCK / 8);
    }
}

bool ldpc_c2_sums_hold(const struct ldpc *l, const int16_t *bits)
{
    unsigned odd = 0;
    for (unsigned column = 0; column < LDPC_C2_COLUMNS; column++) {
        bool sum = false;
        for (unsigned i = 0; i < BITS; i++)
            sum ^= bits[column * BITS + i] < 0;
        odd |= (unsigned)sum << column;
    }
    for (unsigned parity = 0; parity < 2; parity++) {
        const unsigned counted = l->c2.complemented[parity] | 1U << (INFORMATION + parity);
        if (__builtin_parity(odd & counted) != 0)
            return false;
    }
    return true;
}
