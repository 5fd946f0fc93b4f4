/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What channel codes cost, on one core: Reed-Solomon at depth 5, in Gbit/s of frames, encoded and
 * decoded with no errors, one, half and all that can be corrected in each codeword, and more; CADUs
 * of it read from a stream, randomised, at whole octets and at any bit; Viterbi's decoder, LDPC and
 * turbo codes, in Mbit/s of decoded bits: of these two at 1 dB more than where a block in a
 * thousand is not decoded. The best of many rounds. JSON on standard output.
 *
 *   bench_codes [--quick]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "frames/cadu.h"
#include "frames/conv.h"
#include "frames/ldpc.h"
#include "frames/turbo.h"

enum { DEPTH = 5, BLOCKS = 64, VITERBI_BITS = 40000, ROOM = 1024 };

struct bench {
    struct rs rs;
    size_t frame_len, block_len;
    uint8_t *blocks, *work; /* as received; in use */
    struct cadu_format cadu;
    uint8_t *stream; /* CADUs */
    size_t stream_len;
    struct conv_format conv;
    uint8_t *symbols;
    size_t symbol_count;
    uint64_t sum; /* so that nothing is left out */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void encode_rs(struct bench *b)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        uint8_t *block = b->work + i * b->block_len;
        rs_encode(&b->rs, block, b->frame_len, DEPTH, block + b->frame_len);
        b->sum += block[b->frame_len];
    }
}

static void decode_rs(struct bench *b)
{
    struct rs_result result;
    for (size_t i = 0; i < BLOCKS; i++) {
        b->sum += rs_decode(&b->rs, b->work + i * b->block_len, b->frame_len, DEPTH, &result);
        b->sum += result.corrected;
    }
}

/* In pieces, as from a socket. */
static void read_cadus(struct bench *b)
{
    enum { PIECE = 65536 };
    static uint8_t buffer[4 * PIECE], block[4 + RS_BLOCK_MAX];
    struct cadu_reader r;
    struct cadu unit;
    cadu_reader_init(&r, &b->cadu, 4, 4, buffer, sizeof buffer, block);
    for (size_t at = 0; at < b->stream_len;) {
        size_t room, n = b->stream_len - at < PIECE ? b->stream_len - at : PIECE;
        uint8_t *to = cadu_reader_space(&r, &room);
        n = n < room ? n : room;
        memcpy(to, b->stream + at, n);
        cadu_reader_fed(&r, n);
        at += n;
        while (cadu_reader_next(&r, &unit))
            b->sum += unit.frame.data[0];
    }
    if (r.counts.frames != BLOCKS || r.counts.erred > 0)
        abort();
}

static void decode_viterbi(struct bench *b)
{
    static uint8_t decisions[ROOM * CONV_STATES], out[VITERBI_BITS / 8 + ROOM];
    struct conv_decoder d;
    struct conv_bits bits = {.data = out};
    conv_decoder_init(&d, b->conv, 0, decisions, ROOM, 192);
    conv_decode(&d, b->symbols, b->symbol_count, &bits);
    conv_decoder_end(&d, -1, &bits);
    b->sum += out[5];
}

static double measure(void (*run)(struct bench *), struct bench *b, size_t bytes, int rounds)
{
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        memcpy(b->work, b->blocks, BLOCKS * b->block_len);
        double start = now_s();
        run(b);
        double took = now_s() - start;
        best = took < best ? took : best;
    }
    return 8e-9 * (double)bytes / best;
}

/* Each codeword with that many errors. */
static void fill_blocks(struct bench *b, unsigned errors)
{
    struct rng r;
    rng_init(&r, errors);
    for (size_t i = 0; i < BLOCKS; i++) {
        uint8_t *block = b->blocks + i * b->block_len;
        for (size_t k = 0; k < b->frame_len; k++)
            block[k] = (uint8_t)rng_u64(&r);
        rs_encode(&b->rs, block, b->frame_len, DEPTH, block + b->frame_len);
        for (unsigned e = 0; e < errors; e++)
            for (unsigned w = 0; w < DEPTH; w++)
                block[(e * 7 + 3) * DEPTH + w] ^= (uint8_t)(1 + rng_below(&r, 255));
    }
}

static void bench_rs(struct bench *b, enum rs_code code, int rounds)
{
    rs_init(&b->rs, code, RS_DUAL);
    b->frame_len = (size_t)DEPTH * (RS_WORD - b->rs.checks);
    b->block_len = b->frame_len + rs_checks_len(&b->rs, DEPTH);
    size_t bytes = BLOCKS * b->frame_len;
    unsigned half = b->rs.checks / 2;
    fill_blocks(b, 0);
    printf("    {\"code\": \"255,%u\", \"frame_bytes\": %zu, \"encode\": %.2f, \"clean\": %.2f, ",
           RS_WORD - b->rs.checks, b->frame_len, measure(encode_rs, b, bytes, rounds),
           measure(decode_rs, b, bytes, rounds));
    fill_blocks(b, 1);
    double one = measure(decode_rs, b, bytes, rounds);
    fill_blocks(b, half / 2);
    double some = measure(decode_rs, b, bytes, rounds);
    fill_blocks(b, half);
    double all = measure(decode_rs, b, bytes, rounds);
    fill_blocks(b, half + 4);
    printf("\"one_error\": %.2f, \"half_the_errors\": %.2f, \"all_errors\": %.2f, "
           "\"too_many\": %.2f}%s\n",
           one, some, all, measure(decode_rs, b, bytes, rounds), code == RS_255_223 ? "" : ",");
}

/* Shifted by so many bits, inverted or not. */
static void fill_stream(struct bench *b, unsigned shift, bool inverted)
{
    uint8_t unit[4 + RS_BLOCK_MAX], last = 0;
    size_t len = cadu_len(&b->cadu);
    b->stream_len = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        cadu_write(&b->cadu, b->blocks + i * b->block_len, unit);
        for (size_t k = 0; k < len; k++) {
            unsigned two = (unsigned)last << 8 | unit[k];
            last = unit[k];
            b->stream[b->stream_len++] = (uint8_t)(two >> shift) ^ (inverted ? 0xff : 0);
        }
    }
    b->stream[b->stream_len++] = (uint8_t)(last << (8 - shift)) ^ (inverted ? 0xff : 0);
}

static void bench_cadus(struct bench *b, int rounds)
{
    size_t bytes = BLOCKS * b->frame_len;
    b->cadu = (struct cadu_format){.frame_len = (uint32_t)b->frame_len,
                                   .rs = &b->rs,
                                   .depth = DEPTH,
                                   .randomised = true,
                                   .sequence = PN_TM};
    fill_blocks(b, 0);
    fill_stream(b, 0, false);
    double whole = measure(read_cadus, b, bytes, rounds);
    fill_stream(b, 3, true);
    double any = measure(read_cadus, b, bytes, rounds);
    b->cadu.sequence = PN_TM_LONG;
    fill_stream(b, 0, false);
    printf("  \"cadus\": {\"whole_octets\": %.2f, \"any_bit_inverted\": %.2f, "
           "\"long_randomiser\": %.2f},\n",
           whole, any, measure(read_cadus, b, bytes, rounds));
}

static void bench_viterbi(struct bench *b, int rounds)
{
    static const char *const names[CONV_RATES] = {"1/2", "2/3", "3/4", "5/6", "7/8"};
    printf("  \"viterbi_mbit_s\": {");
    for (int rate = 0; rate < CONV_RATES; rate++) {
        struct conv_encoder e;
        struct rng r;
        rng_init(&r, 9);
        b->conv = conv_format_of((enum conv_rate)rate);
        conv_encoder_init(&e, b->conv);
        b->symbol_count = conv_encode(&e, b->blocks, VITERBI_BITS, b->symbols);
        for (size_t i = 0; i < b->symbol_count; i++)
            b->symbols[i] ^= rng_chance(&r, 0.01) ? 255 : 0;
        printf("%s\"%s\": %.1f", rate > 0 ? ", " : "", names[rate],
               1e3 * measure(decode_viterbi, b, VITERBI_BITS / 8, rounds / 4));
    }
    printf("},\n");
}

static struct ldpc ldpc;
static struct ldpc_work ldpc_memory;

static void encode_ldpc(struct bench *b)
{
    ldpc_encode(&ldpc, b->blocks, b->work);
    b->sum += b->work[ldpc.n / 8 - 1];
}

static void decode_ldpc(struct bench *b)
{
    struct ldpc_result r = ldpc_decode(&ldpc, &ldpc_memory, b->symbols, LDPC_ITERATIONS, b->work);
    b->sum += r.iterations;
}

/* White noise, of twelve uniform numbers, in the n bits of b->work, which have k bits of a block.
 */
static void disturb_symbols(struct bench *b, uint32_t n, uint32_t k_bits, double ebn0_db)
{
    struct rng r;
    double sigma = sqrt((double)n / (2.0 * k_bits * pow(10, ebn0_db / 10)));
    rng_init(&r, 11);
    for (uint32_t i = 0; i < n; i++) {
        double noise = -6;
        for (int k = 0; k < 12; k++)
            noise += rng_unit(&r);
        double sign = (b->work[i / 8] >> (7 - i % 8) & 1) != 0 ? 1 : -1;
        double x = 128 + 32 * (sign + sigma * noise);
        b->symbols[i] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
    }
}

static void bench_ldpc_code(struct bench *b, int rounds, enum ldpc_rate rate, uint32_t k)
{
    static const char *const names[LDPC_RATES] = {"1/2", "2/3", "4/5", "7/8"};
    static const double ebn0_db[LDPC_RATES] = {2.8, 3.5, 4.5, 4.8};
    ldpc_init(&ldpc, rate, k);
    double encoded = 1e3 * measure(encode_ldpc, b, k / 8, rounds);
    ldpc_encode(&ldpc, b->blocks, b->work);
    disturb_symbols(b, ldpc.n, ldpc.k, ebn0_db[rate]);
    printf("    {\"rate\": \"%s\", \"block_bits\": %u, \"encode\": %.1f, \"decode\": %.2f, ",
           names[rate], k, encoded, 1e3 * measure(decode_ldpc, b, k / 8, rounds / 4));
    struct ldpc_result r = ldpc_decode(&ldpc, &ldpc_memory, b->symbols, LDPC_ITERATIONS, b->work);
    printf("\"iterations\": %u}%s\n", r.iterations, rate == LDPC_7_8 ? "" : ",");
}

static void bench_ldpc(struct bench *b, int rounds)
{
    printf("  \"ldpc_mbit_s\": [\n");
    for (uint32_t k = 1024; k <= LDPC_BLOCK_MAX; k *= 4)
        for (int rate = 0; rate <= LDPC_4_5; rate++)
            bench_ldpc_code(b, rounds, (enum ldpc_rate)rate, k);
    bench_ldpc_code(b, rounds, LDPC_7_8, 7136);
    printf("  ],\n");
}

static struct turbo turbo;
static struct turbo_work turbo_memory;

static void encode_turbo(struct bench *b)
{
    turbo_encode(&turbo, b->blocks, b->work);
    b->sum += b->work[turbo.n / 8 - 1];
}

static void decode_turbo(struct bench *b)
{
    b->sum += turbo_decode(&turbo, &turbo_memory, b->symbols, TURBO_ITERATIONS, false, b->work)
                  .iterations;
}

static void bench_turbo(struct bench *b, int rounds)
{
    static const char *const names[TURBO_RATES] = {"1/2", "1/3", "1/4", "1/6"};
    static const double ebn0_db[TURBO_RATES] = {2.4, 1.8, 1.4, 1.1};
    static const uint32_t blocks[] = {1784, 8920};
    printf("  \"turbo_mbit_s\": [\n");
    for (int i = 0; i < 2 * TURBO_RATES; i++) {
        const int rate = i % TURBO_RATES;
        turbo_init(&turbo, (enum turbo_rate)rate, blocks[i / TURBO_RATES]);
        double encoded = 1e3 * measure(encode_turbo, b, turbo.k / 8, rounds);
        turbo_encode(&turbo, b->blocks, b->work);
        disturb_symbols(b, turbo.n, turbo.k, ebn0_db[rate]);
        printf("    {\"rate\": \"%s\", \"block_bits\": %u, \"encode\": %.1f, \"decode\": %.2f, ",
               names[rate], turbo.k, encoded,
               1e3 * measure(decode_turbo, b, turbo.k / 8, rounds / 4));
        struct turbo_result r =
            turbo_decode(&turbo, &turbo_memory, b->symbols, TURBO_ITERATIONS, false, b->work);
        printf("\"iterations\": %u}%s\n", r.iterations, i == 2 * TURBO_RATES - 1 ? "" : ",");
    }
    printf("  ]\n}\n");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 20 : 400;
    static struct bench b;
    b.blocks = malloc((size_t)BLOCKS * RS_BLOCK_MAX);
    b.work = malloc((size_t)BLOCKS * RS_BLOCK_MAX);
    b.stream = malloc((size_t)BLOCKS * (4 + RS_BLOCK_MAX) + 1);
    b.symbols = malloc((size_t)2 * VITERBI_BITS);
    if (b.blocks == NULL || b.work == NULL || b.stream == NULL || b.symbols == NULL)
        return 1;
    printf("{\"unit\": \"Gbit/s\", \"depth\": %d,\n  \"reed_solomon\": [\n", DEPTH);
    bench_rs(&b, RS_255_239, rounds);
    bench_rs(&b, RS_255_223, rounds);
    printf("  ],\n");
    bench_cadus(&b, rounds);
    bench_viterbi(&b, rounds);
    bench_ldpc(&b, rounds / 10 + 4);
    bench_turbo(&b, rounds / 10 + 4);
    free(b.stream);
    free(b.symbols);
    free(b.blocks);
    free(b.work);
    return b.sum == 0;
}
