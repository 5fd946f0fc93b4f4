/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product by a constant adds coordinates: all sums of four neighbouring ones are made once, and
 * each coordinate of the product is the sum of four of those. Half of the work are reads from the
 * first-level cache. Other arithmetic is in gf16_avx2.c and gf16_avx512.c.
 */
#include "erasure/gf16.h"

#include <assert.h>
#include <string.h>

#include "base/port.h"

/* Octets of a coordinate, and of all sixteen. */
enum { VECTOR = 16, STRIPE = VECTOR * GF16_BITS, NIBBLES = GF16_BITS / 4, HALF = GF16_GROUP / 2 };

typedef uint64_t vector __attribute__((vector_size(VECTOR), may_alias));

static_assert(STRIPE <= GF16_STRIPE_MAX && sizeof(vector) == VECTOR, "no gaps");

/* ---- the field ---- */

/* The root y of y^2 + y = x with the lower value; in coordinates of the powers of the generator,
 * where exp and log are still in them. */
static unsigned find_root(const struct gf16 *f, unsigned x)
{
    unsigned y = 2;
    while (y < GF16_SIZE && (f->exp[2u * f->log[y] % GF16_ORDER] ^ y) != x)
        y++;
    assert(y < GF16_SIZE); /* x has the trace 0 */
    return y;
}

static void init_powers(struct gf16 *f)
{
    unsigned x = 1;
    f->log[0] = 0;
    for (unsigned i = 0; i < GF16_ORDER; i++) {
        f->exp[i] = (uint16_t)x;
        f->log[x] = (uint16_t)i;
        x = x << 1 ^ (x & 0x8000 ? 0x1002d : 0);
    }
    assert(x == 1);
}

/* exp and log change from coordinates of the powers to those of the Cantor basis. */
static void init_basis(struct gf16 *f)
{
    unsigned basis[GF16_BITS] = {1};
    for (unsigned i = 1; i < GF16_BITS; i++)
        basis[i] = find_root(f, basis[i - 1]);
    uint16_t *power = f->exp; /* the element of each index, for now */
    power[0] = 0;
    for (unsigned i = 0; i < GF16_BITS; i++)
        for (unsigned j = 0; j < 1u << i && (1u << i) + j < GF16_ORDER; j++)
            power[(1u << i) + j] = (uint16_t)(power[j] ^ basis[i]);
    unsigned last = 0;
    for (unsigned i = 0; i < GF16_BITS; i++)
        last ^= basis[i];
    uint16_t last_log = f->log[last];
    for (unsigned i = 0; i < GF16_ORDER; i++)
        power[i] = f->log[power[i]];
    for (unsigned i = 0; i < GF16_ORDER; i++)
        f->log[i] = power[i];
    f->log[0] = 0;
    f->log[GF16_ORDER] = last_log;
    for (unsigned i = 1; i < GF16_SIZE; i++)
        f->exp[f->log[i]] = (uint16_t)i;
}

static void init_factor(const struct gf16 *f, struct gf16_factor *k, unsigned by)
{
    memset(k, 0, sizeof *k);
    for (unsigned i = 0; i < GF16_BITS; i++) {
        unsigned product = gf16_multiply(f, (uint16_t)by, (uint16_t)(1u << i));
        for (unsigned r = 0; r < GF16_BITS; r++)
            k->row[r] = (uint16_t)(k->row[r] | (product >> r & 1) << i);
    }
}

static void init_tables(const struct gf16 *f, struct gf16_tables *t, unsigned by)
{
    for (unsigned i = 0; i < NIBBLES; i++)
        for (unsigned n = 0; n < 16; n++) {
            unsigned product = gf16_multiply(f, (uint16_t)by, (uint16_t)(n << 4 * i));
            t->table[i][n] = (uint8_t)product;
            t->table[NIBBLES + i][n] = (uint8_t)(product >> 8);
        }
}

void gf16_init(struct gf16 *f)
{
    init_powers(f);
    init_basis(f);
    for (unsigned n = 0; n < 256; n++) {
        init_factor(f, &f->low[n], n);
        init_factor(f, &f->high[n], n << 8);
        init_tables(f, &f->low_tables[n], n);
        init_tables(f, &f->high_tables[n], n << 8);
    }
}

uint16_t gf16_multiply(const struct gf16 *f, uint16_t a, uint16_t b)
{
    unsigned sum = (unsigned)f->log[a] + f->log[b];
    if (a == 0 || b == 0)
        return 0;
    return f->exp[sum < GF16_ORDER ? sum : sum - GF16_ORDER];
}

uint16_t gf16_inverse(const struct gf16 *f, uint16_t a)
{
    assert(a != 0);
    return f->exp[f->log[a] == 0 ? 0 : GF16_ORDER - f->log[a]];
}

/* ---- stripes ---- */

static PORT_INLINE vector *planes(uint8_t *x)
{
    return (vector *)(void *)x;
}

static PORT_INLINE const vector *const_planes(const uint8_t *x)
{
    return (const vector *)(const void *)x;
}

static PORT_INLINE void add_stripe(uint8_t *to, const uint8_t *from)
{
    for (unsigned p = 0; p < GF16_BITS; p++)
        planes(to)[p] ^= const_planes(from)[p];
}

/* The sixteen sums of four coordinates. */
static PORT_INLINE void make_sums(vector *sums, const vector *from)
{
    sums[0] = from[0] ^ from[0];
    sums[1] = from[0];
    sums[2] = from[1];
    sums[3] = from[0] ^ from[1];
    sums[4] = from[2];
    sums[5] = from[2] ^ sums[1];
    sums[6] = from[2] ^ sums[2];
    sums[7] = from[2] ^ sums[3];
    for (unsigned n = 0; n < 8; n++)
        sums[8 + n] = from[3] ^ sums[n];
}

/* Where the four sums of each coordinate of a product are: octets behind the first sum. */
struct places {
    uint16_t at[GF16_BITS][NIBBLES];
};

static PORT_INLINE void find_places(const struct gf16 *f, struct places *p, unsigned by)
{
    const uint16_t *low = f->low[by & 255].row, *high = f->high[by >> 8].row;
    for (unsigned r = 0; r < GF16_BITS; r++) {
        unsigned row = low[r] ^ high[r];
        for (unsigned n = 0; n < NIBBLES; n++)
            p->at[r][n] = (uint16_t)((16 * n + (row >> 4 * n & 15)) * VECTOR);
    }
}

/* to += the factor * from */
static PORT_INLINE void add_product(const struct places *places, uint8_t *to, const uint8_t *from)
{
    vector sums[NIBBLES][16];
    for (unsigned n = 0; n < NIBBLES; n++)
        make_sums(sums[n], const_planes(from) + 4 * n);
    for (unsigned r = 0; r < GF16_BITS; r++) {
        const uint16_t *at = places->at[r];
        const uint8_t *first = (const uint8_t *)sums;
        planes(to)[r] ^= *const_planes(first + at[0]) ^ *const_planes(first + at[1]) ^
                         *const_planes(first + at[2]) ^ *const_planes(first + at[3]);
    }
}

static void ifft_portable(const struct gf16 *f, uint8_t *x, size_t apart, unsigned size,
                          unsigned start, unsigned shift, size_t len)
{
    (void)len; /* coordinates are computed as a whole */
    struct places places;
    for (unsigned layer = 0; layer < size; layer++)
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            unsigned by = (start + (block << shift)) >> (layer + shift);
            find_places(f, &places, by);
            for (unsigned i = block; i < block + (1u << layer); i++) {
                uint8_t *a = x + i * apart, *b = a + (apart << layer);
                add_stripe(b, a);
                if (by != 0)
                    add_product(&places, a, b);
            }
        }
}

static void fft_portable(const struct gf16 *f, uint8_t *x, size_t apart, unsigned size,
                         unsigned start, unsigned shift, size_t len)
{
    (void)len;
    struct places places;
    for (unsigned layer = size; layer-- > 0;)
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            unsigned by = (start + (block << shift)) >> (layer + shift);
            find_places(f, &places, by);
            for (unsigned i = block; i < block + (1u << layer); i++) {
                uint8_t *a = x + i * apart, *b = a + (apart << layer);
                if (by != 0)
                    add_product(&places, a, b);
                add_stripe(b, a);
            }
        }
}

static void scale_portable(const struct gf16 *f, uint8_t *x, uint16_t by, size_t len)
{
    (void)len;
    struct places places;
    vector product[GF16_BITS] = {{0}};
    find_places(f, &places, by);
    add_product(&places, (uint8_t *)product, x);
    memcpy(x, product, STRIPE);
}

static void add_portable(uint8_t *to, const uint8_t *from, size_t apart, unsigned count, size_t len)
{
    (void)len;
    for (size_t i = 0; i < count; i++)
        add_stripe(to + i * apart, from + i * apart);
}

/* ---- octets ---- */

/* Each lane has eight rows of eight octets: rows become columns. */
static PORT_INLINE void transpose(vector *rows)
{
    static const uint64_t masks[] = {0xffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff};
    for (unsigned step = 0, apart = 4; step < 3; step++, apart /= 2)
        for (unsigned i = 0; i < 8; i++) {
            if (i & apart)
                continue;
            vector swap = (rows[i] >> 8 * apart ^ rows[i + apart]) & masks[step];
            rows[i + apart] ^= swap;
            rows[i] ^= swap << 8 * apart;
        }
}

static PORT_INLINE uint64_t get_u64(const uint8_t *p)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static PORT_INLINE void put_u64(uint8_t *p, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* Group 8 l + k is in lane l, octet k of each coordinate. */
static void load_portable(uint8_t *x, const uint8_t *octets, size_t len)
{
    uint8_t whole[STRIPE];
    assert(len <= STRIPE);
    if (len < STRIPE) {
        memset(whole + len, 0, STRIPE - len);
        if (len > 0)
            memcpy(whole, octets, len);
        octets = whole;
    }
    for (unsigned group = 0; group < VECTOR; group++)
        for (unsigned half = 0; half < 2; half++)
            planes(x)[HALF * half + group % HALF][group / HALF] =
                get_u64(octets + (size_t)GF16_GROUP * group + (size_t)HALF * half);
    transpose(planes(x));
    transpose(planes(x) + HALF);
}

static void store_portable(const uint8_t *x, uint8_t *octets, size_t len)
{
    vector turned[GF16_BITS];
    uint8_t whole[STRIPE], *to = len < STRIPE ? whole : octets;
    assert(len <= STRIPE);
    memcpy(turned, x, STRIPE);
    transpose(turned);
    transpose(turned + HALF);
    for (unsigned group = 0; group < VECTOR; group++)
        for (unsigned half = 0; half < 2; half++)
            put_u64(to + (size_t)GF16_GROUP * group + (size_t)HALF * half,
                    turned[HALF * half + group % HALF][group / HALF]);
    if (len > 0 && len < STRIPE)
        memcpy(octets, whole, len);
}

const struct gf16_math gf16_portable = {"portable",    STRIPE,        STRIPE,
                                        ifft_portable, fft_portable,  scale_portable,
                                        add_portable,  load_portable, store_portable};

const struct gf16_math *gf16_available(unsigned i)
{
    const struct gf16_math *const all[] = {&gf16_portable, gf16_avx2(), gf16_gfni(), gf16_avx512()};
    for (unsigned n = 0; n < sizeof all / sizeof all[0]; n++)
        if (all[n] != NULL && i-- == 0)
            return all[n];
    return NULL;
}

const struct gf16_math *gf16_fastest(void)
{
    const struct gf16_math *best = &gf16_portable;
    for (unsigned i = 1; gf16_available(i) != NULL; i++)
        best = gf16_available(i);
    return best;
}
