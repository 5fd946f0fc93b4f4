/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: rotation, ranges of time, readers beside the writer, torn and damaged files, a full
 * disk, limits. What a slow disk does to others: tests/bench/sle_bench.py. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "os/log/recording.h"
#include "os/log/recording_block.h"
#include "tests/unit/suite.h"

#define FRAME 1115
#define LONG_MS 600000 /* what waits so long never ends */

static char root[] = "/tmp/recordingXXXXXX";
static char folder[64];
static const struct recording_limits small = {.file_bytes = 2u << 20, .memory_bytes = 64u << 20};

static void new_folder(void)
{
    static int next;
    snprintf(folder, sizeof folder, "%s/%d-%d", root, (int)getpid(), next++);
}

/* Record n has time 1000 n, a head of its number, and octets that only it has. */
static bool add_one(struct recording *r, uint64_t n)
{
    uint8_t data[FRAME - 8];
    memset(data, (int)(n * 31 + 7), sizeof data);
    return recording_add(r, n * 1000, (uint32_t)n ^ 0x5a, slice_of(&n, sizeof n),
                         slice_of(data, sizeof data));
}

static void add(struct recording *r, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n < to; n++)
        ck_assert(add_one(r, n));
}

static uint64_t number_of(const struct recording_record *e)
{
    uint64_t n;
    ck_assert_uint_eq(e->data.len, FRAME);
    memcpy(&n, e->data.data, sizeof n);
    ck_assert_uint_eq(e->time, n * 1000);
    ck_assert_uint_eq(e->tag, (uint32_t)n ^ 0x5a);
    for (size_t i = 8; i < FRAME; i += 100)
        ck_assert_uint_eq(e->data.data[i], (uint8_t)(n * 31 + 7));
    return n;
}

static enum recording_step next(struct recording_reader *r, struct recording_record *out)
{
    for (;;) {
        enum recording_step step = recording_next(r, out);
        if (step != RECORDING_WAIT)
            return step;
        struct pollfd p = {.fd = recording_reader_fd(r), .events = POLLIN};
        ck_assert_int_eq(poll(&p, 1, LONG_MS), 1);
    }
}

struct found {
    uint64_t records, first, last, damaged;
};

/* All from `from` to before `to`, in order and each once. */
static struct found read_all(uint64_t from, uint64_t to)
{
    struct found f = {0};
    struct recording_reader *r;
    struct recording_record e;
    ck_assert_int_eq(recording_read(&r, folder, from, to), 0);
    while (next(r, &e) == RECORDING_RECORD) {
        uint64_t n = number_of(&e);
        ck_assert(e.time >= from && e.time < to && (f.records == 0 || n > f.last));
        f.first = f.records == 0 ? n : f.first;
        f.last = n;
        f.records++;
        recording_release(r, recording_block(r));
    }
    ck_assert_int_eq(recording_reader_error(r), 0);
    f.damaged = recording_reader_damaged(r);
    recording_reader_free(r);
    return f;
}

static struct recording *open_small(void)
{
    struct recording *r;
    ck_assert_int_eq(recording_open(&r, folder, &small), 0);
    return r;
}

START_TEST(rotates_and_finds_by_time)
{
    struct recording *r, *second;
    new_folder();
    r = open_small();
    ck_assert_int_eq(recording_open(&second, folder, &small), HELIO_EEXIST);
    add(r, 0, 10000);
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    struct recording_counts c = recording_counts(r);
    ck_assert_uint_eq(c.records, 10000);
    ck_assert_uint_eq(c.lost, 0);
    ck_assert_uint_eq(c.files, 6); /* of two blocks of 1 MiB, the last one of one */
    struct found f = read_all(0, UINT64_MAX);
    ck_assert(f.records == 10000 && f.first == 0 && f.last == 9999 && f.damaged == 0);
    f = read_all(1234001, 7000000);
    ck_assert(f.records == 5765 && f.first == 1235 && f.last == 6999);
    f = read_all(5000, 5001);
    ck_assert(f.records == 1 && f.first == 5);
    ck_assert_uint_eq(read_all(20000000, UINT64_MAX).records, 0);
    recording_close(r);
    r = open_small(); /* goes on in a new file */
    add(r, 10000, 10010);
    ck_assert(!recording_written(r, recording_flush(r) + 1));
    for (uint64_t ticket = recording_flush(r); !recording_written(r, ticket);)
        usleep(1000);
    ck_assert_uint_eq(read_all(10000000, UINT64_MAX).records, 10);
    recording_close(r);
    f = read_all(9990000, UINT64_MAX);
    ck_assert(f.records == 20 && f.last == 10009);
}
END_TEST

START_TEST(readers_beside_the_writer)
{
    struct recording_reader *readers[4];
    struct recording_record e;
    uint64_t expected[4] = {0};
    new_folder();
    struct recording *r = open_small();
    add(r, 0, 20000);
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(recording_read(&readers[i], folder, 0, UINT64_MAX), 0);
    for (uint64_t n = 20000; n < 40000; n++) {
        ck_assert(add_one(r, n));
        for (int i = 0; i < 4; i++)
            if (recording_next(readers[i], &e) == RECORDING_RECORD) {
                ck_assert_uint_eq(number_of(&e), expected[i]++);
                recording_release(readers[i], recording_block(readers[i]));
            }
    }
    for (int i = 0; i < 4; i++) {
        while (next(readers[i], &e) == RECORDING_RECORD) {
            ck_assert_uint_eq(number_of(&e), expected[i]++);
            recording_release(readers[i], recording_block(readers[i]));
        }
        ck_assert_uint_ge(expected[i], 20000); /* what was written when it began, at least */
        recording_reader_free(readers[i]);
    }
    ck_assert_uint_eq(recording_counts(r).lost, 0);
    recording_close(r);
}
END_TEST

/* Data stay while their blocks are held, and a reader holds no more than its blocks. */
START_TEST(held_blocks_stay)
{
    struct recording_reader *reader;
    struct recording_record e, first = {0};
    uint64_t n = 0;
    new_folder();
    struct recording *r = open_small();
    add(r, 0, 10000);
    recording_close(r);
    ck_assert_int_eq(recording_read(&reader, folder, 0, UINT64_MAX), 0);
    struct pollfd p = {.fd = recording_reader_fd(reader), .events = POLLIN};
    for (;;) {
        enum recording_step step = recording_next(reader, &e);
        if (step == RECORDING_RECORD && n++ == 0)
            first = e;
        ck_assert_int_ne(step, RECORDING_END);
        if (step != RECORDING_WAIT)
            continue;
        bool all = recording_block(reader) >= RECORDING_AHEAD; /* nothing more is to come */
        if (poll(&p, 1, all ? 300 : LONG_MS) == 0)
            break;
    }
    ck_assert_uint_eq(recording_block(reader), RECORDING_AHEAD);
    ck_assert_uint_eq(number_of(&first), 0);
    recording_release(reader, RECORDING_AHEAD);
    ck_assert(next(reader, &e) == RECORDING_RECORD && number_of(&e) == n);
    recording_reader_free(reader); /* with its thread in the middle */
}
END_TEST

static void change(const char *name, off_t at, bool cut)
{
    char path[128];
    uint8_t b;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR);
    ck_assert_int_ge(fd, 0);
    if (cut) {
        ck_assert_int_eq(ftruncate(fd, at), 0);
    } else {
        ck_assert_int_eq(pread(fd, &b, 1, at), 1);
        b ^= 0x10;
        ck_assert_int_eq(pwrite(fd, &b, 1, at), 1);
    }
    close(fd);
}

START_TEST(damage_is_left_out)
{
    new_folder();
    struct recording *r = open_small();
    add(r, 0, 4000); /* 927 a block */
    recording_close(r);
    change("0000000001.rec", 5000, false); /* a frame of the first block */
    struct found f = read_all(0, UINT64_MAX);
    ck_assert(f.damaged == 1 && f.first == 927 && f.records == 4000 - 927);
    change("0000000001.idx", 33, false); /* an index that is wrong is only a loss of time */
    f = read_all(0, UINT64_MAX);
    ck_assert(f.damaged == 1 && f.records == 4000 - 927);
    change("0000000003.rec", 100000, true); /* the end is torn */
    f = read_all(0, UINT64_MAX);
    ck_assert(f.damaged == 2 && f.last == 4 * 927 - 1);
    change("0000000003.idx", 0, true);
    f = read_all(0, UINT64_MAX);
    ck_assert(f.damaged == 2 && f.last == 4 * 927 - 1);
    change("0000000002.rec", 0, false); /* no head, no index: the rest of that file */
    change("0000000002.idx", 0, true);
    f = read_all(0, UINT64_MAX);
    ck_assert(f.damaged == 3 && f.records == 927);
}
END_TEST

/* Killed while it writes: all that was written before is there, and the next one goes on. */
START_TEST(killed_in_the_middle)
{
    int told[2];
    uint8_t one = 0;
    new_folder();
    ck_assert_int_eq(pipe(told), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct recording *r = open_small();
        add(r, 0, 3000);
        (void)recording_sync(r, LONG_MS);
        (void)!write(told[1], &one, 1);
        for (uint64_t n = 3000;; n++)
            (void)add_one(r, n);
    }
    ck_assert_int_eq(read(told[0], &one, 1), 1);
    usleep(20000);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(told[0]);
    close(told[1]);
    struct found before = read_all(0, UINT64_MAX);
    ck_assert_uint_ge(before.records, 3000);
    ck_assert_uint_le(before.damaged, 1);
    struct recording *r = open_small();
    add(r, 100000000, 100000010);
    recording_close(r);
    ck_assert_uint_eq(read_all(0, UINT64_MAX).records, before.records + 10);
}
END_TEST

/* A file that cannot grow is what a full disk is: whole blocks are lost and counted, what is there
 * stays readable, and when there is room again it goes on. */
START_TEST(a_full_disk)
{
    struct rlimit before, few;
    new_folder();
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    few = (struct rlimit){1500000, before.rlim_max};
    struct recording *r = open_small();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
    add(r, 0, 3700);
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    struct recording_counts c = recording_counts(r);
    ck_assert_int_eq(helio_errno(c.trouble), EFBIG);
    ck_assert_uint_gt(c.lost, 0);
    ck_assert_uint_eq(read_all(0, UINT64_MAX).records, 3700 - c.lost);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    add(r, 3700, 5000);
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    c = recording_counts(r);
    ck_assert_int_eq(c.trouble, 0);
    struct found f = read_all(0, UINT64_MAX);
    ck_assert(f.records == 5000 - c.lost && f.last == 4999 && f.damaged == 0);
    recording_close(r);
}
END_TEST

/* A medium that does nothing: adding goes on, within the memory allowed, and says what is lost. */
START_TEST(a_slow_disk)
{
    struct recording_limits l = {.file_bytes = 64u << 20, .memory_bytes = RECORDING_MEMORY_MIN};
    struct recording *r;
    uint64_t lost = 0;
    new_folder();
    ck_assert_int_eq(recording_open(&r, folder, &l), 0);
    for (uint64_t n = 0; n < 40000; n++) /* far more at once than 4 MiB */
        lost += add_one(r, n) ? 0 : 1;
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    ck_assert_uint_eq(recording_counts(r).lost, lost);
    ck_assert_uint_eq(read_all(0, UINT64_MAX).records, 40000 - lost);
    recording_close(r);
}
END_TEST

/* A program that asks for room, and waits, loses nothing. */
START_TEST(room_is_waited_for)
{
    struct recording_limits l = {.file_bytes = 64u << 20, .memory_bytes = RECORDING_MEMORY_MIN};
    struct recording *r;
    unsigned waits = 0;
    new_folder();
    ck_assert_int_eq(recording_open(&r, folder, &l), 0);
    for (uint64_t n = 0; n < 40000; n++) {
        for (; !recording_has_room(r, FRAME); waits++)
            usleep(100);
        ck_assert(recording_has_room(r, FRAME));
        ck_assert(add_one(r, n));
    }
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    ck_assert_uint_gt(waits, 0);
    ck_assert_uint_eq(recording_counts(r).lost, 0);
    ck_assert_uint_eq(read_all(0, UINT64_MAX).records, 40000);
    recording_close(r);
}
END_TEST

START_TEST(the_oldest_go)
{
    struct recording_limits l = small;
    struct recording *r;
    l.total_bytes = 6u << 20;
    new_folder();
    ck_assert_int_eq(recording_open(&r, folder, &l), 0);
    add(r, 0, 20000);
    ck_assert_int_eq(recording_sync(r, LONG_MS), 0);
    struct recording_counts c = recording_counts(r);
    struct found f = read_all(0, UINT64_MAX);
    ck_assert_uint_eq(c.lost, 0);
    ck_assert_uint_gt(c.removed, 5);
    ck_assert(f.last == 19999 && f.records == 20000 - f.first);
    ck_assert_uint_ge(f.records * FRAME, 3u << 20);
    ck_assert_uint_le(f.records * FRAME, 6u << 20);
    recording_close(r);
}
END_TEST

START_TEST(nothing_there)
{
    struct recording_reader *reader;
    struct recording *r;
    ck_assert_int_eq(recording_read(&reader, "/nowhere/at/all", 0, 1), helio_from_errno(ENOENT));
    ck_assert_int_eq(recording_open(&r, "/nowhere/at/all", &small), helio_from_errno(ENOENT));
    new_folder();
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    ck_assert_uint_eq(read_all(0, UINT64_MAX).records, 0);
}
END_TEST

static void make_root(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

SUITE(os_recording, t)
{
    tcase_add_unchecked_fixture(t, make_root, remove_root);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, rotates_and_finds_by_time);
    tcase_add_test(t, readers_beside_the_writer);
    tcase_add_test(t, held_blocks_stay);
    tcase_add_test(t, damage_is_left_out);
    tcase_add_test(t, killed_in_the_middle);
    tcase_add_test(t, a_full_disk);
    tcase_add_test(t, a_slow_disk);
    tcase_add_test(t, room_is_waited_for);
    tcase_add_test(t, the_oldest_go);
    tcase_add_test(t, nothing_there);
}
