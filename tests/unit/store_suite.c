/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend of the store must do; the same tests run on each. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "bp/agent/store.h"
#include "store_help.h"
#include "tests/unit/store/store_memory.h"
#include "tests/unit/suite.h"

static const struct store_ops *const backends[] = {&store_memory, &store_lmdb};

struct seen_rows {
    size_t len;
    uint64_t keys[16], bytes[16];
    char heads[16][32];
};

static int collect(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    struct seen_rows *r = ctx;
    ck_assert_uint_lt(r->len, 16);
    ck_assert_uint_lt(head.len, 32);
    r->keys[r->len] = key;
    r->bytes[r->len] = bytes;
    memcpy(r->heads[r->len], head.data, head.len);
    r->heads[r->len++][head.len] = 0;
    return 0;
}

static int collect_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    char(*out)[256] = ctx;
    size_t len = strlen(*out);
    snprintf(*out + len, sizeof *out - len, "%.*s %llu\n", (int)id.len, (const char *)id.data,
             (unsigned long long)until_ms);
    return 0;
}

static int stop_at_first(void *ctx, uint64_t key, struct slice head, uint64_t bytes)
{
    (void)head;
    (void)bytes;
    ++*(int *)ctx;
    return (int)key;
}

static void put(struct store *s, uint64_t key, const char *head, const char *bundle, int expected)
{
    ck_assert_int_eq(
        s->ops->put(s, key, slice_of(head, strlen(head)), slice_of(bundle, strlen(bundle))),
        expected);
}

START_TEST(put_get_update_remove)
{
    struct place p;
    struct store *s = place_open(&p, backends[_i], 1000, STORE_SYNC);
    const struct store_ops *o = s->ops;
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->begin(s), HELIO_EINVAL);
    put(s, 300, "c", "three", 0);
    put(s, 5, "a", "one", 0);
    put(s, 256, "b", "two", 0);
    put(s, 5, "again", "x", HELIO_EEXIST);
    put(s, 0, "zero", "x", HELIO_EINVAL);
    ck_assert_int_eq(o->update(s, 256, slice_of("new", 3)), 0);
    ck_assert_int_eq(o->update(s, 9, slice_of("new", 3)), HELIO_ENOENT);
    ck_assert_int_eq(o->remove(s, 9), HELIO_ENOENT);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_int_eq(o->commit(s), HELIO_EINVAL);
    ck_assert_uint_eq(o->bytes(s), 11);
    struct seen_rows r = {0};
    ck_assert_int_eq(o->each(s, collect, &r), 0);
    ck_assert_uint_eq(r.len, 3);
    ck_assert(r.keys[0] == 5 && r.keys[1] == 256 && r.keys[2] == 300);
    ck_assert(r.bytes[0] == 3 && r.bytes[2] == 5);
    ck_assert_str_eq(r.heads[1], "new");
    int calls = 0;
    ck_assert_int_eq(o->each(s, stop_at_first, &calls), 5);
    ck_assert_int_eq(calls, 1);
    struct buf *b;
    ck_assert_int_eq(o->get(s, 256, 100, &b), 0);
    ck_assert(b->off == 100 && slice_equal(buf_slice(b), slice_of("two", 3)));
    buf_drop(b);
    ck_assert_int_eq(o->get(s, 4, 0, &b), HELIO_ENOENT);
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->remove(s, 256), 0);
    ck_assert_int_eq(o->get(s, 256, 0, &b), HELIO_ENOENT);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_uint_eq(o->bytes(s), 8);
    place_done(&p, s);
}
END_TEST

/* Around the length at which a bundle has a row of its own, with heads that grow and shrink. */
START_TEST(bundles_of_any_length_and_their_heads)
{
    enum { LEAST = 900, MOST = 2100 };
    struct place p;
    uint8_t data[MOST], head[STORE_HEAD_MAX];
    struct store *s = place_open(&p, backends[_i], 10000000, STORE_SYNC);
    const struct store_ops *o = s->ops;
    memset(head, 'h', sizeof head);
    uint64_t total = 0;
    ck_assert_int_eq(o->begin(s), 0);
    for (size_t len = LEAST; len < MOST; len += 7, total += len - 7) {
        memset(data, (int)len, len);
        ck_assert_int_eq(o->put(s, len, slice_of(head, 60), slice_of(data, len)), 0);
    }
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_uint_eq(o->bytes(s), total);
    for (size_t head_len = STORE_HEAD_MAX; head_len > 0; head_len = head_len / 32) {
        ck_assert_int_eq(o->begin(s), 0);
        for (size_t len = LEAST; len < MOST; len += 7)
            ck_assert_int_eq(o->update(s, len, slice_of(head, head_len)), 0);
        ck_assert_int_eq(o->commit(s), 0);
        for (size_t len = LEAST; len < MOST; len += 7) {
            struct buf *b;
            memset(data, (int)len, len);
            ck_assert_int_eq(o->get(s, len, 0, &b), 0);
            ck_assert(slice_equal(buf_slice(b), slice_of(data, len)));
            buf_drop(b);
        }
        ck_assert_uint_eq(o->bytes(s), total);
    }
    ck_assert_int_eq(o->begin(s), 0);
    for (size_t len = LEAST; len < MOST; len += 7)
        ck_assert_int_eq(len % 2 == 0 ? o->remove(s, len) : o->set_aside(s, len), 0);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_uint_eq(o->bytes(s), 0);
    ck_assert_uint_eq(o->damaged(s), 86);
    place_done(&p, s);
}
END_TEST

START_TEST(abort_takes_everything_back)
{
    struct place p;
    struct store *s = place_open(&p, backends[_i], 1000, STORE_SYNC);
    const struct store_ops *o = s->ops;
    ck_assert_int_eq(o->begin(s), 0);
    put(s, 1, "a", "one", 0);
    put(s, 2, "b", "two", 0);
    ck_assert_int_eq(o->mark(s, slice_of("id", 2), 50), 0);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_int_eq(o->begin(s), 0);
    put(s, 3, "c", "three", 0);
    ck_assert_int_eq(o->update(s, 1, slice_of("changed", 7)), 0);
    ck_assert_int_eq(o->remove(s, 2), 0);
    ck_assert_int_eq(o->remove(s, 1), 0);
    ck_assert_int_eq(o->mark(s, slice_of("id", 2), 99), 0);
    ck_assert_int_eq(o->mark(s, slice_of("other", 5), 99), 0);
    o->abort(s);
    struct seen_rows r = {0};
    char marks[256] = "";
    ck_assert_int_eq(o->each(s, collect, &r), 0);
    ck_assert(r.len == 2 && r.keys[0] == 1 && r.keys[1] == 2);
    ck_assert_str_eq(r.heads[0], "a");
    ck_assert_int_eq(o->marks(s, collect_mark, &marks), 0);
    ck_assert_str_eq(marks, "id 50\n");
    ck_assert_uint_eq(o->bytes(s), 6);
    place_done(&p, s);
}
END_TEST

START_TEST(limit_refuses_one_and_keeps_the_transaction)
{
    struct place p;
    struct store *s = place_open(&p, backends[_i], 10, STORE_SYNC);
    const struct store_ops *o = s->ops;
    ck_assert_int_eq(o->begin(s), 0);
    put(s, 1, "a", "sixsix", 0);
    put(s, 2, "b", "fives", HELIO_ESPACE);
    put(s, 3, "c", "four", 0);
    put(s, 4, "d", "x", HELIO_ESPACE);
    put(s, 4, "d", "", 0);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_uint_eq(o->bytes(s), 10);
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->remove(s, 1), 0);
    put(s, 5, "e", "fives!", 0);
    ck_assert_int_eq(o->commit(s), 0);
    char big[STORE_HEAD_MAX + 1];
    memset(big, 'x', sizeof big);
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->put(s, 6, slice_of(big, sizeof big), slice_of("", 0)), HELIO_EINVAL);
    ck_assert_int_eq(o->put(s, 6, slice_of(big, STORE_HEAD_MAX), slice_of("", 0)), 0);
    ck_assert_int_eq(o->mark(s, slice_of(big, STORE_MARK_MAX + 1), 1), HELIO_EINVAL);
    ck_assert_int_eq(o->mark(s, slice_of(big, STORE_MARK_MAX), 1), 0);
    ck_assert_int_eq(o->commit(s), 0);
    place_done(&p, s);
}
END_TEST

START_TEST(marks_end_and_are_bounded)
{
    struct place p;
    struct store *s = place_open(&p, backends[_i], 10, STORE_SYNC);
    const struct store_ops *o = s->ops;
    char marks[256] = "";
    ck_assert_int_eq(o->begin(s), 0);
    ck_assert_int_eq(o->mark(s, slice_of("a", 1), 10), 0);
    ck_assert_int_eq(o->mark(s, slice_of("b", 1), 20), 0);
    ck_assert_int_eq(o->mark(s, slice_of("a", 1), 15), 0);
    ck_assert_int_eq(o->forget(s, 100), HELIO_EINVAL);
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_int_eq(o->forget(s, 14), 0);
    ck_assert_int_eq(o->marks(s, collect_mark, &marks), 0);
    ck_assert_str_eq(marks, "a 15\nb 20\n");
    ck_assert_int_eq(o->forget(s, 15), 0);
    marks[0] = 0;
    ck_assert_int_eq(o->marks(s, collect_mark, &marks), 0);
    ck_assert_str_eq(marks, "b 20\n");
    ck_assert_int_eq(o->begin(s), 0);
    for (int i = 0; i < 6; i++) {
        char id[2] = {(char)('c' + i), 0};
        ck_assert_int_eq(o->mark(s, slice_of(id, 1), 30 + (uint64_t)i), 0);
    }
    ck_assert_int_eq(o->commit(s), 0);
    ck_assert_int_eq(o->forget(s, 1), 0); /* place_open set marks_max to 4 */
    marks[0] = 0;
    ck_assert_int_eq(o->marks(s, collect_mark, &marks), 0);
    ck_assert_str_eq(marks, "e 32\nf 33\ng 34\nh 35\n");
    place_done(&p, s);
}
END_TEST

static int count_mark(void *ctx, struct slice id, uint64_t until_ms)
{
    (void)id, (void)until_ms;
    ++*(int *)ctx;
    return 0;
}

START_TEST(a_long_list_of_old_marks_says_that_more_are_left)
{
    struct place p;
    struct store *s = place_open(&p, backends[_i], 10, STORE_ASYNC);
    const struct store_ops *o = s->ops;
    int calls = 1, left = 0, rc;
    ck_assert_int_eq(o->begin(s), 0);
    for (uint32_t i = 0; i < 10000; i++)
        ck_assert_int_eq(o->mark(s, slice_of(&i, sizeof i), i), 0);
    ck_assert_int_eq(o->commit(s), 0);
    while ((rc = o->forget(s, 20000)) == 1)
        calls++;
    ck_assert_int_eq(rc, 0);
    ck_assert_int_le(calls, 3);
    ck_assert_int_eq(o->marks(s, count_mark, &left), 0);
    ck_assert_int_eq(left, 0);
    place_done(&p, s);
}
END_TEST

/* Random operations beside a model of what must be there. */
START_TEST(agrees_with_a_model)
{
    enum { KEYS = 40 };
    struct place p;
    struct store *s = place_open(&p, backends[_i], 4000000, STORE_ASYNC);
    const struct store_ops *o = s->ops;
    size_t len[KEYS] = {0}, after[KEYS];
    bool in[KEYS] = {false}, in_after[KEYS];
    uint8_t *data = calloc(1, 200000);
    struct rng r;
    rng_init(&r, 3);
    for (int round = 0; round < 150; round++) {
        ck_assert_int_eq(o->begin(s), 0);
        memcpy(after, len, sizeof len);
        memcpy(in_after, in, sizeof in);
        for (uint64_t k = rng_below(&r, 8); k > 0; k--) {
            size_t i = (size_t)rng_below(&r, KEYS);
            if (in_after[i]) {
                ck_assert_int_eq(o->remove(s, i + 1), 0);
            } else {
                after[i] = (size_t)rng_below(&r, rng_chance(&r, 0.5) ? 200000 : 500);
                memset(data, (int)i, after[i]);
                ck_assert_int_eq(o->put(s, i + 1, slice_of("h", 1), slice_of(data, after[i])), 0);
            }
            in_after[i] = !in_after[i];
        }
        if (rng_chance(&r, 0.3)) {
            o->abort(s);
        } else {
            ck_assert_int_eq(o->commit(s), 0);
            memcpy(len, after, sizeof len);
            memcpy(in, in_after, sizeof in);
        }
        uint64_t total = 0;
        for (size_t i = 0; i < KEYS; i++) {
            struct buf *b = NULL;
            ck_assert_int_eq(o->get(s, i + 1, 0, &b), in[i] ? 0 : HELIO_ENOENT);
            if (!in[i])
                continue;
            total += len[i];
            memset(data, (int)i, len[i]);
            ck_assert(slice_equal(buf_slice(b), slice_of(data, len[i])));
            buf_drop(b);
        }
        ck_assert_uint_eq(o->bytes(s), total);
    }
    free(data);
    place_done(&p, s);
}
END_TEST

SUITE(store_suite, t)
{
    const int count = (int)(sizeof backends / sizeof *backends);
    tcase_add_loop_test(t, put_get_update_remove, 0, count);
    tcase_add_loop_test(t, bundles_of_any_length_and_their_heads, 0, count);
    tcase_add_loop_test(t, abort_takes_everything_back, 0, count);
    tcase_add_loop_test(t, limit_refuses_one_and_keeps_the_transaction, 0, count);
    tcase_add_loop_test(t, marks_end_and_are_bounded, 0, count);
    tcase_add_loop_test(t, a_long_list_of_old_marks_says_that_more_are_left, 0, count);
    tcase_add_loop_test(t, agrees_with_a_model, 0, count);
    tcase_set_timeout(t, 120);
}
