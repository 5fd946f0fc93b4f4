/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads heads first (of both formats), then those set aside, then bundles without a head, each
 * table in the order of its keys. Everything is read without a lock and without a change: the
 * medium may be read-only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/crc.h"
#include "store/store_lmdb_impl.h"

enum { WALK_HEADS, WALK_OLD, WALK_ASIDE, WALK_BUNDLES, WALK_TABLES };

struct walk {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table[WALK_TABLES];
    bool has[WALK_TABLES];
    struct store_walk *at;
    int (*fn)(void *ctx, const struct store_row *row);
    void *ctx;
    uint8_t *copy;       /* of a bundle in parts, for the present row */
    uint64_t unfinished; /* key of a bundle that was being stored; 0: none */
};

static int fail_walk(const char *path, int rc, char *why, size_t cap)
{
    snprintf(why, cap, "%s" LMDB_DATA ": %s", path, mdb_strerror(rc));
    return lmdb_error(rc) < 0 ? lmdb_error(rc) : HELIO_EIO;
}

static int open_for_reading(const char *path, MDB_env **env, MDB_txn **txn)
{
    *env = NULL;
    *txn = NULL;
    int rc = mdb_env_create(env);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(*env, LMDB_TABLES);
    if (rc == 0)
        rc = mdb_env_open(*env, path, MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS, 0600);
    if (rc == 0)
        rc = mdb_txn_begin(*env, NULL, MDB_RDONLY, txn);
    return rc;
}

static void close_reading(MDB_env *env, MDB_txn *txn)
{
    if (txn != NULL)
        mdb_txn_abort(txn);
    if (env != NULL)
        mdb_env_close(env);
}

static int open_one(MDB_txn *txn, const char *name, MDB_dbi *table, bool *has)
{
    int rc = mdb_dbi_open(txn, name, 0, table);
    *has = rc == 0;
    return rc == MDB_NOTFOUND ? 0 : rc;
}

/* The bundle of a key from its rows; empty: there is none that can be read. 0, or ENOMEM … */
static int gather_bundle(struct walk *w, uint64_t key, struct slice *out)
{
    struct lmdb_rows rows;
    MDB_cursor *c;
    *out = slice_of(NULL, 0);
    int rc = w->has[WALK_BUNDLES] ? mdb_cursor_open(w->txn, w->table[WALK_BUNDLES], &c) : 0;
    if (rc != 0 || !w->has[WALK_BUNDLES])
        return rc;
    rc = lmdb_bundle_find(NULL, c, key, &rows);
    if (rc == 0 && rows.count == 1) {
        *out = rows.first;
    } else if (rc == 0) {
        free(w->copy);
        w->copy = malloc(rows.bytes);
        rc = w->copy != NULL ? lmdb_bundle_copy(c, key, w->copy, rows.bytes) : ENOMEM;
        *out = slice_of(w->copy, rc == 0 ? rows.bytes : 0);
    }
    mdb_cursor_close(c);
    return rc == ENOMEM ? rc : 0;
}

/* Compares a head and its bundle. */
static void judge_row(struct store_row *r, bool old)
{
    struct store_head h = {0};
    if (old && r->row.len >= 8) {
        h.bytes = store_number_read(r->row.data);
        r->head = slice_of(r->row.data + 8, r->row.len - 8);
    } else if (old || store_head_read(r->key, r->row, &h) < 0) {
        r->state = STORE_ROW_HEAD_DAMAGED;
        return;
    } else {
        r->head = h.head;
    }
    if (h.within)
        r->bundle = h.bundle;
    if (r->bundle.data == NULL)
        r->state = STORE_ROW_BUNDLE_MISSING;
    else if (r->bundle.len != h.bytes ||
             (!old && crc32c(0, r->bundle.data, r->bundle.len) != h.crc))
        r->state = STORE_ROW_BUNDLE_DAMAGED;
    else
        r->state = old ? STORE_ROW_UNCHECKED : STORE_ROW_WHOLE;
}

static bool has_row(const struct walk *w, unsigned table, const char *prefix, const MDB_val *key)
{
    uint8_t name[16];
    size_t at = strlen(prefix);
    if (!w->has[table] || key->mv_size > 8)
        return false;
    memcpy(name, prefix, at);
    memcpy(name + at, key->mv_data, key->mv_size);
    MDB_val k = val_of(name, at + key->mv_size), v;
    return mdb_get(w->txn, w->table[table], &k, &v) == 0;
}

static int visit_row(struct walk *w, unsigned table, const MDB_val *k, const MDB_val *v)
{
    struct store_row r = {.row = slice_of_val(v)};
    const uint8_t *name = k->mv_data;
    if (k->mv_size < 8)
        return 0; /* nothing has such a key */
    r.key = store_number_read(name + (table == WALK_ASIDE ? k->mv_size - 8 : 0));
    if (table == WALK_BUNDLES && (w->at->key == r.key || w->unfinished == r.key))
        return 0; /* another part of the last one; or the next start removes it */
    *w->at = (struct store_walk){.table = table, .key = r.key};
    const MDB_val key = val_of(name, 8);
    if (table == WALK_BUNDLES &&
        (has_row(w, WALK_HEADS, "", &key) || has_row(w, WALK_OLD, "", &key) ||
         has_row(w, WALK_ASIDE, "h", &key)))
        return 0;
    int rc = gather_bundle(w, r.key, &r.bundle);
    if (rc != 0)
        return rc;
    if (table == WALK_BUNDLES) {
        r.row = slice_of(NULL, 0);
        r.state = STORE_ROW_HEAD_MISSING;
    } else {
        r.aside = table == WALK_ASIDE;
        judge_row(&r, table == WALK_OLD);
    }
    return w->fn(w->ctx, &r);
}

static int walk_table(struct walk *w, unsigned table)
{
    MDB_cursor *c;
    MDB_val k, v;
    uint8_t name[9] = {'h'};
    MDB_cursor_op op = MDB_FIRST;
    int rc = mdb_cursor_open(w->txn, w->table[table], &c), stop = 0;
    if (rc != 0)
        return rc;
    if (w->at->table == table && w->at->key > 0) {
        if (w->at->key == UINT64_MAX) {
            mdb_cursor_close(c);
            return 0;
        }
        store_number_write(w->at->key + 1, name + 1);
        k = table == WALK_ASIDE ? val_of(name, 9) : val_of(name + 1, 8);
        op = MDB_SET_RANGE;
    }
    for (; stop == 0 && (rc = mdb_cursor_get(c, &k, &v, op)) == 0; op = MDB_NEXT)
        stop = visit_row(w, table, &k, &v);
    mdb_cursor_close(c);
    return stop != 0 ? stop : rc == MDB_NOTFOUND ? 0 : rc;
}

static int read_unfinished(struct walk *w)
{
    MDB_dbi notes;
    bool has;
    int rc = open_one(w->txn, "notes", &notes, &has);
    return rc == 0 && has ? lmdb_ahead_read(w->txn, notes, &w->unfinished) : rc;
}

int store_lmdb_walk(const char *path, struct store_walk *at,
                    int (*fn)(void *ctx, const struct store_row *row), void *ctx, char *why,
                    size_t cap)
{
    static const char *const names[WALK_TABLES] = {"heads2", "heads", "aside", "bundles"};
    struct walk w = {.at = at, .fn = fn, .ctx = ctx};
    *why = '\0';
    int rc = open_for_reading(path, &w.env, &w.txn);
    for (unsigned i = 0; i < WALK_TABLES && rc == 0; i++)
        rc = open_one(w.txn, names[i], &w.table[i], &w.has[i]);
    if (rc == 0)
        rc = read_unfinished(&w);
    for (unsigned i = at->table; i < WALK_TABLES && rc == 0; i++) {
        if (at->table != i)
            *at = (struct store_walk){.table = i};
        if (w.has[i])
            rc = walk_table(&w, i);
    }
    close_reading(w.env, w.txn);
    free(w.copy);
    /* LMDB's errors are far below ours; positive ones are the system's or what fn returned */
    return rc < -100 || (rc > 0 && w.txn == NULL) ? fail_walk(path, rc, why, cap) : rc;
}

/* ---- all but the bundles ---- */

static int count_marks(MDB_txn *txn, struct store_about *out)
{
    MDB_dbi table;
    MDB_cursor *c;
    MDB_val k, v;
    bool has;
    uint64_t until_ms;
    struct slice id;
    int rc = open_one(txn, "ends", &table, &has);
    if (rc != 0 || !has || (rc = mdb_cursor_open(txn, table, &c)) != 0)
        return rc;
    while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
        out->marks++;
        out->marks_damaged +=
            store_end_read(slice_of_val(&k), slice_of_val(&v), &until_ms, &id) < 0;
    }
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static void keep_note(const char *name, struct slice value, struct store_about *out)
{
    if (strcmp(name, "clock") == 0) {
        out->clock_len = value.len;
        memcpy(out->clock, value.data, value.len);
    } else if (strcmp(name, "sequence") == 0) {
        out->sequence_len = value.len;
        memcpy(out->sequence, value.data, value.len);
    } else if (strcmp(name, "format") == 0 && value.len == 1) {
        out->format = value.data[0];
    }
}

static int read_notes(MDB_txn *txn, struct store_about *out)
{
    MDB_dbi table;
    MDB_cursor *c;
    MDB_val k, v;
    bool has;
    int rc = open_one(txn, "notes", &table, &has);
    if (rc != 0 || !has || (rc = mdb_cursor_open(txn, table, &c)) != 0)
        return rc;
    while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0) {
        char name[64] = "";
        struct slice value;
        memcpy(name, k.mv_data, k.mv_size < sizeof name ? k.mv_size : sizeof name - 1);
        out->notes++;
        if (store_note_read(name, slice_of_val(&v), &value) < 0)
            out->notes_damaged++;
        else
            keep_note(name, value, out);
    }
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int store_lmdb_about(const char *path, struct store_about *out, char *why, size_t cap)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi old;
    bool has_old = false;
    struct stat st;
    char file[4096];
    *out = (struct store_about){0};
    *why = '\0';
    snprintf(file, sizeof file, "%s" LMDB_DATA, path);
    if (stat(file, &st) < 0 || st.st_size == 0) {
        snprintf(why, cap, "%s: %s", file,
                 stat(file, &st) < 0 ? strerror(errno) : "the file is empty");
        return HELIO_ENOENT;
    }
    out->file_bytes = (uint64_t)st.st_size;
    int rc = open_for_reading(path, &env, &txn);
    if (rc == 0) {
        MDB_envinfo info;
        MDB_stat db;
        mdb_env_info(env, &info);
        mdb_env_stat(env, &db);
        out->database_bytes = ((uint64_t)info.me_last_pgno + 1) * db.ms_psize;
        rc = open_one(txn, "heads", &old, &has_old);
    }
    if (rc == 0)
        rc = read_notes(txn, out);
    if (rc == 0)
        rc = count_marks(txn, out);
    if (out->format == 0 && has_old)
        out->format = 1;
    close_reading(env, txn);
    return rc == 0 ? 0 : fail_walk(path, rc, why, cap);
}

/* ---- repair ---- */

static int delete_key(MDB_txn *txn, MDB_dbi table, const void *key, size_t len)
{
    MDB_val k = val_of(key, len);
    int rc = mdb_del(txn, table, &k, NULL);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int delete_bundle(struct lmdb *l, uint64_t key)
{
    MDB_cursor *c;
    int rc = mdb_cursor_open(l->txn, l->bundles, &c);
    if (rc != 0)
        return rc;
    rc = lmdb_bundle_remove(c, key);
    mdb_cursor_close(c);
    return rc;
}

int store_lmdb_erase(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t name[9] = {'h'};
    if (l->txn == NULL)
        return HELIO_EINVAL;
    store_number_write(key, name + 1);
    int rc = delete_key(l->txn, l->heads, name + 1, 8);
    if (rc == 0)
        rc = delete_bundle(l, key);
    if (rc == 0)
        rc = delete_key(l->txn, l->aside, name, 9);
    return lmdb_error(rc);
}

static int erase_bad(struct lmdb *l, MDB_dbi table, bool (*bad)(struct slice key, struct slice row))
{
    MDB_cursor *c;
    MDB_val k, v;
    int rc = mdb_cursor_open(l->txn, table, &c);
    if (rc != 0)
        return rc;
    while ((rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
        if (bad(slice_of_val(&k), slice_of_val(&v)) && (rc = mdb_cursor_del(c, 0)) != 0)
            break;
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static bool bad_end(struct slice key, struct slice row)
{
    uint64_t until_ms;
    struct slice id;
    return store_end_read(key, row, &until_ms, &id) < 0;
}

static bool bad_note(struct slice key, struct slice row)
{
    char name[64] = "";
    struct slice value;
    memcpy(name, key.data, key.len < sizeof name ? key.len : sizeof name - 1);
    return store_note_read(name, row, &value) < 0;
}

int store_lmdb_erase_marks(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return HELIO_EINVAL;
    int rc = erase_bad(l, l->ends, bad_end);
    if (rc == 0)
        rc = erase_bad(l, l->notes, bad_note);
    return lmdb_error(rc);
}
