/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of an LMDB store's files, for tools that check and repair them while no node has them
 * open. Reading a damaged page tree may end the process with a signal. So a caller walks in a child
 * process and continues after the row at which that ended; or it calls store_lmdb_check first.
 */
#ifndef STORE_LMDB_H
#define STORE_LMDB_H

#include "bp/agent/store.h"

extern const struct store_ops store_lmdb;

enum store_row_state {
    STORE_ROW_WHOLE,
    STORE_ROW_UNCHECKED,      /* of format 1: its length fits */
    STORE_ROW_HEAD_DAMAGED,   /* the head differs from its check value */
    STORE_ROW_BUNDLE_DAMAGED, /* the bundle differs from that in its head */
    STORE_ROW_BUNDLE_MISSING, /* a head without a bundle */
    STORE_ROW_HEAD_MISSING,   /* a bundle without a head */
};

/* One bundle, or what is left of one. Views; empty when there is none. */
struct store_row {
    uint64_t key;
    enum store_row_state state;
    struct slice head; /* the user's part; empty when damaged */
    struct slice row;  /* the head's row as it lies there */
    struct slice bundle;
    bool aside; /* a node has set it aside */
};

/* Position of a walk; begin with all zero. The walk continues after this row. It is set before the
 * row is read. */
struct store_walk {
    unsigned table;
    uint64_t key;
};

struct store_about {
    unsigned format;                     /* 0: there is nothing */
    uint64_t file_bytes, database_bytes; /* the latter more than the former: cut */
    uint64_t marks, marks_damaged, notes, notes_damaged;
    uint64_t clock_len, sequence_len; /* notes of a node; 0: none */
    uint8_t clock[STORE_NOTE_MAX], sequence[STORE_NOTE_MAX];
};

/* All rows behind *at, read only. Stops when fn returns non-zero, and returns that. 0, or a
 * negative error with a text in why. */
int store_lmdb_walk(const char *path, struct store_walk *at,
                    int (*fn)(void *ctx, const struct store_row *row), void *ctx, char *why,
                    size_t cap);
/* Are the file's pages whole? Without LMDB, in a child process. 0; HELIO_EFORMAT, or another error,
 * with the reason in why. */
int store_lmdb_check(const char *path, char *why, size_t cap);

/* All but the bundles. */
int store_lmdb_about(const char *path, struct store_about *out, char *why, size_t cap);

/* Of a store that is open, in a transaction: all rows of a bundle go, whatever they are. 0 or an
 * error. */
int store_lmdb_erase(struct store *s, uint64_t key);
/* The same for damaged marks and notes. */
int store_lmdb_erase_marks(struct store *s);

/* What a rescue brought into the new database. */
struct store_rescue {
    uint64_t rows; /* of all tables */
    uint64_t lost; /* pages whose rows are lost */
    bool older;    /* the newer state could not be read: of the one before it */
};

/*
 * Copies all rows that can be read, whether they are whole or not, into a new database in the
 * directory `to`, which must not exist. The store at `path` stays as it is. 0, or a negative error
 * with a text in why: there is then nothing at `to`.
 */
int store_lmdb_rescue(const char *path, const char *to, struct store_rescue *out, char *why,
                      size_t cap);

#endif
