/* SPDX-License-Identifier: Apache-2.0 */
/* The first layers of a transform are those of leaves, and the others of columns. */
#include "erasure/rs16_cut.h"

#include <stdlib.h>
#include <string.h>

uint8_t *cut_blocks(const struct rs16_kind *k, size_t count)
{
    size_t octets = count * block_of(k) + GF16_ALIGNMENT - 1;
    return aligned_alloc(GF16_ALIGNMENT, octets / GF16_ALIGNMENT * GF16_ALIGNMENT);
}

void cut_leaf_ifft(const struct cut *c, uint8_t *block, unsigned leaf, unsigned start)
{
    const struct gf16_math *m = c->kind->math;
    unsigned first = leaf << c->log_leaf;
    m->ifft(c->kind->field, block + cut_at(c->kind, first), m->stripe, c->log_leaf, start + first,
            0, c->len);
}

void cut_leaf_fft(const struct cut *c, uint8_t *block, unsigned leaf, unsigned start)
{
    const struct gf16_math *m = c->kind->math;
    unsigned first = leaf << c->log_leaf;
    m->fft(c->kind->field, block + cut_at(c->kind, first), m->stripe, c->log_leaf, start + first, 0,
           c->len);
}

/* Octets from a stripe of a column to the next one. */
static size_t apart_of(const struct cut *c)
{
    return cut_at(c->kind, leaf_of(c));
}

void cut_column_ifft(const struct cut *c, uint8_t *block, unsigned column, unsigned start)
{
    c->kind->math->ifft(c->kind->field, block + cut_at(c->kind, column), apart_of(c),
                        c->log_m - c->log_leaf, start + column, c->log_leaf, c->len);
}

void cut_column_fft(const struct cut *c, uint8_t *block, unsigned column, unsigned start)
{
    c->kind->math->fft(c->kind->field, block + cut_at(c->kind, column), apart_of(c),
                       c->log_m - c->log_leaf, start + column, c->log_leaf, c->len);
}

void cut_column_add(const struct cut *c, const uint8_t *from, uint8_t *to, unsigned column)
{
    size_t at = cut_at(c->kind, column);
    c->kind->math->add(to + at, from + at, apart_of(c), leaves_of(c), c->len);
}

void cut_column_copy(const struct cut *c, const uint8_t *from, uint8_t *to, unsigned column)
{
    size_t at = cut_at(c->kind, column);
    for (unsigned i = 0; i < leaves_of(c); i++, at += apart_of(c))
        memcpy(to + at, from + at, c->len);
}
