/* SPDX-License-Identifier: Apache-2.0 */
/* Batched datagrams: what is added arrives, in order and equal, whatever the sizes, and whatever
 * the kernel answers on the way. sendmmsg is wrapped, so that its refusals can be played. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "os/net/udp_io.h"
#include "tests/unit/suite.h"

/* What the next calls of sendmmsg do: 0 as usual; an errno; PART: only the first message. */
#define PART -1
static struct {
    int plays[16];
    unsigned n, next, calls;
    size_t last_control;
} play;

int __real_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
    int what = play.next < play.n ? play.plays[play.next++] : 0;
    play.calls++;
    play.last_control = m[0].msg_hdr.msg_controllen;
    if (what > 0) {
        errno = what;
        return -1;
    }
    return __real_sendmmsg(fd, m, what == PART ? 1 : n, flags);
}

static struct address at(const char *host, uint16_t port)
{
    struct address a;
    ck_assert_int_eq(address_of(host, port, &a), 0);
    return a;
}

struct pair {
    struct udp_io *from, *to;
    struct udp_peer peer;
};

static void played(const int *plays, unsigned n)
{
    memset(&play, 0, sizeof play);
    for (unsigned i = 0; i < n; i++)
        play.plays[i] = plays[i];
    play.n = n;
}

#define PLAY(...)                                                                                  \
    played((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void pair_init(struct pair *p, bool segments)
{
    struct address any = at("127.0.0.1", 0);
    played(NULL, 0);
    ck_assert_int_eq(udp_open(&p->from, &any, segments), 0);
    ck_assert_int_eq(udp_open(&p->to, &any, segments), 0);
    uint64_t rx, tx;
    (void)udp_buffers(p->to, 4 << 20, 4 << 20, &rx, &tx);
    address_set_port(&any, udp_port(p->to));
    ck_assert_uint_ne(address_port(&any), 0);
    p->peer = (struct udp_peer){.address = any};
}

static void pair_fini(struct pair *p)
{
    udp_close(p->from);
    udp_close(p->to);
}

/* Datagram i: `size` bytes that follow from i, the first `head` of them as the head. */
static uint8_t byte_of(uint64_t i, size_t at)
{
    return (uint8_t)(i * 31 + at * 7 + (at >> 8));
}

static uint8_t scratch[70000];

/* The borrowed part lies in memory of the caller. */
static void add(struct pair *p, uint64_t i, size_t head, size_t size, uint8_t *data)
{
    ck_assert(udp_room(p->from, 2048));
    uint8_t *h = udp_head(p->from, 2048);
    for (size_t k = 0; k < size; k++)
        *(k < head ? h + k : data + (k - head)) = byte_of(i, k);
    udp_add(p->from, &p->peer, (uint32_t)head, slice_of(data, size - head));
}

#define LONG_MS 60000 /* a busy kernel may put off what it delivers */

static bool arrives(struct pair *p, struct slice *s, int wait_ms)
{
    while (!udp_next(p->to, s)) {
        struct pollfd f = {.fd = udp_fd(p->to), .events = POLLIN};
        if (poll(&f, 1, wait_ms) != 1)
            return false;
        (void)udp_fill(p->to, 256 * 1024);
    }
    return true;
}

static void expect(struct pair *p, uint64_t i, size_t size)
{
    struct slice s;
    ck_assert_msg(arrives(p, &s, LONG_MS), "datagram %llu is missing", (unsigned long long)i);
    ck_assert_uint_eq(s.len, size);
    size_t same = 0;
    while (same < size && s.data[same] == byte_of(i, same))
        same++;
    ck_assert_uint_eq(same, size);
}

static void expect_nothing(struct pair *p)
{
    struct slice s;
    ck_assert(!arrives(p, &s, 200));
}

/* Sizes as a link has them: runs of equal ones, a shorter last one, control segments between. */
static void mixed(bool segments)
{
    struct pair p;
    static uint8_t data[400][1024];
    size_t sizes[400];
    struct rng rng;
    rng_init(&rng, 1);
    pair_init(&p, segments);
    for (int round = 0; round < 20; round++) {
        int n = 0;
        while (n < 400 && udp_room(p.from, 2048)) {
            sizes[n] = rng_chance(&rng, 0.95) ? 1024 : 1 + rng_below(&rng, 1024);
            size_t head = sizes[n] < 30 ? sizes[n] : 25 + rng_below(&rng, 3);
            add(&p, (uint64_t)n, head, sizes[n], data[n]);
            n++;
        }
        ck_assert(udp_flush(p.from));
        ck_assert(!udp_pending(p.from));
        for (int i = 0; i < n; i++)
            expect(&p, (uint64_t)i, sizes[i]);
    }
    const struct udp_counters *tx = udp_counters(p.from), *rx = udp_counters(p.to);
    ck_assert_uint_eq(tx->tx_datagrams, rx->rx_datagrams);
    ck_assert_uint_eq(tx->tx_bytes, rx->rx_bytes);
    if (segments)
        ck_assert_uint_lt(tx->tx_calls, tx->tx_datagrams / 20);
    pair_fini(&p);
}

START_TEST(mixed_sizes_cut)
{
    mixed(true);
}
END_TEST

START_TEST(mixed_sizes_plain)
{
    mixed(false);
}
END_TEST

/* Batches of two senders that the kernel may put together: each datagram has its own source. */
START_TEST(sources)
{
    struct pair p, other;
    struct slice s;
    unsigned seen[2] = {0, 0};
    pair_init(&p, true);
    pair_init(&other, true);
    other.peer = p.peer;
    for (uint64_t i = 0; i < 300; i++) {
        add(i / 10 % 2 == 0 ? &p : &other, i / 10 % 2, 20, 500, scratch + (i % 10) * 500);
        if (i % 10 == 9)
            ck_assert(udp_flush((i / 10 % 2 == 0 ? &p : &other)->from));
    }
    while (seen[0] + seen[1] < 300 && arrives(&p, &s, LONG_MS)) {
        int which = s.data[0] == byte_of(1, 0);
        struct address from = at("127.0.0.1", udp_port(which ? other.from : p.from));
        ck_assert(slice_equal(address_bytes(udp_from(p.to)), address_bytes(&from)));
        seen[which]++;
    }
    ck_assert(seen[0] == 150 && seen[1] == 150);
    pair_fini(&p);
    pair_fini(&other);
}
END_TEST

START_TEST(longest_and_empty)
{
    struct pair p;
    static uint8_t data[65507];
    pair_init(&p, true);
    add(&p, 0, 7, 65507, data);
    ck_assert(udp_flush(p.from));
    expect(&p, 0, 65507);
    struct mmsghdr empty = {
        .msg_hdr = {.msg_name = &p.peer.address, .msg_namelen = address_len(&p.peer.address)}};
    ck_assert_int_eq(__real_sendmmsg(udp_fd(p.from), &empty, 1, 0), 1);
    expect(&p, 0, 0);
    pair_fini(&p);
}
END_TEST

static void send_ten(struct pair *p)
{
    for (uint64_t i = 0; i < 10; i++)
        add(p, i, 20, i == 9 ? 300 : 500, scratch + i * 500);
}

static void expect_ten(struct pair *p)
{
    for (uint64_t i = 0; i < 10; i++)
        expect(p, i, i == 9 ? 300 : 500);
    expect_nothing(p);
    ck_assert_uint_eq(udp_counters(p->from)->tx_datagrams, 10);
    ck_assert_uint_eq(udp_counters(p->from)->tx_bytes, 9 * 500 + 300);
}

START_TEST(full_socket_keeps_the_batch)
{
    struct pair p;
    pair_init(&p, true);
    send_ten(&p);
    PLAY(EAGAIN, EAGAIN, ENOBUFS);
    ck_assert(!udp_flush(p.from));
    ck_assert(udp_pending(p.from));
    ck_assert(!udp_room(p.from, 100));
    memset(scratch, 0, sizeof scratch); /* the blocks may change now */
    ck_assert(!udp_flush(p.from));
    ck_assert(!udp_flush(p.from));
    expect_nothing(&p);
    ck_assert(udp_flush(p.from));
    ck_assert(!udp_pending(p.from));
    expect_ten(&p);
    ck_assert_uint_eq(udp_counters(p.from)->tx_blocked, 3);
    pair_fini(&p);
}
END_TEST

START_TEST(full_socket_in_the_middle)
{
    struct pair p;
    pair_init(&p, false); /* datagram by datagram: one goes, then the socket is full */
    send_ten(&p);
    PLAY(PART, EAGAIN, PART, EINTR, EAGAIN);
    ck_assert(!udp_flush(p.from));
    memset(scratch, 0, sizeof scratch);
    ck_assert(!udp_flush(p.from));
    ck_assert(udp_flush(p.from));
    expect_ten(&p);
    pair_fini(&p);
}
END_TEST

START_TEST(route_that_does_not_cut)
{
    static const int refusals[] = {EINVAL, EIO, EMSGSIZE};
    for (int i = 0; i < 3; i++) {
        struct pair p;
        pair_init(&p, true);
        send_ten(&p);
        PLAY(refusals[i]);
        ck_assert(udp_flush(p.from));
        ck_assert(p.peer.plain);
        expect_ten(&p);
        ck_assert_uint_eq(udp_counters(p.from)->tx_plain, 1);
        ck_assert_uint_eq(udp_counters(p.from)->tx_errors, 0);
        add(&p, 1, 20, 500, scratch);
        add(&p, 2, 20, 500, scratch + 500);
        ck_assert(udp_flush(p.from));
        ck_assert_uint_eq(play.last_control, 0); /* it was not tried again */
        expect(&p, 1, 500);
        expect(&p, 2, 500);
        pair_fini(&p);
    }
}
END_TEST

START_TEST(refusals_are_counted)
{
    struct pair p;
    pair_init(&p, true);
    send_ten(&p);
    PLAY(ECONNREFUSED, ECONNREFUSED); /* tells of the past; this batch goes */
    ck_assert(udp_flush(p.from));
    expect_ten(&p);
    ck_assert_uint_eq(udp_counters(p.from)->tx_refused, 2);
    send_ten(&p);
    PLAY(EPERM);
    ck_assert(udp_flush(p.from));
    ck_assert_uint_eq(udp_counters(p.from)->tx_errors, 10);
    expect_nothing(&p);
    add(&p, 0, 20, 100, scratch);
    PLAY(EINVAL); /* a lone datagram was not to be cut: that is another refusal */
    ck_assert(udp_flush(p.from));
    ck_assert(!p.peer.plain);
    ck_assert_uint_eq(udp_counters(p.from)->tx_errors, 11);
    pair_fini(&p);
}
END_TEST

/* A socket with one peer hears that nobody is there, from the kernel itself. */
START_TEST(a_peer_that_is_not_there)
{
    struct pair p;
    pair_init(&p, true);
    ck_assert_int_eq(udp_connect(p.from, &p.peer.address), 0);
    udp_add(p.from, &p.peer, 0, slice_of("there", 5));
    ck_assert(udp_flush(p.from));
    ck_assert_uint_eq(udp_counters(p.from)->tx_refused, 0);
    udp_close(p.to);
    p.to = NULL;
    for (int i = 0; i < 2; i++) { /* the answer to the first comes with the second */
        udp_add(p.from, &p.peer, 0, slice_of("gone", 4));
        ck_assert(udp_flush(p.from));
    }
    ck_assert_uint_eq(udp_counters(p.from)->tx_refused, 1);
    pair_fini(&p);
}
END_TEST

START_TEST(forgotten_peer)
{
    struct pair p;
    pair_init(&p, true);
    struct udp_peer other = p.peer;
    send_ten(&p);
    uint8_t *h = udp_head(p.from, 100);
    for (size_t k = 0; k < 100; k++)
        h[k] = byte_of(77, k);
    udp_add(p.from, &other, 100, slice_of(NULL, 0));
    PLAY(EAGAIN);
    ck_assert(!udp_flush(p.from));
    udp_forget(p.from, &p.peer);
    ck_assert(udp_pending(p.from));
    ck_assert(udp_flush(p.from));
    expect(&p, 77, 100);
    expect_nothing(&p);
    send_ten(&p);
    PLAY(EAGAIN);
    ck_assert(!udp_flush(p.from));
    udp_forget(p.from, &p.peer);
    ck_assert(!udp_pending(p.from));
    pair_fini(&p);
}
END_TEST

START_TEST(overflow_is_seen)
{
    struct pair p;
    pair_init(&p, false);
    static uint8_t data[1024];
    for (int round = 0; round < 100; round++) { /* 50 MB into a socket of some 4 to 8 MB */
        for (int i = 0; i < 500; i++) {
            if (!udp_room(p.from, 2048))
                ck_assert(udp_flush(p.from));
            add(&p, 0, 20, 1024, data);
        }
        ck_assert(udp_flush(p.from));
    }
    struct slice s;
    uint64_t got = 0;
    while (arrives(&p, &s, 200))
        got++;
    ck_assert_uint_lt(got, 50000);
    add(&p, 0, 20, 1024, data); /* the kernel tells of drops with the next datagram */
    ck_assert(udp_flush(p.from));
    ck_assert(arrives(&p, &s, LONG_MS));
    ck_assert_uint_eq(udp_counters(p.to)->rx_socket_drops, 50000 - got);
    pair_fini(&p);
}
END_TEST

/* The class of service of the datagram that comes next, as the kernel got it. */
static int class_of_next(struct pair *p, bool v6)
{
    _Alignas(8) uint8_t control[256];
    uint8_t bytes[2048];
    struct iovec v = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr h = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct pollfd f = {.fd = udp_fd(p->to), .events = POLLIN};
    ck_assert_int_eq(poll(&f, 1, LONG_MS), 1);
    ck_assert_int_gt(recvmsg(udp_fd(p->to), &h, 0), 0);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c != NULL; c = CMSG_NXTHDR(&h, c)) {
        int value = 0;
        if (!v6 && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
            return *CMSG_DATA(c);
        if (v6 && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            memcpy(&value, CMSG_DATA(c), sizeof value);
            return value;
        }
    }
    return -1;
}

/* Peers of one socket have each their own, cut by the kernel or not. */
static void classes(bool v6, bool segments)
{
    struct pair p;
    static uint8_t data[6][1024];
    struct address any = at(v6 ? "::1" : "127.0.0.1", 0);
    played(NULL, 0);
    ck_assert_int_eq(udp_open(&p.from, &any, segments), 0);
    ck_assert_int_eq(udp_open(&p.to, &any, segments), 0);
    address_set_port(&any, udp_port(p.to));
    struct udp_peer usual = {.address = any}, urgent = {.address = any, .dscp = 46};
    int on = 1, off = 0;
    ck_assert_int_eq(setsockopt(udp_fd(p.to), v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                v6 ? IPV6_RECVTCLASS : IP_RECVTOS, &on, sizeof on),
                     0);
    ck_assert_int_eq(setsockopt(udp_fd(p.to), SOL_UDP, UDP_GRO, &off, sizeof off), 0);
    for (int i = 0; i < 6; i++) { /* a run of two, one alone, and once more */
        p.peer = usual;
        uint8_t *h = udp_head(p.from, 2048);
        memset(h, 7, 20);
        udp_add(p.from, i / 3 == 0 ? &urgent : &usual, 20,
                slice_of(data[i], i % 3 == 2 ? 100 : 1000));
    }
    ck_assert(udp_flush(p.from));
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(class_of_next(&p, v6), i / 3 == 0 ? 46 << 2 : 0);
    pair_fini(&p);
}

START_TEST(class_of_service)
{
    for (int i = 0; i < 4; i++)
        classes(i / 2 == 1, i % 2 == 1);
}
END_TEST

START_TEST(addresses_that_are_not_ours)
{
    struct udp_io *io;
    struct address elsewhere = at("192.0.2.1", 5), none = {.sa = {.sa_family = AF_UNSPEC}};
    ck_assert_int_eq(udp_open(&io, &elsewhere, true), helio_from_errno(EADDRNOTAVAIL));
    ck_assert_int_eq(udp_open(&io, &none, true), helio_from_errno(EAFNOSUPPORT));
    udp_close(NULL);
}
END_TEST

SUITE(os_udp, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, mixed_sizes_cut);
    tcase_add_test(t, mixed_sizes_plain);
    tcase_add_test(t, sources);
    tcase_add_test(t, longest_and_empty);
    tcase_add_test(t, full_socket_keeps_the_batch);
    tcase_add_test(t, full_socket_in_the_middle);
    tcase_add_test(t, route_that_does_not_cut);
    tcase_add_test(t, refusals_are_counted);
    tcase_add_test(t, forgotten_peer);
    tcase_add_test(t, a_peer_that_is_not_there);
    tcase_add_test(t, overflow_is_seen);
    tcase_add_test(t, addresses_that_are_not_ours);
    tcase_add_test(t, class_of_service);
}
