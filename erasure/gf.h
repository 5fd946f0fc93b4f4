/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in GF(2^8) with x^8 + x^4 + x^3 + x^2 + 1, the field of ISA-L and of most storage
 * codes. Sums of products over long symbols are a table of functions, so that a library can compute
 * them: gf_portable works everywhere, gf_isal uses ISA-L.
 */
#ifndef ERASURE_GF_H
#define ERASURE_GF_H

#include <stddef.h>
#include <stdint.h>

/* Powers and logarithms of the element 2. Read only after gf_init. */
struct gf {
    uint8_t exp[510];
    uint8_t log[256]; /* log[0] is not used */
};

void gf_init(struct gf *gf);
uint8_t gf_multiply(const struct gf *gf, uint8_t a, uint8_t b);
uint8_t gf_inverse(const struct gf *gf, uint8_t a); /* a is not 0 */

/*
 * Sums over symbols of `len` octets, 1 or more. A matrix of coefficients has `rows` rows of
 * `sources` coefficients, each 1 to 255. `prepare` turns it into tables, of `table_bytes` for each
 * coefficient.
 */
struct gf_math {
    const char *name;
    size_t table_bytes;
    void (*prepare)(const uint8_t *coefficients, unsigned rows, unsigned sources, uint8_t *tables);
    /* to[row] += coefficient[row][source] * from, for each row */
    void (*update)(const uint8_t *tables, unsigned rows, unsigned sources, unsigned source,
                   const uint8_t *from, uint8_t *const to[], size_t len);
    /* to[row] = the sum of coefficient[row][source] * from[source] over all sources */
    void (*product)(const uint8_t *tables, unsigned rows, unsigned sources,
                    const uint8_t *const from[], uint8_t *const to[], size_t len);
};

#define GF_TABLE_BYTES_MAX 32

extern const struct gf_math gf_portable;

/* Where the build has ISA-L (target helio_gf_isal). GF_FASTEST, a definition of the target
 * helio_gf_fastest, is the name of the best one of this build. */
extern const struct gf_math gf_isal;

#endif
