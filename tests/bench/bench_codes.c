/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What channel codes cost, on one core: Reed-Solomon at depth 5, in Gbit/s of frames, encoded and
 * decoded with no errors, one, half and all that can be corrected in each codeword, and more. The
 * best of many rounds. JSON on standard output.
 *
 *   bench_codes [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "frames/rs.h"

enum { DEPTH = 5, BLOCKS = 64 };

struct bench {
    struct rs rs;
    size_t frame_len, block_len;
    uint8_t *blocks, *work; /* as received; in use */
    uint64_t sum;           /* so that nothing is left out */
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
           one, some, all, measure(decode_rs, b, bytes, rounds), code == RS_255_239 ? "" : ",");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 20 : 400;
    static struct bench b;
    b.blocks = malloc((size_t)BLOCKS * RS_BLOCK_MAX);
    b.work = malloc((size_t)BLOCKS * RS_BLOCK_MAX);
    if (b.blocks == NULL || b.work == NULL)
        return 1;
    printf("{\"unit\": \"Gbit/s\", \"depth\": %d,\n  \"reed_solomon\": [\n", DEPTH);
    bench_rs(&b, RS_255_223, rounds);
    bench_rs(&b, RS_255_239, rounds);
    printf("  ]}\n");
    free(b.blocks);
    free(b.work);
    return b.sum == 0;
}
