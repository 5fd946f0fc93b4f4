/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants, asserted whatever the build. */
#undef NDEBUG
#include <assert.h>

#include "csts/delivery_private.h"
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
    assert((l->state == CSTS_ENDED) == l->isp.ended &&
           l->isp.notices == (l->told || l->elements.len > 0));
    assert(kept_is(&l->isp.kept[KEPT_RETURN]) == (l->awaited_count > 0));
    assert(kept_is(&l->isp.kept[KEPT_ASSOCIATE]) ==
           (l->state == CSTS_BINDING || l->state == CSTS_UNBINDING));
    for (unsigned k = 0; k < KEPT_OF_LINK; k++) {
        const tick due =
            k == KEPT_RETURN || k == KEPT_ASSOCIATE ? TICK_NEVER : isp1_due(&l->isp, k);
        assert(due == TICK_NEVER || (kept_is(&l->isp.kept[k]) && l->isp.kept[k].node.due <= due));
    }
}

/* Forward Frame: each frame has one fate. */
static void check_forward(const struct csts_service *v)
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
    assert(f->c.sequenced || kept_is(&f->timer) == (f->c.timely && f->c.latency > 0 && units > 0));
    assert(!kept_is(&f->timer) || (units > 0 && v->link != NULL));
    assert(f->c.sequenced || (!f->locked && !f->resetting));
    assert(!f->locked || (f->active && units == 0));
    assert(!f->resetting || (f->active && units == 0));
    assert(!f->c.timely || units < 2 || held <= f->c.queue_max);
    const struct csts_forward_counts *c = &f->counts; /* each frame has one fate */
    assert(c->received == c->processed + c->interrupted + c->discarded + c->overrun + c->late +
                              c->refused + units + (f->processing != NULL));
}

static void check_delivery(const struct csts_service *v)
{
    const struct delivery *d = v->delivery;
    assert(d->active || (d->elements == 0 && !d->ended));
    assert(!d->active || v->link != NULL);
    assert(d->data <= d->elements && d->elements <= d->c.buffer_max + 1 && d->len <= d->room);
    assert(kept_is(&d->timer) == (d->elements > 0));
    const struct csts_delivery_counts *c = &d->counts; /* each datum has one fate */
    assert(c->offered ==
           c->filtered + c->delivered + c->discarded + c->dropped + c->refused + d->data);
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
            check_forward(v);
        if (v->delivery != NULL)
            check_delivery(v);
    }
}

void csts_check_served(const struct csts *s, tick now)
{
    assert(agenda_due(&s->isp.agenda) > now);
    (void)s;
    (void)now;
}
