/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product by a constant adds coordinates: all sums of four neighbouring ones are made once, and
 * each coordinate of the product is the sum of four of those. Half of the work are reads from the
 * first-level cache. Other arithmetic is in gf16_avx2.c.
 */
#include "erasure/gf16.h"

#include <assert.h>
#include <string.h>

#include "base/port.h"

enum { VECTOR = GF16_STRIPE / GF16_BITS, NIBBLES = GF16_BITS / 4, LANES = VECTOR / 8 };

/* Stripes are as aligned as malloc makes them. */
typedef uint64_t vector __attribute__((vector_size(VECTOR), aligned(16), may_alias));

static_assert(sizeof(struct gf16_stripe) == GF16_STRIPE && sizeof(vector) == VECTOR, "no gaps");

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

static PORT_INLINE vector *planes(struct gf16_stripe *x)
{
    return (vector *)x->plane;
}

static PORT_INLINE const vector *const_planes(const struct gf16_stripe *x)
{
    return (const vector *)x->plane;
}

static PORT_INLINE void add_stripe(struct gf16_stripe *to, const struct gf16_stripe *from)
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

/* to += by * from */
static PORT_INLINE void add_product(const struct gf16 *f, unsigned by, struct gf16_stripe *to,
                                    const struct gf16_stripe *from)
{
    vector sums[NIBBLES][16];
    const uint16_t *low = f->low[by & 255].row, *high = f->high[by >> 8].row;
    for (unsigned n = 0; n < NIBBLES; n++)
        make_sums(sums[n], const_planes(from) + 4 * n);
    for (unsigned p = 0; p < GF16_BITS; p++) {
        unsigned row = low[p] ^ high[p];
        planes(to)[p] ^= sums[0][row & 15] ^ sums[1][row >> 4 & 15] ^ sums[2][row >> 8 & 15] ^
                         sums[3][row >> 12];
    }
}

static void ifft_portable(const struct gf16 *f, struct gf16_stripe *x, unsigned size,
                          unsigned start, unsigned shift, size_t len)
{
    (void)len; /* coordinates are computed as a whole */
    for (unsigned layer = 0; layer < size; layer++)
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            unsigned by = (start + (block << shift)) >> (layer + shift);
            for (unsigned i = block; i < block + (1u << layer); i++) {
                struct gf16_stripe *a = x + i, *b = a + (1u << layer);
                add_stripe(b, a);
                if (by != 0)
                    add_product(f, by, a, b);
            }
        }
}

static void fft_portable(const struct gf16 *f, struct gf16_stripe *x, unsigned size, unsigned start,
                         unsigned shift, size_t len)
{
    (void)len;
    for (unsigned layer = size; layer-- > 0;)
        for (unsigned block = 0; block < 1u << size; block += 2u << layer) {
            unsigned by = (start + (block << shift)) >> (layer + shift);
            for (unsigned i = block; i < block + (1u << layer); i++) {
                struct gf16_stripe *a = x + i, *b = a + (1u << layer);
                if (by != 0)
                    add_product(f, by, a, b);
                add_stripe(b, a);
            }
        }
}

static void scale_portable(const struct gf16 *f, struct gf16_stripe *x, uint16_t by, size_t len)
{
    (void)len;
    struct gf16_stripe product = {0};
    add_product(f, by, &product, x);
    *x = product;
}

static void add_portable(struct gf16_stripe *to, const struct gf16_stripe *from, size_t len)
{
    (void)len;
    add_stripe(to, from);
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
static void load_portable(struct gf16_stripe *x, const uint8_t *octets, size_t len)
{
    uint8_t whole[GF16_STRIPE];
    assert(len <= GF16_STRIPE);
    if (len < GF16_STRIPE) {
        memset(whole + len, 0, GF16_STRIPE - len);
        if (len > 0)
            memcpy(whole, octets, len);
        octets = whole;
    }
    for (unsigned group = 0; group < VECTOR; group++)
        for (unsigned half = 0; half < 2; half++)
            x->plane[8 * half + group % 8][group / 8] =
                get_u64(octets + (size_t)GF16_GROUP * group + (size_t)8 * half);
    transpose(planes(x));
    transpose(planes(x) + 8);
}

static void store_portable(const struct gf16_stripe *x, uint8_t *octets, size_t len)
{
    struct gf16_stripe turned = *x;
    uint8_t whole[GF16_STRIPE], *to = len < GF16_STRIPE ? whole : octets;
    assert(len <= GF16_STRIPE);
    transpose(planes(&turned));
    transpose(planes(&turned) + 8);
    for (unsigned group = 0; group < VECTOR; group++)
        for (unsigned half = 0; half < 2; half++)
            put_u64(to + (size_t)GF16_GROUP * group + (size_t)8 * half,
                    turned.plane[8 * half + group % 8][group / 8]);
    if (len > 0 && len < GF16_STRIPE)
        memcpy(octets, whole, len);
}

const struct gf16_math gf16_portable = {"portable",    GF16_STRIPE,    ifft_portable,
                                        fft_portable,  scale_portable, add_portable,
                                        load_portable, store_portable};

const struct gf16_math *gf16_available(unsigned i)
{
    const struct gf16_math *const all[] = {&gf16_portable, gf16_avx2(), gf16_gfni()};
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
