/* SPDX-License-Identifier: Apache-2.0 */
/* Batches without a socket: every datagram comes to the carrier, in order and whole. */
#include <netinet/in.h>
#include <string.h>

#include "os/net/udp_io.h"
#include "tests/unit/suite.h"

struct seen {
    uint32_t n;
    const struct address *to[200];
    size_t head[200], data[200];
    uint8_t first[200], last[200];
};

static bool take(void *context, const struct address *to, struct slice head, struct slice data)
{
    struct seen *s = context;
    s->to[s->n] = to;
    s->head[s->n] = head.len;
    s->data[s->n] = data.len;
    s->first[s->n] = head.data[0];
    s->last[s->n++] = data.len > 0 ? data.data[data.len - 1] : head.data[head.len - 1];
    return s->n % 2 == 0;
}

/* Equal ones in runs, shorter ones, some of a head only, to two peers. */
START_TEST(all_that_was_added_is_carried)
{
    struct seen s = {0};
    struct udp_carrier c = {.send = take, .context = &s};
    struct udp_peer to[2] = {0};
    struct udp_io *io;
    static uint8_t data[1000];
    uint64_t got[2];
    ck_assert_int_eq(udp_open_carried(&io, &c, 7), 0);
    ck_assert_int_eq(udp_fd(io), -1);
    ck_assert_uint_eq(udp_port(io), 7);
    ck_assert(udp_buffers(io, 1 << 30, 1 << 30, &got[0], &got[1]));
    for (unsigned i = 0; i < 200; i++) {
        if (!udp_room(io, 100))
            ck_assert(udp_flush(io));
        uint32_t head = i % 50 == 49 ? 20 : 100, len = i % 7 == 6 ? 0 : 1000;
        memset(udp_head(io, 100), (int)i, 100);
        udp_add(io, &to[i / 30 % 2], head, slice_of(data, len));
    }
    ck_assert(udp_flush(io));
    ck_assert(!udp_pending(io));
    ck_assert_uint_eq(s.n, 200);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 200; i++) {
        ck_assert_ptr_eq(s.to[i], &to[i / 30 % 2].address);
        ck_assert_uint_eq(s.head[i], i % 50 == 49 ? 20 : 100);
        ck_assert_uint_eq(s.data[i], i % 7 == 6 ? 0 : 1000);
        ck_assert_uint_eq(s.first[i], i);
        ck_assert_uint_eq(s.last[i], i % 7 == 6 ? i : 0);
        bytes += s.head[i] + s.data[i];
    }
    ck_assert_uint_eq(udp_counters(io)->tx_datagrams, 200);
    ck_assert_uint_eq(udp_counters(io)->tx_refused, 100);
    ck_assert_uint_eq(udp_counters(io)->tx_bytes, bytes);
    ck_assert(udp_flush(io)); /* nothing twice */
    ck_assert_uint_eq(s.n, 200);
    udp_close(io);
}
END_TEST

START_TEST(what_arrives_is_read_once)
{
    struct seen s = {0};
    struct udp_carrier c = {.send = take, .context = &s};
    struct address from;
    struct udp_io *io;
    struct slice got;
    ck_assert_int_eq(udp_open_carried(&io, &c, 7), 0);
    ck_assert_int_eq(address_of("10.0.0.1", 99, &from), 0);
    ck_assert(!udp_fill(io, 1000));
    ck_assert(!udp_next(io, &got));
    for (int i = 0; i < 2; i++) {
        udp_arrive(io, &from, slice_of((const uint8_t *)"hello", 5));
        ck_assert(udp_fill(io, 1));
        ck_assert(udp_next(io, &got));
        ck_assert_uint_eq(got.len, 5);
        ck_assert(address_equal(udp_from(io), &from));
        ck_assert(!udp_next(io, &got));
        ck_assert(!udp_fill(io, 1));
    }
    ck_assert_uint_eq(udp_counters(io)->rx_datagrams, 2);
    ck_assert_uint_eq(udp_counters(io)->rx_bytes, 10);
    udp_close(io);
}
END_TEST

/* A carrier that takes so many runs, and then has room for no more. */
struct gate {
    struct seen seen;
    int runs, done, fetched;
    struct udp_io *io;
};

static bool take_through(void *context, const struct address *to, struct slice head,
                         struct slice data)
{
    return take(&((struct gate *)context)->seen, to, head, data);
}

static bool has_room(void *context)
{
    return ((struct gate *)context)->runs-- > 0;
}

static void count_done(void *context)
{
    ((struct gate *)context)->done++;
}

START_TEST(what_finds_no_room_waits)
{
    struct gate g = {.runs = 1};
    struct udp_carrier c = {
        .send = take_through, .room = has_room, .done = count_done, .context = &g};
    struct udp_peer to[3] = {0};
    uint8_t data[4];
    struct udp_io *io;
    ck_assert_int_eq(udp_open_carried(&io, &c, 7), 0);
    for (unsigned i = 0; i < 30; i++) { /* three runs */
        memset(data, (int)i, 4);
        udp_head(io, 10)[0] = (uint8_t)i;
        udp_add(io, &to[i / 10], 1, slice_of(data, 4));
    }
    ck_assert(!udp_flush(io));
    ck_assert(udp_pending(io) && !udp_room(io, 1));
    ck_assert(g.seen.n == 10 && g.done == 0);
    memset(data, 0xee, 4); /* borrowed data is free */
    g.runs = 0;
    ck_assert(!udp_flush(io));
    ck_assert_uint_eq(g.seen.n, 10);
    g.runs = 9;
    ck_assert(udp_flush(io));
    ck_assert(!udp_pending(io) && udp_room(io, 1));
    ck_assert(g.seen.n == 30 && g.done == 1);
    for (unsigned i = 10; i < 30; i++) {
        ck_assert_uint_eq(g.seen.first[i], i);
        ck_assert_uint_eq(g.seen.last[i], 29); /* as it was at the first flush */
    }
    ck_assert_uint_eq(udp_counters(io)->tx_blocked, 2);
    ck_assert_uint_eq(udp_counters(io)->tx_datagrams, 30);
    udp_close(io);
}
END_TEST

static void fetch_some(void *context)
{
    static const char texts[UDP_ARRIVALS_MAX + 1] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
    struct gate *g = context;
    struct address from;
    ck_assert_int_eq(address_of("10.0.0.1", 99, &from), 0);
    if (g->fetched++ == 1)
        return;
    for (int i = 0; i < UDP_ARRIVALS_MAX; i++)
        udp_arrive(g->io, &from, slice_of(texts + i, 1));
}

START_TEST(what_is_fetched_is_read)
{
    struct gate g = {.runs = 1};
    struct udp_carrier c = {.send = take_through, .fetch = fetch_some, .context = &g};
    struct slice got;
    ck_assert_int_eq(udp_open_carried(&g.io, &c, 7), 0);
    ck_assert(udp_fill(g.io, 1));
    for (int i = 0; i < UDP_ARRIVALS_MAX; i++) {
        ck_assert(udp_next(g.io, &got));
        ck_assert(got.len == 1 && (i > 9 || got.data[0] == '0' + i));
    }
    ck_assert(!udp_next(g.io, &got));
    ck_assert(!udp_fill(g.io, 1)); /* the second time there is nothing */
    ck_assert(!udp_next(g.io, &got));
    ck_assert_uint_eq(udp_counters(g.io)->rx_bytes, UDP_ARRIVALS_MAX);
    ck_assert_int_eq(g.fetched, 2);
    udp_close(g.io);
}
END_TEST

SUITE(os_carried, t)
{
    tcase_add_test(t, all_that_was_added_is_carried);
    tcase_add_test(t, what_arrives_is_read_once);
    tcase_add_test(t, what_finds_no_room_waits);
    tcase_add_test(t, what_is_fetched_is_read);
}
