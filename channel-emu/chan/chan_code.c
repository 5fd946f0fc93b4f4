/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curves are steep: the logarithm of the loss is linear over the decibels between two points,
 * as chan_power looks them up, and beyond the ends. Nothing can fail.
 */
#include "channel-emu/chan/chan_code.h"

#include <assert.h>

#include "channel-emu/chan/chan_math.h"

const struct code_curve code_curves[CODE_COUNT] = {
    {"dvbs2-qpsk-3/5", 9552, 3, {{2.02, 0.220}, {2.12, 0.0340}, {2.22, 0.00234}}},
    {"dvbs2-qpsk-8/9", 14232, 3, {{6.05, 0.235}, {6.15, 0.0539}, {6.25, 0.00351}}},
    {"dvbs2-8psk-3/5", 9552, 4, {{5.18, 0.501}, {5.28, 0.170}, {5.38, 0.0230}, {5.48, 0.00188}}},
    {"dvbs2-8psk-8/9",
     14232,
     4,
     {{10.41, 0.476}, {10.51, 0.166}, {10.61, 0.0310}, {10.71, 0.00323}}},
    {"dvbs2-16apsk-8/9",
     14232,
     5,
     {{12.56, 0.642}, {12.66, 0.276}, {12.76, 0.0729}, {12.86, 0.0116}, {12.96, 0.000923}}},
};

/* Es/N0 at which the line through points i and i + 1 has that loss. */
static double level_at(const struct code_curve *c, size_t i, double loss)
{
    double low = math_log(c->points[i].loss), high = math_log(c->points[i + 1].loss);
    double part = (math_log(loss) - low) / (high - low);
    return c->points[i].esn0_db + part * (c->points[i + 1].esn0_db - c->points[i].esn0_db);
}

size_t code_table(const struct code_curve *c, double noise_db, double slope,
                  struct chan_power_point out[CODE_TABLE_MAX])
{
    size_t n = c->count;
    assert(n >= 2 && n <= CODE_POINTS_MAX && slope > 0);
    out[0] = (struct chan_power_point){.db = level_at(c, 0, 1), .loss = 1};
    for (size_t i = 0; i < n; i++)
        out[i + 1] =
            (struct chan_power_point){.db = c->points[i].esn0_db, .loss = c->points[i].loss};
    out[n + 1] = (struct chan_power_point){.db = level_at(c, n - 2, CODE_LOSS_LEAST),
                                           .loss = CODE_LOSS_LEAST};
    for (size_t i = 0; i < n + 2; i++)
        out[i].db = noise_db + out[i].db / slope;
    return n + 2;
}
