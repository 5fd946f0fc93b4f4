/* SPDX-License-Identifier: Apache-2.0 */
/* Private: matrices of a receiver (decoder.c), and their requests (request.c). */
#ifndef ERASURE_MATRIX_H
#define ERASURE_MATRIX_H

#include "erasure/code.h"
#include "erasure/packet.h"
#include "erasure/rs16.h"

enum { ENDED_MAX = 64 }; /* numbers of matrices that are remembered */
enum { NEEDS_MAX = 8 };  /* pending reports */

struct matrix {
    bool open;
    uint32_t number;
    unsigned segments; /* of the matrix; 0: no repair segment has said it */
    unsigned rows;
    size_t width;              /* octets of its repair symbols */
    unsigned have;             /* segments that are here, or were repaired */
    unsigned arrived;          /* packets that were kept */
    uint64_t turn;             /* of the last one, in the order of all packets that were kept */
    unsigned top;              /* with requests: the highest row, and one more */
    unsigned beyond;           /* the highest index of a segment, and one more */
    unsigned repaired;         /* its segments that were */
    tick delay;                /* the longest of theirs */
    bool enough;               /* its only codeword can be repaired, and will be (ERASURE_RS) */
    tick opened, tail, latest; /* first packet; first repair segment; last packet */
    tick ask;                  /* with requests: when to ask for more; TICK_NEVER */
    unsigned asked;            /* copies of the request that were written, or are pending */
    bool asking;               /* one of them is pending */
    bool requested;            /* it was counted as such */
    unsigned rounds;           /* requests without copies */
    uint8_t *symbols; /* of all segments, then of all repair segments by row and codeword */
    uint8_t *present; /* a flag for each of them */
    uint16_t data[ERASURE_DEPTH_MAX], repair[ERASURE_DEPTH_MAX]; /* symbols of each codeword */
};

struct erasure_decoder {
    struct erasure_config config;
    size_t symbol; /* memory of one symbol, octets */
    struct matrix *matrices;
    struct code *code; /* of ERASURE_RS8 */
    struct code_word word;
    struct rs16_repair *rs16;  /* of ERASURE_RS */
    struct matrix *repairing;  /* the matrix that it works on */
    unsigned given;            /* of its segments: those looked at after the work */
    tick now;                  /* of the last call */
    uint32_t ended[ENDED_MAX]; /* numbers of ended matrices; UINT32_MAX: none */
    unsigned ended_next;
    struct {
        uint32_t matrix;
        uint16_t rows;
    } needs[NEEDS_MAX];           /* reports: of ended matrices, */
    unsigned needs_at, needs_len; /* the first one and how many are pending */
    uint64_t turns;               /* packets that were kept, of all matrices */
    unsigned ready, ready_next;   /* of word.out: repaired segments, the next to be fetched */
    struct erasure_received n;
};

/* Plans the time of a request for a matrix that cannot be repaired until then: after the last row,
 * or (if that is lost) a pause after its expected time. If the row arrives later, the request is
 * repeated. An answer ends the copies of a request; if it was not sufficient, the next request
 * follows. */
void request_plan(const struct erasure_decoder *d, struct matrix *m, unsigned row, tick now);

/* A matrix ends: with `adaptive` a report of what it needed is pending. */
void request_report(struct erasure_decoder *d, const struct matrix *m);

/* When it is time and the matrix cannot be repaired, a request for it is pending. */
void request_look(struct erasure_decoder *d, struct matrix *m, tick now);

#endif
