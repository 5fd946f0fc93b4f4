/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The curves are steep: the logarithm of the loss is linear over the decibels between two points,
 * as chan_power looks them up, and beyond the ends. Nothing can fail.
 */
#include "channel-emu/chan/chan_code.h"

#include <assert.h>

#include "channel-emu/chan/chan_math.h"

const struct code_curve code_curves[CODE_COUNT] = {
    {"dvbs2-qpsk-3/5", 9552, false, 3, {{2.02, 0.220}, {2.12, 0.0340}, {2.22, 0.00234}}},
    {"dvbs2-qpsk-8/9", 14232, false, 3, {{6.05, 0.235}, {6.15, 0.0539}, {6.25, 0.00351}}},
    {"dvbs2-8psk-3/5",
     9552,
     false,
     4,
     {{5.18, 0.501}, {5.28, 0.170}, {5.38, 0.0230}, {5.48, 0.00188}}},
    {"dvbs2-8psk-8/9",
     14232,
     false,
     4,
     {{10.41, 0.476}, {10.51, 0.166}, {10.61, 0.0310}, {10.71, 0.00323}}},
    {"dvbs2-16apsk-8/9",
     14232,
     false,
     5,
     {{12.56, 0.642}, {12.66, 0.276}, {12.76, 0.0729}, {12.86, 0.0116}, {12.96, 0.000923}}},
    {"hpe-16ppm-1/3-b0.2",
     5006,
     true,
     4,
     {{0.90, 0.645}, {1.00, 0.163}, {1.10, 0.0247}, {1.20, 0.00075}}},
    {"hpe-16ppm-1/2-b0.01",
     7526,
     true,
     4,
     {{-0.10, 0.44}, {0.00, 0.16}, {0.10, 0.0267}, {0.20, 0.00125}}},
    {"hpe-16ppm-1/2-b0.2",
     7526,
     true,
     4,
     {{2.20, 0.795}, {2.30, 0.363}, {2.40, 0.0467}, {2.50, 0.00075}}},
    {"hpe-16ppm-2/3-b0.2", 10046, true, 3, {{3.70, 0.197}, {3.80, 0.0233}, {3.90, 0.00075}}},
    {"hpe-64ppm-1/3-b0.2",
     5006,
     true,
     4,
     {{1.60, 0.695}, {1.70, 0.213}, {1.80, 0.038}, {1.90, 0.0035}}},
    {"hpe-64ppm-1/2-b0.01",
     7526,
     true,
     4,
     {{0.20, 0.545}, {0.30, 0.253}, {0.40, 0.048}, {0.50, 0.00725}}},
    {"hpe-64ppm-1/2-b0.2",
     7526,
     true,
     4,
     {{2.90, 0.735}, {3.00, 0.24}, {3.10, 0.022}, {3.20, 0.00125}}},
    {"hpe-64ppm-2/3-b0.2", 10046, true, 3, {{4.20, 0.46}, {4.30, 0.0775}, {4.40, 0.00275}}},
};

/* Level at which the line through points i and i + 1 has that loss. */
static double level_at(const struct code_curve *c, size_t i, double loss)
{
    double low = math_log(c->points[i].loss), high = math_log(c->points[i + 1].loss);
    double part = (math_log(loss) - low) / (high - low);
    return c->points[i].level_db + part * (c->points[i + 1].level_db - c->points[i].level_db);
}

size_t code_table(const struct code_curve *c, double noise_db, double slope,
                  struct chan_power_point out[CODE_TABLE_MAX])
{
    size_t n = c->count;
    assert(n >= 2 && n <= CODE_POINTS_MAX && slope > 0);
    out[0] = (struct chan_power_point){.db = level_at(c, 0, 1), .loss = 1};
    for (size_t i = 0; i < n; i++)
        out[i + 1] =
            (struct chan_power_point){.db = c->points[i].level_db, .loss = c->points[i].loss};
    out[n + 1] = (struct chan_power_point){.db = level_at(c, n - 2, CODE_LOSS_LEAST),
                                           .loss = CODE_LOSS_LEAST};
    for (size_t i = 0; i < n + 2; i++)
        out[i].db = noise_db + out[i].db / slope;
    return n + 2;
}
