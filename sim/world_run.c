/* SPDX-License-Identifier: Apache-2.0 */
/* Sources are few; each knows its own earliest thing. So a search through all of them is cheap. */
#include "sim/world_run.h"

#include <assert.h>

static const struct world_source *find_next(const struct world_run *r, tick before, tick *due)
{
    const struct world_source *best = NULL;
    *due = before;
    for (size_t i = 0; i < r->len; i++) {
        const tick t = r->sources[i].due(r->sources[i].context, *due);
        if (t < *due) {
            *due = t;
            best = &r->sources[i];
        }
    }
    return best;
}

tick world_run_due(const struct world_run *r)
{
    tick due;
    find_next(r, TICK_NEVER, &due);
    return due;
}

bool world_run_step(const struct world_run *r, tick before)
{
    tick due;
    const struct world_source *next = find_next(r, before, &due);
    if (next == NULL)
        return false;
    assert(due < before);
    r->advance(r->context, due);
    next->step(next->context);
    r->drain(r->context);
    return true;
}
