/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle store on SQLite with a write-ahead log: synchronous=FULL for sync, NORMAL for async.
 * Statements are prepared once. What can go wrong is what SQLite says.
 */
#include "store_sqlite.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"

enum statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ABORT,
    SQL_PUT_HEAD,
    SQL_PUT_BUNDLE,
    SQL_UPDATE,
    SQL_BYTES,
    SQL_REMOVE_HEAD,
    SQL_REMOVE_BUNDLE,
    SQL_GET,
    SQL_EACH,
    SQL_MARK,
    SQL_MARKS,
    SQL_FORGET,
    SQL_TRIM,
    SQL_COUNT
};

#define TRIM                                                                                       \
    "DELETE FROM marks WHERE id IN (SELECT id FROM marks ORDER BY until "                          \
    "LIMIT max(0, (SELECT count(*) FROM marks) - ?1))"

static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ABORT] = "ROLLBACK",
    [SQL_PUT_HEAD] = "INSERT INTO heads VALUES (?1, ?2, ?3)",
    [SQL_PUT_BUNDLE] = "INSERT INTO bundles VALUES (?1, ?2)",
    [SQL_UPDATE] = "UPDATE heads SET head = ?2 WHERE key = ?1",
    [SQL_BYTES] = "SELECT bytes FROM heads WHERE key = ?1",
    [SQL_REMOVE_HEAD] = "DELETE FROM heads WHERE key = ?1",
    [SQL_REMOVE_BUNDLE] = "DELETE FROM bundles WHERE key = ?1",
    [SQL_GET] = "SELECT data FROM bundles WHERE key = ?1",
    [SQL_EACH] = "SELECT key, bytes, head FROM heads ORDER BY key",
    [SQL_MARK] = "INSERT OR REPLACE INTO marks VALUES (?2, ?1)",
    [SQL_MARKS] = "SELECT until, id FROM marks ORDER BY until",
    [SQL_FORGET] = "DELETE FROM marks WHERE until <= ?1",
    [SQL_TRIM] = TRIM,
};

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA mmap_size = 1073741824;"
    "CREATE TABLE IF NOT EXISTS heads (key INTEGER PRIMARY KEY, bytes INTEGER, head BLOB);"
    "CREATE TABLE IF NOT EXISTS bundles (key INTEGER PRIMARY KEY, data BLOB);"
    "CREATE TABLE IF NOT EXISTS marks (id BLOB PRIMARY KEY, until INTEGER) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS ends ON marks (until);";

struct sqlite {
    struct store store;
    sqlite3 *db;
    sqlite3_stmt *sql[SQL_COUNT];
    uint64_t limit, marks_max, bytes, bytes_before;
    bool in_transaction;
};

static struct sqlite *sqlite_of(struct store *s)
{
    return container_of(s, struct sqlite, store);
}

static int error_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_FULL:
        return HELIO_ESPACE;
    case SQLITE_CONSTRAINT:
        return HELIO_EEXIST;
    case SQLITE_NOMEM:
        return HELIO_ENOMEM;
    default:
        return HELIO_EIO;
    }
}

/* Binds a number and a blob (when the statement has a second parameter) and runs it. */
static int run(struct sqlite *q, enum statement which, uint64_t number, struct slice blob)
{
    sqlite3_stmt *st = q->sql[which];
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
    if (sqlite3_bind_parameter_count(st) > 1)
        sqlite3_bind_blob64(st, 2, blob.data, blob.len, SQLITE_STATIC);
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return error_of(rc);
}

static void sqlite_close(struct store *s)
{
    if (s == NULL)
        return;
    struct sqlite *q = sqlite_of(s);
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(q->sql[i]);
    sqlite3_close(q->db);
    free(q);
}

static int each_bytes(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    (void)key;
    (void)head;
    *(uint64_t *)ctx += bytes;
    return 0;
}

static int open_db(struct sqlite *q, const struct store_options *o)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/store.sqlite", o->path);
    int rc = sqlite3_open(path, &q->db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(q->db, schema, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(q->db,
                          o->durability == STORE_SYNC ? "PRAGMA synchronous = FULL"
                                                      : "PRAGMA synchronous = NORMAL",
                          NULL, NULL, NULL);
    for (size_t i = 0; i < SQL_COUNT && rc == SQLITE_OK; i++)
        rc = sqlite3_prepare_v3(q->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &q->sql[i], NULL);
    return error_of(rc);
}

static int sqlite_open(struct store **out, const struct store_options *o, char *why, size_t why_cap)
{
    struct sqlite *q = calloc(1, sizeof *q);
    if (q == NULL)
        return HELIO_ENOMEM;
    q->store.ops = &store_sqlite;
    q->limit = o->limit_bytes;
    q->marks_max = o->marks_max > 0 ? o->marks_max : 1000000;
    int rc = mkdir(o->path, 0700) < 0 && errno != EEXIST ? HELIO_EIO : open_db(q, o);
    if (rc == 0)
        rc = store_sqlite.each(&q->store, each_bytes, &q->bytes);
    if (rc < 0) {
        snprintf(why, why_cap, "%s: %s", o->path,
                 q->db == NULL ? strerror(errno) : sqlite3_errmsg(q->db));
        sqlite_close(&q->store);
        return rc;
    }
    *out = &q->store;
    return 0;
}

static int sqlite_begin(struct store *s)
{
    struct sqlite *q = sqlite_of(s);
    if (q->in_transaction)
        return HELIO_EINVAL;
    int rc = run(q, SQL_BEGIN, 0, slice_of(NULL, 0));
    q->in_transaction = rc == 0;
    q->bytes_before = q->bytes;
    return rc;
}

static void sqlite_abort(struct store *s)
{
    struct sqlite *q = sqlite_of(s);
    if (!q->in_transaction)
        return;
    run(q, SQL_ABORT, 0, slice_of(NULL, 0));
    q->bytes = q->bytes_before;
    q->in_transaction = false;
}

static int sqlite_commit(struct store *s)
{
    struct sqlite *q = sqlite_of(s);
    if (!q->in_transaction)
        return HELIO_EINVAL;
    int rc = run(q, SQL_COMMIT, 0, slice_of(NULL, 0));
    if (rc < 0)
        sqlite_abort(s);
    q->in_transaction = false;
    return rc;
}

static int put_head(struct sqlite *q, uint64_t key, uint64_t bytes, struct slice head)
{
    sqlite3_bind_blob64(q->sql[SQL_PUT_HEAD], 3, head.data, head.len, SQLITE_STATIC);
    sqlite3_stmt *st = q->sql[SQL_PUT_HEAD];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)key);
    sqlite3_bind_int64(st, 2, (sqlite3_int64)bytes);
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return error_of(rc);
}

static int sqlite_put(struct store *s, uint64_t key, struct slice head, struct slice bundle)
{
    struct sqlite *q = sqlite_of(s);
    if (!q->in_transaction || key == 0 || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    if (bundle.len > q->limit || q->bytes > q->limit - bundle.len)
        return HELIO_ESPACE;
    int rc = put_head(q, key, bundle.len, head);
    if (rc == 0)
        rc = run(q, SQL_PUT_BUNDLE, key, bundle);
    if (rc == 0)
        q->bytes += bundle.len;
    return rc;
}

static int sqlite_update(struct store *s, uint64_t key, struct slice head)
{
    struct sqlite *q = sqlite_of(s);
    int rc = run(q, SQL_UPDATE, key, head);
    return rc == 0 && sqlite3_changes(q->db) == 0 ? HELIO_ENOENT : rc;
}

static int sqlite_remove(struct store *s, uint64_t key)
{
    struct sqlite *q = sqlite_of(s);
    sqlite3_stmt *st = q->sql[SQL_BYTES];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)key);
    int rc = sqlite3_step(st);
    uint64_t bytes = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    if (rc != SQLITE_ROW)
        return HELIO_ENOENT;
    rc = run(q, SQL_REMOVE_HEAD, key, slice_of(NULL, 0));
    if (rc == 0)
        rc = run(q, SQL_REMOVE_BUNDLE, key, slice_of(NULL, 0));
    if (rc == 0)
        q->bytes -= bytes;
    return rc;
}

static int sqlite_get(struct store *s, uint64_t key, size_t head_room, struct buf **out)
{
    sqlite3_stmt *st = sqlite_of(s)->sql[SQL_GET];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)key);
    int result = HELIO_ENOENT;
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(st, 0);
        size_t len = (size_t)sqlite3_column_bytes(st, 0);
        struct buf *b = buf_new(head_room, len);
        result = b == NULL ? HELIO_ENOMEM : 0;
        if (b != NULL)
            memcpy(buf_append(b, len), data, len);
        if (b != NULL)
            *out = b;
    } else if (rc != SQLITE_DONE) {
        result = error_of(rc);
    }
    sqlite3_reset(st);
    return result;
}

static int sqlite_each(struct store *s,
                       int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes),
                       void *ctx)
{
    sqlite3_stmt *st = sqlite_of(s)->sql[SQL_EACH];
    int stop = 0, rc = SQLITE_DONE;
    while (stop == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const void *head = sqlite3_column_blob(st, 2);
        stop = fn(ctx, (uint64_t)sqlite3_column_int64(st, 0),
                  slice_of(head, (size_t)sqlite3_column_bytes(st, 2)),
                  (uint64_t)sqlite3_column_int64(st, 1));
    }
    sqlite3_reset(st);
    return stop != 0 ? stop : error_of(rc);
}

static int sqlite_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    struct sqlite *q = sqlite_of(s);
    if (!q->in_transaction || id.len == 0 || id.len > STORE_MARK_MAX)
        return HELIO_EINVAL;
    return run(q, SQL_MARK, until_ms, id);
}

static int sqlite_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                        void *ctx)
{
    sqlite3_stmt *st = sqlite_of(s)->sql[SQL_MARKS];
    int stop = 0, rc = SQLITE_DONE;
    while (stop == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const void *id = sqlite3_column_blob(st, 1);
        stop = fn(ctx, slice_of(id, (size_t)sqlite3_column_bytes(st, 1)),
                  (uint64_t)sqlite3_column_int64(st, 0));
    }
    sqlite3_reset(st);
    return stop != 0 ? stop : error_of(rc);
}

static int sqlite_forget(struct store *s, uint64_t now_ms)
{
    struct sqlite *q = sqlite_of(s);
    int rc = run(q, SQL_FORGET, now_ms, slice_of(NULL, 0));
    return rc < 0 ? rc : run(q, SQL_TRIM, q->marks_max, slice_of(NULL, 0));
}

static int sqlite_flush(struct store *s)
{
    int rc =
        sqlite3_wal_checkpoint_v2(sqlite_of(s)->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return error_of(rc);
}

static uint64_t sqlite_bytes(struct store *s)
{
    return sqlite_of(s)->bytes;
}

const struct store_ops store_sqlite = {
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .abort = sqlite_abort,
    .put = sqlite_put,
    .update = sqlite_update,
    .remove = sqlite_remove,
    .get = sqlite_get,
    .each = sqlite_each,
    .mark = sqlite_mark,
    .marks = sqlite_marks,
    .forget = sqlite_forget,
    .flush = sqlite_flush,
    .bytes = sqlite_bytes,
};
