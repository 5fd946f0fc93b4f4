/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An encoder is a shift register D1 to D4. Its new bit is a = u + D3 + D4 (connection vector G0 =
 * 10011), and its parities are sums of a and the register (G1 = 11011, G2 = 10101, G3 = 11111). The
 * number of a state is 8 D1 + 4 D2 + 2 D3 + D4. So state s leads to s / 2 + 8 a, and states 2 j and
 * 2 j + 1 lead to states j and j + 8. All connection vectors begin and end with 1: the other a, or
 * the other D4, inverts u and all parities. The metrics of the four branches of such a butterfly
 * are thus g, -g, -g and g, where g is that of D4 = a = 0.
 *
 *     2 j     ──  g ──► j        Metrics are sums of values of received bits, added for a 0 and
 *           ╲╱ -g                subtracted for a 1. They are twice a logarithm of a likelihood
 *           ╱╲ -g                ratio. Each step subtracts that of state 0, so that differences
 *     2 j + 1 ──  g ──► j + 8    alone are kept; these are bounded, see below.
 *
 * Decoding alternates between the two component codes. Each one takes for the bits of the block
 * what was received, and what the other one has found from its own parities. What can go wrong: too
 * many errors, and then both do not agree in the end, or the frame's check value is wrong.
 */
#include "frames/turbo.h"

#include <assert.h>
#include <string.h>

#include "frames/fecf.h"

enum { BUTTERFLIES = TURBO_STATES / 2, ENCODERS = 2 };

/*
 * Bounds of 16 bits: a branch has a metric of at most G = INPUT_LIMIT + 3 * 128. Any state leads to
 * any other one in four steps, so metrics of states differ by at most 8 G; in the first and last
 * four steps by UNLIKELY + 8 G. A sum of a forward, a branch and a backward metric is the most.
 */
enum { INPUT_LIMIT = 1000, BRANCH_LIMIT = INPUT_LIMIT + TURBO_PARITIES * 128, UNLIKELY = 4096 };
static_assert(UNLIKELY + 17 * BRANCH_LIMIT <= INT16_MAX, "metrics fit");

/* Which output comes next in a codeword: of an encoder, the connection vector, or 0: the bit
 * itself. */
struct output {
    uint8_t encoder, vector;
};

struct layout {
    uint8_t bits; /* of a step */
    bool half;    /* a step has one parity: the first encoder's, then the second one's */
    struct output outputs[6];
};

static const struct layout layouts[TURBO_RATES] = {
    [TURBO_1_2] = {2, true, {{0, 0}, {0, 1}}},
    [TURBO_1_3] = {3, false, {{0, 0}, {0, 1}, {1, 1}}},
    [TURBO_1_4] = {4, false, {{0, 0}, {0, 2}, {0, 3}, {1, 1}}},
    [TURBO_1_6] = {6, false, {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 3}}},
};

static struct output find_output(const struct layout *l, uint32_t step, unsigned i)
{
    struct output o = l->outputs[i];
    if (l->half && o.vector > 0)
        o.encoder = step % 2;
    return o;
}

const char *turbo_problem(enum turbo_rate rate, uint32_t k)
{
    if ((unsigned)rate >= TURBO_RATES)
        return "the rate is 1/2, 1/3, 1/4 or 1/6";
    return k == 1784 || k == 3568 || k == 7136 || k == 8920
               ? NULL
               : "a block has 1784, 3568, 7136 or 8920 bits: 223, 446, 892 or 1115 octets";
}

uint32_t turbo_codeword_bits(enum turbo_rate rate, uint32_t k)
{
    assert(turbo_problem(rate, k) == NULL);
    return (k + TURBO_TAIL) * layouts[rate].bits;
}

/* The permutation of 6.3 g): counted from 1 there. */
static uint32_t permute_bit(uint32_t k, uint32_t s)
{
    static const uint8_t primes[8] = {31, 37, 43, 47, 53, 59, 61, 67};
    const uint32_t k1 = 8, k2 = k / k1;
    uint32_t m = (s - 1) % 2, i = (s - 1) / (2 * k2), j = (s - 1) / 2 - i * k2;
    uint32_t t = (19 * i + 1) % (k1 / 2);
    uint32_t c = (primes[t % 8] * j + 21 * m) % k2;
    return 2 * (t + c * (k1 / 2) + 1) - m;
}

void turbo_init(struct turbo *t, enum turbo_rate rate, uint32_t k)
{
    assert(turbo_problem(rate, k) == NULL);
    *t = (struct turbo){.rate = rate, .k = k, .n = turbo_codeword_bits(rate, k)};
    for (uint32_t i = 0; i < k; i++)
        t->permuted[i] = (uint16_t)(permute_bit(k, i + 1) - 1);
}

static unsigned get_bit(const uint8_t *octets, uint32_t i)
{
    return (unsigned)octets[i / 8] >> (7 - i % 8) & 1U;
}

static void put_bit(uint8_t *octets, uint32_t i, unsigned bit)
{
    octets[i / 8] |= (uint8_t)(bit << (7 - i % 8));
}

/* ---- encoder ---- */

/* One step with the bit u. Bits 0 to 3 of the result are u and the parities of G1, G2 and G3. */
static unsigned step_encoder(unsigned *state, unsigned u)
{
    const unsigned d1 = *state >> 3, d2 = *state >> 2 & 1, d3 = *state >> 1 & 1, d4 = *state & 1;
    const unsigned a = u ^ d3 ^ d4;
    *state = *state >> 1 | a << 3;
    return u | (a ^ d1 ^ d3 ^ d4) << 1 | (a ^ d2 ^ d4) << 2 | (a ^ d1 ^ d2 ^ d3 ^ d4) << 3;
}

/* The bit that makes the new one 0. */
static unsigned feedback_of(unsigned state)
{
    return (state >> 1 ^ state) & 1;
}

/* What both encoders give in a step. */
static void step_both(const struct turbo *t, const uint8_t *block, uint32_t step,
                      unsigned states[ENCODERS], unsigned given[ENCODERS])
{
    const bool tail = step >= t->k;
    given[0] = step_encoder(&states[0], tail ? feedback_of(states[0]) : get_bit(block, step));
    given[1] =
        step_encoder(&states[1], tail ? feedback_of(states[1]) : get_bit(block, t->permuted[step]));
}

void turbo_encode(const struct turbo *t, const uint8_t *block, uint8_t *codeword)
{
    const struct layout *l = &layouts[t->rate];
    unsigned states[ENCODERS] = {0}, given[ENCODERS];
    memset(codeword, 0, (t->n + 7) / 8);
    for (uint32_t step = 0, at = 0; step < t->k + TURBO_TAIL; step++) {
        step_both(t, block, step, states, given);
        for (unsigned i = 0; i < l->bits; i++) {
            const struct output o = find_output(l, step, i);
            put_bit(codeword, at++, given[o.encoder] >> o.vector & 1);
        }
    }
    assert(states[0] == 0 && states[1] == 0);
}

/* ---- decoder ---- */

/* Of the branch with D4 = a = 0 of each butterfly: 1 adds a value, -1 subtracts it. Of u, then of
 * the parities. */
static const int16_t signs[1 + TURBO_PARITIES][BUTTERFLIES] = {{1, -1, 1, -1, 1, -1, 1, -1},
                                                               {1, -1, 1, -1, -1, 1, -1, 1},
                                                               {1, 1, -1, -1, 1, 1, -1, -1},
                                                               {1, -1, -1, 1, -1, 1, 1, -1}};

static void find_branches(int16_t input, const int16_t parity[TURBO_PARITIES],
                          int16_t g[BUTTERFLIES])
{
    for (unsigned j = 0; j < BUTTERFLIES; j++)
        g[j] = (int16_t)(input * signs[0][j] + parity[0] * signs[1][j] + parity[1] * signs[2][j] +
                         parity[2] * signs[3][j]);
}

static int16_t larger_of(int16_t a, int16_t b)
{
    return a > b ? a : b;
}

static void begin_metrics(int16_t metrics[TURBO_STATES])
{
    metrics[0] = 0;
    for (unsigned s = 1; s < TURBO_STATES; s++)
        metrics[s] = -UNLIKELY;
}

static void reduce_metrics(int16_t metrics[TURBO_STATES])
{
    const int16_t base = metrics[0];
    for (unsigned s = 0; s < TURBO_STATES; s++)
        metrics[s] = (int16_t)(metrics[s] - base);
}

static void step_forward(const int16_t *restrict from, const int16_t *restrict g,
                         int16_t *restrict to)
{
    for (unsigned j = 0; j < BUTTERFLIES; j++) {
        to[j] = larger_of((int16_t)(from[2 * j] + g[j]), (int16_t)(from[2 * j + 1] - g[j]));
        to[j + 8] = larger_of((int16_t)(from[2 * j] - g[j]), (int16_t)(from[2 * j + 1] + g[j]));
    }
    reduce_metrics(to);
}

static void step_backward(const int16_t *restrict from, const int16_t *restrict g,
                          int16_t *restrict to)
{
    for (unsigned j = 0; j < BUTTERFLIES; j++) {
        to[2 * j] = larger_of((int16_t)(from[j] + g[j]), (int16_t)(from[j + 8] - g[j]));
        to[2 * j + 1] = larger_of((int16_t)(from[j] - g[j]), (int16_t)(from[j + 8] + g[j]));
    }
    reduce_metrics(to);
}

/* The best path with u = 0 less the best one with u = 1. In butterflies with an even number, D3 is
 * 0, and so u = 0 belongs to the branches with g. */
static int weigh_bit(const int16_t *restrict forward, const int16_t *restrict g,
                     const int16_t *restrict backward)
{
    int16_t zero[BUTTERFLIES], one[BUTTERFLIES];
    for (unsigned j = 0; j < BUTTERFLIES; j++) {
        int16_t same = (int16_t)(larger_of((int16_t)(forward[2 * j] + backward[j]),
                                           (int16_t)(forward[2 * j + 1] + backward[j + 8])) +
                                 g[j]);
        int16_t other = (int16_t)(larger_of((int16_t)(forward[2 * j + 1] + backward[j]),
                                            (int16_t)(forward[2 * j] + backward[j + 8])) -
                                  g[j]);
        zero[j] = signs[0][j] > 0 ? same : other;
        one[j] = signs[0][j] > 0 ? other : same;
    }
    int16_t best_zero = zero[0], best_one = one[0];
    for (unsigned j = 1; j < BUTTERFLIES; j++) {
        best_zero = larger_of(best_zero, zero[j]);
        best_one = larger_of(best_one, one[j]);
    }
    return best_zero - best_one;
}

static int16_t limit_input(int value)
{
    return (int16_t)(value > INPUT_LIMIT    ? INPUT_LIMIT
                     : value < -INPUT_LIMIT ? -INPUT_LIMIT
                                            : value);
}

/* One component code: decides the bits of work->input, in its order, and finds their extrinsic
 * values: at t->permuted of the second encoder. */
static void decode_component(const struct turbo *t, struct turbo_work *work, unsigned encoder)
{
    const uint32_t steps = t->k + TURBO_TAIL;
    int16_t g[BUTTERFLIES], backward[2][TURBO_STATES];
    begin_metrics(work->forward[0]);
    for (uint32_t i = 0; i < steps; i++) {
        find_branches(work->input[i], work->parity[encoder][i], g);
        step_forward(work->forward[i], g, work->forward[i + 1]);
    }
    begin_metrics(backward[steps % 2]);
    for (uint32_t i = steps; i-- > 0;) {
        const int16_t *after = backward[(i + 1) % 2];
        find_branches(work->input[i], work->parity[encoder][i], g);
        if (i < t->k) {
            const int value = weigh_bit(work->forward[i], g, after) / 2;
            const uint32_t at = encoder == 0 ? i : t->permuted[i];
            work->decided[encoder][at] = value < 0;
            work->extrinsic[at] = limit_input((value - work->input[i]) * 2 / 3);
        }
        step_backward(after, g, backward[i % 2]);
    }
}

/* The tail of the second encoder's input is not transmitted. */
static void give_input(const struct turbo *t, struct turbo_work *work, unsigned encoder)
{
    for (uint32_t i = 0; i < t->k; i++) {
        const uint32_t at = encoder == 0 ? i : t->permuted[i];
        work->input[i] = limit_input(work->received[at] + work->extrinsic[at]);
    }
    for (uint32_t i = t->k; i < t->k + TURBO_TAIL; i++)
        work->input[i] = encoder == 0 ? work->received[i] : 0;
}

/* Of rate 1/2, half of the parities are not transmitted: 0. */
static void take_symbols(const struct turbo *t, struct turbo_work *work, const uint8_t *symbols)
{
    const struct layout *l = &layouts[t->rate];
    memset(work->parity, 0, sizeof work->parity);
    memset(work->extrinsic, 0, sizeof work->extrinsic);
    for (uint32_t step = 0; step < t->k + TURBO_TAIL; step++) {
        for (unsigned i = 0; i < l->bits; i++) {
            const struct output o = find_output(l, step, i);
            const int16_t value = (int16_t)(128 - *symbols++);
            if (o.vector == 0)
                work->received[step] = value;
            else
                work->parity[o.encoder][step][o.vector - 1] = value;
        }
    }
}

static void pack_bits(const struct turbo *t, const uint8_t *bits, uint8_t *block)
{
    memset(block, 0, t->k / 8);
    for (uint32_t i = 0; i < t->k; i++)
        put_bit(block, i, bits[i]);
}

static bool is_decoded(const struct turbo *t, const struct turbo_work *work, bool checked,
                       uint8_t *block)
{
    if (memcmp(work->decided[0], work->decided[1], t->k) != 0)
        return false;
    pack_bits(t, work->decided[1], block);
    return !checked || fecf_crc(FECF_INIT, block, t->k / 8) == 0;
}

static uint32_t count_corrected(const struct turbo *t, const uint8_t *symbols, const uint8_t *block)
{
    const struct layout *l = &layouts[t->rate];
    unsigned states[ENCODERS] = {0}, given[ENCODERS];
    uint32_t corrected = 0;
    for (uint32_t step = 0; step < t->k + TURBO_TAIL; step++) {
        step_both(t, block, step, states, given);
        for (unsigned i = 0; i < l->bits; i++) {
            const struct output o = find_output(l, step, i);
            corrected += (given[o.encoder] >> o.vector & 1) != (*symbols++ >= 128);
        }
    }
    return corrected;
}

struct turbo_result turbo_decode(const struct turbo *t, struct turbo_work *work,
                                 const uint8_t *symbols, uint32_t iterations_max, bool checked,
                                 uint8_t *block)
{
    struct turbo_result result = {0};
    assert(iterations_max > 0);
    take_symbols(t, work, symbols);
    while (!result.decoded && result.iterations < iterations_max) {
        for (unsigned encoder = 0; encoder < ENCODERS; encoder++) {
            give_input(t, work, encoder);
            decode_component(t, work, encoder);
        }
        result.iterations++;
        result.decoded = is_decoded(t, work, checked, block);
    }
    if (result.decoded) {
        result.corrected = count_corrected(t, symbols, block);
        return result;
    }
    for (uint32_t i = 0; i < t->k; i++)
        work->decided[0][i] = work->received[i] <= 0;
    pack_bits(t, work->decided[0], block);
    return result;
}

void turbo_harden(const struct turbo *t, const uint8_t *codeword, uint8_t *symbols)
{
    for (uint32_t i = 0; i < t->n; i++)
        symbols[i] = get_bit(codeword, i) != 0 ? 192 : 64;
}
