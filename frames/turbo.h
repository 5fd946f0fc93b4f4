/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turbo codes of CCSDS 131.0-B section 6: rates 1/2, 1/3, 1/4 and 1/6 for blocks of 1784, 3568,
 * 7136 and 8920 bits. Two recursive convolutional encoders of 16 states read the block, the second
 * one permuted. Four more steps lead each of them to state 0. A codeword is, step by step, the bit
 * of the block and the parity of both encoders.
 *
 *     turbo_init(&code, TURBO_1_2, 8920);
 *     turbo_encode(&code, block, codeword);
 *     result = turbo_decode(&code, work, symbols, TURBO_ITERATIONS, true, block);
 */
#ifndef FRAMES_TURBO_H
#define FRAMES_TURBO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nominal rates of CCSDS 131.0-B. */
enum turbo_rate { TURBO_1_2, TURBO_1_3, TURBO_1_4, TURBO_1_6, TURBO_RATES };

#define TURBO_BLOCK_MAX 8920 /* bits */
#define TURBO_TAIL 4         /* steps that lead the encoders to state 0 */
#define TURBO_STEPS_MAX (TURBO_BLOCK_MAX + TURBO_TAIL)
#define TURBO_CODEWORD_MAX (6 * TURBO_STEPS_MAX) /* bits: rate 1/6 */
#define TURBO_STATES 16
#define TURBO_PARITIES 3    /* of an encoder, at most */
#define TURBO_ITERATIONS 10 /* usual limit; more decode few blocks more */

/* Private to it, but for k and n. */
struct turbo {
    enum turbo_rate rate;
    uint32_t k, n; /* bits of a block and of a codeword; of rate 1/3, n is 4 more than octets */
    uint16_t permuted[TURBO_BLOCK_MAX]; /* bits in the order in which the second encoder reads */
};

/* NULL, or a text that says what is wrong: k is 1784, 3568, 7136 or 8920. */
const char *turbo_problem(enum turbo_rate rate, uint32_t k);

/* Bits of a codeword; there is no problem. */
uint32_t turbo_codeword_bits(enum turbo_rate rate, uint32_t k);

/* There is no problem. */
void turbo_init(struct turbo *t, enum turbo_rate rate, uint32_t k);

/* Writes the codeword, (t->n + 7) / 8 octets, of a block of t->k / 8 octets; they do not overlap.
 * Bits behind the codeword are 0. */
void turbo_encode(const struct turbo *t, const uint8_t *block, uint8_t *codeword);

/* Memory of a decoder, the caller's: nothing in it is kept between calls. Values above 0: the bit
 * is rather a 0. */
struct turbo_work {
    int16_t forward[TURBO_STEPS_MAX + 1][TURBO_STATES]; /* metrics of the states */
    int16_t parity[2][TURBO_STEPS_MAX][TURBO_PARITIES]; /* received, of each encoder */
    int16_t received[TURBO_STEPS_MAX];                  /* bits of the block, and the tail */
    int16_t input[TURBO_STEPS_MAX];                     /* of a component decoder */
    int16_t extrinsic[TURBO_BLOCK_MAX];                 /* what the other one has found */
    uint8_t decided[2][TURBO_BLOCK_MAX];                /* by each component decoder */
};

struct turbo_result {
    bool decoded;        /* see turbo_decode; else the block is as received */
    uint32_t iterations; /* of both component decoders, 1 or more */
    uint32_t corrected;  /* bits of the codeword that were decided otherwise than received */
};

/* Decodes t->n symbols into t->k / 8 octets: 0 is surely a 0, 255 surely a 1, 128 may be either. At
 * most iterations_max rounds, at least 1, of max-log-MAP with extrinsic values of 2/3. The block is
 * decoded when both component decoders decide all bits alike and, with `checked`, the check value
 * in its last two octets (fecf.h) is right. */
struct turbo_result turbo_decode(const struct turbo *t, struct turbo_work *work,
                                 const uint8_t *symbols, uint32_t iterations_max, bool checked,
                                 uint8_t *block);

/* Bits of a codeword, eight in an octet, as symbols that are half sure. */
void turbo_harden(const struct turbo *t, const uint8_t *codeword, uint8_t *symbols);

#ifdef __cplusplus
}
#endif

#endif
