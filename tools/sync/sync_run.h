/* SPDX-License-Identifier: Apache-2.0 */
/* helio-sync send and receive: the two ends at a node, with their messages to users. */
#ifndef TOOLS_SYNC_RUN_H
#define TOOLS_SYNC_RUN_H

#include <jansson.h>

#include "tools/sync/sync_copy.h"
#include "tools/sync/sync_node.h"
#include "tools/sync/sync_source.h"

struct sync_options {
    struct perf_options link; /* socket, service, reconnect, lifetime_ms, priority, ordinal */
    const char *path;         /* of the folder */
    const char *json;         /* a file, "-", or NULL */
    bool quiet;
    /* send */
    const char *destination;
    char named[AAP2_EID_MAX]; /* the destination that was given by a name */
    struct sync_source_options source;
    bool once;
    /* receive */
    struct sync_copy_options copy;
    uint64_t payload_max;
};

struct sync_send {
    const struct sync_options *options;
    struct sync_source source;
    struct sync_node node;
    tick shown_at, told_at;
    uint64_t refused, failed; /* of names: reported ones */
    bool terminal, waits, interrupted;
    int folder; /* the last look's error, which was reported */
    void (*over)(void *context);
    void *context;
};

/* The options stay the caller's. 0, or an error that was reported; call fini in any case. */
int sync_send_init(struct sync_send *r, struct world *w, const struct sync_options *o,
                   uint64_t random, void (*over)(void *context), void *context);
void sync_send_fini(struct sync_send *r);
void sync_send_stop(struct sync_send *r);
/* The copy is equal to the folder, or the end was requested without --once. */
bool sync_send_good(const struct sync_send *r);
json_t *sync_send_json(const struct sync_send *r);

struct sync_receive {
    const struct sync_options *options;
    struct sync_copy copy;
    struct sync_node node;
    struct sync_outcome outcome;
    void (*over)(void *context);
    void *context;
};

int sync_receive_init(struct sync_receive *r, struct world *w, const struct sync_options *o,
                      const uint64_t seed[2], void (*over)(void *context), void *context);
void sync_receive_fini(struct sync_receive *r);
json_t *sync_receive_json(const struct sync_receive *r);

#endif
