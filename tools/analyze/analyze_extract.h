/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a few sessions, as the logs or captures have them: a segment log and a drop log that
 * helio-analyze reads again. */
#ifndef TOOLS_ANALYZE_EXTRACT_H
#define TOOLS_ANALYZE_EXTRACT_H

#include <stdio.h>

#include "tools/analyze/analyze_choose.h"

#define EXTRACT_SESSIONS_MAX 256
#define EXTRACT_ROWS_MAX 60000      /* of one session; further ones are counted */
#define EXTRACT_TOTAL_MAX 600000    /* of all */
#define EXTRACT_MATRICES_MAX 100000 /* rows of matrices of erasure codes, beside them */

struct analyze_extract {
    FILE *segments, *drops, *lacks;
    struct analyze_name names[EXTRACT_SESSIONS_MAX];
    uint64_t rows[EXTRACT_SESSIONS_MAX];
    size_t len;
    uint64_t left_out[EXTRACT_SESSIONS_MAX],
        written;       /* rows beyond these limits; of all sessions */
    uint64_t matrices; /* rows of matrices */
};

/* Makes segments.csv and drops.csv in `folder`, with their column names. False when it cannot. */
bool analyze_extract_open(struct analyze_extract *x, const char *folder);

/* Writes the row when it is of one of the names, or of a matrix. */
void analyze_extract_row(struct analyze_extract *x, const struct seglog_row *r);
void analyze_extract_drop(struct analyze_extract *x, const struct drop_event *d);

/* Tells of each session whose rows are not all there in left-out.csv. False when something could
 * not be written. */
bool analyze_extract_close(struct analyze_extract *x);

#endif
