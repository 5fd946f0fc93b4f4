/* SPDX-License-Identifier: Apache-2.0 */
/* helio-send: the sending end at a node. */
#ifndef TOOLS_FILES_SEND_RUN_H
#define TOOLS_FILES_SEND_RUN_H

#include <jansson.h>

#include "tools/files/files_sender.h"
#include "tools/files/files_spool.h"
#include "tools/files/files_walk.h"
#include "tools/perf/perf_link.h"

#define SEND_LIST_MAX 10000 /* files that the JSON lists */

struct send_options {
    struct perf_options link; /* socket, service, reconnect, priority, ordinal, lifetime_ms */
    const char *destination;
    char named[AAP2_EID_MAX]; /* the destination that was given by a name */
    char *const *paths;       /* "-": standard input */
    size_t paths_len;
    const char *name;  /* of the one file; NULL: its own */
    const char *spool; /* a folder whose new files are sent, instead of paths */
    const char *sent;  /* where they are moved to; NULL: they are removed */
    const char *json;  /* a file, "-", or NULL */
    struct files_send_options files;
    tick interval; /* between looks at the spool */
    bool resume, hidden, quiet;
};

struct send_run {
    const struct send_options *options;
    struct files_sender sender;
    struct files_spool spool;
    struct perf_link link;
    struct alarm alarm;
    FILE *input; /* the copy of standard input */
    json_t *files;
    tick begun_at, again_at, pause, refused_since, told_at, shown_at, look_at, unanswered_at;
    uint64_t refused;                /* times that the node took a payload not */
    uint64_t confirmed, failed;      /* files */
    char refusal[384];               /* the last one */
    uint64_t left[FILES_LEFT_COUNT]; /* entries below folders that are not sent */
    bool begun, stop, broken, interrupted, terminal;
    void (*over)(void *context);
    void *context;
};

/* The options stay the caller's. 0, or an error that was reported; call send_run_fini in any
 * case. */
int send_run_init(struct send_run *r, struct world *w, const struct send_options *o,
                  uint64_t random, void (*over)(void *context), void *context);
void send_run_fini(struct send_run *r);

/* Runs until all files are confirmed or failed, send_run_stop, or a failure; then `over` is called,
 * once. */
void send_run_start(struct send_run *r);
void send_run_stop(struct send_run *r);

/* All files were confirmed. */
bool send_run_good(const struct send_run *r);
json_t *send_run_json(const struct send_run *r);

#endif
