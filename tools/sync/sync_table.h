/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that one end of a synchronisation knows, in memory and in a file beside them: what was
 * announced of each, and what lies in the folder. A process may end at any moment: the file is
 * appended to, each record has a CRC-32C, and the last record of a name counts.
 */
#ifndef TOOLS_SYNC_TABLE_H
#define TOOLS_SYNC_TABLE_H

#include "base/hash.h"
#include "base/list.h"
#include "base/tick.h"
#include "tools/files/files_shelf.h"
#include "tools/sync/sync_wire.h"

#define SYNC_FOLDER ".helio-sync"

/* A file of the folder, as it was when its content was read or written. */
struct sync_placed {
    bool there;
    uint64_t ino, size, mtime;
    uint8_t sha[FILES_SHA];
};

/* A node whose names the copy has; of the source's own table "" is the only one. */
struct sync_owner {
    struct hash_node node;
    uint64_t names, bytes; /* of its entries; the bytes are what was placed */
    uint64_t newest;       /* its highest version */
    struct list gone;      /* of its entries, those that sync_entry_gone: the oldest first */
    uint64_t gone_len;
    struct list works; /* of sync_work: what the copy has to read of files (sync_work.h) */
    struct list busy;  /* in sync_copy.busy: `works` has some */
    char name[];
};

struct sync_entry {
    struct hash_node by_name, by_version, by_sha; /* by_sha: while placed.there */
    uint64_t version;                             /* 0: nothing was announced of it */
    uint64_t size, mtime;
    enum sync_type type;
    enum sync_state state; /* APPLIED: both ends have it */
    uint32_t reason;
    bool executable;
    uint8_t sha[FILES_SHA];
    struct sync_placed placed;
    struct sync_owner *owner;
    struct list gone;        /* in owner->gone */
    const char *source;      /* its name */
    struct sync_pending *to; /* the source's state (sync_source.h); NULL: none */
    struct sync_work *work;  /* the copy's: what is known and read of files; NULL: nothing */
    uint64_t look;           /* the source's last look that found it */
    char name[];
};

struct sync_table {
    struct hash names, versions, shas, owners;
    uint64_t records;  /* in the file */
    uint64_t bytes;    /* placed, all together */
    uint64_t newest;   /* the highest version */
    uint64_t gone_len; /* entries that sync_entry_gone */
    int dir, lock, fd; /* the state folder; the lock; the file; -1: not open */
};

/* Makes and locks the folder `part` in SYNC_FOLDER in `folder`, and reads what is in it. 0,
 * HELIO_EEXIST (another process has it), or what the system says; sync_table_close in any case. */
int sync_table_open(struct sync_table *t, int folder, const char *part, uint64_t seed);
void sync_table_close(struct sync_table *t);

/* The name is gone, and there is no file of it: all that is kept is its version. */
bool sync_entry_gone(const struct sync_entry *e);

struct sync_entry *sync_table_find(const struct sync_table *t, const char *name);
struct sync_entry *sync_table_version(const struct sync_table *t, uint64_t version,
                                      const char *source);
/* One whose placed file has this SHA-256, other than `but`, from this one on (NULL: the first). */
struct sync_entry *sync_table_sha(const struct sync_table *t, const uint8_t sha[FILES_SHA],
                                  const struct sync_entry *but, const struct sync_entry *after);

/* All entries, in no order: begins with NULL. The one before may be forgotten once the next one is
 * known; none may be added meanwhile. */
struct sync_entry *sync_table_next(const struct sync_table *t, const struct sync_entry *e);

/* A new entry without a version. NULL: no memory. */
struct sync_entry *sync_table_add(struct sync_table *t, const char *name);
/* 0 or HELIO_ENOMEM. */
int sync_table_set_source(struct sync_table *t, struct sync_entry *e, const char *source);
/* NULL: no entry is of that node. */
struct sync_owner *sync_table_owner(const struct sync_table *t, const char *source);
/* May it (NULL: a new one) have so many bytes in place of `before` ones of its own, if all have
 * `all` and each has `share`? */
bool sync_table_room(const struct sync_table *t, const struct sync_owner *o, uint64_t before,
                     uint64_t size, uint64_t all, uint64_t share);
/* So many percent of a limit, and at least 1; 0 percent: all of it. */
uint64_t sync_share_of(uint64_t limit, unsigned percent);
void sync_table_set_version(struct sync_table *t, struct sync_entry *e, uint64_t version);
void sync_table_set_placed(struct sync_table *t, struct sync_entry *e,
                           const struct sync_placed *placed);
/* Is this file what was placed? */
struct stat;
bool sync_placed_is(const struct sync_placed *p, const struct stat *st);
struct sync_placed sync_placed_of(const struct stat *st, const uint8_t sha[FILES_SHA]);

/* Appends it to the file; of one that is to be forgotten, that. 0 or HELIO_E*. What was forgotten
 * has nothing under way. */
int sync_table_save(struct sync_table *t, struct sync_entry *e);
int sync_table_forget(struct sync_table *t, struct sync_entry *e);
/* Forgets the oldest of an owner's entries that are gone while it has more of them than its share
 * of `all`, or all owners have more than `all`. As sync_table_forget. */
int sync_table_limit_gone(struct sync_table *t, struct sync_owner *o, uint64_t all, unsigned share);
/* What was appended is on the medium. 0 or HELIO_E*. */
int sync_table_sync(struct sync_table *t);

/* Its own invariants, asserted. */
void sync_table_check(const struct sync_table *t);

#endif
