/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a new database of all readable rows of a damaged one. The rows are copied unchanged: later
 * their check values show which are intact. What can go wrong: the list of tables is lost in the
 * newer state of the file; then the former state is used, which LMDB keeps until the next commit. A
 * row that cannot be put was not written by LMDB, and is omitted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

#define BATCH_BYTES (UINT64_C(64) << 20)
#define BATCH_ROWS 4096
#define SLACK_BYTES (UINT64_C(1) << 30)

struct rescue {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    uint64_t bytes, rows; /* in this transaction */
    int error;            /* of LMDB */
    struct store_rescue *out;
};

static int begin_batch(struct rescue *r, const char *table)
{
    r->bytes = r->rows = 0;
    int rc = mdb_txn_begin(r->env, NULL, 0, &r->txn);
    if (rc == 0 && (rc = mdb_dbi_open(r->txn, table, MDB_CREATE, &r->table)) != 0) {
        mdb_txn_abort(r->txn);
        r->txn = NULL;
    }
    return rc;
}

static int end_batch(struct rescue *r)
{
    int rc = r->txn != NULL ? mdb_txn_commit(r->txn) : 0;
    r->txn = NULL;
    return rc;
}

struct table {
    struct rescue *r;
    const char *name;
};

static int copy_row(void *ctx, struct slice key, struct slice value)
{
    const struct table *t = ctx;
    struct rescue *r = t->r;
    MDB_val k = val_of(key.data, key.len), v = val_of(value.data, value.len);
    if (r->bytes > BATCH_BYTES || r->rows > BATCH_ROWS) {
        r->error = end_batch(r);
        if (r->error == 0)
            r->error = begin_batch(r, t->name);
        if (r->error != 0)
            return 1;
    }
    const int rc = mdb_put(r->txn, r->table, &k, &v, MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST || rc == MDB_BAD_VALSIZE)
        return 0;
    r->bytes += value.len;
    r->rows++;
    r->out->rows++;
    r->error = rc;
    return rc != 0;
}

static int copy_table(struct rescue *r, const struct pages *p, const char *name)
{
    struct table t = {r, name};
    int rc = begin_batch(r, name);
    if (rc != 0)
        return rc;
    const int walked = pages_each(p, name, copy_row, &t, &r->out->lost);
    rc = r->error != 0 ? r->error : walked == HELIO_ENOMEM ? ENOMEM : 0;
    if (rc == 0)
        return end_batch(r);
    if (r->txn != NULL)
        mdb_txn_abort(r->txn);
    r->txn = NULL;
    return rc;
}

/* As a store of this release has it, when the note itself was lost. */
static int write_format(struct rescue *r)
{
    const uint8_t format = STORE_FORMAT;
    uint8_t row[STORE_NOTE_ROW_MAX];
    MDB_val k = val_of("format", 6);
    MDB_val v = val_of(row, store_note_write("format", slice_of(&format, 1), row));
    int rc = begin_batch(r, "notes");
    if (rc == 0 && (rc = mdb_put(r->txn, r->table, &k, &v, MDB_NOOVERWRITE)) == MDB_KEYEXIST)
        rc = 0;
    return rc == 0 ? end_batch(r) : rc;
}

static int row_seen(void *ctx, struct slice key, struct slice value)
{
    (void)ctx;
    (void)key;
    (void)value;
    return 1;
}

static bool has_rows(const struct pages *p, const char *table)
{
    uint64_t lost = 0;
    return pages_each(p, table, row_seen, NULL, &lost) == 1;
}

/* The newer state, unless it has no heads and the older one has. */
static int choose_state(struct pages *p, const uint8_t *map, size_t bytes, bool *older, char *why,
                        size_t cap)
{
    struct pages before;
    char ignored[LMDB_WHY_MAX];
    int rc = pages_begin(p, map, bytes, false, why, cap);
    *older = false;
    if (rc == 0 && (has_rows(p, "heads2") || has_rows(p, "heads")))
        return 0;
    const int other = pages_begin(&before, map, bytes, true, ignored, sizeof ignored);
    if (other != 0 || (rc == 0 && !has_rows(&before, "heads2") && !has_rows(&before, "heads")))
        return rc;
    *p = before;
    *older = true;
    return 0;
}

static int copy_tables(struct rescue *r, const struct pages *p)
{
    static const char *const today[] = {"heads2", "bundles", "ends", "notes", "aside"};
    int rc = 0;
    if (has_rows(p, "heads")) /* of format 1: it is converted at its next start */
        rc = copy_table(r, p, "heads");
    else
        rc = write_format(r);
    for (size_t i = 0; i < sizeof today / sizeof *today && rc == 0; i++)
        rc = copy_table(r, p, today[i]);
    return rc;
}

static int make_database(struct rescue *r, const struct pages *p, const char *to)
{
    const uint64_t map = (p->bytes * UINT64_C(2) + SLACK_BYTES) & ~UINT64_C(0xfffff);
    if (mkdir(to, 0700) < 0)
        return errno;
    int rc = mdb_env_create(&r->env);
    if (rc == 0)
        rc = mdb_env_set_mapsize(r->env, (size_t)map);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(r->env, LMDB_TABLES);
    if (rc == 0)
        rc = mdb_env_open(r->env, to, MDB_NOSYNC, 0600);
    if (rc == 0)
        rc = copy_tables(r, p);
    if (rc == 0)
        rc = mdb_env_sync(r->env, 1);
    mdb_env_close(r->env);
    return rc;
}

static void remove_database(const char *to)
{
    char file[4096];
    static const char *const names[] = {LMDB_DATA, "/lock.mdb"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s%s", to, names[i]);
        unlink(file);
    }
    rmdir(to);
}

int store_lmdb_rescue(const char *path, const char *to, struct store_rescue *out, char *why,
                      size_t cap)
{
    struct rescue r = {.out = out};
    struct pages p;
    const uint8_t *map;
    size_t bytes;
    *out = (struct store_rescue){0};
    int rc = lmdb_map_file(path, &map, &bytes);
    if (rc < 0) {
        snprintf(why, cap, "%s" LMDB_DATA ": %s", path, helio_strerror(rc));
        return rc;
    }
    rc = choose_state(&p, map, bytes, &out->older, why, cap);
    if (rc == 0) {
        const int error = make_database(&r, &p, to);
        rc = lmdb_error(error);
        if (error != 0) {
            snprintf(why, cap, "%s: %s", to, mdb_strerror(error));
            if (error != EEXIST)
                remove_database(to);
        }
    }
    lmdb_unmap_file(map, bytes);
    return rc;
}
