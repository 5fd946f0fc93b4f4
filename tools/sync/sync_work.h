/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the copy must read before a name can get its place. They are read in parts, so that
 * signals, timers and other sources get their turn between two parts. A file is read once: its
 * SHA-256 stays known while inode, size and time are the same.
 *
 * Of an entry: nothing -> read at once, within the turn's bytes -> in its owner's queue, which
 * continues by turns -> nothing. A queue is in memory only: after a restart the source asks again.
 */
#ifndef TOOLS_SYNC_WORK_H
#define TOOLS_SYNC_WORK_H

#include "tools/sync/sync_table.h"

#define SYNC_TURN_BYTES (UINT64_C(8) << 20) /* that are read in one turn */

/* The SHA-256 of one file. */
struct sync_sum {
    struct sync_placed file;     /* with its SHA-256 when there is no digest; not there: no file */
    struct files_digest *digest; /* of the first `at` bytes */
    uint64_t at;
};

/* Continues with an open file, to which `st` belongs, and writes the bytes that it reads to `to`
 * (-1: nowhere). *left: bytes of this turn. 0: s->file.sha is known. HELIO_EAGAIN: the next turn
 * continues. HELIO_EFORMAT: it changed meanwhile. */
int sync_sum_read(struct sync_sum *s, int fd, const struct stat *st, int to, uint64_t *left);
void sync_sum_end(struct sync_sum *s);
/* *right: bytes have that SHA-256. 0 or HELIO_ENOMEM. */
int sync_sum_bytes(struct slice content, const uint8_t sha[FILES_SHA], bool *right);

struct sync_work {
    struct list order; /* in its owner's `works`; empty: it is not in the queue */
    struct sync_entry *entry;
    struct sync_sum here, content; /* the file under its name; its received content */
    struct sync_sum copy;          /* another file, of which `made` is a copy */
    char made[24];                 /* in the state folder */
    char *peer;                    /* the endpoint to answer; NULL: not in the queue */
    uint32_t number;               /* of the message that is answered */
};

/* The entry's, made if there was none. `serial` is of no other work. NULL: no memory. */
struct sync_work *sync_work_of(struct sync_entry *e, uint64_t serial);
/* Adds it to its owner's queue, or keeps its place there; the endpoint to answer. 0 or
 * HELIO_ENOMEM. */
int sync_work_add(struct sync_work *w, struct list *busy, const char *peer, uint32_t number);
/* Nothing is to be done: out of the queue, without the file that it made. `forget`: its sums, too.
 */
void sync_work_end(struct sync_entry *e, int state, bool forget);

/* What the content of a version is called that arrived before its announcement: each node has its
 * own, and keeps out nobody's. 0 or HELIO_ENOMEM. */
#define SYNC_OWN_NAME (SYNC_CONTENT_NAME + 17)
int sync_own_name(uint64_t version, const char *node, char out[SYNC_OWN_NAME]);
/* Files of a folder that do not begin with a dot, and end so; removes those whose name begins so.
 */
uint64_t sync_folder_count(int folder, const char *ending);
void sync_folder_clear(int folder, const char *begin);

#endif
