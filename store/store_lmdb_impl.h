/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the LMDB store share; not for others. */
#ifndef STORE_LMDB_IMPL_H
#define STORE_LMDB_IMPL_H

#include <lmdb.h>

#include "base/list.h"
#include "store/store_lmdb.h"
#include "store/store_record.h"

#define LMDB_TABLES 8 /* also large enough for that of the older format */
#define LMDB_DATA "/data.mdb"
#define LMDB_WHY_MAX 200
#define LMDB_FORMAT "/format" /* is there since the first open: data.mdb must be, too */

struct lmdb {
    struct store store;
    MDB_env *env;
    MDB_txn *txn;       /* between begin and commit */
    MDB_cursor *cursor; /* of the heads, in txn; NULL: none yet */
    MDB_cursor *rows;   /* the same, of the bundles */
    MDB_dbi heads, bundles, ends, notes, aside;
    char *file; /* path of the database */
    uint64_t limit, marks_max;
    uint64_t bytes, bytes_before;     /* now, and when the transaction began */
    uint64_t damaged, damaged_before; /* the same, of bundles set aside */
    uint64_t last_key;
    int broken;         /* the error that spoilt the transaction */
    uint64_t reserved;  /* the medium has blocks for the file up to here; UINT64_MAX: unknown */
    uint64_t putting;   /* bytes of pages that the transaction's puts may take */
    uint64_t parts;     /* of bundles, which it has put */
    struct {            /* of a bundle whose put is still to come (store_lmdb_ahead.c) */
        uint64_t key;   /* 0: there is none */
        uint64_t parts; /* which are stored */
        bool used;      /* the open transaction has the put */
    } ahead;
    bool no_blocks; /* in the transaction: the medium had none for the file … */
    uint64_t free;  /* … which had so many bytes of free pages when it began */
    uint64_t page_bytes;
    const uint8_t *map; /* where LMDB has the file; map_bytes of it */
    uint64_t map_bytes;
};

static inline struct lmdb *lmdb_of(struct store *s)
{
    return container_of(s, struct lmdb, store);
}

static inline MDB_val val_of(const void *data, size_t len)
{
    return (MDB_val){.mv_size = len, .mv_data = (void *)(uintptr_t)data};
}

static inline struct slice slice_of_val(const MDB_val *v)
{
    return slice_of(v->mv_data, v->mv_size);
}

/* Keys go up, as a rule: such rows fill their pages, and need no search. */
static inline unsigned lmdb_append_flag(const struct lmdb *l, uint64_t key)
{
    return key > l->last_key && key >= l->ahead.key ? MDB_APPEND : 0;
}

/* store_lmdb.c */
int lmdb_error(int rc);                /* ours for one of LMDB or the system */
int lmdb_fail(struct lmdb *l, int rc); /* the same; the transaction is spoilt by it */
int lmdb_begin(struct store *s);       /* as begin, commit and abort of store_ops */
int lmdb_commit(struct store *s);
void lmdb_abort(struct store *s);
/* Calls fn for each row of a table; a negative error of ours, or what fn returned. */
int lmdb_each_row(struct lmdb *l, MDB_dbi table, int (*fn)(void *ctx, MDB_val *k, MDB_val *v),
                  void *ctx);

#define LMDB_PART_KEY 12    /* the bundle's key and the part's number */
#define LMDB_PARTS_MAX 4096 /* of a transaction */

/* The rows of a bundle in the bundles' table. */
struct lmdb_rows {
    uint64_t count, bytes;
    bool whole;         /* each can be removed (lmdb_row_whole) */
    struct slice first; /* the value of the first one; a view */
};

/* store_lmdb_bundle.c; c: a cursor of the bundles' table. Each returns 0 or an error of LMDB. */
int lmdb_bundle_write(struct lmdb *l, MDB_cursor *c, uint64_t key, struct slice bundle,
                      unsigned flags);
/* Parts [from, to) of a bundle of lmdb_bundle_parts parts. */
int lmdb_bundle_write_parts(struct lmdb *l, MDB_cursor *c, uint64_t key, struct slice bundle,
                            uint64_t from, uint64_t to, unsigned flags);
uint64_t lmdb_bundle_parts(const struct lmdb *l, uint64_t len);
/* MDB_NOTFOUND: there are none. l may be NULL: then `whole` is not determined. */
int lmdb_bundle_find(const struct lmdb *l, MDB_cursor *c, uint64_t key, struct lmdb_rows *out);
/* All rows, one behind the other, to out[0..len), which they fill. */
int lmdb_bundle_copy(MDB_cursor *c, uint64_t key, uint8_t *out, uint64_t len);
int lmdb_bundle_remove(MDB_cursor *c, uint64_t key); /* 0 also when there are none */
/* Are the pages of this row described as they must be? Otherwise LMDB must neither remove nor
 * replace it. */
bool lmdb_row_whole(const struct lmdb *l, const MDB_val *k, const MDB_val *v);

/* store_lmdb_ahead.c: put_ahead, drop_ahead of store_ops. part: the first one that put must write;
 * the transaction has the put from then on. done: it was committed, or (false) not. restore: after
 * open. Those with int return 0 or an error of LMDB. */
#define LMDB_AHEAD "unfinished" /* the note */
int lmdb_put_ahead(struct store *s, uint64_t key, struct slice bundle);
int lmdb_drop_ahead(struct store *s);
int lmdb_ahead_use(struct lmdb *l, uint64_t key, uint64_t *part);
void lmdb_ahead_done(struct lmdb *l, bool committed);
int lmdb_ahead_restore(struct lmdb *l);
uint64_t lmdb_ahead_bytes(const struct lmdb *l, uint64_t key);   /* stored ahead; 0 of others */
int lmdb_ahead_read(MDB_txn *txn, MDB_dbi notes, uint64_t *key); /* of the note; 0: none */

/* store_lmdb_room.c: does the medium have space for the transaction's puts and `more`, with a
 * reserve for removals? 0 or HELIO_ESPACE. fits: of store_ops. */
int lmdb_reserve(struct lmdb *l, uint64_t more);
uint64_t lmdb_fits(struct store *s);
uint64_t lmdb_put_pages(const struct lmdb *l, uint64_t len); /* bytes of a put's pages, at most */

/* store_lmdb_marks.c: of store_ops */
int lmdb_mark(struct store *s, struct slice id, uint64_t until_ms);
int lmdb_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
               void *ctx);
int lmdb_forget(struct store *s, uint64_t now_ms);

/* store_lmdb_open.c */
int lmdb_open(struct store **out, const struct store_options *o, char *why, size_t why_cap);
void lmdb_free(struct lmdb *l);
/* In a write transaction: moves a damaged head to the table of damaged ones. Returns 0 or an LMDB
 * error. */
int lmdb_put_aside(struct lmdb *l, MDB_txn *txn, const MDB_val *key, MDB_val *row);

/* store_lmdb_convert.c: heads of the older format become ones of this. 0 or an error of LMDB. */
int lmdb_convert(struct lmdb *l);

/* store_lmdb_probe.c: checks in a child process, because the medium may fail, that the file's pages
 * are intact. all: also the headers of the bundles' pages; else lmdb_row_whole checks each
 * before it is changed. Returns 0; HELIO_EFORMAT or another error with the reason in why. */
int lmdb_probe(const char *path, bool all, char *why, size_t cap);
/* The database's file, to be read only; unmapped by the second one. 0, HELIO_ENOENT: there is none,
 * or it is empty; another error. */
int lmdb_map_file(const char *path, const uint8_t **map, size_t *bytes);
void lmdb_unmap_file(const uint8_t *map, size_t bytes);

#endif
