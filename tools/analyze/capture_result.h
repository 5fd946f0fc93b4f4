/* SPDX-License-Identifier: Apache-2.0 */
/* What the summary says of captures: what is in them, and which end each was taken for. */
#ifndef TOOLS_CAPTURE_RESULT_H
#define TOOLS_CAPTURE_RESULT_H

#include <stdio.h>

#include "tools/analyze/analyze_result.h"

/* The end of a line that was begun, and further lines but the last one's end. */
void capture_text(FILE *f, const struct analyze_totals *t);

/* The caller's. */
struct json_t *capture_json(const struct analyze_totals *t);

#endif
