/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure code under LTP: the sender groups segments into matrices and sends repair segments behind
 * each matrix; the receiver computes lost segments from them, without a retransmission.
 *
 * The segments of a matrix are numbered 0, 1, … `span` - 1. There are two codecs:
 *
 * ERASURE_RS: the matrix is one codeword of a Reed-Solomon code over GF(2^16) (erasure/rs16.h).
 * ERASURE_RS8: with depth D, segment s is at position s / D of codeword s mod D, so that a fade
 * hits all codewords alike. Each codeword is a systematic Reed-Solomon code over GF(2^8)
 * (erasure/code.h).
 *
 * Segments are transmitted at once and unchanged, behind a header of 10 octets. All integers are in
 * network byte order. This is the packet of ERASURE_RS8:
 *
 *      0               1               2               3
 *     +---------------+-----------------------------------------------+
 *     | 0xE0 or 0xE1  | matrix number                                 |
 *     +---------------+---------------+-------------------------------+
 *     | index                         | CRC-32C of the whole packet   |
 *     +-------------------------------+-------------------------------+
 *     | with this field as zero       | 0xE0: the segment …
 *     +-------------------------------+
 *
 * 0xE0 is a segment, and index is its number. 0xE1 is a repair segment; its index is row x W +
 * codeword, where W is the smaller one of D and the number of segments. Behind its CRC follow:
 *
 *     +-------------------------------+---------------+---------------+
 *     | segments of the matrix        | depth D       | rows M        |
 *     +-------------------------------+---------------+---------------+
 *     | repair symbol, as long as the longest symbol of the matrix …
 *
 * ERASURE_RS has 0xE2 and 0xE3 instead; index is the row. Its repair segment has four numbers of
 * two octets behind the CRC: segments and rows of the matrix, and those of a full one. Its symbols
 * are longer by zeros, to a multiple of 16 octets.
 *
 * With requests ERASURE_RS has 0xE6 and 0xE7, and a receiver asks for more when the repair segments
 * of a matrix are too few, with a header of the kind 0xE4 alone; its index is how many symbols are
 * missing. The sender answers with rows behind those that it has transmitted.
 * So a matrix that the code was too weak for costs one round trip and few segments, where LTP would
 * repeat all of its lost ones. Twice as many rows as are transmitted, rounded up to a power of
 * two, are computed for this.
 *
 * With `adaptive` the receiver reports how many repair segments a matrix needed, with a header of
 * the kind 0xE5 alone; its index is that number. The sender then transmits as many as recent
 * matrices needed, with a margin (erasure/needs.h), at most `rows`.
 *
 * The symbol of a segment is its length (2 octets), the CRC of its packet (4 octets), and the
 * segment itself; zeros follow up to the length of the longest one. So a repaired segment is
 * checked by the CRC of the packet that was lost.
 *
 * The high half of the first octet is 14, which no LTP segment has as its version: a receiver
 * without this code counts such packets as segments of an unknown version, and a receiver with it
 * notices segments of a sender without it.
 *
 * Both ends need the same span, depth, rows and use of requests. Nothing is negotiated.
 */
#ifndef ERASURE_ERASURE_H
#define ERASURE_ERASURE_H

#include <stdbool.h>

#include "base/slice.h"
#include "base/tick.h"
#include "erasure/gf.h"
#include "erasure/gf16.h"

#define ERASURE_HEAD 10        /* octets before a segment */
#define ERASURE_REPAIR_HEAD 14 /* octets before a repair symbol */
#define ERASURE_WIDE_HEAD 18   /* the same of ERASURE_RS */
#define ERASURE_SYMBOL_HEAD 6  /* octets of a symbol before the segment */
/* A repair segment is longer than the longest segment by at most so many octets. */
#define ERASURE_BEYOND (ERASURE_WIDE_HEAD + ERASURE_SYMBOL_HEAD + GF16_GROUP - 1)

#define ERASURE_REQUEST_COPIES 3 /* of each request, as one can be lost */
#define ERASURE_REQUEST_SPACING (10 * TICK_MS)
#define ERASURE_REQUEST_SAME (40 * TICK_MS) /* they arrive within this time */
#define ERASURE_ANSWERS_MAX 3               /* for a matrix */

#define ERASURE_DEPTH_MAX 255
#define ERASURE_SEGMENT_MAX 65400
#define ERASURE_MATRICES_MAX 64

/* No call does more work than this for ERASURE_RS, in products of 512 octets, besides the packet
 * that it is given. */
#define ERASURE_WORK_MAX 8192

enum erasure_codec { ERASURE_RS8, ERASURE_RS };

/* Verdict on a received packet. */
enum erasure_verdict {
    ERASURE_SEGMENT,   /* a segment, to be used */
    ERASURE_REPAIR,    /* a repair segment was kept */
    ERASURE_DUPLICATE, /* the same was here before */
    ERASURE_LATE,      /* a segment of an ended matrix, to be used; or its repair segment */
    ERASURE_UNCODED,   /* no packet of this code: the peer sends plain segments, or others */
    ERASURE_MALFORMED, /* too short or too long */
    ERASURE_BAD_CRC,   /* it was corrupted */
    /* it does not fit our span, depth, rows, or its matrix; a segment that does not fit its matrix
     * is to be used */
    ERASURE_MISMATCH,
    ERASURE_REQUEST, /* a request for more repair segments, or what a matrix needed: for the encoder
                      */
    ERASURE_VERDICTS
};

/* What happened to a matrix: the first two at the sender, the others when it ends at the
 * receiver. */
enum erasure_outcome {
    ERASURE_SENT,
    ERASURE_ANSWERED,
    ERASURE_WHOLE,
    ERASURE_REPAIRED,
    ERASURE_FAILED,
    ERASURE_DISPLACED
};

struct erasure_event {
    enum erasure_outcome outcome;
    uint32_t matrix;
    unsigned segments; /* of the matrix; of a failed one as far as the receiver knows */
    unsigned repairs;  /* repair segments: transmitted, those of an answer alone; or received */
    unsigned repaired, missing; /* receiver: of the lost segments */
    tick delay; /* receiver: the longest of a repaired segment, as erasure_received has it */
};

/* Gets each event when it happens. It must not call the coder. */
typedef void erasure_sink(void *context, const struct erasure_event *e);

/* Is this a packet of this code, with the right CRC? Any codec, span and rows will do. */
bool erasure_is_packet(struct slice packet);

struct erasure_config {
    enum erasure_codec codec;
    unsigned span;      /* segments of a full matrix: 1 to depth x (255 - rows), at most 65535 */
    unsigned depth;     /* codewords: 1 to ERASURE_DEPTH_MAX; 1 for ERASURE_RS */
    unsigned rows;      /* repair segments of each codeword of a full matrix: 1 to 254, or 32768 */
    size_t segment_max; /* octets of the longest segment: 1 to ERASURE_SEGMENT_MAX */
    tick wait;          /* sender: a matrix that is not full ends so long after its first segment */
    tick hold;          /* receiver: a matrix without arrivals for so long has failed */
    /* Receiver: open matrices, 1 to ERASURE_MATRICES_MAX. Each has memory for all of its segments
     * and repair segments. */
    unsigned matrices;
    bool requests; /* more repair segments are requested: for ERASURE_RS */
    bool adaptive; /* needed repair segments are reported and followed: with requests */
    tick answer;   /* receiver: a matrix that asked waits for so long instead of `hold` */
    tick each;     /* receiver: one repair segment takes so long on the link, 0: unknown; */
    tick pause;    /* it requests so long after the last one was due */
    /* Sender: matrices whose repair segments are kept for requests, 1 to ERASURE_MATRICES_MAX,
     * including the one in transmission. 0 without requests. */
    unsigned kept;
    uint32_t first;             /* sender: the first matrix number, random, modulo 2^24 */
    const struct gf_math *math; /* for ERASURE_RS8; outlives the coder */
    /* for ERASURE_RS; they outlive the coder, and many can share them */
    const struct gf16 *field;
    const struct gf16_math *math16;
    erasure_sink *sink; /* of both coders; NULL: none */
    void *sink_context;
};

/*
 * Chooses depth and rows for c->codec. rate is the share of segments among all, above 0 and below
 * 1; depth 0 takes the smallest one that the code allows. NULL, and *c has span, depth and rows; or
 * a text that says what would be right.
 */
const char *erasure_config_set(struct erasure_config *c, unsigned span, double rate,
                               unsigned depth);

/* NULL, or a text that says what is out of range. */
const char *erasure_config_problem(const struct erasure_config *c);

/* Octets of memory that a sender, or a receiver, may use with the arithmetic math16. */
uint64_t erasure_encoder_bytes(const struct erasure_config *c);
uint64_t erasure_decoder_bytes(const struct erasure_config *c);

/* ---- sender ---- */

struct erasure_encoder;

struct erasure_sent {
    uint64_t segments, repairs;        /* packets of each kind */
    uint64_t repair_octets;            /* of repair packets */
    uint64_t matrices, short_matrices; /* ended matrices; those that ended before they were full */
    uint64_t unsent;                   /* repair segments that were displaced by the next matrix */
    uint64_t requests;                 /* with a right CRC, copies included */
    uint64_t answered;                 /* answered requests, without copies and late ones; */
    uint64_t more;                     /* repair segments of the answers */
    uint64_t too_late; /* requests for a matrix that is not kept, or has not enough rows left */
    uint64_t reports;  /* of needed repair segments, for kept matrices */
    unsigned rows;     /* repair segments of a full matrix, now */
    unsigned work_max; /* the most work of one call */
};

/* 0 or HELIO_ENOMEM; the configuration has no problem. */
int erasure_encoder_new(struct erasure_encoder **out, const struct erasure_config *config);
void erasure_encoder_free(struct erasure_encoder *e); /* NULL is allowed */

/* Takes a segment of two parts, 1 to segment_max octets in all, and writes the header of its
 * packet: the caller transmits head, first, rest. A full matrix ends; one of ERASURE_RS with the
 * last segment of a block (RFC 5326), too, when another block like it would not fit. If repair
 * segments of the matrix before it are still pending then, they are dropped (unsent). */
void erasure_encoder_add(struct erasure_encoder *e, struct slice first, struct slice rest, tick now,
                         uint8_t head[ERASURE_HEAD]);

/* Are repair segments pending? output: writes the next one to `packet`, which has ERASURE_BEYOND +
 * segment_max octets. Returns its length, 0 when none is pending. */
bool erasure_encoder_pending(const struct erasure_encoder *e);
size_t erasure_encoder_output(struct erasure_encoder *e, uint8_t *packet);

/* Are the repair segments of an ended matrix still being computed? The caller then calls expire and
 * adds no segment: the next matrix would begin before the repair segments, and its first block
 * would have all of them in its middle. Segments that are added nevertheless are allowed. */
bool erasure_encoder_computing(const struct erasure_encoder *e);

/* When erasure_encoder_expire has something to do: the matrix that is not full ends, or repair
 * segments are to be computed. TICK_NEVER: nothing is in it, or the repair segments of the one
 * before it are pending. */
tick erasure_encoder_deadline(const struct erasure_encoder *e);
void erasure_encoder_expire(struct erasure_encoder *e, tick now);

/* A request or a report of the receiver: ERASURE_REQUEST when it is one, whether it is used or
 * not; otherwise another verdict. Then repair segments may be pending. Each matrix is answered for
 * ERASURE_ANSWERS_MAX times at most. */
enum erasure_verdict erasure_encoder_request(struct erasure_encoder *e, struct slice packet,
                                             tick now);

const struct erasure_sent *erasure_encoder_counters(const struct erasure_encoder *e);

/* ---- receiver ---- */

struct erasure_received {
    uint64_t verdicts[ERASURE_VERDICTS]; /* of packets */
    uint64_t whole;                      /* matrices that lost no segment */
    uint64_t repaired;                   /* matrices whose lost segments were all repaired */
    uint64_t failed;                     /* matrices that ended with missing segments */
    uint64_t displaced;                  /* of these, displaced by another one */
    uint64_t reports;                    /* written reports of needed repair segments */
    uint64_t requested;          /* matrices for which more repair segments were requested, */
    uint64_t requested_repaired; /* and of these, repaired */
    uint64_t segments_repaired;
    uint64_t segments_lost;    /* missing segments of failed matrices with a known size */
    uint64_t segments_corrupt; /* repaired, but their CRC was wrong: not used */
    unsigned work_max;         /* the most work of one call */
    tick delay_sum,
        delay_max; /* of repaired segments: from when they should have arrived, estimated */
};

struct erasure_decoder;

/* 0 or HELIO_ENOMEM; the configuration has no problem. */
int erasure_decoder_new(struct erasure_decoder **out, const struct erasure_config *config);
void erasure_decoder_free(struct erasure_decoder *d); /* NULL is allowed */

/* Processes a packet. *segment is its segment, in the packet's memory; length 0: none. LTP
 * authenticates the sender (RFC 5327). So a segment with a valid CRC is always used, whatever other
 * packets contained: forged packets can prevent repairs, but cannot cause the loss of segments.
 * Then call erasure_decoder_next: repaired segments that are not read before the next input are
 * lost. */
enum erasure_verdict erasure_decoder_input(struct erasure_decoder *d, struct slice packet, tick now,
                                           struct slice *segment);
/* The next repaired segment; valid until the next input. False: no more. */
bool erasure_decoder_next(struct erasure_decoder *d, struct slice *segment);

/* Is a request or a report pending? Then the next one is written. Returns its length, 0 when none
 * is. */
bool erasure_decoder_requesting(const struct erasure_decoder *d);
size_t erasure_decoder_request(struct erasure_decoder *d, tick now, uint8_t packet[ERASURE_HEAD]);

/* When erasure_decoder_expire has something to do: a matrix has waited for long enough, or lost
 * segments are to be computed; TICK_NEVER: none is open. After it erasure_decoder_next has
 * segments as after an input. */
tick erasure_decoder_deadline(const struct erasure_decoder *d);
void erasure_decoder_expire(struct erasure_decoder *d, tick now);

const struct erasure_received *erasure_decoder_counters(const struct erasure_decoder *d);

/* Asserts what is always true of it (for tests). */
void erasure_decoder_check(const struct erasure_decoder *d);

#endif
