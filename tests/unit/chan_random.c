/* SPDX-License-Identifier: Apache-2.0 */
/* Channels with random configurations against a second computation of what they must do: air times
 * and delays to the nanosecond, each loss and its reason, order, counters. */

#include "base/rng.h"
#include "tests/unit/chan_oracle.h"
#include "tests/unit/suite.h"

struct source {
    struct rng rng;
};

static uint64_t pick(struct source *s, uint64_t n)
{
    return rng_below(&s->rng, n);
}

#define SEEDS_PER_TEST 100

/* _i: a hundred seeds */
START_TEST(channels_do_what_they_must)
{
    static struct oracle o;
    for (int i = 0; i < SEEDS_PER_TEST; i++) {
        struct source s;
        uint64_t seed = (uint64_t)_i * SEEDS_PER_TEST + (uint64_t)i;
        rng_init(&s.rng, seed);
        const char *wrong = oracle_play(&o, &s, ORACLE_FRAMES);
        ck_assert_msg(wrong == NULL, "seed %llu, frame %zu: %s", (unsigned long long)seed, o.frames,
                      wrong);
    }
}
END_TEST

SUITE(chan_random, t)
{
    tcase_set_timeout(t, 20);
    tcase_add_loop_test(t, channels_do_what_they_must, 0, 25);
}
