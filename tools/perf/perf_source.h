/* SPDX-License-Identifier: Apache-2.0 */
/* The client's payloads: one filling used for all bundles, or a file's pieces. */
#ifndef TOOLS_PERF_SOURCE_H
#define TOOLS_PERF_SOURCE_H

#include "node/aap2/aap2_client.h"
#include "tools/perf/perf_options.h"
#include "tools/perf/perf_wire.h"

struct perf_source {
    const struct perf_options *options;
    uint64_t session;
    uint64_t count;      /* bundles in all; UINT64_MAX when time decides */
    const uint8_t *body; /* the filling, or the file's bytes (mapped) */
    size_t body_len;
    struct perf_body whole; /* the filling, or the whole file */
    uint64_t piece;         /* bytes of the file in a bundle */
    struct slice name;      /* of the file */
};

/* Returns 0, HELIO_ENOMEM, HELIO_EIO (the file; `why` says it), HELIO_EINVAL (payload too short for
 * header and file name). */
int perf_source_init(struct perf_source *s, const struct perf_options *o, uint64_t session,
                     char why[AAP2_WHY_MAX]);
void perf_source_fini(struct perf_source *s);

/* The payload of bundle `seq` below count, as it is sent at `time`: the head is written to out, the
 * body is the source's. */
void perf_source_bundle(const struct perf_source *s, uint64_t seq, tick time,
                        uint8_t out[AAP2_HEAD_MAX], struct slice *head, struct slice *body);

/* The payload that ends a session of `total` bundles. */
void perf_source_end(const struct perf_source *s, uint64_t total, tick time,
                     uint8_t out[AAP2_HEAD_MAX], struct slice *head);

#endif
