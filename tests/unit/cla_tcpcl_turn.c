/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the sessions of a local address by the time that their bundles take: rounds of the loop
 * are short, and a session whose bundles take long rests. */
#include "tests/unit/cla_tcpcl_pair.h"

#include "cla/tcpcl/tcpcl_link.h"

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

static void connect_peer(struct scene *c)
{
    static const char init[] =
        "dtn!\x04\x00\x07\x00\x00\0\0\0\0\0\0\xff\xff\0\0\0\0\0\xff\xff\xff\x00"
        "\x07ipn:1.0\0\0\0\0";
    struct stream_place at = {.address = &c->p->b.config.local};
    const struct slice all = slice_of(init, sizeof init - 1);
    ck_assert_int_eq(stream_connect(&c->p->v.world, &c->s, &at, &stream_user, c), 0);
    stream_read(c->s, true);
    pair_pass(c->p, TICK_S / 10);
    ck_assert_uint_eq(stream_write(c->s, &all, 1), all.len);
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
    connect_peer(&c);
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

/* A bundle that took 5 ms: its session goes on 5 ms later. */
START_TEST(who_takes_long_rests)
{
    struct scene c = begin_scene(5 * TICK_MS);
    struct virtual_world *v = &c.p->v;
    send_bundles(&c, 3, TCPCL_LONG_BYTES);
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

/* The time of a short one is not measured. */
START_TEST(short_bundles_do_not_rest)
{
    struct scene c = begin_scene(TICK_MS + 20 * TICK_US);
    send_bundles(&c, 3, 1000);
    pair_pass(c.p, 5 * TICK_MS);
    ck_assert_uint_eq(c.p->b.received, 3);
    end_scene(&c);
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

int main(void)
{
    Suite *s = suite_create("tcpcl_turn");
    TCase *t = tcase_create("tcpcl_turn");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rounds_are_short);
    tcase_add_test(t, turns_grow_again);
    tcase_add_test(t, who_takes_long_rests);
    tcase_add_test(t, short_bundles_do_not_rest);
    tcase_add_test(t, long_bundles_do_not_rest);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
