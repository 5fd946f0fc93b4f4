/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power is lost at any write. What the database writes to its file is noted on its way to the
 * kernel; then for each moment files are made of it as a medium may have them: all that a sync had
 * confirmed, and of what came after it any part, sector by sector, in any order. From each of them
 * the store opens, with every transaction that was confirmed and nothing of one that was not whole.
 * For a killed process (durability async) the kernel has all writes but the end of the last one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/rng.h"
#include "store/store_record.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define STEPS 24
#define KEYS_MAX (STEPS * 4 + 8)
#define SECTOR 512
#define PAGE 4096
#define LIMIT (UINT64_C(1) << 28)

/* ---- the layer ---- */

struct op {
    bool sync;    /* all before is on the medium; else a write */
    bool durable; /* a write to a descriptor with O_DSYNC: it is itself when it returns */
    size_t at, len;
    uint8_t *bytes;
};

struct log {
    struct op ops[8192];
    size_t len;
};

static struct log *recording; /* NULL: nothing is noted */
static dev_t device;
static ino_t inode;

static bool is_database(int fd)
{
    struct stat st;
    return recording != NULL && fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static struct op *next_op(void)
{
    ck_assert_uint_lt(recording->len, sizeof recording->ops / sizeof *recording->ops);
    return &recording->ops[recording->len++];
}

static void note_write(int fd, const void *bytes, size_t len, off_t at)
{
    struct op *o = next_op();
    *o = (struct op){.durable = (fcntl(fd, F_GETFL) & O_DSYNC) != 0,
                     .at = (size_t)at,
                     .len = len,
                     .bytes = malloc(len)};
    ck_assert_ptr_nonnull(o->bytes);
    memcpy(o->bytes, bytes, len);
}

static void note_sync(int fd)
{
    if (is_database(fd))
        *next_op() = (struct op){.sync = true};
}

/* These take the place of the C library's, for the database's library, too. */
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    if (is_database(fd))
        note_write(fd, bytes, len, at);
    return syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    off_t at = is_database(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
    for (int i = 0; i < count && at >= 0; at += (off_t)parts[i].iov_len, i++)
        note_write(fd, parts[i].iov_base, parts[i].iov_len, at);
    return syscall(SYS_writev, fd, parts, count);
}

int fdatasync(int fd)
{
    int rc = (int)syscall(SYS_fdatasync, fd);
    note_sync(fd);
    return rc;
}

int fsync(int fd)
{
    int rc = (int)syscall(SYS_fsync, fd);
    note_sync(fd);
    return rc;
}

/* ---- files as they may be ---- */

struct image {
    uint8_t *bytes;
    size_t len, cap;
};

static void image_write(struct image *m, size_t at, const uint8_t *bytes, size_t len)
{
    if (at + len > m->cap) {
        size_t cap = 2 * (at + len);
        m->bytes = realloc(m->bytes, cap);
        ck_assert_ptr_nonnull(m->bytes);
        memset(m->bytes + m->cap, 0, cap - m->cap);
        m->cap = cap;
    }
    if (len > 0)
        memcpy(m->bytes + at, bytes, len);
    m->len = at + len > m->len ? at + len : m->len;
}

static struct image image_copy(const struct image *m)
{
    struct image copy = {0};
    image_write(&copy, 0, m->bytes, m->len);
    return copy;
}

enum medium { MEDIUM_NOTHING, MEDIUM_ALL, MEDIUM_SOME, MEDIUM_MOST, MEDIUM_KINDS };

/* Sectors of a write that the medium may have. */
static void write_part(struct image *m, const struct op *o, struct rng *r, double share)
{
    for (size_t done = 0; done < o->len;) {
        size_t end = (o->at + done) / SECTOR * SECTOR + SECTOR - o->at;
        size_t len = (end < o->len ? end : o->len) - done;
        if (rng_chance(r, share))
            image_write(m, o->at + done, o->bytes + done, len);
        done += len;
    }
}

/* The file when power is lost while op `at` is under way; `durable` has what was synced before. */
static struct image lost_at(const struct image *durable, const struct log *l, size_t synced,
                            size_t at, enum medium kind, struct rng *r)
{
    static const double shares[] = {0, 1, 0.5, 0.9};
    struct image m = image_copy(durable);
    for (size_t i = synced; i <= at && i < l->len; i++) {
        if (!l->ops[i].sync)
            write_part(&m, &l->ops[i], r, shares[kind]);
    }
    return m;
}

/* ---- what is done, and what must be there ---- */

struct step {
    uint64_t keys[KEYS_MAX];
    size_t count, ops; /* bundles; noted operations when it was confirmed */
};

struct history {
    struct place p;
    struct log log;
    struct step steps[STEPS + 1];
    struct image begun; /* before the first */
};

static size_t bundle_of(uint64_t key, uint8_t out[9000])
{
    size_t len = key % 3 == 0 ? 4000 + (size_t)(key * 977 % 5000) : 50 + (size_t)(key * 131 % 1500);
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(key * 31 + i * 7 + i / 256);
    return len;
}

static void put_one(struct store *s, struct step *now, uint64_t key)
{
    uint8_t data[9000];
    ck_assert_int_eq(
        s->ops->put(s, key, slice_of(&key, sizeof key), slice_of(data, bundle_of(key, data))), 0);
    now->keys[now->count++] = key;
}

static void do_step(struct store *s, struct history *h, uint64_t step, struct rng *r)
{
    struct step *now = &h->steps[step];
    uint8_t value[8];
    now->count = h->steps[step - 1].count;
    memcpy(now->keys, h->steps[step - 1].keys, sizeof now->keys);
    ck_assert_int_eq(s->ops->begin(s), 0);
    for (uint64_t n = rng_below(r, 4), key = step * 4; n > 0; n--, key++)
        put_one(s, now, key);
    while (now->count > 0 && rng_chance(r, 0.6)) {
        size_t i = (size_t)rng_below(r, now->count);
        ck_assert_int_eq(s->ops->remove(s, now->keys[i]), 0);
        memmove(now->keys + i, now->keys + i + 1, (now->count-- - i - 1) * sizeof *now->keys);
    }
    store_number_write(step, value);
    ck_assert_int_eq(s->ops->mark(s, slice_of(value, 8), 1000 + step), 0);
    ck_assert_int_eq(s->ops->note(s, "step", slice_of(value, 8)), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    now->ops = h->log.len;
}

static void database_of(const struct place *p, char path[128])
{
    snprintf(path, 128, "%s/data.mdb", p->dir);
}

static struct image read_image(const char *path)
{
    uint8_t buffer[65536];
    struct image m = {0};
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        image_write(&m, m.len, buffer, n);
    fclose(f);
    return m;
}

static void write_image(const char *path, const struct image *m)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert(m->len == 0 || fwrite(m->bytes, 1, m->len, f) == m->len);
    ck_assert_int_eq(fclose(f), 0);
}

static struct history *make_history(enum store_durability durability, uint64_t seed)
{
    struct history *h = calloc(1, sizeof *h);
    struct stat st;
    char path[128];
    struct rng r;
    ck_assert_ptr_nonnull(h);
    rng_init(&r, seed);
    struct store *s = place_open(&h->p, &store_lmdb, LIMIT, durability);
    s->ops->close(s);
    h->p.o.marks_max = 1000;
    s = place_again(&h->p, &store_lmdb);
    database_of(&h->p, path);
    h->begun = read_image(path);
    ck_assert_int_eq(stat(path, &st), 0);
    device = st.st_dev;
    inode = st.st_ino;
    recording = &h->log;
    for (uint64_t step = 1; step <= STEPS; step++)
        do_step(s, h, step, &r);
    recording = NULL;
    s->ops->close(s);
    return h;
}

static void history_free(struct history *h)
{
    for (size_t i = 0; i < h->log.len; i++)
        free(h->log.ops[i].bytes);
    free(h->begun.bytes);
    place_remove(&h->p);
    free(h);
}

struct found {
    struct store *s;
    const struct step *expected;
    size_t count;
};

static int check_bundle(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct found *f = ctx;
    uint8_t data[9000];
    struct buf *b;
    ck_assert_uint_lt(f->count, f->expected->count);
    ck_assert_uint_eq(key, f->expected->keys[f->count]);
    f->count++;
    ck_assert(slice_equal(head, slice_of(&key, sizeof key)));
    ck_assert_uint_eq(bytes, bundle_of(key, data));
    ck_assert_int_eq(f->s->ops->get(f->s, key, 0, &b), 0);
    ck_assert(slice_equal(buf_slice(b), slice_of(data, (size_t)bytes)));
    buf_drop(b);
    return 0;
}

static int count_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    uint64_t *marks = ctx;
    ck_assert_uint_eq(id.len, 8);
    ck_assert_uint_eq(until_ms, 1000 + ++*marks);
    return 0;
}

/* The store of this file has the state after `confirmed` steps, or after one more. */
static uint64_t check_image(const struct history *h, const struct image *m, uint64_t confirmed)
{
    char path[128], why[512];
    uint8_t value[STORE_NOTE_MAX];
    uint64_t marks = 0;
    size_t len;
    struct store *s;
    database_of(&h->p, path);
    write_image(path, m);
    ck_assert_msg(store_lmdb.open(&s, &h->p.o, why, sizeof why) == 0, "%s", why);
    int rc = s->ops->recall(s, "step", value, &len);
    uint64_t step = rc == 0 && len == 8 ? store_number_read(value) : 0;
    ck_assert_msg(step == confirmed || step == confirmed + 1, "step %llu, confirmed %llu",
                  (unsigned long long)step, (unsigned long long)confirmed);
    struct found f = {s, &h->steps[step], 0};
    ck_assert_int_eq(s->ops->each(s, check_bundle, &f), 0);
    ck_assert_uint_eq(f.count, h->steps[step].count);
    ck_assert_int_eq(s->ops->marks(s, count_mark, &marks), 0);
    ck_assert_uint_eq(marks, step);
    ck_assert_uint_eq(s->ops->damaged(s), 0);
    ck_assert_int_eq(s->ops->begin(s), 0); /* and it goes on from there */
    ck_assert_int_eq(s->ops->put(s, 100000, slice_of("h", 1), slice_of(path, sizeof path)), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    s->ops->close(s);
    return step;
}

static uint64_t confirmed_at(const struct history *h, size_t op)
{
    uint64_t confirmed = 0;
    while (confirmed < STEPS && h->steps[confirmed + 1].ops <= op)
        confirmed++;
    return confirmed;
}

/* ---- tests ---- */

START_TEST(power_is_lost_at_any_write)
{
    struct history *h = make_history(STORE_SYNC, 100 + (uint64_t)_i);
    struct image durable = image_copy(&h->begun);
    struct rng r;
    size_t synced = 0, syncs = 0;
    uint64_t ahead = 0;
    rng_init(&r, 7 + (uint64_t)_i);
    for (size_t at = 0; at <= h->log.len; at++) {
        for (enum medium kind = 0; kind < MEDIUM_KINDS; kind++) {
            if (kind != MEDIUM_NOTHING && rng_chance(&r, 0.6))
                continue; /* each moment in one way or another */
            struct image m = lost_at(&durable, &h->log, synced, at, kind, &r);
            uint64_t confirmed = confirmed_at(h, at);
            ahead += check_image(h, &m, confirmed) > confirmed;
            free(m.bytes);
        }
        if (at == h->log.len)
            break;
        const struct op *o = &h->log.ops[at]; /* it returns */
        if (o->durable)
            image_write(&durable, o->at, o->bytes, o->len);
        if (!o->sync)
            continue;
        for (; synced < at; synced++) {
            if (!h->log.ops[synced].sync)
                image_write(&durable, h->log.ops[synced].at, h->log.ops[synced].bytes,
                            h->log.ops[synced].len);
        }
        syncs++;
    }
    ck_assert_uint_ge(syncs, STEPS);
    ck_assert_uint_gt(ahead, 0); /* some lost the answer only: the layer does tear commits apart */
    free(durable.bytes);
    history_free(h);
}
END_TEST

/* The layer finds a store that does not sync: its transactions are lost, or its file is damaged. */
START_TEST(without_syncs_it_would_be_lost)
{
    struct history *h = make_history(STORE_ASYNC, 3);
    struct image m = image_copy(&h->begun);
    char path[128], why[512];
    struct store *s;
    uint8_t value[STORE_NOTE_MAX];
    size_t len;
    for (size_t i = 0; i < h->log.len; i++)
        ck_assert(!h->log.ops[i].sync && !h->log.ops[i].durable);
    database_of(&h->p, path);
    write_image(path, &m);
    ck_assert_int_eq(store_lmdb.open(&s, &h->p.o, why, sizeof why), 0);
    ck_assert_int_eq(s->ops->recall(s, "step", value, &len), HELIO_ENOENT);
    s->ops->close(s);
    free(m.bytes);
    history_free(h);
}
END_TEST

START_TEST(killed_at_any_write)
{
    struct history *h = make_history(STORE_ASYNC, 200 + (uint64_t)_i);
    struct image kernel = image_copy(&h->begun);
    struct rng r;
    rng_init(&r, 9 + (uint64_t)_i);
    for (size_t at = 0; at < h->log.len; at++) {
        const struct op *o = &h->log.ops[at];
        struct image m = image_copy(&kernel);
        size_t done = (size_t)rng_below(&r, o->len / PAGE + 1) * PAGE; /* the last one's begin */
        image_write(&m, o->at, o->bytes, done < o->len ? done : o->len);
        check_image(h, &m, confirmed_at(h, at));
        free(m.bytes);
        image_write(&kernel, o->at, o->bytes, o->len);
    }
    check_image(h, &kernel, STEPS);
    free(kernel.bytes);
    history_free(h);
}
END_TEST

/* While a store is made for the first time: it is empty afterwards, or is made again. */
START_TEST(power_is_lost_at_the_first_start)
{
    struct history *h = calloc(1, sizeof *h);
    char path[128], marker[128];
    struct stat st;
    struct rng r;
    ck_assert_ptr_nonnull(h);
    rng_init(&r, 5);
    snprintf(h->p.dir, sizeof h->p.dir, "/tmp/helio_store_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(h->p.dir));
    database_of(&h->p, path);
    snprintf(marker, sizeof marker, "%s/format", h->p.dir);
    h->p.o = (struct store_options){
        .path = h->p.dir, .limit_bytes = LIMIT, .durability = STORE_SYNC, .marks_max = 1000};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(fstat(fd, &st), 0);
    close(fd);
    device = st.st_dev;
    inode = st.st_ino;
    recording = &h->log;
    struct store *s = place_again(&h->p, &store_lmdb);
    recording = NULL;
    s->ops->close(s);
    struct image durable = {0};
    for (size_t at = 0, synced = 0; at < h->log.len; at++) {
        for (enum medium kind = 0; kind < MEDIUM_KINDS; kind++) {
            struct image m = lost_at(&durable, &h->log, synced, at, kind, &r);
            unlink(marker);
            check_image(h, &m, 0);
            free(m.bytes);
        }
        const struct op *o = &h->log.ops[at];
        if (o->durable)
            image_write(&durable, o->at, o->bytes, o->len);
        for (; o->sync && synced < at; synced++) {
            if (!h->log.ops[synced].sync)
                image_write(&durable, h->log.ops[synced].at, h->log.ops[synced].bytes,
                            h->log.ops[synced].len);
        }
    }
    ck_assert_uint_gt(h->log.len, 3);
    free(durable.bytes);
    history_free(h);
}
END_TEST

SUITE(store_power, t)
{
    tcase_add_loop_test(t, power_is_lost_at_any_write, 0, 3);
    tcase_add_test(t, without_syncs_it_would_be_lost);
    tcase_add_loop_test(t, killed_at_any_write, 0, 2);
    tcase_add_test(t, power_is_lost_at_the_first_start);
    tcase_set_timeout(t, 300);
}
