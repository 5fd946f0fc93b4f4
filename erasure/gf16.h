/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in GF(2^16) with x^16 + x^5 + x^3 + x^2 + 1, in coordinates of a Cantor basis: bit i
 * of an element is the coefficient of b[i], where b[0] = 1 and b[i]^2 + b[i] = b[i - 1]. Then the
 * subspace polynomial of the first j coordinates maps an element x to x >> j, and the additive
 * Fourier transform needs no table of factors (Lin, Chung, Han: "Novel polynomial basis and its
 * application to Reed-Solomon erasure codes", FOCS 2014; Gao, Mateer, IEEE Trans. Inf. Theory 56,
 * 2010).
 *
 * Symbols are groups of 16 octets; octet p of a group holds coordinate p of eight elements. A
 * stripe is some groups of a symbol, sorted by coordinate. So a product by a constant is a sum of
 * coordinates, and vectors of any length can do it. Stripes of few octets keep a transform of many
 * symbols in the second-level cache.
 */
#ifndef ERASURE_GF16_H
#define ERASURE_GF16_H

#include <stddef.h>
#include <stdint.h>

enum { GF16_BITS = 16, GF16_SIZE = 1 << GF16_BITS, GF16_ORDER = GF16_SIZE - 1 };

#define GF16_GROUP 16       /* octets; the length of a symbol is a multiple of it */
#define GF16_STRIPE_MAX 512 /* octets */
#define GF16_ALIGNMENT 64   /* octets: of stripes, for the fastest work; 16 is enough */

/* Bit i of row[r]: the product has coordinate r of the factor's coordinate i. */
struct gf16_factor {
    uint16_t row[GF16_BITS];
};

/* The products of each value of four bits of a factor, the lowest ones first: tables of their low
 * octets, and then of the high ones. */
struct gf16_tables {
    uint8_t table[8][16];
};

/* Some 340 kB. Read only after gf16_init: all coders can share it. */
struct gf16 {
    uint16_t exp[GF16_ORDER];
    uint16_t log[GF16_SIZE];                              /* log[0] is 0 */
    struct gf16_factor low[256], high[256];               /* products by n, and by 256 n */
    struct gf16_tables low_tables[256], high_tables[256]; /* the same */
};

void gf16_init(struct gf16 *f); /* takes some milliseconds */
uint16_t gf16_multiply(const struct gf16 *f, uint16_t a, uint16_t b);
uint16_t gf16_inverse(const struct gf16 *f, uint16_t a); /* a is not 0 */

/*
 * Transforms of 2^size stripes, which begin `apart` octets apart. Stripe i is at position start +
 * (i << shift). `start` is a multiple of 2^(size + shift), but for its lowest `shift` bits.
 * gf16_math.ifft turns values at these positions into coefficients of the novel basis (the layers
 * `shift` to shift + size - 1 of a transform), fft is its inverse.
 *
 * Only the arithmetic itself knows what is where in a stripe: zeros are zeros, and the first `len`
 * octets of a symbol are in the first `len` octets of its stripe, rounded up to a multiple of
 * `unit` (gf16_used). `len` of the calls is such a number, or they do more than they need to.
 */
struct gf16_math {
    const char *name;
    unsigned stripe; /* octets, at most GF16_STRIPE_MAX */
    unsigned unit;   /* octets; it divides the stripe */
    void (*ifft)(const struct gf16 *f, uint8_t *x, size_t apart, unsigned size, unsigned start,
                 unsigned shift, size_t len);
    void (*fft)(const struct gf16 *f, uint8_t *x, size_t apart, unsigned size, unsigned start,
                unsigned shift, size_t len);
    void (*scale)(const struct gf16 *f, uint8_t *x, uint16_t by, size_t len);
    /* to `count` stripes as many others, all `apart` octets apart */
    void (*add)(uint8_t *to, const uint8_t *from, size_t apart, unsigned count, size_t len);
    /* len is 0 to `stripe` octets; zeros follow them in the stripe */
    void (*load)(uint8_t *x, const uint8_t *octets, size_t len);
    void (*store)(const uint8_t *x, uint8_t *octets, size_t len);
};

/* Octets of a stripe that hold this many of a symbol, at most `stripe`. */
static inline size_t gf16_used(const struct gf16_math *m, size_t len)
{
    return (len + m->unit - 1) / m->unit * m->unit;
}

extern const struct gf16_math gf16_portable;
/* Those of this processor, the portable one first and the best one last; NULL beyond them. */
const struct gf16_math *gf16_available(unsigned i);
const struct gf16_math *gf16_fastest(void);

/* Private: those of gf16_avx2.c and gf16_avx512.c; NULL when this processor has no such
 * instructions. */
const struct gf16_math *gf16_avx2(void);
const struct gf16_math *gf16_gfni(void);
const struct gf16_math *gf16_avx512(void);

#endif
