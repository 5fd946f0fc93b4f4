/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of helio-analyze as CSV (docs/helio-analyze.md, "Tables"). Each function returns false
 * when the file cannot be written. */
#ifndef TOOLS_ANALYZE_TABLE_H
#define TOOLS_ANALYZE_TABLE_H

#include <stdio.h>

#include "tools/analyze/analyze_model.h"

extern const char analyze_sessions_header[]; /* with its newline */

bool analyze_table_session(FILE *f, const struct analyze_session *s,
                           const struct analyze_split *of_flow);
bool analyze_table_series(FILE *f, const struct analyze *a);
bool analyze_table_cdf(FILE *f, const struct analyze *a);

/* An engine's number is not always known from a capture. */
bool analyze_engine_known(uint64_t engine);

const char *analyze_colour_word(char colour);
const char *analyze_basis_word(enum analyze_basis basis); /* "" for none */

#endif
