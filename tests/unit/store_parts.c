/* SPDX-License-Identifier: Apache-2.0 */
/* Long bundles in parts: between free pages that do not lie side by side they cost what they cost
 * in an empty store, and any part that is missing is detected. */
#include <inttypes.h>
#include <sys/stat.h>

#include "store/store_lmdb_impl.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define LIMIT (UINT64_C(1) << 30)
#define SHORT_BUNDLES 20000
#define SHORT_BYTES 3000 /* with its row: a page that no other bundle is in */
#define LONG_BYTES 50000
#define ROUNDS 50

static uint8_t payload[3 << 20];

static void put(struct store *s, uint64_t key, size_t len)
{
    ck_assert_int_eq(s->ops->put(s, key, slice_of("head", 4), slice_of(payload, len)), 0);
}

static void begin(struct store *s)
{
    ck_assert_int_eq(s->ops->begin(s), 0);
}

static void commit(struct store *s)
{
    ck_assert_int_eq(s->ops->commit(s), 0);
}

/* Octets that this process has written so far. */
static uint64_t written(void)
{
    char line[100];
    uint64_t octets = 0;
    FILE *f = fopen("/proc/self/io", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "wchar: %" SCNu64, &octets) == 1)
            break;
    fclose(f);
    return octets;
}

static uint64_t file_bytes(const struct place *p)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/data.mdb", p->dir);
    ck_assert_int_eq(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* In each transaction one long bundle comes and the one before it goes: octets written for each. */
static uint64_t replace_long(struct store *s, uint64_t *key)
{
    uint64_t before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 5) /* the first ones may find other free pages */
            before = written();
        begin(s);
        put(s, ++*key, LONG_BYTES);
        if (i > 0)
            ck_assert_int_eq(s->ops->remove(s, *key - 1), 0);
        commit(s);
    }
    const uint64_t octets = (written() - before) / (ROUNDS - ROUNDS / 5);
    begin(s);
    ck_assert_int_eq(s->ops->remove(s, *key), 0);
    commit(s);
    return octets;
}

/* One row for a bundle made LMDB read and write back all of the list: 1.9 times as much. */
START_TEST(free_pages_between_short_bundles_cost_nothing)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    uint64_t key = 0;
    const uint64_t alone = replace_long(s, &key), first = key;
    for (int i = 0; i < SHORT_BUNDLES;) {
        begin(s);
        for (int n = 0; n < 100; n++, i++)
            put(s, ++key, SHORT_BYTES);
        commit(s);
    }
    for (uint64_t k = first + 1; k <= key;) {
        begin(s);
        for (int n = 0; n < 1000 && k <= key; n++, k += 2)
            ck_assert_int_eq(s->ops->remove(s, k), 0);
        commit(s);
    }
    const uint64_t file = file_bytes(&p);
    const uint64_t between = replace_long(s, &key);
    printf("octets written for a bundle of %d: %" PRIu64 " alone, %" PRIu64 " between free pages\n",
           LONG_BYTES, alone, between);
    ck_assert_uint_le(between, alone + alone / 2);
    ck_assert_uint_eq(file_bytes(&p), file); /* the free pages were used */
    place_done(&p, s);
}
END_TEST

/* ---- parts that are not there ---- */

/* Without the store: the row of this key and part (-1: the head) goes. */
static void take_row(const struct place *p, uint64_t key, int part)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    uint8_t name[12] = {0};
    MDB_val k = {part < 0 ? 8 : 12, name};
    name[7] = (uint8_t)key;
    name[11] = part < 0 ? 0 : (uint8_t)part;
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(env, 8), 0);
    ck_assert_int_eq(mdb_env_open(env, p->dir, MDB_NOSYNC, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    ck_assert_int_eq(mdb_dbi_open(txn, part < 0 ? "heads2" : "bundles", 0, &table), 0);
    ck_assert_int_eq(mdb_del(txn, table, &k, NULL), 0);
    ck_assert_int_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

struct walked {
    unsigned states[STORE_ROW_HEAD_MISSING + 1];
    uint64_t bytes; /* of the bundle without a head */
};

static int count_state(void *ctx, const struct store_row *row)
{
    struct walked *w = ctx;
    w->states[row->state]++;
    if (row->state == STORE_ROW_HEAD_MISSING) {
        w->bytes = row->bundle.len;
        ck_assert_int_eq(memcmp(row->bundle.data, payload, row->bundle.len), 0);
    }
    return 0;
}

/* Of three bundles the first loses a part, the second its head. */
START_TEST(missing_parts_are_detected)
{
    struct place p;
    char why[256];
    struct walked w = {0};
    struct store_walk at = {0};
    struct buf *b;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7 + i / 4096);
    begin(s);
    for (uint64_t key = 1; key <= 3; key++)
        put(s, key, LONG_BYTES);
    commit(s);
    s->ops->close(s);
    take_row(&p, 1, 5);
    take_row(&p, 2, -1);
    ck_assert_int_eq(store_lmdb_walk(p.dir, &at, count_state, &w, why, sizeof why), 0);
    ck_assert_uint_eq(w.states[STORE_ROW_WHOLE], 1);
    ck_assert_uint_eq(w.states[STORE_ROW_BUNDLE_DAMAGED], 1);
    ck_assert_uint_eq(w.states[STORE_ROW_HEAD_MISSING], 1);
    ck_assert_uint_eq(w.bytes, LONG_BYTES);
    s = place_again(&p, &store_lmdb);
    ck_assert_uint_eq(s->ops->last_key(s), 3);
    ck_assert_int_eq(s->ops->get(s, 1, 0, &b), HELIO_EFORMAT);
    begin(s);
    ck_assert_int_eq(store_lmdb_erase(s, 2), 0);
    ck_assert_int_eq(s->ops->remove(s, 1), 0);
    ck_assert_int_eq(s->ops->remove(s, 3), 0);
    commit(s);
    s->ops->close(s);
    w = (struct walked){0};
    at = (struct store_walk){0};
    ck_assert_int_eq(store_lmdb_walk(p.dir, &at, count_state, &w, why, sizeof why), 0);
    for (size_t i = 0; i <= STORE_ROW_HEAD_MISSING; i++)
        ck_assert_uint_eq(w.states[i], 0);
    place_remove(&p);
}
END_TEST

/* A transaction with more than 16 MiB of parts: its last bundles are rows as format 3 had them. */
START_TEST(a_transaction_of_many_parts)
{
    struct place p;
    struct buf *b;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    begin(s);
    for (uint64_t key = 1; key <= 8; key++) {
        memset(payload, (int)key, 8);
        put(s, key, sizeof payload);
    }
    commit(s);
    s->ops->close(s);
    s = place_again(&p, &store_lmdb);
    ck_assert_uint_eq(s->ops->last_key(s), 8);
    begin(s);
    for (uint64_t key = 1; key <= 8; key++) {
        ck_assert_int_eq(s->ops->get(s, key, 0, &b), 0);
        memset(payload, (int)key, 8);
        ck_assert(slice_equal(buf_slice(b), slice_of(payload, sizeof payload)));
        buf_drop(b);
        ck_assert_int_eq(s->ops->remove(s, key), 0);
    }
    ck_assert_uint_eq(s->ops->bytes(s), 0);
    commit(s);
    s->ops->close(s);
    char why[256];
    ck_assert_int_eq(store_lmdb_check(p.dir, why, sizeof why), 0);
    place_remove(&p);
}
END_TEST

SUITE(store_parts, t)
{
    tcase_add_test(t, free_pages_between_short_bundles_cost_nothing);
    tcase_add_test(t, missing_parts_are_detected);
    tcase_add_test(t, a_transaction_of_many_parts);
    tcase_set_timeout(t, 120);
}
