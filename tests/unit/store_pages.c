/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores with damaged pages: whatever lies in the file, no process ends by a signal, neither at
 * start nor in a later commit; a store that is refused says why and is left as it is.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/rng.h"
#include "store/store_lmdb.h"
#include "store/store_lmdb_pages.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define LIMIT (UINT64_C(64) << 20)
#define BUNDLES 500
#define BUNDLE_MAX 12000
#define ROUNDS 32 /* of each kind of damage */

struct image {
    size_t len;
    uint8_t *bytes;
};

static size_t bundle_of(uint64_t key, uint8_t out[BUNDLE_MAX])
{
    const size_t len = key % 3 == 0 ? 3000 + key * 17 % 9000 : 20 + key * 13 % 1500;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(key * 31 + i * 7);
    return len;
}

static int put_one(struct store *s, uint64_t key)
{
    uint8_t data[BUNDLE_MAX];
    char head[64];
    const int len = snprintf(head, sizeof head, "the head of bundle %d", (int)key);
    return s->ops->put(s, key, slice_of(head, (size_t)len), slice_of(data, bundle_of(key, data)));
}

/* In memory where the system has such a place: each close is a sync. */
static struct store *open_new(struct place *p)
{
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    return place_open_in(p, parent, &store_lmdb, LIMIT, STORE_ASYNC);
}

/* Rows in several levels, long values, rows set aside, and a long list of free pages. */
static void fill(struct store *s)
{
    const struct store_ops *o = s->ops;
    char id[300];
    for (uint64_t key = 1; key <= BUNDLES; key++) {
        ck_assert_int_eq(o->begin(s), 0);
        ck_assert_int_eq(put_one(s, key), 0);
        memset(id, (int)key, sizeof id);
        ck_assert_int_eq(o->mark(s, slice_of(id, 40 + key % 200), key), 0);
        if (key > 20 && key % 2 == 0)
            ck_assert_int_eq(o->remove(s, key - 20), 0);
        if (key % 100 == 99)
            ck_assert_int_eq(o->set_aside(s, key), 0);
        ck_assert_int_eq(o->commit(s), 0);
    }
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->note(s, "sequence", slice_of("12345678", 8)), 0);
    ck_assert_int_eq(o->commit(s), 0);
}

static void write_image(const char *path, const struct image *m)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(m->bytes, 1, m->len, f), m->len);
    ck_assert_int_eq(fclose(f), 0);
}

static struct image read_image(const char *path)
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

static struct image image_copy(const struct image *m)
{
    struct image copy = {.len = m->len, .bytes = malloc(m->len)};
    ck_assert_ptr_nonnull(copy.bytes);
    memcpy(copy.bytes, m->bytes, m->len);
    return copy;
}

/* The database that is damaged; made once, for all tests. */
static struct image undamaged;

static void make_undamaged(void)
{
    struct place p;
    char path[128];
    struct store *s = open_new(&p);
    fill(s);
    s->ops->close(s);
    snprintf(path, sizeof path, "%s/data.mdb", p.dir);
    undamaged = read_image(path);
    place_remove(&p);
}

static void drop_undamaged(void)
{
    free(undamaged.bytes);
}

/* A closed store, and the path of its database. */
static void place_filled(struct place *p, char path[128])
{
    struct store *s = open_new(p);
    s->ops->close(s);
    snprintf(path, 128, "%s/data.mdb", p->dir);
    write_image(path, &undamaged);
}

/* ---- what a process does with a store ---- */

enum { OPENED = 10, REFUSED = 11, SPOILT = 12, NO_REASON = 13 };

static int note_key(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    uint64_t(*keys)[BUNDLES + 1] = ctx;
    (void)head;
    (void)bytes;
    if ((*keys)[0] < BUNDLES)
        (*keys)[++(*keys)[0]] = key;
    return 0;
}

static int ignore_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    (void)ctx;
    (void)id;
    (void)until_ms;
    return 0;
}

/* Everything a node does, in several commits; some fail. */
static void use_store(struct store *s)
{
    const struct store_ops *o = s->ops;
    uint64_t keys[BUNDLES + 1] = {0}, last = o->last_key(s);
    (void)o->each(s, note_key, &keys);
    (void)o->marks(s, ignore_mark, NULL);
    for (uint64_t i = 1; i <= keys[0]; i++) {
        struct buf *b = NULL;
        int rc = o->get(s, keys[i], 0, &b);
        if (rc == 0)
            buf_drop(b);
        if (i % 4 == 0 && o->begin(s) == 0) {
            for (uint64_t j = i - 3; j <= i; j++)
                (void)(rc == HELIO_EFORMAT ? o->set_aside(s, keys[j]) : o->remove(s, keys[j]));
            (void)put_one(s, ++last);
            (void)o->mark(s, slice_of(&last, sizeof last), last);
            (void)o->commit(s);
        }
    }
    while (o->forget(s, UINT64_MAX) == 1)
        ;
}

/* Opens, uses and closes it twice: what was whole enough to be opened is so after it was used. */
static int visit_store(const struct place *p)
{
    char why[400];
    struct store *s;
    for (int round = 0; round < 2; round++) {
        if (store_lmdb.open(&s, &p->o, why, sizeof why) < 0) {
            return round > 0 ? SPOILT : strstr(why, p->dir) == NULL ? NO_REASON : REFUSED;
        }
        use_store(s);
        s->ops->close(s);
    }
    return OPENED;
}

/* What became of a process that visits the store. */
static int visit_apart(const struct place *p)
{
    int status;
    fflush(stdout);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(visit_store(p));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status), "ended by %s", strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status);
}

/* ---- damage ---- */

static uint8_t *page_of(struct image *m, size_t number)
{
    return m->bytes + number * 4096;
}

static size_t any_page(struct image *m, struct rng *r)
{
    return (size_t)rng_below(r, m->len / 4096);
}

/* A page of this kind, at random. */
static uint8_t *page_of_kind(struct image *m, struct rng *r, unsigned kind)
{
    for (int i = 0; i < 100000; i++) {
        uint8_t *page = page_of(m, any_page(m, r));
        if (page[PAGES_WORD + 2] == kind)
            return page;
    }
    ck_abort_msg("no page of kind %u", kind);
    return NULL;
}

static void flip(uint8_t *at, struct rng *r)
{
    *at ^= (uint8_t)(1 << rng_below(r, 8));
}

static void flip_anywhere(struct image *m, struct rng *r)
{
    flip(m->bytes + rng_below(r, m->len), r);
}

static void flip_header(struct image *m, struct rng *r)
{
    flip(page_of(m, any_page(m, r)) + rng_below(r, PAGES_HEADER), r);
}

static void flip_branch(struct image *m, struct rng *r)
{
    flip(page_of_kind(m, r, PAGE_BRANCH) + rng_below(r, 4096), r);
}

static void flip_places(struct image *m, struct rng *r)
{
    flip(page_of_kind(m, r, PAGE_LEAF) + PAGES_HEADER + rng_below(r, 20), r);
}

/* The head of a node: lengths, flags, the first octets of its key. */
static void flip_node(struct image *m, struct rng *r)
{
    uint8_t *page = page_of_kind(m, r, PAGE_LEAF);
    const unsigned at = page[PAGES_HEADER] | (unsigned)page[PAGES_HEADER + 1] << 8;
    flip(page + (at + rng_below(r, 16)) % 4096, r);
}

static void flip_long(struct image *m, struct rng *r)
{
    flip(page_of_kind(m, r, PAGE_LONG) + rng_below(r, PAGES_HEADER), r);
}

static void flip_meta(struct image *m, struct rng *r)
{
    flip(page_of(m, (size_t)rng_below(r, 2)) + rng_below(r, 160), r);
}

static void zero_page(struct image *m, struct rng *r)
{
    memset(page_of(m, any_page(m, r)), 0, 4096);
}

static void zero_sector(struct image *m, struct rng *r)
{
    memset(m->bytes + rng_below(r, m->len / 512) * 512, 0, 512);
}

static void misplaced_page(struct image *m, struct rng *r)
{
    memcpy(page_of(m, any_page(m, r)), page_of(m, any_page(m, r)), 4096);
}

/* As above, with the number that belongs there. */
static void copied_page(struct image *m, struct rng *r)
{
    uint8_t *to = page_of_kind(m, r, PAGE_LEAF);
    uint8_t number[PAGES_WORD];
    memcpy(number, to, sizeof number);
    memcpy(to, page_of_kind(m, r, PAGE_LEAF), 4096);
    memcpy(to, number, sizeof number);
}

static void garbage(struct image *m, struct rng *r)
{
    uint8_t *at = m->bytes + rng_below(r, m->len - 64);
    for (int i = 0; i < 64; i++)
        at[i] = (uint8_t)rng_below(r, 256);
}

static void cut_file(struct image *m, struct rng *r)
{
    m->len = (size_t)rng_below(r, m->len);
}

/* The newer state, as the meta pages tell. */
static struct pages state_of(const struct image *m)
{
    struct pages p;
    char why[100];
    ck_assert_int_eq(pages_begin(&p, m->bytes, m->len, false, why, sizeof why), 0);
    return p;
}

static void flip_free(struct image *m, struct rng *r)
{
    const struct pages p = state_of(m);
    uint8_t *page = page_of(m, p.free_pages.root);
    if (rng_below(r, 2) == 0)
        flip(page + rng_below(r, 4096), r);
    else /* numbers alone: the upper octets are 0 */
        flip(page + 4096 - 8 * (1 + rng_below(r, 200)) + rng_below(r, 2), r);
}

static void flip_tables(struct image *m, struct rng *r)
{
    const struct pages p = state_of(m);
    uint8_t *page = page_of(m, p.tables.root);
    const unsigned upper = page[PAGES_WORD + 6] | (unsigned)page[PAGES_WORD + 7] << 8;
    flip(page + upper + rng_below(r, 4096 - upper), r);
}

/* A number of a page in use is another one's: in the root of a tree. */
static void other_root(struct image *m, struct rng *r)
{
    const struct pages p = state_of(m);
    uint8_t *page = page_of(m, p.tables.root);
    const struct page_node n = pages_node(page, (size_t)rng_below(r, pages_nodes(page)));
    const size_t other = any_page(m, r);
    memcpy(m->bytes + (n.data.data - m->bytes) + PAGES_TREE - PAGES_WORD, &other, PAGES_WORD);
}

static const struct {
    const char *name;
    void (*make)(struct image *m, struct rng *r);
} kinds[] = {{"flip_anywhere", flip_anywhere}, {"flip_header", flip_header},
             {"flip_branch", flip_branch},     {"flip_places", flip_places},
             {"flip_node", flip_node},         {"flip_long", flip_long},
             {"flip_meta", flip_meta},         {"zero_page", zero_page},
             {"zero_sector", zero_sector},     {"misplaced_page", misplaced_page},
             {"copied_page", copied_page},     {"garbage", garbage},
             {"cut_file", cut_file},           {"flip_free", flip_free},
             {"flip_tables", flip_tables},     {"other_root", other_root}};

#define KINDS ((int)(sizeof kinds / sizeof *kinds))

static bool unchanged(const char *path, const struct image *m)
{
    struct image now = read_image(path);
    const bool same = now.len == m->len && memcmp(now.bytes, m->bytes, m->len) == 0;
    free(now.bytes);
    return same;
}

START_TEST(no_damage_ends_a_process)
{
    struct place p;
    char path[128];
    place_filled(&p, path);
    struct rng r;
    int opened = 0, refused = 0;
    rng_init(&r, 100 + (uint64_t)_i);
    for (int round = 0; round < ROUNDS; round++) {
        struct image bad = image_copy(&undamaged);
        kinds[_i].make(&bad, &r);
        write_image(path, &bad);
        const int end = visit_apart(&p);
        ck_assert_msg(end == OPENED || end == REFUSED, "%s, round %d: %d", kinds[_i].name, round,
                      end);
        ck_assert_msg(end == OPENED || unchanged(path, &bad), "%s, round %d: changed",
                      kinds[_i].name, round);
        opened += end == OPENED;
        refused += end == REFUSED;
        free(bad.bytes);
    }
    printf("%s: %d opened, %d refused\n", kinds[_i].name, opened, refused);
    place_remove(&p);
}
END_TEST

static int count_rows(void *ctx, const struct store_row *row)
{
    uint64_t *whole = ctx;
    *whole += row->state == STORE_ROW_WHOLE && !row->aside;
    return 0;
}

static uint64_t whole_rows(const char *dir)
{
    char why[400];
    uint64_t whole = 0;
    struct store_walk at = {0};
    ck_assert_int_eq(store_lmdb_walk(dir, &at, count_rows, &whole, why, sizeof why), 0);
    return whole;
}

/* Whatever can be read of a damaged store is a store again; one damaged page costs its rows. */
START_TEST(rescue_brings_what_can_be_read)
{
    struct place p, q;
    char path[128], why[400];
    place_filled(&p, path);
    const uint64_t all = whole_rows(p.dir);
    struct store_rescue out;
    struct rng r;
    int rescued = 0;
    uint64_t most = 0;
    rng_init(&r, 300 + (uint64_t)_i);
    q = p;
    snprintf(q.dir, sizeof q.dir, "%.50s.to", p.dir);
    q.o.path = q.dir;
    for (int round = 0; round < 4; round++) {
        struct image bad = image_copy(&undamaged);
        kinds[_i].make(&bad, &r);
        write_image(path, &bad);
        const int rc = store_lmdb_rescue(p.dir, q.dir, &out, why, sizeof why);
        ck_assert(unchanged(path, &bad));
        free(bad.bytes);
        if (rc < 0) {
            ck_assert_ptr_nonnull(strstr(why, "meta page"));
            ck_assert_int_ne(access(q.dir, F_OK), 0);
            continue;
        }
        rescued++;
        ck_assert_int_eq(store_lmdb_check(q.dir, why, sizeof why), 0);
        const uint64_t whole = whole_rows(q.dir);
        ck_assert_uint_le(whole, all);
        most = whole > most ? whole : most;
        ck_assert_int_eq(visit_apart(&q), OPENED);
        place_remove(&q);
    }
    ck_assert_int_gt(rescued, 0);
    if (kinds[_i].make != cut_file)
        ck_assert_uint_ge(most, all - 60);
    place_remove(&p);
}
END_TEST

/* Pages of every kind come and go; each commit leaves a database that passes. */
START_TEST(what_lmdb_writes_passes)
{
    struct place p;
    char why[400];
    struct rng r;
    rng_init(&r, 7);
    struct store *s = open_new(&p);
    const struct store_ops *o = s->ops;
    uint64_t first = 1, last = 0;
    for (int round = 0; round < 60; round++) {
        ck_assert_int_eq(o->begin(s), 0);
        const uint64_t puts = rng_below(&r, round % 10 == 0 ? 3000 : 40);
        for (uint64_t i = 0; i < puts; i++)
            ck_assert_int_eq(put_one(s, ++last), 0);
        for (uint64_t i = rng_below(&r, last - first + 1); i > 0; i--)
            ck_assert_int_eq(o->remove(s, first++), 0);
        for (uint64_t i = 0; i < puts; i++)
            ck_assert_int_eq(o->mark(s, slice_of(&i, sizeof i), rng_u64(&r) / 2), 0);
        ck_assert_int_eq(o->commit(s), 0);
        if (round % 7 == 0)
            while (o->forget(s, UINT64_MAX / 2) == 1)
                ;
        ck_assert_msg(store_lmdb_check(p.dir, why, sizeof why) == 0, "round %d: %s", round, why);
    }
    place_done(&p, s);
}
END_TEST

SUITE(store_pages, t)
{
    tcase_add_loop_test(t, rescue_brings_what_can_be_read, 0, KINDS);
    tcase_add_test(t, what_lmdb_writes_passes);
    tcase_add_loop_test(t, no_damage_ends_a_process, 0, KINDS);
    tcase_add_unchecked_fixture(t, make_undamaged, drop_undamaged);
    tcase_set_timeout(t, 120);
}
