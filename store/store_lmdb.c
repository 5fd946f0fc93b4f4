/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in an LMDB file: some tables in one environment; a transaction here is a transaction
 * there. Heads (with the bundle's length and check value before them) are stored apart from long
 * bundles, so that a restart reads at most two kilobytes per bundle and not all of it. Short
 * bundles are stored in their heads' rows, so each is one row to write and one to remove.
 *
 * What can go wrong: the limit of bytes or the medium is full (refused before the database is
 * touched); the map is full or a write fails all the same (the transaction is spoilt; commit
 * reports it, and no part of it is stored); rows that differ from their check values (never
 * returned); a file that was removed or moved away (new rows would be lost: begin and commit report
 * it, while the stored rows can still be read). The map is not writable, so a full medium is an
 * error and never a signal (store_lmdb_room.c).
 */
#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/crc.h"
#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

#define NOTE_NAME_MAX 32

int lmdb_error(int rc)
{
    switch (rc) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return HELIO_ENOENT;
    case MDB_KEYEXIST:
        return HELIO_EEXIST;
    case MDB_MAP_FULL:
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
        return HELIO_ESPACE;
    case ENOMEM:
        return HELIO_ENOMEM;
    default:
        return HELIO_EIO;
    }
}

int lmdb_fail(struct lmdb *l, int rc)
{
    int error = lmdb_error(rc);
    if (error != HELIO_ENOENT && error != 0)
        l->broken = error;
    return error;
}

/* Is the open file still the one at its path? */
static bool in_place(const struct lmdb *l)
{
    mdb_filehandle_t fd;
    struct stat here, there;
    mdb_env_get_fd(l->env, &fd);
    return stat(l->file, &there) == 0 && fstat(fd, &here) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* Before the transaction ends. */
static void close_cursors(struct lmdb *l)
{
    if (l->cursor != NULL)
        mdb_cursor_close(l->cursor);
    if (l->rows != NULL)
        mdb_cursor_close(l->rows);
    l->cursor = l->rows = NULL;
}

static void take_back(struct lmdb *l)
{
    assert(l->txn == NULL && l->cursor == NULL && l->rows == NULL);
    l->bytes = l->bytes_before;
    l->damaged = l->damaged_before;
}

void lmdb_abort(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return;
    close_cursors(l);
    mdb_txn_abort(l->txn);
    l->txn = NULL;
    take_back(l);
    lmdb_ahead_done(l, false);
}

static void lmdb_close(struct store *s)
{
    if (s == NULL)
        return;
    lmdb_abort(s);
    lmdb_free(lmdb_of(s));
}

int lmdb_begin(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn != NULL)
        return HELIO_EINVAL;
    if (!in_place(l))
        return HELIO_ENOENT;
    assert(l->txn == NULL);
    l->broken = 0;
    l->putting = l->parts = 0;
    l->no_blocks = false;
    l->bytes_before = l->bytes;
    l->damaged_before = l->damaged;
    int rc = mdb_txn_begin(l->env, NULL, 0, &l->txn);
    if (rc != 0)
        l->txn = NULL;
    return lmdb_error(rc);
}

int lmdb_commit(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return HELIO_EINVAL;
    if (l->broken != 0) {
        lmdb_abort(s);
        return l->broken;
    }
    assert(l->broken == 0);
    close_cursors(l);
    int rc = mdb_txn_commit(l->txn);
    l->txn = NULL;
    lmdb_ahead_done(l, rc == 0);
    if (rc != 0)
        take_back(l);
    else if (!in_place(l)) /* it may be another that is found at the next start */
        return HELIO_ENOENT;
    return lmdb_error(rc);
}

static MDB_val key_of(uint64_t key, uint8_t name[8])
{
    store_number_write(key, name);
    return val_of(name, 8);
}

/* Of the heads: what is put or removed one after the other lies side by side. 0 or an error. */
static int open_cursor(struct lmdb *l)
{
    assert(l->txn != NULL);
    return l->cursor != NULL ? 0 : mdb_cursor_open(l->txn, l->heads, &l->cursor);
}

/* The same, of the bundles. */
static int open_rows(struct lmdb *l)
{
    assert(l->txn != NULL);
    return l->rows != NULL ? 0 : mdb_cursor_open(l->txn, l->bundles, &l->rows);
}

static int write_head(struct lmdb *l, uint64_t key, const struct store_head *h, unsigned flags)
{
    assert(l->txn != NULL && key != 0);
    uint8_t name[8];
    MDB_val k = key_of(key, name), v = {.mv_size = store_head_size(h)};
    int rc = open_cursor(l);
    if (rc == 0)
        rc = mdb_cursor_put(l->cursor, &k, &v, flags | MDB_RESERVE);
    if (rc == 0)
        store_head_write(key, h, v.mv_data);
    return rc;
}

static int write_bundle(struct lmdb *l, uint64_t key, struct slice bundle, unsigned flags)
{
    int rc = open_rows(l);
    return rc == 0 ? lmdb_bundle_write(l, l->rows, key, bundle, flags) : rc;
}

/* The head, and where the bundle is stored. */
static struct store_head head_for(struct slice head, struct slice bundle, uint32_t crc)
{
    struct store_head h = {bundle.len, crc, head, true, bundle};
    h.within = store_head_size(&h) <= STORE_WITHIN_MAX;
    return h;
}

/* 0, MDB_NOTFOUND …, or HELIO_EFORMAT: damaged. */
static int read_head(struct lmdb *l, MDB_txn *txn, uint64_t key, struct store_head *out)
{
    uint8_t name[8];
    MDB_val k = key_of(key, name), row;
    int rc = mdb_get(txn, l->heads, &k, &row);
    return rc != 0 ? rc : store_head_read(key, slice_of_val(&row), out);
}

static int lmdb_put(struct store *s, uint64_t key, struct slice head, struct slice bundle)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || key == 0 || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    if (bundle.len > l->limit || l->bytes > l->limit - bundle.len)
        return HELIO_ESPACE;
    const uint64_t pages = lmdb_put_pages(l, bundle.len - lmdb_ahead_bytes(l, key));
    if (lmdb_reserve(l, pages) < 0)
        return HELIO_ESPACE;
    struct store_head h = head_for(head, bundle, crc32c(0, bundle.data, bundle.len));
    const unsigned flags = MDB_NOOVERWRITE | lmdb_append_flag(l, key);
    int rc = write_head(l, key, &h, flags);
    if (rc == MDB_KEYEXIST)
        return HELIO_EEXIST;
    if (rc == 0 && !h.within)
        rc = write_bundle(l, key, bundle, flags);
    if (rc == 0) {
        assert(l->bytes <= l->limit - bundle.len);
        l->bytes += bundle.len;
        l->putting += pages;
        l->last_key = key > l->last_key ? key : l->last_key;
    }
    return lmdb_fail(l, rc);
}

/* A longer head may leave too little space for its bundle in the row. */
static int replace_head(struct lmdb *l, uint64_t key, const struct store_head *old,
                        struct slice head)
{
    uint8_t copy[STORE_WITHIN_MAX]; /* the row may move */
    struct store_head h = *old;
    h.head = head;
    if (!old->within)
        return write_head(l, key, &h, 0);
    assert(old->bundle.len < sizeof copy);
    if (old->bundle.len > 0)
        memcpy(copy, old->bundle.data, old->bundle.len);
    h = head_for(head, slice_of(copy, old->bundle.len), old->crc);
    int rc = write_head(l, key, &h, 0);
    return rc == 0 && !h.within ? write_bundle(l, key, h.bundle, 0) : rc;
}

static int lmdb_update(struct store *s, uint64_t key, struct slice head)
{
    struct lmdb *l = lmdb_of(s);
    struct store_head h;
    if (l->txn == NULL || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    int rc = read_head(l, l->txn, key, &h);
    if (rc == HELIO_EFORMAT)
        return rc;
    return lmdb_fail(l, rc != 0 ? rc : replace_head(l, key, &h, head));
}

static int lmdb_set_aside(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t name[8], copy[STORE_WITHIN_MAX];
    MDB_val k = key_of(key, name), row;
    struct store_head h = {0};
    struct lmdb_rows bundle;
    if (l->txn == NULL)
        return HELIO_EINVAL;
    int rc = mdb_get(l->txn, l->heads, &k, &row);
    if (rc == 0 && row.mv_size > sizeof copy)
        rc = MDB_CORRUPTED;
    if (rc != 0)
        return lmdb_fail(l, rc);
    memcpy(copy, row.mv_data, row.mv_size); /* the page under it may move */
    row.mv_data = copy;
    (void)store_head_read(key, slice_of_val(&row), &h);
    if ((rc = open_rows(l)) == 0 && (rc = lmdb_put_aside(l, l->txn, &k, &row)) == 0)
        rc = mdb_del(l->txn, l->heads, &k, NULL);
    if (rc == 0) {
        l->damaged++;
        if (h.within)
            l->bytes -= h.bytes;
        else if (lmdb_bundle_find(l, l->rows, key, &bundle) == 0)
            l->bytes -= bundle.bytes;
    }
    return lmdb_fail(l, rc);
}

/* A head, and its bundle in the bundles' own table. HELIO_EFORMAT: the bundle's pages cannot be
 * freed, and nothing was removed. */
static int remove_rows(struct lmdb *l, uint64_t key, const struct store_head *h, uint64_t *bytes)
{
    struct lmdb_rows old = {.whole = true};
    int rc = h->within ? 0 : open_rows(l);
    if (rc == 0 && !h->within)
        rc = lmdb_bundle_find(l, l->rows, key, &old);
    if (rc != 0 && rc != MDB_NOTFOUND)
        return rc;
    if (!old.whole)
        return HELIO_EFORMAT;
    *bytes = old.count > 0 ? old.bytes : h->bytes;
    rc = mdb_cursor_del(l->cursor, 0);
    if (rc != 0 || h->within)
        return rc;
    return old.count > 0 ? lmdb_bundle_remove(l->rows, key) : MDB_NOTFOUND;
}

static int lmdb_remove(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    struct store_head h = {0};
    uint8_t name[8];
    MDB_val k = key_of(key, name), row;
    if (l->txn == NULL)
        return HELIO_EINVAL;
    int rc = open_cursor(l);
    if (rc == 0)
        rc = mdb_cursor_get(l->cursor, &k, &row, MDB_SET_KEY);
    if (rc != 0)
        return lmdb_fail(l, rc);
    const bool whole = store_head_read(key, slice_of_val(&row), &h) == 0;
    uint64_t bytes = 0;
    rc = remove_rows(l, key, &h, &bytes);
    if (rc == HELIO_EFORMAT)
        return lmdb_set_aside(s, key);
    l->bytes -= bytes < l->bytes ? bytes : l->bytes; /* of a damaged row it may be another */
    if (rc == MDB_NOTFOUND)
        rc = whole ? MDB_CORRUPTED : 0; /* a damaged head had it, perhaps */
    return lmdb_fail(l, rc);
}

/* A transaction to read in: the open one, or a new one that reading_end closes. */
static int begin_reading(struct lmdb *l, MDB_txn **txn)
{
    *txn = l->txn;
    assert(l->env != NULL);
    return l->txn != NULL ? 0 : mdb_txn_begin(l->env, NULL, MDB_RDONLY, txn);
}

static void reading_end(struct lmdb *l, MDB_txn *txn)
{
    assert(txn != NULL);
    if (txn != l->txn)
        mdb_txn_abort(txn);
}

static struct buf *copy_within(size_t head_room, const struct store_head *h)
{
    struct buf *b = buf_new(head_room, h->bundle.len);
    if (b != NULL)
        memcpy(buf_append(b, h->bundle.len), h->bundle.data, h->bundle.len);
    return b;
}

/* Of the bundles' own table. 0 (*out NULL: no memory), HELIO_EFORMAT: not of that length; or an
 * error of LMDB. */
static int copy_rows(struct lmdb *l, MDB_txn *txn, uint64_t key, size_t head_room, uint64_t bytes,
                     struct buf **out)
{
    MDB_cursor *c;
    struct lmdb_rows rows;
    int rc = mdb_cursor_open(txn, l->bundles, &c);
    if (rc != 0)
        return rc;
    rc = lmdb_bundle_find(NULL, c, key, &rows);
    if (rc == MDB_NOTFOUND || (rc == 0 && rows.bytes != bytes))
        rc = HELIO_EFORMAT;
    if (rc == 0 && (*out = buf_new(head_room, bytes)) != NULL)
        rc = lmdb_bundle_copy(c, key, buf_append(*out, bytes), bytes);
    mdb_cursor_close(c);
    return rc;
}

/* The check value is that of the copy: what is given out is what was looked at. */
static int read_bundle(struct lmdb *l, MDB_txn *txn, uint64_t key, size_t head_room,
                       const struct store_head *h, struct buf **out)
{
    struct buf *b = h->within ? copy_within(head_room, h) : NULL;
    int rc = h->within ? 0 : copy_rows(l, txn, key, head_room, h->bytes, &b);
    if (rc == 0 && b == NULL)
        return HELIO_ENOMEM;
    if (rc == 0 && crc32c(0, buf_data(b), b->len) != h->crc)
        rc = HELIO_EFORMAT;
    if (rc != 0) {
        buf_drop(b);
        return rc;
    }
    assert(b->len == h->bytes);
    *out = b;
    return 0;
}

static int lmdb_get(struct store *s, uint64_t key, size_t head_room, struct buf **out)
{
    struct lmdb *l = lmdb_of(s);
    MDB_txn *txn;
    int rc = begin_reading(l, &txn);
    if (rc != 0)
        return lmdb_error(rc);
    struct buf *b = NULL;
    struct store_head h;
    rc = read_head(l, txn, key, &h);
    if (rc == 0)
        rc = read_bundle(l, txn, key, head_room, &h, &b);
    reading_end(l, txn);
    if (rc == 0)
        *out = b;
    return rc == HELIO_EFORMAT || rc == HELIO_ENOMEM ? rc : lmdb_error(rc);
}

int lmdb_each_row(struct lmdb *l, MDB_dbi table, int (*fn)(void *ctx, MDB_val *k, MDB_val *v),
                  void *ctx)
{
    MDB_txn *txn;
    MDB_cursor *c;
    int rc = begin_reading(l, &txn);
    if (rc != 0)
        return lmdb_error(rc);
    rc = mdb_cursor_open(txn, table, &c);
    if (rc != 0) {
        reading_end(l, txn);
        return lmdb_error(rc);
    }
    int stop = 0;
    MDB_val k, v;
    while (stop == 0 && (rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
        stop = fn(ctx, &k, &v);
    mdb_cursor_close(c);
    reading_end(l, txn);
    return stop != 0 || rc == MDB_NOTFOUND ? stop : lmdb_error(rc);
}

struct each {
    int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes);
    void *ctx;
};

static int each_row(void *ctx, MDB_val *k, MDB_val *v)
{
    const struct each *e = ctx;
    struct store_head h;
    if (k->mv_size != 8)
        return 0;
    uint64_t key = store_number_read(k->mv_data);
    if (store_head_read(key, slice_of_val(v), &h) < 0)
        return 0; /* open has set damaged heads aside; get reports any others */
    return e->fn(e->ctx, key, h.head, h.bytes);
}

static int lmdb_each(struct store *s,
                     int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes),
                     void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct each e = {.fn = fn, .ctx = ctx};
    return lmdb_each_row(l, l->heads, each_row, &e);
}

static int lmdb_note(struct store *s, const char *name, struct slice value)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t row[STORE_NOTE_ROW_MAX];
    if (l->txn == NULL || value.len > STORE_NOTE_MAX || strlen(name) >= NOTE_NAME_MAX)
        return HELIO_EINVAL;
    MDB_val k = val_of(name, strlen(name)), v = val_of(row, store_note_write(name, value, row));
    return lmdb_fail(l, mdb_put(l->txn, l->notes, &k, &v, 0));
}

static int lmdb_recall(struct store *s, const char *name, uint8_t out[STORE_NOTE_MAX], size_t *len)
{
    struct lmdb *l = lmdb_of(s);
    MDB_txn *txn;
    MDB_val k = val_of(name, strlen(name)), v;
    struct slice value;
    int rc = begin_reading(l, &txn);
    if (rc != 0)
        return lmdb_error(rc);
    rc = lmdb_error(mdb_get(txn, l->notes, &k, &v));
    if (rc == 0)
        rc = store_note_read(name, slice_of_val(&v), &value);
    if (rc == 0) {
        *len = value.len;
        memcpy(out, value.data, value.len);
    }
    reading_end(l, txn);
    return rc;
}

static int lmdb_flush(struct store *s)
{
    return lmdb_error(mdb_env_sync(lmdb_of(s)->env, 1));
}

static uint64_t lmdb_bytes(struct store *s)
{
    return lmdb_of(s)->bytes;
}

static uint64_t lmdb_last_key(struct store *s)
{
    return lmdb_of(s)->last_key;
}

static uint64_t lmdb_damaged(struct store *s)
{
    return lmdb_of(s)->damaged;
}

const struct store_ops store_lmdb = {
    .name = "lmdb",
    .open = lmdb_open,
    .close = lmdb_close,
    .begin = lmdb_begin,
    .commit = lmdb_commit,
    .abort = lmdb_abort,
    .put = lmdb_put,
    .put_ahead = lmdb_put_ahead,
    .drop_ahead = lmdb_drop_ahead,
    .update = lmdb_update,
    .remove = lmdb_remove,
    .get = lmdb_get,
    .set_aside = lmdb_set_aside,
    .each = lmdb_each,
    .mark = lmdb_mark,
    .marks = lmdb_marks,
    .forget = lmdb_forget,
    .note = lmdb_note,
    .recall = lmdb_recall,
    .last_key = lmdb_last_key,
    .damaged = lmdb_damaged,
    .flush = lmdb_flush,
    .bytes = lmdb_bytes,
    .fits = lmdb_fits,
};
