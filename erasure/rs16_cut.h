/* SPDX-License-Identifier: Apache-2.0 */
/* Private: transforms of M symbols in two parts. Leaves are neighbouring symbols; columns have one
 * symbol of each leaf. A leaf or a column fits the first-level cache. Behind each leaf of the
 * largest codeword a block has an unused stripe, so that a column's stripes are in different sets
 * of the cache. */
#ifndef ERASURE_RS16_CUT_H
#define ERASURE_RS16_CUT_H

#include "erasure/rs16.h"

#define CUT_LEAF_BITS 6 /* a leaf of the largest codeword has 2^6 symbols at least */

struct cut {
    const struct rs16_kind *kind;
    unsigned log_m, log_leaf; /* of symbols in all, and of a leaf */
    size_t len;               /* octets of each stripe that are in use (gf16_used) */
};

/* The part of a leaf in the transforms of a block of M symbols at position `start`, a multiple of
 * M, in place. */
void cut_leaf_ifft(const struct cut *c, uint8_t *block, unsigned leaf, unsigned start);
void cut_leaf_fft(const struct cut *c, uint8_t *block, unsigned leaf, unsigned start);

/* The part of a column, in place. */
void cut_column_ifft(const struct cut *c, uint8_t *block, unsigned column, unsigned start);
void cut_column_fft(const struct cut *c, uint8_t *block, unsigned column, unsigned start);
/* A column is added to that of another block, or replaces it. */
void cut_column_add(const struct cut *c, const uint8_t *from, uint8_t *to, unsigned column);
void cut_column_copy(const struct cut *c, const uint8_t *from, uint8_t *to, unsigned column);

static inline unsigned log_leaf_of(const struct rs16_kind *k)
{
    unsigned half = (k->largest.log_m + 1) / 2;
    return half < CUT_LEAF_BITS ? CUT_LEAF_BITS : half;
}

/* Where the stripe of a symbol is in a block, octets. */
static inline size_t cut_at(const struct rs16_kind *k, unsigned symbol)
{
    return ((size_t)symbol + (symbol >> log_leaf_of(k))) * k->math->stripe;
}

static inline unsigned stripes_of(const struct rs16_kind *k, size_t octets)
{
    return (unsigned)((octets + k->math->stripe - 1) / k->math->stripe);
}

/* Octets of a stripe of symbols of `octets`, at most. */
static inline size_t stripe_octets(const struct rs16_kind *k, size_t octets, unsigned stripe)
{
    size_t rest = octets - (size_t)stripe * k->math->stripe;
    return rest < k->math->stripe ? rest : k->math->stripe;
}

/* Work on a stripe of symbols of `octets` begins. */
static inline void cut_stripe(struct cut *c, size_t octets, unsigned stripe)
{
    c->len = gf16_used(c->kind->math, stripe_octets(c->kind, octets, stripe));
}

/* Octets of a block of the largest codeword. */
static inline size_t block_of(const struct rs16_kind *k)
{
    return cut_at(k, 1u << k->largest.log_m);
}

/* Memory for `count` of them. */
uint8_t *cut_blocks(const struct rs16_kind *k, size_t count);

static inline void cut_set(struct cut *c, unsigned log_m)
{
    unsigned leaf = log_leaf_of(c->kind);
    c->log_m = log_m;
    c->log_leaf = log_m < leaf ? log_m : leaf;
}

static inline unsigned leaves_of(const struct cut *c)
{
    return 1u << (c->log_m - c->log_leaf);
}

static inline unsigned leaf_of(const struct cut *c)
{
    return 1u << c->log_leaf;
}

/* Costs of work are products of RS16_COST_OCTETS. */
static inline unsigned cost_of(const struct cut *c, unsigned products)
{
    return products * c->kind->math->stripe / RS16_COST_OCTETS + 1;
}

static inline unsigned leaf_cost(const struct cut *c)
{
    return cost_of(c, leaf_of(c) * (c->log_leaf + 2) / 2);
}

static inline unsigned column_cost(const struct cut *c)
{
    return cost_of(c, leaves_of(c) * (c->log_m - c->log_leaf + 2) / 2);
}

#endif
