/* SPDX-License-Identifier: Apache-2.0 */
/* The forward direction is drawn again, up to the step that belongs to the first one back. Nothing
 * can fail. */
#include "channel-emu/chan/chan_direction.h"

#include <assert.h>

static void next_forward(struct fade_direction *d)
{
    if (d->at == d->steps) {
        fade_init(&d->forward, d->config, d->step, d->seed);
        d->at = 0;
    }
    fade_next(&d->forward);
    d->at++;
}

void fade_direction_init(struct fade_direction *d, const struct fade_config *c, tick step,
                         uint64_t steps, uint64_t seed)
{
    assert(steps > 0 && step > 0);
    *d = (struct fade_direction){
        .config = c, .step = step, .seed = seed, .steps = steps, .at = steps};
    if (!c->back) {
        fade_init(&d->own, c, step, seed);
        return;
    }
    uint64_t lag =
        (c->back_lag < 0 ? -(uint64_t)c->back_lag : (uint64_t)c->back_lag) / step % steps;
    uint64_t begin = c->back_lag < 0 ? lag : (steps - lag) % steps;
    for (uint64_t i = 0; i < begin; i++)
        next_forward(d);
    fade_init_back(&d->own, &d->forward, c, step, seed);
}

double fade_direction_next(struct fade_direction *d)
{
    if (d->config->back)
        next_forward(d);
    return fade_next(&d->own);
}
