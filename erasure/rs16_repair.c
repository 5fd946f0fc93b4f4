/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver. The inverse transforms of all blocks, with zeros for what was
 * lost, add up to the syndrome S. With L(x) the locator of the lost positions,
 * Z is the upper half of S L in the novel basis, and the symbol at a lost
 * position x is Z(x) / L'(x): S is the upper part of the polynomial E of the
 * lost symbols, E L is Z times the polynomial of all positions, whose
 * derivative is 1 (Tang, Lin: "New decoding of Reed-Solomon codes based on FFT
 * and modular approach", 2022; here for erasures alone). S L is computed at 2 M
 * positions.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "erasure/rs16_cut.h"

/* ---- the locator ---- */

/* Logarithms modulo 2^16 - 1, where 2^16 - 1 is 0, too. */
static uint16_t add_logs(unsigned a, unsigned b)
{
    unsigned sum = a + b;
    return (uint16_t)((sum & GF16_ORDER) + (sum >> GF16_BITS));
}

enum { WORDS = 16 };
typedef uint16_t words __attribute__((vector_size(2 * WORDS), aligned(2), may_alias));

/* The pairs of a block, as walsh_layer, when they are WORDS apart or more. */
static void walsh_block(uint16_t *x, unsigned apart)
{
    assert(apart % WORDS == 0);
    for (unsigned i = 0; i < apart; i += WORDS) {
        words *low = (words *)(x + i), *high = (words *)(x + i + apart);
        words a = *low, sum = a + *high, difference = a + (GF16_ORDER - *high);
        *low = sum - (words)(sum < a); /* with the carry, as add_logs */
        *high = difference - (words)(difference < a);
    }
}

/* One layer of a Walsh-Hadamard transform. */
static void walsh_layer(uint16_t *x, unsigned size, unsigned layer)
{
    unsigned apart = 1u << layer;
    if (apart >= WORDS) {
        for (unsigned block = 0; block < size; block += 2 * apart)
            walsh_block(x + block, apart);
        return;
    }
    for (unsigned block = 0; block < size; block += 2 * apart)
        for (unsigned i = block; i < block + apart; i++) {
            uint16_t a = x[i], b = x[i + apart];
            x[i] = add_logs(a, b);
            x[i + apart] = add_logs(a, GF16_ORDER - b);
        }
}

/* ---- receiver ---- */

/* In this order; from GATHER_LEAVES on for each stripe, in which the first two
 * and the last two repeat for each block, and the others for both halves of S
 * L. */
enum repair_phase {
    REPAIR_IDLE,
    LOCATE_LOST,   /* transforms of the lost positions, */
    LOCATE_LOGS,   /* and of the logarithms, */
    LOCATE_BACK,   /* and back: L(x), 1 / L'(x) at the lost ones */
    GATHER_LEAVES, /* S */
    GATHER_COLUMNS,
    SPREAD_COLUMNS,
    SPREAD_LEAVES,
    SPREAD_BACK, /* Z, which replaces S */
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
    unsigned last;         /* the last of them with lost data symbols */
    unsigned size, layers; /* of the locator: 2^layers positions */
    uint8_t *lost;         /* flags of positions */
    uint16_t *locator, *logs;
    unsigned logs_layers;       /* `logs` is the transform of so many layers; 0: it is none */
    uint8_t *syndrome, *values; /* blocks */
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
    return sizeof(struct rs16_repair) + 2 * (uint64_t)block_of(k) + 5 * (uint64_t)locator_max(k);
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
    r->syndrome = cut_blocks(k, 1);
    r->values = cut_blocks(k, 1);
    if (r->lost == NULL || r->locator == NULL || r->logs == NULL || r->syndrome == NULL ||
        r->values == NULL) {
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
    free(r);
}

static unsigned m_of(const struct rs16_repair *r)
{
    return 1u << r->cut.log_m;
}

static unsigned count_lost(const struct rs16_repair *r, unsigned from, unsigned until)
{
    unsigned lost = 0;
    for (unsigned i = from; i < until; i++)
        lost += r->lost[i];
    return lost;
}

/* The next block of data symbols of which some are lost; `blocks` if there is none. */
static unsigned next_lost(const struct rs16_repair *r, unsigned block)
{
    unsigned m = m_of(r), end = m + r->shape.data;
    for (; block < r->blocks; block++) {
        unsigned from = block * m, until = from + m < end ? from + m : end;
        if (count_lost(r, from, until) > 0)
            break;
    }
    return block;
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
    r->last = 0;
    for (unsigned block = 1; block < r->blocks; block++)
        r->last = next_lost(r, block) == block ? block : r->last;
    for (unsigned i = 0; i < r->size; i++)
        r->locator[i] = r->lost[i];
    r->stripe = r->block = r->step = 0;
    cut_stripe(&r->cut, symbols->len, 0);
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

/* The transform of the logarithms is that of the codeword before, when both are as large. */
static bool begin_logs(struct rs16_repair *r)
{
    if (r->logs_layers == r->layers)
        return false;
    r->logs_layers = 0;
    memcpy(r->logs, r->kind.field->log, r->size * sizeof *r->logs);
    return true;
}

/* Of logarithms: what a value is multiplied by. L(x), and 1 / L'(x) at the lost positions. */
static void take_powers(struct rs16_repair *r)
{
    for (unsigned i = 0; i < r->size; i++) {
        unsigned log = r->locator[i] % GF16_ORDER;
        r->locator[i] = r->kind.field->exp[r->lost[i] && log > 0 ? GF16_ORDER - log : log];
    }
}

static unsigned locate_step(struct rs16_repair *r)
{
    walsh_layer(r->phase == LOCATE_LOGS ? r->logs : r->locator, r->size, r->step);
    if (++r->step < r->layers)
        return r->size / 128 + 1;
    r->step = 0;
    if (r->phase == LOCATE_LOST && begin_logs(r)) {
        r->phase = LOCATE_LOGS;
    } else if (r->phase == LOCATE_BACK) {
        take_powers(r);
        r->phase = GATHER_LEAVES;
    } else {
        r->logs_layers = r->layers;
        multiply_logs(r);
        r->phase = LOCATE_BACK;
    }
    return r->size / 128 + 1;
}

/* This stripe of the symbol at a position. */
static uint8_t *stripe_of(const struct rs16_repair *r, unsigned position)
{
    unsigned m = m_of(r);
    uint8_t *symbol = position < m ? r->symbols.repairs + position * r->symbols.stride
                                   : r->symbols.data + (position - m) * r->symbols.stride;
    return symbol + (size_t)r->stripe * r->kind.math->stripe;
}

static size_t stripe_len(const struct rs16_repair *r)
{
    return stripe_octets(&r->kind, r->symbols.len, r->stripe);
}

/* The symbol that will be read after some others is fetched into the cache. */
static void fetch_symbol(const struct rs16_repair *r, unsigned position, unsigned end)
{
    enum { AHEAD = 16, LINE = 64 };
    unsigned next = position + AHEAD;
    if (next >= end || r->lost[next])
        return;
    const uint8_t *symbol = stripe_of(r, next);
    for (size_t at = 0; at < stripe_len(r); at += LINE)
        __builtin_prefetch(symbol + at);
}

static void gather_leaf(struct rs16_repair *r, uint8_t *block, unsigned start)
{
    unsigned first = r->step << r->cut.log_leaf, end = m_of(r) + r->shape.data, found = 0;
    for (unsigned i = first; i < first + leaf_of(&r->cut); i++) {
        unsigned position = start + i;
        uint8_t *x = block + cut_at(&r->kind, i);
        if (position >= end || r->lost[position]) {
            memset(x, 0, r->cut.len);
            continue;
        }
        fetch_symbol(r, position, end);
        r->kind.math->load(x, stripe_of(r, position), stripe_len(r));
        found++;
    }
    if (found > 0)
        cut_leaf_ifft(&r->cut, block, r->step, start);
}

/* S L at positions, and the inverse; L is zero where a symbol is lost. */
static void spread_leaf(struct rs16_repair *r, uint8_t *block, unsigned start)
{
    const struct gf16 *f = r->kind.field;
    unsigned first = r->step << r->cut.log_leaf, until = first + leaf_of(&r->cut);
    if (count_lost(r, start + first, start + until) == leaf_of(&r->cut)) {
        memset(block + cut_at(&r->kind, first), 0, (size_t)leaf_of(&r->cut) * r->kind.math->stripe);
        return;
    }
    cut_leaf_fft(&r->cut, block, r->step, start);
    for (unsigned i = first; i < until; i++)
        r->kind.math->scale(f, block + cut_at(&r->kind, i),
                            r->lost[start + i] ? 0 : r->locator[start + i], r->cut.len);
    cut_leaf_ifft(&r->cut, block, r->step, start);
}

/* For the last block with lost symbols Z itself is transformed. */
static bool gives_last(const struct rs16_repair *r)
{
    return r->block == r->last;
}

static uint8_t *given_block(const struct rs16_repair *r)
{
    return gives_last(r) ? r->syndrome : r->values;
}

/* The lost ones of data symbols, unless they have arrived. */
static void give_leaf(struct rs16_repair *r, unsigned start)
{
    const struct gf16 *f = r->kind.field;
    unsigned first = r->step << r->cut.log_leaf, m = m_of(r);
    unsigned end = m + r->shape.data - start, behind = first + leaf_of(&r->cut);
    end = end < behind ? end : behind;
    if (first >= end || count_lost(r, start + first, start + end) == 0)
        return;
    cut_leaf_fft(&r->cut, given_block(r), r->step, start);
    for (unsigned i = first; i < end; i++) {
        if (!r->lost[start + i] || r->symbols.has_data[start + i - m])
            continue;
        uint8_t *x = given_block(r) + cut_at(&r->kind, i);
        r->kind.math->scale(f, x, r->locator[start + i], r->cut.len);
        r->kind.math->store(x, stripe_of(r, start + i), stripe_len(r));
    }
}

static void next_stripe(struct rs16_repair *r)
{
    r->block = 0;
    r->phase = ++r->stripe < stripes_of(&r->kind, r->symbols.len) ? GATHER_LEAVES : REPAIR_IDLE;
    if (r->phase == GATHER_LEAVES)
        cut_stripe(&r->cut, r->symbols.len, r->stripe);
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
        r->block = r->phase == SPREAD_COLUMNS ? r->block : next_lost(r, 1);
        if (r->block >= r->blocks)
            next_stripe(r);
        break;
    case GIVE_LEAVES:
        r->block = next_lost(r, r->block + 1);
        r->phase = GIVE_COLUMNS;
        if (r->block >= r->blocks)
            next_stripe(r);
        break;
    default:
        r->phase++;
    }
}

/* Part of a column; the first of several blocks is computed where their sum is. */
static void repair_column(struct rs16_repair *r, unsigned start)
{
    const struct cut *c = &r->cut;
    switch (r->phase) {
    case GATHER_COLUMNS:
        cut_column_ifft(c, r->block == 0 ? r->syndrome : r->values, r->step, start);
        if (r->block > 0)
            cut_column_add(c, r->values, r->syndrome, r->step);
        break;
    case SPREAD_COLUMNS: /* the second time S is not needed any more */
        if (r->block == 0)
            cut_column_copy(c, r->syndrome, r->values, r->step);
        cut_column_fft(c, r->block == 0 ? r->values : r->syndrome, r->step, start);
        break;
    case SPREAD_BACK:
        cut_column_ifft(c, r->block == 0 ? r->values : r->syndrome, r->step, start);
        if (r->block > 0)
            cut_column_add(c, r->values, r->syndrome, r->step);
        break;
    default:
        assert(r->phase == GIVE_COLUMNS);
        if (!gives_last(r))
            cut_column_copy(c, r->syndrome, r->values, r->step);
        cut_column_fft(c, given_block(r), r->step, start);
    }
}

static unsigned repair_step(struct rs16_repair *r)
{
    const struct cut *c = &r->cut;
    unsigned start = r->block << c->log_m, cost = leaf_cost(c), steps = leaves_of(c);
    switch (r->phase) {
    case GATHER_LEAVES:
        gather_leaf(r, r->block == 0 ? r->syndrome : r->values, start);
        break;
    case SPREAD_LEAVES:
        spread_leaf(r, r->block == 0 ? r->values : r->syndrome, start);
        cost *= 2;
        break;
    case GIVE_LEAVES:
        give_leaf(r, start);
        break;
    default:
        cost = column_cost(c);
        steps = leaf_of(c);
        repair_column(r, start);
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
