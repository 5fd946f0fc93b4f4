/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage thread. Whatever was asked for since its last commit becomes one transaction (of many
 * removals the first ones; the others follow); the outcomes come back to the loop. A bundle's
 * buffer is only read by the thread: its references are taken and dropped in the loop.
 */
#ifndef NODE_STORAGE_H
#define NODE_STORAGE_H

#include "bp/agent/agent.h"
#include "bp/agent/store.h"

struct uv_loop_s;
struct storage;

/* The note that an AGENT_STORE's sequence_end becomes: a number (store_number_write). */
#define STORAGE_SEQUENCE "sequence"
#define STORAGE_CLOCK "clock" /* life_clock_write */

/* Outcomes, in the loop's thread and in the order of the requests; but a put that finds no room
 * beside others, or while removals are left, has its outcome after these. */
struct storage_events {
    void *context;
    void (*stored)(void *context, uint64_t key, int error); /* 0, HELIO_ESPACE … */
    /* NULL: failed; empty: its bytes are damaged */
    void (*loaded)(void *context, uint64_t key, struct buf *bundle);
    void (*trouble)(void *context, const char *text);
    void (*fits)(void *context, uint64_t bytes); /* status.fits is another one; NULL: nobody asks */
};

/* Opens the store and locks its directory against a second node. Returns 0, or an error with the
 * reason in why. */
int storage_open(struct storage **out, const struct store_ops *ops, const struct store_options *o,
                 char *why, size_t why_cap);

/* What the store holds; before storage_start only. */
struct store *storage_store(struct storage *s);

/* From here on the store belongs to the thread. 0, or HELIO_ENOMEM. */
int storage_start(struct storage *s, struct uv_loop_s *loop, const struct storage_events *events);

/* Requests, by the agent's actions of the same names. Each takes its own reference. 0 or
 * HELIO_ENOMEM. They wait until storage_submit. */
int storage_put(struct storage *s, const struct agent_action *a);
int storage_get(struct storage *s, uint64_t key);
int storage_remove(struct storage *s, const struct agent_action *a);
int storage_note(struct storage *s, const char *name, struct slice value);
void storage_submit(struct storage *s);

/* Forgets the marks whose time has come, with durability async flushes to the medium, and looks at
 * the medium's room. (The thread also looks by itself when puts may have taken an eighth of it.) */
void storage_tidy(struct storage *s, uint64_t dtn_ms);

struct storage_status {
    uint64_t bytes;   /* in the store, as of the last commit */
    uint64_t waiting; /* requests without outcome */
    uint64_t commits, jobs, failures;
    uint64_t damaged; /* bundles set aside */
    uint64_t fits;    /* bundle bytes for which the medium has room, those in the store included;
                         UINT64_MAX: not known */
};
void storage_status(struct storage *s, struct storage_status *out);

/* Finishes what was asked for and ends the thread; the last outcomes are given from within. */
void storage_finish(struct storage *s);
void storage_close(struct storage *s); /* after storage_finish, when the loop has run out */

#endif
