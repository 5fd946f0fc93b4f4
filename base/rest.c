/* SPDX-License-Identifier: Apache-2.0 */
/* Time beyond what is fair is a debt, which fair work pays back. A debt beyond REST_LONG is paid by
 * a rest: for all that was taken since there was a debt. Nothing can go wrong. */
#include "base/rest.h"

#include <assert.h>

void rest_received(struct rest *r, struct rests *all, uint64_t bundles, tick now)
{
    if (now < r->ends)
        return;
    r->quick += bundles;
    all->quick += bundles;
}

/* How many times as long as its work took. */
static unsigned rest_factor(struct rest *r, const struct rests *all, unsigned alone)
{
    const uint64_t others = all->quick - r->quick;
    const bool waited = others != r->seen;
    r->seen = others;
    return waited ? REST_SHARED : alone;
}

static bool begin_rest(struct rest *r, struct rests *all, unsigned alone, tick now)
{
    const tick taken = r->taken;
    const unsigned factor = rest_factor(r, all, alone);
    /* Of the others' rest, what this one did not let pass. */
    const tick left = all->until + taken > now ? all->until + taken - now : 0;
    r->debt = 0;
    r->ends = tick_add(now, REST_MAX); /* it is not quick, whether it rests or not */
    if (factor == 0)
        return false;
    all->until = tick_min(tick_add(now, left + factor * taken), r->ends);
    return true;
}

bool rest_spend(struct rest *r, struct rests *all, tick took, tick fair, unsigned alone, tick now)
{
    r->taken = r->debt > 0 ? r->taken + took : took;
    r->debt = r->debt + took > fair ? r->debt + took - fair : 0;
    const bool rests = r->debt > REST_LONG && begin_rest(r, all, alone, now);
    assert(r->debt <= REST_LONG);
    return rests;
}
