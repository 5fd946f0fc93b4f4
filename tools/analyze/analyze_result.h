/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of helio-analyze as text and as JSON. */
#ifndef TOOLS_ANALYZE_RESULT_H
#define TOOLS_ANALYZE_RESULT_H

#include <stdio.h>

#include "tools/analyze/analyze_model.h"
#include "tools/analyze/bundles/lives.h"
#include "tools/analyze/input/input.h"
#include "tools/analyze/watch/ltp_watch.h"

struct analyze_totals {
    uint64_t files, malformed;
    struct analyze_model model;
    struct watch_counters capture;            /* of all captures together */
    bool captures;                            /* there are some */
    struct input_view views[INPUT_VIEWS_MAX]; /* which end each was taken for */
    size_t views_len;                         /* of all of them */
    const struct lives *lives;                /* of bundle logs; NULL: there is none */
    const struct clocks *clocks;    /* as the logs have them, before what is corrected of itself */
    const struct clocks_fix *fixes; /* corrected */
    size_t fixes_len;
    bool clock_auto; /* they are what `clocks` says */
    struct input_back back;
    struct input_twins twins;
    uint64_t run; /* the one of all that was asked for; 0: all */
};

/* Times in ns, printed in ms; `what` is the beginning of the line. */
void analyze_times_text(FILE *f, const char *what, const struct hist *h);
struct json_t *analyze_times_json(const struct hist *h);

void analyze_result_text(FILE *f, const struct analyze *a, const struct analyze_totals *t);

/* Returns false when the file cannot be written. */
bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t);

/* ---- The clocks of the logs, and logs that hold several runs ---- */

/* A line for each pair of clocks that differ, each correction, and each doubt; nothing else. */
void clocks_text(FILE *f, const struct analyze_totals *t);

/* An array; the caller owns it. */
struct json_t *clocks_json(const struct analyze_totals *t);
struct json_t *clocks_fixes_json(const struct analyze_totals *t);

/* What the summary says of captures: what is in them, and which end each was taken for. */

/* The end of a line that was begun, and further lines but the last one's end. */
void capture_text(FILE *f, const struct analyze_totals *t);

/* The caller's. */
struct json_t *capture_json(const struct analyze_totals *t);

#endif
