/* SPDX-License-Identifier: Apache-2.0 */
/* Batches without a socket: every datagram comes to the carrier, in order and whole. */
#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "os/udp_io.h"

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
    struct udp_carrier c = {take, &s};
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
    struct udp_carrier c = {take, &s};
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

int main(void)
{
    Suite *s = suite_create("carried");
    TCase *t = tcase_create("carried");
    tcase_add_test(t, all_that_was_added_is_carried);
    tcase_add_test(t, what_arrives_is_read_once);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
