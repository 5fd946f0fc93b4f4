/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The serially concatenated PPM code of CCSDS 142.0-B-1, section 3 (High Photon Efficiency), over
 * the Poisson channel: how many codewords of a number of random ones an iterative receiver loses.
 *
 *     scppm ORDER RATE BACKGROUND SIGNAL_DB CODEWORDS SEED
 *
 * ORDER is the PPM order, RATE one of 1/3, 1/2, 2/3, BACKGROUND the mean of detected background
 * photons in a slot, SIGNAL_DB the mean of detected signal photons in a pulse. It prints the
 * numbers of codewords and of lost ones, and the mean number of iterations.
 *
 * Encoder: two bits 0 end the information; convolutional code 5, 7, 7 (octal); puncturing;
 * permutation 11 j + 210 j^2 mod 15120; accumulator 1 / (1 + D); symbols, the first bit on top. The
 * randomizer and the channel interleaver change nothing over this channel and are left out.
 *
 * Receiver: photons are counted in each slot. Two decoders of the forward-backward algorithm (Bahl,
 * Cocke, Jelinek, Raviv 1974) exchange extrinsic probabilities, at most ITERATIONS times: one of
 * the accumulator with the symbols, one of the convolutional code. It stops when the information is
 * right, which stands for the check of the CRC-32; the CRC's 32 bits count as information here.
 *
 * LANES codewords are decoded side by side. Each has its own random numbers, so that a codeword
 * does not depend on the others.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CODED 15120u
#define ORDER_MAX 256u
#define LANES 8u
#define ITERATIONS 32u
#define COUNTS 128u
#define LEAST 1e-5F    /* of a probability */
#define NOTHING 1e-37F /* added to sums that are divided by */

typedef float lanes[LANES]; /* one number of each codeword */

struct lane {
    uint64_t random;
    uint32_t iterations;
    bool used;
    uint8_t sent[CODED];
};

static struct {
    unsigned bits, order, stages,
        steps; /* bits and slots of a symbol; symbols, steps of the code */
    double background, signal;
    double cdf[2][COUNTS];     /* of the counts without and with a pulse */
    float weight[COUNTS];      /* (1 + signal / background)^(-n) */
    uint8_t keep[6];           /* puncturing */
    uint32_t place[3 * CODED]; /* of the outer code's bit in the permuted word; CODED: punctured */
} code;

static struct lane lane[LANES];
static lanes *channel;            /* of symbol and slot */
static lanes message[CODED + 1];  /* probability of 1 of each bit before the accumulator */
static lanes ahead[CODED + 1][4]; /* forward probabilities of the states */
static lanes sums[CODED][4];      /* of a symbol: by its first and last bit */
static uint8_t decided[CODED][LANES];

static uint64_t draw_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 (Steele, Lea, Flood 2014) */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static unsigned draw_count(uint64_t *state, bool pulse)
{
    double u = (double)(draw_bits(state) >> 11) * 0x1p-53;
    unsigned n = 0;
    while (n < COUNTS - 1 && u >= code.cdf[pulse][n])
        n++;
    return n;
}

static void fill_counts(double *cdf, double mean)
{
    double p = exp(-mean), sum = 0;
    for (unsigned n = 0; n < COUNTS; n++) {
        sum += p;
        cdf[n] = sum;
        p *= mean / (n + 1);
    }
}

static bool set_code(unsigned order, const char *rate, double background, double signal_db)
{
    static const struct {
        const char *rate;
        unsigned steps;
        uint8_t keep[6];
    } rates[] = {{"1/3", CODED / 3, {1, 1, 1, 1, 1, 1}},
                 {"1/2", CODED / 2, {1, 1, 0, 1, 1, 0}},
                 {"2/3", CODED / 3 * 2, {1, 1, 0, 0, 1, 0}}};
    code.order = order;
    while (1u << code.bits < order)
        code.bits++;
    if (order < 4 || order > ORDER_MAX || 1u << code.bits != order || CODED % code.bits != 0)
        return false;
    code.stages = CODED / code.bits;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (strcmp(rate, rates[i].rate) == 0) {
            code.steps = rates[i].steps;
            memcpy(code.keep, rates[i].keep, sizeof code.keep);
        }
    code.background = background;
    code.signal = pow(10, signal_db / 10);
    fill_counts(code.cdf[0], background);
    fill_counts(code.cdf[1], background + code.signal);
    for (unsigned n = 0; n < COUNTS; n++)
        code.weight[n] = (float)pow(1 + code.signal / background, -(double)n);
    static uint32_t inverse[CODED];
    for (uint64_t j = 0; j < CODED; j++)
        inverse[(11 * j + 210 * j * j) % CODED] = (uint32_t)j;
    for (uint32_t i = 0, kept = 0; i < 3 * code.steps; i++)
        code.place[i] = code.keep[i % 6] ? inverse[kept++] : CODED;
    return code.steps > 0 && background > 0;
}

/* The bits before the accumulator. */
static void encode(const uint8_t *sent, uint8_t *permuted)
{
    unsigned one = 0, two = 0; /* the bits before */
    for (unsigned t = 0; t < code.steps; t++) {
        unsigned u = sent[t], out[3] = {u ^ two, u ^ one ^ two, u ^ one ^ two};
        for (unsigned k = 0; k < 3; k++)
            if (code.place[3 * t + k] < CODED)
                permuted[code.place[3 * t + k]] = (uint8_t)out[k];
        two = one;
        one = u;
    }
}

/* A new codeword into lane l: sent, and what the receiver counted. */
static void fill_lane(unsigned l, uint64_t random)
{
    static uint8_t permuted[CODED];
    struct lane *x = &lane[l];
    x->random = random;
    x->iterations = 0;
    x->used = true;
    for (unsigned t = 0; t < code.steps; t++)
        x->sent[t] = t + 2 < code.steps && (draw_bits(&x->random) & 1) != 0;
    encode(x->sent, permuted);
    unsigned last = 0;
    for (unsigned s = 0; s < code.stages; s++) {
        unsigned symbol = 0, counts[ORDER_MAX], most = 0;
        for (unsigned i = 0; i < code.bits; i++) {
            last ^= permuted[s * code.bits + i];
            symbol = symbol << 1 | last;
        }
        for (unsigned k = 0; k < code.order; k++) {
            counts[k] = draw_count(&x->random, k == symbol);
            if (counts[k] > most)
                most = counts[k];
        }
        for (unsigned k = 0; k < code.order; k++)
            channel[(size_t)s * code.order + k][l] = code.weight[most - counts[k]];
    }
    for (unsigned j = 0; j < CODED; j++)
        message[j][l] = 0.5F;
}

static void scale_to_one(lanes *x, unsigned n)
{
    for (unsigned l = 0; l < LANES; l++) {
        float sum = NOTHING;
        for (unsigned i = 0; i < n; i++)
            sum += x[i][l];
        for (unsigned i = 0; i < n; i++)
            x[i][l] /= sum;
    }
}

/* The probability of 1, within bounds. */
static void keep_message(lanes out, const lanes zero, const lanes one)
{
    for (unsigned l = 0; l < LANES; l++) {
        float p = (one[l] + NOTHING) / (zero[l] + one[l] + 2 * NOTHING);
        out[l] = p < LEAST ? LEAST : p > 1 - LEAST ? 1 - LEAST : p;
    }
}

/* A symbol is named by its first bit and then by the changes from bit to bit, which are the bits
 * before the accumulator: index v. Fills `slot` with the slots of these names. */
static void name_slots(unsigned slot[ORDER_MAX])
{
    for (unsigned v = 0; v < code.order; v++) {
        unsigned c = v;
        for (unsigned shift = 1; shift < code.bits; shift *= 2)
            c ^= c >> shift;
        slot[v] = c;
    }
}

/* Of a symbol: the product of the probabilities of its changes, and of the channel. */
static void join_symbol(lanes *m, lanes *w, const unsigned *slot, lanes *out)
{
    unsigned half = code.order / 2;
    for (unsigned l = 0; l < LANES; l++)
        out[0][l] = 1;
    for (unsigned i = 1, n = 1; i < code.bits; i++, n *= 2)
        for (unsigned v = n; v-- > 0;)
            for (unsigned l = 0; l < LANES; l++) {
                float p = out[v][l];
                out[2 * v + 1][l] = p * m[i][l];
                out[2 * v][l] = p * (1 - m[i][l]);
            }
    for (unsigned v = 0; v < half; v++)
        for (unsigned l = 0; l < LANES; l++) {
            float p = out[v][l];
            out[half + v][l] = p * w[slot[half + v]][l];
            out[v][l] = p * w[slot[v]][l];
        }
}

/* Forward through the symbols: the state is the last bit of the symbol before. */
static void walk_symbols(const unsigned *slot)
{
    static lanes joint[ORDER_MAX];
    for (unsigned l = 0; l < LANES; l++) {
        ahead[0][0][l] = 1;
        ahead[0][1][l] = 0;
    }
    for (unsigned s = 0; s < code.stages; s++) {
        lanes *m = &message[s * code.bits];
        join_symbol(m, &channel[(size_t)s * code.order], slot, joint);
        memset(sums[s], 0, sizeof sums[s]);
        for (unsigned v = 0; v < code.order; v++) {
            float *sum = sums[s][v / (code.order / 2) * 2 + (slot[v] & 1)];
            for (unsigned l = 0; l < LANES; l++)
                sum[l] += joint[v][l];
        }
        for (unsigned l = 0; l < LANES; l++) {
            float one = m[0][l], zero = 1 - one, a0 = ahead[s][0][l], a1 = ahead[s][1][l];
            float first0 = a0 * zero + a1 * one, first1 = a0 * one + a1 * zero;
            ahead[s + 1][0][l] = first0 * sums[s][0][l] + first1 * sums[s][2][l];
            ahead[s + 1][1][l] = first0 * sums[s][1][l] + first1 * sums[s][3][l];
        }
        scale_to_one(ahead[s + 1], 2);
    }
}

/* The sums of the joint probabilities of a symbol by each of its changes, over the prior of the
 * change: new messages of bits 1 and on. The sums of pairs replace the probabilities. */
static void part_symbol(lanes *joint, lanes *m)
{
    unsigned n = code.order;
    for (unsigned i = code.bits - 1; i > 0; i--, n /= 2) {
        lanes zero = {0}, one = {0};
        for (unsigned v = 0; v < n; v += 2)
            for (unsigned l = 0; l < LANES; l++) {
                float even = joint[v][l], odd = joint[v + 1][l];
                zero[l] += even;
                one[l] += odd;
                joint[v / 2][l] = even + odd;
            }
        for (unsigned l = 0; l < LANES; l++) {
            float p = m[i][l];
            zero[l] /= 1 - p;
            one[l] /= p;
        }
        keep_message(m[i], zero, one);
    }
}

/* Backward, with the new messages. The last state is free. */
static void decode_symbols(void)
{
    static unsigned slot[ORDER_MAX];
    static lanes joint[ORDER_MAX];
    name_slots(slot);
    walk_symbols(slot);
    lanes behind[2], next[2];
    for (unsigned l = 0; l < LANES; l++)
        behind[0][l] = behind[1][l] = 0.5F;
    for (unsigned s = code.stages; s-- > 0;) {
        lanes *m = &message[s * code.bits], zero, one, first[2];
        for (unsigned l = 0; l < LANES; l++) {
            float p1 = m[0][l], p0 = 1 - p1, a0 = ahead[s][0][l], a1 = ahead[s][1][l];
            float from0 = sums[s][0][l] * behind[0][l] + sums[s][1][l] * behind[1][l];
            float from1 = sums[s][2][l] * behind[0][l] + sums[s][3][l] * behind[1][l];
            zero[l] = a0 * from0 + a1 * from1;
            one[l] = a0 * from1 + a1 * from0;
            first[0][l] = a0 * p0 + a1 * p1;
            first[1][l] = a0 * p1 + a1 * p0;
            next[0][l] = p0 * from0 + p1 * from1;
            next[1][l] = p1 * from0 + p0 * from1;
        }
        join_symbol(m, &channel[(size_t)s * code.order], slot, joint);
        for (unsigned v = 0; v < code.order; v++) {
            const float *a = first[v / (code.order / 2)], *b = behind[slot[v] & 1];
            for (unsigned l = 0; l < LANES; l++)
                joint[v][l] *= a[l] * b[l];
        }
        part_symbol(joint, m);
        keep_message(m[0], zero, one);
        scale_to_one(next, 2);
        memcpy(behind, next, sizeof behind);
    }
}

/* The probabilities of the three bits of a step; a punctured one is 1/2. */
static void read_step(unsigned t, lanes p[3])
{
    for (unsigned k = 0; k < 3; k++)
        memcpy(p[k], message[code.place[3 * t + k]], sizeof p[k]);
}

/* State: the bit before, twice, and the bit before that. Input u leads from (one, two) to (u, one)
 * and makes u ^ two and, twice, u ^ one ^ two. */
static unsigned branch_next(unsigned state, unsigned u)
{
    return u << 1 | state >> 1;
}

/* The probabilities of the four kinds of a branch: by its first and second bit. */
static void weigh_step(lanes p[3], lanes kind[4])
{
    for (unsigned l = 0; l < LANES; l++) {
        float zero = (1 - p[1][l]) * (1 - p[2][l]), one = p[1][l] * p[2][l];
        kind[0][l] = (1 - p[0][l]) * zero;
        kind[1][l] = (1 - p[0][l]) * one;
        kind[2][l] = p[0][l] * zero;
        kind[3][l] = p[0][l] * one;
    }
}

static unsigned branch_kind(unsigned state, unsigned u)
{
    unsigned one = state >> 1, two = state & 1;
    return (u ^ two) << 1 | (u ^ one ^ two);
}

static void walk_steps(void)
{
    lanes p[3], kind[4];
    memset(ahead[0], 0, sizeof ahead[0]);
    for (unsigned l = 0; l < LANES; l++)
        ahead[0][0][l] = 1;
    for (unsigned t = 0; t < code.steps; t++) {
        read_step(t, p);
        weigh_step(p, kind);
        memset(ahead[t + 1], 0, sizeof ahead[t + 1]);
        for (unsigned b = 0; b < 8; b++) {
            float *to = ahead[t + 1][branch_next(b >> 1, b & 1)];
            const float *from = ahead[t][b >> 1], *w = kind[branch_kind(b >> 1, b & 1)];
            for (unsigned l = 0; l < LANES; l++)
                to[l] += from[l] * w[l];
        }
        scale_to_one(ahead[t + 1], 4);
    }
}

/* New messages of a step from what its neighbours say of the four kinds of branch. */
static void part_step(unsigned t, lanes p[3], lanes said[4])
{
    lanes zero[3], one[3];
    for (unsigned l = 0; l < LANES; l++) {
        float a = p[0][l], b = p[1][l], c = p[2][l];
        zero[0][l] = said[0][l] * (1 - b) * (1 - c) + said[1][l] * b * c;
        one[0][l] = said[2][l] * (1 - b) * (1 - c) + said[3][l] * b * c;
        float even = said[0][l] * (1 - a) + said[2][l] * a;
        float odd = said[1][l] * (1 - a) + said[3][l] * a;
        zero[1][l] = even * (1 - c);
        one[1][l] = odd * c;
        zero[2][l] = even * (1 - b);
        one[2][l] = odd * b;
    }
    for (unsigned k = 0; k < 3; k++)
        if (code.place[3 * t + k] < CODED)
            keep_message(message[code.place[3 * t + k]], zero[k], one[k]);
}

static void decode_steps(void)
{
    walk_steps();
    lanes behind[4] = {{0}}, p[3], kind[4];
    for (unsigned l = 0; l < LANES; l++)
        behind[0][l] = 1; /* the two bits at the end are 0 */
    for (unsigned t = code.steps; t-- > 0;) {
        lanes next[4] = {{0}}, said[4] = {{0}}, input[2] = {{0}};
        read_step(t, p);
        weigh_step(p, kind);
        for (unsigned b = 0; b < 8; b++) {
            unsigned k = branch_kind(b >> 1, b & 1);
            const float *to = behind[branch_next(b >> 1, b & 1)], *from = ahead[t][b >> 1];
            for (unsigned l = 0; l < LANES; l++) {
                float both = from[l] * to[l];
                said[k][l] += both;
                input[b & 1][l] += both * kind[k][l];
                next[b >> 1][l] += to[l] * kind[k][l];
            }
        }
        for (unsigned l = 0; l < LANES; l++)
            decided[t][l] = input[1][l] > input[0][l];
        part_step(t, p, said);
        scale_to_one(next, 4);
        memcpy(behind, next, sizeof behind);
    }
}

static bool lane_right(unsigned l)
{
    for (unsigned t = 0; t < code.steps; t++)
        if (decided[t][l] != lane[l].sent[t])
            return false;
    return true;
}

static void simulate(uint64_t codewords, uint64_t seed)
{
    uint64_t begun = 0, ended = 0, lost = 0, iterations = 0;
    for (unsigned l = 0; l < LANES; l++)
        message[CODED][l] = 0.5F;
    while (ended < codewords) {
        for (unsigned l = 0; l < LANES; l++)
            if (!lane[l].used && begun < codewords) {
                uint64_t number = (seed << 40) + begun++;
                fill_lane(l, draw_bits(&number));
            }
        decode_symbols();
        decode_steps();
        for (unsigned l = 0; l < LANES; l++) {
            if (!lane[l].used)
                continue;
            lane[l].iterations++;
            bool right = lane_right(l);
            if (!right && lane[l].iterations < ITERATIONS)
                continue;
            lane[l].used = false;
            ended++;
            lost += !right;
            iterations += lane[l].iterations;
        }
    }
    printf("%llu %llu %.2f\n", (unsigned long long)codewords, (unsigned long long)lost,
           (double)iterations / (double)codewords);
}

int main(int argc, char **argv)
{
    if (argc != 7 || !set_code((unsigned)strtoul(argv[1], NULL, 10), argv[2], strtod(argv[3], NULL),
                               strtod(argv[4], NULL))) {
        fprintf(stderr, "usage: scppm ORDER RATE BACKGROUND SIGNAL_DB CODEWORDS SEED\n");
        return 2;
    }
    channel = calloc((size_t)code.stages * code.order, sizeof *channel);
    if (channel == NULL)
        return 1;
    simulate(strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10));
    free(channel);
    return 0;
}
