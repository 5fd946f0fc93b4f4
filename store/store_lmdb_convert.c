/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts heads of format 1 (the bundle's length, then the user's bytes; no check value) to the
 * present format, in batches of one transaction each: whenever the process ends, each bundle has
 * one head, of one format. The check values are computed from the present bytes. A head without a
 * bundle of its length is set aside. Bundles and marks are unchanged.
 */
#include "base/crc.h"
#include "store/store_lmdb_impl.h"

#define BATCH_ROWS 4096
#define BATCH_BYTES (UINT64_C(256) << 20) /* of bundles read for their check values */

/* 0: out is the new head; 1: it cannot be one; or an error of LMDB. */
static int head_of_old(struct lmdb *l, MDB_txn *txn, MDB_val *k, const MDB_val *old,
                       struct store_head *out)
{
    MDB_val bundle;
    if (k->mv_size != 8 || old->mv_size < 8 || old->mv_size > 8 + STORE_HEAD_MAX)
        return 1;
    int rc = mdb_get(txn, l->bundles, k, &bundle);
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 1 : rc;
    out->bytes = store_number_read(old->mv_data);
    out->head = slice_of((uint8_t *)old->mv_data + 8, old->mv_size - 8);
    if (out->bytes != bundle.mv_size)
        return 1;
    out->crc = crc32c(0, bundle.mv_data, bundle.mv_size);
    return 0;
}

static int convert_row(struct lmdb *l, MDB_txn *txn, MDB_val *k, MDB_val *old, uint64_t *bytes)
{
    struct store_head h = {0};
    uint8_t row[STORE_HEAD_ROW_MAX], name[8];
    int rc = head_of_old(l, txn, k, old, &h);
    if (rc == 1)
        return lmdb_put_aside(l, txn, k, old);
    if (rc != 0)
        return rc;
    memcpy(name, k->mv_data, sizeof name); /* the page under it may move */
    MDB_val v = val_of(row, store_head_write(store_number_read(name), &h, row));
    MDB_val key = val_of(name, sizeof name);
    rc = mdb_put(txn, l->heads, &key, &v, MDB_NOOVERWRITE);
    *bytes += h.bytes;
    return rc == MDB_KEYEXIST ? lmdb_put_aside(l, txn, k, old) : rc;
}

/* *more: rows are left. */
static int convert_batch(struct lmdb *l, bool *more)
{
    MDB_txn *txn;
    MDB_dbi old_heads;
    MDB_cursor *c = NULL;
    MDB_val k, v;
    uint64_t bytes = 0;
    *more = false;
    int rc = mdb_txn_begin(l->env, NULL, 0, &txn);
    if (rc != 0)
        return rc;
    rc = mdb_dbi_open(txn, "heads", 0, &old_heads);
    if (rc == 0)
        rc = mdb_cursor_open(txn, old_heads, &c);
    for (int i = 0; rc == 0 && i < BATCH_ROWS && bytes < BATCH_BYTES; i++) {
        rc = mdb_cursor_get(c, &k, &v, MDB_FIRST);
        if (rc == 0)
            rc = convert_row(l, txn, &k, &v, &bytes);
        if (rc == 0)
            rc = mdb_cursor_get(c, &k, &v, MDB_FIRST);
        if (rc == 0)
            rc = mdb_cursor_del(c, 0);
    }
    if (c != NULL)
        mdb_cursor_close(c);
    *more = rc == 0;
    if (rc == 0 || rc == MDB_NOTFOUND)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

int lmdb_convert(struct lmdb *l)
{
    bool more = true;
    int rc = 0;
    while (rc == 0 && more)
        rc = convert_batch(l, &more);
    return rc;
}
