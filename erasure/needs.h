/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many repair segments the latest matrices needed, and how many the next one gets: the mean and
 * a margin of NEEDS_MARGIN standard deviations, both with exponentially falling weights. More are
 * sent at once, fewer only when a step of the present number is saved: so the number does not
 * follow each matrix.
 */
#ifndef ERASURE_NEEDS_H
#define ERASURE_NEEDS_H

#include <stdbool.h>

#define NEEDS_MARGIN 3.5
#define NEEDS_FIRST 8   /* matrices, before them the full number is sent */
#define NEEDS_WEIGHT 32 /* matrices whose needs count */
#define NEEDS_STEP 16   /* a step is this part of the present number */
#define NEEDS_LEAST 8   /* this part of the full number is always sent */

struct needs {
    unsigned known;        /* matrices, up to NEEDS_WEIGHT */
    double mean, variance; /* of needed repair segments for each segment */
    unsigned full, rows;   /* of a full matrix: the most, and the present number */
    unsigned span;         /* segments of a full matrix */
};

/* span, full: segments and most repair segments of a full matrix, at least 1. */
void needs_init(struct needs *n, unsigned span, unsigned full);

/* A matrix of `segments` segments, at least 1, needed this number of repair segments. Changes
 * n->rows, which is 1 to n->full. */
void needs_add(struct needs *n, unsigned segments, unsigned needed);

#endif
