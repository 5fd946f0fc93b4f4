/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authenticated links (RFC 5327) over real sockets: bundles arrive once and equal with each
 * ciphersuite; a peer without the key, or with another one, gets nothing across and no answer.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uv_scene.h"

/* A pair whose ends have their own keys; the pairs go to one end each. */
static struct scene *two(const char *const *a, const char *const *b)
{
    struct scene *w = scene_new("127.0.0.1", NULL);
    end_configure(&w->a, "127.0.0.1", address_port(&w->a.config.udp.local),
                  address_port(&w->a.config.udp.remote.address), a);
    end_configure(&w->b, "127.0.0.1", address_port(&w->b.config.udp.local),
                  address_port(&w->b.config.udp.remote.address), b);
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    return w;
}

static const char *key_file(char path[64], int number, const char *hex)
{
    snprintf(path, 64, "/tmp/helio_e2e_auth_%ld_%d", (long)getpid(), number);
    FILE *f = fopen(path, "w");
    ck_assert(f != NULL && fchmod(fileno(f), 0600) == 0);
    ck_assert_ptr_nonnull(f);
    fputs(hex, f);
    fclose(f);
    return path;
}

static void exchange(const char *const *a, const char *const *b)
{
    struct scene *w = two(a, b);
    w->a.total = w->b.total = 100;
    w->size_max = 20000;
    end_send(&w->a);
    end_send(&w->b);
    RUN_UNTIL(w,
              w->a.sent_ok == 100 && w->b.sent_ok == 100 && w->a.received == 100 &&
                  w->b.received == 100,
              30000);
    end_expect_all(&w->a, &w->b);
    end_expect_all(&w->b, &w->a);
    ck_assert_uint_eq(rig_verdict(w->b.link, "auth_bad"), 0);
    ck_assert_uint_eq(rig_verdict(w->b.link, "auth_missing"), 0);
    scene_free(w);
}

START_TEST(hmac)
{
    char path[64];
    key_file(path, 0, "000102030405060708090a0b0c0d0e0f10111213");
    const char *const both[] = {"auth", "require", "auth_key_file", path, "auth_key_id",
                                "k1",   "cookie",  "5f0a c7",       NULL};
    exchange(both, both);
    unlink(path);
}
END_TEST

START_TEST(null_suite)
{
    const char *const require[] = {"auth", "require", "auth_suite", "null", NULL};
    const char *const accept[] = {"auth", "accept", "auth_suite", "null", NULL};
    exchange(require, accept);
}
END_TEST

START_TEST(accepts_without)
{
    exchange((const char *const[]){"auth", "accept", "auth_suite", "null", NULL}, NULL);
}
END_TEST

/* b takes nothing of a. */
static void nothing_crosses(const char *const *a, const char *const *b, const char *verdict,
                            const char *said)
{
    struct scene *w = two(a, b);
    w->a.total = 3;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 3, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 3);
    ck_assert_uint_eq(w->b.received, 0);
    ck_assert_uint_gt(rig_verdict(w->b.link, verdict), 3);
    ck_assert_uint_eq(rig_status(w->b.link, "sessions_opened_import"), 0);
    ck_assert_uint_eq(rig_status(w->b.link, "datagrams_tx"), 0);
    /* logged once, however many there are in a minute, with the peer, its address and the reason */
    ck_assert_uint_eq(w->b.said, 1);
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "segments of ipn:1.0 are refused (1 so far)"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, "from 127.0.0.1:"));
    ck_assert_ptr_nonnull(strstr(w->b.said_text, said));
    struct cla_gauges g = {.heard = TICK_NEVER};
    cla_find("ltp-udp")->gauges(w->b.link, &g);
    ck_assert_uint_gt(g.auth_refused, 3);
    ck_assert_str_eq(g.refusal, said);
    ck_assert_uint_gt(g.refused_at, 0);
    scene_free(w);
}

START_TEST(without_key)
{
    nothing_crosses((const char *const[]){"rto", "10ms", "retries", "2", NULL},
                    (const char *const[]){"auth", "require", "auth_suite", "null", NULL},
                    "auth_missing", "it is not authenticated, and auth: require asks for that");
}
END_TEST

START_TEST(another_key)
{
    char path[2][64];
    key_file(path[0], 0, "000102030405060708090a0b0c0d0e0f");
    key_file(path[1], 1, "000102030405060708090a0b0c0d0e0e");
    nothing_crosses((const char *const[]){"auth", "require", "auth_key_file", path[0], "rto",
                                          "10ms", "retries", "2", NULL},
                    (const char *const[]){"auth", "accept", "auth_key_file", path[1], NULL},
                    "auth_bad", "its key, key id or ciphersuite is another one");
    unlink(path[0]);
    unlink(path[1]);
}
END_TEST

START_TEST(another_cookie)
{
    nothing_crosses((const char *const[]){"cookie", "01", "rto", "10ms", "retries", "2", NULL},
                    (const char *const[]){"cookie", "02", NULL}, "bad_cookie",
                    "its cookie is missing or another one");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("e2e_auth");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 90);
    tcase_add_test(c, hmac);
    tcase_add_test(c, null_suite);
    tcase_add_test(c, accepts_without);
    tcase_add_test(c, without_key);
    tcase_add_test(c, another_key);
    tcase_add_test(c, another_cookie);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
