/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long bundles in several transactions. LMDB keeps each page that a transaction writes in memory
 * until its commit, beside the bundle itself. So of a bundle with more than LMDB_PARTS_MAX parts,
 * put_ahead stores the first ones in transactions of their own; put stores the others and the head.
 * Without a head the bundle is not there. The first of these transactions notes the bundle's key,
 * and the put removes the note.
 *
 * What can go wrong: the process ends before the put, or there is no put. Then the parts of the
 * noted key are removed, by open or by drop_ahead. If their pages cannot be freed (their headers
 * are damaged), they stay, and only the note goes.
 */
#include <assert.h>

#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

static MDB_val note_key(void)
{
    return val_of(LMDB_AHEAD, strlen(LMDB_AHEAD));
}

static int write_note(struct lmdb *l, uint64_t key)
{
    uint8_t value[8], row[STORE_NOTE_ROW_MAX];
    store_number_write(key, value);
    MDB_val k = note_key();
    MDB_val v = val_of(row, store_note_write(LMDB_AHEAD, slice_of(value, sizeof value), row));
    return mdb_put(l->txn, l->notes, &k, &v, 0);
}

static int delete_note(struct lmdb *l)
{
    MDB_val k = note_key();
    int rc = mdb_del(l->txn, l->notes, &k, NULL);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_ahead_read(MDB_txn *txn, MDB_dbi notes, uint64_t *key)
{
    MDB_val k = note_key(), row;
    struct slice value;
    *key = 0;
    int rc = mdb_get(txn, notes, &k, &row);
    if (rc != 0)
        return rc == MDB_NOTFOUND ? 0 : rc;
    if (store_note_read(LMDB_AHEAD, slice_of_val(&row), &value) == 0 && value.len == 8)
        *key = store_number_read(value.data);
    return 0;
}

uint64_t lmdb_ahead_bytes(const struct lmdb *l, uint64_t key)
{
    return key == l->ahead.key ? l->ahead.parts * (l->page_bytes - PAGES_HEADER) : 0;
}

int lmdb_ahead_use(struct lmdb *l, uint64_t key, uint64_t *part)
{
    *part = 0;
    if (l->ahead.key == 0 || l->ahead.key != key)
        return 0;
    *part = l->ahead.parts;
    l->ahead.used = true;
    return delete_note(l);
}

void lmdb_ahead_done(struct lmdb *l, bool committed)
{
    if (l->ahead.used && committed)
        l->ahead.key = l->ahead.parts = 0;
    l->ahead.used = false;
}

/* ---- without a put ---- */

/* In a transaction: of a bundle without a head. */
static int remove_parts(struct lmdb *l, uint64_t key)
{
    MDB_cursor *c;
    struct lmdb_rows rows;
    uint8_t name[8];
    store_number_write(key, name);
    MDB_val k = val_of(name, sizeof name), head;
    int rc = mdb_get(l->txn, l->heads, &k, &head);
    if (rc != MDB_NOTFOUND)
        return rc;
    if ((rc = mdb_cursor_open(l->txn, l->bundles, &c)) != 0)
        return rc;
    rc = lmdb_bundle_find(l, c, key, &rows);
    if (rc == 0 && rows.whole)
        rc = lmdb_bundle_remove(c, key);
    mdb_cursor_close(c);
    return rc == MDB_NOTFOUND ? 0 : rc;
}

static int remove_ahead(struct lmdb *l, uint64_t key)
{
    int rc = lmdb_begin(&l->store);
    if (rc < 0)
        return rc;
    rc = remove_parts(l, key);
    if (rc == 0)
        rc = delete_note(l);
    (void)lmdb_fail(l, rc);
    return lmdb_commit(&l->store);
}

int lmdb_drop_ahead(struct store *s)
{
    struct lmdb *l = lmdb_of(s);
    if (l->txn != NULL)
        return HELIO_EINVAL;
    if (l->ahead.key == 0)
        return 0;
    int rc = remove_ahead(l, l->ahead.key);
    if (rc == 0)
        l->ahead.key = l->ahead.parts = 0;
    return rc;
}

int lmdb_ahead_restore(struct lmdb *l)
{
    MDB_txn *txn;
    uint64_t key;
    int rc = mdb_txn_begin(l->env, NULL, MDB_RDONLY, &txn);
    if (rc != 0)
        return rc;
    rc = lmdb_ahead_read(txn, l->notes, &key);
    mdb_txn_abort(txn);
    return rc != 0 || key == 0 ? rc : remove_ahead(l, key);
}

/* ---- before a put ---- */

/* The next parts, in the open transaction. 0, an error of ours, or one of LMDB. */
static int write_next(struct lmdb *l, uint64_t key, struct slice bundle)
{
    const unsigned flags = MDB_NOOVERWRITE | lmdb_append_flag(l, key);
    const uint64_t from = l->ahead.parts;
    MDB_cursor *c;
    MDB_val k, head;
    uint8_t name[8];
    store_number_write(key, name);
    k = val_of(name, sizeof name);
    if (mdb_get(l->txn, l->heads, &k, &head) == 0)
        return HELIO_EEXIST;
    if (lmdb_reserve(l, lmdb_put_pages(l, bundle.len - lmdb_ahead_bytes(l, key))) < 0)
        return HELIO_ESPACE;
    int rc = mdb_cursor_open(l->txn, l->bundles, &c);
    if (rc != 0)
        return lmdb_fail(l, rc);
    rc = lmdb_bundle_write_parts(l, c, key, bundle, from, from + LMDB_PARTS_MAX, flags);
    mdb_cursor_close(c);
    if (rc == 0 && from == 0)
        rc = write_note(l, key);
    return lmdb_fail(l, rc);
}

static int store_next(struct lmdb *l, uint64_t key, struct slice bundle)
{
    int rc = lmdb_begin(&l->store);
    if (rc < 0)
        return rc;
    if ((rc = write_next(l, key, bundle)) < 0) {
        lmdb_abort(&l->store);
        return rc;
    }
    if ((rc = lmdb_commit(&l->store)) < 0)
        return rc;
    l->ahead.key = key;
    l->ahead.parts += LMDB_PARTS_MAX;
    return 0;
}

int lmdb_put_ahead(struct store *s, uint64_t key, struct slice bundle)
{
    struct lmdb *l = lmdb_of(s);
    const uint64_t parts = lmdb_bundle_parts(l, bundle.len);
    if (l->txn != NULL || key == 0)
        return HELIO_EINVAL;
    int rc = key == l->ahead.key ? 0 : lmdb_drop_ahead(s);
    if (rc == 0 && parts > LMDB_PARTS_MAX &&
        (bundle.len > l->limit || l->bytes > l->limit - bundle.len))
        rc = HELIO_ESPACE;
    while (rc == 0 && parts - l->ahead.parts > LMDB_PARTS_MAX)
        rc = store_next(l, key, bundle);
    assert(rc != 0 || l->ahead.key == 0 || parts - l->ahead.parts <= LMDB_PARTS_MAX);
    if (rc < 0)
        (void)lmdb_drop_ahead(s);
    return rc;
}
