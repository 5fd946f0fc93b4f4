/* SPDX-License-Identifier: Apache-2.0 */
/* Batches over many sockets: what comes is what was sent, each with its fate and its time. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "os/clock.h"
#include "os/net/udp_many.h"
#include "tests/unit/suite.h"

#define LONGEST 65507

struct rig {
    struct udp_sender *sender;
    struct udp_receiver *receiver;
    int from[2], to;
    struct udp_peer peer;
    tick began;
};

static uint8_t scratch[LONGEST + 200];

static int open_at(const char *host, struct address *bound)
{
    struct address at;
    uint64_t granted;
    ck_assert_int_eq(address_of(host, 0, &at), 0);
    int fd = udp_many_open(&at, 4 << 20, &granted);
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_gt(granted, 0);
    ck_assert_int_eq(address_bound(fd, bound), 0);
    return fd;
}

static void rig_init(struct rig *r, const char *host)
{
    struct address bound;
    *r = (struct rig){.sender = udp_sender_new(), .receiver = udp_receiver_new()};
    ck_assert(r->sender != NULL && r->receiver != NULL);
    r->from[0] = open_at(host, &bound);
    r->from[1] = open_at(host, &bound);
    r->to = open_at(host, &r->peer.address);
    r->began = clock_now();
    for (size_t i = 0; i < sizeof scratch; i++)
        scratch[i] = (uint8_t)(i * 7 + i / 256);
}

static void rig_fini(struct rig *r)
{
    udp_sender_free(r->sender);
    udp_receiver_free(r->receiver);
    close(r->from[0]);
    close(r->from[1]);
    close(r->to);
}

/* One datagram of a message, whose length and bytes must be those. */
static void expect_datagram(const struct udp_message *m, size_t at, size_t len)
{
    size_t got = m->len - at < m->segment ? m->len - at : m->segment;
    ck_assert_uint_eq(got, len);
    ck_assert(memcmp(m->data + at, scratch + len % 100, len) == 0);
}

/* A busy kernel may put off what it delivers. */
static void await_datagram(const struct rig *r)
{
    struct pollfd fd = {.fd = r->to, .events = POLLIN};
    ck_assert_int_eq(clock_poll(&fd, 1, clock_now() + 60 * TICK_S), 1);
}

/* Receives datagrams of these lengths, in order, from that socket (-1: any). */
static void expect(struct rig *r, const size_t *len, size_t n, const int *from)
{
    for (size_t i = 0; i < n;) {
        struct udp_message in[UDP_RECEIVE_MAX];
        await_datagram(r);
        tick now = clock_now();
        int messages = udp_receive(r->receiver, r->to, now, in);
        ck_assert_int_gt(messages, 0);
        for (int k = 0; k < messages; k++) {
            struct address source;
            size_t at = 0;
            do {
                ck_assert_uint_lt(i, n);
                expect_datagram(&in[k], at, len[i]);
                ck_assert_int_eq(address_bound(from[i], &source), 0);
                ck_assert(address_equal(&source, in[k].from));
                at += len[i++];
            } while (at < in[k].len);
            /* the kernel's stamp: after the beginning, before we looked */
            ck_assert_uint_ge(in[k].arrival + 100 * TICK_MS, r->began);
            ck_assert_uint_le(in[k].arrival, clock_now());
        }
    }
}

static void add(struct rig *r, int fd, size_t len)
{
    udp_sender_add(r->sender, fd, &r->peer, 0, slice_of(scratch + len % 100, len));
}

static const char *const hosts[] = {"127.0.0.1", "::1"};

/* Equal ones go together, shorter ones end a message, one of nothing goes alone; longer ones begin
 * more messages than a batch has. */
START_TEST(what_is_sent_arrives)
{
    struct rig r;
    size_t len[UDP_SEND_MAX];
    int from[UDP_SEND_MAX];
    rig_init(&r, hosts[_i]);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < UDP_SEND_MAX; i++) {
            len[i] = i < 20 ? 1000 : i == 20 ? 10 : i == 21 || i == 63 ? 0 : i < 40 ? 700 : 100 * i;
            from[i] = r.from[round == 2 && i / 3 % 2 == 1];
            add(&r, from[i], len[i]);
        }
        const int *errors = udp_sender_flush(r.sender);
        for (size_t i = 0; i < UDP_SEND_MAX; i++)
            ck_assert_int_eq(errors[i], 0);
        expect(&r, len, UDP_SEND_MAX, from);
    }
    rig_fini(&r);
}
END_TEST

/* Too long for IPv4, alone and as the first of several: it has its error, the others arrive. */
START_TEST(each_has_its_own_fate)
{
    struct rig r;
    const size_t len[] = {900, 900, 900, 40, 800, 800};
    int from[6];
    rig_init(&r, "127.0.0.1");
    for (int i = 0; i < 6; i++) {
        from[i] = r.from[0];
        if (i == 3)
            add(&r, r.from[0], LONGEST + 1);
        add(&r, r.from[0], len[i]);
    }
    const int *errors = udp_sender_flush(r.sender);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(errors[i], i == 3 ? helio_from_errno(EMSGSIZE) : 0);
    expect(&r, len, 6, from);
    rig_fini(&r);
}
END_TEST

/* Datagrams of one message that the route refuses are refused one by one: nobody may send to the
 * broadcast address unasked. */
START_TEST(all_of_a_message_are_refused)
{
    struct rig r;
    const size_t len = 500;
    rig_init(&r, "127.0.0.1");
    struct udp_peer all = {.address = r.peer.address};
    all.address.v4.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    for (int i = 0; i < 4; i++)
        udp_sender_add(r.sender, r.from[0], i == 3 ? &r.peer : &all, 0,
                       slice_of(scratch + len % 100, len));
    const int *errors = udp_sender_flush(r.sender);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(errors[i] != 0, i < 3);
    expect(&r, &len, 1, &r.from[0]);
    ck_assert(!all.plain);
    rig_fini(&r);
}
END_TEST

/* _i: IPv4, IPv6 */
START_TEST(each_datagram_has_its_ecn_field)
{
    static const uint8_t fields[] = {0, 2, 2, 3, 1, 0, 3};
    struct udp_message in[UDP_RECEIVE_MAX];
    struct rig r;
    rig_init(&r, _i == 0 ? "127.0.0.1" : "::1");
    for (size_t i = 0; i < sizeof fields; i++)
        udp_sender_add(r.sender, r.from[0], &r.peer, fields[i], slice_of(scratch, 100));
    const int *errors = udp_sender_flush(r.sender);
    for (size_t i = 0; i < sizeof fields; i++)
        ck_assert_int_eq(errors[i], 0);
    size_t at = 0;
    while (at < sizeof fields) {
        await_datagram(&r);
        int n = udp_receive(r.receiver, r.to, clock_now(), in);
        ck_assert_int_ge(n, 1);
        for (int i = 0; i < n; i++)
            for (size_t k = 0; k < in[i].len; k += in[i].segment)
                ck_assert_uint_eq(in[i].ecn, fields[at++]);
    }
    rig_fini(&r);
}
END_TEST

START_TEST(what_the_kernel_dropped_is_counted)
{
    struct rig r;
    struct address at, bound;
    uint64_t granted;
    rig_init(&r, "127.0.0.1");
    ck_assert_int_eq(address_of("127.0.0.1", 0, &at), 0);
    int small = udp_many_open(&at, 5000, &granted);
    ck_assert_int_ge(small, 0);
    ck_assert_int_eq(address_bound(small, &bound), 0);
    struct udp_peer peer = {.address = bound};
    for (int i = 0; i < 40; i++)
        udp_sender_add(r.sender, r.from[0], &peer, 0, slice_of(scratch, i % 2 == 0 ? 1000 : 1200));
    (void)udp_sender_flush(r.sender);
    const tick give_up = clock_now() + 60 * TICK_S;
    while (udp_many_drops(small) == 0 && clock_now() < give_up)
        (void)clock_poll(NULL, 0, clock_now() + TICK_MS);
    ck_assert_uint_gt(udp_many_drops(small), 0);
    ck_assert_uint_eq(udp_many_drops(r.to), 0);
    struct udp_message in[UDP_RECEIVE_MAX];
    ck_assert_int_eq(udp_receive(r.receiver, r.to, clock_now(), in), 0); /* nothing is there */
    ck_assert_int_eq(udp_receive(r.receiver, -1, clock_now(), in), helio_from_errno(EBADF));
    close(small);
    ck_assert_int_eq(udp_many_open(&bound, 5000, &granted) >= 0, 1);
    ck_assert_int_eq(udp_many_open(&r.peer.address, 5000, &granted), helio_from_errno(EADDRINUSE));
    rig_fini(&r);
}
END_TEST

/* The kernel's worker is fast on a quiet machine: there this shows that waiting ends, no more. */
START_TEST(the_first_one_has_its_time)
{
    struct rig r;
    struct udp_message in[UDP_RECEIVE_MAX];
    rig_init(&r, "127.0.0.1");
    ck_assert(udp_receiver_settle(r.receiver));
    udp_sender_add(r.sender, r.from[0], &r.peer, 0, slice_of(scratch, 100));
    (void)udp_sender_flush(r.sender);
    tick sent = clock_now();
    (void)clock_poll(NULL, 0, sent + 2 * TICK_MS);
    await_datagram(&r);
    ck_assert_int_eq(udp_receive(r.receiver, r.to, clock_now(), in), 1);
    ck_assert_uint_le(in[0].arrival, sent + TICK_MS);
    rig_fini(&r);
}
END_TEST

SUITE(os_many, t)
{
    tcase_add_loop_test(t, what_is_sent_arrives, 0, 2);
    tcase_add_test(t, each_has_its_own_fate);
    tcase_add_test(t, all_of_a_message_are_refused);
    tcase_add_test(t, what_the_kernel_dropped_is_counted);
    tcase_add_loop_test(t, the_first_one_has_its_time, 0, 40);
    tcase_add_loop_test(t, each_datagram_has_its_ecn_field, 0, 2);
}
