/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-analyze writes: rows of sessions, the summary as text and as JSON. */
#ifndef TOOLS_ANALYZE_RESULT_H
#define TOOLS_ANALYZE_RESULT_H

#include <stdio.h>

#include "tools/analyze.h"

extern const char analyze_sessions_header[]; /* with its newline */

/* One row of the table of sessions. False when the file cannot be written. */
bool analyze_result_session(FILE *f, const struct analyze_session *s);

struct analyze_totals {
    uint64_t files, malformed;
};

void analyze_result_text(FILE *f, const struct analyze *a, const struct analyze_totals *t);

/* Returns false when the file cannot be written. */
bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t);

#endif
