/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams in the name of a configured peer: accepted by where they come from (`source`). */
#include <arpa/inet.h>
#include <check.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "ltp/segment.h"
#include "uv_scene.h"

/* b expects engine 1 at the address of a. */
static struct scene *open_both(const char *host, const char *source)
{
    struct scene *w = scene_new(host, (const char *const[]){"source", source, NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    return w;
}

/* One segment that opens a session of that engine at b, from another port of that host. */
static void forge_of(const struct scene *w, const char *host, uint64_t engine, uint64_t number)
{
    struct address from, to = w->b.config.udp.local;
    ck_assert_int_eq(address_of(host, 0, &from), 0);
    int fd = socket(from.sa.sa_family, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(fd, &from.sa, address_len(&from)), 0);
    struct ltp_segment s = {
        .type = LTP_RED, .id = {engine, number}, .client_service = 1, .data = slice_of("x", 1)};
    uint8_t bytes[100];
    size_t len = segment_write(&s, bytes, sizeof bytes);
    ck_assert_int_eq(sendto(fd, bytes, len, 0, &to.sa, address_len(&to)), (ssize_t)len);
    close(fd);
}

static void forge(const struct scene *w, const char *host, uint64_t number)
{
    forge_of(w, host, 1, number);
}

static uint64_t opened(const struct scene *w)
{
    return rig_status(w->b.link, "sessions_opened_import");
}

/* The node's own address is in no way special: all of 127.0.0.0/8 can be bound. */
START_TEST(another_address)
{
    struct scene *w = open_both("127.0.0.1", "address");
    for (uint64_t i = 0; i < 3; i++)
        forge(w, "127.0.0.9", 100 + i);
    RUN_UNTIL(w, rig_verdict(w->b.link, "wrong_source") == 3, 10000);
    ck_assert_uint_eq(rig_status(w->b.link, "source_refused"), 3);
    ck_assert_uint_eq(opened(w), 0);
    /* said once, with both addresses and what would be right */
    ck_assert_uint_eq(w->b.said, 1);
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "peer ipn:1.0"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "127.0.0.9:"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "remote is 127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "source: any"));
    struct cla_gauges g = {.heard = TICK_NEVER};
    cla_find("ltp-udp")->gauges(w->b.link, &g);
    ck_assert_uint_eq(g.source_refused, 3);
    ck_assert_uint_eq(g.heard, TICK_NEVER);
    ck_assert_uint_eq(g.rx_bytes, 0);
    /* the peer is heard as before */
    w->a.total = 50;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 50, 30000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

/* ION and HDTN answer from a socket of their own. */
START_TEST(another_port)
{
    static const char *const sources[] = {"address", "exact", "any"};
    struct scene *w = open_both(_i < 3 ? "127.0.0.1" : "[::1]", sources[_i % 3]);
    bool exact = _i % 3 == 1;
    forge(w, _i < 3 ? "127.0.0.1" : "::1", 100);
    RUN_UNTIL(w, opened(w) + rig_verdict(w->b.link, "wrong_source") == 1, 10000);
    ck_assert_uint_eq(opened(w), !exact);
    ck_assert_uint_eq(rig_status(w->b.link, "source_refused"), exact);
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 20, 30000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

static int change(struct end *e, int source, char why[256])
{
    e->config.source = source;
    return cla_find("ltp-udp")->set(e->link, &e->config, NULL, why, 256);
}

START_TEST(changed_while_it_runs)
{
    char why[256] = "";
    struct scene *w = open_both("127.0.0.1", "address");
    ck_assert_int_eq(change(&w->b, ADDRESS_CHECK_ANY, why), 0);
    forge(w, "127.0.0.9", 100);
    RUN_UNTIL(w, opened(w) == 1, 10000);
    ck_assert_int_eq(change(&w->b, ADDRESS_CHECK_EXACT, why), 0);
    forge(w, "127.0.0.1", 101);
    RUN_UNTIL(w, rig_verdict(w->b.link, "wrong_source") == 1, 10000);
    ck_assert_uint_eq(opened(w), 1);
    scene_free(w);
}
END_TEST

/* Unknown senders without the key: counted, and named once in the log of the link that accepts
 * them. */
START_TEST(unknown_without_key)
{
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"unknown.accept", "8", "auth", "require",
                                                     "auth_suite", "null", NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    for (uint64_t i = 0; i < 3; i++)
        forge_of(w, "127.0.0.9", 77 + i, 100);
    RUN_UNTIL(w, rig_verdict(w->b.link, "auth_missing") == 3, 10000);
    ck_assert_uint_eq(rig_verdict(w->b.link, "auth_missing"), 3);
    ck_assert_uint_eq(opened(w), 0);
    ck_assert_uint_eq(w->b.said, 1);
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "segments of LTP engine 77 are refused (1 so"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "from 127.0.0.9:"));
    w->a.total = 20; /* the peer with the key is heard */
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 20, 30000);
    end_expect_all(&w->a, &w->b);
    scene_free(w);
}
END_TEST

/* Frames are checked where they arrive; that is agreed when the link begins. */
START_TEST(frames)
{
    static const char *const sources[] = {"address", "exact", "any"};
    char why[256] = "";
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"source", sources[_i], "frames", "aos", NULL});
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    ck_assert_int_ne(change(&w->b, (w->b.config.source + 1) % 3, why), 0);
    ck_assert_ptr_nonnull(strstr(why, "source: "));
    w->b.config.source = (w->b.config.source + 2) % 3;
    forge(w, "127.0.0.9", 100); /* no frame, but a datagram */
    w->a.total = 20;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok + w->a.sent_failed == 20, 30000);
    end_expect_all(&w->a, &w->b);
    struct json_t *o = json_object();
    cla_find("ltp-udp")->status(w->b.link, o);
    const json_t *line = json_object_get(json_object_get(o, "frames"), "line");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "foreign")), _i == 2 ? 0 : 1);
    json_decref(o);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("source");
    TCase *t = tcase_create("source");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, another_address);
    tcase_add_loop_test(t, another_port, 0, 6);
    tcase_add_test(t, changed_while_it_runs);
    tcase_add_test(t, unknown_without_key);
    tcase_add_loop_test(t, frames, 0, 3);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
