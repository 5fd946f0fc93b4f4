/* SPDX-License-Identifier: Apache-2.0 */
/* The heap against a linear search; equal deadlines come out in the order of insertion. */

#include "base/heap.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define N 200

START_TEST(against_a_search)
{
    struct heap h;
    struct heap_node nodes[N];
    struct rng r;
    rng_init(&r, 3);
    heap_init(&h);
    for (size_t i = 0; i < N; i++)
        heap_node_init(&nodes[i]);
    for (int step = 0; step < 20000; step++) {
        struct heap_node *n = &nodes[rng_below(&r, N)];
        if (rng_chance(&r, 0.6))
            ck_assert_int_eq(heap_set(&h, n, rng_below(&r, 50)), 0);
        else
            heap_sub(&h, n);
        const struct heap_node *first = NULL;
        size_t in = 0;
        for (size_t i = 0; i < N; i++) {
            if (!heap_has(&nodes[i]))
                continue;
            in++;
            if (first == NULL || nodes[i].due < first->due ||
                (nodes[i].due == first->due &&
                 h.places[nodes[i].pos].order < h.places[first->pos].order))
                first = &nodes[i];
        }
        ck_assert_uint_eq(h.len, in);
        ck_assert_ptr_eq(heap_first(&h), first);
        ck_assert_uint_eq(heap_due(&h), first == NULL ? TICK_NEVER : first->due);
    }
    heap_fini(&h);
}
END_TEST

START_TEST(ties_in_order)
{
    struct heap h;
    struct heap_node nodes[N];
    heap_init(&h);
    for (size_t i = 0; i < N; i++) {
        heap_node_init(&nodes[i]);
        heap_set(&h, &nodes[i], 7);
    }
    heap_set(&h, &nodes[0], 7); /* moved: now the last one */
    for (size_t i = 1; i <= N; i++) {
        ck_assert_ptr_eq(heap_first(&h), &nodes[i % N]);
        heap_sub(&h, heap_first(&h));
    }
    ck_assert_ptr_null(heap_first(&h));
    heap_fini(&h);
}
END_TEST

START_TEST(reserved_places)
{
    struct heap h;
    heap_init(&h);
    ck_assert_int_eq(heap_reserve(&h, 100), 0);
    ck_assert_uint_ge(h.cap, 100);
    struct heap_place *before = h.places;
    struct heap_node nodes[100];
    for (size_t i = 0; i < 100; i++) {
        heap_node_init(&nodes[i]);
        heap_set(&h, &nodes[i], i);
    }
    ck_assert_ptr_eq(h.places, before);
    heap_fini(&h);
}
END_TEST

/* Later by the same: the order stays, that of equal ones, too; "never" does not come round. */
START_TEST(delayed)
{
    struct heap h;
    struct heap_node nodes[5];
    static const tick due[] = {30, 10, 20, 10, TICK_NEVER};
    static const struct {
        size_t node;
        tick due;
    } out[] = {{1, 110}, {3, 110}, {2, 120}, {0, 130}, {4, TICK_NEVER}};
    heap_init(&h);
    for (size_t i = 0; i < 5; i++) {
        heap_node_init(&nodes[i]);
        heap_set(&h, &nodes[i], due[i]);
    }
    heap_delay(&h, 100);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_ptr_eq(heap_first(&h), &nodes[out[i].node]);
        ck_assert_uint_eq(heap_due(&h), out[i].due);
        heap_sub(&h, heap_first(&h));
    }
    heap_fini(&h);
}
END_TEST

SUITE(base_heap, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, against_a_search);
    tcase_add_test(t, ties_in_order);
    tcase_add_test(t, reserved_places);
    tcase_add_test(t, delayed);
}
