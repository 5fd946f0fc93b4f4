/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to ldpc*.c: the code C2 of CCSDS 131.0-B section 7.3, (8176,7156), shortened to
 * (8160,7136). The parity-check matrix has 2 by 16 circulants of 511 bits. A word of it is 18 zeros
 * that are not sent (virtual fill), the block, and 1022 parity bits. A codeword ends with two zeros
 * that are not in the matrix.
 */
#ifndef FRAMES_LDPC_C2_H
#define FRAMES_LDPC_C2_H

#include "frames/ldpc.h"

enum {
    LDPC_C2_BLOCK = 7136, /* bits */
    LDPC_C2_ROWS = 2,     /* of circulants */
    LDPC_C2_COLUMNS = 16, /* likewise; the last two belong to the parity */
    LDPC_C2_CIRCULANT = 511,
    LDPC_C2_FILL = 18,
    LDPC_C2_END = 2,
};

/* Where the first row of each circulant has its ones (table 7-1). */
extern const uint16_t ldpc_c2_ones[LDPC_C2_ROWS][LDPC_C2_COLUMNS][2];

/* Fills l->c2. */
void ldpc_c2_init(struct ldpc *l);

/* ldpc_encode of this code. */
void ldpc_c2_encode(const struct ldpc *l, const uint8_t *block, uint8_t *codeword);

/* The checks hold for bits that the encoder cannot have written, too: do the sums of the parity's
 * halves? `bits` are columns of the matrix, those below 0 are ones. */
bool ldpc_c2_sums_hold(const struct ldpc *l, const int16_t *bits);

#endif
