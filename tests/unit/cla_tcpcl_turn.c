/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the sessions of a local address by the time that their bundles take: rounds of the loop
 * are short, and a session whose bundles take long rests. */
#include "tests/unit/cla_tcpcl_pair.h"

#include "cla/tcpcl/tcpcl_link.h"
#include "tests/unit/suite.h"

struct scene {
    struct pair *p;
    struct stream *s;
};

static uint8_t *give_space(void *context, size_t *len)
{
    static uint8_t some[4096];
    (void)context;
    *len = sizeof some;
    return some;
}

static void drop_bytes(void *context, size_t len)
{
    (void)context;
    (void)len;
}

static void note_end(void *context, int error)
{
    (void)context;
    ck_abort_msg("the session ended: %d", error);
}

static void ignore(void *context)
{
    (void)context;
}

static const struct stream_user stream_user = {
    .space = give_space, .fed = drop_bytes, .writable = ignore, .ended = note_end};

static void connect_peer(struct scene *c, struct stream **out)
{
    static const char init[] =
        "dtn!\x04\x00\x07\x00\x00\0\0\0\0\0\0\xff\xff\0\0\0\0\0\xff\xff\xff\x00"
        "\x07ipn:1.0\0\0\0\0";
    struct stream_place at = {.address = &c->p->b.config.local};
    const struct slice all = slice_of(init, sizeof init - 1);
    ck_assert_int_eq(stream_connect(&c->p->v.world, out, &at, &stream_user, c), 0);
    stream_read(*out, true);
    pair_pass(c->p, TICK_S / 10);
    ck_assert_uint_eq(stream_write(*out, &all, 1), all.len);
    pair_pass(c->p, TICK_S / 10);
    ck_assert(c->p->b.up);
}

static void take_long(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    struct virtual_world *v = &s->pair->v;
    virtual_advance(v, v->now + s->takes);
    side_received(context, c, bundle, token);
}

static struct scene begin_scene(tick takes)
{
    struct scene c = {.p = pair_new()};
    c.p->b.takes = takes;
    c.p->b.received_by = take_long;
    ck_assert_int_eq(side_open(c.p, &c.p->b), 0);
    connect_peer(&c, &c.s);
    return c;
}

static void end_scene(struct scene *c)
{
    stream_close(c->s);
    pair_free(c->p);
}

/* So many bundles of `len` bytes in one write. */
static void send_bundles(struct scene *c, unsigned count, size_t len)
{
    const size_t each = 22 + len;
    uint8_t *all = calloc(count, each);
    ck_assert_ptr_nonnull(all);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *head = all + i * each;
        head[0] = 1;
        head[1] = TCPCL_START | TCPCL_END;
        head[8] = (uint8_t)(i >> 8);
        head[9] = (uint8_t)i;
        head[20] = (uint8_t)(len >> 8);
        head[21] = (uint8_t)len;
    }
    const struct slice part = slice_of(all, count * each);
    ck_assert_uint_eq(stream_write(c->s, &part, 1), part.len);
    free(all);
}

/* Bundles that one round of the loop takes, the most of those after the first `skip` bundles. */
static unsigned longest_round(struct scene *c, unsigned count, unsigned skip)
{
    struct virtual_world *v = &c->p->v;
    unsigned most = 0;
    while (c->p->b.received < count) {
        const unsigned before = c->p->b.received;
        while (world_end_round(&v->world))
            continue;
        virtual_advance(v, virtual_due(v));
        virtual_fire(v);
        const unsigned got = c->p->b.received - before;
        if (before >= skip && got > most)
            most = got;
    }
    return most;
}

/* Bundles of 100 us each: a round has as many as fit TURN_TIME, but TCPCL_TURN_SHORT. */
START_TEST(rounds_are_short)
{
    enum { COUNT = 2500 };
    struct scene c = begin_scene(100 * TICK_US);
    send_bundles(&c, COUNT, 1);
    const unsigned most = longest_round(&c, COUNT, 2 * TCPCL_TURN);
    ck_assert_uint_ge(most, 1);
    ck_assert_uint_le(most, TCPCL_TURN_SHORT);
    end_scene(&c);
}
END_TEST

/* Those that take no time are taken TCPCL_TURN at once. */
START_TEST(turns_grow_again)
{
    enum { COUNT = 2500, MORE = 5000 };
    struct scene c = begin_scene(100 * TICK_US);
    send_bundles(&c, COUNT, 1);
    (void)longest_round(&c, COUNT, 0);
    c.p->b.takes = 0;
    c.p->b.received = 0;
    send_bundles(&c, MORE, 1);
    ck_assert_uint_eq(longest_round(&c, MORE, 0), TCPCL_TURN);
    end_scene(&c);
}
END_TEST

/* A bundle that took 5 ms: its session goes on some 5 ms later. */
START_TEST(who_takes_long_rests)
{
    struct scene c = begin_scene(5 * TICK_MS);
    struct virtual_world *v = &c.p->v;
    send_bundles(&c, 3, 8192);
    while (c.p->b.received < 1)
        pair_pass(c.p, TICK_MS / 10);
    for (unsigned i = 1; i < 3; i++) {
        const tick ended = v->now;
        ck_assert_uint_eq(c.p->b.received, i);
        pair_run(c.p, ended + 4 * TICK_MS);
        ck_assert_uint_eq(c.p->b.received, i);
        while (c.p->b.received == i)
            pair_pass(c.p, TICK_MS / 10);
        ck_assert_uint_le(v->now, ended + 11 * TICK_MS);
    }
    pair_pass(c.p, TICK_S);
    ck_assert_uint_eq(c.p->b.received, 3);
    end_scene(&c);
}
END_TEST

static void stall(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    const struct side *s = context;
    s->pair->v.stalled += s->takes;
    take_long(context, c, bundle, token);
}

/* The process was suspended meanwhile: that is not the peer's fault. */
START_TEST(a_stall_is_no_reason_to_rest)
{
    struct scene c = {.p = pair_new()};
    struct virtual_world *v = &c.p->v;
    c.p->b.takes = 50 * TICK_MS;
    c.p->b.received_by = stall;
    ck_assert_int_eq(side_open(c.p, &c.p->b), 0);
    connect_peer(&c, &c.s);
    const tick began = v->now;
    send_bundles(&c, 3, 8192);
    while (c.p->b.received < 3)
        pair_pass(c.p, TICK_MS / 10);
    ck_assert_uint_lt(v->now - began, 151 * TICK_MS);
    end_scene(&c);
}
END_TEST

/* Short ones that each take a little more than is fair: together they take long. */
START_TEST(little_by_little_is_long)
{
    enum { COUNT = 100 };
    struct scene c = begin_scene(200 * TICK_US);
    const tick began = c.p->v.now;
    send_bundles(&c, COUNT, 1000);
    while (c.p->b.received < COUNT)
        pair_pass(c.p, TICK_MS / 10);
    ck_assert_uint_ge(c.p->v.now - began, COUNT * 200 * TICK_US * 3 / 2);
    end_scene(&c);
}
END_TEST

/* So do those of a slow machine, ten times as slow as this one. */
START_TEST(a_slow_machine_does_not_rest)
{
    enum { COUNT = 1000 };
    struct scene c = begin_scene(49 * TICK_US);
    const tick began = c.p->v.now;
    send_bundles(&c, COUNT, 1);
    while (c.p->b.received < COUNT)
        pair_pass(c.p, TICK_MS / 10);
    ck_assert_uint_lt(c.p->v.now - began, COUNT * 49 * TICK_US + TICK_MS);
    end_scene(&c);
}
END_TEST

/* Silence that ends a session is shorter than its rest: it has not been silent. */
START_TEST(rest_is_not_silence)
{
    struct scene c = {.p = pair_new()};
    c.p->b.config.idle = 250 * TICK_MS;
    c.p->b.config.keepalive = 0;
    c.p->b.takes = 300 * TICK_MS;
    c.p->b.received_by = take_long;
    ck_assert_int_eq(side_open(c.p, &c.p->b), 0);
    connect_peer(&c, &c.s);
    send_bundles(&c, 2, 8192);
    while (c.p->b.received < 2 && c.p->v.now < 2 * TICK_S)
        pair_pass(c.p, 10 * TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 2);
    ck_assert(c.p->b.up);
    end_scene(&c);
}
END_TEST

/* A peer that connects anew rests on. */
START_TEST(a_rest_outlasts_its_connection)
{
    struct scene c = begin_scene(300 * TICK_MS);
    struct virtual_world *v = &c.p->v;
    send_bundles(&c, 1, 8192);
    while (c.p->b.received < 1)
        pair_pass(c.p, TICK_MS / 10);
    const tick ended = v->now;
    stream_close(c.s);
    connect_peer(&c, &c.s);
    send_bundles(&c, 1, 1);
    pair_run(c.p, ended + 290 * TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 1);
    pair_run(c.p, ended + 700 * TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 2);
    end_scene(&c);
}
END_TEST

/* The node was busy later with what the peer had brought: it rests for so long, since nobody else
 * brings anything. 1: also when it connects anew. */
START_TEST(late_work_is_charged)
{
    struct scene c = begin_scene(0);
    struct virtual_world *v = &c.p->v;
    const tick took = 300 * TICK_MS;
    struct cla *link = c.p->b.cla;
    send_bundles(&c, 1, 1);
    pair_pass(c.p, TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 1);
    link->ops->charge(link, TICK_MS / 2, 0, v->now); /* that is not long */
    send_bundles(&c, 1, 1);
    pair_pass(c.p, TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 2);
    const tick ended = v->now;
    link->ops->charge(link, took, 0, ended);
    if (_i == 1) {
        stream_close(c.s);
        connect_peer(&c, &c.s);
    }
    send_bundles(&c, 1, 1);
    pair_run(c.p, ended + took - TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 2);
    pair_run(c.p, ended + 2 * took);
    ck_assert_uint_eq(c.p->b.received, 3);
    end_scene(&c);
}
END_TEST

/* ---- several sessions ---- */

#define SENDERS 3

/* Bundles of one kind, as many as the stream takes. */
struct sender {
    struct stream *s;
    uint8_t *data; /* one message */
    size_t len, off;
};

static struct {
    tick takes;
    uint64_t received;
} kinds[SENDERS];

static void take_by_kind(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    const uint8_t kind = buf_data(bundle)[0];
    kinds[kind].received++;
    s->takes = kinds[kind].takes;
    take_long(context, c, bundle, token);
}

static void begin_sender(struct scene *c, struct sender *f, uint8_t kind, size_t len)
{
    connect_peer(c, &f->s);
    *f = (struct sender){.s = f->s, .len = 22 + len, .data = calloc(1, 22 + len)};
    ck_assert_ptr_nonnull(f->data);
    f->data[0] = 1;
    f->data[1] = TCPCL_START | TCPCL_END;
    f->data[19] = (uint8_t)(len >> 16);
    f->data[20] = (uint8_t)(len >> 8);
    f->data[21] = (uint8_t)len;
    f->data[22] = kind;
}

static void feed_sender(struct sender *f)
{
    size_t got;
    do {
        const struct slice part = slice_of(f->data + f->off, f->len - f->off);
        got = stream_write(f->s, &part, 1);
        f->off = (f->off + got) % f->len;
    } while (got > 0);
}

/* An honest session's bundles of so many bytes (0: it sends none), and those of two others, for a
 * second. Returns how long that took, for the last bundle may take longer. */
static tick run_loop(size_t honest, tick takes, size_t len, tick attack)
{
    struct scene c = {.p = pair_new()};
    struct virtual_world *v = &c.p->v;
    struct sender senders[SENDERS];
    v->pipes.delay = TICK_US;
    c.p->b.received_by = take_by_kind;
    ck_assert_int_eq(side_open(c.p, &c.p->b), 0);
    for (uint8_t i = 0; i < SENDERS; i++) {
        kinds[i].received = 0;
        kinds[i].takes = i == 0 ? takes : attack;
        begin_sender(&c, &senders[i], i, i == 0 && honest > 0 ? honest : len);
    }
    const tick began = v->now;
    while (v->now < began + TICK_S) {
        for (unsigned i = honest > 0 ? 0 : 1; i < SENDERS; i++)
            feed_sender(&senders[i]);
        while (world_end_round(&v->world))
            continue;
        virtual_advance(v, virtual_due(v));
        virtual_fire(v);
    }
    const tick all = v->now - began;
    for (unsigned i = 0; i < SENDERS; i++) {
        stream_close(senders[i].s);
        free(senders[i].data);
    }
    pair_free(c.p);
    return all;
}

/* The honest session's part of the loop's time, in percent. */
static unsigned share_loop(size_t honest, tick takes, size_t len, tick attack)
{
    const tick all = run_loop(honest, takes, len, attack);
    return (unsigned)(100 * kinds[0].received * takes / all);
}

/* Others' bundles of 1,000, 3,500 and 20,000 extension blocks: they have a quarter of the time. */
START_TEST(long_ones_leave_three_quarters_to_others)
{
    static const struct {
        size_t len;
        tick takes;
    } others[] = {{7800, 143 * TICK_US}, {28000, 900 * TICK_US}, {160000, 5 * TICK_MS}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_uint_ge(share_loop(1000, 5 * TICK_US, others[i].len, others[i].takes), 70);
        ck_assert_uint_ge(share_loop(100000, 40 * TICK_US, others[i].len, others[i].takes), 70);
    }
}
END_TEST

/* No quick session waits for them: they rest as long as they took, not longer. */
START_TEST(long_ones_by_themselves_have_half)
{
    const tick all = run_loop(0, 0, 28000, 900 * TICK_US);
    const tick theirs = (kinds[1].received + kinds[2].received) * 900 * TICK_US;
    ck_assert_uint_ge(100 * theirs / all, 40);
    ck_assert_uint_le(100 * theirs / all, 55);
}
END_TEST

/* Others' bundles take three, or ten, times as long, which is fair: each has a third. */
START_TEST(sessions_share_time_not_messages)
{
    ck_assert_uint_ge(share_loop(1000, 5 * TICK_US, 800, 15 * TICK_US), 32);
    ck_assert_uint_ge(share_loop(1000, 5 * TICK_US, 2500, 50 * TICK_US), 32);
}
END_TEST

/* Long bundles may take long: some ns for each byte. */
START_TEST(long_bundles_do_not_rest)
{
    struct scene c = begin_scene(TICK_MS + 20 * TICK_US);
    send_bundles(&c, 2, 60000);
    pair_pass(c.p, 2 * TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 2);
    end_scene(&c);
}
END_TEST

static void refuse(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct side *s = context;
    s->received++;
    buf_drop(bundle);
    c->ops->confirm(c, token, CLA_FULL);
}

static struct scene begin_near(void (*received_by)(void *, struct cla *, struct buf *, uint64_t))
{
    struct scene c = {.p = pair_new()};
    c.p->v.pipes.delay = TICK_US;
    c.p->b.received_by = received_by;
    ck_assert_int_eq(side_open(c.p, &c.p->b), 0);
    connect_peer(&c, &c.s);
    return c;
}

/* A segment of LEN octets, as soon as the stream takes it. */
#define LEN 60000
static void send_segment(struct scene *c, unsigned transfer, unsigned flags)
{
    const size_t head = (flags & TCPCL_START) != 0 ? 22 : 18;
    uint8_t all[22 + LEN] = {
        1, (uint8_t)flags, [8] = (uint8_t)(transfer >> 8), [9] = (uint8_t)transfer};
    all[head - 2] = LEN >> 8;
    all[head - 1] = LEN & 0xff;
    for (size_t off = 0; off < head + LEN; pair_pass(c->p, TICK_US)) {
        const struct slice part = slice_of(all + off, head + LEN - off);
        off += stream_write(c->s, &part, 1);
    }
}

/* What was read for nothing counts as 1 ns for each byte, of which fair time for messages is taken
 * off: 60 MB are 60 ms. 1: the bundles are accepted. */
START_TEST(refused_bundles_rest)
{
    enum { COUNT = 1000 };
    struct scene c = begin_near(_i == 0 ? refuse : side_received);
    const tick began = c.p->v.now;
    for (unsigned i = 0; i < COUNT; i++)
        send_segment(&c, i, TCPCL_START | TCPCL_END);
    while (c.p->b.received < COUNT)
        pair_pass(c.p, TICK_MS / 10);
    if (_i == 0)
        ck_assert_uint_ge(c.p->v.now - began, 40 * TICK_MS);
    else
        ck_assert_uint_le(c.p->v.now - began, 10 * TICK_MS);
    end_scene(&c);
}
END_TEST

/* So do transfers that are ended for want of memory: of 1 MB where there is room for 0.8 MB. */
START_TEST(transfers_without_room_rest)
{
    enum { TRANSFERS = 30, SEGMENTS = 17 };
    struct scene c = begin_near(side_received);
    const struct tcpcl_link *l = container_of(c.p->b.cla, struct tcpcl_link, cla);
    const struct tcpcl_conn *conn = container_of(list_first(&l->conns), struct tcpcl_conn, node);
    c.p->b.memory = 800000;
    const tick began = c.p->v.now;
    for (unsigned i = 0; i < TRANSFERS * SEGMENTS; i++)
        send_segment(&c, i / SEGMENTS,
                     i % SEGMENTS == 0              ? TCPCL_START
                     : i % SEGMENTS == SEGMENTS - 1 ? TCPCL_END
                                                    : 0);
    while (conn->n.transfers_shed < TRANSFERS)
        pair_pass(c.p, TICK_MS / 10);
    ck_assert_uint_ge(c.p->v.now - began, 25 * TICK_MS);
    end_scene(&c);
}
END_TEST

SUITE(cla_tcpcl_turn, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rounds_are_short);
    tcase_add_test(t, turns_grow_again);
    tcase_add_test(t, who_takes_long_rests);
    tcase_add_test(t, a_stall_is_no_reason_to_rest);
    tcase_add_test(t, little_by_little_is_long);
    tcase_add_test(t, a_slow_machine_does_not_rest);
    tcase_add_test(t, rest_is_not_silence);
    tcase_add_test(t, a_rest_outlasts_its_connection);
    tcase_add_loop_test(t, late_work_is_charged, 0, 2);
    tcase_add_test(t, long_ones_leave_three_quarters_to_others);
    tcase_add_test(t, long_ones_by_themselves_have_half);
    tcase_add_test(t, sessions_share_time_not_messages);
    tcase_add_test(t, long_bundles_do_not_rest);
    tcase_add_loop_test(t, refused_bundles_rest, 0, 2);
    tcase_add_test(t, transfers_without_room_rest);
}
