/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that are not what was written: flipped bits, cut files, files that are gone, and the
 * format of an earlier release. Nothing damaged is given out, nothing ends in a signal, and what is
 * whole stays.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "store/store_record.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define BUNDLES 40
#define LIMIT (UINT64_C(1) << 30)

static size_t bundle_of(uint64_t key, uint8_t out[9000])
{
    size_t len = 10 + (size_t)(key * 977 % 8000);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(i < 8 ? key + 200 : key * 31 + i * 7);
    return len;
}

static size_t head_of(uint64_t key, char out[64])
{
    return (size_t)snprintf(out, 64, "to endpoint ipn:2.%llu of %llu", (unsigned long long)key,
                            (unsigned long long)(key * 1000003));
}

static void put_all(struct store *s, uint64_t first, uint64_t last)
{
    uint8_t data[9000];
    char head[64];
    ck_assert_int_eq(s->ops->begin(s), 0);
    for (uint64_t key = first; key <= last; key++)
        ck_assert_int_eq(s->ops->put(s, key, slice_of(head, head_of(key, head)),
                                     slice_of(data, bundle_of(key, data))),
                         0);
    ck_assert_int_eq(s->ops->mark(s, slice_of("mark one", 8), 50), 0);
    ck_assert_int_eq(s->ops->note(s, "sequence", slice_of("12345678", 8)), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
}

struct given {
    struct store *s;
    uint64_t heads, bundles, spoilt;
};

static int check_one(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct given *g = ctx;
    uint8_t data[9000];
    char expected[64];
    struct buf *b;
    ck_assert(slice_equal(head, slice_of(expected, head_of(key, expected))));
    ck_assert_uint_eq(bytes, bundle_of(key, data));
    g->heads++;
    int rc = g->s->ops->get(g->s, key, 0, &b);
    if (rc < 0) {
        g->spoilt++;
        return 0;
    }
    ck_assert(slice_equal(buf_slice(b), slice_of(data, bundle_of(key, data))));
    buf_drop(b);
    g->bundles++;
    return 0;
}

static struct given check_store(struct store *s)
{
    struct given g = {.s = s};
    ck_assert_int_eq(s->ops->each(s, check_one, &g), 0);
    return g;
}

struct image {
    size_t len;
    uint8_t *bytes;
};

static struct image read_file(const char *path)
{
    struct image m = {0};
    struct stat st;
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fstat(fileno(f), &st), 0);
    m.len = (size_t)st.st_size;
    m.bytes = malloc(m.len);
    ck_assert_uint_eq(fread(m.bytes, 1, m.len, f), m.len);
    fclose(f);
    return m;
}

static void write_file(const char *path, const struct image *m, size_t len)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(m->bytes, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}

static void database_of(const struct place *p, char path[128])
{
    snprintf(path, 128, "%s/data.mdb", p->dir);
}

/* A place with a closed store of all bundles; its database. */
static struct image place_filled(struct place *p, char path[128])
{
    struct store *s = place_open(p, &store_lmdb, LIMIT, STORE_ASYNC);
    put_all(s, 1, BUNDLES);
    s->ops->close(s);
    database_of(p, path);
    return read_file(path);
}

static uint8_t *find(const struct image *m, const void *what, size_t len)
{
    for (size_t i = 0; i + len <= m->len; i++)
        if (memcmp(m->bytes + i, what, len) == 0)
            return m->bytes + i;
    return NULL;
}

START_TEST(a_flipped_bit_in_a_head_sets_it_aside)
{
    struct place p;
    char path[128], head[64];
    struct image m = place_filled(&p, path);
    uint8_t *at = find(&m, head, head_of(7, head));
    ck_assert_ptr_nonnull(at);
    at[17] ^= 1; /* "ipn:2.7" is "ipn:2.6" now */
    write_file(path, &m, m.len);
    for (int round = 0; round < 2; round++) {
        struct store *s = place_again(&p, &store_lmdb);
        struct given g = check_store(s);
        struct buf *b;
        ck_assert_uint_eq(g.heads, BUNDLES - 1);
        ck_assert_uint_eq(g.bundles, BUNDLES - 1);
        ck_assert_uint_eq(s->ops->damaged(s), 1);
        ck_assert_uint_eq(s->ops->last_key(s), BUNDLES);
        ck_assert_int_eq(s->ops->get(s, 7, 0, &b), HELIO_ENOENT);
        s->ops->close(s);
    }
    free(m.bytes);
    place_remove(&p);
}
END_TEST

START_TEST(a_flipped_bit_in_a_bundle_is_not_given_out)
{
    struct place p;
    char path[128];
    uint8_t data[9000];
    struct image m = place_filled(&p, path);
    const size_t len = bundle_of(BUNDLES, data);
    uint8_t *at = find(&m, data, len < 4000 ? len : 4000); /* in its first part */
    ck_assert_ptr_nonnull(at);
    at[5] ^= 0x40;
    write_file(path, &m, m.len);
    struct store *s = place_again(&p, &store_lmdb);
    struct given g = check_store(s);
    struct buf *b;
    ck_assert(g.heads == BUNDLES && g.bundles == BUNDLES - 1);
    ck_assert_int_eq(s->ops->get(s, BUNDLES, 0, &b), HELIO_EFORMAT);
    uint64_t bytes = s->ops->bytes(s);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->set_aside(s, BUNDLES), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    ck_assert_uint_eq(s->ops->damaged(s), 1);
    ck_assert_uint_eq(s->ops->bytes(s), bytes - bundle_of(BUNDLES, data));
    ck_assert_int_eq(s->ops->get(s, BUNDLES, 0, &b), HELIO_ENOENT);
    s->ops->close(s);
    s = place_again(&p, &store_lmdb);
    g = check_store(s);
    ck_assert(g.heads == BUNDLES - 1 && s->ops->damaged(s) == 1);
    ck_assert_uint_eq(s->ops->last_key(s), BUNDLES); /* its bytes are still under that key */
    free(m.bytes);
    place_done(&p, s);
}
END_TEST

/* Wherever it is: the store opens with what is whole, or says what is wrong. */
START_TEST(any_flipped_bit)
{
    struct place p;
    char path[128], why[256];
    struct image m = place_filled(&p, path);
    struct rng r;
    uint64_t refused = 0, less = 0;
    rng_init(&r, 20 + (uint64_t)_i);
    for (int round = 0; round < 120; round++) {
        size_t at = (size_t)rng_below(&r, m.len);
        uint8_t bit = (uint8_t)(1 << rng_below(&r, 8));
        struct store *s;
        m.bytes[at] ^= bit;
        write_file(path, &m, m.len);
        m.bytes[at] ^= bit;
        if (store_lmdb.open(&s, &p.o, why, sizeof why) < 0) {
            ck_assert_ptr_nonnull(strstr(why, p.dir));
            refused++;
            continue;
        }
        struct given g = check_store(s);
        less += g.bundles < BUNDLES;
        s->ops->close(s);
    }
    ck_assert_uint_gt(less, 0);
    ck_assert_uint_lt(refused, 60);
    free(m.bytes);
    place_remove(&p);
}
END_TEST

START_TEST(a_cut_file_is_told)
{
    struct place p;
    char path[128], why[400];
    struct image m = place_filled(&p, path);
    for (size_t len = 0; len < m.len; len += len < 8192 ? 1000 : 4096) {
        struct store *s;
        struct stat st;
        write_file(path, &m, len);
        int rc = store_lmdb.open(&s, &p.o, why, sizeof why);
        if (rc == 0) { /* nothing was in what is missing */
            struct given g = check_store(s);
            ck_assert_uint_eq(g.bundles, BUNDLES);
            s->ops->close(s);
            continue;
        }
        ck_assert_ptr_nonnull(strstr(why, "data.mdb "));
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq((size_t)st.st_size, len); /* and nothing was touched */
    }
    ck_assert_int_eq(unlink(path), 0);
    struct store *s;
    ck_assert_int_eq(store_lmdb.open(&s, &p.o, why, sizeof why), HELIO_EFORMAT);
    ck_assert_ptr_nonnull(strstr(why, "is missing or empty, but a store was here"));
    write_file(path, &m, m.len);
    s = place_again(&p, &store_lmdb);
    ck_assert_uint_eq(check_store(s).bundles, BUNDLES);
    free(m.bytes);
    place_done(&p, s);
}
END_TEST

START_TEST(files_that_are_gone_take_nothing_more)
{
    struct place p;
    char path[128], away[140];
    uint8_t data[9000];
    struct buf *b;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_SYNC);
    const struct store_ops *o = s->ops;
    put_all(s, 1, 3);
    snprintf(away, sizeof away, "%s.away", p.dir);
    ck_assert_int_eq(rename(p.dir, away), 0);
    ck_assert_int_eq(o->begin(s), HELIO_ENOENT);
    ck_assert_int_eq(o->get(s, 2, 0, &b), 0); /* what it has can still be sent */
    buf_drop(b);
    ck_assert_int_eq(rename(away, p.dir), 0);
    put_all(s, 4, 4); /* back again */
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->put(s, 5, slice_of("h", 1), slice_of(data, bundle_of(5, data))), 0);
    database_of(&p, path);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(o->commit(s), HELIO_ENOENT);
    ck_assert_int_eq(o->begin(s), HELIO_ENOENT);
    ck_assert_int_eq(o->get(s, 4, 0, &b), 0);
    buf_drop(b);
    place_done(&p, s);
}
END_TEST

static int note_rows(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct given *g = ctx;
    struct buf *b;
    ck_assert_uint_eq(key, ++g->heads);
    ck_assert_uint_gt(head.len, 20);
    ck_assert_int_eq(g->s->ops->get(g->s, key, 0, &b), 0);
    ck_assert_uint_eq(b->len, bytes);
    g->bundles += strstr((const char *)buf_data(b), "for this node") != NULL;
    buf_drop(b);
    return 0;
}

static int note_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    char(*out)[64] = ctx;
    size_t len = strlen(*out);
    snprintf(*out + len, sizeof *out - len, "%.*s %llu\n", (int)id.len, (const char *)id.data,
             (unsigned long long)until_ms);
    return 0;
}

static int check_length(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct given *g = ctx;
    struct buf *b;
    ck_assert_uint_eq(key, ++g->heads);
    ck_assert_uint_gt(head.len, 8);
    ck_assert_int_eq(g->s->ops->get(g->s, key, 0, &b), 0);
    ck_assert_uint_eq(b->len, bytes);
    ck_assert_uint_eq(bytes, key > 4 ? 5 : key * (key % 2 ? 100 : 2000));
    buf_drop(b);
    return 0;
}

static void check_format_2(struct store *s, uint64_t last)
{
    uint8_t value[STORE_NOTE_MAX];
    char marks[64] = "";
    size_t len;
    struct given g = {.s = s};
    ck_assert_int_eq(s->ops->each(s, check_length, &g), 0);
    ck_assert_uint_eq(g.heads, last);
    ck_assert_uint_eq(s->ops->damaged(s), 0);
    ck_assert_int_eq(s->ops->marks(s, note_mark, &marks), 0);
    ck_assert_str_eq(marks, "mark one 50\nmark two 60\n");
    ck_assert_int_eq(s->ops->recall(s, "sequence", value, &len), 0);
    ck_assert(slice_equal(slice_of(value, len), slice_of("12345678", 8)));
}

/* store_format2.mdb is of a release with short bundles apart from their heads, too, and marks in
 * two tables: four bundles of 100, 4000, 300 and 8000 bytes. */
START_TEST(format_2_is_read_on)
{
    const char head[] = "a head of this release";
    struct place p;
    char path[128];
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_SYNC);
    s->ops->close(s);
    struct image m = read_file(STORE_FORMAT2);
    database_of(&p, path);
    write_file(path, &m, m.len);
    for (uint64_t last = 4; last < 6; last++) {
        s = place_again(&p, &store_lmdb);
        check_format_2(s, last);
        ck_assert_int_eq(s->ops->begin(s), 0);
        ck_assert_int_eq(
            s->ops->put(s, last + 1, slice_of(head, sizeof head), slice_of("12345", 5)), 0);
        ck_assert_int_eq(s->ops->commit(s), 0);
        check_format_2(s, last + 1);
        s->ops->close(s);
    }
    s = place_again(&p, &store_lmdb);
    ck_assert_int_eq(s->ops->begin(s), 0);
    for (uint64_t key = 1; key <= 6; key++)
        ck_assert_int_eq(s->ops->remove(s, key), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    ck_assert_uint_eq(s->ops->bytes(s), 0);
    free(m.bytes);
    place_done(&p, s);
}
END_TEST

/* store_format1.mdb is of a release without check values: three bundles wait in it. */
START_TEST(format_1_is_converted)
{
    struct place p;
    char path[128];
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_SYNC);
    s->ops->close(s);
    place_remove(&p);
    ck_assert_int_eq(mkdir(p.dir, 0700), 0);
    struct image m = read_file(STORE_FORMAT1);
    database_of(&p, path);
    write_file(path, &m, m.len);
    for (int round = 0; round < 2; round++) {
        s = place_again(&p, &store_lmdb);
        struct given g = {.s = s};
        ck_assert_int_eq(s->ops->each(s, note_rows, &g), 0);
        ck_assert_uint_eq(g.heads, 3);
        ck_assert_uint_eq(s->ops->damaged(s), 0);
        ck_assert_uint_eq(s->ops->last_key(s), 3);
        s->ops->close(s);
    }
    free(m.bytes);
    place_remove(&p);
}
END_TEST

START_TEST(a_later_format_is_refused)
{
    struct place p;
    char path[128], why[256];
    const uint8_t later = STORE_FORMAT + 1, now = STORE_FORMAT;
    uint8_t row[STORE_NOTE_ROW_MAX], other[STORE_NOTE_ROW_MAX];
    struct image m = place_filled(&p, path);
    size_t len = store_note_write("format", slice_of(&now, 1), row);
    store_note_write("format", slice_of(&later, 1), other);
    for (uint8_t *at; (at = find(&m, row, len)) != NULL;)
        memcpy(at, other, len);
    write_file(path, &m, m.len);
    struct store *s;
    ck_assert_int_eq(store_lmdb.open(&s, &p.o, why, sizeof why), HELIO_EFORMAT);
    ck_assert_ptr_nonnull(strstr(why, "is of format 5, from a later release"));
    free(m.bytes);
    place_remove(&p);
}
END_TEST

START_TEST(rows_know_their_keys)
{
    uint8_t row[STORE_HEAD_ROW_MAX + 8], end[STORE_END_ROW];
    uint8_t key[STORE_END_KEY_MAX];
    struct store_head h = {.bytes = 5, .crc = 77, .head = slice_of("head", 4)}, out;
    size_t len = store_head_write(3, &h, row);
    ck_assert_int_eq(store_head_read(3, slice_of(row, len), &out), 0);
    ck_assert(out.bytes == 5 && out.crc == 77 && slice_equal(out.head, h.head));
    ck_assert_int_eq(store_head_read(4, slice_of(row, len), &out), HELIO_EFORMAT);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(store_head_read(3, slice_of(row, cut), &out), HELIO_EFORMAT);
    for (size_t bit = 0; bit < len * 8; bit++) {
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(store_head_read(3, slice_of(row, len), &out), HELIO_EFORMAT);
        row[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    uint64_t until;
    struct slice id = slice_of("id", 2), found;
    len = store_end_key(99, id, key);
    store_end_write(slice_of(key, len), end);
    ck_assert_int_eq(store_end_read(slice_of(key, len), slice_of(end, 4), &until, &found), 0);
    ck_assert(until == 99 && slice_equal(found, id));
    key[9] ^= 1;
    ck_assert_int_eq(store_end_read(slice_of(key, len), slice_of(end, 4), &until, &found),
                     HELIO_EFORMAT);
    ck_assert_int_eq(store_end_read(slice_of(key, 8), slice_of(end, 0), &until, &found),
                     HELIO_EFORMAT);
}
END_TEST

SUITE(store_damage, t)
{
    tcase_add_test(t, a_flipped_bit_in_a_head_sets_it_aside);
    tcase_add_test(t, a_flipped_bit_in_a_bundle_is_not_given_out);
    tcase_add_loop_test(t, any_flipped_bit, 0, 4);
    tcase_add_test(t, a_cut_file_is_told);
    tcase_add_test(t, files_that_are_gone_take_nothing_more);
    tcase_add_test(t, format_1_is_converted);
    tcase_add_test(t, format_2_is_read_on);
    tcase_add_test(t, a_later_format_is_refused);
    tcase_add_test(t, rows_know_their_keys);
    tcase_set_timeout(t, 120);
}
