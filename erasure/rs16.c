/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transforms of M symbols are cut in two: leaves of neighbouring symbols, and columns, which have
 * one symbol of each leaf. A leaf or a column fits the cache, and is a step.
 *
 * The sender: the inverse transform of each block of M data symbols is added to a sum, whose
 * transform has the repair symbols.
 *
 * The receiver: the inverse transforms of all blocks, with zeros for what was lost, add up to the
 * syndrome S. With L(x) the locator of the lost positions, Z is the upper half of S L in the novel
 * basis, and the symbol at a lost position x is Z(x) / L'(x): S is the upper part of the polynomial
 * E of the lost symbols, E L is Z times the polynomial of all positions, whose derivative is 1
 * (Tang, Lin: "New decoding of Reed-Solomon codes based on FFT and modular approach", 2022; here
 * for erasures alone). S L is computed at 2 M positions.
 */
#include "erasure/rs16.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

bool rs16_shape_set(struct rs16_shape *s, unsigned data, unsigned repairs)
{
    *s = (struct rs16_shape){.data = data, .repairs = repairs};
    if (data < 1 || data > GF16_SIZE || repairs < 1 || repairs > GF16_SIZE / 2)
        return false;
    while (1u << s->log_m < repairs)
        s->log_m++;
    return data <= GF16_SIZE - (1u << s->log_m);
}

static unsigned stripes_of(size_t octets)
{
    return (unsigned)((octets + GF16_STRIPE - 1) / GF16_STRIPE);
}

static size_t block_of(const struct rs16_kind *k)
{
    return ((size_t)1 << k->largest.log_m) * sizeof(struct gf16_stripe);
}

/* ---- transforms in two parts ---- */

struct cut {
    const struct rs16_kind *kind;
    unsigned log_m, log_leaf; /* of symbols in all, and of a leaf */
    struct gf16_stripe *column;
};

static void cut_set(struct cut *c, unsigned log_m)
{
    c->log_m = log_m;
    c->log_leaf = (log_m + 1) / 2;
}

static unsigned leaves_of(const struct cut *c)
{
    return 1u << (c->log_m - c->log_leaf);
}

static unsigned leaf_of(const struct cut *c)
{
    return 1u << c->log_leaf;
}

static unsigned leaf_cost(const struct cut *c)
{
    return leaf_of(c) * (c->log_leaf + 2) / 2;
}

static unsigned column_cost(const struct cut *c)
{
    return leaves_of(c) * (c->log_m - c->log_leaf + 2) / 2;
}

static void leaf_ifft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start)
{
    unsigned first = leaf << c->log_leaf;
    c->kind->math->ifft(c->kind->field, block + first, c->log_leaf, start + first, 0);
}

static void leaf_fft(const struct cut *c, struct gf16_stripe *block, unsigned leaf, unsigned start)
{
    unsigned first = leaf << c->log_leaf;
    c->kind->math->fft(c->kind->field, block + first, c->log_leaf, start + first, 0);
}

static void read_column(const struct cut *c, const struct gf16_stripe *from, unsigned column)
{
    for (unsigned i = 0; i < leaves_of(c); i++)
        c->column[i] = from[(i << c->log_leaf) + column];
}

/* The inverse transform's last part; it is added, or replaces what is there. */
static void column_ifft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                        unsigned column, unsigned start, bool adds)
{
    read_column(c, from, column);
    c->kind->math->ifft(c->kind->field, c->column, c->log_m - c->log_leaf, start + column,
                        c->log_leaf);
    for (unsigned i = 0; i < leaves_of(c); i++)
        if (adds)
            c->kind->math->add(&to[(i << c->log_leaf) + column], &c->column[i]);
        else
            to[(i << c->log_leaf) + column] = c->column[i];
}

static void column_fft(const struct cut *c, const struct gf16_stripe *from, struct gf16_stripe *to,
                       unsigned column, unsigned start)
{
    read_column(c, from, column);
    c->kind->math->fft(c->kind->field, c->column, c->log_m - c->log_leaf, start + column,
                       c->log_leaf);
    for (unsigned i = 0; i < leaves_of(c); i++)
        to[(i << c->log_leaf) + column] = c->column[i];
}

/* ---- sender ---- */

enum encoder_phase { ENCODER_IDLE, BLOCK_LEAVES, BLOCK_COLUMNS, SUM_COLUMNS, SUM_LEAVES };

struct rs16_encoder {
    struct rs16_kind kind;
    struct cut cut;
    unsigned stripes;
    struct gf16_stripe *blocks[2]; /* stripe s of symbol i at s * M + i, M as of kind.largest */
    struct gf16_stripe *sum;
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
    struct cut c;
    cut_set(&c, k->largest.log_m);
    return 2 * stripes_of(k->symbol_max) *
           (leaves_of(&c) * leaf_cost(&c) + leaf_of(&c) * column_cost(&c));
}

uint64_t rs16_encoder_bytes(const struct rs16_kind *k)
{
    return sizeof(struct rs16_encoder) + 256 * sizeof(struct gf16_stripe) +
           3 * (uint64_t)stripes_of(k->symbol_max) * block_of(k);
}

int rs16_encoder_new(struct rs16_encoder **out, const struct rs16_kind *k)
{
    assert(k->symbol_max > 0 && k->symbol_max % GF16_GROUP == 0);
    struct rs16_encoder *e = calloc(1, sizeof *e);
    if (e == NULL)
        return HELIO_ENOMEM;
    e->kind = *k;
    e->cut.kind = &e->kind;
    e->stripes = stripes_of(k->symbol_max);
    unsigned m = 1u << k->largest.log_m, least = m < k->largest.data / 2 ? m : k->largest.data / 2;
    e->pace = 2 * job_cost(k) / (least > 0 ? least : 1) + 1;
    e->blocks[0] = malloc(e->stripes * block_of(k));
    e->blocks[1] = malloc(e->stripes * block_of(k));
    e->sum = malloc(e->stripes * block_of(k));
    e->cut.column = malloc(256 * sizeof *e->cut.column);
    if (e->blocks[0] == NULL || e->blocks[1] == NULL || e->sum == NULL || e->cut.column == NULL) {
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
    free(e->sum);
    free(e->cut.column);
    free(e);
}

bool rs16_encoder_busy(const struct rs16_encoder *e)
{
    return e->phase != ENCODER_IDLE;
}

static struct gf16_stripe *stripe_at(const struct rs16_encoder *e, struct gf16_stripe *of,
                                     unsigned stripe)
{
    return of + ((size_t)stripe << e->kind.largest.log_m);
}

/* The work on what was filled begins; the other place is filled next. */
static bool start_job(struct rs16_encoder *e, unsigned log_m, bool last)
{
    while (rs16_encoder_busy(e)) /* only when symbols come without work between them */
        rs16_encoder_work(e, RS16_STEP_MAX);
    bool overwrites = e->whole == 0;
    cut_set(&e->cut, log_m);
    e->phase = BLOCK_LEAVES;
    e->symbols = e->filled;
    e->first = e->whole;
    e->last = last;
    e->stripe = e->block = e->step = 0;
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
        size_t from = (size_t)s * GF16_STRIPE, n = len > from ? len - from : 0;
        e->kind.math->load(stripe_at(e, e->blocks[e->filling], s) + e->filled,
                           n > 0 ? symbol + from : symbol, n < GF16_STRIPE ? n : GF16_STRIPE);
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
static void block_leaf(struct rs16_encoder *e, struct gf16_stripe *x, unsigned in_block)
{
    unsigned leaf = leaf_of(&e->cut), at = e->step * leaf;
    unsigned full = in_block > at ? in_block - at : 0;
    if (full < leaf)
        memset(x + at + full, 0, (leaf - full) * sizeof *x);
    if (full > 0)
        leaf_ifft(&e->cut, x, e->step, (e->first + e->block + 1) << e->cut.log_m);
}

static unsigned encoder_step(struct rs16_encoder *e)
{
    const struct cut *c = &e->cut;
    unsigned before = e->block << c->log_m, start = (e->first + e->block + 1) << c->log_m, cost;
    unsigned in_block = e->symbols - before < 1u << c->log_m ? e->symbols - before : 1u << c->log_m;
    struct gf16_stripe *x = stripe_at(e, e->blocks[1 - e->filling], e->stripe) + before;
    struct gf16_stripe *sum = stripe_at(e, e->sum, e->stripe);
    bool columns = e->phase == BLOCK_COLUMNS || e->phase == SUM_COLUMNS;
    if (e->phase == BLOCK_LEAVES)
        block_leaf(e, x, in_block);
    else if (e->phase == BLOCK_COLUMNS)
        column_ifft(c, x, sum, e->step, start, e->first + e->block > 0);
    else if (e->phase == SUM_COLUMNS)
        column_fft(c, sum, sum, e->step, 0);
    else
        leaf_fft(c, sum, e->step, 0);
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

void rs16_encoder_read(const struct rs16_encoder *e, unsigned repair, uint8_t *symbol, size_t len)
{
    assert(!rs16_encoder_busy(e) && repair < e->kind.largest.repairs && len <= e->kind.symbol_max);
    for (size_t from = 0; from < len; from += GF16_STRIPE)
        e->kind.math->store(stripe_at(e, e->sum, (unsigned)(from / GF16_STRIPE)) + repair,
                            symbol + from, len - from < GF16_STRIPE ? len - from : GF16_STRIPE);
}

/* ---- the locator ---- */

/* Logarithms modulo 2^16 - 1, where 2^16 - 1 is 0, too. */
static uint16_t add_logs(unsigned a, unsigned b)
{
    unsigned sum = a + b;
    return (uint16_t)((sum & GF16_ORDER) + (sum >> GF16_BITS));
}

/* One layer of a Walsh-Hadamard transform. */
static void walsh_layer(uint16_t *x, unsigned size, unsigned layer)
{
    unsigned apart = 1u << layer;
    for (unsigned block = 0; block < size; block += 2 * apart)
        for (unsigned i = block; i < block + apart; i++) {
            uint16_t a = x[i], b = x[i + apart];
            x[i] = add_logs(a, b);
            x[i + apart] = add_logs(a, GF16_ORDER - b);
        }
}

/* ---- receiver ---- */

/* In this order; from GATHER_LEAVES on for each stripe, in which the first two and the last two
 * repeat for each block, and the others for both halves of S L. */
enum repair_phase {
    REPAIR_IDLE,
    LOCATE_LOST,   /* transforms of the lost positions, */
    LOCATE_LOGS,   /* and of the logarithms, */
    LOCATE_BACK,   /* and back: the logarithm of L(x), of L'(x) at the lost ones */
    GATHER_LEAVES, /* S */
    GATHER_COLUMNS,
    SPREAD_COLUMNS,
    SPREAD_LEAVES,
    SPREAD_BACK, /* Z */
    GIVE_COLUMNS,
    GIVE_LEAVES
};

struct rs16_repair {
    struct rs16_kind kind;
    struct cut cut;
    struct rs16_shape shape;
    struct rs16_symbols symbols;
    enum repair_phase phase;
    unsigned stripe, block, step;
    unsigned blocks;       /* the one of the repair symbols included */
    unsigned size, layers; /* of the locator: 2^layers positions */
    uint8_t *lost;         /* flags of positions */
    uint16_t *locator, *logs;
    struct gf16_stripe *syndrome, *values, *z;
};

static unsigned locator_max(const struct rs16_kind *k)
{
    unsigned m = 1u << k->largest.log_m, all = m + k->largest.data, size = 2 * m;
    while (size < all)
        size *= 2;
    return size;
}

uint64_t rs16_repair_bytes(const struct rs16_kind *k)
{
    return sizeof(struct rs16_repair) + 256 * sizeof(struct gf16_stripe) + 3 * block_of(k) +
           5 * (uint64_t)locator_max(k);
}

int rs16_repair_new(struct rs16_repair **out, const struct rs16_kind *k)
{
    struct rs16_repair *r = calloc(1, sizeof *r);
    if (r == NULL)
        return HELIO_ENOMEM;
    r->kind = *k;
    r->cut.kind = &r->kind;
    r->lost = malloc(locator_max(k));
    r->locator = malloc(locator_max(k) * sizeof *r->locator);
    r->logs = malloc(locator_max(k) * sizeof *r->logs);
    r->syndrome = malloc(block_of(k));
    r->values = malloc(block_of(k));
    r->z = malloc(block_of(k));
    r->cut.column = malloc(256 * sizeof *r->cut.column);
    if (r->lost == NULL || r->locator == NULL || r->logs == NULL || r->syndrome == NULL ||
        r->values == NULL || r->z == NULL || r->cut.column == NULL) {
        rs16_repair_free(r);
        return HELIO_ENOMEM;
    }
    *out = r;
    return 0;
}

void rs16_repair_free(struct rs16_repair *r)
{
    if (r == NULL)
        return;
    free(r->lost);
    free(r->locator);
    free(r->logs);
    free(r->syndrome);
    free(r->values);
    free(r->z);
    free(r->cut.column);
    free(r);
}

static unsigned m_of(const struct rs16_repair *r)
{
    return 1u << r->cut.log_m;
}

void rs16_repair_start(struct rs16_repair *r, const struct rs16_shape *s,
                       const struct rs16_symbols *symbols)
{
    assert(s->log_m <= r->kind.largest.log_m && s->data <= r->kind.largest.data);
    assert(symbols->len > 0 && symbols->len <= r->kind.symbol_max);
    assert(symbols->len % GF16_GROUP == 0 && symbols->len <= symbols->stride);
    r->shape = *s;
    r->symbols = *symbols;
    cut_set(&r->cut, s->log_m);
    unsigned m = m_of(r), lost = 0;
    r->blocks = 1 + (s->data + m - 1) / m;
    for (r->size = 2, r->layers = 1; r->size < 2 * m || r->size < m + s->data; r->layers++)
        r->size *= 2;
    assert(r->size <= locator_max(&r->kind));
    memset(r->lost, 0, r->size);
    for (unsigned i = 0; i < m; i++)
        lost += r->lost[i] = i >= s->repairs || !symbols->has_repair[i];
    for (unsigned i = 0; i < s->data; i++)
        lost += r->lost[m + i] = !symbols->has_data[i];
    assert(lost <= m);
    for (unsigned i = 0; i < r->size; i++) {
        r->locator[i] = r->lost[i];
        r->logs[i] = r->kind.field->log[i];
    }
    r->stripe = r->block = r->step = 0;
    r->phase = LOCATE_LOST;
}

void rs16_repair_stop(struct rs16_repair *r)
{
    r->phase = REPAIR_IDLE;
}

bool rs16_repair_busy(const struct rs16_repair *r)
{
    return r->phase != REPAIR_IDLE;
}

bool rs16_repair_lost(const struct rs16_repair *r, unsigned data)
{
    assert(data < r->shape.data);
    return r->lost[m_of(r) + data] != 0;
}

/* The product of both transforms; the one back has the factor 2^layers. */
static void multiply_logs(struct rs16_repair *r)
{
    unsigned shift = (GF16_BITS - r->layers) % GF16_BITS;
    for (unsigned i = 0; i < r->size; i++) {
        uint32_t product = (uint32_t)r->locator[i] * r->logs[i];
        unsigned reduced = add_logs(product & GF16_ORDER, product >> GF16_BITS) % GF16_ORDER;
        r->locator[i] = (uint16_t)(((uint64_t)reduced << shift) % GF16_ORDER);
    }
}

static unsigned locate_step(struct rs16_repair *r)
{
    walsh_layer(r->phase == LOCATE_LOGS ? r->logs : r->locator, r->size, r->step);
    if (++r->step == r->layers) {
        if (r->phase == LOCATE_LOGS)
            multiply_logs(r);
        r->step = 0;
        r->phase++;
    }
    return r->size / 128 + 1;
}

/* This stripe of the symbol at a position; NULL: it is lost or zero. */
static uint8_t *stripe_of(const struct rs16_repair *r, unsigned position)
{
    unsigned m = m_of(r);
    uint8_t *symbol = position < m ? r->symbols.repairs + position * r->symbols.stride
                                   : r->symbols.data + (position - m) * r->symbols.stride;
    return symbol + (size_t)r->stripe * GF16_STRIPE;
}

static size_t stripe_len(const struct rs16_repair *r)
{
    size_t rest = r->symbols.len - (size_t)r->stripe * GF16_STRIPE;
    return rest < GF16_STRIPE ? rest : GF16_STRIPE;
}

static void gather_leaf(struct rs16_repair *r, unsigned start)
{
    unsigned first = r->step << r->cut.log_leaf, end = m_of(r) + r->shape.data, found = 0;
    for (unsigned i = first; i < first + leaf_of(&r->cut); i++) {
        unsigned position = start + i;
        if (position >= end || r->lost[position]) {
            memset(&r->values[i], 0, sizeof r->values[i]);
            continue;
        }
        r->kind.math->load(&r->values[i], stripe_of(r, position), stripe_len(r));
        found++;
    }
    if (found > 0)
        leaf_ifft(&r->cut, r->values, r->step, start);
}

/* S L at positions, and the way back. */
static void spread_leaf(struct rs16_repair *r, unsigned start)
{
    const struct gf16 *f = r->kind.field;
    unsigned first = r->step << r->cut.log_leaf;
    leaf_fft(&r->cut, r->values, r->step, start);
    for (unsigned i = first; i < first + leaf_of(&r->cut); i++)
        r->kind.math->scale(f, &r->values[i],
                            r->lost[start + i] ? 0 : f->exp[r->locator[start + i] % GF16_ORDER]);
    leaf_ifft(&r->cut, r->values, r->step, start);
}

/* The lost ones of data symbols, unless they have arrived. */
static void give_leaf(struct rs16_repair *r, unsigned start)
{
    const struct gf16 *f = r->kind.field;
    unsigned first = r->step << r->cut.log_leaf, m = m_of(r);
    unsigned end = m + r->shape.data - start, behind = first + leaf_of(&r->cut), lost = 0;
    end = end < behind ? end : behind;
    for (unsigned i = first; i < end; i++)
        lost += r->lost[start + i];
    if (lost == 0)
        return;
    leaf_fft(&r->cut, r->values, r->step, start);
    for (unsigned i = first; i < end; i++) {
        if (!r->lost[start + i] || r->symbols.has_data[start + i - m])
            continue;
        r->kind.math->scale(f, &r->values[i],
                            f->exp[(GF16_ORDER - r->locator[start + i] % GF16_ORDER) % GF16_ORDER]);
        r->kind.math->store(&r->values[i], stripe_of(r, start + i), stripe_len(r));
    }
}

/* After the last step of a phase. */
static void next_phase(struct rs16_repair *r)
{
    r->step = 0;
    switch (r->phase) {
    case GATHER_COLUMNS:
        r->phase = ++r->block < r->blocks ? GATHER_LEAVES : SPREAD_COLUMNS;
        r->block = r->phase == GATHER_LEAVES ? r->block : 0;
        break;
    case SPREAD_BACK:
        r->phase = ++r->block < 2 ? SPREAD_COLUMNS : GIVE_COLUMNS;
        r->block = r->phase == SPREAD_COLUMNS ? r->block : 1;
        break;
    case GIVE_LEAVES:
        if (++r->block < r->blocks) {
            r->phase = GIVE_COLUMNS;
        } else {
            r->block = 0;
            r->phase =
                (size_t)++r->stripe * GF16_STRIPE < r->symbols.len ? GATHER_LEAVES : REPAIR_IDLE;
        }
        break;
    default:
        r->phase++;
    }
}

static unsigned repair_step(struct rs16_repair *r)
{
    const struct cut *c = &r->cut;
    unsigned start = r->block << c->log_m, cost = leaf_cost(c), steps = leaves_of(c);
    switch (r->phase) {
    case GATHER_LEAVES:
        gather_leaf(r, start);
        break;
    case SPREAD_LEAVES:
        spread_leaf(r, start);
        cost *= 2;
        break;
    case GIVE_LEAVES:
        give_leaf(r, start);
        break;
    default:
        cost = column_cost(c);
        steps = leaf_of(c);
        if (r->phase == GATHER_COLUMNS)
            column_ifft(c, r->values, r->syndrome, r->step, start, r->block > 0);
        else if (r->phase == SPREAD_BACK)
            column_ifft(c, r->values, r->z, r->step, start, r->block > 0);
        else
            column_fft(c, r->phase == SPREAD_COLUMNS ? r->syndrome : r->z, r->values, r->step,
                       start);
    }
    if (++r->step == steps)
        next_phase(r);
    return cost;
}

unsigned rs16_repair_work(struct rs16_repair *r, unsigned budget)
{
    unsigned cost = 0;
    while (cost < budget && rs16_repair_busy(r))
        cost += r->phase < GATHER_LEAVES ? locate_step(r) : repair_step(r);
    return cost;
}
