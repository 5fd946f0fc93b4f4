/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What survives: a process that is killed at any moment, a restart, a full medium. The child of the
 * crash test tells its parent through a pipe what was confirmed.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/rng.h"
#include "store_help.h"
#include "tests/unit/suite.h"

#define BUNDLE_BYTES 30000
#define KILLS 25

static void fill(uint8_t *data, uint64_t key)
{
    for (size_t i = 0; i < BUNDLE_BYTES; i++)
        data[i] = (uint8_t)(key * 31 + i);
}

/* Puts batches of three and removes the oldest while more than 20 are there; each confirmed step
 * is told as two numbers: the next key, and the oldest one that may be left. */
static void child(const struct place *p, int pipe_fd, uint64_t next, uint64_t oldest)
{
    struct store *s;
    char why[256];
    static uint8_t data[BUNDLE_BYTES];
    if (store_lmdb.open(&s, &p->o, why, sizeof why) < 0)
        _exit(1);
    for (;;) {
        uint64_t told[2];
        if (s->ops->begin(s) < 0)
            _exit(2);
        for (int i = 0; i < 3; i++, next++) {
            fill(data, next);
            if (s->ops->put(s, next, slice_of(&next, 8), slice_of(data, sizeof data)) < 0)
                _exit(3);
        }
        for (; next - oldest > 20; oldest++)
            s->ops->remove(s, oldest);
        if (s->ops->commit(s) < 0)
            _exit(4);
        told[0] = next;
        told[1] = oldest;
        if (write(pipe_fd, told, sizeof told) != sizeof told)
            _exit(5);
    }
}

struct found {
    uint64_t first, last, count;
};

static int note_key(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct found *f = ctx;
    ck_assert(slice_equal(head, slice_of(&key, 8)));
    ck_assert_uint_eq(bytes, BUNDLE_BYTES);
    ck_assert(f->count == 0 || key == f->last + 1);
    if (f->count++ == 0)
        f->first = key;
    f->last = key;
    return 0;
}

static void check_whole(struct store *s, const struct found *f)
{
    static uint8_t data[BUNDLE_BYTES];
    for (uint64_t key = f->first; f->count > 0 && key <= f->last; key++) {
        struct buf *b;
        ck_assert_int_eq(s->ops->get(s, key, 0, &b), 0);
        fill(data, key);
        ck_assert(slice_equal(buf_slice(b), slice_of(data, sizeof data)));
        buf_drop(b);
    }
}

/* Starts a child, kills it some work after its `steps`th confirmation, and reads what it
 * confirmed. */
static void run_and_kill(const struct place *p, uint64_t steps, uint64_t work, uint64_t told[2])
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(fds[0]);
        child(p, fds[1], told[0], told[1]);
    }
    close(fds[1]);
    uint64_t next[2];
    while (steps-- > 0 && read(fds[0], next, sizeof next) == sizeof next)
        memcpy(told, next, sizeof next);
    for (volatile uint64_t i = 0; i < work; i++)
        continue;
    kill(pid, SIGKILL);
    int status;
    waitpid(pid, &status, 0);
    ck_assert_msg(WIFSIGNALED(status), "the child ended by itself: %d", WEXITSTATUS(status));
    while (read(fds[0], next, sizeof next) == sizeof next)
        memcpy(told, next, sizeof next);
    close(fds[0]);
}

START_TEST(killed_at_any_point)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, 100000000, _i == 0 ? STORE_SYNC : STORE_ASYNC);
    s->ops->close(s);
    struct rng r;
    rng_init(&r, 11);
    uint64_t told[2] = {1, 1};
    for (int i = 0; i < KILLS; i++) {
        run_and_kill(&p, rng_below(&r, 8), rng_below(&r, 1000000), told);
        s = place_again(&p, &store_lmdb);
        struct found f = {0};
        ck_assert_int_eq(s->ops->each(s, note_key, &f), 0);
        /* All that was confirmed; at most one transaction more, and that one whole. */
        ck_assert(f.last == told[0] - 1 || f.last == told[0] + 2);
        ck_assert_uint_ge(f.first, told[1]);
        ck_assert_uint_le(f.first, told[1] + 3);
        ck_assert_uint_eq(s->ops->bytes(s), f.count * BUNDLE_BYTES);
        check_whole(s, &f);
        s->ops->close(s);
        told[0] = f.last + 1;
        told[1] = f.first;
    }
    place_remove(&p);
}
END_TEST

START_TEST(restart_has_bundles_and_marks)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, 1000000, STORE_SYNC);
    static uint8_t data[BUNDLE_BYTES];
    uint64_t key = 7;
    fill(data, key);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->put(s, key, slice_of(&key, 8), slice_of(data, sizeof data)), 0);
    ck_assert_int_eq(s->ops->mark(s, slice_of("m", 1), 5), 0);
    ck_assert_int_eq(s->ops->commit(s), 0);
    ck_assert_int_eq(s->ops->begin(s), 0);
    ck_assert_int_eq(s->ops->remove(s, key), 0); /* never committed */
    s->ops->close(s);
    s = place_again(&p, &store_lmdb);
    struct found f = {0};
    ck_assert_int_eq(s->ops->each(s, note_key, &f), 0);
    ck_assert_uint_eq(f.count, 1);
    check_whole(s, &f);
    place_done(&p, s);
}
END_TEST

/* Puts bundles one by one until one is refused; returns the last key accepted. */
static uint64_t put_until_full(struct store *s, uint64_t key)
{
    static uint8_t data[BUNDLE_BYTES];
    for (;; key++) {
        ck_assert_uint_lt(key, 100000);
        fill(data, key);
        ck_assert_int_eq(s->ops->begin(s), 0);
        int rc = s->ops->put(s, key, slice_of(&key, 8), slice_of(data, sizeof data));
        int done = s->ops->commit(s);
        if (rc == 0 && done == 0)
            continue;
        rc = rc < 0 ? rc : done;
        ck_assert(rc == HELIO_ESPACE || rc == HELIO_EIO); /* EIO: a write was cut short */
        return key - 1;
    }
}

static void check_all(struct store *s, uint64_t first, uint64_t last)
{
    struct found f = {0};
    ck_assert_int_eq(s->ops->each(s, note_key, &f), 0);
    ck_assert(f.first == first && f.last == last);
    ck_assert_uint_eq(s->ops->bytes(s), f.count * BUNDLE_BYTES);
    check_whole(s, &f);
}

/* The file may not grow beyond a limit of the process: writes fail. */
START_TEST(failing_writes_refuse_and_lose_nothing)
{
    struct place p;
    struct store *s = place_open(&p, &store_lmdb, UINT64_C(1) << 30, STORE_SYNC);
    struct rlimit limit = {.rlim_cur = 2000000, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t last = put_until_full(s, 1);
    ck_assert_uint_gt(last, 20);
    check_all(s, 1, last);
    s->ops->close(s);
    s = place_again(&p, &store_lmdb);
    check_all(s, 1, last);
    place_done(&p, s);
}
END_TEST

/* A file system of 8 MB; false where the kernel does not let us have one. */
static bool tiny_medium(const char *dir)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("tmpfs", dir, "tmpfs", 0, "size=8m") == 0;
}

/* Not a byte is free: an error as on any other medium, and no signal. */
START_TEST(full_medium_is_told_at_the_start)
{
    struct place p = {.dir = "/tmp/helio_store_XXXXXX"};
    char why[256] = "", filler[sizeof p.dir + 8];
    ck_assert_ptr_nonnull(mkdtemp(p.dir));
    if (!tiny_medium(p.dir)) {
        ck_assert_int_eq(rmdir(p.dir), 0);
        return;
    }
    snprintf(filler, sizeof filler, "%s/filler", p.dir);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    static const char page[4096];
    while (write(fd, page, sizeof page) > 0)
        continue;
    close(fd);
    struct store *s;
    struct store_options o = {
        .path = p.dir, .limit_bytes = UINT64_C(1) << 30, .durability = STORE_SYNC};
    ck_assert_int_eq(store_lmdb.open(&s, &o, why, sizeof why), HELIO_ESPACE);
    ck_assert_msg(strstr(why, p.dir) != NULL, "%s", why);
    unlink(filler);
    ck_assert_int_eq(store_lmdb.open(&s, &o, why, sizeof why), 0);
    s->ops->close(s);
    ck_assert_int_eq(umount2(p.dir, MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(p.dir), 0);
}
END_TEST

START_TEST(full_medium_can_be_emptied)
{
    struct place p = {.dir = "/tmp/helio_store_XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(p.dir));
    if (!tiny_medium(p.dir)) {
        ck_assert_int_eq(rmdir(p.dir), 0);
        return;
    }
    p.o = (struct store_options){
        .path = p.dir, .limit_bytes = UINT64_C(1) << 30, .durability = STORE_SYNC};
    struct store *s = place_again(&p, &store_lmdb);
    uint64_t first = 1, next = 1;
    for (int round = 0; round < 5; round++) {
        uint64_t last = put_until_full(s, next);
        ck_assert_uint_gt(last - first, 100);
        check_all(s, first, last);
        if (round == 2) {
            s->ops->close(s);
            s = place_again(&p, &store_lmdb);
            check_all(s, first, last);
        }
        /* Removing works on the full medium, and makes room. */
        for (; first < last; first++) {
            ck_assert_int_eq(s->ops->begin(s), 0);
            ck_assert_int_eq(s->ops->remove(s, first), 0);
            ck_assert_int_eq(s->ops->commit(s), 0);
        }
        check_all(s, last, last);
        next = last + 1;
    }
    s->ops->close(s);
    umount2(p.dir, MNT_DETACH);
    ck_assert_int_eq(rmdir(p.dir), 0);
}
END_TEST

/* What it says before holds when it is full; and it says that nothing more fits then. */
START_TEST(medium_has_the_room_that_it_says)
{
    struct place p = {.dir = "/tmp/helio_store_XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(p.dir));
    if (!tiny_medium(p.dir)) {
        ck_assert_int_eq(rmdir(p.dir), 0);
        return;
    }
    p.o = (struct store_options){
        .path = p.dir, .limit_bytes = UINT64_C(1) << 30, .durability = STORE_SYNC};
    struct store *s = place_again(&p, &store_lmdb);
    const uint64_t said = s->ops->fits(s);
    ck_assert(said > 4000000 && said < 6000000);
    uint64_t last = put_until_full(s, 1);
    const uint64_t held = s->ops->bytes(s);
    ck_assert_uint_ge(held, said);
    ck_assert(s->ops->fits(s) >= held && s->ops->fits(s) <= held + 500000);
    for (uint64_t key = 1; key <= last / 2; key++) {
        ck_assert_int_eq(s->ops->begin(s), 0);
        ck_assert_int_eq(s->ops->remove(s, key), 0);
        ck_assert_int_eq(s->ops->commit(s), 0);
    }
    const uint64_t left = s->ops->bytes(s), now = s->ops->fits(s);
    ck_assert(now > left + (held - left) / 2 && now < held * 11 / 10);
    s->ops->close(s);
    s = place_again(&p, &store_lmdb);
    ck_assert(s->ops->fits(s) > left + (held - left) / 2 && s->ops->fits(s) < held * 11 / 10);
    s->ops->close(s);
    umount2(p.dir, MNT_DETACH);
    ck_assert_int_eq(rmdir(p.dir), 0);
}
END_TEST

START_TEST(bad_directory_is_told)
{
    struct store_options o = {.path = "/proc/none/such", .limit_bytes = 1};
    struct store *s;
    char why[256] = "";
    ck_assert_int_lt(store_lmdb.open(&s, &o, why, sizeof why), 0);
    ck_assert_ptr_nonnull(strstr(why, "/proc/none/such: "));
}
END_TEST

SUITE(store_crash, t)
{
    tcase_add_loop_test(t, killed_at_any_point, 0, 2);
    tcase_add_test(t, restart_has_bundles_and_marks);
    tcase_add_test(t, failing_writes_refuse_and_lose_nothing);
    tcase_add_test(t, full_medium_is_told_at_the_start);
    tcase_add_test(t, full_medium_can_be_emptied);
    tcase_add_test(t, medium_has_the_room_that_it_says);
    tcase_add_test(t, bad_directory_is_told);
    tcase_set_timeout(t, 120);
}
