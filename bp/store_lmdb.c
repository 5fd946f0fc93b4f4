/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in an LMDB file: some tables in one environment; a transaction here is a transaction
 * there. Heads (with the bundle's length and check value before them) lie apart from the bundles,
 * so that a restart reads kilobytes per bundle and not all of it; marks have a second table sorted
 * by their end.
 *
 * What can go wrong: the limit of bytes or the medium is full (refused before the database is
 * touched), the map is full or a write fails all the same (the transaction is spoilt; commit says
 * so and nothing of it happened), rows that differ from their check values (never given out), a
 * file that somebody removed or moved away (what is written would be lost: begin and commit say so,
 * while what is in it can still be read). Since LMDB never overwrites pages in use, even a
 * removal needs some: blocks are reserved behind the end of the file before each put, and puts
 * leave RESERVE of them, so that a full store can be emptied. The map is not writable, so that a
 * full medium is an error and never a signal.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/crc.h"
#include "bp/store_lmdb_impl.h"

#define FORGET_BATCH 4096
#define NOTE_NAME_MAX 32
#define RESERVE (UINT64_C(1) << 20) /* bytes that puts leave for removals */
#define RESERVE_STEP (UINT64_C(16) << 20)
#define PAGES_PER_PUT                                                                              \
    16 /* at most, beside the bundle itself: paths through the trees, the head                     \
        */

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

static int fail_store(struct lmdb *l, int rc)
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

static void take_back(struct lmdb *l)
{
    assert(l->txn == NULL);
    l->bytes = l->bytes_before;
    l->damaged = l->damaged_before;
}

static void lmdb_abort(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return;
    mdb_txn_abort(l->txn);
    l->txn = NULL;
    take_back(l);
}

static void lmdb_close(struct store *s)
{
    if (s == NULL)
        return;
    lmdb_abort(s);
    lmdb_free(lmdb_of(s));
}

static int lmdb_begin(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn != NULL)
        return HELIO_EINVAL;
    if (!in_place(l))
        return HELIO_ENOENT;
    assert(l->txn == NULL);
    l->broken = 0;
    l->putting = 0;
    l->bytes_before = l->bytes;
    l->damaged_before = l->damaged;
    int rc = mdb_txn_begin(l->env, NULL, 0, &l->txn);
    if (rc != 0)
        l->txn = NULL;
    return lmdb_error(rc);
}

static int lmdb_commit(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return HELIO_EINVAL;
    if (l->broken != 0) {
        lmdb_abort(s);
        return l->broken;
    }
    assert(l->broken == 0);
    int rc = mdb_txn_commit(l->txn);
    l->txn = NULL;
    if (rc != 0)
        take_back(l);
    else if (!in_place(l)) /* it may be another that is found at the next start */
        return HELIO_ENOENT;
    return lmdb_error(rc);
}

/* Bytes of pages that lie free within the file. */
static uint64_t free_bytes(struct lmdb *l)
{
    MDB_txn *txn;
    MDB_cursor *c;
    uint64_t pages = 0;
    if (mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn) != 0)
        return 0;
    if (mdb_cursor_open(txn, 0, &c) == 0) {
        MDB_val k, v;
        while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0 && v.mv_size >= sizeof(size_t)) {
            size_t n; /* each row is a list of page numbers after its length */
            memcpy(&n, v.mv_data, sizeof n);
            pages += n;
        }
        mdb_cursor_close(c);
    }
    mdb_txn_abort(txn);
    return pages * l->page_bytes;
}

/* Is there room for the transaction's puts and `more`, with RESERVE left? 0 or HELIO_ESPACE. */
static int reserve_space(struct lmdb *l, uint64_t more)
{
    assert(l->page_bytes > 0);
    MDB_envinfo info;
    mdb_filehandle_t fd;
    mdb_env_info(l->env, &info);
    mdb_env_get_fd(l->env, &fd);
    uint64_t end = (info.me_last_pgno + 1) * l->page_bytes + l->putting + more + RESERVE;
    if (end <= l->reserved)
        return 0;
    for (uint64_t step = RESERVE_STEP;; step = 0) {
        assert(end > l->reserved);
        off_t from = (off_t)l->reserved, len = (off_t)(end + step - l->reserved);
        int r;
        do {
            r = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, len);
        } while (r != 0 && errno == EINTR);
        if (r == 0) {
            l->reserved = end + step;
            return 0;
        }
        if (errno != ENOSPC && errno != EDQUOT) {
            l->reserved = UINT64_MAX;
            return 0;
        }
        if (step == 0)
            break;
    }
    return free_bytes(l) >= 2 * (l->putting + more) + RESERVE ? 0 : HELIO_ESPACE;
}

static MDB_val key_of(uint64_t key, uint8_t name[8])
{
    store_number_write(key, name);
    return val_of(name, 8);
}

static int write_head(struct lmdb *l, uint64_t key, const struct store_head *h, unsigned flags)
{
    assert(l->txn != NULL && key != 0);
    uint8_t name[8], row[STORE_HEAD_ROW_MAX];
    MDB_val k = key_of(key, name), v = val_of(row, store_head_write(key, h, row));
    return mdb_put(l->txn, l->heads, &k, &v, flags);
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
    uint64_t pages = bundle.len + PAGES_PER_PUT * l->page_bytes;
    if (reserve_space(l, pages) < 0)
        return HELIO_ESPACE;
    struct store_head h = {bundle.len, crc32c(0, bundle.data, bundle.len), head};
    int rc = write_head(l, key, &h, MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST)
        return HELIO_EEXIST;
    if (rc == 0) {
        uint8_t name[8];
        MDB_val k = key_of(key, name), v = val_of(bundle.data, bundle.len);
        rc = mdb_put(l->txn, l->bundles, &k, &v, MDB_NOOVERWRITE);
    }
    if (rc == 0) {
        assert(l->bytes <= l->limit - bundle.len);
        l->bytes += bundle.len;
        l->putting += pages;
        l->last_key = key > l->last_key ? key : l->last_key;
    }
    return fail_store(l, rc);
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
    h.head = head;
    return fail_store(l, rc != 0 ? rc : write_head(l, key, &h, 0));
}

static int lmdb_remove(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t name[8];
    MDB_val k = key_of(key, name), old;
    if (l->txn == NULL)
        return HELIO_EINVAL;
    int rc = mdb_del(l->txn, l->heads, &k, NULL);
    if (rc != 0)
        return fail_store(l, rc);
    rc = mdb_get(l->txn, l->bundles, &k, &old);
    uint64_t bytes = rc == 0 ? old.mv_size : 0;
    if (rc == 0)
        rc = mdb_del(l->txn, l->bundles, &k, NULL);
    l->bytes -= bytes;
    return fail_store(l, rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc);
}

static int lmdb_set_aside(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t name[8];
    MDB_val k = key_of(key, name), row, bundle;
    if (l->txn == NULL)
        return HELIO_EINVAL;
    int rc = mdb_get(l->txn, l->heads, &k, &row);
    if (rc == 0)
        rc = lmdb_put_aside(l, l->txn, &k, &row);
    if (rc == 0)
        rc = mdb_del(l->txn, l->heads, &k, NULL);
    if (rc == 0) {
        l->damaged++;
        if (mdb_get(l->txn, l->bundles, &k, &bundle) == 0)
            l->bytes -= bundle.mv_size;
    }
    return fail_store(l, rc);
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

/* The check value is that of the copy: what is given out is what was looked at. */
static int read_bundle(struct lmdb *l, MDB_txn *txn, uint64_t key, size_t head_room,
                       const struct store_head *h, struct buf **out)
{
    uint8_t name[8];
    MDB_val k = key_of(key, name), v;
    int rc = mdb_get(txn, l->bundles, &k, &v);
    if (rc != 0 || v.mv_size != h->bytes)
        return rc == 0 || rc == MDB_NOTFOUND ? HELIO_EFORMAT : rc;
    struct buf *b = buf_new(head_room, v.mv_size);
    if (b == NULL)
        return HELIO_ENOMEM;
    memcpy(buf_append(b, v.mv_size), v.mv_data, v.mv_size);
    if (crc32c(0, buf_data(b), b->len) != h->crc) {
        buf_drop(b);
        return HELIO_EFORMAT;
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

/* Calls fn for each row of a table; a negative error of ours, or what fn returned. */
static int walk_table(struct lmdb *l, MDB_dbi table, int (*fn)(void *ctx, MDB_val *k, MDB_val *v),
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
        return 0; /* open has set aside what is damaged; more than that is told by get */
    return e->fn(e->ctx, key, h.head, h.bytes);
}

static int lmdb_each(struct store *s,
                     int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes),
                     void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct each e = {.fn = fn, .ctx = ctx};
    return walk_table(l, l->heads, each_row, &e);
}

static int lmdb_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || id.len == 0 || id.len > STORE_MARK_MAX)
        return HELIO_EINVAL;
    uint8_t row[STORE_MARK_ROW], end[STORE_END_KEY_MAX], end_row[STORE_END_ROW];
    uint64_t before;
    MDB_val k = val_of(id.data, id.len), v, e;
    int rc = mdb_get(l->txn, l->marks, &k, &v);
    if (rc == 0 && store_mark_read(id, slice_of_val(&v), &before) == 0) {
        e = val_of(end, store_end_key(before, id, end));
        rc = mdb_del(l->txn, l->ends, &e, NULL);
    }
    if (rc != 0 && rc != MDB_NOTFOUND)
        return fail_store(l, rc);
    v = val_of(row, store_mark_write(id, until_ms, row));
    rc = mdb_put(l->txn, l->marks, &k, &v, 0);
    if (rc == 0) {
        e = val_of(end, store_end_key(until_ms, id, end));
        store_end_write(slice_of_val(&e), end_row);
        v = val_of(end_row, sizeof end_row);
        rc = mdb_put(l->txn, l->ends, &e, &v, 0);
    }
    return fail_store(l, rc);
}

struct marks {
    int (*fn)(void *ctx, struct slice id, uint64_t until_ms);
    void *ctx;
};

static int mark_row(void *ctx, MDB_val *k, MDB_val *v)
{
    const struct marks *m = ctx;
    uint64_t until_ms;
    struct slice id;
    if (store_end_read(slice_of_val(k), slice_of_val(v), &until_ms, &id) < 0)
        return 0; /* one id less against duplicates */
    return m->fn(m->ctx, id, until_ms);
}

static int lmdb_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                      void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct marks m = {.fn = fn, .ctx = ctx};
    return walk_table(l, l->ends, mark_row, &m);
}

/* `more` is set when the batch was too short for all. */
static int forget_some(struct lmdb *l, uint64_t now_ms, int *more)
{
    assert(l->txn != NULL);
    MDB_cursor *c;
    MDB_stat st;
    *more = 1;
    int rc = mdb_stat(l->txn, l->ends, &st);
    if (rc != 0 || (rc = mdb_cursor_open(l->txn, l->ends, &c)) != 0)
        return rc;
    size_t left = st.ms_entries;
    MDB_val k, v;
    for (int i = 0; i < FORGET_BATCH; i++, left--) {
        rc = mdb_cursor_get(c, &k, &v, MDB_FIRST);
        bool whole = rc == 0 && k.mv_size > 8; /* a damaged one goes, too */
        if (rc != 0 || (whole && store_number_read(k.mv_data) > now_ms && left <= l->marks_max)) {
            *more = 0;
            break;
        }
        MDB_val id = val_of((uint8_t *)k.mv_data + 8, whole ? k.mv_size - 8 : 0);
        rc = whole ? mdb_del(l->txn, l->marks, &id, NULL) : 0;
        if ((rc != 0 && rc != MDB_NOTFOUND) || (rc = mdb_cursor_del(c, 0)) != 0)
            break;
    }
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int lmdb_forget(struct store *s, uint64_t now_ms)
{
    struct lmdb *l = lmdb_of(s);
    int more, rc = lmdb_begin(s);
    if (rc != 0)
        return rc;
    rc = forget_some(l, now_ms, &more);
    if (rc == 0) {
        rc = lmdb_commit(s);
        return rc == 0 ? more : rc;
    }
    lmdb_abort(s);
    return lmdb_error(rc);
}

static int lmdb_note(struct store *s, const char *name, struct slice value)
{
    struct lmdb *l = lmdb_of(s);
    uint8_t row[STORE_NOTE_ROW_MAX];
    if (l->txn == NULL || value.len > STORE_NOTE_MAX || strlen(name) >= NOTE_NAME_MAX)
        return HELIO_EINVAL;
    MDB_val k = val_of(name, strlen(name)), v = val_of(row, store_note_write(name, value, row));
    return fail_store(l, mdb_put(l->txn, l->notes, &k, &v, 0));
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
};
