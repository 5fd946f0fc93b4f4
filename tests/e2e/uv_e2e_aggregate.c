/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several bundles in one block (CCSDS 734.1-B-1, client service 2) over real sockets: they arrive
 * once and equal in far fewer sessions, wait no longer than they may, and the peer's word on each
 * of them decides about all.
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "ltp/sda.h"
#include "uv_scene.h"

/* Only the sender aggregates; the receiver takes what comes. */
static struct scene *one_way(uint64_t size_max, const char *const *pairs)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    w->framed = true;
    w->size_max = size_max;
    end_configure(&w->a, "127.0.0.1", address_port(&w->a.config.udp.local),
                  address_port(&w->a.config.udp.remote.address), pairs);
    return w;
}

static void open_both(struct scene *w)
{
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
}

static void small_ones(bool confirm, const char *colour)
{
    struct scene *w =
        one_way(200, (const char *const[]){"aggregate", "16kB", "colour", colour, NULL});
    w->confirm = confirm;
    open_both(w);
    w->a.total = 1000;
    ck_assert_uint_eq(w->a.link->limits.window, 1024);
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 1000 && w->b.received == 1000, 30000);
    end_expect_all(&w->a, &w->b);
    uint64_t blocks = rig_status(w->a.link, "aggregates_sent");
    ck_assert_uint_ge(blocks, 1000 * 112 / 16000);
    ck_assert_uint_le(rig_status(w->a.link, "sessions_opened_export"), 100);
    ck_assert_uint_eq(rig_status(w->b.link, "aggregates_received"), blocks);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_sent"), 1000);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_received"), 1000);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_waiting"), 0);
    scene_free(w);
}

START_TEST(red)
{
    small_ones(false, "red");
}
END_TEST

START_TEST(red_confirmed)
{
    small_ones(true, "red");
}
END_TEST

START_TEST(green)
{
    small_ones(true, "green");
}
END_TEST

START_TEST(long_ones_among_them)
{
    struct scene *w = one_way(60000, (const char *const[]){"aggregate", "64kB", NULL});
    w->confirm = true;
    open_both(w);
    w->a.total = w->b.total = 200;
    end_send(&w->a);
    end_send(&w->b);
    RUN_UNTIL(w,
              w->a.sent_ok == 200 && w->b.sent_ok == 200 && w->a.received == 200 &&
                  w->b.received == 200,
              30000);
    end_expect_all(&w->a, &w->b);
    end_expect_all(&w->b, &w->a);
    ck_assert_uint_gt(rig_status(w->a.link, "aggregates_sent"), 0);
    ck_assert_uint_eq(rig_status(w->b.link, "aggregates_sent"), 0);
    scene_free(w);
}
END_TEST

START_TEST(a_single_one_is_no_aggregate)
{
    struct scene *w = one_way(200, (const char *const[]){"aggregate", "16kB", NULL});
    open_both(w);
    w->a.total = 1;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 1, 20000);
    end_expect_all(&w->a, &w->b);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 0);
    scene_free(w);
}
END_TEST

START_TEST(what_has_no_end_goes_alone)
{
    struct scene *w = one_way(200, (const char *const[]){"aggregate", "16kB", NULL});
    w->framed = false;
    open_both(w);
    w->a.total = 50;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 50, 20000);
    end_expect_all(&w->a, &w->b);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 0);
    scene_free(w);
}
END_TEST

/* The first one waits for company its time; the second ends the wait by filling the block. */
START_TEST(waits_its_time)
{
    struct scene *w =
        one_way(200, (const char *const[]){"aggregate", "16kB", "aggregate_time", "300ms", NULL});
    open_both(w);
    w->a.total = 3;
    uint64_t start = uv_hrtime();
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received == 3, 20000);
    ck_assert_uint_ge(uv_hrtime() - start, 300 * TICK_MS);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 1);
    RUN_UNTIL(w, w->a.sent_ok == 3, 20000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

START_TEST(a_full_block_does_not_wait)
{
    struct scene *w =
        one_way(200, (const char *const[]){"aggregate", "2kB", "aggregate_time", "1h", NULL});
    open_both(w);
    w->a.total = 200;
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received > 170, 20000);
    ck_assert_uint_gt(w->b.received, 170);
    RUN_UNTIL(w, w->b.received == 200, 100);
    ck_assert_uint_lt(w->b.received, 200); /* the last block is not full */
    ck_assert_uint_gt(rig_status(w->a.link, "bundles_waiting"), 0);
    scene_free(w);
}
END_TEST

/* Three bundles of one block, whose confirmations the test holds back. */
static struct scene *three_held(void)
{
    struct scene *w = one_way(200, (const char *const[]){"aggregate", "16kB", NULL});
    w->confirm = w->hold = true;
    open_both(w);
    w->a.total = 3;
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received == 3, 20000);
    ck_assert_uint_eq(w->b.received, 3);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 1);
    return w;
}

static void answer(struct scene *w, uint32_t number, bool ok)
{
    w->b.link->ops->confirm(w->b.link, w->b.tokens[number], ok ? CLA_ACCEPTED : CLA_FULL);
}

START_TEST(all_are_awaited)
{
    struct scene *w = three_held();
    answer(w, 2, true);
    answer(w, 0, true);
    RUN_UNTIL(w, w->a.sent_ok > 0, 100);
    ck_assert_uint_eq(w->a.sent_ok, 0);
    answer(w, 1, true);
    RUN_UNTIL(w, w->a.sent_ok == 3, 20000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

START_TEST(one_is_refused)
{
    struct scene *w = three_held();
    answer(w, 0, true);
    answer(w, 1, false);
    answer(w, 1, true); /* too late */
    answer(w, 2, true);
    RUN_UNTIL(w, w->a.sent_failed == 3, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 3);
    ck_assert_uint_eq(w->a.sent_ok, 0);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_refused"), 1);
    w->hold = false;
    w->a.total = 6; /* as many go alone, so that the refused one does not hold up the others */
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 3, 20000);
    ck_assert_uint_eq(w->a.sent_ok, 3);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 1);
    w->a.total = 9;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 6, 20000);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 2);
    scene_free(w);
}
END_TEST

/* A peer that has client service 1 only: an engine and a socket. */
struct old_peer {
    int fd;
    struct ltp *engine;
    uint16_t to;
    uint32_t blocks;
};

static void old_peer_open(struct old_peer *o, const struct scene *w)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(address_port(&w->b.config.udp.local)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct ltp_config config = {.engine = 2, .seed = 9};
    struct ltp_span span = {.peer = 1, .rto = 50 * TICK_MS};
    *o = (struct old_peer){.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0),
                           .to = address_port(&w->a.config.udp.local)};
    ck_assert_int_eq(bind(o->fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(ltp_new(&o->engine, &config), 0);
    ck_assert_int_eq(ltp_span_set(o->engine, &span, 0), 0);
    ck_assert_int_eq(ltp_link(o->engine, 1, true, 0), 0);
}

/* True when all that was sent was answered by now and there are so many blocks. */
static bool old_peer_turn(struct old_peer *o, uint32_t blocks)
{
    uint8_t bytes[65536];
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(o->to), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ssize_t len;
    struct ltp_notice n;
    while ((len = recv(o->fd, bytes, sizeof bytes, 0)) > 0)
        ltp_input(o->engine, bytes, (size_t)len, uv_hrtime());
    while (ltp_poll(o->engine, &n) != 0) {
        o->blocks += n.kind == LTP_BLOCK;
        buf_drop(n.data);
    }
    struct ltp_out out = {.head = bytes, .head_cap = sizeof bytes};
    while (ltp_output(o->engine, 1, uv_hrtime(), &out) != 0) {
        if (out.data.len > 0)
            memcpy(bytes + out.head_len, out.data.data, out.data.len);
        sendto(o->fd, bytes, out.head_len + out.data.len, 0, (struct sockaddr *)&to, sizeof to);
    }
    return o->blocks >= blocks;
}

START_TEST(peer_without_the_service)
{
    struct scene *w = one_way(200, (const char *const[]){"aggregate", "16kB", NULL});
    struct old_peer o;
    old_peer_open(&o, w);
    end_open(w, &w->a, 1, 2);
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, old_peer_turn(&o, 1) || w->a.sent_failed == 20, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 20);
    ck_assert_uint_eq(w->a.said, 1 + (w->a.said > 1)); /* and perhaps of socket buffers */
    ck_assert_ptr_nonnull(strstr(w->a.said_text, "one bundle per block"));
    w->a.total = 50;
    end_send(&w->a);
    RUN_UNTIL(w, old_peer_turn(&o, 30) && w->a.sent_ok == 30, 20000);
    ck_assert_uint_eq(w->a.sent_ok, 30);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_sent"), 1);
    close(o.fd);
    ltp_free(o.engine);
    scene_free(w);
}
END_TEST

static void old_peer_send(struct old_peer *o, struct buf *data)
{
    struct ltp_block block = {
        .peer = 1, .client_service = LTP_SERVICE_BUNDLES, .data = data, .red_len = data->len};
    struct ltp_session_id id;
    ck_assert_int_eq(ltp_send(o->engine, &block, uv_hrtime(), &id), 0);
    buf_drop(data);
}

/* Bundles one behind the other in a block of client service 1, as ION aggregates them. */
static struct buf *row(uint32_t first, uint32_t count, size_t more)
{
    struct buf *block = buf_new(0, 16384);
    for (uint32_t i = first; i < first + count; i++) {
        struct buf *b = scene_bundle(i, 200);
        memcpy(buf_append(block, b->len), buf_slice(b).data, b->len);
        buf_drop(b);
    }
    memset(buf_append(block, more), 7, more);
    return block;
}

START_TEST(rows_of_client_service_1)
{
    struct scene *w = one_way(200, NULL);
    struct old_peer o;
    w->confirm = true;
    old_peer_open(&o, w);
    end_open(w, &w->a, 1, 2);
    old_peer_send(&o, row(0, 30, 0));
    RUN_UNTIL(w, old_peer_turn(&o, 1) || w->a.received == 30, 20000);
    ck_assert_uint_eq(w->a.received, 30);
    ck_assert_uint_eq(w->a.wrong, 0);
    for (uint32_t i = 0; i < 30; i++)
        ck_assert_uint_eq(w->a.seen[i], 1);
    ck_assert_uint_eq(rig_status(w->a.link, "aggregates_received"), 1);
    old_peer_send(&o, row(30, 2, 1)); /* not bundles to its end: the node judges all of it */
    RUN_UNTIL(w, old_peer_turn(&o, 1) || w->a.received == 31, 20000);
    ck_assert_uint_eq(w->a.received, 31);
    ck_assert_uint_eq(w->a.wrong, 1);
    close(o.fd);
    ltp_free(o.engine);
    scene_free(w);
}
END_TEST

START_TEST(closed_while_held)
{
    struct scene *w = three_held();
    answer(w, 0, true);
    w->a.total = 60;
    end_send(&w->a);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("e2e_aggregate");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 90);
    tcase_add_test(c, red);
    tcase_add_test(c, red_confirmed);
    tcase_add_test(c, green);
    tcase_add_test(c, long_ones_among_them);
    tcase_add_test(c, a_single_one_is_no_aggregate);
    tcase_add_test(c, what_has_no_end_goes_alone);
    tcase_add_test(c, waits_its_time);
    tcase_add_test(c, a_full_block_does_not_wait);
    tcase_add_test(c, all_are_awaited);
    tcase_add_test(c, one_is_refused);
    tcase_add_test(c, peer_without_the_service);
    tcase_add_test(c, rows_of_client_service_1);
    tcase_add_test(c, closed_while_held);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
