/* SPDX-License-Identifier: Apache-2.0 */
/* Orange links over real sockets: what the node hears of its bundles. Times are long where a slow
 * machine must not look like a loss. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "uv_scene.h"

#define PATIENT "colour", "orange", "rto", "3s", "orange_wait", "5s"

static struct scene *both(const char *const *pairs, bool confirm)
{
    struct scene *w = scene_new("127.0.0.1", pairs);
    w->confirm = confirm;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    return w;
}

START_TEST(delivered)
{
    struct scene *w = both((const char *const[]){PATIENT, NULL}, _i == 1);
    w->a.total = w->b.total = 100;
    end_send(&w->a);
    end_send(&w->b);
    RUN_UNTIL(w, w->a.sent_ok == 100 && w->b.sent_ok == 100, 30000);
    end_expect_all(&w->a, &w->b);
    end_expect_all(&w->b, &w->a);
    ck_assert_uint_eq(rig_status(w->a.link, "orange_delivered"), 100);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_lost"), 0);
    scene_free(w);
}
END_TEST

START_TEST(several_in_a_block)
{
    struct scene *w = both(
        (const char *const[]){PATIENT, "aggregate", "64kB", "aggregate_time", "20ms", NULL}, true);
    w->framed = true;
    w->size_max = 1000;
    w->a.total = 200;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_ok == 200, 30000);
    end_expect_all(&w->a, &w->b);
    ck_assert_uint_gt(rig_status(w->a.link, "aggregates_sent"), 0);
    scene_free(w);
}
END_TEST

/* The node that sent them hears of each, and the operator that nobody answers at all. */
START_TEST(nobody_there)
{
    struct scene *w =
        scene_new("127.0.0.1", (const char *const[]){"colour", "orange", "rto", "10ms", NULL});
    end_open(w, &w->a, 1, 2);
    w->a.total = 10;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.lost == 10, 20000);
    ck_assert_uint_eq(w->a.lost, 10);
    ck_assert_uint_eq(w->a.sent_ok + w->a.sent_failed, 0);
    ck_assert_uint_eq(rig_status(w->a.link, "bundles_lost"), 10);
    ck_assert_uint_eq(w->a.reasons[CLA_REASON_NO_ANSWER], 10);
    ck_assert_uint_eq(rig_status(w->a.link, "orange_silent"), 10);
    ck_assert_uint_eq(w->a.said, 1);
    ck_assert_ptr_nonnull(strstr(w->a.said_text, "colour: green"));
    scene_free(w);
}
END_TEST

/* A peer that does not answer has got them all the same. */
START_TEST(no_answers)
{
    struct scene *w =
        both((const char *const[]){"colour", "orange", "rto", "100ms", "answer_orange", "no", NULL},
             true);
    w->a.total = 3;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.lost == 3 && w->b.received == 3, 20000);
    ck_assert_uint_eq(w->a.lost, 3);
    ck_assert_uint_eq(w->b.received, 3);
    scene_free(w);
}
END_TEST

/* The receiving node refuses: that is a failure, not a loss. */
START_TEST(refused)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){PATIENT, NULL});
    w->confirm = w->b.refuse = true;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 3;
    end_send(&w->a);
    RUN_UNTIL(w, w->a.sent_failed == 3, 20000);
    ck_assert_uint_eq(w->a.sent_failed, 3);
    ck_assert_uint_eq(w->a.outcomes[CLA_REFUSED], 3);
    ck_assert_uint_eq(w->a.lost + w->a.sent_ok, 0);
    scene_free(w);
}
END_TEST

/* Told only what the node has made its own. */
START_TEST(acceptance_is_awaited)
{
    struct scene *w = scene_new("127.0.0.1", (const char *const[]){PATIENT, NULL});
    w->confirm = w->hold = true;
    end_open(w, &w->a, 1, 2);
    end_open(w, &w->b, 2, 1);
    w->a.total = 1;
    end_send(&w->a);
    RUN_UNTIL(w, w->b.received == 1, 20000);
    RUN_UNTIL(w, w->a.sent_ok > 0, 100);
    ck_assert_uint_eq(w->a.sent_ok, 0);
    w->b.link->ops->confirm(w->b.link, w->b.tokens[0], CLA_ACCEPTED);
    RUN_UNTIL(w, w->a.sent_ok == 1, 20000);
    ck_assert_uint_eq(w->a.sent_ok, 1);
    scene_free(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("e2e_orange");
    TCase *t = tcase_create("orange");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, delivered, 0, 2);
    tcase_add_test(t, several_in_a_block);
    tcase_add_test(t, nobody_there);
    tcase_add_test(t, no_answers);
    tcase_add_test(t, refused);
    tcase_add_test(t, acceptance_is_awaited);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
