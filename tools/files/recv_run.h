/* SPDX-License-Identifier: Apache-2.0 */
/* helio-recv: the receiving end at a node. */
#ifndef TOOLS_FILES_RECV_RUN_H
#define TOOLS_FILES_RECV_RUN_H

#include <jansson.h>

#include "tools/files/files_receiver.h"
#include "tools/perf/perf_link.h"

#define RECV_REPLIES_MAX 256 /* receipts that the node has not answered; then nothing is read */
#define RECV_LIST_MAX 10000  /* files that the JSON lists */

struct recv_options {
    struct perf_options link; /* socket, service, reconnect */
    const char *output;       /* a folder */
    const char *json;         /* a file, "-", or NULL */
    struct files_limits limits;
    uint64_t count; /* files; 0: until it is stopped */
    uint64_t lifetime_ms;
    uint64_t payload_max;
    uint32_t deliveries;
    bool to_stdout, hidden, quiet;
};

struct recv_reply {
    char peer[AAP2_EID_MAX];
    uint8_t bytes[FILES_RECEIPT_MAX];
    size_t len;
};

struct recv_run {
    const struct recv_options *options;
    struct files_receiver receiver;
    struct perf_link link;
    struct alarm alarm;
    struct recv_reply replies[RECV_REPLIES_MAX]; /* a ring */
    size_t first, given, len;                    /* [first, first + given) are with the node */
    uint64_t refused;                            /* receipts that the node did not take */
    json_t *files;
    bool begun, stop, failed;
    void (*over)(void *context);
    void *context;
};

/* The options stay the caller's. 0, or an error that was reported; call recv_run_fini in any
 * case. */
int recv_run_init(struct recv_run *r, struct world *w, const struct recv_options *o,
                  const uint64_t seed[2], void (*over)(void *context), void *context);
void recv_run_fini(struct recv_run *r);

/* Serves until recv_run_stop, `count` files or a failure; then `over` is called, once. */
void recv_run_start(struct recv_run *r);
void recv_run_stop(struct recv_run *r);

json_t *recv_run_json(const struct recv_run *r);

#endif
