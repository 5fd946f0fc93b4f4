/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in an LMDB file: four tables in one environment; a transaction here is a transaction
 * there. Heads (with the bundle's length before them) lie apart from the bundles, so that a restart
 * reads kilobytes per bundle and not all of it; marks have a second table sorted by their end.
 *
 * What can go wrong: the limit of bytes or the medium is full (refused before the database is
 * touched), the map is full or a write fails all the same (the transaction is spoilt; commit says
 * so and nothing of it happened), a damaged file. Since LMDB never overwrites pages in use, even a
 * removal needs some: blocks are reserved behind the end of the file before each put, and puts
 * leave RESERVE of them, so that a full store can be emptied. The map is not writable, so that a
 * full medium is an error and never a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/list.h"
#include "bp/store.h"

#define MARKS_DEFAULT 1000000
#define FORGET_BATCH 4096
#define SLACK_BYTES (UINT64_C(1) << 30)
#define RESERVE (UINT64_C(1) << 20) /* bytes that puts leave for removals */
#define RESERVE_STEP (UINT64_C(16) << 20)
#define PAGES_PER_PUT                                                                              \
    16 /* at most, beside the bundle itself: paths through the trees, the head                     \
        */

struct lmdb {
    struct store store;
    MDB_env *env;
    MDB_txn *txn; /* between begin and commit */
    MDB_dbi heads, bundles, marks, ends;
    uint64_t limit, marks_max;
    uint64_t bytes, bytes_before; /* now, and when the transaction began */
    int broken;                   /* the error that spoilt the transaction */
    uint64_t reserved; /* the medium has blocks for the file up to here; UINT64_MAX: cannot tell */
    uint64_t putting;  /* bytes of pages that the transaction's puts may take */
    uint64_t page_bytes;
};

static struct lmdb *lmdb_of(struct store *s)
{
    return container_of(s, struct lmdb, store);
}

static int error_of(int rc)
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

/* Keys in the byte order in which they sort. */
static void number_key(uint64_t v, uint8_t out[8])
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

static uint64_t key_number(const void *key)
{
    const uint8_t *p = key;
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

static MDB_val val_of(const void *data, size_t len)
{
    return (MDB_val){.mv_size = len, .mv_data = (void *)(uintptr_t)data};
}

static int fail(struct lmdb *l, int rc)
{
    int error = error_of(rc);
    if (error != HELIO_ENOENT && error != 0)
        l->broken = error;
    return error;
}

static int open_tables(struct lmdb *l)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(l->env, NULL, 0, &txn);
    if (rc != 0)
        return rc;
    if ((rc = mdb_dbi_open(txn, "heads", MDB_CREATE, &l->heads)) != 0 ||
        (rc = mdb_dbi_open(txn, "bundles", MDB_CREATE, &l->bundles)) != 0 ||
        (rc = mdb_dbi_open(txn, "marks", MDB_CREATE, &l->marks)) != 0 ||
        (rc = mdb_dbi_open(txn, "ends", MDB_CREATE, &l->ends)) != 0) {
        mdb_txn_abort(txn);
        return rc;
    }
    return mdb_txn_commit(txn);
}

static int open_env(struct lmdb *l, const struct store_options *o)
{
    unsigned flags = MDB_NOTLS;
    if (o->durability != STORE_SYNC)
        flags |= MDB_NOSYNC;
    /* Address space only. Long values need contiguous pages, so the file grows beyond its content;
     * bench_store measures by how much. */
    uint64_t map = o->limit_bytes > UINT64_MAX / 8 ? UINT64_C(1) << 45 : o->limit_bytes * 4;
    map = (map + SLACK_BYTES) & ~UINT64_C(0xfffff);
    int rc = mdb_env_create(&l->env);
    if (rc != 0)
        return rc;
    if ((rc = mdb_env_set_mapsize(l->env, (size_t)map)) != 0 ||
        (rc = mdb_env_set_maxdbs(l->env, 4)) != 0 ||
        (rc = mdb_env_open(l->env, o->path, flags, 0600)) != 0)
        return rc;
    int dead;
    MDB_stat st;
    mdb_reader_check(l->env, &dead);
    mdb_env_stat(l->env, &st);
    l->page_bytes = st.ms_psize;
    return open_tables(l);
}

static int add_bytes(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    (void)key;
    (void)head;
    *(uint64_t *)ctx += bytes;
    return 0;
}

static void lmdb_abort(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return;
    mdb_txn_abort(l->txn);
    l->txn = NULL;
    l->bytes = l->bytes_before;
}

static void lmdb_close(struct store *s)
{
    if (s == NULL)
        return;
    struct lmdb *l = lmdb_of(s);
    lmdb_abort(s);
    if (l->env != NULL) {
        mdb_env_sync(l->env, 1);
        mdb_env_close(l->env);
    }
    free(l);
}

static int lmdb_open(struct store **out, const struct store_options *o, char *why, size_t why_cap)
{
    struct lmdb *l = calloc(1, sizeof *l);
    if (l == NULL) {
        snprintf(why, why_cap, "out of memory");
        return HELIO_ENOMEM;
    }
    l->store.ops = &store_lmdb;
    l->limit = o->limit_bytes;
    l->marks_max = o->marks_max > 0 ? o->marks_max : MARKS_DEFAULT;
    if (mkdir(o->path, 0700) < 0 && errno != EEXIST) {
        snprintf(why, why_cap, "%s: %s", o->path, strerror(errno));
        lmdb_close(&l->store);
        return HELIO_EIO;
    }
    int rc = open_env(l, o);
    if (rc == 0)
        rc = store_lmdb.each(&l->store, add_bytes, &l->bytes);
    if (rc != 0) {
        snprintf(why, why_cap, "%s: %s", o->path,
                 rc < 0 && rc > -100 ? helio_strerror(rc) : mdb_strerror(rc));
        lmdb_close(&l->store);
        return rc < 0 && rc > -100 ? rc : error_of(rc);
    }
    *out = &l->store;
    return 0;
}

static int lmdb_begin(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn != NULL)
        return HELIO_EINVAL;
    l->broken = 0;
    l->putting = 0;
    l->bytes_before = l->bytes;
    int rc = mdb_txn_begin(l->env, NULL, 0, &l->txn);
    if (rc != 0)
        l->txn = NULL;
    return error_of(rc);
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
    int rc = mdb_txn_commit(l->txn);
    l->txn = NULL;
    if (rc != 0)
        l->bytes = l->bytes_before;
    return error_of(rc);
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
static int reserve(struct lmdb *l, uint64_t more)
{
    MDB_envinfo info;
    mdb_filehandle_t fd;
    mdb_env_info(l->env, &info);
    mdb_env_get_fd(l->env, &fd);
    uint64_t end = (info.me_last_pgno + 1) * l->page_bytes + l->putting + more + RESERVE;
    if (end <= l->reserved)
        return 0;
    for (uint64_t step = RESERVE_STEP;; step = 0) {
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

/* A head as it lies in the table: the bundle's length, then the user's bytes. */
static int write_head(struct lmdb *l, MDB_val *k, uint64_t bytes, struct slice head, unsigned flags)
{
    uint8_t record[8 + STORE_HEAD_MAX];
    number_key(bytes, record);
    if (head.len > 0)
        memcpy(record + 8, head.data, head.len);
    MDB_val v = val_of(record, 8 + head.len);
    return mdb_put(l->txn, l->heads, k, &v, flags);
}

static int lmdb_put(struct store *s, uint64_t key, struct slice head, struct slice bundle)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || key == 0 || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    if (bundle.len > l->limit || l->bytes > l->limit - bundle.len)
        return HELIO_ESPACE;
    uint64_t pages = bundle.len + PAGES_PER_PUT * l->page_bytes;
    if (reserve(l, pages) < 0)
        return HELIO_ESPACE;
    uint8_t name[8];
    number_key(key, name);
    MDB_val k = val_of(name, sizeof name);
    int rc = write_head(l, &k, bundle.len, head, MDB_NOOVERWRITE);
    if (rc == MDB_KEYEXIST)
        return HELIO_EEXIST;
    if (rc == 0) {
        MDB_val v = val_of(bundle.data, bundle.len);
        rc = mdb_put(l->txn, l->bundles, &k, &v, MDB_NOOVERWRITE);
    }
    if (rc == 0) {
        l->bytes += bundle.len;
        l->putting += pages;
    }
    return fail(l, rc);
}

static int lmdb_update(struct store *s, uint64_t key, struct slice head)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || head.len > STORE_HEAD_MAX)
        return HELIO_EINVAL;
    uint8_t name[8];
    number_key(key, name);
    MDB_val k = val_of(name, sizeof name), old;
    int rc = mdb_get(l->txn, l->heads, &k, &old);
    if (rc == 0)
        rc = write_head(l, &k, key_number(old.mv_data), head, 0);
    return fail(l, rc);
}

static int lmdb_remove(struct store *s, uint64_t key)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL)
        return HELIO_EINVAL;
    uint8_t name[8];
    number_key(key, name);
    MDB_val k = val_of(name, sizeof name), old;
    int rc = mdb_get(l->txn, l->heads, &k, &old);
    if (rc != 0)
        return fail(l, rc);
    uint64_t bytes = key_number(old.mv_data);
    rc = mdb_del(l->txn, l->heads, &k, NULL);
    if (rc == 0)
        rc = mdb_del(l->txn, l->bundles, &k, NULL);
    if (rc == 0)
        l->bytes -= bytes;
    return fail(l, rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc);
}

/* A transaction to read in: the open one, or a new one that reading_end closes. */
static int reading(struct lmdb *l, MDB_txn **txn)
{
    *txn = l->txn;
    return l->txn != NULL ? 0 : mdb_txn_begin(l->env, NULL, MDB_RDONLY, txn);
}

static void reading_end(struct lmdb *l, MDB_txn *txn)
{
    if (txn != l->txn)
        mdb_txn_abort(txn);
}

static int lmdb_get(struct store *s, uint64_t key, size_t head_room, struct buf **out)
{
    struct lmdb *l = lmdb_of(s);
    MDB_txn *txn;
    int rc = reading(l, &txn);
    if (rc != 0)
        return error_of(rc);
    uint8_t name[8];
    number_key(key, name);
    MDB_val k = val_of(name, sizeof name), v;
    rc = mdb_get(txn, l->bundles, &k, &v);
    struct buf *b = rc != 0 ? NULL : buf_new(head_room, v.mv_size);
    if (b != NULL) {
        memcpy(buf_append(b, v.mv_size), v.mv_data, v.mv_size);
        *out = b;
    }
    reading_end(l, txn);
    if (rc != 0)
        return error_of(rc);
    return b == NULL ? HELIO_ENOMEM : 0;
}

/* Calls fn for each row of a table; a negative error of ours, or what fn returned. */
static int walk(struct lmdb *l, MDB_dbi table, int (*fn)(void *ctx, MDB_val *k, MDB_val *v),
                void *ctx)
{
    MDB_txn *txn;
    MDB_cursor *c;
    int rc = reading(l, &txn);
    if (rc != 0)
        return error_of(rc);
    rc = mdb_cursor_open(txn, table, &c);
    if (rc != 0) {
        reading_end(l, txn);
        return error_of(rc);
    }
    int stop = 0;
    MDB_val k, v;
    while (stop == 0 && (rc = mdb_cursor_get(c, &k, &v, MDB_NEXT)) == 0)
        stop = fn(ctx, &k, &v);
    mdb_cursor_close(c);
    reading_end(l, txn);
    return stop != 0 || rc == MDB_NOTFOUND ? stop : error_of(rc);
}

struct each {
    int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes);
    void *ctx;
};

static int each_row(void *ctx, MDB_val *k, MDB_val *v)
{
    const struct each *e = ctx;
    if (k->mv_size != 8 || v->mv_size < 8)
        return HELIO_EIO;
    return e->fn(e->ctx, key_number(k->mv_data),
                 slice_of((uint8_t *)v->mv_data + 8, v->mv_size - 8), key_number(v->mv_data));
}

static int lmdb_each(struct store *s,
                     int (*fn)(void *ctx, uint64_t key, struct slice head, uint64_t bytes),
                     void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct each e = {.fn = fn, .ctx = ctx};
    return walk(l, l->heads, each_row, &e);
}

/* The key of the table of ends: until, then the id. */
static MDB_val end_key(uint64_t until_ms, struct slice id, uint8_t out[8 + STORE_MARK_MAX])
{
    number_key(until_ms, out);
    memcpy(out + 8, id.data, id.len);
    return val_of(out, 8 + id.len);
}

static int lmdb_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || id.len == 0 || id.len > STORE_MARK_MAX)
        return HELIO_EINVAL;
    uint8_t until[8], end[8 + STORE_MARK_MAX];
    number_key(until_ms, until);
    MDB_val k = val_of(id.data, id.len), v, e;
    int rc = mdb_get(l->txn, l->marks, &k, &v);
    if (rc == 0) {
        e = end_key(key_number(v.mv_data), id, end);
        rc = mdb_del(l->txn, l->ends, &e, NULL);
    }
    if (rc != 0 && rc != MDB_NOTFOUND)
        return fail(l, rc);
    v = val_of(until, sizeof until);
    rc = mdb_put(l->txn, l->marks, &k, &v, 0);
    if (rc == 0) {
        e = end_key(until_ms, id, end);
        v = val_of("", 0);
        rc = mdb_put(l->txn, l->ends, &e, &v, 0);
    }
    return fail(l, rc);
}

struct marks {
    int (*fn)(void *ctx, struct slice id, uint64_t until_ms);
    void *ctx;
};

static int mark_row(void *ctx, MDB_val *k, MDB_val *v)
{
    const struct marks *m = ctx;
    (void)v;
    if (k->mv_size <= 8)
        return HELIO_EIO;
    return m->fn(m->ctx, slice_of((uint8_t *)k->mv_data + 8, k->mv_size - 8),
                 key_number(k->mv_data));
}

static int lmdb_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms),
                      void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct marks m = {.fn = fn, .ctx = ctx};
    return walk(l, l->ends, mark_row, &m);
}

/* `more` is set when the batch was too short for all. */
static int forget_some(struct lmdb *l, uint64_t now_ms, int *more)
{
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
        if (rc != 0 || (key_number(k.mv_data) > now_ms && left <= l->marks_max)) {
            *more = 0;
            break;
        }
        MDB_val id = val_of((uint8_t *)k.mv_data + 8, k.mv_size - 8);
        if ((rc = mdb_del(l->txn, l->marks, &id, NULL)) != 0 || (rc = mdb_cursor_del(c, 0)) != 0)
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
    return error_of(rc);
}

static int lmdb_flush(struct store *s)
{
    return error_of(mdb_env_sync(lmdb_of(s)->env, 1));
}

static uint64_t lmdb_bytes(struct store *s)
{
    return lmdb_of(s)->bytes;
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
    .each = lmdb_each,
    .mark = lmdb_mark,
    .marks = lmdb_marks,
    .forget = lmdb_forget,
    .flush = lmdb_flush,
    .bytes = lmdb_bytes,
};
