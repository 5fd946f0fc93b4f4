/* SPDX-License-Identifier: Apache-2.0 */
/* Senders that no link names: refused, or accepted and bound to the address that they came from. */
#include <arpa/inet.h>
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "ltp/segment.h"
#include "uv_scene.h"

/* b's link goes to node 9; a is node 1, and unknown to it. */
static struct scene *world_unknown(const char *host, const char *const *of_b)
{
    struct scene *w = scene_new(host, NULL);
    uint16_t b = address_port(&w->b.config.udp.local);
    w->confirm = true;
    end_configure(&w->b, host, b, rig_port(host[0] == '['), of_b);
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 9);
    return w;
}

static void transfer(const char *host)
{
    struct scene *w = world_unknown(host, (const char *const[]){"unknown.accept", "4", NULL});
    w->a.total = 200;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 200, 30000);
    end_expect_all(&w->a, &w->b);
    ck_assert_uint_eq(rig_status(w->b.link, "unknown_in"), 1);
    ck_assert_uint_eq(rig_status(w->b.link, "unknown_accepted"), 1);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_received"), 200);
    ck_assert_uint_eq(rig_verdict(w->b.link, "unknown_peer"), 0);
    scene_free(w);
}

START_TEST(accepted)
{
    transfer("127.0.0.1");
}
END_TEST

START_TEST(accepted_over_ipv6)
{
    transfer("[::1]");
}
END_TEST

START_TEST(refused_by_default)
{
    struct scene *w = world_unknown("127.0.0.1", NULL);
    w->a.total = 1;
    end_send(&w->a);
    RUN_UNTIL(w, rig_verdict(w->b.link, "unknown_peer") > 0, 10000);
    ck_assert_uint_gt(rig_verdict(w->b.link, "unknown_peer"), 0);
    ck_assert_uint_eq(w->b.received, 0);
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "no link has as peer are refused (1 so far)"));
    scene_free(w);
}
END_TEST

static void send_segment(int fd, uint16_t port, struct ltp_segment s)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    uint8_t bytes[100];
    size_t len = segment_write(&s, bytes, sizeof bytes);
    ck_assert_int_eq(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof to), (ssize_t)len);
}

static void send_from(int fd, uint16_t port, uint64_t engine, uint64_t number)
{
    send_segment(fd, port,
                 (struct ltp_segment){.type = LTP_RED_CP_EOB,
                                      .id = {engine, number},
                                      .client_service = 1,
                                      .data = slice_of("x", 1),
                                      .cp_serial = 1});
}

/* A node with this node's number: its data segments are reported, a cancel of a session that this
 * node has forgotten is not. */
START_TEST(own_number)
{
    struct scene *w = world_unknown("127.0.0.1", NULL);
    uint16_t port = address_port(&w->b.config.udp.local);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const uint32_t said = w->b.said;
    send_segment(fd, port, (struct ltp_segment){.type = LTP_CS, .id = {2, 7}});
    RUN_UNTIL(w, rig_verdict(w->b.link, "unknown_peer") == 1, 10000);
    ck_assert_uint_eq(w->b.said, said);
    send_from(fd, port, 2, 1);
    send_from(fd, port, 2, 2);
    RUN_UNTIL(w, rig_verdict(w->b.link, "unknown_peer") == 3, 10000);
    ck_assert_uint_eq(rig_verdict(w->b.link, "unknown_peer"), 3);
    ck_assert_uint_eq(w->b.said, said + 1);
    ck_assert_ptr_nonnull(
        strstr(w->b.said_text, "data segments with this node's own LTP engine number 2 come from"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "give each node its own number"));
    close(fd);
    scene_free(w);
}
END_TEST

static bool hears(int fd)
{
    uint8_t bytes[2000];
    return recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0;
}

/* Reports go to each at its own address; who comes later with the same engine number is refused. */
START_TEST(each_its_address)
{
    struct scene *w =
        world_unknown("127.0.0.1", (const char *const[]){"unknown.accept", "2", NULL});
    uint16_t port = address_port(&w->b.config.udp.local);
    int fd[3];
    for (int i = 0; i < 3; i++)
        fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
    send_from(fd[0], port, 70, 1);
    send_from(fd[1], port, 71, 1);
    RUN_UNTIL(w, rig_status(w->b.link, "unknown_in") == 2, 10000);
    RUN_UNTIL(w, false, 20);
    ck_assert(hears(fd[0]) && hears(fd[1]));
    send_from(fd[2], port, 70, 2);
    send_from(fd[2], port, 72, 1);
    RUN_UNTIL(w, rig_verdict(w->b.link, "limit_peers") == 1, 10000);
    ck_assert_uint_eq(rig_verdict(w->b.link, "wrong_source"), 1);
    ck_assert_uint_eq(rig_verdict(w->b.link, "limit_peers"), 1);
    RUN_UNTIL(w, hears(fd[0]), 2000); /* the repetition of its report */
    ck_assert(!hears(fd[2]));
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    scene_free(w);
}
END_TEST

/* The keys of those that share a socket are the first link's. */
START_TEST(only_with_the_first_link)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    uint16_t b = address_port(&w->b.config.udp.local);
    struct end c = {.world = w};
    end_open(w, &w->b, 2, 9);
    end_configure(&c, "127.0.0.1", b, rig_port(false),
                  (const char *const[]){"unknown.accept", "2", NULL});
    struct cla_env env = end_env(w, &c, 2, 8);
    env.shared = &w->b.shared;
    char why[256] = "";
    struct cla *link;
    ck_assert_int_eq(cla_find("ltp-udp")->open(&link, &env, &c.config, why, sizeof why),
                     HELIO_EINVAL);
    ck_assert_ptr_nonnull(strstr(why, "unknown: {accept: …}: write it with the first link"));
    rig_config_free(&c.config);
    scene_free(w);
}
END_TEST

/* A link without a rate whose bundles are sent again as soon as they have left. */
struct flood {
    struct cla *link;
    struct buf *bundle;
    uint64_t left, key;
    bool stop, closed;
};

static void flood_send(struct flood *f)
{
    while (!f->stop && f->link->ops->send(f->link, f->key, f->bundle) == CLA_REASON_NONE)
        f->key++;
}

static void flood_sent(void *context, struct cla *c, uint64_t key, enum cla_outcome outcome,
                       enum cla_reason reason)
{
    struct flood *f = context;
    (void)c;
    (void)key;
    (void)reason;
    f->left += cla_outcome_is_good(outcome);
    flood_send(f);
}

static void flood_closed(void *context)
{
    ((struct flood *)context)->closed = true;
}

/* Of the same local address as b. */
static void flood_open(struct flood *f, struct scene *w, struct end *e, uint16_t to)
{
    end_configure(e, "127.0.0.1", address_port(&w->b.config.udp.local), to,
                  (const char *const[]){"colour", "green", NULL});
    struct cla_env env = end_env(w, e, 2, 8);
    env.events = (struct cla_events){.context = f, .done = flood_sent};
    env.shared = &w->b.shared;
    f->link = rig_open(&e->config, &env);
    f->bundle = buf_new(0, 1 << 20);
    memset(buf_append(f->bundle, 1 << 20), 'x', 1 << 20);
    flood_send(f);
}

/* A link that could send for ever leaves the unconfigured peers their reports. */
START_TEST(beside_a_busy_link)
{
    struct scene *w =
        world_unknown("127.0.0.1", (const char *const[]){"unknown.accept", "4", NULL});
    struct end busy = {.world = w};
    struct flood flood = {.key = 1};
    int sink = socket(AF_INET, SOCK_DGRAM, 0); /* nobody reads it: the kernel drops the rest */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof at;
    ck_assert_int_eq(bind(sink, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(getsockname(sink, (struct sockaddr *)&at, &len), 0);
    flood_open(&flood, w, &busy, ntohs(at.sin_port));
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 20, 30000);
    ck_assert_uint_gt(flood.left, 0);
    flood.stop = true;
    end_expect_all(&w->a, &w->b);
    flood.link->ops->close(flood.link, flood_closed, &flood);
    RUN_UNTIL(w, flood.closed, 5000);
    rig_config_free(&busy.config);
    buf_drop(flood.bundle);
    close(sink);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ltp-udp unconfigured");
    TCase *t = tcase_create("unconfigured");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, accepted);
    tcase_add_test(t, accepted_over_ipv6);
    tcase_add_test(t, refused_by_default);
    tcase_add_test(t, own_number);
    tcase_add_test(t, each_its_address);
    tcase_add_test(t, only_with_the_first_link);
    tcase_add_test(t, beside_a_busy_link);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
