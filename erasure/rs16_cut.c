/* SPDX-License-Identifier: Apache-2.0 */
/* The first layers of a transform are those of leaves, and the others of columns. */
#include "erasure/rs16_cut.h"

#include <string.h>

void cut_leaf_ifft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start)
{
    unsigned first = leaf << c->log_leaf;
    c->kind->math->ifft(c->kind->field, block + first, c->log_leaf, start + first, 0, c->len);
}

void cut_leaf_fft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start)
{
    unsigned first = leaf << c->log_leaf;
    c->kind->math->fft(c->kind->field, block + first, c->log_leaf, start + first, 0, c->len);
}

static void read_column(const struct cut *c, const struct gf16_stripe *from, unsigned column)
{
    for (unsigned i = 0; i < leaves_of(c); i++)
        memcpy(&c->column[i], &from[(i << c->log_leaf) + column], c->len);
}

/* The inverse transform's last part; it is added, or replaces what is there. */
void cut_column_ifft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                     unsigned column, unsigned start, bool adds)
{
    read_column(c, from, column);
    c->kind->math->ifft(c->kind->field, c->column, c->log_m - c->log_leaf, start + column,
                        c->log_leaf, c->len);
    for (unsigned i = 0; i < leaves_of(c); i++)
        if (adds)
            c->kind->math->add(&to[(i << c->log_leaf) + column], &c->column[i], c->len);
        else
            memcpy(&to[(i << c->log_leaf) + column], &c->column[i], c->len);
}

void cut_column_fft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                    unsigned column, unsigned start)
{
    read_column(c, from, column);
    c->kind->math->fft(c->kind->field, c->column, c->log_m - c->log_leaf, start + column,
                       c->log_leaf, c->len);
    for (unsigned i = 0; i < leaves_of(c); i++)
        memcpy(&to[(i << c->log_leaf) + column], &c->column[i], c->len);
}
