/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Reed-Solomon codes of CCSDS 131.0-B section 4: (255,223), which corrects 16 symbols of a
 * codeword, and (255,239), which corrects 8. A codeblock is a frame with its check symbols behind
 * it; with interleaving depth I it has I codewords, and octet n belongs to codeword n modulo I. A
 * frame shorter than I times 223 (or 239) is lengthened by virtual fill: zeros before it, which are
 * not transmitted.
 */
#ifndef FRAMES_RS_H
#define FRAMES_RS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RS_WORD 255      /* symbols of a codeword, an octet each, fill included */
#define RS_CHECKS_MAX 32 /* check symbols of a codeword */
#define RS_DEPTH_MAX 8
#define RS_BLOCK_MAX (RS_DEPTH_MAX * RS_WORD) /* octets of a codeblock */

/* The codes of CCSDS 131.0-B: 16 or 8 correctable symbols. */
enum rs_code { RS_255_223, RS_255_239 };

enum rs_basis {
    RS_DUAL,        /* the symbols' representation of the book (131.0-B 4.3.9) */
    RS_CONVENTIONAL /* powers of the field's element, which some other equipment uses */
};

/* Tables of a code, computed once: 33 KiB. Read only afterwards, so that threads may share it. */
struct rs {
    unsigned checks;               /* check symbols of a codeword: 32 or 16 */
    uint64_t remainder[4][256][4]; /* [n][s]: of symbol s with n more symbols behind it */
    uint8_t power[2 * RS_WORD];    /* of the code's primitive element */
    uint8_t log[256];
    uint8_t to_field[256], from_field[256]; /* between octets as transmitted and the field */
};

/* Fills in the tables. */
void rs_init(struct rs *rs, enum rs_code code, enum rs_basis basis);

/* NULL, or a text that says why no codeblock has a frame of that many octets at that depth; without
 * tables, by the code alone. */
const char *rs_problem(const struct rs *rs, size_t frame_len, unsigned depth);
/* rs_problem for a code that was not set up. */
const char *rs_code_problem(enum rs_code code, size_t frame_len, unsigned depth);

/* Check symbols of a codeword: 32 or 16. */
unsigned rs_code_checks(enum rs_code code);

/* Octets behind a frame at that depth: 1 to RS_DEPTH_MAX. */
size_t rs_checks_len(const struct rs *rs, unsigned depth);

/* Writes rs_checks_len octets into `checks` for the frame; rs_problem is NULL. `checks` may lie
 * right behind the frame. */
void rs_encode(const struct rs *rs, const uint8_t *frame, size_t frame_len, unsigned depth,
               uint8_t *checks);

/* What the decoder found in a codeblock. */
struct rs_result {
    unsigned corrected; /* symbols, check symbols included, in the codewords that were decoded */
    unsigned worst;     /* the most of one codeword */
    unsigned failed;    /* codewords with more errors than can be corrected; left as they are */
};

/* Corrects a codeblock of frame_len octets and their check symbols in place; rs_problem must be
 * NULL. Returns true if every codeword was decoded. Uncorrectable words are nearly always detected:
 * about one in 16! (RS_255_223) or 8! (RS_255_239) is decoded to a wrong codeword; fewer with
 * virtual fill. */
bool rs_decode(const struct rs *rs, uint8_t *block, size_t frame_len, unsigned depth,
               struct rs_result *out);

#ifdef __cplusplus
}
#endif

#endif
