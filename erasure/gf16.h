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
 * stripe is 32 groups, sorted by coordinate. So a product by a constant is a sum of coordinates,
 * and vectors of any length can do it.
 */
#ifndef ERASURE_GF16_H
#define ERASURE_GF16_H

#include <stddef.h>
#include <stdint.h>

enum { GF16_BITS = 16, GF16_SIZE = 1 << GF16_BITS, GF16_ORDER = GF16_SIZE - 1 };

#define GF16_GROUP 16   /* octets; the length of a symbol is a multiple of it */
#define GF16_STRIPE 512 /* octets */

struct gf16_stripe {
    uint64_t plane[GF16_BITS][GF16_STRIPE / GF16_BITS / 8];
};

/* Bit i of row[r]: the product has coordinate r of the factor's coordinate i. */
struct gf16_factor {
    uint16_t row[GF16_BITS];
};

/* Some 280 kB. Read only after gf16_init: all coders can share it. */
struct gf16 {
    uint16_t exp[GF16_ORDER];
    uint16_t log[GF16_SIZE];                /* log[0] is 0 */
    struct gf16_factor low[256], high[256]; /* products by n, and by 256 n */
};

void gf16_init(struct gf16 *f); /* takes some milliseconds */
uint16_t gf16_multiply(const struct gf16 *f, uint16_t a, uint16_t b);
uint16_t gf16_inverse(const struct gf16 *f, uint16_t a); /* a is not 0 */

/*
 * Transforms of 2^size stripes. Stripe i is at position start + (i << shift). `start` is a multiple
 * of 2^(size + shift), but for its lowest `shift` bits. gf16_math.ifft turns values at these
 * positions into coefficients of the novel basis (the layers `shift` to shift + size - 1 of a
 * transform), fft is its inverse.
 */
struct gf16_math {
    const char *name;
    void (*ifft)(const struct gf16 *f, struct gf16_stripe *x, unsigned size, unsigned start,
                 unsigned shift);
    void (*fft)(const struct gf16 *f, struct gf16_stripe *x, unsigned size, unsigned start,
                unsigned shift);
    void (*scale)(const struct gf16 *f, struct gf16_stripe *x, uint16_t by);
    void (*add)(struct gf16_stripe *to, const struct gf16_stripe *from);
    /* len is 0 to GF16_STRIPE octets; zeros follow them in the stripe */
    void (*load)(struct gf16_stripe *x, const uint8_t *octets, size_t len);
    void (*store)(const struct gf16_stripe *x, uint8_t *octets, size_t len);
};

extern const struct gf16_math gf16_portable;
/* The best one of this processor. */
const struct gf16_math *gf16_fastest(void);

#endif
