/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants, asserted whatever the build. */
#undef NDEBUG
#include <assert.h>

#include "csts/forward_private.h"

static void check_link(const struct csts_link *l)
{
    unsigned active = 0;
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++) {
        const struct procedure *q = &l->procedures[i];
        active += q->active;
        assert(q->active || !kept_is(&q->timer));
        assert(!q->active || q->reports == kept_is(&q->timer));
        assert(q->active || q->selected == NULL);
    }
    assert(active == 0 || (l->state == CSTS_BOUND && l->service != NULL));
    assert(l->service == NULL || l->service->link == l);
    assert((l->state == CSTS_ENDED) == l->isp.ended && l->isp.notices == l->told);
    assert(kept_is(&l->isp.kept[KEPT_RETURN]) == (l->awaited_count > 0));
    assert(kept_is(&l->isp.kept[KEPT_ASSOCIATE]) ==
           (l->state == CSTS_BINDING || l->state == CSTS_UNBINDING));
    for (unsigned k = 0; k < KEPT_OF_LINK; k++) {
        const tick due =
            k == KEPT_RETURN || k == KEPT_ASSOCIATE ? TICK_NEVER : isp1_due(&l->isp, k);
        assert(due == TICK_NEVER || (kept_is(&l->isp.kept[k]) && l->isp.kept[k].node.due <= due));
    }
}

void csts_check(const struct csts *s)
{
    isp1_check(&s->isp);
    list_for_each (it, &s->isp.links)
        check_link(container_of(it, struct csts_link, isp.node));
    list_for_each (it, &s->services) {
        const struct csts_service *v = container_of(it, struct csts_service, node);
        assert(v->link == NULL || v->link->service == v);
        if (v->forward != NULL)
            assoc_forward_check(v);
    }
}

void csts_check_served(const struct csts *s, tick now)
{
    assert(agenda_due(&s->isp.agenda) > now);
    (void)s;
    (void)now;
}
