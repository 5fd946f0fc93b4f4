/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of both ends of helio-sync to their node: payloads wait in a ring until the node
 * has taken them. They are repeated when the node refuses them, or ends and returns.
 */
#ifndef TOOLS_SYNC_NODE_H
#define TOOLS_SYNC_NODE_H

#include "tools/perf/perf_link.h"

#define SYNC_NODE_ITEMS 64

struct sync_node_item {
    char peer[AAP2_EID_MAX];
    uint8_t *bytes;    /* owned; NULL: of a transfer */
    struct slice body; /* these, or the files_sender's */
};

struct sync_node_user {
    /* A delivery. 0: the node may forget it; else this ends the run, with the bundle at the node.
     */
    int (*take)(void *context, const char *source, const char *neighbour, struct slice payload);
    /* Calls sync_node_push while the ring has space. */
    void (*fill)(void *context, tick now);
    /* What became of the oldest payload of a transfer; with all of them: the node is gone. */
    void (*answered)(void *context, bool taken);
    void (*lost)(void *context);
    /* After each turn; `up`: the node is there. When the next turn is due at the latest. */
    tick (*turned)(void *context, bool up, tick now);
    void (*over)(void *context); /* the end, once */
};

struct sync_node {
    struct perf_options options; /* of the link, and of what is sent */
    struct perf_link link;
    struct alarm alarm;
    struct sync_node_item items[SYNC_NODE_ITEMS]; /* a ring */
    size_t first, given, len;                     /* [first, first + given) are with the node */
    tick again_at, pause, told_at;
    uint64_t refused; /* times that the node took a payload not */
    bool begun, stop, failed;
    bool more; /* deliveries may wait that had no turn */
    const struct sync_node_user *user;
    void *context;
};

void sync_node_init(struct sync_node *n, struct world *w, const struct perf_options *o,
                    uint64_t random, uint64_t payload_max, const struct sync_node_user *user,
                    void *context);
void sync_node_fini(struct sync_node *n);

void sync_node_start(struct sync_node *n);
/* Ends it now. */
void sync_node_end(struct sync_node *n);
/* The same after a failure, which is reported. */
void sync_node_fail(struct sync_node *n, const char *what, const char *why);

bool sync_node_full(const struct sync_node *n);
/* A payload for an endpoint; `bytes`: what is freed when the node has it, NULL: of a transfer. */
void sync_node_push(struct sync_node *n, const char *peer, struct slice body, uint8_t *bytes);

#endif
