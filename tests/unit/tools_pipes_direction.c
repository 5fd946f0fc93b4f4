/* SPDX-License-Identifier: Apache-2.0 */
/* Streams in memory with something between their ends: frames are lost, late and doubled, and the
 * bytes come whole and in order all the same, only later; streams that are reset at any octet, or
 * whose other end disappears. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "os/net/address.h"
#include "sim/pipes.h"
#include "tests/unit/suite.h"

#define DELAY (10 * TICK_MS)
#define SEEDS 100

struct end {
    struct stream *stream;
    uint64_t come, written;
    uint8_t room[4096];
    size_t window;
    int ended, error;
    bool open; /* a write was cut short, and it was not told of room */
    struct lab *lab;
};

struct flight {
    struct list node;
    tick due;
    size_t to, len;
    uint8_t bytes[PATH_FRAME_MAX];
};

struct lab {
    struct world world;
    tick now;
    struct pipes pipes;
    struct pipe_wire wire;
    struct stream_listener *listener;
    struct address address;
    struct end end[2]; /* of owner 1, which connects, and of 2 */
    struct list flying;
    struct rng rng;
    double loss, twice;
    tick later;
    bool dark;
    uint64_t lasts, frames;
};

static tick lab_now(const struct world *w)
{
    return container_of((struct world *)(uintptr_t)w, struct lab, world)->now;
}

static const struct world_ops ops = {.now = lab_now, .streams = &pipe_ops};

static uint8_t *space(void *context, size_t *len)
{
    struct end *e = context;
    *len = e->window;
    return e->room;
}

/* A byte of the stream: no period that frames have. */
static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16) * 29);
}

static void fed(void *context, size_t len)
{
    struct end *e = context;
    ck_assert_uint_eq(e->lab->world.owner, 1 + (size_t)(e - e->lab->end));
    bool right = true;
    for (size_t i = 0; i < len; i++)
        right = right && e->room[i] == byte_at(e->come + i);
    ck_assert(right);
    e->come += len;
}

static void writable(void *context)
{
    ((struct end *)context)->open = false;
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
    ck_assert_uint_eq(l->world.owner, 2);
    l->end[1].stream = s;
    stream_use(s, &user, &l->end[1]);
    stream_read(s, true);
}

static bool between(void *context, size_t from, size_t to)
{
    (void)context;
    return from != to;
}

static void launch(struct lab *l, size_t to, struct slice frame)
{
    struct flight *f = malloc(sizeof *f);
    f->due = l->now + DELAY + (l->later > 0 ? rng_below(&l->rng, l->later) : 0);
    f->to = to;
    f->len = frame.len;
    memcpy(f->bytes, frame.data, frame.len);
    struct list *before = &l->flying;
    while (before->prev != &l->flying &&
           container_of(before->prev, struct flight, node)->due > f->due)
        before = before->prev;
    list_add_tail(before, &f->node);
}

static void carry(void *context, size_t from, size_t to, struct slice frame)
{
    struct lab *l = context;
    if (from + to != 3 || frame.len > PATH_FRAME_MAX)
        abort();
    l->frames++;
    if (!l->dark && !rng_chance(&l->rng, l->loss))
        launch(l, to, frame);
    if (!l->dark && rng_chance(&l->rng, l->twice))
        launch(l, to, frame);
}

static uint64_t lasts(void *context, size_t from, size_t to)
{
    (void)from;
    return to == 2 ? ((struct lab *)context)->lasts : UINT64_MAX;
}

static struct flight *first_flight(struct lab *l)
{
    struct list *first = list_first(&l->flying);
    return first == NULL ? NULL : container_of(first, struct flight, node);
}

static void run_until(struct lab *l, tick until)
{
    for (;;) {
        struct flight *f = first_flight(l);
        tick due = world_due(&l->world);
        if (tick_min(due, f == NULL ? TICK_NEVER : f->due) > until)
            break;
        if (f != NULL && f->due <= due) {
            l->now = f->due;
            list_sub(&f->node);
            pipes_arrive(&l->pipes, slice_of(f->bytes, f->len));
            free(f);
        } else {
            l->now = due > l->now ? due : l->now;
            world_fire(&l->world, l->now, 1);
        }
        pipes_check(&l->pipes);
    }
    l->now = until;
}

static void lab_connect(struct lab *l)
{
    struct stream_place at = {.address = &l->address};
    l->world.owner = 1;
    ck_assert_int_eq(stream_connect(&l->world, &l->end[0].stream, &at, &user, &l->end[0]), 0);
    stream_read(l->end[0].stream, true);
}

static struct lab *lab_new(uint64_t seed)
{
    struct lab *l = calloc(1, sizeof *l);
    world_init(&l->world, &ops, true);
    pipes_init(&l->pipes, &l->world, 0);
    list_init(&l->flying);
    rng_init(&l->rng, seed);
    l->wire = (struct pipe_wire){.between = between, .carry = carry, .lasts = lasts, .context = l};
    l->pipes.wire = &l->wire;
    l->lasts = UINT64_MAX;
    ck_assert_int_eq(address_parse("10.0.0.2:4556", &l->address), 0);
    struct stream_place at = {.address = &l->address};
    for (int i = 0; i < 2; i++) {
        l->end[i].lab = l;
        l->end[i].window = sizeof l->end[i].room;
    }
    l->world.owner = 2;
    ck_assert_int_eq(stream_listen(&l->world, &l->listener, &at, accepted, l), 0);
    return l;
}

static void end_close(struct end *e)
{
    if (e->stream != NULL)
        stream_close(e->stream);
    e->stream = NULL;
}

static void lab_free(struct lab *l)
{
    end_close(&l->end[0]);
    end_close(&l->end[1]);
    stream_unlisten(l->listener);
    pipes_fini(&l->pipes);
    for (struct flight *f; (f = first_flight(l)) != NULL;) {
        list_sub(&f->node);
        free(f);
    }
    free(l);
}

/* The next n bytes of a stream, as far as there is room. */
static void write_bytes(struct end *e, size_t n)
{
    uint8_t *bytes = malloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(e->written + i);
    struct slice part = slice_of(bytes, n);
    size_t took = stream_write(e->stream, &part, 1);
    e->open = took < n;
    e->written += took;
    free(bytes);
}

START_TEST(light_takes_its_time)
{
    struct lab *l = lab_new(1);
    lab_connect(l);
    write_bytes(&l->end[0], 5000);
    run_until(l, DELAY - 1);
    ck_assert_ptr_null(l->end[1].stream);
    run_until(l, DELAY);
    ck_assert_ptr_nonnull(l->end[1].stream);
    write_bytes(&l->end[1], 100);
    run_until(l, 2 * DELAY);
    ck_assert_uint_eq(l->end[0].come, 100); /* it comes with the answer */
    run_until(l, 3 * DELAY - 1);
    ck_assert_uint_eq(l->end[1].come, 0);
    run_until(l, 3 * DELAY);
    ck_assert_uint_eq(l->end[1].come, 5000);
    uint64_t frames = l->frames;
    ck_assert_uint_eq(frames, 1 + 1 + 1 + 4);
    end_close(&l->end[0]);
    run_until(l, 4 * DELAY - 1);
    ck_assert_int_eq(l->end[1].ended, 0);
    run_until(l, 4 * DELAY);
    ck_assert_int_eq(l->end[1].ended, 1);
    ck_assert_int_eq(l->end[1].error, 0);
    run_until(l, 60 * TICK_S);
    ck_assert_uint_eq(l->frames, frames + 1); /* nothing went twice */
    lab_free(l);
}
END_TEST

/* Whatever becomes of frames, all bytes come, both ways, and then the end. */
START_TEST(losses_become_delay)
{
    struct lab *l = lab_new((uint64_t)_i);
    size_t total = 1 + rng_below(&l->rng, 300000);
    l->loss = 0.05 * (double)(_i % 8);
    l->twice = _i % 3 == 0 ? 0.1 : 0;
    l->later = _i % 5 == 0 ? 3 * TICK_MS : 0;
    l->end[1].window = 1 + rng_below(&l->rng, 4096);
    lab_connect(l);
    for (int i = 0; i < 30000 && (l->end[1].come < total || l->end[0].come < total); i++) {
        for (int k = 0; k < 2; k++) {
            struct end *e = &l->end[k];
            size_t n = 1 + rng_below(&l->rng, 20000), left = total - (size_t)e->written;
            if (e->stream != NULL && !e->open && left > 0)
                write_bytes(e, n < left ? n : left);
        }
        l->dark = i > 20 && i < 60;
        run_until(l, l->now + 7 * TICK_MS);
    }
    ck_assert_uint_eq(l->end[1].come, total);
    ck_assert_uint_eq(l->end[0].come, total);
    l->dark = false;
    end_close(&l->end[1]);
    run_until(l, l->now + 1000 * TICK_S);
    ck_assert_int_eq(l->end[0].ended, 1);
    ck_assert_int_eq(l->end[0].error, 0);
    lab_free(l);
}
END_TEST

/* With congestion control, too. */
START_TEST(windows_bring_all)
{
    struct lab *l = lab_new(1000 + (uint64_t)_i);
    size_t total = 1 + rng_below(&l->rng, 200000);
    l->wire.buffers = 10000 + rng_below(&l->rng, 100000);
    l->loss = 0.03 * (double)(_i % 8);
    l->twice = _i % 3 == 0 ? 0.1 : 0;
    l->later = _i % 5 == 0 ? 3 * TICK_MS : 0;
    lab_connect(l);
    ck_assert_int_eq(stream_congestion(l->end[0].stream, _i % 2 == 0 ? "reno" : "cubic"), 0);
    ck_assert_int_eq(stream_congestion(l->end[0].stream, "bbr"), helio_from_errno(ENOENT));
    if (_i % 4 == 0)
        stream_buffers(l->end[0].stream, 20000);
    for (int i = 0; i < 60000 && l->end[1].come < total; i++) {
        struct end *e = &l->end[0];
        size_t n = 1 + rng_below(&l->rng, 20000), left = total - (size_t)e->written;
        if (!e->open && left > 0)
            write_bytes(e, n < left ? n : left);
        l->dark = i > 20 && i < 60;
        run_until(l, l->now + 7 * TICK_MS);
    }
    ck_assert_uint_eq(l->end[1].come, total);
    l->dark = false;
    run_until(l, l->now + 2 * DELAY + 4 * TICK_MS);
    ck_assert_uint_eq(stream_unheard(l->end[0].stream), 0);
    end_close(&l->end[1]);
    run_until(l, l->now + 1000 * TICK_S);
    ck_assert_int_eq(l->end[0].ended, 1);
    ck_assert_int_eq(l->end[0].error, 0);
    lab_free(l);
}
END_TEST

/* So much is under way in a round trip, and no more; what was not acknowledged is known. */
START_TEST(a_window_a_round_trip)
{
    struct lab *l = lab_new(3);
    l->wire.buffers = 14280;
    lab_connect(l);
    run_until(l, 3 * DELAY);
    for (int i = 0; i < 100; i++) {
        write_bytes(&l->end[0], 28560);
        run_until(l, l->now + 2 * DELAY);
    }
    ck_assert_uint_ge(l->end[1].come, 98 * 14280);
    ck_assert_uint_le(l->end[1].come, 101 * 14280);
    ck_assert_uint_ge(stream_unheard(l->end[0].stream), 14280);
    run_until(l, l->now + 10 * DELAY);
    ck_assert_uint_eq(l->end[1].come, l->end[0].written);
    ck_assert_uint_eq(stream_unheard(l->end[0].stream), 0);
    lab_free(l);
}
END_TEST

/* Without losses a stream is never slower than its room allows, and nothing goes twice. */
START_TEST(room_bounds_what_is_under_way)
{
    struct lab *l = lab_new(3);
    lab_connect(l);
    write_bytes(&l->end[0], 3 * PIPE_DIRECTION_BYTES);
    ck_assert_uint_eq(l->end[0].written, PIPE_DIRECTION_BYTES);
    run_until(l, 2 * DELAY);
    ck_assert(l->end[0].open);
    run_until(l, 3 * DELAY);
    ck_assert_uint_eq(l->end[1].come, PIPE_DIRECTION_BYTES);
    ck_assert(!l->end[0].open);
    ck_assert_uint_eq(l->frames, 2 + (PIPE_DIRECTION_BYTES + PATH_OCTETS - 1) / PATH_OCTETS);
    lab_free(l);
}
END_TEST

START_TEST(reset_at_any_octet)
{
    struct lab *l = lab_new((uint64_t)_i);
    l->lasts = rng_below(&l->rng, 20000);
    l->loss = _i % 2 == 0 ? 0.1 : 0;
    lab_connect(l);
    write_bytes(&l->end[0], 20000);
    run_until(l, 600 * TICK_S);
    ck_assert_uint_le(l->end[1].come, l->lasts);
    ck_assert_uint_ge(l->end[1].come + PATH_OCTETS, l->lasts);
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(l->end[k].ended, 1);
        ck_assert_int_eq(l->end[k].error, helio_from_errno(ECONNRESET));
    }
    lab_free(l);
}
END_TEST

/* A node that ends silently is noticed by a long enough wait, or by resets. */
START_TEST(the_other_end_disappears)
{
    struct lab *l = lab_new(5);
    lab_connect(l);
    run_until(l, 3 * DELAY);
    pipes_abandon(&l->pipes, 2, _i == 0);
    end_close(&l->end[1]);
    run_until(l, 2 * PATH_PATIENCE);
    ck_assert_int_eq(l->end[0].ended, _i);
    if (_i == 1)
        ck_assert_int_eq(l->end[0].error, helio_from_errno(ECONNRESET));
    write_bytes(&l->end[0], 10);
    ck_assert_uint_eq(l->end[0].written, 0);
    lab_free(l);
}
END_TEST

START_TEST(nothing_is_heard_for_long)
{
    struct lab *l = lab_new(6);
    lab_connect(l);
    if (_i == 0) /* else not even its beginning comes */
        run_until(l, 3 * DELAY);
    l->dark = true;
    write_bytes(&l->end[0], 5000);
    run_until(l, PATH_PATIENCE / 2);
    ck_assert_int_eq(l->end[0].ended, 0);
    run_until(l, 3 * PATH_PATIENCE);
    ck_assert_int_eq(l->end[0].ended, 1);
    ck_assert_int_eq(l->end[0].error, helio_from_errno(ETIMEDOUT));
    ck_assert_uint_lt(l->frames, 40);
    lab_free(l);
}
END_TEST

START_TEST(frames_of_nobody)
{
    struct lab *l = lab_new(7);
    static const uint8_t bytes[PATH_FRAME_MAX + 1];
    for (size_t len = 0; len <= sizeof bytes; len++)
        pipes_arrive(&l->pipes, slice_of(bytes, len));
    struct path_head head = {.stream = 99, .number = 1, .len = 3};
    uint8_t frame[sizeof head + 3] = {0};
    memcpy(frame, &head, sizeof head);
    pipes_arrive(&l->pipes, slice_of(frame, sizeof frame));
    lab_free(l);
}
END_TEST

SUITE(tools_pipes_direction, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, light_takes_its_time);
    tcase_add_loop_test(t, losses_become_delay, 0, SEEDS);
    tcase_add_loop_test(t, windows_bring_all, 0, SEEDS);
    tcase_add_test(t, a_window_a_round_trip);
    tcase_add_test(t, room_bounds_what_is_under_way);
    tcase_add_loop_test(t, reset_at_any_octet, 0, SEEDS);
    tcase_add_loop_test(t, the_other_end_disappears, 0, 2);
    tcase_add_loop_test(t, nothing_is_heard_for_long, 0, 2);
    tcase_add_test(t, frames_of_nobody);
}
