/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of several sockets come out by their time of arrival, with their bytes. */
#include <string.h>

#include "base/rng.h"
#include "channel-emu/emu/emu_stage.h"
#include "tests/unit/suite.h"

START_TEST(frames_are_sorted_by_arrival)
{
    struct emu_stage s = {.frame = NULL};
    struct rng rng;
    uint8_t data[300];
    tick begin = 0, last = 0;
    uint64_t put = 0, taken = 0;
    rng_init(&rng, 5);
    for (int round = 0; round < 200; round++, begin += 1000) {
        for (int i = 0; i < 50; i++, put++) { /* some arrive while others are read */
            struct emu_staged f = {.arrival = begin + rng_below(&rng, 1200), .tag = put};
            f.len = (uint32_t)rng_below(&rng, sizeof data);
            memset(data, (int)(put % 251), f.len);
            ck_assert_int_eq(emu_stage_put(&s, &f, data), 0);
        }
        size_t n = emu_stage_sort(&s, round == 199 ? TICK_NEVER : begin + 999);
        for (size_t i = 0; i < n; i++, taken++) {
            const struct emu_staged *f = &s.frame[i];
            if (f->arrival < last)
                ck_abort_msg("back in time");
            last = f->arrival;
            for (uint32_t k = 0; k < f->len; k++) {
                if (s.bytes[f->at + k] != f->tag % 251)
                    ck_abort_msg("other bytes");
            }
        }
        emu_stage_drop(&s, n);
    }
    ck_assert_uint_eq(put, taken);
    ck_assert_uint_eq(s.count, 0);
    emu_stage_fini(&s);
}
END_TEST

START_TEST(what_came_first_stays_first)
{
    struct emu_stage s = {.frame = NULL};
    for (uint64_t i = 0; i < 1000; i++) {
        const struct emu_staged f = {.arrival = i % 2, .tag = i};
        ck_assert_int_eq(emu_stage_put(&s, &f, NULL), 0);
    }
    ck_assert_uint_eq(emu_stage_sort(&s, 0), 500);
    for (uint64_t i = 0; i < 500; i++)
        ck_assert_uint_eq(s.frame[i].tag, 2 * i);
    emu_stage_fini(&s);
}
END_TEST

SUITE(emu_stage, t)
{
    tcase_add_test(t, frames_are_sorted_by_arrival);
    tcase_add_test(t, what_came_first_stays_first);
}
