/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants, asserted whatever the build. */
#undef NDEBUG
#include <assert.h>

#include "csts/engine_private.h"

static void check_link(const struct csts_link *l)
{
    unsigned active = 0;
    size_t queued = 0;
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++) {
        const struct procedure *q = &l->procedures[i];
        active += q->active;
        assert(q->active || !heap_has(&q->timer.node));
        assert(!q->active || q->reports == heap_has(&q->timer.node));
        assert(q->active || q->selected == NULL);
    }
    assert(active == 0 || (l->state == CSTS_BOUND && l->service != NULL));
    assert(l->service == NULL || l->service->link == l);
    list_for_each (it, &l->queue)
        queued += container_of(it, struct message, node)->len -
                  container_of(it, struct message, node)->done;
    assert(queued == l->queued);
    assert((l->awaited_count > 0) == heap_has(&l->timers[TIMER_RETURN].node) ||
           l->state == CSTS_ENDED);
    assert(l->state != CSTS_BINDING || heap_has(&l->timers[TIMER_ASSOCIATE].node));
    assert(l->in_at <= l->in_len && l->in_len <= l->in_cap);
}

void csts_check(const struct csts *s)
{
    uint32_t links = 0;
    list_for_each (it, &s->links) {
        check_link(container_of(it, struct csts_link, node));
        links++;
    }
    assert(links == s->link_count);
    list_for_each (it, &s->services) {
        const struct csts_service *v = container_of(it, struct csts_service, node);
        assert(v->link == NULL || v->link->service == v);
    }
    agenda_check(&s->agenda);
}

void csts_check_served(const struct csts *s, tick now)
{
    assert(agenda_due(&s->agenda) > now);
    (void)s;
    (void)now;
}
