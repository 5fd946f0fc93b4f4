/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender: the inverse transform of each block of M data symbols is added to
 * a sum, whose transform has the repair symbols. One block is filled while
 * there is work on the other one.
 */
#include "erasure/rs16.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "erasure/rs16_cut.h"

bool rs16_shape_set(struct rs16_shape *s, unsigned data, unsigned repairs)
{
    *s = (struct rs16_shape){.data = data, .repairs = repairs};
    if (data < 1 || data > GF16_SIZE || repairs < 1 || repairs > GF16_SIZE / 2)
        return false;
    while (1u << s->log_m < repairs)
        s->log_m++;
    return data <= GF16_SIZE - (1u << s->log_m);
}

enum encoder_phase { ENCODER_IDLE, BLOCK_LEAVES, BLOCK_COLUMNS, SUM_COLUMNS, SUM_LEAVES };

struct rs16_encoder {
    struct rs16_kind kind;
    struct cut cut;
    unsigned stripes;
    uint8_t *blocks[2];       /* for each stripe a block of M symbols, M as of kind.largest */
    uint8_t *sums;            /* a ring of `kept`, of one codeword each */
    unsigned place;           /* of the one that is worked on */
    unsigned filling, filled; /* the block that is filled, and its symbols */
    unsigned whole;           /* whole blocks of this codeword before it */
    unsigned pace;            /* cost of the work with each symbol */
    /* the work: blocks of 2^cut.log_m symbols of one of `blocks`, and then the sum's transform */
    enum encoder_phase phase;
    unsigned symbols, first; /* in the block; block number of its first ones in the codeword */
    unsigned stripe, block, step;
    bool last;
};

static unsigned job_cost(const struct rs16_kind *k)
{
    struct cut c = {.kind = k};
    cut_set(&c, k->largest.log_m);
    return 2 * stripes_of(k, k->symbol_max) *
           (leaves_of(&c) * leaf_cost(&c) + leaf_of(&c) * column_cost(&c));
}

uint64_t rs16_encoder_bytes(const struct rs16_kind *k)
{
    return sizeof(struct rs16_encoder) +
           (2 + (uint64_t)k->kept) * stripes_of(k, k->symbol_max) * block_of(k);
}

int rs16_encoder_new(struct rs16_encoder **out, const struct rs16_kind *k)
{
    assert(k->symbol_max > 0 && k->symbol_max % GF16_GROUP == 0 && k->kept > 0);
    struct rs16_encoder *e = calloc(1, sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    e->kind = *k;
    e->cut.kind = &e->kind;
    e->stripes = stripes_of(k, k->symbol_max);
    unsigned m = 1u << k->largest.log_m, least = m < k->largest.data / 2 ? m : k->largest.data / 2;
    e->pace = 2 * job_cost(k) / (least > 0 ? least : 1) + 1;
    e->blocks[0] = cut_blocks(k, e->stripes);
    e->blocks[1] = cut_blocks(k, e->stripes);
    e->sums = cut_blocks(k, (size_t)k->kept * e->stripes);
    if (e->blocks[0] == NULL || e->blocks[1] == NULL || e->sums == NULL) {
        rs16_encoder_free(e);
        return HELIO_ENOMEM;
    }
    *out = e;
    return 0;
}

void rs16_encoder_free(struct rs16_encoder *e)
{
    if (e == NULL)
        return;
    free(e->blocks[0]);
    free(e->blocks[1]);
    free(e->sums);
    free(e);
}

bool rs16_encoder_busy(const struct rs16_encoder *e)
{
    return e->phase != ENCODER_IDLE;
}

static uint8_t *stripe_at(const struct rs16_encoder *e, uint8_t *of, size_t stripe)
{
    return of + stripe * block_of(&e->kind);
}

/* The same of the repair symbols at a place. */
static uint8_t *sum_at(const struct rs16_encoder *e, unsigned place, unsigned stripe)
{
    assert(place < e->kind.kept && stripe < e->stripes);
    return stripe_at(e, e->sums, (size_t)place * e->stripes + stripe);
}

/* The work on what was filled begins; the other place is filled next. */
static bool start_job(struct rs16_encoder *e, unsigned log_m, bool last)
{
    while (rs16_encoder_busy(e)) /* only when symbols arrive without work between them */
        rs16_encoder_work(e, RS16_STEP_MAX);
    bool overwrites = e->whole == 0;
    if (overwrites)
        e->place = (e->place + 1) % e->kind.kept;
    cut_set(&e->cut, log_m);
    e->phase = BLOCK_LEAVES;
    e->symbols = e->filled;
    e->first = e->whole;
    e->last = last;
    e->stripe = e->block = e->step = 0;
    cut_stripe(&e->cut, e->kind.symbol_max, 0);
    e->whole = last ? 0 : e->whole + 1;
    e->filling = 1 - e->filling;
    e->filled = 0;
    return overwrites;
}

bool rs16_encoder_add(struct rs16_encoder *e, const uint8_t *symbol, size_t len)
{
    unsigned m = 1u << e->kind.largest.log_m;
    bool overwrites = false;
    assert(len <= e->kind.symbol_max);
    if (e->filled == m)
        overwrites = start_job(e, e->kind.largest.log_m, false);
    for (unsigned s = 0; s < e->stripes; s++) {
        size_t stripe = e->kind.math->stripe, from = s * stripe, n = len > from ? len - from : 0;
        e->kind.math->load(stripe_at(e, e->blocks[e->filling], s) + cut_at(&e->kind, e->filled),
                           n > 0 ? symbol + from : symbol, n < stripe ? n : stripe);
    }
    e->filled++;
    rs16_encoder_work(e, e->pace);
    return overwrites;
}

bool rs16_encoder_end(struct rs16_encoder *e, unsigned repairs)
{
    struct rs16_shape s;
    unsigned log_m = e->kind.largest.log_m;
    assert(e->filled > 0 && repairs > 0 && repairs <= e->kind.largest.repairs);
    if (e->whole == 0 && e->filled < 1u << log_m && rs16_shape_set(&s, e->filled, repairs))
        log_m = s.log_m;
    return start_job(e, log_m, true);
}

/* The part of a block behind its last symbol is zero. */
static void block_leaf(struct rs16_encoder *e, uint8_t *x, unsigned in_block)
{
    unsigned leaf = leaf_of(&e->cut), at = e->step * leaf;
    unsigned full = in_block > at ? in_block - at : 0;
    if (full < leaf)
        memset(x + cut_at(&e->kind, at) + (size_t)full * e->kind.math->stripe, 0,
               (size_t)(leaf - full) * e->kind.math->stripe);
    if (full > 0)
        cut_leaf_ifft(&e->cut, x, e->step, (e->first + e->block + 1) << e->cut.log_m);
}

/* The rest of the inverse transform of a block, which is added to the sum. */
static void block_column(struct rs16_encoder *e, uint8_t *x, uint8_t *sum, unsigned start)
{
    cut_column_ifft(&e->cut, x, e->step, start);
    if (e->first + e->block > 0)
        cut_column_add(&e->cut, x, sum, e->step);
    else
        cut_column_copy(&e->cut, x, sum, e->step);
}

static unsigned encoder_step(struct rs16_encoder *e)
{
    const struct cut *c = &e->cut;
    unsigned before = e->block << c->log_m, start = (e->first + e->block + 1) << c->log_m, cost;
    unsigned in_block = e->symbols - before < 1u << c->log_m ? e->symbols - before : 1u << c->log_m;
    uint8_t *x = stripe_at(e, e->blocks[1 - e->filling], e->stripe) + cut_at(&e->kind, before);
    uint8_t *sum = sum_at(e, e->place, e->stripe);
    bool columns = e->phase == BLOCK_COLUMNS || e->phase == SUM_COLUMNS;
    if (e->phase == BLOCK_LEAVES)
        block_leaf(e, x, in_block);
    else if (e->phase == BLOCK_COLUMNS)
        block_column(e, x, sum, start);
    else if (e->phase == SUM_COLUMNS)
        cut_column_fft(c, sum, e->step, 0);
    else
        cut_leaf_fft(c, sum, e->step, 0);
    cost = columns ? column_cost(c) : leaf_cost(c);
    if (++e->step < (columns ? leaf_of(c) : leaves_of(c)))
        return cost;
    e->step = 0;
    if (e->phase == BLOCK_LEAVES || e->phase == SUM_COLUMNS) {
        e->phase++;
    } else if (e->phase == BLOCK_COLUMNS && ++e->block << c->log_m < e->symbols) {
        e->phase = BLOCK_LEAVES;
    } else if (e->phase == BLOCK_COLUMNS && e->last) {
        e->phase = SUM_COLUMNS;
    } else {
        e->block = 0;
        e->phase = ++e->stripe < e->stripes ? BLOCK_LEAVES : ENCODER_IDLE;
        if (e->phase == BLOCK_LEAVES)
            cut_stripe(&e->cut, e->kind.symbol_max, e->stripe);
    }
    return cost;
}

unsigned rs16_encoder_work(struct rs16_encoder *e, unsigned budget)
{
    unsigned cost = 0;
    while (cost < budget && rs16_encoder_busy(e))
        cost += encoder_step(e);
    return cost;
}

unsigned rs16_encoder_place(const struct rs16_encoder *e)
{
    return e->place;
}

void rs16_encoder_read(const struct rs16_encoder *e, unsigned place, unsigned repair,
                       uint8_t *symbol, size_t len)
{
    assert(place != e->place || !rs16_encoder_busy(e));
    assert(repair < e->kind.largest.repairs && len <= e->kind.symbol_max);
    size_t stripe = e->kind.math->stripe;
    for (size_t from = 0; from < len; from += stripe)
        e->kind.math->store(sum_at(e, place, (unsigned)(from / stripe)) + cut_at(&e->kind, repair),
                            symbol + from, len - from < stripe ? len - from : stripe);
}
