/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of bundles. A bundle of at most a page is one row: its key. A longer one is stored in
 * parts of one page each: its key, then the part's number. LMDB stores a value in consecutive
 * pages. Each transaction that needs some reads, merges and writes back the list of free pages
 * until it has found enough of them side by side. Between short bundles there are none, so a
 * neighbour could slow all others down with these. For a part any free page will do.
 *
 * What can go wrong: a transaction has very many parts, and LMDB would keep the memory of all of
 * them for later ones; then the rest of its bundles are one row each, as in earlier formats. Users
 * of the store prevent that with put_ahead, and with fewer puts in a transaction. A part is
 * missing: then the bundle has another length, or differs from its check value.
 */
#include <assert.h>

#include "store/store_lmdb_impl.h"
#include "store/store_lmdb_pages.h"

static size_t part_bytes(const struct lmdb *l)
{
    return l->page_bytes - PAGES_HEADER;
}

uint64_t lmdb_bundle_parts(const struct lmdb *l, uint64_t len)
{
    return (len + part_bytes(l) - 1) / part_bytes(l);
}

int lmdb_bundle_write_parts(struct lmdb *l, MDB_cursor *c, uint64_t key, struct slice bundle,
                            uint64_t from, uint64_t to, unsigned flags)
{
    const size_t part = part_bytes(l);
    uint8_t name[LMDB_PART_KEY];
    store_number_write(key, name);
    assert(from <= to && to <= lmdb_bundle_parts(l, bundle.len));
    l->parts += to - from;
    for (uint64_t i = from; i < to; i++) {
        const size_t at = i * part, left = bundle.len - at;
        store_part_write((uint32_t)i, name + 8);
        MDB_val k = val_of(name, sizeof name);
        MDB_val v = val_of(bundle.data + at, left < part ? left : part);
        int rc = mdb_cursor_put(c, &k, &v, flags);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int lmdb_bundle_write(struct lmdb *l, MDB_cursor *c, uint64_t key, struct slice bundle,
                      unsigned flags)
{
    const uint64_t parts = lmdb_bundle_parts(l, bundle.len);
    uint64_t from = 0;
    uint8_t name[8];
    int rc = lmdb_ahead_use(l, key, &from);
    if (rc != 0)
        return rc;
    assert(l->parts <= LMDB_PARTS_MAX && from < parts);
    if (from > 0 || (parts > 1 && parts <= LMDB_PARTS_MAX - l->parts))
        return lmdb_bundle_write_parts(l, c, key, bundle, from, parts, flags);
    store_number_write(key, name);
    MDB_val k = val_of(name, 8), v = val_of(bundle.data, bundle.len);
    return mdb_cursor_put(c, &k, &v, flags);
}

static int same_bundle(int rc, const uint8_t name[8], const MDB_val *k)
{
    if (rc != 0)
        return rc;
    return k->mv_size >= 8 && memcmp(k->mv_data, name, 8) == 0 ? 0 : MDB_NOTFOUND;
}

/* The rows of a bundle in their order: MDB_NOTFOUND behind the last. */
static int first_row(MDB_cursor *c, const uint8_t name[8], MDB_val *k, MDB_val *v)
{
    *k = val_of(name, 8);
    return same_bundle(mdb_cursor_get(c, k, v, MDB_SET_RANGE), name, k);
}

static int next_row(MDB_cursor *c, const uint8_t name[8], MDB_val *k, MDB_val *v)
{
    return same_bundle(mdb_cursor_get(c, k, v, MDB_NEXT), name, k);
}

int lmdb_bundle_find(const struct lmdb *l, MDB_cursor *c, uint64_t key, struct lmdb_rows *out)
{
    uint8_t name[8];
    MDB_val k, v;
    *out = (struct lmdb_rows){.whole = true};
    store_number_write(key, name);
    int rc = first_row(c, name, &k, &v);
    if (rc != 0)
        return rc;
    out->first = slice_of_val(&v);
    for (; rc == 0; rc = next_row(c, name, &k, &v)) {
        out->count++;
        out->bytes += v.mv_size;
        out->whole = out->whole && (l == NULL || lmdb_row_whole(l, &k, &v));
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_bundle_copy(MDB_cursor *c, uint64_t key, uint8_t *out, uint64_t len)
{
    uint8_t name[8];
    MDB_val k, v;
    store_number_write(key, name);
    int rc = first_row(c, name, &k, &v);
    for (; rc == 0 && v.mv_size <= len; rc = next_row(c, name, &k, &v)) {
        memcpy(out, v.mv_data, v.mv_size);
        out += v.mv_size;
        len -= v.mv_size;
    }
    return rc == 0 ? MDB_CORRUPTED : rc == MDB_NOTFOUND && len == 0 ? 0 : rc;
}

int lmdb_bundle_remove(MDB_cursor *c, uint64_t key)
{
    uint8_t name[8];
    MDB_val k, v;
    store_number_write(key, name);
    int rc = first_row(c, name, &k, &v);
    while (rc == 0) {
        rc = mdb_cursor_del(c, 0);
        if (rc == 0)
            rc = next_row(c, name, &k, &v);
    }
    return rc == MDB_NOTFOUND ? 0 : rc;
}

bool lmdb_row_whole(const struct lmdb *l, const MDB_val *k, const MDB_val *v)
{
    const uint8_t *data = v->mv_data;
    if (!pages_is_long(k->mv_size, v->mv_size, (uint32_t)l->page_bytes))
        return true;
    if (data < l->map || data >= l->map + l->map_bytes)
        return true; /* of this transaction */
    const size_t at = (size_t)(data - l->map) - PAGES_HEADER;
    return pages_long_value(l->map + at, at / l->page_bytes, v->mv_size, (uint32_t)l->page_bytes);
}
