/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state is the last six bits, the newest lowest: states n and n + 32 lead to 2n by a 0 and to
 * 2n + 1 by a 1. Eight pairs are computed at once, in vectors of 16 bits, which metrics fit in
 * because all states are reached from the best one within six bits. Where two paths are equal, that
 * of the lower state is kept. Decisions of states 2n and 2n + 1 are bits 0 and 1 of a word. Nothing
 * can go wrong but the channel: what is decided then is wrong, and the distance tells.
 */
#include "frames/conv.h"

#include <assert.h>
#include <string.h>

enum { PAIRS = CONV_STATES / 2, LANES = 8, SURE = 255, REDUCE_AFTER = 32, UNLIKELY = 8192 };
static_assert(UNLIKELY + (REDUCE_AFTER + CONV_TAIL) * 2 * SURE < INT16_MAX,
              "metrics between two reductions");
/* 171 and 133 octal, the newest bit lowest (131.0-B 3.3.1). */
static const uint8_t generators[2] = {0x4f, 0x6d};

/* Which symbols of a period's bits are transmitted, bit 0 first (131.0-B 3.4.2). */
static const struct pattern {
    uint8_t bits, sent[2];
} patterns[CONV_RATES] = {
    {1, {0x01, 0x01}}, {2, {0x01, 0x03}}, {3, {0x05, 0x03}}, {5, {0x15, 0x0b}}, {7, {0x51, 0x2f}}};

typedef uint16_t lanes __attribute__((vector_size(2 * LANES)));
typedef int16_t signed_lanes __attribute__((vector_size(2 * LANES)));

struct conv_format conv_format_of(enum conv_rate rate)
{
    assert(rate < CONV_RATES);
    return (struct conv_format){.rate = rate, .inverted = rate == CONV_1_2};
}

unsigned conv_period_bits(enum conv_rate rate)
{
    return patterns[rate].bits;
}

unsigned conv_period_symbols(enum conv_rate rate)
{
    return (unsigned)(__builtin_popcount(patterns[rate].sent[0]) +
                      __builtin_popcount(patterns[rate].sent[1]));
}

/* Of state and bit: seven bits. */
static bool find_symbol(unsigned window, unsigned k, bool inverted)
{
    return (__builtin_parity(window & generators[k]) != 0) ^ (k == 1 && inverted);
}

void conv_encoder_init(struct conv_encoder *e, struct conv_format format)
{
    assert(format.rate < CONV_RATES);
    *e = (struct conv_encoder){.format = format};
}

size_t conv_encode(struct conv_encoder *e, const uint8_t *data, size_t bits, uint8_t *symbols)
{
    const struct pattern *p = &patterns[e->format.rate];
    size_t n = 0;
    for (size_t i = 0; i < bits; i++) {
        unsigned window = (unsigned)e->state << 1 | (data[i / 8] >> (7 - i % 8) & 1);
        for (unsigned k = 0; k < 2; k++)
            if (p->sent[k] >> e->at & 1)
                symbols[n++] = find_symbol(window, k, e->format.inverted) ? SURE : 0;
        e->state = (uint8_t)(window & (CONV_STATES - 1));
        e->at = e->at + 1 < p->bits ? (uint8_t)(e->at + 1) : 0;
    }
    return n;
}

void conv_decoder_init(struct conv_decoder *d, struct conv_format format, int start,
                       uint8_t *decisions, size_t room, size_t depth)
{
    assert(format.rate < CONV_RATES && start < CONV_STATES && depth > 0 && depth < room);
    memset(d, 0, sizeof *d);
    d->format = format;
    d->decisions = decisions;
    d->room = room;
    d->depth = depth;
    for (unsigned k = 0; k < 2; k++)
        for (unsigned n = 0; n < PAIRS; n++)
            d->expected[k][n] = find_symbol(2 * n, k, format.inverted) ? SURE : 0;
    for (int n = 0; n < CONV_STATES; n++)
        d->metric[n] = start < 0 || n == start ? 0 : UNLIKELY;
}

static unsigned find_best(const struct conv_decoder *d)
{
    unsigned best = 0;
    for (unsigned n = 1; n < CONV_STATES; n++)
        best = d->metric[n] < d->metric[best] ? n : best;
    return best;
}

uint64_t conv_distance(const struct conv_decoder *d)
{
    return d->distance + d->metric[find_best(d)];
}

static void reduce_metrics(struct conv_decoder *d)
{
    uint16_t least = d->metric[find_best(d)];
    for (unsigned n = 0; n < CONV_STATES; n++)
        d->metric[n] = (uint16_t)(d->metric[n] - least);
    d->distance += least;
    d->since = 0;
}

/* One bit: `far` is how far its symbols are from expected ones, `both` how far they can be. A
 * symbol that was not transmitted has no weight. */
static void step_states(struct conv_decoder *d, const uint16_t symbol[2], const uint16_t weight[2])
{
    uint16_t next[CONV_STATES];
    uint8_t *decision = d->decisions + d->have * CONV_STATES;
    lanes both = (lanes){0} + (uint16_t)(weight[0] + weight[1]);
    lanes first = (lanes){0} + symbol[0], second = (lanes){0} + symbol[1];
    for (unsigned n = 0; n < PAIRS; n += LANES) {
        lanes low, high, far, other;
        memcpy(&low, d->metric + n, sizeof low);
        memcpy(&high, d->metric + PAIRS + n, sizeof high);
        memcpy(&far, d->expected[0] + n, sizeof far);
        memcpy(&other, d->expected[1] + n, sizeof other);
        far = ((far ^ first) & weight[0]) + ((other ^ second) & weight[1]);
        lanes by_0[2] = {low + far, high + (both - far)};
        lanes by_1[2] = {low + (both - far), high + far};
        lanes take_0 = (lanes)((signed_lanes)(by_0[0] - by_0[1]) > 0);
        lanes take_1 = (lanes)((signed_lanes)(by_1[0] - by_1[1]) > 0);
        by_0[0] = (by_0[0] & ~take_0) | (by_0[1] & take_0);
        by_1[0] = (by_1[0] & ~take_1) | (by_1[1] & take_1);
        lanes merged[2] = {__builtin_shufflevector(by_0[0], by_1[0], 0, 8, 1, 9, 2, 10, 3, 11),
                           __builtin_shufflevector(by_0[0], by_1[0], 4, 12, 5, 13, 6, 14, 7, 15)};
        lanes taken = (take_0 & 1) | (take_1 & 2);
        memcpy(next + 2 * n, merged, sizeof merged);
        memcpy(decision + 2 * n, &taken, sizeof taken);
    }
    memcpy(d->metric, next, sizeof next);
    d->have++;
    if (++d->since == REDUCE_AFTER)
        reduce_metrics(d);
}

static void put_bit(struct conv_bits *out, size_t at, unsigned bit)
{
    out->data[at / 8] |= (uint8_t)(bit << (7 - at % 8));
}

/* Follows the path back from a state; its first n bits are appended. */
static void trace_back(struct conv_decoder *d, unsigned state, size_t n, struct conv_bits *out)
{
    size_t begun = (out->count + 7) / 8, end = (out->count + n + 7) / 8;
    memset(out->data + begun, 0, end - begun);
    for (size_t i = d->have; i-- > 0;) {
        if (i < n)
            put_bit(out, out->count + i, state & 1);
        uint16_t pair;
        memcpy(&pair, d->decisions + i * CONV_STATES + (state & ~1U), sizeof pair);
        state = state >> 1 | ((unsigned)pair >> (state & 1) & 1U) << 5;
    }
    out->count += n;
    d->have -= n;
    memmove(d->decisions, d->decisions + n * CONV_STATES, d->have * CONV_STATES);
}

static void decide_bits(struct conv_decoder *d, struct conv_bits *out)
{
    assert(d->have == d->room);
    trace_back(d, find_best(d), d->have - d->depth, out);
}

void conv_decode(struct conv_decoder *d, const uint8_t *symbols, size_t n, struct conv_bits *out)
{
    const struct pattern *p = &patterns[d->format.rate];
    for (size_t i = 0; i < n;) {
        bool sent[2] = {p->sent[0] >> d->at & 1, p->sent[1] >> d->at & 1};
        uint16_t symbol[2] = {0}, weight[2] = {sent[0] ? SURE : 0, sent[1] ? SURE : 0};
        if (sent[0])
            symbol[0] = d->half ? d->first : symbols[i++];
        if (sent[1] && i == n) { /* its second symbol comes later */
            d->first = (uint8_t)symbol[0];
            d->half = true;
            return;
        }
        if (sent[1])
            symbol[1] = symbols[i++];
        d->half = false;
        step_states(d, symbol, weight);
        d->at = d->at + 1 < p->bits ? (uint8_t)(d->at + 1) : 0;
        if (d->have == d->room)
            decide_bits(d, out);
    }
}

void conv_decoder_end(struct conv_decoder *d, int end, struct conv_bits *out)
{
    assert(end < CONV_STATES);
    trace_back(d, end >= 0 ? (unsigned)end : find_best(d), d->have, out);
}

unsigned conv_find_period(struct conv_format format, const uint8_t *symbols, size_t n,
                          uint8_t *decisions)
{
    enum { ROOM = 256, DEPTH = 1 };
    unsigned periods = conv_period_symbols(format.rate), best = 0;
    uint64_t least = UINT64_MAX;
    for (unsigned skip = 0; skip < periods && skip < n; skip++) {
        struct conv_decoder d;
        conv_decoder_init(&d, format, -1, decisions, ROOM, DEPTH);
        for (size_t at = skip; at + ROOM <= n; at += ROOM) {
            uint8_t bits[ROOM / 4];
            struct conv_bits out = {.data = bits};
            conv_decode(&d, symbols + at, ROOM, &out);
        }
        if (conv_distance(&d) < least) {
            least = conv_distance(&d);
            best = skip;
        }
    }
    return best;
}
