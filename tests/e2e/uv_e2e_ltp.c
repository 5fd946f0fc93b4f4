/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links over real sockets of the loopback: bundles arrive once and equal, red and green, over IPv4
 * and IPv6, cut by the kernel or not; the rate is kept; a peer may come late; the node's word
 * decides what the peer hears. Timeouts are long, so that a slow machine makes a test slow, not
 * red.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/rng.h"
#include "uv_rig.h"

#define BUNDLES_MAX 1024

/* One end. */
struct end {
    struct ltp_udp_config config;
    struct cla *link;
    uint32_t sent_ok, sent_failed, received, wrong, said;
    uint8_t seen[BUNDLES_MAX];
    bool up, refuse, closed;
    uint32_t next, total; /* still to be sent */
    uint64_t tokens[BUNDLES_MAX];
    char said_text[512];
    struct world *world;
    void *shared;
};

struct world {
    uv_loop_t loop;
    uv_timer_t timer;
    struct end a, b;
    bool confirm, hold; /* hold: the answer is given by the test */
    uint64_t size_max;
};

/* A bundle says who it is: number, length, check value, then noise. */
static struct buf *bundle_new(uint32_t number, uint64_t size_max)
{
    struct rng rng;
    rng_init(&rng, number);
    size_t len = 12 + rng_below(&rng, size_max);
    struct buf *b = buf_new(0, len);
    uint8_t *p = buf_append(b, len);
    for (size_t i = 12; i < len; i++)
        p[i] = (uint8_t)rng_u64(&rng);
    uint32_t length = (uint32_t)len, crc = crc32c(0, p + 12, len - 12);
    memcpy(p, &number, 4);
    memcpy(p + 4, &length, 4);
    memcpy(p + 8, &crc, 4);
    return b;
}

static bool bundle_check(struct buf *b, uint32_t *number)
{
    uint32_t length, crc;
    if (b->len < 12)
        return false;
    memcpy(number, buf_data(b), 4);
    memcpy(&length, buf_data(b) + 4, 4);
    memcpy(&crc, buf_data(b) + 8, 4);
    return length == b->len && crc == crc32c(0, buf_data(b) + 12, b->len - 12) &&
           *number < BUNDLES_MAX;
}

static void send_more(struct end *e)
{
    while (e->next < e->total) {
        struct buf *b = bundle_new(e->next, e->world->size_max);
        int r = e->link->ops->send(e->link, e->next, b);
        buf_drop(b);
        if (r == HELIO_EAGAIN)
            return;
        ck_assert_int_eq(r, 0);
        e->next++;
    }
}

static void on_sent(void *context, struct cla *c, uint64_t key, bool ok)
{
    struct end *e = context;
    ck_assert_ptr_eq(c, e->link);
    ck_assert_uint_lt(key, e->next);
    e->sent_ok += ok;
    e->sent_failed += !ok;
    send_more(e);
}

static void on_received(void *context, struct cla *c, struct buf *bundle, uint64_t token)
{
    struct end *e = context;
    uint32_t number = 0;
    if (bundle_check(bundle, &number)) {
        e->seen[number]++;
        e->tokens[number] = token;
    } else {
        e->wrong++;
    }
    e->received++;
    buf_drop(bundle);
    if (!e->world->hold)
        c->ops->confirm(c, token, !e->refuse);
}

static void on_link(void *context, struct cla *c, bool up)
{
    (void)c;
    ((struct end *)context)->up = up;
}

static void on_say(void *context, struct cla *c, int level, const char *text)
{
    struct end *e = context;
    (void)c;
    (void)level;
    e->said++;
    snprintf(e->said_text, sizeof e->said_text, "%s", text);
}

static void on_closed(void *context)
{
    ((struct end *)context)->closed = true;
}

static struct cla_env env_of(struct world *w, struct end *e, uint64_t own, uint64_t peer)
{
    e->world = w;
    return (struct cla_env){
        .loop = &w->loop,
        .node = {.scheme = EID_IPN, .node = own},
        .peer = {.scheme = EID_IPN, .node = peer},
        .confirm = w->confirm,
        .bundle_max = 64 << 20,
        .seed = own,
        .events = {e, on_received, on_sent, on_link, on_say},
        .shared = &e->shared,
    };
}

static void configure(struct end *e, const char *host, uint16_t local, uint16_t remote,
                      const char *const *pairs)
{
    char from[80], to[80];
    const char *all[40] = {"local", from, "remote", to, "rto", "50ms"};
    size_t n = 6;
    snprintf(from, sizeof from, "%s:%u", host, local);
    snprintf(to, sizeof to, "%s:%u", host, remote);
    for (; pairs != NULL && *pairs != NULL; pairs++)
        all[n++] = *pairs;
    rig_config(&e->config, all);
}

static void open_end(struct world *w, struct end *e, uint64_t own, uint64_t peer)
{
    struct cla_env env = env_of(w, e, own, peer);
    e->link = rig_open(&e->config, &env);
}

static struct world *world_new(const char *host, const char *const *pairs)
{
    struct world *w = calloc(1, sizeof *w);
    bool six = host[0] == '[';
    uint16_t p1 = rig_port(six), p2 = rig_port(six);
    uv_loop_init(&w->loop);
    uv_timer_init(&w->loop, &w->timer);
    w->size_max = 100000;
    configure(&w->a, host, p1, p2, pairs);
    configure(&w->b, host, p2, p1, pairs);
    return w;
}

static void on_tick(uv_timer_t *t)
{
    (void)t;
}

/* Turns the loop until the condition holds or the time is over. */
#define RUN_UNTIL(w, condition, ms)                                                                \
    do {                                                                                           \
        uint64_t end_ = uv_hrtime() + (uint64_t)(ms)*TICK_MS;                                      \
        uv_timer_start(&(w)->timer, on_tick, 5, 5);                                                \
        while (!(condition) && uv_hrtime() < end_)                                                 \
            uv_run(&(w)->loop, UV_RUN_ONCE);                                                       \
        uv_timer_stop(&(w)->timer);                                                                \
    } while (0)

static void world_free(struct world *w)
{
    struct end *ends[] = {&w->a, &w->b};
    for (int i = 0; i < 2; i++)
        if (ends[i]->link != NULL)
            ends[i]->link->ops->close(ends[i]->link, on_closed, ends[i]);
    uv_close((uv_handle_t *)&w->timer, NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    for (int i = 0; i < 2; i++)
        ck_assert(ends[i]->link == NULL || ends[i]->closed);
    ck_assert_int_eq(uv_loop_close(&w->loop), 0);
    free(w);
}

static void expect_all(const struct end *from, const struct end *to)
{
    ck_assert_uint_eq(from->sent_ok, from->total);
    ck_assert_uint_eq(from->sent_failed, 0);
    ck_assert_uint_eq(to->wrong, 0);
    ck_assert_uint_eq(to->received, from->total);
    for (uint32_t i = 0; i < from->total; i++)
        ck_assert_uint_eq(to->seen[i], 1);
}

/* 200 bundles each way at once. */
static void exchange(const char *host, bool confirm, const char *const *pairs)
{
    struct world *w = world_new(host, pairs);
    w->confirm = confirm;
    open_end(w, &w->a, 1, 2);
    open_end(w, &w->b, 2, 1);
    w->a.total = w->b.total = 200;
    send_more(&w->a);
    send_more(&w->b);
    RUN_UNTIL(w,
              w->a.sent_ok == 200 && w->b.sent_ok == 200 && w->a.received == 200 &&
                  w->b.received == 200,
              30000);
    expect_all(&w->a, &w->b);
    expect_all(&w->b, &w->a);
    ck_assert(w->a.up && w->b.up);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_sent"), 200);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_received"), 200);
    ck_assert_uint_eq(rig_status(w->b.link, "socket_drops"), 0);
    world_free(w);
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
    struct world *w = world_new("127.0.0.1", (const char *const[]){"sessions", "4", NULL});
    open_end(w, &w->a, 1, 2);
    w->a.total = 10;
    ck_assert_uint_eq(w->a.link->ops->window(w->a.link), 4);
    send_more(&w->a);
    ck_assert_uint_eq(w->a.next, 4);
    world_free(w);
}
END_TEST

START_TEST(peer_comes_late)
{
    struct world *w = world_new("127.0.0.1", (const char *const[]){"sessions", "8", NULL});
    open_end(w, &w->a, 1, 2);
    w->a.total = 20;
    send_more(&w->a);
    RUN_UNTIL(w, w->a.sent_failed > 0, 300);
    ck_assert_uint_eq(w->a.sent_ok + w->a.sent_failed, 0);
    open_end(w, &w->b, 2, 1);
    RUN_UNTIL(w, w->a.sent_ok == 20, 20000);
    expect_all(&w->a, &w->b);
    world_free(w);
}
END_TEST

START_TEST(peer_never_comes)
{
    struct world *w =
        world_new("127.0.0.1", (const char *const[]){"retries", "2", "rto", "10ms", NULL});
    open_end(w, &w->a, 1, 2);
    w->a.total = 3;
    send_more(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 3, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 3);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_failed"), 3);
    world_free(w);
}
END_TEST

START_TEST(link_down_and_up)
{
    struct world *w = world_new("127.0.0.1", (const char *const[]){"state", "down", NULL});
    open_end(w, &w->a, 1, 2);
    open_end(w, &w->b, 2, 1);
    w->b.link->ops->set_link(w->b.link, true);
    w->a.total = 5;
    send_more(&w->a);
    RUN_UNTIL(w, w->b.received > 0, 200);
    ck_assert(!w->a.up && w->b.up);
    ck_assert_uint_eq(rig_status(w->a.link, "datagrams_tx"), 0);
    w->a.link->ops->set_link(w->a.link, true);
    RUN_UNTIL(w, w->a.sent_ok == 5, 20000);
    ck_assert(w->a.up);
    expect_all(&w->a, &w->b);
    world_free(w);
}
END_TEST

START_TEST(acceptance_is_awaited)
{
    struct world *w = world_new("127.0.0.1", NULL);
    w->confirm = w->hold = true;
    open_end(w, &w->a, 1, 2);
    open_end(w, &w->b, 2, 1);
    w->a.total = 1;
    send_more(&w->a);
    RUN_UNTIL(w, w->b.received == 1, 20000);
    RUN_UNTIL(w, w->a.sent_ok > 0, 100);
    ck_assert_uint_eq(w->a.sent_ok, 0);
    w->b.link->ops->confirm(w->b.link, w->b.tokens[0] + 1, true); /* no such token */
    w->b.link->ops->confirm(w->b.link, w->b.tokens[0], true);
    RUN_UNTIL(w, w->a.sent_ok == 1, 20000);
    expect_all(&w->a, &w->b);
    world_free(w);
}
END_TEST

START_TEST(refusal_is_told)
{
    struct world *w = world_new("127.0.0.1", NULL);
    w->confirm = true;
    w->b.refuse = true;
    open_end(w, &w->a, 1, 2);
    open_end(w, &w->b, 2, 1);
    w->a.total = 7;
    send_more(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 7, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 7);
    ck_assert_uint_eq(rig_status(w->b.link, "bundles_refused"), 7);
    world_free(w);
}
END_TEST

static int open_text(struct world *w, struct end *e, uint64_t own, uint64_t peer, char why[256])
{
    struct cla *c;
    struct cla_env env = env_of(w, e, own, peer);
    return cla_find("ltp-udp")->open(&c, &env, &e->config, why, 256);
}

START_TEST(what_open_refuses)
{
    struct world *w = world_new("127.0.0.1", NULL);
    char why[256];
    open_end(w, &w->a, 1, 2);
    struct end other = {.config = w->a.config};
    ck_assert_int_eq(open_text(w, &other, 3, 2, why), HELIO_EIO);
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
    world_free(w);
}
END_TEST

/* Node 1 has one address and two peers; closing one link leaves the other. */
START_TEST(links_share_an_address)
{
    struct world *w = world_new("127.0.0.1", NULL);
    struct world *v = world_new("127.0.0.1", NULL); /* node 3 and node 1's link to it, same loop */
    open_end(w, &w->a, 1, 2);
    open_end(w, &w->b, 2, 1);
    v->a.config.local = v->b.config.remote = w->a.config.local;
    v->a.shared = w->a.shared;
    v->a.world = v->b.world = w;
    struct cla_env env = env_of(w, &v->a, 1, 3);
    v->a.link = rig_open(&v->a.config, &env);
    env = env_of(w, &v->b, 3, 1);
    v->b.link = rig_open(&v->b.config, &env);
    w->a.total = v->a.total = v->b.total = 50;
    send_more(&w->a);
    send_more(&v->a);
    send_more(&v->b);
    RUN_UNTIL(w, w->a.sent_ok == 50 && v->a.sent_ok == 50 && v->b.sent_ok == 50, 20000);
    expect_all(&w->a, &w->b);
    expect_all(&v->a, &v->b);
    expect_all(&v->b, &v->a);
    ck_assert_uint_eq(rig_status(w->a.link, "local_port"), rig_status(v->a.link, "local_port"));
    v->a.link->ops->close(v->a.link, on_closed, &v->a);
    w->a.total = 80;
    send_more(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 80 && v->a.closed, 20000);
    ck_assert(v->a.closed);
    expect_all(&w->a, &w->b);
    v->b.link->ops->close(v->b.link, on_closed, &v->b);
    world_free(w);
    uv_close((uv_handle_t *)&v->timer, NULL);
    uv_run(&v->loop, UV_RUN_DEFAULT);
    uv_loop_close(&v->loop);
    ck_assert(v->b.closed);
    free(v);
}
END_TEST

/* Both ends: air bytes against the clock. A stall of the machine longer than the slack costs rate,
 * so the best of some tries counts; none may be too fast. */
START_TEST(rate_is_kept)
{
    double best = 0;
    for (int try = 0; try < 4 && best < 0.98; try++) {
        struct world *w = world_new(
            "127.0.0.1", (const char *const[]){"rate", "100Mbit/s", "sessions", "64", NULL});
        open_end(w, &w->a, 1, 2);
        open_end(w, &w->b, 2, 1);
        w->a.total = BUNDLES_MAX;
        send_more(&w->a);
        RUN_UNTIL(w, false, 200);
        uint64_t t0 = uv_hrtime(), air0 = rig_status(w->a.link, "air_bytes");
        RUN_UNTIL(w, false, 2000);
        uint64_t t1 = uv_hrtime(), air1 = rig_status(w->a.link, "air_bytes");
        double bps = (double)(air1 - air0) * 8e9 / (double)(t1 - t0);
        ck_assert_msg(bps <= 102e6, "%.0f bit/s", bps);
        best = bps / 100e6 > best ? bps / 100e6 : best;
        world_free(w);
    }
    ck_assert_msg(best >= 0.98, "%.3f of the rate", best);
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
    tcase_add_test(t, peer_comes_late);
    tcase_add_test(t, peer_never_comes);
    tcase_add_test(t, link_down_and_up);
    tcase_add_test(t, acceptance_is_awaited);
    tcase_add_test(t, refusal_is_told);
    tcase_add_test(t, what_open_refuses);
    tcase_add_test(t, links_share_an_address);
    tcase_add_test(t, rate_is_kept);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
