/* SPDX-License-Identifier: Apache-2.0 */
/* What always holds. */
#undef NDEBUG
#include <assert.h>

#include "sle/engine_private.h"

static void check_provider(const struct sle_instance *i, uint32_t buffers)
{
    const struct provider *p = &i->p;
    size_t held = p->f.on_air == NULL ? 0 : p->f.on_air->c.data.len;
    uint32_t count = p->f.on_air != NULL;
    list_for_each (it, &p->f.queue) {
        held += container_of(it, struct cltu, node)->c.data.len;
        count++;
    }
    assert(held == p->f.held && count == p->f.count && held <= p->c.cltu_buffer &&
           count <= p->c.cltus_max);
    const struct sle_counts *c = &i->counts; /* each CLTU that was taken has one fate */
    assert(c->cltus == c->cltus_radiated + c->cltus_expired + c->cltus_discarded +
                           c->cltus_interrupted + count);
    assert(p->f.event_count <= EVENTS_MAX && (p->f.event_count == 0 || i->link != NULL));
    for (unsigned k = 0; k < p->f.event_count; k++) { /* ascending, below what is expected */
        bool last = k + 1 == p->f.event_count;
        uint32_t next = last ? p->f.next_event : p->f.events[k + 1].invocation;
        assert((int32_t)(next - p->f.events[k].invocation) > 0);
    }
    assert(p->queued == buffers);
    assert(p->fill == NULL || (i->link != NULL && p->fill->frames <= p->c.buffer_frames));
    const struct sle_counts *n = &i->counts;
    assert(n->frames_offered >=
           n->frames_filtered + n->frames_refused + n->frames + n->frames_discarded);
}

/* Each frame that was taken is written, waits, was discarded or was dropped. */
static void check_balance(const struct sle_instance *i, uint64_t waiting)
{
    const struct sle_counts *n = &i->counts;
    if (!i->provides || i->service == SLE_FCLTU)
        return;
    if (i->p.fill != NULL)
        waiting += i->p.fill->frames;
    assert(n->frames_offered - n->frames_filtered - n->frames_refused ==
           n->frames + n->frames_discarded + n->frames_dropped + waiting);
}

/* What is due is kept, at that time or before it. */
static void check_kept(const struct kept *k, tick due)
{
    assert(due == TICK_NEVER || (kept_is(k) && k->node.due <= due));
}

static void check_link_times(const struct sle_link *l)
{
    for (unsigned k = 0; k < KEPT_OF_LINK; k++)
        check_kept(&l->isp.kept[k], link_due(l, k));
}

static void check_instance_times(const struct sle_instance *i)
{
    for (unsigned k = KEPT_OF_LINK; k < KEPT_END; k++)
        check_kept(&i->kept[k - KEPT_OF_LINK], provider_due(i, (enum kept_kind)k));
    list_for_each (it, &i->p.f.queue) {
        const struct cltu *c = container_of(it, struct cltu, node);
        check_kept(&c->expiry, c->c.latest.known
                                   ? tick_add(kept_tick(&i->sle->isp, c->c.latest.at), 1)
                                   : TICK_NEVER);
    }
}

static void check_link(const struct sle_link *l)
{
    check_link_times(l);
    assert(l->isp.notices == l->notice_count - l->notice_at);
    assert((l->state == SLE_ENDED) == l->isp.ended);
    assert(l->notice_at <= l->notice_count && l->notice_count <= NOTICES_MAX);
    assert((l->state == SLE_UNBOUND_STATE) == (l->instance == NULL) || l->state == SLE_ENDED);
    assert(l->state == SLE_ENDED || l->instance == NULL || l->instance->link == l);
    uint32_t count = 0;
    for (uint16_t id = l->first_id; l->awaited_room > 0 && id != l->next_id; id++)
        count += l->awaited[id & (l->awaited_room - 1)].kind != 0;
    assert(count == l->awaited_count);
}

static void check_instance(const struct sle *s, const struct sle_instance *i)
{
    uint32_t buffers = 0;
    uint64_t waiting = 0;
    list_for_each (it, &s->isp.links) {
        const struct sle_link *l = container_of(it, struct sle_link, isp.node);
        if (l->instance != i)
            continue;
        list_for_each (at, &l->isp.queue) {
            const struct out *o = container_of(at, struct out, node);
            waiting += o->frames;
            buffers += o->buffer && i->link == l;
        }
    }
    if (i->provides) {
        check_provider(i, buffers);
        check_instance_times(i);
    }
    check_balance(i, waiting);
    assert(i->link == NULL || i->link->instance == i);
}

void sle_check(const struct sle *s)
{
    isp1_check(&s->isp);
    list_for_each (it, &s->isp.links)
        check_link(container_of(it, struct sle_link, isp.node));
    list_for_each (it, &s->instances)
        check_instance(s, container_of(it, struct sle_instance, node));
}

void sle_check_served(const struct sle *s, tick now)
{
    assert(sle_deadline(s) > now);
    list_for_each (it, &s->isp.links) {
        const struct sle_link *l = container_of(it, struct sle_link, isp.node);
        for (unsigned k = 0; k < KEPT_OF_LINK; k++)
            assert(link_due(l, k) > now);
    }
    list_for_each (it, &s->instances) {
        const struct sle_instance *i = container_of(it, struct sle_instance, node);
        for (unsigned k = KEPT_OF_LINK; i->provides && k < KEPT_END; k++)
            assert(provider_due(i, (enum kept_kind)k) > now);
        list_for_each (at, &i->p.f.queue)
            assert(forward_due(container_of(at, struct cltu, node), now) > now);
    }
}
