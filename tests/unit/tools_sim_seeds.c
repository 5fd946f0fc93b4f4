/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with consecutive seeds share no stream of chances, in neither direction. */
#include <math.h>
#include <string.h>

#include "sim/sim_run.h"
#include "tests/unit/suite.h"

#define SEEDS 3
#define FRAMES 1000u
#define LOSS 0.3

struct fates {
    bool lost[2][FRAMES]; /* of the first frames of each direction */
};

static void note_fate(void *context, int direction, const struct chan_fate *f)
{
    struct fates *all = context;
    if (f->reason == CHAN_RANDOM && f->number <= FRAMES)
        all->lost[direction][f->number - 1] = true;
}

static void run_seed(uint64_t seed, struct fates *out)
{
    struct sim_result result;
    memset(out, 0, sizeof *out);
    const struct sim_params p = {.rate_bps = 100000000,
                                 .overhead = 42,
                                 .delay = TICK_MS,
                                 .span.export_sessions = 20,
                                 .span.rto = 10 * TICK_MS,
                                 .bundle = 10000,
                                 .span.segment_max = 1024,
                                 .span.claims_max = 256,
                                 .duration = 2 * TICK_S,
                                 .loss = LOSS,
                                 .back_loss = LOSS,
                                 .seed = seed,
                                 .fate = note_fate,
                                 .fate_context = out};
    ck_assert_int_eq(sim_run_experiment(&p, &result), 0);
    ck_assert(result.frames > FRAMES && result.back_frames > FRAMES);
}

/* Of two that know nothing of each other, p^2 + (1 - p)^2 are alike. Five deviations. */
START_TEST(no_two_lose_alike)
{
    static struct fates of[SEEDS], again;
    const double alike = LOSS * LOSS + (1 - LOSS) * (1 - LOSS);
    for (unsigned s = 0; s < SEEDS; s++)
        run_seed(s + 1, &of[s]);
    run_seed(2, &again);
    ck_assert_mem_eq(&again, &of[1], sizeof again);
    for (unsigned a = 0; a < 2 * SEEDS; a++) {
        for (unsigned b = 0; b < a; b++) {
            unsigned equal = 0;
            for (unsigned n = 0; n < FRAMES; n++)
                equal += of[a / 2].lost[a % 2][n] == of[b / 2].lost[b % 2][n];
            ck_assert_double_eq_tol(equal, FRAMES * alike, 5 * sqrt(FRAMES * alike * (1 - alike)));
        }
    }
}
END_TEST

SUITE(tools_sim_seeds, t)
{
    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_two_lose_alike);
}
