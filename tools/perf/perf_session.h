/* SPDX-License-Identifier: Apache-2.0 */
/* A server's record of one client's run: received bundles, their order and delays, and the file
 * that they form. */
#ifndef TOOLS_PERF_SESSION_H
#define TOOLS_PERF_SESSION_H

#include "base/hash.h"
#include "base/list.h"
#include "base/ranges.h"
#include "tools/hist.h"
#include "tools/perf/perf_file.h"
#include "tools/perf/perf_options.h"
#include "tools/perf/perf_wire.h"

#define PERF_PEER_MAX 256
#define PERF_SEEN_MAX 65536 /* gaps in the received bundles of one session */

struct perf_session {
    struct hash_node node;
    struct list order; /* least recently heard first */
    char peer[PERF_PEER_MAX];
    uint64_t id;
    struct ranges seen; /* sequence numbers */
    struct perf_report report;
    uint64_t next;      /* above the highest sequence number that was received */
    uint64_t reordered; /* arrived after a higher one */
    uint64_t refused;   /* could not be taken: too many gaps, or the file could not be written */
    uint64_t early;     /* arrived before they were sent, by both clocks */
    uint64_t expected;  /* bundles in all, once ended */
    bool ended, told;   /* its row was printed */
    tick heard;         /* CLOCK_MONOTONIC */
    struct hist delay;  /* one-way delay: our CLOCK_REALTIME minus the sender's */
    struct perf_file *file;
    uint32_t file_crc;
    char file_problem[64];
};

/* NULL when memory is out or the peer's name is too long. */
struct perf_session *perf_session_new(const char *peer, uint64_t id);
void perf_session_free(struct perf_session *s);

/* A data bundle with a right check value that arrived at `time` (CLOCK_REALTIME). Returns 1 = new,
 * 0 = a duplicate, HELIO_EAGAIN = not taken (and not to be acknowledged). */
int perf_session_data(struct perf_session *s, const struct perf_options *o,
                      const struct perf_head *h, struct slice body, uint64_t payload, tick time);

/* The client said that it is done. */
void perf_session_end(struct perf_session *s, const struct perf_head *h);

/* The details of a report, at `now` (CLOCK_REALTIME). */
void perf_session_detail(const struct perf_session *s, tick now, struct perf_report *out);

/* Ended, and all of it here. */
bool perf_session_whole(const struct perf_session *s);

/* Bundles that are known to have been sent and did not arrive. */
uint64_t perf_session_lost(const struct perf_session *s);

/* From the first to the last arrival, less the first bundle, bit/s. */
double perf_session_goodput(const struct perf_session *s);

#endif
