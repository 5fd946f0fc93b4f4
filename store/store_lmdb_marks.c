/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: one table, sorted by their end, so that expired ones are at its front. An id may be there
 * with two ends: the later one is read last and is valid. What can go wrong: a row that differs
 * from its check value; then a duplicate may not be detected.
 */
#include <assert.h>

#include "store/store_lmdb_impl.h"

#define FORGET_BATCH 16384 /* each call is a commit: some a second at most, and none takes long */

int lmdb_mark(struct store *s, struct slice id, uint64_t until_ms)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn == NULL || id.len == 0 || id.len > STORE_MARK_MAX)
        return HELIO_EINVAL;
    uint8_t end[STORE_END_KEY_MAX], row[STORE_END_ROW];
    const size_t len = store_end_key(until_ms, id, end);
    store_end_write(slice_of(end, len), row);
    MDB_val k = val_of(end, len), v = val_of(row, sizeof row);
    return lmdb_fail(l, mdb_put(l->txn, l->ends, &k, &v, 0));
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

int lmdb_marks(struct store *s, int (*fn)(void *ctx, struct slice id, uint64_t until_ms), void *ctx)
{
    struct lmdb *l = lmdb_of(s);
    struct marks m = {.fn = fn, .ctx = ctx};
    return lmdb_each_row(l, l->ends, mark_row, &m);
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
        if ((rc = mdb_cursor_del(c, 0)) != 0)
            break;
    }
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_forget(struct store *s, uint64_t now_ms)
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
