/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links over real sockets of the loopback: bundles arrive once and equal, red and green, over IPv4
 * and IPv6, cut by the kernel or not; the rate is kept; a peer may come late; the node's word
 * decides what the peer hears. Timeouts are long, so that a slow machine makes a test slow, not
 * red.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "ltp/segment.h"
#include "tests/unit/stalls.h"
#include "uv_scene.h"

/* 200 bundles in each direction at once. */
static void exchange(const char *host, bool confirm, const char *const *pairs)
{
    struct scene *w = scene_new(host, pairs);
    w->confirm = confirm;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = w->b.total = 200;
    end_send(&w->a);
    end_send(&w->b);
    RUN_UNTIL(w,
              w->a.sent_ok == 200 && w->b.sent_ok == 200 && w->a.received == 200 &&
                  w->b.received == 200,
              30000);
    end_expect_all(&w->a, &w->b);
    end_expect_all(&w->b, &w->a);
    ck_assert(w->a.up && w->b.up);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_sent"), 200);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_received"), 200);
    ck_assert_uint_eq(rig_status(w->b.link, "socket_drops"), 0);
    scene_free(w);
}

START_TEST(red)
{
    exchange("127.0.0.1", false, NULL);
}
END_TEST

START_TEST(red_confirmed)
{
    exchange("127.0.0.1", true, NULL);
}
END_TEST

START_TEST(green)
{
    exchange("127.0.0.1", true, (const char *const[]){"colour", "green", NULL});
}
END_TEST

START_TEST(over_ipv6)
{
    exchange("[::1]", false, NULL);
}
END_TEST

START_TEST(not_cut_by_the_kernel)
{
    exchange("127.0.0.1", false, (const char *const[]){"batch", "no", NULL});
}
END_TEST

START_TEST(long_segments)
{
    exchange("127.0.0.1", false, (const char *const[]){"segment", "65000B", NULL});
}
END_TEST

START_TEST(short_segments)
{
    exchange("127.0.0.1", false, (const char *const[]){"segment", "64B", "sessions", "3", NULL});
}
END_TEST

START_TEST(window_is_full)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"sessions", "4", NULL});
    end_open(w, &w->a, 1, 2);
    w->a.total = 10;
    ck_assert_uint_eq(w->a.link->limits.window, 4);
    end_send(&w->a);
    ck_assert_uint_eq(w->a.next, 4);
    scene_free(w);
}
END_TEST

/* A slow link and a far peer: the number of sessions grows until they fill the link, which the
 * sender hears of. */
START_TEST(sessions_by_themselves)
{
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"sessions", "auto", "rate", "100Mbit/s",
                                                     "report_delay", "30ms", "rto", "500ms", NULL});
    w->size_max = 50000; /* 2 ms of the link each, on average */
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    ck_assert_uint_eq(w->a.link->limits.window, 2);
    w->a.total = 300;
    end_send(&w->a);
    ck_assert_uint_eq(w->a.next, 2);
    RUN_UNTIL(w, w->a.sent_ok == 300, 30000);
    end_expect_all(&w->a, &w->b);
    ck_assert_uint_ge(w->a.link->limits.window, 8);
    ck_assert_uint_ge(w->a.windows, 6);
    ck_assert_uint_eq(rig_status(w->a.link, "window"), w->a.link->limits.window);
    scene_free(w);
}
END_TEST

START_TEST(peer_comes_late)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"sessions", "8", NULL});
    end_open(w, &w->a, 1, 2);
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_failed > 0, 300);
    ck_assert_uint_eq(w->a.sent_ok + w->a.sent_failed, 0);
    end_open(w, &w->b, 2, 1);
    RUN_UNTIL(w, w->a.sent_ok == 20, 20000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

START_TEST(peer_never_comes)
{
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"retries", "2", "rto", "10ms", NULL});
    end_open(w, &w->a, 1, 2);
    w->a.total = 3;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 3, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 3);
    ck_assert_uint_eq(w->a.outcomes[CLA_FAILED], 3);
    ck_assert_uint_eq(w->a.reasons[CLA_REASON_NO_ANSWER], 3);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_failed"), 3);
    scene_free(w);
}
END_TEST

START_TEST(link_down_and_up)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"state", "down", NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->b.link->ops->set_link(w->b.link, true);
    w->a.total = 5;
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received > 0, 200);
    ck_assert(!w->a.up && w->b.up);
    ck_assert_uint_eq(rig_status(w->a.link, "datagrams_tx"), 0);
    w->a.link->ops->set_link(w->a.link, true);
    RUN_UNTIL(w, w->a.sent_ok == 5, 20000);
    ck_assert(w->a.up);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * TICK_S + (uint64_t)t.tv_nsec;
}

/* What waits for a link that is down costs no time of the processor. */
START_TEST(link_down_with_data)
{
    const char *const slow[] = {"rate", "10Mbit/s", NULL};
    struct scene *w = scene_new("127.0.0.1", _i == 0 ? slow : NULL);
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 5;
    end_send(&w->a);
    if (_i == 0)
        RUN_UNTIL(w, rig_status(w->a.link, "datagrams_tx") > 0, 20000);
    w->a.link->ops->set_link(w->a.link, false);
    RUN_UNTIL(w, !w->a.up, 1000);
    uint64_t before = cpu_ns();
    RUN_UNTIL(w, w->b.received == 5, 500);
    ck_assert_uint_lt(cpu_ns() - before, 150 * TICK_MS);
    ck_assert_uint_lt(w->b.received, 5);
    w->a.link->ops->set_link(w->a.link, true);
    RUN_UNTIL(w, w->a.sent_ok == 5, 20000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

START_TEST(acceptance_is_awaited)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    w->confirm = w->hold = true;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 1;
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received == 1, 20000);
    RUN_UNTIL(w, w->a.sent_ok > 0, 100);
    ck_assert_uint_eq(w->a.sent_ok, 0);
    w->b.link->ops->confirm(w->b.link, w->b.tokens[0] + 1, CLA_ACCEPTED); /* no such token */
    w->b.link->ops->confirm(w->b.link, w->b.tokens[0], CLA_ACCEPTED);
    RUN_UNTIL(w, w->a.sent_ok == 1, 20000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

START_TEST(refusal_is_told)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    w->confirm = true;
    w->b.refuse = true;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 7;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 7, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 7);
    ck_assert_uint_eq(w->a.outcomes[CLA_REFUSED], 7);
    ck_assert_uint_eq(w->a.reasons[CLA_REASON_PEER_REFUSED], 7);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_refused"), 7);
    scene_free(w);
}
END_TEST

static int open_text(struct scene *w, struct end *e, uint64_t own, uint64_t peer, char why[256])
{
    struct cla *c;
    struct cla_env env = end_env(w, e, own, peer);
    return cla_find("ltp-udp")->open(&c, &env, &e->config, why, 256);
}

START_TEST(what_open_refuses)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    char why[256];
    end_open(w, &w->a, 1, 2);
    struct end other = {.config = w->a.config};
    ck_assert_int_eq(helio_errno(open_text(w, &other, 3, 2, why)), EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(why, "in use"));
    w->a.config.engine = 0;
    ck_assert_int_eq(open_text(w, &other, 0, 2, why), HELIO_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "engine"));
    ck_assert_int_eq(open_text(w, &other, 1, 0, why), HELIO_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "peer_engine"));
    other.shared = w->a.shared; /* as a second link of the same node */
    ck_assert_int_eq(open_text(w, &other, 9, 3, why), HELIO_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "engine number 1"));
    ck_assert_int_eq(open_text(w, &other, 1, 2, why), HELIO_EEXIST);
    ck_assert_ptr_nonnull(strstr(why, "peer_engine"));
    scene_free(w);
}
END_TEST

/* Node 1 has one address and two peers; closing one link leaves the other. */
START_TEST(links_share_an_address)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    struct scene *v = scene_new("127.0.0.1", NULL); /* node 3 and node 1's link to it, same loop */
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    v->a.config.udp.local = v->b.config.udp.remote.address = w->a.config.udp.local;
    v->a.shared = w->a.shared;
    v->a.world = v->b.world = w;
    struct cla_env env = end_env(w, &v->a, 1, 3);
    v->a.link = rig_open(&v->a.config, &env);
    env = end_env(w, &v->b, 3, 1);
    v->b.link = rig_open(&v->b.config, &env);
    w->a.total = v->a.total = v->b.total = 50;
    end_send(&w->a);
    end_send(&v->a);
    end_send(&v->b);
    RUN_UNTIL(w, w->a.sent_ok == 50 && v->a.sent_ok == 50 && v->b.sent_ok == 50, 20000);
    end_expect_all(&w->a, &w->b);
    end_expect_all(&v->a, &v->b);
    end_expect_all(&v->b, &v->a);
    ck_assert_uint_eq(rig_status(w->a.link, "local_port"), rig_status(v->a.link, "local_port"));
    v->a.link->ops->close(v->a.link, end_closed, &v->a);
    w->a.total = 80;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 80 && v->a.closed, 20000);
    ck_assert(v->a.closed);
    end_expect_all(&w->a, &w->b);
    v->b.link->ops->close(v->b.link, end_closed, &v->b);
    scene_free(w);
    uv_close((uv_handle_t *)&v->timer, NULL);
    uv_world_end(v->world);
    uv_world_run(v->world);
    ck_assert_int_eq(uv_world_free(v->world), 0);
    ck_assert(v->b.closed);
    rig_config_free(&v->a.config);
    rig_config_free(&v->b.config);
    free(v);
}
END_TEST

/* The part of the rate that was sent in two seconds. Only where the machine stalled, what it cost
 * counts as well: what the link tells as lost, for it was longer than the slack, as far as threads
 * that only sleep were late, too. A process may be so for longer than they. */
static double share_of_rate(void)
{
    struct stalls stalls;
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"rate", "20Mbit/s", "sessions",
                                                                   "64", "slack", "20ms", NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = BUNDLES_MAX;
    end_send(&w->a);
    RUN_UNTIL(w, false, 200);
    stalls_begin(&stalls);
    uint64_t t0 = uv_hrtime(), air0 = rig_status(w->a.link, "air_bytes");
    uint64_t lost0 = rig_status(w->a.link, "credit_lost");
    RUN_UNTIL(w, false, 2000);
    uint64_t t1 = uv_hrtime(), air1 = rig_status(w->a.link, "air_bytes");
    double lost = (double)(rig_status(w->a.link, "credit_lost") - lost0);
    bool stalled = stalls_end(&stalls);
    double bps = (double)(air1 - air0) * 8e9 / (double)(t1 - t0);
    ck_assert_msg(bps <= 20.4e6, "%.0f bit/s", bps);
    ck_assert_uint_gt(air1, air0);
    double most = 20e6 / 8e9 * (3 * (double)atomic_load(&stalls.sum) + 20 * (double)TICK_MS);
    if (stalled)
        bps += (lost < most ? lost : most) * 8e9 / (double)(t1 - t0);
    scene_free(w);
    return bps / 20e6;
}

/* Air bytes against the clock: the best of some tries counts; none may be too fast. */
START_TEST(rate_is_kept)
{
    double best = 0;
    for (int attempt = 0; attempt < 10 && best < 0.98; attempt++) {
        double share = share_of_rate();
        best = share > best ? share : best;
    }
    ck_assert_msg(best >= 0.98 && best <= 1.02, "%.3f of the rate", best);
}
END_TEST

/* Nothing to do costs nothing: no timer or descriptor turns the loop for ever. */
START_TEST(rest_is_rest)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"rate", "50Mbit/s", NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 20, 20000);
    uv_timer_start(&w->timer, scene_tick, 500, 500);
    int turns = 0;
    for (uint64_t end = uv_hrtime() + 400 * TICK_MS; uv_hrtime() < end; turns++)
        uv_run(w->loop, UV_RUN_ONCE);
    ck_assert_int_lt(turns, 50);
    scene_free(w);
}
END_TEST

/* The last segment that a plain socket got: our checkpoint. */
static bool take_checkpoint(int fd, struct ltp_segment *s)
{
    static uint8_t bytes[2000];
    bool found = false;
    for (ssize_t n; !found && (n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
        found = segment_parse(s, bytes, (size_t)n) == VERDICT_OK && segment_is_checkpoint(s);
    return found;
}

static void report_all(int fd, uint16_t port, const struct ltp_segment *checkpoint)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct ltp_segment s = {.type = LTP_RS,
                            .id = checkpoint->id,
                            .rpt_serial = 7,
                            .cp_serial = checkpoint->cp_serial,
                            .upper = checkpoint->offset + checkpoint->data.len,
                            .claim_count = 1};
    struct range claim = {0, s.upper};
    uint8_t bytes[100];
    size_t len = segment_write_report(&s, &claim, bytes, sizeof bytes);
    ck_assert_int_eq(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof to), (ssize_t)len);
}

/* The process stands still for longer than the timer; the answer came in the meantime. */
START_TEST(answers_before_timers)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){"recovery", "plain", NULL});
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct ltp_segment checkpoint = {0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    at.sin_port = htons(address_port(&w->a.config.udp.remote.address));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    end_open(w, &w->a, 1, 2);
    w->a.total = 1;
    end_send(&w->a);
    RUN_UNTIL(w, take_checkpoint(fd, &checkpoint), 5000);
    ck_assert(segment_is_checkpoint(&checkpoint));
    uint64_t before = rig_timers(w->a.link, "checkpoint");
    usleep(120000); /* rto: 50 ms */
    report_all(fd, address_port(&w->a.config.udp.local), &checkpoint);
    RUN_UNTIL(w, w->a.sent_ok == 1, 5000);
    ck_assert_uint_eq(w->a.sent_ok, 1);
    ck_assert_uint_eq(rig_timers(w->a.link, "checkpoint"), before);
    close(fd);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ltp-udp");
    TCase *t = tcase_create("links");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, red);
    tcase_add_test(t, red_confirmed);
    tcase_add_test(t, green);
    tcase_add_test(t, over_ipv6);
    tcase_add_test(t, not_cut_by_the_kernel);
    tcase_add_test(t, long_segments);
    tcase_add_test(t, short_segments);
    tcase_add_test(t, window_is_full);
    tcase_add_test(t, sessions_by_themselves);
    tcase_add_test(t, peer_comes_late);
    tcase_add_test(t, peer_never_comes);
    tcase_add_test(t, link_down_and_up);
    tcase_add_loop_test(t, link_down_with_data, 0, 2);
    tcase_add_test(t, acceptance_is_awaited);
    tcase_add_test(t, refusal_is_told);
    tcase_add_test(t, what_open_refuses);
    tcase_add_test(t, links_share_an_address);
    tcase_add_test(t, rate_is_kept);
    tcase_add_test(t, rest_is_rest);
    tcase_add_test(t, answers_before_timers);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
