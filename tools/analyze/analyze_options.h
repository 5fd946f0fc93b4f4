/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of helio-analyze. */
#ifndef TOOLS_ANALYZE_OPTIONS_H
#define TOOLS_ANALYZE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/analyze/analyze_extract.h"
#include "tools/analyze/analyze_model.h"
#include "tools/analyze/input/input.h"

#define OPTIONS_FILES_MAX 256
#define OPTIONS_PORTS_MAX 64
#define OPTIONS_ENGINES_MAX 256

struct analyze_options {
    bool json, strict;
    const char *sessions, *series, *cdf, *bundles, *tables; /* where to write; NULL: nowhere */
    const char *plot, *html, *extract;                      /* the same */
    struct analyze_name names[EXTRACT_SESSIONS_MAX];
    size_t names_len;
    uint64_t timeline; /* further sessions whose segments are shown or extracted */
    const char *trace;
    tick bin;
    struct input_file files[OPTIONS_FILES_MAX];
    size_t files_len;
    char *owned[OPTIONS_FILES_MAX]; /* paths of those that a folder had */
    size_t owned_len;
    enum watch_place at; /* of the captures that follow */
    uint16_t ports[OPTIONS_PORTS_MAX];
    struct watch_engine engines[OPTIONS_ENGINES_MAX];
    struct watch_options watch;
    struct analyze_model model;
    bool clock_auto; /* the logs are read once more, to find out */
    struct clocks_fix fixes[CLOCKS_FIXES_MAX];
    size_t fixes_len;
    uint64_t run; /* of several in a log, from 1; 0: all */
};

/* Ends the program with exit code 2 when something is wrong. */
void analyze_options_parse(struct analyze_options *o, int argc, char **argv);
void analyze_options_fini(struct analyze_options *o);

/* ---- The logs in a folder of results, as helio-lab and helio-sim --log-dir leave it ---- */

/* Is there a folder of that name? */
bool analyze_is_folder(const char *path);

/* The paths of its segment, bundle and drop logs (*.segments.csv, *.bundles.csv, *.drops.csv, also
 * with .gz behind them), by name; the caller owns the list and each path. The count; 0: there are
 * none, it cannot be read or there is no memory, and then there is no list. */
size_t analyze_folder_logs(const char *path, char ***out);

#endif
