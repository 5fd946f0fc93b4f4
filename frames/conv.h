/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolutional codes of CCSDS 131.0-B section 3: rate 1/2, constraint length 7, with the
 * symbols of the second generator inverted; and the punctured rates, of which fewer symbols are
 * transmitted, none inverted. The decoder is Viterbi's, for hard and soft symbols.
 *
 * A symbol is an octet: 0 is surely a 0, 255 surely a 1, and what is between is less sure; hard
 * symbols are 0 and 255. Packed symbols and bits are eight in an octet, the first one highest.
 */
#ifndef FRAMES_CONV_H
#define FRAMES_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Information bits to symbols (CCSDS 131.0-B): 1/2, and its punctured forms. */
enum conv_rate { CONV_1_2, CONV_2_3, CONV_3_4, CONV_5_6, CONV_7_8, CONV_RATES };

#define CONV_STATES 64
#define CONV_TAIL 6 /* bits of zeros that lead to state 0 */

struct conv_format {
    enum conv_rate rate;
    bool inverted; /* the second generator's symbols: conv_format_of says what the book says */
};

/* The book's: inverted at rate 1/2 alone. */
struct conv_format conv_format_of(enum conv_rate rate);

/* Bits in, and symbols out, until the pattern of puncturing begins again: 1 and 2 at rate 1/2, 7
 * and 8 at rate 7/8. */
unsigned conv_period_bits(enum conv_rate rate);
/* Symbols of one period of puncturing. */
unsigned conv_period_symbols(enum conv_rate rate);

/* ---- encoder ---- */

struct conv_encoder {
    struct conv_format format;
    uint8_t state; /* the last six bits, the newest lowest */
    uint8_t at;    /* bits of the period */
};

/* State 0, at the beginning of a period. */
void conv_encoder_init(struct conv_encoder *e, struct conv_format format);

/* Encodes `bits` packed bits of `data` into hard symbols, octets of 0 and 255: at most 2 for each
 * bit. Returns how many there are. */
size_t conv_encode(struct conv_encoder *e, const uint8_t *data, size_t bits, uint8_t *symbols);

/* ---- decoder ---- */

/* Packed bits that are appended to: `count` of them; data is the caller's. Bits of the last octet
 * behind them must be 0. */
struct conv_bits {
    uint8_t *data;
    size_t count;
};

struct conv_decoder {
    struct conv_format format;
    uint16_t metric[CONV_STATES]; /* of each state's best path, less the best one's at times */
    uint16_t expected[2][CONV_STATES / 2]; /* 0 or 255: of a 0 in state n */
    uint64_t distance;                     /* what was taken off all metrics */
    uint8_t first;                         /* of two symbols of a bit, when only one is there */
    bool half;
    uint8_t at;     /* bits of the period */
    unsigned since; /* bits since the metrics were reduced */
    uint8_t *decisions;
    size_t room, have, depth; /* in bits */
};

/*
 * The input begins at the start of a puncturing period. `start` is the encoder's state, or -1 if
 * unknown. `decisions` has `room` times CONV_STATES octets; the caller keeps it. A bit is decided
 * after at least `depth` further bits, 0 < depth < room; 192 is enough at all rates. With room for
 * all bits nothing is decided before the end: the result is then the most likely sequence.
 */
void conv_decoder_init(struct conv_decoder *d, struct conv_format format, int start,
                       uint8_t *decisions, size_t room, size_t depth);

/* Decodes n symbols and appends the decided bits: at most n, and at most `room`. */
void conv_decode(struct conv_decoder *d, const uint8_t *symbols, size_t n, struct conv_bits *out);

/* Appends the remaining bits. `end` is the encoder's final state; -1: the most likely one. The
 * decoder must then be initialised again. */
void conv_decoder_end(struct conv_decoder *d, int end, struct conv_bits *out);

/* The least distance of a path from the symbols so far: 255 for each wrong hard symbol. */
uint64_t conv_distance(const struct conv_decoder *d);

/* Finds the start of a puncturing period in the symbols of a demodulator. Returns the number of
 * symbols to skip. Reads at most n symbols; some thousands are enough. `decisions` has CONV_STATES
 * times 256 octets. */
unsigned conv_find_period(struct conv_format format, const uint8_t *symbols, size_t n,
                          uint8_t *decisions);

#ifdef __cplusplus
}
#endif

#endif
