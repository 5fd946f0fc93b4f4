/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the clocks of the logs, and of logs that hold several runs. */
#ifndef TOOLS_CLOCKS_RESULT_H
#define TOOLS_CLOCKS_RESULT_H

#include "tools/analyze/analyze_result.h"

/* A line for each pair of clocks that differ, each correction, and each doubt; nothing else. */
void clocks_text(FILE *f, const struct analyze_totals *t);

/* An array; the caller owns it. */
struct json_t *clocks_json(const struct analyze_totals *t);
struct json_t *clocks_fixes_json(const struct analyze_totals *t);

#endif
