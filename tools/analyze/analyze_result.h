/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of helio-analyze as text and as JSON. */
#ifndef TOOLS_ANALYZE_RESULT_H
#define TOOLS_ANALYZE_RESULT_H

#include <stdio.h>

#include "tools/analyze/analyze_model.h"
#include "tools/analyze/input.h"
#include "tools/analyze/lives.h"
#include "tools/analyze/ltp_watch.h"

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

/* Times in ns, told in ms; `what` is the beginning of the line. */
void analyze_times_text(FILE *f, const char *what, const struct hist *h);
struct json_t *analyze_times_json(const struct hist *h);

void analyze_result_text(FILE *f, const struct analyze *a, const struct analyze_totals *t);

/* Returns false when the file cannot be written. */
bool analyze_result_json(FILE *f, const struct analyze *a, const struct analyze_totals *t);

#endif
