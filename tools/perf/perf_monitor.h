/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helio-perf monitor: takes status reports, and writes them to a CSV file for each sender whose
 * bundles they are about, in the columns of DTNperf_3's monitor. In any world.
 */
#ifndef TOOLS_PERF_MONITOR_H
#define TOOLS_PERF_MONITOR_H

#include <jansson.h>
#include <stdio.h>

#include "bp/codec/admin.h"
#include "tools/perf/perf_link.h"
#include "tools/perf/perf_session.h"

#define PERF_MONITOR_COLUMNS                                                                       \
    "RX_TIME;Report_SRC;Report_TST;Report_SQN;Report_Type;Bndl_SRC;Bndl_TST;Bndl_SQN;Bndl_FO;"     \
    "Bndl_FL;Dlv;Ct;Rcv;Fwd;Del;Reason"
#define PERF_MONITOR_OPEN 256 /* sessions with an open file; the least recently heard is closed */
#define PERF_MONITOR_FILES 10000 /* files of one run; reports about further senders are counted */

/* What a row says of its report. */
struct perf_monitor_row {
    const char *source; /* of the report */
    uint64_t time_ms, sequence;
    bool stop;                   /* the sender's word that it is done, no report: */
    struct status_report report; /* of a stop: its subject's source is the sender */
    tick since;                  /* the session began */
};

/* Writes a row with its end of line. */
void perf_monitor_write_row(FILE *f, const struct perf_monitor_row *r);

struct perf_monitor_session {
    struct hash_node node;
    struct list order; /* least recently heard first */
    char source[EID_TEXT_MAX];
    char file_name[PERF_PEER_MAX + 32];
    FILE *file;
    tick begun, heard;
    uint64_t rows, items[STATUS_ITEMS];
    uint64_t last_reason; /* of a deletion */
    bool stopped;
};

struct perf_monitor {
    const struct perf_options *options;
    struct perf_link link;
    struct alarm alarm;
    struct hash sessions;
    struct list order;
    json_t *ended; /* sessions that are closed */
    uint64_t reports, foreign, files, refused;
    tick next_sweep;
    bool begun, stop, failed;
    void (*done)(void *context);
    void *context;
};

/* seed: two random numbers. 0 or HELIO_ENOMEM; perf_monitor_fini in any case. */
int perf_monitor_init(struct perf_monitor *m, struct world *w, const struct perf_options *o,
                      const uint64_t seed[2]);
void perf_monitor_fini(struct perf_monitor *m);

/* Opens the link and serves until perf_monitor_stop or a failure; then `done` is called, once. With
 * `begun` false there was no node, which link.why says. */
void perf_monitor_start(struct perf_monitor *m, void (*done)(void *context), void *context);
void perf_monitor_stop(struct perf_monitor *m);

/* No more reports will arrive: prints all sessions. */
void perf_monitor_end(struct perf_monitor *m);

json_t *perf_monitor_json(const struct perf_monitor *m);

/* perf_run.c: runs until SIGINT or SIGTERM. Returns the exit code. */
int perf_monitor_run(const struct perf_options *o);

#endif
