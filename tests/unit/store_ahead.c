/* SPDX-License-Identifier: Apache-2.0 */
/* Long bundles in several transactions: they take little memory beside their own, and one whose put
 * did not follow leaves nothing, also after a kill at any moment. */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/rng.h"
#include "store/store_lmdb_impl.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define LIMIT (UINT64_C(1) << 30)
#define LONG_BYTES (40u << 20)   /* three transactions: parts of 16 MiB in the first two */
#define KILLED_BYTES (20u << 20) /* two */
#define KILLS 16
#ifdef __SANITIZE_ADDRESS__ /* its allocator keeps freed blocks for a while */
#define MEASURES_MEMORY false
#else
#define MEASURES_MEMORY true
#endif

static uint8_t data[LONG_BYTES];

static struct slice long_bundle(uint64_t key, size_t len)
{
    for (size_t i = 0; i < len; i += 512)
        data[i] = (uint8_t)(key * 31 + i / 4096);
    return slice_of(data, len);
}

static void put_rest(struct store *s, uint64_t key, size_t len)
{
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->put(s, key, slice_of("head", 4), long_bundle(key, len)), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
}

static void check_bundle(struct store *s, uint64_t key, size_t len)
{
    struct buf *b;
    ck_assert_int_eq(s->ops->get(s, key, 0, &b), 0);
    ck_assert(slice_equal(buf_slice(b), long_bundle(key, len)));
    buf_drop(b);
}

static int count_row(void *ctx, const struct store_row *row)
{
    ck_assert_int_eq(row->state, STORE_ROW_WHOLE);
    ++*(unsigned *)ctx;
    return 0;
}

/* All rows of the files, without the store: each is a whole bundle. */
static unsigned count_rows(const struct place *p)
{
    struct store_walk at = {0};
    unsigned rows = 0;
    char why[256];
    ck_assert_int_eq(store_lmdb_check(p->dir, why, sizeof why), 0);
    ck_assert_int_eq(store_lmdb_walk(p->dir, &at, count_row, &rows, why, sizeof why), 0);
    return rows;
}

/* Does the note name a bundle that is not finished? */
static bool has_note(const struct place *p)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi notes;
    uint64_t key;
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(env, LMDB_TABLES), 0);
    ck_assert_int_eq(mdb_env_open(env, p->dir, MDB_RDONLY | MDB_NOLOCK, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    ck_assert_int_eq(mdb_dbi_open(txn, "notes", 0, &notes), 0);
    ck_assert_int_eq(lmdb_ahead_read(txn, notes, &key), 0);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return key != 0;
}

static int count_part(void *ctx, MDB_val *k, MDB_val *v)
{
    (void)k, (void)v;
    ++*(uint64_t *)ctx;
    return 0;
}

static uint64_t count_parts(struct store *s)
{
    uint64_t parts = 0;
    ck_assert_int_eq(lmdb_each_row(lmdb_of(s), lmdb_of(s)->bundles, count_part, &parts), 0);
    return parts;
}

static uint64_t anonymous(void)
{
    char line[100];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            break;
    fclose(f);
    return kib << 10;
}

/* A transaction with all of it took as much memory as it is long. */
START_TEST(a_long_bundle_takes_little_memory)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    const struct slice bundle = long_bundle(1, LONG_BYTES);
    const uint64_t before = anonymous();
    ck_assert_int_eq(s->ops->put_ahead(s, 1, bundle), 0);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->put(s, 1, slice_of("head", 4), bundle), 0);
    const uint64_t taken = anonymous() - before;
    ck_assert_int_eq(s->ops->commit(s), 0);
    printf("memory beside a bundle of %u: %" PRIu64 "\n", LONG_BYTES, taken);
    if (MEASURES_MEMORY)
        ck_assert_uint_le(taken, 20 << 20);
    ck_assert_uint_eq(s->ops->bytes(s), LONG_BYTES);
    check_bundle(s, 1, LONG_BYTES);
    s->ops->close(s);
    ck_assert_uint_eq(count_rows(&p), 1);
    s = place_again(&p, &store_lmdb);
    check_bundle(s, 1, LONG_BYTES);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->remove(s, 1), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    ck_assert_uint_eq(count_parts(s), 0);
    place_done(&p, s);
}
END_TEST

static int any_row(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    (void)ctx, (void)key, (void)head, (void)bytes;
    return 1;
}

/* Between put_ahead and put. */
static void check_nothing(struct store *s, uint64_t key)
{
    struct buf *b;
    ck_assert_int_eq(s->ops->get(s, key, 0, &b), HELIO_ENOENT);
    ck_assert_int_eq(s->ops->each(s, any_row, NULL), 0);
    ck_assert_uint_eq(s->ops->bytes(s), 0);
}

START_TEST(without_a_put_nothing_stays)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    ck_assert_int_eq(s->ops->drop_ahead(s), 0);
    ck_assert_int_eq(s->ops->put_ahead(s, 1, long_bundle(1, LONG_BYTES)), 0);
    check_nothing(s, 1);
    ck_assert_uint_gt(count_parts(s), 0);
    if (_i == 0) {
        ck_assert_int_eq(s->ops->drop_ahead(s), 0);
    } else if (_i == 1) { /* of another bundle */
        ck_assert_int_eq(s->ops->put_ahead(s, 2, slice_of(data, 100)), 0);
    } else {
        s->ops->close(s);
        ck_assert_uint_eq(count_rows(&p), 0);
        s = place_again(&p, &store_lmdb);
    }
    check_nothing(s, 1);
    ck_assert_uint_eq(count_parts(s), 0);
    put_rest(s, 3, 100000);
    check_bundle(s, 3, 100000);
    s->ops->close(s);
    ck_assert_uint_eq(count_rows(&p), 1);
    place_remove(&p);
}
END_TEST

/* A put that is not committed can be repeated. */
START_TEST(a_failed_put_is_repeated)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    ck_assert_int_eq(s->ops->put_ahead(s, 5, long_bundle(5, LONG_BYTES)), 0);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->put_ahead(s, 5, long_bundle(5, LONG_BYTES)), HELIO_EINVAL);
    ck_assert_int_eq(s->ops->drop_ahead(s), HELIO_EINVAL);
    ck_assert_int_eq(s->ops->put(s, 5, slice_of("head", 4), long_bundle(5, LONG_BYTES)), 0);
    s->ops->abort(s);
    check_nothing(s, 5);
    ck_assert_int_eq(s->ops->put_ahead(s, 5, long_bundle(5, LONG_BYTES)), 0);
    put_rest(s, 4, 60000); /* another one between them */
    put_rest(s, 5, LONG_BYTES);
    check_bundle(s, 4, 60000);
    check_bundle(s, 5, LONG_BYTES);
    ck_assert_int_eq(s->ops->put_ahead(s, 5, long_bundle(5, LONG_BYTES)), HELIO_EEXIST);
    ck_assert_int_eq(s->ops->put_ahead(s, 6, slice_of(data, LIMIT)), HELIO_ESPACE);
    check_bundle(s, 5, LONG_BYTES);
    s->ops->close(s);
    ck_assert_uint_eq(count_rows(&p), 2);
    place_remove(&p);
}
END_TEST

/* Puts long bundles one after the other, and removes each before the last one. Tells 0 before a
 * put, and its key when it is confirmed. */
static void child(const struct place *p, int pipe_fd, uint64_t key)
{
    struct store *s;
    char why[256];
    if (store_lmdb.open(&s, &p->o, why, sizeof why) < 0)
        _exit(1);
    for (;; key++) {
        const struct slice bundle = long_bundle(key, KILLED_BYTES);
        const uint64_t none = 0;
        if (s->ops->put_ahead(s, key, bundle) < 0)
            _exit(2);
        if (write(pipe_fd, &none, sizeof none) != sizeof none || s->ops->begin(s) < 0)
            _exit(2);
        if (s->ops->put(s, key, slice_of(&key, 8), bundle) < 0)
            _exit(3);
        (void)s->ops->remove(s, key - 1);
        if (s->ops->commit(s) < 0)
            _exit(4);
        if (write(pipe_fd, &key, sizeof key) != sizeof key)
            _exit(5);
    }
}

/* Kills a child some time after its third message: before its second put, or (later) after that. */
static void run_and_kill(const struct place *p, uint64_t wait_us, uint64_t *confirmed)
{
    int fds[2], status;
    ck_assert_int_eq(pipe(fds), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(fds[0]);
        child(p, fds[1], *confirmed + 1);
    }
    close(fds[1]);
    uint64_t key;
    for (int i = 0; read(fds[0], &key, sizeof key) == sizeof key; i++) {
        *confirmed = key > 0 ? key : *confirmed;
        if (i != 2)
            continue;
        usleep((useconds_t)wait_us);
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
    close(fds[0]);
}

static int keep_key(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    uint64_t *found = ctx;
    ck_assert(slice_equal(head, slice_of(&key, 8)));
    ck_assert_uint_eq(bytes, KILLED_BYTES);
    ck_assert_uint_eq(*found, 0); /* the one before it was removed in the same transaction */
    *found = key;
    return 0;
}

START_TEST(killed_at_any_point)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, LIMIT, STORE_ASYNC);
    struct rng r;
    uint64_t confirmed = 0;
    unsigned unfinished = 0; /* kills between put_ahead and put */
    s->ops->close(s);
    rng_init(&r, 12);
    for (int i = 0; i < KILLS; i++) {
        run_and_kill(&p, i % 2 == 0 ? 0 : rng_below(&r, 200000), &confirmed);
        ck_assert_uint_eq(count_rows(&p), 1);
        unfinished += has_note(&p);
        uint64_t found = 0;
        s = place_again(&p, &store_lmdb);
        ck_assert_int_eq(s->ops->each(s, keep_key, &found), 0);
        ck_assert(found == confirmed || found == confirmed + 1);
        ck_assert_uint_eq(s->ops->bytes(s), KILLED_BYTES);
        ck_assert_uint_eq(count_parts(s), lmdb_bundle_parts(lmdb_of(s), KILLED_BYTES));
        check_bundle(s, found, KILLED_BYTES);
        s->ops->close(s);
        confirmed = found;
    }
    printf("%u of %d kills left parts\n", unfinished, KILLS);
    ck_assert_uint_gt(unfinished, 0);
    place_remove(&p);
}
END_TEST

SUITE(store_ahead, t)
{
    tcase_add_test(t, a_long_bundle_takes_little_memory);
    tcase_add_loop_test(t, without_a_put_nothing_stays, 0, 3);
    tcase_add_test(t, a_failed_put_is_repeated);
    tcase_add_test(t, killed_at_any_point);
    tcase_set_timeout(t, 240);
}
