/* SPDX-License-Identifier: Apache-2.0 */
/* The storage thread on a store that fails when the test wants it to: what fits stays, removals are
 * not forgotten, outcomes come in the order of requests. */
#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "fake_store.h"
#include "node/storage.h"

/* The outcomes, in their order. */
struct rig {
    uv_loop_t loop;
    struct storage *storage;
    struct fake *fake;
    char path[64];
    struct {
        uint64_t key;
        int error;
    } outcome[KEYS];
    size_t outcomes;
    uint64_t fits; /* as reported last; 0: never */
    char trouble[200];
};

static void on_stored(void *context, uint64_t key, int error)
{
    struct rig *r = context;
    r->outcome[r->outcomes].key = key;
    r->outcome[r->outcomes++].error = error;
}

static void on_loaded(void *context, uint64_t key, struct buf *bundle)
{
    on_stored(context, key, bundle == NULL ? HELIO_ENOENT : bundle->len == 0 ? HELIO_EFORMAT : 0);
    buf_drop(bundle);
}

static void on_trouble(void *context, const char *text)
{
    struct rig *r = context;
    snprintf(r->trouble, sizeof r->trouble, "%s", text);
}

static void on_fits(void *context, uint64_t bytes)
{
    ((struct rig *)context)->fits = bytes;
}

static struct rig *rig_new(void)
{
    struct rig *r = calloc(1, sizeof *r);
    char why[256] = "";
    struct store_options o = {.path = r->path};
    struct storage_events events = {r, on_stored, on_loaded, on_trouble, on_fits};
    strcpy(r->path, "/tmp/helio-storage-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->path));
    ck_assert_int_eq(uv_loop_init(&r->loop), 0);
    ck_assert_msg(storage_open(&r->storage, &fake_ops, &o, why, sizeof why) == 0, "%s", why);
    r->fake = (struct fake *)storage_store(r->storage);
    ck_assert_int_eq(storage_start(r->storage, &r->loop, &events), 0);
    return r;
}

static void put_long(struct rig *r, uint64_t key, size_t len)
{
    struct buf *b = buf_new(0, len);
    ck_assert_ptr_nonnull(buf_append(b, len));
    struct agent_action a = {.kind = AGENT_STORE, .key = key, .bundle = b};
    a.head = slice_of("head", 4);
    ck_assert_int_eq(storage_put(r->storage, &a), 0);
    buf_drop(b);
}

static void put(struct rig *r, uint64_t key)
{
    put_long(r, key, 4);
}

static void take(struct rig *r, uint64_t key)
{
    struct agent_action a = {.kind = AGENT_REMOVE, .key = key};
    ck_assert_int_eq(storage_remove(r->storage, &a), 0);
}

static void await(struct rig *r, size_t outcomes)
{
    storage_submit(r->storage);
    while (r->outcomes < outcomes)
        uv_run(&r->loop, UV_RUN_ONCE);
}

static void rig_free(struct rig *r)
{
    char lock[96];
    snprintf(lock, sizeof lock, "%s/lock", r->path);
    storage_finish(r->storage);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&r->loop), 0);
    storage_close(r->storage);
    remove(lock);
    remove(r->path);
    free(r);
}

/* Each outcome makes work for the loop, which looks at all else meanwhile. */
START_TEST(outcomes_come_in_pieces)
{
    struct rig *r = rig_new();
    size_t rounds = 0;
    for (uint64_t key = 1; key <= 100; key++)
        put(r, key);
    storage_submit(r->storage);
    for (; r->outcomes < 100; rounds++) {
        const size_t before = r->outcomes;
        uv_run(&r->loop, UV_RUN_ONCE);
        ck_assert_uint_le(r->outcomes - before, 32);
    }
    ck_assert_uint_ge(rounds, 4);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(r->outcome[i].key, i + 1);
    rig_free(r);
}
END_TEST

START_TEST(one_commit_for_all_that_waits)
{
    struct rig *r = rig_new();
    for (uint64_t key = 1; key <= 20; key++)
        put(r, key);
    await(r, 20);
    ck_assert_int_eq(r->fake->commits, 1);
    for (size_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(r->outcome[i].key, i + 1);
        ck_assert_int_eq(r->outcome[i].error, 0);
    }
    rig_free(r);
}
END_TEST

START_TEST(a_failed_commit_is_done_job_by_job)
{
    struct rig *r = rig_new();
    put(r, 1);
    await(r, 1);
    r->fake->puts_max = 1; /* two puts at once do not fit */
    put(r, 2);
    put(r, 3);
    take(r, 1);
    await(r, 3);
    ck_assert_int_eq(r->outcome[1].error, 0);
    ck_assert_int_eq(r->outcome[2].error, 0);
    storage_finish(r->storage);
    ck_assert(!r->fake->has[1] && r->fake->has[2] && r->fake->has[3]);
    rig_free(r);
}
END_TEST

START_TEST(a_full_medium_refuses_puts_and_lets_removals_pass)
{
    struct rig *r = rig_new();
    put(r, 1);
    await(r, 1);
    r->fake->puts_max = 0;
    put(r, 2);
    take(r, 1);
    await(r, 2);
    ck_assert_int_eq(r->outcome[1].error, HELIO_ESPACE);
    storage_finish(r->storage);
    ck_assert(!r->fake->has[1] && !r->fake->has[2]);
    rig_free(r);
}
END_TEST

START_TEST(a_removal_that_failed_is_tried_again)
{
    struct rig *r = rig_new();
    put(r, 1);
    await(r, 1);
    r->fake->removes = 0;
    take(r, 1);
    put(r, 2);
    await(r, 2);
    ck_assert(r->fake->has[1]);
    r->fake->removes = 1;
    put(r, 3);
    await(r, 3);
    storage_finish(r->storage);
    ck_assert(!r->fake->has[1] && r->fake->has[2] && r->fake->has[3]);
    rig_free(r);
}
END_TEST

static void put_many(struct rig *r, uint64_t count)
{
    for (uint64_t key = 1; key <= count; key++)
        put(r, key);
    await(r, count);
}

/* Bundles that end together: a put that was asked for after their removals does not wait for them.
 */
START_TEST(many_removals_hold_up_no_put)
{
    struct rig *r = rig_new();
    put_many(r, 3000);
    for (uint64_t key = 1; key <= 3000; key++)
        take(r, key);
    put(r, 3001);
    await(r, 3001);
    ck_assert_int_eq(r->outcome[3000].error, 0);
    storage_finish(r->storage);
    ck_assert_int_le(r->fake->removed_before, 1100);
    ck_assert_int_eq(r->fake->removed, 3000);
    ck_assert_int_eq(r->fake->held, 1);
    ck_assert(r->fake->has[3001] && !r->fake->has[3000]);
    rig_free(r);
}
END_TEST

/* But one that has no room before them does, and is stored then. */
START_TEST(a_put_waits_for_the_removals_that_make_room)
{
    struct rig *r = rig_new();
    struct storage_status st;
    put_many(r, 3000);
    r->fake->room = 100;
    for (uint64_t key = 1; key <= 3000; key++)
        take(r, key);
    put(r, 3001);
    await(r, 3001);
    ck_assert_int_eq(r->outcome[3000].error, 0);
    ck_assert_int_ge(r->fake->removed_before, 2901);
    storage_status(r->storage, &st);
    ck_assert_uint_eq(st.failures, 0);
    storage_finish(r->storage);
    ck_assert(r->fake->has[3001]);
    rig_free(r);
}
END_TEST

/* A transaction has room for fewer puts than the medium. */
START_TEST(puts_go_in_as_many_transactions_as_they_need)
{
    struct rig *r = rig_new();
    struct storage_status st;
    r->fake->puts_room = 3;
    for (uint64_t key = 1; key <= 10; key++)
        put(r, key);
    await(r, 10);
    ck_assert_int_eq(r->fake->commits, 4);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(r->outcome[i].key, i + 1);
        ck_assert_int_eq(r->outcome[i].error, 0);
    }
    r->fake->room = 12;
    for (uint64_t key = 11; key <= 15; key++)
        put(r, key);
    await(r, 15);
    for (size_t i = 10; i < 15; i++)
        ck_assert_int_eq(r->outcome[i].error, i < 12 ? 0 : HELIO_ESPACE);
    storage_status(r->storage, &st);
    ck_assert_uint_eq(st.failures, 3);
    rig_free(r);
}
END_TEST

/* The store has the pages of a transaction in memory. */
START_TEST(a_transaction_puts_few_octets)
{
    struct rig *r = rig_new();
    for (uint64_t key = 1; key <= 20; key++)
        put_long(r, key, key % 5 == 0 ? 100 : 4 << 20);
    await(r, 20);
    ck_assert_uint_le(r->fake->octets_most, LONG);
    ck_assert_int_ge(r->fake->commits, 5);
    for (size_t i = 0; i < 20; i++) {
        ck_assert_uint_eq(r->outcome[i].key, i + 1);
        ck_assert_int_eq(r->outcome[i].error, 0);
    }
    rig_free(r);
}
END_TEST

/* Of a longer bundle the first octets are stored before its transaction. If they have no room, its
 * put waits for removals, as others do. */
START_TEST(a_long_bundle_is_stored_ahead)
{
    struct rig *r = rig_new();
    put(r, 1);
    put_long(r, 2, 2 * LONG);
    await(r, 2);
    ck_assert_int_eq(r->outcome[1].error, 0);
    ck_assert_int_eq(r->fake->aheads, 1);
    r->fake->puts_max = 0; /* a commit fails, and is repeated */
    put_long(r, 3, 2 * LONG);
    await(r, 3);
    ck_assert_int_eq(r->outcome[2].error, HELIO_ESPACE);
    r->fake->puts_max = KEYS;
    r->fake->room = 2;
    put_long(r, 4, 2 * LONG);
    await(r, 4);
    ck_assert_int_eq(r->outcome[3].error, HELIO_ESPACE);
    take(r, 1);
    put_long(r, 5, 2 * LONG);
    await(r, 5);
    ck_assert_int_eq(r->outcome[4].error, 0);
    ck_assert_int_eq(r->fake->ahead_removed, 1);
    storage_finish(r->storage);
    ck_assert(r->fake->has[2] && r->fake->has[5] && r->fake->ahead == 0);
    rig_free(r);
}
END_TEST

/* At the start, when it is tidied, and when an eighth of the room may be used up. */
START_TEST(the_room_of_the_medium_is_told)
{
    struct rig *r = rig_new();
    struct storage_status st;
    storage_status(r->storage, &st);
    ck_assert_uint_eq(st.fits, 80 << 20);
    r->fake->fits = 70 << 20;
    put_many(r, 3000);
    ck_assert_uint_eq(r->fits, 0);
    put(r, 3001);
    storage_tidy(r->storage, 1);
    while (r->fits == 0 || r->outcomes < 3001)
        uv_run(&r->loop, UV_RUN_ONCE);
    ck_assert_uint_eq(r->fits, 70 << 20);
    r->fake->fits = 2 << 20;
    storage_tidy(r->storage, 1);
    while (r->fits != 2 << 20)
        uv_run(&r->loop, UV_RUN_ONCE);
    r->fake->fits = 1 << 20;
    for (uint64_t key = 3002; key <= 3101; key++)
        put(r, key);
    await(r, 3101);
    ck_assert_uint_eq(r->fits, 2 << 20);
    for (uint64_t key = 3102; key <= 3302; key++)
        put(r, key);
    await(r, 3302);
    ck_assert_uint_eq(r->fits, 1 << 20);
    rig_free(r);
}
END_TEST

START_TEST(loads_and_tidying)
{
    struct rig *r = rig_new();
    put(r, 5);
    await(r, 1);
    ck_assert_int_eq(storage_get(r->storage, 5), 0);
    ck_assert_int_eq(storage_get(r->storage, 6), 0);
    storage_tidy(r->storage, 1);
    await(r, 3);
    ck_assert_int_eq(r->outcome[1].error, 0);
    ck_assert_int_eq(r->outcome[2].error, HELIO_ENOENT);
    storage_finish(r->storage);
    ck_assert_int_eq(r->fake->forgets, 1);
    rig_free(r);
}
END_TEST

START_TEST(damaged_bytes_are_set_aside_and_told)
{
    struct rig *r = rig_new();
    put(r, 5);
    await(r, 1);
    r->fake->spoilt = 5;
    ck_assert_int_eq(storage_get(r->storage, 5), 0);
    await(r, 2);
    ck_assert_int_eq(r->outcome[1].error, HELIO_EFORMAT);
    ck_assert_int_eq(r->fake->aside, 5);
    ck_assert_str_eq(r->trouble,
                     "bundle 5 is damaged; it is set aside for helio-store and not sent on");
    struct storage_status st;
    do
        storage_status(r->storage, &st);
    while (st.damaged == 0);
    ck_assert_uint_eq(st.damaged, 1);
    rig_free(r);
}
END_TEST

/* Whether or not bundles come meanwhile: marks come as fast as bundles do. */
START_TEST(old_marks_are_forgotten_until_none_is_left)
{
    struct rig *r = rig_new();
    r->fake->old_marks = 30;
    storage_tidy(r->storage, 1);
    for (uint64_t key = 1; key <= 10; key++) {
        put(r, key);
        await(r, key);
    }
    while (r->fake->forgets < 31)
        sched_yield();
    storage_finish(r->storage);
    ck_assert_int_eq(r->fake->forgets, 31);
    rig_free(r);
}
END_TEST

START_TEST(what_was_asked_for_is_done_before_the_end)
{
    struct rig *r = rig_new();
    for (uint64_t key = 1; key <= 10; key++)
        put(r, key);
    storage_finish(r->storage); /* without a submit and without the loop */
    ck_assert_uint_eq(r->outcomes, 10);
    ck_assert(r->fake->has[10]);
    rig_free(r);
}
END_TEST

START_TEST(a_directory_has_one_user)
{
    struct rig *r = rig_new();
    struct storage *second = NULL;
    char why[256] = "";
    struct store_options o = {.path = r->path};
    ck_assert_int_eq(storage_open(&second, &fake_ops, &o, why, sizeof why), HELIO_EEXIST);
    ck_assert_ptr_nonnull(strstr(why, "is in use by another heliod; give each node its own path"));
    rig_free(r);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("storage");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, one_commit_for_all_that_waits);
    tcase_add_test(t, outcomes_come_in_pieces);
    tcase_add_test(t, a_failed_commit_is_done_job_by_job);
    tcase_add_test(t, a_full_medium_refuses_puts_and_lets_removals_pass);
    tcase_add_test(t, a_removal_that_failed_is_tried_again);
    tcase_add_test(t, many_removals_hold_up_no_put);
    tcase_add_test(t, a_put_waits_for_the_removals_that_make_room);
    tcase_add_test(t, puts_go_in_as_many_transactions_as_they_need);
    tcase_add_test(t, a_transaction_puts_few_octets);
    tcase_add_test(t, a_long_bundle_is_stored_ahead);
    tcase_add_test(t, the_room_of_the_medium_is_told);
    tcase_add_test(t, loads_and_tidying);
    tcase_add_test(t, damaged_bytes_are_set_aside_and_told);
    tcase_add_test(t, old_marks_are_forgotten_until_none_is_left);
    tcase_add_test(t, what_was_asked_for_is_done_before_the_end);
    tcase_add_test(t, a_directory_has_one_user);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
