/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The repair symbols less the part of the known data symbols are a product of the lost ones with a
 * square Cauchy matrix, whose inverse has a closed form. Two products of matrices do the rest.
 */
#include "erasure/code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* known + lost is 254 at most, and so many rows: the largest product of the two. */
#define COEFFICIENTS_MAX ((CODE_LOST_MAX + 1) * CODE_LOST_MAX)

struct code {
    const struct gf_math *math;
    struct gf gf;
    size_t symbol_max;
    uint8_t coefficients[COEFFICIENTS_MAX];
    uint8_t *tables; /* of them */
    uint8_t *sums;   /* CODE_LOST_MAX symbols */
};

static uint8_t row_value(unsigned row)
{
    return (uint8_t)(CODE_WORD - 1 - row);
}

uint8_t code_coefficient(const struct gf *gf, unsigned row, unsigned position)
{
    assert(row + position < CODE_WORD);
    return gf_inverse(gf, (uint8_t)(row_value(row) ^ position));
}

int code_new(struct code **out, const struct gf_math *math, size_t symbol_max)
{
    struct code *c = calloc(1, sizeof *c);
    assert(math->table_bytes <= GF_TABLE_BYTES_MAX && symbol_max > 0);
    if (c == NULL)
        return HELIO_ENOMEM;
    c->math = math;
    c->symbol_max = symbol_max;
    c->tables = malloc(COEFFICIENTS_MAX * math->table_bytes);
    c->sums = malloc(CODE_LOST_MAX * symbol_max);
    if (c->tables == NULL || c->sums == NULL) {
        code_free(c);
        return HELIO_ENOMEM;
    }
    gf_init(&c->gf);
    *out = c;
    return 0;
}

void code_free(struct code *c)
{
    if (c == NULL)
        return;
    free(c->tables);
    free(c->sums);
    free(c);
}

static void add_symbol(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] ^= from[i];
}

/* What the lost symbols alone would have given in each row. */
static void sum_known(struct code *c, const struct code_word *w, uint8_t *const sums[])
{
    for (unsigned r = 0; r < w->lost; r++)
        for (unsigned i = 0; i < w->known; i++)
            c->coefficients[r * w->known + i] =
                code_coefficient(&c->gf, w->rows[r], w->known_at[i]);
    if (w->known > 0) {
        c->math->prepare(c->coefficients, w->lost, w->known, c->tables);
        c->math->product(c->tables, w->lost, w->known, w->data, sums, w->len);
    }
    for (unsigned r = 0; r < w->lost; r++) {
        if (w->known > 0)
            add_symbol(sums[r], w->repair[r], w->len);
        else
            memcpy(sums[r], w->repair[r], w->len);
    }
}

/* The product of a + b[k] over all k, but for k = skip. */
static uint8_t product_of(const struct gf *gf, uint8_t a, const uint8_t *b, unsigned n,
                          unsigned skip)
{
    uint8_t product = 1;
    for (unsigned k = 0; k < n; k++)
        if (k != skip)
            product = gf_multiply(gf, product, (uint8_t)(a ^ b[k]));
    return product;
}

/* The inverse of the square matrix of the rows and the lost positions. */
static void invert_lost(struct code *c, const struct code_word *w)
{
    const struct gf *gf = &c->gf;
    unsigned n = w->lost;
    uint8_t x[CODE_LOST_MAX], by_row[CODE_LOST_MAX], by_lost[CODE_LOST_MAX];
    for (unsigned r = 0; r < n; r++)
        x[r] = row_value(w->rows[r]);
    for (unsigned k = 0; k < n; k++) {
        by_row[k] = gf_multiply(gf, product_of(gf, x[k], w->lost_at, n, n),
                                gf_inverse(gf, product_of(gf, x[k], x, n, k)));
        by_lost[k] = gf_multiply(gf, product_of(gf, w->lost_at[k], x, n, n),
                                 gf_inverse(gf, product_of(gf, w->lost_at[k], w->lost_at, n, k)));
    }
    for (unsigned i = 0; i < n; i++)
        for (unsigned r = 0; r < n; r++)
            c->coefficients[i * n + r] =
                gf_multiply(gf, gf_multiply(gf, by_lost[i], by_row[r]),
                            gf_inverse(gf, (uint8_t)(x[r] ^ w->lost_at[i])));
}

void code_repair(struct code *c, const struct code_word *w)
{
    uint8_t *sums[CODE_LOST_MAX];
    assert(w->lost > 0 && w->lost <= CODE_LOST_MAX && w->known + 2 * w->lost <= CODE_WORD);
    assert(w->len > 0 && w->len <= c->symbol_max);
    for (unsigned r = 0; r < w->lost; r++)
        sums[r] = c->sums + r * c->symbol_max;
    sum_known(c, w, sums);
    invert_lost(c, w);
    c->math->prepare(c->coefficients, w->lost, w->lost, c->tables);
    c->math->product(c->tables, w->lost, w->lost, (const uint8_t *const *)sums, w->out, w->len);
}
