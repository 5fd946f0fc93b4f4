/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable sums of products. All multiples of a piece of the source by the sixteen low nibbles, and
 * by the sixteen high ones, are made once; then each row needs two additions of whole vectors. So
 * the work for a row is three reads and a write, without a look-up for each octet.
 */
#include "erasure/gf.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/port.h"

/* A piece and its 32 multiples stay in the first-level cache. */
enum { PIECE = 512, VECTOR = 32, VECTORS = PIECE / VECTOR };

typedef uint64_t vector __attribute__((vector_size(VECTOR)));

struct multiple {
    vector v[VECTORS];
};

struct multiples {
    struct multiple low[16], high[16]; /* by n, and by 16 n */
};

static_assert(sizeof(struct multiples) == (size_t)32 * PIECE, "no gaps");

void gf_init(struct gf *gf)
{
    unsigned x = 1;
    gf->log[0] = 0;
    for (unsigned i = 0; i < 255; i++) {
        gf->exp[i] = gf->exp[i + 255] = (uint8_t)x;
        gf->log[x] = (uint8_t)i;
        x = x << 1 ^ (x & 0x80 ? 0x11d : 0);
    }
    assert(x == 1);
}

uint8_t gf_multiply(const struct gf *gf, uint8_t a, uint8_t b)
{
    return a == 0 || b == 0 ? 0 : gf->exp[gf->log[a] + gf->log[b]];
}

uint8_t gf_inverse(const struct gf *gf, uint8_t a)
{
    assert(a != 0);
    return gf->exp[255 - gf->log[a]];
}

/* Twice each of its octets. */
static PORT_INLINE void double_octets(const struct multiple *from, struct multiple *to)
{
    for (unsigned i = 0; i < VECTORS; i++) {
        vector carry = from->v[i] >> 7 & UINT64_C(0x0101010101010101);
        to->v[i] = (from->v[i] << 1 & ~UINT64_C(0x0101010101010101)) ^ carry * 0x1d;
    }
}

static PORT_INLINE void fill_nibbles(struct multiple *table)
{
    for (unsigned n = 3; n < 16; n++) {
        unsigned top = n & 8 ? 8 : n & 4 ? 4 : 2;
        if (n == top)
            continue;
        for (unsigned i = 0; i < VECTORS; i++)
            table[n].v[i] = table[top].v[i] ^ table[n - top].v[i];
    }
}

/* `len` octets, at most `PIECE`; the others are zeros. */
static PORT_INLINE void make_multiples(struct multiples *m, const uint8_t *from, size_t len)
{
    memset(&m->low[0], 0, sizeof m->low[0]);
    memset(&m->high[0], 0, sizeof m->high[0]);
    memset(&m->low[1], 0, sizeof m->low[1]);
    memcpy(&m->low[1], from, len);
    double_octets(&m->low[1], &m->low[2]);
    double_octets(&m->low[2], &m->low[4]);
    double_octets(&m->low[4], &m->low[8]);
    double_octets(&m->low[8], &m->high[1]);
    double_octets(&m->high[1], &m->high[2]);
    double_octets(&m->high[2], &m->high[4]);
    double_octets(&m->high[4], &m->high[8]);
    fill_nibbles(m->low);
    fill_nibbles(m->high);
}

static PORT_INLINE void add_multiple(const struct multiples *m, uint8_t coefficient, uint8_t *to,
                                     size_t len)
{
    const vector *low = m->low[coefficient & 15].v, *high = m->high[coefficient >> 4].v;
    size_t v = 0;
    for (; (v + 1) * VECTOR <= len; v++) {
        vector sum;
        memcpy(&sum, to + v * VECTOR, VECTOR);
        sum ^= low[v] ^ high[v];
        memcpy(to + v * VECTOR, &sum, VECTOR);
    }
    if (v * VECTOR == len)
        return;
    const vector last = low[v] ^ high[v];
    uint8_t octets[VECTOR];
    memcpy(octets, &last, VECTOR);
    for (size_t i = v * VECTOR; i < len; i++)
        to[i] ^= octets[i % VECTOR];
}

static PORT_INLINE void update_rows(const uint8_t *tables, unsigned rows, unsigned sources,
                                    const uint8_t *from, uint8_t *const to[], size_t len)
{
    struct multiples m;
    for (size_t at = 0; at < len; at += PIECE) {
        size_t n = len - at < PIECE ? len - at : PIECE;
        make_multiples(&m, from + at, n);
        for (unsigned row = 0; row < rows; row++)
            add_multiple(&m, tables[row * sources], to[row] + at, n);
    }
}

#if PORT_X86_AVX2
/* The same for processors with longer vectors. */
__attribute__((target("avx2"))) static void update_long(const uint8_t *tables, unsigned rows,
                                                        unsigned sources, const uint8_t *from,
                                                        uint8_t *const to[], size_t len)
{
    update_rows(tables, rows, sources, from, to, len);
}

static bool has_long_vectors(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
static void update_long(const uint8_t *tables, unsigned rows, unsigned sources, const uint8_t *from,
                        uint8_t *const to[], size_t len)
{
    update_rows(tables, rows, sources, from, to, len);
}

static bool has_long_vectors(void)
{
    return false;
}
#endif

static void update_portable(const uint8_t *tables, unsigned rows, unsigned sources, unsigned source,
                            const uint8_t *from, uint8_t *const to[], size_t len)
{
    assert(source < sources && len > 0);
    if (has_long_vectors())
        update_long(tables + source, rows, sources, from, to, len);
    else
        update_rows(tables + source, rows, sources, from, to, len);
}

static void product_portable(const uint8_t *tables, unsigned rows, unsigned sources,
                             const uint8_t *const from[], uint8_t *const to[], size_t len)
{
    for (unsigned row = 0; row < rows; row++)
        memset(to[row], 0, len);
    for (unsigned source = 0; source < sources; source++)
        update_portable(tables, rows, sources, source, from[source], to, len);
}

static void prepare_portable(const uint8_t *coefficients, unsigned rows, unsigned sources,
                             uint8_t *tables)
{
    memcpy(tables, coefficients, (size_t)rows * sources);
}

const struct gf_math gf_portable = {.name = "portable",
                                    .table_bytes = 1,
                                    .prepare = prepare_portable,
                                    .update = update_portable,
                                    .product = product_portable};
