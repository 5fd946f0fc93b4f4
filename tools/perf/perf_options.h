/* SPDX-License-Identifier: Apache-2.0 */
/* What helio-perf was asked to do. */
#ifndef TOOLS_PERF_OPTIONS_H
#define TOOLS_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "bp/codec/eid.h"
#include "conf/conf_arguments.h"

enum perf_mode { PERF_MODE_NONE, PERF_MODE_TIME, PERF_MODE_DATA, PERF_MODE_FILE };

struct perf_options {
    bool server, monitor; /* neither: a client */
    const char *program;  /* in messages; NULL: helio-perf */
    const char *socket;
    const char *service;           /* of our endpoint; NULL: chosen by the program */
    const char *const *well_known; /* then: at an ipn and at a dtn node; NULL: the server's, or a
                                      random number */
    const char *json;              /* a file, "-" for standard output, or NULL */
    tick reconnect; /* how long the client tries to reconnect to a lost node, 0 = not at all */
    tick linger;    /* how long missing confirmations are waited for, without progress */
    /* client */
    const char *destination;
    char named[EID_TEXT_MAX]; /* the destination that was given by a name */
    enum perf_mode mode;
    tick time;
    uint64_t data;    /* bytes */
    uint64_t bundles; /* of `payload` each, which are `data` then; 0: not given so */
    const char *file;
    uint64_t window; /* 0: rate mode */
    double rate;     /* bit/s, or bundles/s */
    bool rate_in_bundles;
    uint64_t payload;     /* bytes, header included */
    uint64_t lifetime_ms; /* of bundles; of acknowledgements */
    uint32_t priority;    /* of bundles, as struct aap2_adu has it: 0 none given */
    uint32_t ordinal;
    uint64_t flags;        /* of bundles: reports, no fragments */
    const char *report_to; /* NULL: our endpoint */
    const char *csv;       /* a file for the intervals, or NULL */
    double ramp;           /* the rate at the end of `time`, as `rate`; 0: it stays */
    bool ramp_in_bundles;
    uint64_t parallel; /* clients at once; 0 is 1 */
    bool reverse;      /* the server sends, to us */
    tick interval;     /* between two lines of what happened meanwhile; 0: none */
    bool intervals;    /* requested by -i or --csv */
    uint32_t crc;      /* of aap2.proto's crc_type */
    tick warmup;
    tick ack_timeout; /* 0: adaptive */
    /* server */
    const char *output; /* folder for files, or NULL; of a monitor for its tables */
    uint64_t payload_max, file_max;
    uint32_t deliveries; /* window of the server's connection */
    tick reverse_max;    /* the longest run that clients may request of us as a sender; 0: none */
};

/* Reads `client …`, `server …` or `monitor …` (argv[1], with or without the program's name before
 * it). Exits with 2 and a message when the line is wrong, with 0 after --help and --version. */
void perf_options_read(struct perf_options *o, int argc, char **argv);

/* "500000", "500kB", "50k", "4M", "1G", "64B": bytes. 0 or HELIO_EFORMAT. */
int perf_options_size(const char *text, uint64_t *out);

/* "500M", "500Mbit/s", "2.5k", "20b" (bundles per second). 0 or HELIO_EFORMAT. */
int perf_options_rate(const char *text, double *out, bool *in_bundles);

/* The least one that there is: a bundle in 1000 s, or a bit in one. */
double perf_options_rate_min(bool in_bundles);

/* "bulk", "normal", "expedited", "expedited:N": as struct aap2_adu has them. 0 or HELIO_EFORMAT. */
int perf_options_priority(const char *text, uint32_t *priority, uint32_t *ordinal);

/* "20", "0.5", "30s", "5min". 0 or HELIO_EFORMAT. */
int perf_options_time(const char *text, tick *out);

/* ---- options of tables (conf/conf_arguments.h) ---- */

/* [tick] A time in seconds or with a unit, min or more; without a value 60 s. */
argument_setter perf_set_seconds;
/* [uint64_t] The same in milliseconds. */
argument_setter perf_set_milliseconds;
/* [struct perf_options] CLASS[:N]: priority and ordinal. */
argument_setter perf_set_priority;

#endif
