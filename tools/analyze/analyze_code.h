/* SPDX-License-Identifier: Apache-2.0 */
/* The erasure code of each direction between two engines: sums over the log's rows of matrices. */
#ifndef TOOLS_ANALYZE_CODE_H
#define TOOLS_ANALYZE_CODE_H

#include <stdio.h>

#include "ltp/event.h"
#include "tools/hist.h"

struct analyze_code {
    uint64_t sent, segments_sent; /* matrices that the sender's log has, and their segments */
    uint64_t repairs_sent;        /* repair segments, those of answers included */
    uint64_t answers, more_sent;  /* answered requests, and their repair segments */
    uint64_t ended[MATRIX_DISPLACED + 1]; /* matrices of the receiver's log, by their outcome */
    uint64_t segments, repairs;           /* of these: segments; received repair segments; */
    uint64_t repaired, missing;           /* lost segments, repaired and not */
    struct hist delay;                    /* the longest of each matrix with repaired segments */
};

struct analyze;
struct analyze_totals;
struct json_t;

void analyze_code_init(struct analyze_code *c);
void analyze_code_fini(struct analyze_code *c);

/* A row of the kind EVENT_MATRIX. */
void analyze_code_add(struct analyze_code *c, const struct event *e);

/* Matrices that ended at the receiver. */
uint64_t analyze_code_ended(const struct analyze_code *c);

/* A few lines for each direction with matrices. */
void analyze_code_text(FILE *f, const struct analyze *a);

/* An array with an object for each such direction; the caller owns it. */
struct json_t *analyze_code_json(const struct analyze *a);

#endif
