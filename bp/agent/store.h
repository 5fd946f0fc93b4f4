/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store interface of the agent. A backend is one struct of functions. All calls of one store
 * are made by one thread (the node's storage thread) and block until the medium has finished. They
 * work in transactions: puts and removes between begin and commit become durable together.
 */
#ifndef BP_STORE_H
#define BP_STORE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STORE_HEAD_MAX 1024 /* bytes of a head */
#define STORE_MARK_MAX 400  /* bytes of a mark's id */
#define STORE_NOTE_MAX 64   /* bytes of a note */

enum store_durability {
    STORE_SYNC, /* commit returns when the medium has it: survives power loss and SIGKILL */
    /* commit survives the process (SIGKILL), not the machine; call flush at intervals. A machine
     * that dies between two flushes may damage the whole store, not only its latest bundles: open
     * then fails with HELIO_EIO */
    STORE_ASYNC,
    STORE_NONE, /* bundles are in memory only, and end with the process */
};

struct store_options {
    const char *path;     /* directory; made when it does not exist */
    uint64_t limit_bytes; /* of bundle bytes; a put beyond it fails with HELIO_ESPACE */
    enum store_durability durability;
    uint64_t marks_max; /* marks kept [0: 1,000,000]; forget trims to it */
};

struct store;

struct store_ops {
    const char *name; /* "lmdb" … */
    /* Returns 0; or a negative error and a text in why[why_cap]. A store of an older format is
     * converted. Damaged heads are set aside: `each` skips them, and they stay on the medium.
     * HELIO_EFORMAT: the database itself is damaged or truncated, and nothing was changed. */
    int (*open)(struct store **out, const struct store_options *o, char *why, size_t why_cap);
    void (*close)(struct store *s); /* aborts an open transaction; NULL is allowed */
    int (*begin)(struct store *s);
    /* Returns 0. On an error nothing of the transaction was applied. HELIO_ESPACE: medium or limit
     * is full. HELIO_EIO: the medium failed, or wrote only a part because it is full. HELIO_ENOENT:
     * the files were removed from their path, so that writes would be lost; begin returns it, too.
     * The removes of a failed batch must be repeated without the puts: on a full medium they make
     * the room. */
    int (*commit)(struct store *s);
    void (*abort)(struct store *s);
    /*
     * Adds a bundle. The caller chooses `key`: never 0, never used before. `head` is small metadata
     * (<= STORE_HEAD_MAX) that `each` returns at a restart without reading the bundle. HELIO_ESPACE
     * (limit or medium), HELIO_EEXIST and HELIO_EINVAL leave the transaction usable without this
     * bundle. After any other failure of put, update, remove or mark, commit fails with the same
     * error.
     */
    int (*put)(struct store *s, uint64_t key, struct slice head, struct slice bundle);
    /* Outside a transaction: of a bundle for which one transaction would take much memory, stores
     * the first bytes in transactions of its own. The next transaction must put the bundle: put
     * stores the rest, and only then the bundle is there. Otherwise drop_ahead removes those bytes;
     * so does open, after a process that ended. Of a shorter bundle nothing is stored. Returns 0;
     * or an error, and nothing is left. Both may be NULL. */
    int (*put_ahead)(struct store *s, uint64_t key, struct slice bundle);
    int (*drop_ahead)(struct store *s); /* 0 also when there is nothing */
    /* Replaces the head only. HELIO_ENOENT. */
    int (*update)(struct store *s, uint64_t key, struct slice head);
    int (*remove)(struct store *s, uint64_t key); /* 0 or HELIO_ENOENT */
    /* Reads the bundle's bytes into a new buffer with `head_room` bytes before them. Returns 0,
     * HELIO_ENOENT, HELIO_EIO, HELIO_ENOMEM; HELIO_EFORMAT: they differ from the stored ones.
     * Outside a transaction, or within one (with its changes). */
    int (*get)(struct store *s, uint64_t key, size_t head_room, struct buf **out);
    /* In a transaction: removes a damaged bundle from the store, but keeps its rows on the medium
     * for repair tools. Returns 0 or HELIO_ENOENT. */
    int (*set_aside)(struct store *s, uint64_t key);
    /* Visits all bundles in ascending order of keys, at start. It stops when fn returns non-zero,
     * and returns that value. */
    int (*each)(struct store *s,
                int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes), void *ctx);
    /* Marks: ids (1..STORE_MARK_MAX bytes) of bundles that were seen, to detect duplicates over
     * restarts. `until` is a DTN time in ms after which the mark may be removed. Of two marks of
     * one id the later time is valid: `marks` returns it last. */
    int (*mark)(struct store *s, struct slice id, uint64_t until_ms);
    int (*marks)(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                 void *ctx);
    /* Removes expired marks; and, above marks_max, some of those that expire first. It makes its
     * own transaction: call it outside of one. Returns 0; or 1: more are left than one call
     * removes. */
    int (*forget)(struct store *s, uint64_t now_ms);
    /* Notes: small values (not empty) by name (fewer than 32 letters), replaced as a whole within a
     * transaction. recall: 0, HELIO_ENOENT, HELIO_EFORMAT (damaged). */
    int (*note)(struct store *s, const char *name, struct slice value);
    int (*recall)(struct store *s, const char *name, uint8_t out[STORE_NOTE_MAX], size_t *len);
    uint64_t (*last_key)(struct store *s); /* the highest key in use, or set aside; 0: none */
    uint64_t (*damaged)(struct store *s);  /* bundles that were set aside */
    int (*flush)(struct store *s);         /* STORE_ASYNC: to the medium now; else nothing */
    uint64_t (*bytes)(struct store *s);    /* bundle bytes held */
    /* Outside a transaction: an estimate of the bundle bytes for which the medium has room now,
     * including the held ones; UINT64_MAX: unknown. limit_bytes is a separate limit. NULL: there is
     * no medium. */
    uint64_t (*fits)(struct store *s);
};

struct store {
    const struct store_ops *ops; /* backends put this first */
};

#ifdef __cplusplus
}
#endif

#endif
