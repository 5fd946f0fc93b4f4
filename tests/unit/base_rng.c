/* SPDX-License-Identifier: Apache-2.0 */
/* The generator's numbers are the same on every machine, and about uniform. */
#include <math.h>

#include "base/rng.h"
#include "tests/unit/suite.h"

/* xoshiro256** from the state 1, 2, 3, 4: the authors' reference gives these. */
START_TEST(known_numbers)
{
    struct rng r = {{1, 2, 3, 4}};
    static const uint64_t want[] = {UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
                                    UINT64_C(1215971899390074240)};
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(rng_u64(&r), want[i]);
}
END_TEST

START_TEST(seeds_differ_and_repeat)
{
    struct rng a, b, c;
    rng_init(&a, 1);
    rng_init(&b, 1);
    rng_init(&c, 2);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rng_u64(&a);
        ck_assert_uint_eq(x, rng_u64(&b));
        equal += x == rng_u64(&c);
    }
    ck_assert_int_eq(equal, 0);
}
END_TEST

START_TEST(about_uniform)
{
    struct rng r;
    int count[10] = {0}, heads = 0;
    double sum = 0;
    rng_init(&r, 4);
    for (int i = 0; i < 100000; i++) {
        uint64_t x = rng_below(&r, 10);
        double u = rng_unit(&r);
        ck_assert_uint_lt(x, 10);
        ck_assert(u >= 0 && u < 1);
        count[x]++;
        sum += u;
        heads += rng_chance(&r, 0.2);
    }
    for (int i = 0; i < 10; i++)
        ck_assert(count[i] > 9600 && count[i] < 10400);
    ck_assert(sum > 49500 && sum < 50500);
    ck_assert(heads > 19500 && heads < 20500);
    ck_assert_uint_eq(rng_below(&r, 0), 0);
    ck_assert_uint_eq(rng_below(&r, 1), 0);
    ck_assert(!rng_chance(&r, 0) && rng_chance(&r, 1));
}
END_TEST

/* Seeds near to each other and names near to each other: none equal, none a neighbour's. */
START_TEST(names_have_streams_of_their_own)
{
    static const char *const names[] = {"forward", "return", "", "1", "2", "12"};
    enum { NAMES = sizeof names / sizeof *names, SEEDS = 100 };
    uint64_t all[NAMES * SEEDS];
    size_t n = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (size_t i = 0; i < NAMES; i++) {
            all[n] = rng_named(seed, names[i]);
            ck_assert_uint_eq(all[n], rng_named(seed, names[i]));
            for (size_t k = 0; k < n; k++)
                ck_assert(all[n] != all[k] && all[n] - all[k] != UINT64_C(0x9e3779b97f4a7c15));
            ck_assert(all[n] != seed);
            n++;
        }
    }
}
END_TEST

/* The next seed, or the next name, changes half of the bits: what takes some of them away (a link's
 * seed is the upper 63) leaves them apart. 64 fair coins: mean 32, deviation 4. */
START_TEST(neighbours_have_half_of_the_bits_in_common)
{
    static const char *const names[] = {"forward", "forwarf", "a", "b"};
    enum { N = 1000 };
    for (size_t k = 0; k < 4; k++) {
        double by_seed = 0, by_name = 0;
        for (uint64_t seed = 0; seed < N; seed++) {
            uint64_t one = rng_named(seed, names[k]);
            int seeds = __builtin_popcountll(one ^ rng_named(seed + 1, names[k]));
            int other = __builtin_popcountll(one ^ rng_named(seed, names[k ^ 1]));
            ck_assert(seeds > 8 && seeds < 56 && other > 8 && other < 56);
            by_seed += (double)seeds / N;
            by_name += (double)other / N;
        }
        ck_assert_double_eq_tol(by_seed, 32, 5 * 4 / sqrt(N));
        ck_assert_double_eq_tol(by_name, 32, 5 * 4 / sqrt(N));
    }
}
END_TEST

SUITE(base_rng, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, known_numbers);
    tcase_add_test(t, seeds_differ_and_repeat);
    tcase_add_test(t, about_uniform);
    tcase_add_test(t, names_have_streams_of_their_own);
    tcase_add_test(t, neighbours_have_half_of_the_bits_in_common);
}
