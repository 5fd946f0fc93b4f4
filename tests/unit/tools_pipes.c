/* SPDX-License-Identifier: Apache-2.0 */
/* Streams in memory: what arrives when, how much is under way, who is told of room and of ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "sim/pipes.h"
#include "tests/unit/suite.h"

#define DELAY 1000

struct end {
    struct stream *stream;
    size_t come, window; /* window: bytes of a piece that are taken at once */
    uint8_t room[64];
    bool close_at_fed;
    int ended, error; /* ended: how often */
    unsigned writable;
};

struct lab {
    struct world world;
    tick now;
    struct pipes pipes;
    struct stream_listener *listener;
    struct end client, server;
    bool refuse;
};

static tick lab_now(const struct world *w)
{
    return container_of((struct world *)(uintptr_t)w, struct lab, world)->now;
}

static const struct world_ops ops = {.now = lab_now, .streams = &pipe_ops};
static const struct stream_place place = {.path = "/node"};

static uint8_t *space(void *context, size_t *len)
{
    struct end *e = context;
    *len = e->window;
    return e->window > 0 ? e->room : NULL;
}

static void end_close(struct end *e)
{
    if (e->stream != NULL)
        stream_close(e->stream);
    e->stream = NULL;
}

static void fed(void *context, size_t len)
{
    struct end *e = context;
    ck_assert(len >= 1 && len <= e->window);
    for (size_t i = 0; i < len; i++)
        ck_assert_uint_eq(e->room[i], (uint8_t)(e->come + i));
    e->come += len;
    if (e->close_at_fed)
        end_close(e);
}

static void writable(void *context)
{
    struct end *e = context;
    e->writable++;
}

static void ended(void *context, int error)
{
    struct end *e = context;
    e->ended++;
    e->error = error;
}

static const struct stream_user user = {space, fed, writable, ended};

static void accepted(void *context, struct stream *s)
{
    struct lab *l = context;
    if (l->refuse) {
        stream_close(s);
        return;
    }
    l->server.stream = s;
    stream_use(s, &user, &l->server);
    stream_read(s, true);
}

/* All that is due until then. */
static void run_until(struct lab *l, tick until)
{
    for (tick due; (due = world_due(&l->world)) <= until;) {
        l->now = due > l->now ? due : l->now;
        world_fire(&l->world, l->now, 1);
        pipes_check(&l->pipes);
    }
    l->now = until;
}

static struct lab *lab_new(void)
{
    struct lab *l = calloc(1, sizeof *l);
    world_init(&l->world, &ops, true);
    pipes_init(&l->pipes, &l->world, DELAY);
    l->client.window = l->server.window = sizeof l->client.room;
    ck_assert_int_eq(stream_listen(&l->world, &l->listener, &place, accepted, l), 0);
    ck_assert_int_eq(stream_connect(&l->world, &l->client.stream, &place, &user, &l->client), 0);
    stream_read(l->client.stream, true);
    ck_assert_ptr_null(l->server.stream); /* not from within a call */
    return l;
}

static void lab_free(struct lab *l)
{
    end_close(&l->client);
    end_close(&l->server);
    if (l->listener != NULL)
        stream_unlisten(l->listener);
    pipes_fini(&l->pipes);
    free(l);
}

/* Writes n bytes, the first of which has the number `at`, in parts; returns how many were taken. */
static size_t write_bytes(struct end *e, size_t at, size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(at + i);
    struct slice parts[3] = {slice_of(bytes, n / 3), slice_of(NULL, 0),
                             slice_of(bytes + n / 3, n - n / 3)};
    size_t got = stream_write(e->stream, parts, 3);
    free(bytes);
    return got;
}

START_TEST(what_is_written_arrives_later)
{
    struct lab *l = lab_new();
    ck_assert_uint_eq(write_bytes(&l->client, 0, 1000), 1000); /* before it is accepted */
    run_until(l, 0);
    ck_assert_ptr_nonnull(l->server.stream);
    ck_assert_uint_eq(l->server.come, 1000); /* to the node it takes no time */
    ck_assert_uint_eq(write_bytes(&l->server, 0, 100), 100);
    run_until(l, 5);
    ck_assert_uint_eq(write_bytes(&l->server, 100, 1), 1);
    run_until(l, DELAY - 1);
    ck_assert_uint_eq(l->client.come, 0);
    run_until(l, DELAY);
    ck_assert_uint_eq(l->client.come, 100);
    run_until(l, DELAY + 5);
    ck_assert_uint_eq(l->client.come, 101);
    ck_assert_uint_eq(l->client.writable + l->server.writable, 0);
    lab_free(l);
}
END_TEST

START_TEST(a_full_stream_takes_no_more)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    stream_read(l->server.stream, false);
    ck_assert_uint_eq(write_bytes(&l->client, 0, PIPE_BYTES + 10), PIPE_BYTES);
    ck_assert_uint_eq(write_bytes(&l->client, PIPE_BYTES, 10), 0);
    run_until(l, 100);
    ck_assert_uint_eq(l->server.come + l->client.writable, 0);
    stream_read(l->server.stream, true);
    run_until(l, 100);
    ck_assert_uint_eq(l->server.come, PIPE_BYTES);
    ck_assert_uint_eq(l->client.writable, 1);
    ck_assert_uint_eq(write_bytes(&l->client, PIPE_BYTES, 10), 10);
    run_until(l, 100);
    ck_assert_uint_eq(l->server.come, PIPE_BYTES + 10);
    stream_buffers(l->server.stream, 2 * PIPE_BYTES); /* of what takes its time */
    stream_read(l->server.stream, false);
    stream_read(l->client.stream, false);
    ck_assert_uint_eq(write_bytes(&l->client, PIPE_BYTES + 10, 3 * PIPE_BYTES), PIPE_BYTES);
    ck_assert_uint_eq(write_bytes(&l->server, 0, 3 * PIPE_BYTES), 2 * PIPE_BYTES);
    lab_free(l);
}
END_TEST

START_TEST(the_end_comes_after_the_bytes)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    ck_assert_uint_eq(write_bytes(&l->server, 0, 300), 300);
    stream_read(l->client.stream, false);
    end_close(&l->server);
    run_until(l, 3 * DELAY);
    ck_assert_int_eq(l->client.ended, 0); /* it does not read */
    stream_read(l->client.stream, true);
    run_until(l, 3 * DELAY);
    ck_assert_uint_eq(l->client.come, 300);
    ck_assert_int_eq(l->client.ended, 1);
    ck_assert_int_eq(l->client.error, 0);
    lab_free(l);
}
END_TEST

START_TEST(a_write_to_nobody)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    stream_read(l->client.stream, false);
    end_close(&l->server);
    ck_assert_uint_eq(write_bytes(&l->client, 0, 5), 0);
    ck_assert_int_eq(l->client.ended, 0);
    run_until(l, 2 * DELAY);
    ck_assert_int_eq(l->client.ended, 1);
    ck_assert_int_eq(l->client.error, helio_from_errno(EPIPE));
    lab_free(l);
}
END_TEST

/* Any call to the user may close the stream. */
START_TEST(closed_while_it_reads)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    l->server.close_at_fed = true;
    ck_assert_uint_eq(write_bytes(&l->client, 0, 1000), 1000);
    run_until(l, 0);
    ck_assert_uint_eq(l->server.come, sizeof l->server.room);
    run_until(l, DELAY);
    ck_assert_int_eq(l->client.ended, 1);
    lab_free(l);
}
END_TEST

START_TEST(no_space_ends_it)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    l->server.window = 0;
    ck_assert_uint_eq(write_bytes(&l->client, 0, 10), 10);
    run_until(l, 0);
    ck_assert_int_eq(l->server.ended, 1);
    ck_assert_int_eq(l->server.error, HELIO_ENOMEM);
    lab_free(l);
}
END_TEST

START_TEST(nobody_there)
{
    struct lab *l = lab_new();
    struct stream_listener *second;
    struct stream *s;
    struct end other = {0};
    ck_assert_int_eq(stream_listen(&l->world, &second, &place, accepted, l),
                     helio_from_errno(EADDRINUSE));
    struct stream_place nowhere = {.path = "/nowhere"};
    ck_assert_int_eq(stream_connect(&l->world, &s, &nowhere, &user, &other),
                     helio_from_errno(ECONNREFUSED));
    stream_unlisten(l->listener); /* the client is not accepted yet */
    l->listener = NULL;
    run_until(l, DELAY);
    ck_assert_int_eq(l->client.ended, 1);
    ck_assert_int_eq(stream_connect(&l->world, &s, &place, &user, &other),
                     helio_from_errno(ECONNREFUSED));
    lab_free(l);
}
END_TEST

START_TEST(a_listener_may_refuse)
{
    struct lab *l = lab_new();
    l->refuse = true;
    run_until(l, DELAY);
    ck_assert_ptr_null(l->server.stream);
    ck_assert_int_eq(l->client.ended, 1);
    lab_free(l);
}
END_TEST

static struct buf *numbered(size_t at, size_t n)
{
    struct buf *b = buf_new(0, n);
    for (size_t i = 0; i < n; i++)
        *buf_append(b, 1) = (uint8_t)(at + i);
    return b;
}

/* What lies in a buffer is kept there until it is read; what does not is copied. */
START_TEST(buffers_are_kept)
{
    struct lab *l = lab_new();
    run_until(l, 0);
    l->client.window = 7; /* across the parts' borders */
    struct buf *b = numbered(3, 100), *long_one = numbered(106, PIPE_BYTES);
    uint8_t own[3] = {0, 1, 2}, last[3] = {103, 104, 105};
    struct slice parts[] = {slice_of(own, 3), buf_slice(b), slice_of(NULL, 0), slice_of(last, 3),
                            buf_slice(long_one)};
    struct buf *owners[] = {NULL, b, NULL, NULL, long_one};
    ck_assert_uint_eq(stream_write_kept(l->server.stream, parts, owners, 5), PIPE_BYTES);
    ck_assert_uint_eq(b->refs, 2);
    ck_assert_uint_eq(long_one->refs, 2);
    memset(own, 0xff, sizeof own);
    memset(last, 0xff, sizeof last);
    run_until(l, DELAY);
    ck_assert_uint_eq(l->client.come, PIPE_BYTES);
    ck_assert_uint_eq(b->refs, 1);
    ck_assert_uint_eq(long_one->refs, 1);
    stream_read(l->client.stream, false);
    run_until(l, 2 * DELAY); /* there is room again */
    ck_assert_uint_eq(stream_write_kept(l->server.stream, &parts[1], &owners[1], 1), 100);
    ck_assert_uint_eq(b->refs, 2);
    end_close(&l->client); /* nobody will read it */
    ck_assert_uint_eq(b->refs, 1);
    buf_drop(long_one);
    buf_drop(b);
    lab_free(l);
}
END_TEST

SUITE(tools_pipes, t)
{
    tcase_add_test(t, what_is_written_arrives_later);
    tcase_add_test(t, a_full_stream_takes_no_more);
    tcase_add_test(t, buffers_are_kept);
    tcase_add_test(t, the_end_comes_after_the_bytes);
    tcase_add_test(t, a_write_to_nobody);
    tcase_add_test(t, closed_while_it_reads);
    tcase_add_test(t, no_space_ends_it);
    tcase_add_test(t, nobody_there);
    tcase_add_test(t, a_listener_may_refuse);
}
