/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel access data units (CCSDS 131.0-B): a marker, then a frame or a codeword of it,
 * randomised or not. They are read from the octets of a demodulator, which knows neither where an
 * octet begins nor whether all bits are inverted.
 *
 *     n = read(…, cadu_reader_space(r, &room), room);
 *     cadu_reader_fed(r, n);
 *     while (cadu_reader_next(r, &cadu))
 *         …
 *
 *     SEARCH ── marker found ───► LOCK ──┐
 *        ▲                        │  ▲   │ marker in its place, or the one after it
 *        └─── neither of these ───┘  └───┘
 *
 * A marker is found anywhere if it has no errors, or few with LDPC and turbo codes. It is in its
 * place if it is near the expected position, with few errors.
 */
#ifndef FRAMES_CADU_H
#define FRAMES_CADU_H

#include "base/slice.h"
#include "frames/frame.h"
#include "frames/ldpc.h"
#include "frames/pn.h"
#include "frames/rs.h"
#include "frames/turbo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CADU_SLIP_MAX 8          /* bits */
#define CADU_MARKER_ERRORS_MAX 8 /* bits; half of the marker would be chance */
#define CADU_MARKER_MAX 24       /* octets */

/* The attached sync markers (131.0-B 9.3): each belongs to channel codes, with which the unit that
 * is read and written here may go on to a modem. */
enum cadu_marker {
    CADU_MARKER_32,  /* 1ACFFC1D: of all but turbo codes and these: */
    CADU_MARKER_64,  /* 034776C7272895B0: LDPC codes of rates 1/2, 2/3, 4/5 (AR4JA), turbo 1/2 */
    CADU_MARKER_96,  /* 25D5C0CE8990F6C9461BF79C: turbo 1/3 */
    CADU_MARKER_128, /* that of 64 bits, and its complement: turbo 1/4 */
    CADU_MARKER_192  /* that of 96 bits, and its complement: turbo 1/6 */
};

/* Octets: 4 to CADU_MARKER_MAX. */
size_t cadu_marker_len(enum cadu_marker marker);

/* That of a turbo code. */
enum cadu_marker cadu_turbo_marker(enum turbo_rate rate);

/* An LDPC code (ldpc_init) and the memory of its decoder, the caller's. One thread uses it at a
 * time. */
struct cadu_ldpc {
    struct ldpc code;
    struct ldpc_work work;
    uint8_t symbols[LDPC_CODEWORD_MAX];
};

/* Likewise a turbo code (turbo_init). `checked`: frames end with a frame error control field, by
 * which the decoder knows when it is done. */
struct cadu_turbo {
    struct turbo code;
    struct turbo_work work;
    uint8_t symbols[TURBO_CODEWORD_MAX];
    bool checked;
};

struct cadu_format {
    uint32_t frame_len;       /* octets of the frame, 1 to FRAME_LENGTH_MAX */
    const struct rs *rs;      /* NULL: without code. Must outlive readers and writers */
    unsigned depth;           /* with code: codewords of a codeblock, 1 to RS_DEPTH_MAX */
    struct cadu_ldpc *ldpc;   /* NULL: without, as with Reed-Solomon. A frame is one block of it */
    struct cadu_turbo *turbo; /* likewise */
    bool randomised;
    enum pn_sequence sequence; /* PN_TM or PN_TM_LONG, when randomised */
    enum cadu_marker marker;
};

/* NULL, or a text that says what is wrong with it. */
const char *cadu_problem(const struct cadu_format *f);

/* Bits of a unit, its marker included; the format has no problem. Units of turbo codes of rate 1/3
 * are no whole octets: they have four bits more. */
size_t cadu_bits(const struct cadu_format *f);

/* Octets of a unit, rounded up. */
size_t cadu_len(const struct cadu_format *f);

/* Writes the unit of a frame of f->frame_len octets into `out`, cadu_len octets that do not overlap
 * the frame. Bits behind the unit are 0. */
void cadu_write(const struct cadu_format *f, const uint8_t *frame, uint8_t *out);

/* What is known of a frame's octets. */
enum cadu_quality {
    CADU_UNKNOWN, /* there is no code; the frame's check value may show errors */
    CADU_GOOD,    /* every codeword was decoded */
    CADU_ERRED    /* at least one was not: its octets are as received */
};

struct cadu {
    struct slice frame; /* in the reader's block, until the next call */
    enum cadu_quality quality;
    struct rs_result rs;       /* zeros without code */
    struct ldpc_result ldpc;   /* likewise */
    struct turbo_result turbo; /* likewise */
    bool inverted;             /* the bits were, and are not any more */
    bool marker_missing;       /* the marker has more errors than allowed; the next one is right */
    unsigned marker_errors;    /* bits; 0 when it is missing */
    int slip;                  /* position of the marker minus the expected one, bits */
    bool resynchronised;       /* it was found elsewhere: by searching */
};

/* Of all units. */
struct cadu_counts {
    uint64_t frames, erred;
    uint64_t corrected; /* symbols; bits of LDPC and turbo codes */
    uint64_t codewords_failed;
    uint64_t iterations;     /* of the LDPC or turbo decoder */
    uint64_t slips;          /* frames with a slip */
    uint64_t resynchronised; /* frames, the first one included */
    /* times that neither a marker nor the one after it was at its expected position */
    uint64_t sync_losses;
    uint64_t inversions;      /* changes from upright to inverted or back, after the first frame */
    uint64_t markers_missing; /* frames without a marker */
    uint64_t marker_errors;   /* bits */
    uint64_t skipped_bits;    /* that belong to no unit */
};

struct cadu_reader {
    struct cadu_format format;
    /* Permitted bit errors of a marker near its expected position. Of longer markers there are
     * more, in proportion: 18, 28 and 48 of 96, 128 and 192 bits for CADU_MARKER_ERRORS_MAX. */
    unsigned marker_errors;
    unsigned slip_max;       /* bits that it may be early or late */
    uint8_t *buffer, *block; /* the caller's */
    uint8_t *symbols;        /* likewise: of each bit of the buffer; NULL: hard decisions */
    size_t room, have;       /* octets of the buffer; what is not read begins at bit `at` */
    size_t at;
    bool locked, inverted;
    struct cadu_counts counts;
};

/* Octets of buffer that a reader needs at least; more is faster. */
size_t cadu_reader_room(const struct cadu_format *f);

/* The format must be valid (no problem). `marker_errors` is 0 to CADU_MARKER_ERRORS_MAX, `slip_max`
 * 0 to CADU_SLIP_MAX. `buffer` has `room` octets, `block` cadu_len octets; the caller keeps
 * both. */
void cadu_reader_init(struct cadu_reader *r, const struct cadu_format *f, unsigned marker_errors,
                      unsigned slip_max, uint8_t *buffer, size_t room, uint8_t *block);

/* Where further octets go, after cadu_reader_next returned false; *len >= 1 of them at most. */
uint8_t *cadu_reader_space(struct cadu_reader *r, size_t *len);
/* `len` octets were written to the memory that cadu_reader_space returned. */
void cadu_reader_fed(struct cadu_reader *r, size_t len);

/* Call it before anything is fed: the input is soft symbols, from 0 (surely a 0) to 255 (surely a
 * 1), for the decoders of LDPC and turbo codes. Wrong bits of markers are weighted by their
 * symbols. `symbols` has 8 times as many octets as the buffer; the caller keeps it. */
void cadu_reader_soften(struct cadu_reader *r, uint8_t *symbols);

/* Instead of the two functions above, after cadu_reader_next returned false: takes some of n
 * symbols, n >= 8, eight or a multiple of it. Returns how many. */
size_t cadu_reader_symbols(struct cadu_reader *r, const uint8_t *symbols, size_t n);

/* The next unit. False: it is not all there. */
bool cadu_reader_next(struct cadu_reader *r, struct cadu *out);

/* End of the input: remaining octets are discarded. */
void cadu_reader_end(struct cadu_reader *r);

#ifdef __cplusplus
}
#endif

#endif
