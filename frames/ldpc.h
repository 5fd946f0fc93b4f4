/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LDPC codes of CCSDS 131.0-B. They are systematic: a codeword is the block, then its parity.
 *
 * AR4JA (section 7.4): rates 1/2, 2/3 and 4/5 for blocks of 1024, 4096 and 16384 bits. Of the 3 M
 * parity bits of the matrix the last M are not transmitted (punctured).
 * C2 (section 7.3): rate 223/255, called 7/8, for blocks of 7136 bits. The block follows 18 zeros
 * that are not transmitted (virtual fill); two zeros follow the parity.
 *
 *     ldpc_init(&code, LDPC_1_2, 4096);
 *     ldpc_encode(&code, block, codeword);
 *     result = ldpc_decode(&code, work, symbols, LDPC_ITERATIONS, block);
 */
#ifndef FRAMES_LDPC_H
#define FRAMES_LDPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ldpc_rate { LDPC_1_2, LDPC_2_3, LDPC_4_5, LDPC_7_8 /* C2 */, LDPC_RATES };

#define LDPC_BLOCK_MAX 16384    /* bits */
#define LDPC_CODEWORD_MAX 32768 /* bits: rate 1/2 */
#define LDPC_COLUMNS_MAX 40960  /* with punctured bits */
#define LDPC_EDGES_MAX 122880   /* ones of a parity-check matrix */
#define LDPC_CIRCULANT_MAX 2048 /* bits: M / 4 */
#define LDPC_C2_TWICE 16        /* words of two circulants of C2 */
#define LDPC_ITERATIONS 50      /* usual limit; more decode few blocks more */
/* After so many iterations, decoding of a codeword with the longest blocks stops if 47 % of its
 * checks fail, of C2 if 43 % do: then the input is no codeword. */
#define LDPC_LOOK 10

/* Private to it, but for k, n and m. */
struct ldpc {
    enum ldpc_rate rate;
    uint32_t k, n; /* bits of a block and of a codeword, multiples of 32 */
    uint32_t m;    /* M: bits of a submatrix, 128 to 8192; of C2 511 */
    /* The inverse of the part of the matrix that belongs to punctured bits: 4 by 4 circulants. */
    uint32_t inverse[4][4][LDPC_CIRCULANT_MAX / 32];
    struct {
        uint64_t solve[2][2][LDPC_C2_TWICE]; /* gives the parity: by its half and block row */
        uint16_t complemented[2]; /* by half: information blocks whose odd ones complement it */
    } c2;
};

/* NULL, or a text that says what is wrong: k is 1024, 4096 or 16384; with LDPC_7_8 it is 7136. */
const char *ldpc_problem(enum ldpc_rate rate, uint32_t k);

/* Bits of a codeword; there is no problem. */
uint32_t ldpc_codeword_bits(enum ldpc_rate rate, uint32_t k);

/* There is no problem. */
void ldpc_init(struct ldpc *l, enum ldpc_rate rate, uint32_t k);

/* Writes the codeword, l->n / 8 octets, of a block of l->k / 8 octets; they do not overlap. */
void ldpc_encode(const struct ldpc *l, const uint8_t *block, uint8_t *codeword);

/* Memory of a decoder, the caller's: nothing in it is kept between calls. */
struct ldpc_work {
    int16_t bits[LDPC_COLUMNS_MAX];   /* above 0: it is rather a 0 */
    int16_t messages[LDPC_EDGES_MAX]; /* of a check to a bit */
};

struct ldpc_result {
    bool decoded;        /* all checks hold; else the block is as received */
    uint32_t iterations; /* 0: they held from the beginning */
    uint32_t corrected;  /* bits of the codeword that were decided otherwise than received */
};

/* Decodes l->n symbols into l->k / 8 octets: 0 is surely a 0, 255 surely a 1, 128 may be either. At
 * most iterations_max rounds, at least 1, of normalised min-sum (3/4), check by check. */
struct ldpc_result ldpc_decode(const struct ldpc *l, struct ldpc_work *work, const uint8_t *symbols,
                               uint32_t iterations_max, uint8_t *block);

/* Bits of a codeword, eight in an octet, as symbols that are half sure. */
void ldpc_harden(const struct ldpc *l, const uint8_t *codeword, uint8_t *symbols);

/* Rows of the parity-check matrix: 3 M, of C2 1022. */
uint32_t ldpc_rows(const struct ldpc *l);

/* The columns of the ones in a row of the parity-check matrix: at most LDPC_ROW_MAX, in *columns.
 * Returns how many. Columns are those of the codeword, then M punctured ones; of C2 18 of the fill
 * and then those of the codeword, without its last two. */
#define LDPC_ROW_MAX 32
/* Writes the columns of the ones of a parity row, and returns their number. */
unsigned ldpc_row(const struct ldpc *l, uint32_t row, uint32_t columns[LDPC_ROW_MAX]);

#ifdef __cplusplus
}
#endif

#endif
