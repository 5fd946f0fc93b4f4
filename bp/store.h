/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bundles wait. A backend is one struct of functions; all calls of one store come from one
 * thread (the node's storage thread), block as long as the medium needs, and work in transactions:
 * what is put or removed between begin and commit becomes durable together.
 */
#ifndef BP_STORE_H
#define BP_STORE_H

#include "base/buf.h"
#include "base/err.h"

enum store_durability {
    STORE_SYNC,  /* commit returns when the medium has it: survives power loss and SIGKILL */
    STORE_ASYNC, /* commit survives the process (SIGKILL), not the machine; flushed at intervals */
    STORE_NONE,  /* bundles live in memory only and end with the process */
};

struct store_options {
    const char *path;     /* directory; made when it does not exist */
    uint64_t limit_bytes; /* of bundle bytes; a put beyond it fails with HELIO_ESPACE */
    enum store_durability durability;
};

struct store;

struct store_ops {
    const char *name; /* "lmdb", "memory" … */
    /* 0; or a negative error and a text in why[why_cap] */
    int (*open)(struct store **out, const struct store_options *o, char *why, size_t why_cap);
    void (*close)(struct store *s);
    int (*begin)(struct store *s);
    /* 0; on an error nothing of the transaction happened (HELIO_ESPACE: medium or limit is full) */
    int (*commit)(struct store *s);
    void (*abort)(struct store *s);
    /*
     * A bundle: `key` is chosen by the user, never 0, never used before. `head` is small metadata
     * (<= 1 KiB) that `each` gives back at a restart without reading the bundle itself. A put that
     * fails leaves the transaction usable without it.
     */
    int (*put)(struct store *s, uint64_t key, struct slice head, struct slice bundle);
    /* Replaces the head only. HELIO_ENOENT. */
    int (*update)(struct store *s, uint64_t key, struct slice head);
    int (*remove)(struct store *s, uint64_t key); /* 0 or HELIO_ENOENT */
    /* The bundle's bytes in a new buffer with `head_room` bytes before it. 0, HELIO_ENOENT,
     * HELIO_EIO, HELIO_ENOMEM. Outside a transaction or within. */
    int (*get)(struct store *s, uint64_t key, size_t head_room, struct buf **out);
    /* All bundles in ascending order of their keys, at start. Stops when fn returns non-zero, and
     * returns that. */
    int (*each)(struct store *s,
                int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes), void *ctx);
    /* Small records beside the bundles: ids of bundles seen (duplicate suppression over restarts).
     * `until` is a DTN time in ms after which the record may be forgotten. */
    int (*mark)(struct store *s, struct slice id, uint64_t until_ms);
    int (*marks)(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                 void *ctx);
    int (*forget)(struct store *s, uint64_t now_ms); /* removes marks whose time has come */
    uint64_t (*bytes)(struct store *s);              /* bundle bytes held */
};

struct store {
    const struct store_ops *ops; /* backends put this first */
};

extern const struct store_ops store_memory, store_lmdb;

#endif
