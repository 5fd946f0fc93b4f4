/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel access data units (CADUs, CCSDS 131.0-B; frames/cadu.h) of one direction of a physical
 * channel. Each sent frame becomes a unit. Received data is a stream of octets in any pieces
 * (datagrams, a connection, a recording), in which the frames are found.
 *
 *     frame_code_feed(c, octets);
 *     while ((r = frame_code_next(c, &frame)) != FRAME_CODE_NONE)
 *         if (r == FRAME_CODE_FRAME)
 *             …
 *
 * A frame that cannot be decoded is counted and dropped. Only frame_line.c uses this.
 */
#ifndef CLA_FRAME_CODE_H
#define CLA_FRAME_CODE_H

#include "frames/cadu.h"
#include "frames/conv_stream.h"

enum frame_code_kind {
    FRAME_CODE_OFF,     /* no units: frames alone */
    FRAME_CODE_UNCODED, /* a marker and the frame */
    FRAME_CODE_RS_223,  /* a marker and a codeblock of Reed-Solomon (255,223), … */
    FRAME_CODE_RS_239,  /* … or (255,239) */
    /* A marker and an LDPC codeword whose block is the frame: AR4JA by code rate, and C2. */
    FRAME_CODE_LDPC_1_2,
    FRAME_CODE_LDPC_2_3,
    FRAME_CODE_LDPC_4_5,
    FRAME_CODE_LDPC_7_8,
    /* Likewise a turbo codeword. Those of rate 1/3 are no whole octets: only with soft symbols. */
    FRAME_CODE_TURBO_1_2,
    FRAME_CODE_TURBO_1_3,
    FRAME_CODE_TURBO_1_4,
    FRAME_CODE_TURBO_1_6,
};

enum frame_code_randomiser {
    FRAME_CODE_PLAIN,
    FRAME_CODE_SHORT, /* PN_TM */
    FRAME_CODE_LONG,  /* PN_TM_LONG */
};

/* The convolutional code of rate 1/2, as in the standard or without its inversion, and its
 * punctured forms. */
enum frame_code_conv {
    FRAME_CODE_CONV_OFF,
    FRAME_CODE_CONV_1_2,
    FRAME_CODE_CONV_1_2_PLAIN,
    FRAME_CODE_CONV_2_3,
    FRAME_CODE_CONV_3_4,
    FRAME_CODE_CONV_5_6,
    FRAME_CODE_CONV_7_8,
};

struct frame_code_config {
    enum frame_code_kind kind;
    unsigned interleave; /* with Reed-Solomon: codewords of a codeblock, 1 to RS_DEPTH_MAX */
    enum rs_basis basis; /* likewise */
    enum frame_code_randomiser randomiser;
    enum cadu_marker marker;
    /* Permitted bit errors of a marker at its expected position, when reading; 0 to
     * CADU_MARKER_ERRORS_MAX. */
    unsigned marker_errors;
    /* Each bit is an octet: 0 is surely a 0, 255 surely a 1, 128 may be either. */
    bool soft;
    /* Around the units; not with LDPC and turbo codes. */
    enum frame_code_conv conv;
};

struct frame_code;

/* Is a frame one block of the code, as of the LDPC and turbo codes? Their decoders take
 * milliseconds for a unit with many errors. */
bool frame_code_is_block(const struct frame_code_config *c);

/* Can a call of frame_code_next take milliseconds, as of these and of the convolutional code? */
bool frame_code_is_slow(const struct frame_code_config *c);

/* The marker that belongs to the code. If it is that of 32 bits, the one of 64 may be used, too. */
enum cadu_marker frame_code_marker(const struct frame_code_config *c);

/* Are all relevant fields equal? */
bool frame_code_same(const struct frame_code_config *a, const struct frame_code_config *b);

/* What is wrong with frames of frame_len octets (1 to FRAME_LENGTH_MAX) in such units; NULL:
 * nothing is, as with FRAME_CODE_OFF. */
const char *frame_code_problem(const struct frame_code_config *c, uint32_t frame_len);

/* The most octets of a frame, at most frame_len of them, that such units can have: at least 1 where
 * `interleave` is at most frame_len; of LDPC the shortest block where none is so short. Not
 * FRAME_CODE_OFF. */
uint32_t frame_code_fitting(const struct frame_code_config *c, uint32_t frame_len);

/* Octets of a unit with its marker, or its symbols, of which the convolutional code may have two
 * octets (soft: eight) less; of FRAME_CODE_OFF those of the frame. There is no problem. */
uint32_t frame_code_len(const struct frame_code_config *c, uint32_t frame_len);

/* There is no problem, and it is not FRAME_CODE_OFF. NULL: memory is out. */
struct frame_code *frame_code_new(const struct frame_code_config *c, uint32_t frame_len);
void frame_code_free(struct frame_code *c); /* NULL is allowed */

/* The unit of a frame, which has frame_len octets; it lies in the code's memory until the next
 * call. The convolutional code continues from unit to unit: they are one stream. */
struct slice frame_code_write(struct frame_code *c, struct slice frame);

/* Octets that arrived, after frame_code_next returned FRAME_CODE_NONE (also behind frame_code_end);
 * any number of them. They are borrowed until it does so again. */
void frame_code_feed(struct frame_code *c, struct slice octets);

enum frame_code_result {
    FRAME_CODE_NONE,  /* nothing is left: there is none until more is fed */
    FRAME_CODE_FRAME, /* a frame */
    FRAME_CODE_WORK,  /* some of the octets were read, and gave none: it is to be called again */
};

/* The next frame that is valid, or not known to be invalid (FRAME_CODE_UNCODED: its own check value
 * may show errors). It is valid until the next call. A call decodes at most one unit, and searches
 * a marker in at most some thousand octets beyond the longest unit. Of the convolutional code it
 * decodes at most CONV_LOOK symbols, and searches their period. */
enum frame_code_result frame_code_next(struct frame_code *c, struct slice *frame);

/* The stream has ended, and another one may begin. Only after frame_code_next returned
 * FRAME_CODE_NONE. It is called again until it does: it gives the last unit of the convolutional
 * code, for which no further symbols are needed then. An incomplete unit is dropped. */
void frame_code_end(struct frame_code *c);

/* Symbols of the convolutional code that were wrong, as its decoder sees it. */
uint64_t frame_code_wrong(const struct frame_code *c);

/* Of all that was read; lies in the code's memory. */
const struct cadu_counts *frame_code_counts(const struct frame_code *c);

#endif
