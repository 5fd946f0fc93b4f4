/* SPDX-License-Identifier: Apache-2.0 */
/* An agenda against a plain search, with dues at random, in order, and mixed. */
#include <stdlib.h>

#include "base/agenda.h"
#include "base/rng.h"
#include "tests/unit/suite.h"

#define N 300
#define STEPS 6000

struct model {
    struct agenda agenda;
    struct heap_node nodes[N];
    uint64_t turns[N]; /* order among those with the same due and rank */
    unsigned ranks;    /* of node i: i % ranks */
    uint64_t turn;
};

static unsigned rank_of(const struct model *m, size_t i)
{
    return (unsigned)(i % m->ranks);
}

static void model_init(struct model *m)
{
    agenda_init(&m->agenda);
    m->ranks = 1;
    m->turn = 0;
    for (size_t i = 0; i < N; i++)
        heap_node_init(&m->nodes[i]);
}

static void set_node(struct model *m, size_t i, tick due)
{
    if (!heap_has(&m->nodes[i]) || m->nodes[i].due != due)
        m->turns[i] = m->turn++;
    ck_assert_int_eq(agenda_set(&m->agenda, &m->nodes[i], due, rank_of(m, i)), 0);
    ck_assert_uint_eq(m->nodes[i].due, due);
}

static bool is_before(const struct model *m, size_t i, size_t j)
{
    if (m->nodes[i].due != m->nodes[j].due)
        return m->nodes[i].due < m->nodes[j].due;
    if (rank_of(m, i) != rank_of(m, j))
        return rank_of(m, i) < rank_of(m, j);
    return m->turns[i] < m->turns[j];
}

static void compare_first(const struct model *m)
{
    const struct heap_node *first = NULL;
    size_t in = 0, at = 0;
    for (size_t i = 0; i < N; i++) {
        const struct heap_node *n = &m->nodes[i];
        if (!heap_has(n))
            continue;
        in++;
        if (first == NULL || is_before(m, i, at)) {
            first = n;
            at = i;
        }
    }
    agenda_check(&m->agenda);
    ck_assert_uint_eq(agenda_len(&m->agenda), in);
    ck_assert_ptr_eq(agenda_first(&m->agenda), first);
    ck_assert_uint_eq(agenda_due(&m->agenda), first == NULL ? TICK_NEVER : first->due);
}

/* in_order: how many of the dues are later than all before. */
static void run_model(uint64_t seed, double in_order, double set, unsigned ranks)
{
    struct rng r;
    struct model m;
    tick latest = 100;
    rng_init(&r, seed);
    model_init(&m);
    m.ranks = ranks;
    for (int step = 0; step < STEPS; step++) {
        const size_t i = (size_t)rng_below(&r, N);
        if (!rng_chance(&r, set))
            agenda_sub(&m.agenda, rng_chance(&r, 0.5) || agenda_first(&m.agenda) == NULL
                                      ? &m.nodes[i]
                                      : agenda_first(&m.agenda));
        else if (rng_chance(&r, in_order))
            set_node(&m, i, latest += rng_below(&r, 2));
        else
            set_node(&m, i, rng_below(&r, latest + 10));
        compare_first(&m);
    }
    agenda_fini(&m.agenda);
}

START_TEST(as_a_search)
{
    for (unsigned ranks = 1; ranks <= HEAP_RANK_MAX + 1; ranks += HEAP_RANK_MAX) {
        run_model(1, 1, 0.5, ranks);
        run_model(2, 0.9, 0.6, ranks);
        run_model(3, 0.5, 0.7, ranks);
        run_model(4, 0, 0.5, ranks);
        run_model(5, 0.99, 0.9, ranks);
    }
}
END_TEST

/* What goes through in order needs no more memory than what is in it. */
START_TEST(a_row_that_goes_on)
{
    struct model m;
    model_init(&m);
    for (tick t = 0; t < 100000; t++) {
        if (t >= 20) {
            ck_assert_ptr_eq(agenda_first(&m.agenda), &m.nodes[(t - 20) % N]);
            agenda_sub(&m.agenda, &m.nodes[(t - 20) % N]);
        }
        set_node(&m, t % N, t);
    }
    agenda_check(&m.agenda);
    ck_assert_uint_eq(agenda_len(&m.agenda), 20);
    ck_assert_uint_le(m.agenda.slots_cap, 8);
    ck_assert_uint_eq(m.agenda.heap.len, 0);
    agenda_fini(&m.agenda);
}
END_TEST

/* One that stays for ever keeps nobody out of a row. */
START_TEST(one_that_stays)
{
    struct model m;
    model_init(&m);
    set_node(&m, 0, TICK_NEVER);
    for (size_t i = 1; i < N; i++)
        set_node(&m, i, i);
    ck_assert_uint_eq(m.agenda.live, N);
    for (size_t i = 1; i < N; i++) {
        ck_assert_ptr_eq(agenda_first(&m.agenda), &m.nodes[i]);
        agenda_sub(&m.agenda, &m.nodes[i]);
    }
    agenda_sub(&m.agenda, &m.nodes[0]);
    agenda_sub(&m.agenda, &m.nodes[0]);
    compare_first(&m);
    set_node(&m, 1, 5);
    ck_assert_uint_eq(m.agenda.live, 1);
    agenda_fini(&m.agenda);
}
END_TEST

/* Bundles of as many lifetimes as there are rows, one after the other: none is in the heap. */
START_TEST(several_lifetimes)
{
    static const tick lifetimes[AGENDA_ROWS] = {3, 3600, 60, 86400, 1, 600, 30, 100000};
    struct model m;
    model_init(&m);
    for (size_t i = 0; i < N; i++)
        set_node(&m, i, (tick)i + lifetimes[i % AGENDA_ROWS]);
    ck_assert_uint_eq(m.agenda.heap.len, 0);
    compare_first(&m);
    agenda_fini(&m.agenda);
}
END_TEST

/* Of 64 chunks' nodes in a row all but the last of each chunk leave: those that are left take the
 * memory of few chunks, and no call moved more than a part of one. */
START_TEST(few_left_of_many)
{
    enum { MANY = 64 * AGENDA_CHUNK };
    struct heap_node *nodes = calloc(MANY, sizeof *nodes);
    struct agenda a;
    size_t in_heap = 0, chunks = 0;
    ck_assert_ptr_nonnull(nodes);
    agenda_init(&a);
    for (size_t i = 0; i < MANY; i++) {
        heap_node_init(&nodes[i]);
        ck_assert_int_eq(agenda_set(&a, &nodes[i], i, 0), 0);
    }
    for (size_t i = MANY; i > 0; i--) {
        if (i % AGENDA_CHUNK != 0)
            agenda_sub(&a, &nodes[i - 1]);
        ck_assert_uint_le(a.heap.len, in_heap + AGENDA_CHUNK / 4);
        in_heap = a.heap.len;
    }
    agenda_check(&a);
    list_for_each (l, &a.rows[0])
        chunks++;
    ck_assert_uint_eq(agenda_len(&a), 64);
    ck_assert_uint_le(chunks, 2);
    for (size_t i = AGENDA_CHUNK; i <= MANY; i += AGENDA_CHUNK) {
        ck_assert_ptr_eq(agenda_first(&a), &nodes[i - 1]);
        agenda_sub(&a, &nodes[i - 1]);
    }
    free(nodes);
    agenda_fini(&a);
}
END_TEST

SUITE(base_agenda, t)
{
    tcase_set_timeout(t, 120);
    tcase_add_test(t, as_a_search);
    tcase_add_test(t, a_row_that_goes_on);
    tcase_add_test(t, one_that_stays);
    tcase_add_test(t, several_lifetimes);
    tcase_add_test(t, few_left_of_many);
}
