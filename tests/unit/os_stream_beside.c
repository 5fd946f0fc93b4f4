/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of streams that threads make: all octets in order, back-pressure, errors; a stream that is
 * closed, or asked for what was written, while a thread writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "os/uv_world.h"
#include "tests/unit/suite.h"

enum { STREAMS = 5, BLOCK = 100000, BLOCKS = 200, PARTS = 7 };

struct writer {
    struct rig *rig;
    struct stream *stream;
    struct stream_beside beside;
    struct slice parts[PARTS];
    uint8_t *block; /* BLOCK octets */
    uint8_t sign;   /* of prepare */
    size_t at;      /* octets of the block that were taken */
    unsigned blocks, written_in_loop, written_beside, prepared, writable;
    bool lent, ended;
    int error;
};

struct reader {
    struct rig *rig;
    struct stream *stream;
    size_t come;
    bool wrong;
    uint8_t room[50000];
};

struct rig {
    struct world *world;
    struct stream_listener *listener;
    struct writer writers[STREAMS];
    struct reader readers[STREAMS];
    unsigned accepted, whole;
    struct alarm alarm;
    char path[64];
};

/* The first octet of each block is that of `prepare`. */
static uint8_t octet_at(size_t i)
{
    return i % BLOCK == 0 ? (uint8_t)(1 + i / BLOCK) : (uint8_t)(i * 7 + i / 251);
}

static void finish(void *context)
{
    struct rig *r = context;
    for (int i = 0; i < STREAMS; i++) {
        if (r->writers[i].stream != NULL)
            stream_close(r->writers[i].stream);
        if (r->readers[i].stream != NULL)
            stream_close(r->readers[i].stream);
        r->writers[i].stream = r->readers[i].stream = NULL;
    }
    if (r->listener != NULL)
        stream_unlisten(r->listener);
    r->listener = NULL;
    alarm_fini(&r->alarm);
    uv_world_end(r->world);
}

static void prepare(struct stream_beside *b)
{
    struct writer *w = container_of(b, struct writer, beside);
    w->block[0] = w->sign;
    w->prepared++;
}

static void next_block(struct writer *w)
{
    w->sign = (uint8_t)(1 + w->blocks);
    for (size_t i = 0; i < BLOCK; i++)
        w->block[i] = octet_at((size_t)w->blocks * BLOCK + i);
    w->block[0] = 0;
    w->at = 0;
}

static void took(struct writer *w, size_t octets)
{
    w->at += octets;
    if (w->at == BLOCK && ++w->blocks < BLOCKS)
        next_block(w);
}

static void write_on(struct writer *w)
{
    if (w->blocks == BLOCKS || w->lent)
        return;
    const size_t left = BLOCK - w->at, each = left / PARTS;
    for (size_t i = 0; i < PARTS; i++)
        w->parts[i] = slice_of(w->block + w->at + i * each, i + 1 < PARTS ? each : left - i * each);
    if (w->at == 0 && w->blocks % 10 == 9) { /* the loop writes, too */
        prepare(&w->beside);
        w->written_in_loop++;
        const size_t got = stream_write(w->stream, w->parts, PARTS);
        took(w, got);
        if (got == left)
            write_on(w);
        return;
    }
    w->beside.parts = w->parts;
    w->beside.parts_len = PARTS;
    w->lent = true;
    if (!stream_write_beside(w->stream, &w->beside))
        w->lent = false; /* there is no room: `writable` comes */
}

static void on_written(struct stream_beside *b, size_t octets)
{
    struct writer *w = container_of(b, struct writer, beside);
    ck_assert(w->lent && octets <= BLOCK - w->at);
    w->lent = false;
    w->written_beside++;
    took(w, octets);
    write_on(w);
}

static uint8_t *find_space(void *context, size_t *len)
{
    struct reader *x = context;
    *len = sizeof x->room;
    return x->room;
}

static void on_fed(void *context, size_t len)
{
    struct reader *x = context;
    for (size_t i = 0; i < len; i++)
        x->wrong = x->wrong || x->room[i] != octet_at(x->come + i);
    x->come += len;
    if (x->come == (size_t)BLOCK * BLOCKS && ++x->rig->whole == STREAMS)
        finish(x->rig);
}

static void on_reader_writable(void *context)
{
    (void)context;
}

static void on_reader_ended(void *context, int error)
{
    struct reader *x = context;
    (void)error;
    stream_close(x->stream);
    x->stream = NULL;
}

static uint8_t nothing[100];

static uint8_t *find_nothing(void *context, size_t *len)
{
    (void)context;
    *len = sizeof nothing;
    return nothing;
}

static void on_nothing(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void on_writable(void *context)
{
    struct writer *w = context;
    w->writable++;
    write_on(w);
}

static void on_ended(void *context, int error)
{
    struct writer *w = context;
    w->ended = true;
    w->error = error;
    finish(w->rig);
}

static const struct stream_user writes = {find_nothing, on_nothing, on_writable, on_ended};
static const struct stream_user reads = {find_space, on_fed, on_reader_writable, on_reader_ended};

static void on_accepted(void *context, struct stream *s)
{
    struct rig *r = context;
    struct reader *x = &r->readers[r->accepted++];
    x->rig = r;
    x->stream = s;
    stream_use(s, &reads, x);
    stream_read(s, true);
}

static struct rig *rig_new(unsigned threads)
{
    struct rig *r = calloc(1, sizeof *r);
    ck_assert_int_eq(uv_world_open(&r->world), 0);
    if (threads > 0)
        ck_assert_int_eq(uv_world_writers(r->world, threads), 0);
    alarm_init(&r->alarm, r->world, ALARM_APP, finish, r);
    snprintf(r->path, sizeof r->path, "/tmp/os-beside-%d", (int)getpid());
    (void)unlink(r->path);
    const struct stream_place at = {.path = r->path};
    ck_assert_int_eq(stream_listen(r->world, &r->listener, &at, on_accepted, r), 0);
    for (int i = 0; i < STREAMS; i++) {
        struct writer *w = &r->writers[i];
        w->rig = r;
        w->block = malloc(BLOCK);
        w->beside = (struct stream_beside){.prepare = prepare, .written = on_written};
        next_block(w);
        ck_assert_int_eq(stream_connect(r->world, &w->stream, &at, &writes, w), 0);
    }
    return r;
}

static void rig_free(struct rig *r)
{
    ck_assert_int_eq(uv_world_free(r->world), 0);
    for (int i = 0; i < STREAMS; i++) {
        ck_assert(!r->readers[i].wrong);
        free(r->writers[i].block);
    }
    free(r);
}

/* Five streams, two threads: each block is signed by a thread before it is written. */
START_TEST(all_comes_in_order)
{
    struct rig *r = rig_new(2);
    for (int i = 0; i < STREAMS; i++)
        write_on(&r->writers[i]);
    uv_world_run(r->world);
    for (int i = 0; i < STREAMS; i++) {
        const struct writer *w = &r->writers[i];
        ck_assert_uint_eq(r->readers[i].come, (size_t)BLOCK * BLOCKS);
        ck_assert(w->written_beside >= BLOCKS / 2 && w->written_in_loop > 0 && w->writable > 0);
        ck_assert_uint_ge(w->prepared, BLOCKS);
    }
    rig_free(r);
}
END_TEST

/* Without threads the user writes by itself. */
START_TEST(no_threads)
{
    struct rig *r = rig_new(0);
    struct writer *w = &r->writers[0];
    write_on(w);
    ck_assert(!w->lent);
    ck_assert_uint_eq(stream_settle(w->stream), 0);
    finish(r);
    uv_world_run(r->world);
    rig_free(r);
}
END_TEST

/* What is asked for, and closed, while a thread writes: what it took has come, and nothing else. */
static void settle_or_close(void *context)
{
    struct rig *r = context;
    struct writer *w = &r->writers[0];
    if (r->accepted < STREAMS || !w->lent) {
        write_on(w);
        alarm_set(&r->alarm, r->accepted < STREAMS ? world_now(r->world) + TICK_MS : 0);
        return;
    }
    const size_t got = stream_settle(w->stream);
    ck_assert_uint_ge(w->prepared, 1);
    ck_assert_uint_eq(stream_settle(w->stream), 0);
    w->lent = false;
    w->at += got;
    if (w->at < BLOCK && got > 0) { /* once more, and closed meanwhile */
        write_on(w);
    }
    stream_close(w->stream);
    w->stream = NULL;
    w->lent = false;
    alarm_set(&r->alarm, world_now(r->world) + 50 * TICK_MS);
    r->alarm.fire = finish;
}

START_TEST(ends_while_a_thread_writes)
{
    for (int k = 0; k < 20; k++) {
        struct rig *r = rig_new(1 + (unsigned)k % 2);
        r->alarm.fire = settle_or_close;
        alarm_set(&r->alarm, 0);
        uv_world_run(r->world);
        ck_assert_uint_ge(r->readers[0].come, r->writers[0].at);
        rig_free(r);
    }
}
END_TEST

/* The peer has gone: the end is told from the loop. */
static void close_reader(void *context)
{
    struct rig *r = context;
    if (r->accepted < STREAMS) {
        alarm_set(&r->alarm, world_now(r->world) + TICK_MS);
        return;
    }
    stream_close(r->readers[0].stream);
    r->readers[0].stream = NULL;
    write_on(&r->writers[0]);
}

START_TEST(a_write_to_nobody)
{
    struct rig *r = rig_new(2);
    r->alarm.fire = close_reader;
    alarm_set(&r->alarm, 0);
    uv_world_run(r->world);
    ck_assert(r->writers[0].ended);
    ck_assert_int_lt(r->writers[0].error, 0);
    rig_free(r);
}
END_TEST

SUITE(os_stream_beside, t)
{
    tcase_add_test(t, all_comes_in_order);
    tcase_add_test(t, no_threads);
    tcase_add_test(t, ends_while_a_thread_writes);
    tcase_add_test(t, a_write_to_nobody);
}
