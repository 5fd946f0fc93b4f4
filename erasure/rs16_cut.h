/* SPDX-License-Identifier: Apache-2.0 */
/* Private: transforms of M symbols in two parts. Leaves are neighbouring symbols; columns have one
 * symbol of each leaf. A leaf or a column fits the cache. */
#ifndef ERASURE_RS16_CUT_H
#define ERASURE_RS16_CUT_H

#include "erasure/rs16.h"

#define CUT_COLUMN_MAX 256 /* symbols of a column */

struct cut {
    const struct rs16_kind *kind;
    unsigned log_m, log_leaf; /* of symbols in all, and of a leaf */
    size_t len;               /* octets of each stripe that are in use (gf16_used) */
    struct gf16_stripe *column;
};

/* The part of a leaf in the transforms of a block of M symbols at position `start`, a multiple of
 * M, in place. */
void cut_leaf_ifft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start);
void cut_leaf_fft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start);

/* The part of a column, from one block to another or in place. adds: the result is added to the
 * target. */
void cut_column_ifft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                     unsigned column, unsigned start, bool adds);
void cut_column_fft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                    unsigned column, unsigned start);

static inline unsigned stripes_of(size_t octets)
{
    return (unsigned)((octets + GF16_STRIPE - 1) / GF16_STRIPE);
}

/* Work on a stripe of symbols of `octets` begins. */
static inline void cut_stripe(struct cut *c, size_t octets, unsigned stripe)
{
    size_t rest = octets - (size_t)stripe * GF16_STRIPE;
    c->len = gf16_used(c->kind->math, rest < GF16_STRIPE ? rest : GF16_STRIPE);
}

static inline size_t block_of(const struct rs16_kind *k)
{
    return ((size_t)1 << k->largest.log_m) * sizeof(struct gf16_stripe);
}

static inline void cut_set(struct cut *c, unsigned log_m)
{
    c->log_m = log_m;
    c->log_leaf = (log_m + 1) / 2;
}

static inline unsigned leaves_of(const struct cut *c)
{
    return 1u << (c->log_m - c->log_leaf);
}

static inline unsigned leaf_of(const struct cut *c)
{
    return 1u << c->log_leaf;
}

static inline unsigned leaf_cost(const struct cut *c)
{
    return leaf_of(c) * (c->log_leaf + 2) / 2;
}

static inline unsigned column_cost(const struct cut *c)
{
    return leaves_of(c) * (c->log_m - c->log_leaf + 2) / 2;
}

#endif
