/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Viterbi decoder against libfec's (Phil Karn's code, Debian's package): 10,000 frames at each
 * rate, hard and soft in turn, with noise from none to far beyond what can be corrected. At rate
 * 1/2 the encoders' symbols must be those of libfec's polynomials and the decoded frames equal, bit
 * by bit. libfec knows no puncturing: its decoder gets 128 for symbols that were not transmitted,
 * which it takes for slightly nearer to a 1; so its path must be as near to the received symbols as
 * ours, which may be another one. Prints what was compared as JSON.
 */
#include <fec.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "frames/conv.h"

enum { FRAMES = 10000, BITS = 512, ALL = BITS + CONV_TAIL, ERASED = 128, OTHER_START = 63 };

struct account {
    unsigned right, wrong, other_path;
    uint64_t symbol_errors, bit_errors;
};

static double draw_normal(struct rng *r)
{
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(6.283185307179586 * rng_unit(r));
}

/* Hard symbols with errors, or soft ones with Gaussian noise. */
static void add_noise(struct rng *r, uint8_t *symbols, size_t n, bool soft, double strength,
                      struct account *a)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t sent = symbols[i];
        if (!soft) {
            symbols[i] ^= rng_chance(r, 0.25 * strength) ? 255 : 0;
        } else {
            double x = 127.5 + (sent == 0 ? -50 : 50) * (1 + 2 * strength * draw_normal(r));
            symbols[i] = x <= 0 ? 0 : x >= 255 ? 255 : (uint8_t)x;
        }
        a->symbol_errors += (sent >= 128) != (symbols[i] >= 128);
    }
}

/* The symbols of rate 1/2, with `fill` at those that are not transmitted. */
static void spread_symbols(enum conv_rate rate, const uint8_t *symbols, uint8_t *out)
{
    static const char *const sent[CONV_RATES] = {"11", "1101", "110110", "1101100110",
                                                 "11010101100110"};
    size_t period = strlen(sent[rate]);
    for (size_t i = 0; i < 2 * (size_t)ALL; i++)
        out[i] = sent[rate][i % period] == '1' ? *symbols++ : ERASED;
}

/* Of the best path with these bits: another start than state 0 costs what libfec has it cost. */
static uint64_t measure_distance(struct conv_format f, const uint8_t *data, const uint8_t *received)
{
    uint64_t least = UINT64_MAX;
    for (unsigned start = 0; start < CONV_STATES; start++) {
        struct conv_encoder e;
        uint8_t symbols[2 * ALL];
        uint64_t sum = start == 0 ? 0 : OTHER_START;
        conv_encoder_init(&e, f);
        e.state = (uint8_t)start;
        size_t n = conv_encode(&e, data, ALL, symbols);
        for (size_t i = 0; i < n; i++)
            sum += (unsigned)abs(symbols[i] - received[i]);
        least = sum < least ? sum : least;
    }
    return least;
}

static void decode_ours(struct conv_format f, const uint8_t *received, size_t n, uint8_t *got)
{
    static uint8_t decisions[(ALL + 1) * CONV_STATES];
    struct conv_decoder d;
    struct conv_bits out = {.data = got};
    conv_decoder_init(&d, f, -1, decisions, ALL + 1, 1);
    for (int state = 1; state < CONV_STATES; state++)
        d.metric[state] = OTHER_START; /* as libfec has it */
    conv_decode(&d, received, n, &out);
    conv_decoder_end(&d, 0, &out);
}

static void decode_other(void *viterbi, struct conv_format f, const uint8_t *received, uint8_t *got)
{
    uint8_t all[2 * ALL];
    int polynomials[2] = {V27POLYB, f.inverted ? -V27POLYA : V27POLYA};
    spread_symbols(f.rate, received, all);
    set_viterbi27_polynomial_port(polynomials);
    init_viterbi27_port(viterbi, 0);
    update_viterbi27_blk_port(viterbi, all, ALL);
    chainback_viterbi27_port(viterbi, got, BITS, 0);
}

static bool compare_frame(void *viterbi, struct conv_format f, struct rng *r, unsigned k,
                          struct account *a)
{
    uint8_t data[BITS / 8 + 1] = {0}, ours[BITS / 8 + 2], other[BITS / 8 + 1] = {0};
    uint8_t received[2 * ALL];
    struct conv_encoder e;
    for (size_t i = 0; i < BITS / 8; i++)
        data[i] = (uint8_t)rng_u64(r);
    conv_encoder_init(&e, f);
    size_t n = conv_encode(&e, data, ALL, received);
    add_noise(r, received, n, k % 2 == 1, k % 11 / 20.0, a);
    decode_ours(f, received, n, ours);
    decode_other(viterbi, f, received, other);
    bool right = memcmp(ours, data, BITS / 8) == 0, same = memcmp(ours, other, BITS / 8) == 0;
    a->right += right;
    a->wrong += !right;
    a->other_path += !same;
    for (size_t i = 0; i < BITS / 8; i++)
        a->bit_errors += (unsigned)__builtin_popcount((unsigned)(ours[i] ^ data[i]));
    return same || (f.rate != CONV_1_2 &&
                    measure_distance(f, ours, received) <= measure_distance(f, other, received));
}

static bool compare_rate(void *viterbi, struct conv_format f)
{
    static const char *const names[CONV_RATES] = {"1/2", "2/3", "3/4", "5/6", "7/8"};
    struct account a = {0};
    struct rng r;
    rng_init(&r, (uint64_t)f.rate);
    for (unsigned k = 0; k < FRAMES; k++) {
        if (!compare_frame(viterbi, f, &r, k, &a)) {
            fprintf(stderr, "fec_conv: rate %s: frame %u differs\n", names[f.rate], k);
            return false;
        }
    }
    printf("{\"rate\": \"%s\", \"frames\": %d, \"right\": %u, \"wrong\": %u, \"other_path\": %u, "
           "\"symbol_errors\": %llu, \"bit_errors\": %llu}\n",
           names[f.rate], FRAMES, a.right, a.wrong, a.other_path,
           (unsigned long long)a.symbol_errors, (unsigned long long)a.bit_errors);
    return a.right > 0 && a.wrong > 0;
}

int main(void)
{
    bool good = true;
    void *viterbi = create_viterbi27_port(BITS);
    if (viterbi == NULL)
        return EXIT_FAILURE;
    for (int rate = CONV_1_2; rate < CONV_RATES; rate++)
        good = compare_rate(viterbi, conv_format_of((enum conv_rate)rate)) && good;
    delete_viterbi27_port(viterbi);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
