/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One codeword of a systematic Reed-Solomon code for erasures: up to 254 data symbols at positions
 * 0, 1, …, and repair symbols in rows 0, 1, …; 255 symbols at most in all. Row j has the
 * coefficient 1 / (254 - j + i) for position i (a Cauchy matrix). So any rows repair as many lost
 * positions, and a codeword with fewer data symbols is the same code with zeros behind them.
 */
#ifndef ERASURE_CODE_H
#define ERASURE_CODE_H

#include "erasure/gf.h"

#define CODE_WORD 255                 /* symbols of a codeword, data and repair */
#define CODE_LOST_MAX (CODE_WORD / 2) /* more losses cannot be repaired */

/* The coefficient of a position in a row; row + position is below 255. */
uint8_t code_coefficient(const struct gf *gf, unsigned row, unsigned position);

struct code; /* the field and memory for one repair symbol */

/* symbol_max: octets of the longest symbol. 0 or HELIO_ENOMEM. `math` outlives it. */
int code_new(struct code **out, const struct gf_math *math, size_t symbol_max);
void code_free(struct code *c); /* NULL is allowed */

/* A codeword to repair; the pointers are the caller's. */
struct code_word {
    unsigned known, lost;        /* data symbols; lost is 1 to CODE_LOST_MAX */
    uint8_t known_at[CODE_WORD]; /* their positions */
    uint8_t lost_at[CODE_LOST_MAX];
    uint8_t rows[CODE_LOST_MAX];    /* of `lost` repair symbols */
    const uint8_t *data[CODE_WORD]; /* known data symbols, zeros behind their end */
    const uint8_t *repair[CODE_LOST_MAX];
    uint8_t *out[CODE_LOST_MAX]; /* receives the lost symbols only */
    size_t len;                  /* octets of each symbol, symbol_max at most */
};

/* Computes the lost symbols. It always succeeds: wrong symbols give wrong ones. */
void code_repair(struct code *c, const struct code_word *w);

#endif
