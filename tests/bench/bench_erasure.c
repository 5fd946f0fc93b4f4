/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the erasure code costs, on one core, in Gbit/s of segments of 1024 octets, with each
 * arithmetic of this build: a sender that adds segments to matrices and writes their repair
 * segments; a receiver that lost nothing; a receiver that lost as many segments of each codeword as
 * can be repaired. The best of several rounds. JSON on standard output.
 *
 *   bench_erasure [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "erasure/erasure.h"

enum { LEN = 1024, PACKET = LEN + ERASURE_BEYOND };

struct bench {
    struct erasure_config config;
    struct erasure_encoder *encoder;
    struct erasure_decoder *decoder;
    uint8_t *segments;
    uint8_t *packets; /* of a matrix: its segments, then its repair segments */
    uint64_t sum;     /* so that nothing is left out */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of one whole matrix, s. */
static double encode(struct bench *b)
{
    unsigned span = b->config.span;
    double start = now_s();
    for (unsigned i = 0; i < span; i++)
        erasure_encoder_add(b->encoder, slice_of(NULL, 0),
                            slice_of(b->segments + (size_t)i * LEN, LEN), 0,
                            b->packets + (size_t)i * PACKET);
    while (erasure_encoder_deadline(b->encoder) == 0)
        erasure_encoder_expire(b->encoder, 0);
    uint8_t *repair = b->packets + (size_t)span * PACKET;
    while (erasure_encoder_output(b->encoder, repair) > 0)
        repair += PACKET;
    double took = now_s() - start;
    for (unsigned i = 0; i < span; i++) {
        uint8_t *packet = b->packets + (size_t)i * PACKET;
        memcpy(packet + ERASURE_HEAD, b->segments + (size_t)i * LEN, LEN);
        b->sum += packet[0];
    }
    return took;
}

static void input(struct bench *b, unsigned i, size_t len)
{
    struct slice s;
    erasure_decoder_input(b->decoder, slice_of(b->packets + (size_t)i * PACKET, len), 0, &s);
    b->sum += s.len;
    while (erasure_decoder_next(b->decoder, &s))
        b->sum += s.len;
    while (erasure_decoder_deadline(b->decoder) == 0) {
        erasure_decoder_expire(b->decoder, 0);
        while (erasure_decoder_next(b->decoder, &s))
            b->sum += s.len;
    }
}

static double decode(struct bench *b, unsigned lost)
{
    const struct erasure_config *c = &b->config;
    size_t repair_len = ERASURE_REPAIR_HEAD + ERASURE_SYMBOL_HEAD + LEN;
    if (c->codec == ERASURE_RS)
        repair_len = ERASURE_WIDE_HEAD + (ERASURE_SYMBOL_HEAD + LEN + 15) / 16 * 16;
    double start = now_s();
    for (unsigned i = lost; i < c->span; i++)
        input(b, i, ERASURE_HEAD + LEN);
    for (unsigned i = 0; i < c->rows * c->depth && lost > 0; i++)
        input(b, c->span + i, repair_len);
    return now_s() - start;
}

/* math NULL: ERASURE_RS with math16. */
static void run(const struct gf_math *math, const struct gf16 *field,
                const struct gf16_math *math16, double rate, unsigned span, unsigned rounds,
                bool first)
{
    struct bench b = {.config = {.codec = math == NULL ? ERASURE_RS : ERASURE_RS8,
                                 .segment_max = LEN,
                                 .matrices = 2,
                                 .math = math,
                                 .field = field,
                                 .math16 = math16,
                                 .hold = TICK_S}};
    if (erasure_config_set(&b.config, span, rate, 0) != NULL)
        abort();
    unsigned repairs = b.config.rows * b.config.depth;
    b.segments = malloc((size_t)span * LEN);
    b.packets = malloc((size_t)(span + repairs) * PACKET);
    if (b.segments == NULL || b.packets == NULL ||
        erasure_encoder_new(&b.encoder, &b.config) != 0 ||
        erasure_decoder_new(&b.decoder, &b.config) != 0)
        abort();
    struct rng r;
    rng_init(&r, 1);
    for (size_t i = 0; i < (size_t)span * LEN; i++)
        b.segments[i] = i % LEN == 0 ? 0 : (uint8_t)rng_u64(&r); /* no end of a block */
    double best[3] = {1e9, 1e9, 1e9};
    unsigned lost = repairs < span ? repairs : span;
    for (uint32_t n = 0; n < rounds; n++) {
        double took[3] = {encode(&b), decode(&b, 0), 0};
        encode(&b);
        took[2] = decode(&b, lost);
        for (int i = 0; i < 3; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    if (erasure_decoder_counters(b.decoder)->repaired != rounds)
        abort();
    double bits = (double)span * LEN * 8 / 1e9;
    printf(
        "%s  {\"arithmetic\": \"%s\", \"rate\": %.2f, \"span\": %u, \"depth\": %u, \"rows\": %u, "
        "\"encode_gbit_s\": %.2f, \"decode_whole_gbit_s\": %.2f, \"decode_repair_gbit_s\": %.2f}",
        first ? "" : ",\n", math == NULL ? math16->name : math->name, rate, span, b.config.depth,
        b.config.rows, bits / best[0], bits / best[1], bits / best[2]);
    erasure_encoder_free(b.encoder);
    erasure_decoder_free(b.decoder);
    free(b.segments);
    free(b.packets);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    const struct gf_math *maths[] = {&GF_FASTEST, &gf_portable};
    const struct {
        double rate;
        unsigned span;
    } codes[] = {{0.94, 1024}, {0.87, 1024}, {0.76, 1024}, {0.76, 8192}},
      wide[] = {{0.76, 1024}, {0.78, 10000}, {0.825, 40960}};
    unsigned count = maths[0] == maths[1] ? 1 : 2, codes_len = quick ? 1 : 4;
    printf("[\n");
    for (unsigned m = 0; m < count; m++)
        for (unsigned i = 0; i < codes_len; i++)
            run(maths[m], NULL, NULL, codes[i].rate, codes[i].span, quick ? 2 : 10,
                m == 0 && i == 0);
    static struct gf16 field;
    gf16_init(&field);
    for (unsigned m = 0; gf16_available(m) != NULL; m++)
        for (unsigned i = 0; i < (quick ? 1 : 3); i++)
            run(NULL, &field, gf16_available(m), wide[i].rate, wide[i].span, quick ? 2 : 10, false);
    printf("\n]\n");
    return 0;
}
