/* SPDX-License-Identifier: Apache-2.0 */
/* A hundred thousand mutated segments, sent to both ends of a transfer: every one is judged and
 * counted, and the transfer does not notice. */
#include <arpa/inet.h>
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "uv_scene.h"

/* A link whose peer is a plain socket: what it sends is what mutations begin with. */
#define TEMPLATES 64
struct attack {
    int fd;
    struct rng rng;
    uint8_t bytes[TEMPLATES][2048];
    size_t len[TEMPLATES];
    uint64_t sent;
};

static void attack_init(struct attack *x, struct scene *w)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct end source = {.world = w};
    memset(x, 0, sizeof *x);
    rng_init(&x->rng, 5326);
    x->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    a.sin_port = htons(rig_port(false));
    ck_assert_int_eq(bind(x->fd, (struct sockaddr *)&a, sizeof a), 0);
    end_configure(&source, "127.0.0.1", rig_port(false), ntohs(a.sin_port), NULL);
    struct cla_env env = end_env(w, &source, 1, 2);
    env.seed = 735; /* other session numbers than those of the transfer */
    source.link = rig_open(&source.config, &env);
    source.next = 300; /* not the numbers of the transfer */
    source.total = 310;
    end_send(&source);
    for (int i = 0; i < TEMPLATES - 8; i++) {
        ssize_t n = 0;
        RUN_UNTIL(w, (n = recv(x->fd, x->bytes[i], sizeof x->bytes[i], 0)) > 0, 60000);
        ck_assert_int_gt(n, 0);
        x->len[i] = (size_t)n;
    }
    for (int i = TEMPLATES - 8; i < TEMPLATES; i++) { /* types 8 to 15 of session 1.(i) */
        uint8_t control[] = {(uint8_t)i % 8 + 8, 1, (uint8_t)i, 0, 9, 8, 127, 0, 1, 0, 100};
        memcpy(x->bytes[i], control, sizeof control);
        x->len[i] = sizeof control;
    }
    source.link->ops->close(source.link, end_closed, &source);
    RUN_UNTIL(w, source.closed, 5000);
    rig_config_free(&source.config);
}

static void attack_one(struct attack *x, uint16_t port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    uint8_t copy[2048];
    size_t i = rng_below(&x->rng, TEMPLATES), len = x->len[i];
    memcpy(copy, x->bytes[i], len);
    for (uint64_t k = rng_below(&x->rng, 6); k > 0; k--) {
        size_t at = rng_below(&x->rng, rng_chance(&x->rng, 0.8) ? (len < 24 ? len : 24) : len);
        copy[at] = (uint8_t)rng_u64(&x->rng);
    }
    if (rng_chance(&x->rng, 0.2))
        len = rng_below(&x->rng, len + 1);
    x->sent += sendto(x->fd, copy, len, 0, (struct sockaddr *)&a, sizeof a) == (ssize_t)len;
}

static uint64_t judged(struct cla *c)
{
    uint64_t sum = 0;
    for (int v = 0; v < VERDICT_COUNT; v++)
        sum += rig_verdict(c, verdict_name((enum verdict)v));
    return sum;
}

START_TEST(noise_does_not_disturb)
{
    static struct attack x;
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"idle_timeout", "100ms", "retries", "1000",
                                                     "rto", "20ms", "import_sessions_all", "100000",
                                                     "import_sessions", "100000", NULL});
    attack_init(&x, w);
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = w->b.total = 200;
    end_send(&w->a);
    end_send(&w->b);
    tick end = uv_hrtime() + 600 * TICK_S;
    while ((x.sent < 120000 || w->a.sent_ok < 200 || w->b.sent_ok < 200) && uv_hrtime() < end) {
        for (int i = 0; i < 64; i++)
            attack_one(&x, address_port(&(i % 2 ? &w->a : &w->b)->config.udp.local));
        uv_run(w->loop, UV_RUN_NOWAIT);
    }
    /* LTP does not authenticate: a mutation that is whole again arrives as a bundle of its own. */
    ck_assert_uint_ge(x.sent, 120000);
    for (int i = 0; i < 200; i++)
        ck_assert(w->a.seen[i] == 1 && w->b.seen[i] == 1);
    ck_assert_uint_eq(w->a.sent_failed + w->b.sent_failed, 0);
    struct cla *ends[] = {w->a.link, w->b.link};
    uint64_t counted = 0;
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(judged(ends[i]), rig_status(ends[i], "datagrams_rx"));
        counted += rig_verdict(ends[i], "unknown_peer") + rig_verdict(ends[i], "truncated") +
                   rig_verdict(ends[i], "unknown_session") + rig_verdict(ends[i], "bad_type") +
                   rig_verdict(ends[i], "bad_version");
    }
    ck_assert_uint_gt(counted, x.sent / 4);
    close(x.fd);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ltp-udp noise");
    TCase *t = tcase_create("noise");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, noise_does_not_disturb);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
