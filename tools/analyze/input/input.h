/* SPDX-License-Identifier: Apache-2.0 */
/* Segment logs, drop logs, bundle logs and captures as one stream of rows in order of time: any
 * number of files, plain or gzip. */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include "tools/analyze/clocks.h"
#include "tools/analyze/input/bundle_row.h"
#include "tools/analyze/input/drop_row.h"
#include "tools/analyze/input/seglog_row.h"
#include "tools/analyze/watch/ltp_watch.h"

struct input;

struct input_file {
    const char *path;    /* "-" is standard input */
    bool drops;          /* has to be a drop log; else the file's beginning says what it is */
    enum watch_place at; /* of a capture */
};

/* Called for each malformed row: where and why. Returns false to stop the reading. */
typedef bool input_complaint(void *context, const char *file, uint64_t line, const char *why);

/* Opens all files. Returns 0 or an error of base/err.h; *failed is then the index of the file, and
 * `error` says why when it is not empty: HELIO_EFORMAT when the file is nothing that can be read
 * here. `options` are those of captures, and are kept; their `at` is not used. */
int input_open(struct input **out, const struct input_file *files, size_t count,
               const struct watch_options *options, input_complaint *complain, void *context,
               size_t *failed, char error[256]);
void input_close(struct input *in);

/* One of the three; valid until the next one is read. */
struct input_row {
    const struct seglog_row *log;
    const struct drop_event *drop;
    const struct bundle_row *bundle;
    uint64_t run; /* of its file, from 0: how often the times in it went back before it */
};

/* The first place where a file's times go back: it holds several runs, one behind the other. */
struct input_back {
    const char *file;
    uint64_t line; /* 0 in a capture */
    tick by;
    uint64_t runs; /* of the file with most */
};

/* Two logs of one node that cover the same time; NULL: there are none. */
struct input_twins {
    const char *one, *other;
    uint64_t node;
    tick both; /* how long */
};

/* What a pair of addresses in a capture was taken for. */
struct input_view {
    const char *file;
    struct watch_view at;
    const char *same; /* another capture of that time that was taken for the same end; NULL: none */
    bool emulator;    /* helio-emu's, of what enters its link, or `after`: leaves it */
    bool after;
    const char *partner; /* the other file of that run: both ends are known by both; NULL: none */
};

#define INPUT_VIEWS_MAX 64

/* The next row: 1; 0 at the end of all files; HELIO_ESTOPPED when `complain` said so; HELIO_ENOMEM;
 * or HELIO_EIO (*failed is the file: its data is damaged, or reading failed). Rows of equal time
 * are in the order of the files, those of drop logs last; within a file the order stays. All files'
 * first runs are before any second run. */
int input_next(struct input *in, struct input_row *row, size_t *failed);

/* From now on the times of each file are those of another clock, by the node of its first row.
 * Before the first row; `fixes` are kept as long as the input is. */
void input_correct(struct input *in, const struct clocks_fix *fixes, size_t len);

/* As far as was read. */
struct input_back input_went_back(const struct input *in);
struct input_twins input_twin_logs(const struct input *in);

/* Why input_next failed, when it is known; else empty. */
const char *input_error(const struct input *in);

/* Calls `tell` with each node whose log or capture is among the files, according to their first
 * rows. */
void input_nodes(const struct input *in, void (*tell)(void *context, uint64_t node), void *context);

bool input_has_drops(const struct input *in);
bool input_has_bundles(const struct input *in);

/* The counters of all captures added up; false when there is none. */
bool input_captures(const struct input *in, struct watch_counters *sum);

/* How many pairs of addresses the captures have; the first INPUT_VIEWS_MAX of them in `out`. At the
 * end. */
size_t input_views(const struct input *in, struct input_view out[INPUT_VIEWS_MAX]);

/* Read so far, as a share of all files' sizes, 0..1. */
double input_share(const struct input *in);

#endif
