/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of Forward Frame, asserted whatever the build. */
#undef NDEBUG
#include <assert.h>

#include "csts/forward_private.h"

void assoc_forward_check(const struct csts_service *v)
{
    const struct forward *f = v->forward;
    size_t held = 0;
    uint32_t units = 0;
    list_for_each (it, &f->queue) {
        held += cost_of(container_of(it, struct unit, node));
        units++;
    }
    assert(held == f->held && units == f->units);
    assert(f->active || (units == 0 && !f->ours));
    assert(!f->active || v->link != NULL);
    assert(!f->lost || units > 0 || (f->processing != NULL && f->ours));
    assert(kept_is(&f->timer) == (f->c.timely && f->c.latency > 0 && units > 0));
    assert(!f->c.timely || units < 2 || held <= f->c.queue_max);
    const struct csts_forward_counts *c = &f->counts; /* each frame has one fate */
    assert(c->received == c->processed + c->interrupted + c->discarded + c->overrun + c->late +
                              c->refused + units + (f->processing != NULL));
}
