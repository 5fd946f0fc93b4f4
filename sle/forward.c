/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FCLTU at the provider. The normal case: a CLTU with the expected id and possible times is stored
 * in the buffer. When it is due, production takes it, and reports that its radiation has started
 * and that it was radiated. The user is notified if it asked for that. A CLTU whose latest time has
 * passed is reported as expired. Then the stored CLTUs are discarded; so they are by STOP, an abort
 * and an interruption of production, which also ends the CLTU that is being radiated. After a CLTU
 * that expired or was interrupted none is accepted until a new START: the commands behind a missing
 * one might do harm.
 */
#include <assert.h>
#include <stdlib.h>

#include "sle/engine_private.h"

uint32_t forward_available(const struct sle_instance *i)
{
    const struct forward *f = &i->p.f;
    return f->count >= i->p.c.cltus_max ? 0 : (uint32_t)(i->p.c.cltu_buffer - f->held);
}

static void drop_cltu(struct forward *f, struct cltu *c)
{
    list_sub(&c->node);
    kept_set(&c->instance->sle->isp, &c->expiry, TICK_NEVER);
    kept_release(&c->instance->sle->isp, 1);
    assert(f->held >= c->c.data.len && f->count > 0);
    f->held -= c->c.data.len;
    f->count--;
    free(c);
}

static void discard_queue(struct sle_instance *i)
{
    struct forward *f = &i->p.f;
    struct list *node;
    f->cleared = f->cleared || !list_empty(&f->queue);
    while ((node = list_first(&f->queue)) != NULL) {
        COUNT_INSTANCE(i, cltus_discarded, 1);
        drop_cltu(f, container_of(node, struct cltu, node));
    }
    assert(f->count == (f->on_air != NULL ? 1 : 0));
}

void forward_clear(struct sle_instance *i)
{
    struct forward *f = &i->p.f;
    discard_queue(i);
    if (f->on_air != NULL)
        f->on_air->c.notify = false; /* the user that asked for it is unbound */
    forward_keep(i);
}

void forward_notify(struct sle_instance *i, enum sle_notification n, uint32_t invocation, tick now)
{
    const struct forward *f = &i->p.f;
    struct sle_pdu p = {.kind = SLE_PDU_NOTIFY};
    p.u.async = (struct sle_async){.notification = n,
                                   .invocation = invocation,
                                   .last_processed = f->last_processed,
                                   .last_ok = f->last_ok,
                                   .production = i->p.production,
                                   .uplink = f->uplink};
    /* Events may be thrown when ready, so that is when their actions may end. */
    bool of_event = n >= SLE_ASYNC_ACTIONS_DONE;
    if (i->link == NULL ||
        !(i->link->state == SLE_ACTIVE || (of_event && i->link->state == SLE_READY)))
        return;
    COUNT_INSTANCE(i, notifies, 1);
    (void)link_send(i->link, &p, now);
}

/* ---- TRANSFER-DATA ---- */

/* In the order in which the reference examines it. */
static unsigned judge_cltu(const struct sle_instance *i, const struct sle_cltu *c, tick now)
{
    const struct provider *p = &i->p;
    struct sle_time at = sle_now(i->sle, now);
    if (c->id != p->f.next_id)
        return SLE_CLTU_OUT_OF_SEQUENCE;
    if (c->earliest.known && c->latest.known && sle_time_compare(c->earliest.at, c->latest.at) > 0)
        return SLE_CLTU_INCONSISTENT_TIME;
    if (c->latest.known && sle_time_compare(c->latest.at, at) <= 0)
        return SLE_CLTU_LATE;
    if (p->c.end.known && c->earliest.known && sle_time_compare(c->earliest.at, p->c.end.at) >= 0)
        return SLE_CLTU_INVALID_TIME;
    if (p->c.begin.known && c->latest.known && sle_time_compare(c->latest.at, p->c.begin.at) < 0)
        return SLE_CLTU_INVALID_TIME;
    if (c->delay_us < p->c.minimum_delay_us)
        return SLE_CLTU_INVALID_DELAY;
    if (c->data.len > p->c.cltu_max)
        return SLE_CLTU_ERROR;
    if (p->f.blocked || p->production == SLE_UP_INTERRUPTED || p->production == SLE_UP_HALTED)
        return SLE_CLTU_UNABLE_TO_PROCESS;
    return c->data.len > forward_available(i) ? SLE_CLTU_UNABLE_TO_STORE : SLE_OK;
}

static unsigned hold_cltu(struct sle_instance *i, const struct sle_cltu *c, tick now)
{
    struct forward *f = &i->p.f;
    struct cltu *n = malloc(sizeof *n + c->data.len);
    if (n == NULL || kept_reserve(&i->sle->isp, 1) != HELIO_OK) {
        free(n);
        return SLE_CLTU_UNABLE_TO_STORE;
    }
    n->c = *c;
    n->instance = i;
    n->start = (struct sle_when){0};
    n->arrived = now;
    kept_init(&n->expiry, KEPT_EXPIRY, KEPT_SENDS);
    if (c->latest.known)
        kept_set(&i->sle->isp, &n->expiry, kept_tick(&i->sle->isp, c->latest.at));
    memcpy(n->octets, c->data.data, c->data.len);
    n->c.data.data = n->octets;
    list_add_tail(&f->queue, &n->node);
    f->held += c->data.len;
    f->count++;
    f->next_id++;
    f->received++;
    f->ready_told = false;
    forward_keep(i);
    COUNT_INSTANCE(i, cltus, 1);
    assert(f->held <= i->p.c.cltu_buffer && f->count <= i->p.c.cltus_max);
    return SLE_OK;
}

void forward_take_cltu(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_instance *i = l->instance;
    struct sle_pdu p = {.kind = SLE_PDU_CLTU_RETURN, .invoke_id = pdu->invoke_id};
    assert(l->state == SLE_ACTIVE && i->service == SLE_FCLTU);
    p.diag = judge_cltu(i, &pdu->u.cltu, now);
    if (p.diag == SLE_OK)
        p.diag = hold_cltu(i, &pdu->u.cltu, now);
    if (p.diag != SLE_OK)
        COUNT_INSTANCE(i, cltus_refused, 1);
    p.u.cltu_return = (struct sle_cltu_return){i->p.f.next_id, forward_available(i)};
    (void)link_send(l, &p, now);
}

/* ---- radiation ---- */

static void expire_cltu(struct sle_instance *i, struct cltu *c, tick now);

static tick ready_time(const struct cltu *c)
{
    const struct isp1 *isp = &c->instance->sle->isp;
    return c->c.earliest.known ? tick_max(kept_tick(isp, c->c.earliest.at), c->arrived)
                               : c->arrived;
}

static struct cltu *first_cltu(const struct forward *f)
{
    struct list *node = list_first(&f->queue);
    return node == NULL ? NULL : container_of(node, struct cltu, node);
}

tick sle_provider_cltu_deadline(const struct sle_instance *i)
{
    const struct forward *f = &i->p.f;
    const struct cltu *c = first_cltu(f);
    if (c == NULL || f->on_air != NULL || i->p.production != SLE_OPERATIONAL)
        return TICK_NEVER;
    return tick_max(f->not_before, ready_time(c));
}

void forward_keep(struct sle_instance *i)
{
    kept_set(&i->sle->isp, instance_kept(i, KEPT_CLTU), provider_due(i, KEPT_CLTU));
}

bool forward_ready(struct sle_instance *i, tick now)
{
    struct forward *f = &i->p.f;
    if (!f->ready && (f->ready_told || sle_provider_cltu_deadline(i) > now))
        return false;
    f->ready = false;
    f->ready_told = true;
    forward_keep(i);
    return true;
}

tick forward_due(const struct cltu *c, tick now)
{
    const struct sle_instance *i = c->instance;
    const tick latest = kept_tick(&i->sle->isp, c->c.latest.at);
    /* It may begin at its latest time, but not behind it. */
    const bool may_begin =
        latest == now && c == first_cltu(&i->p.f) && sle_provider_cltu_deadline(i) <= now;
    return !c->c.latest.known ? TICK_NEVER : may_begin ? tick_add(now, 1) : latest;
}

bool forward_expire(struct cltu *c, tick now)
{
    if (forward_due(c, now) > now) {
        kept_set(&c->instance->sle->isp, &c->expiry, forward_due(c, now));
        return false;
    }
    expire_cltu(c->instance, c, now);
    return true;
}

void forward_clock(struct sle_instance *i)
{
    list_for_each (it, &i->p.f.queue) {
        struct cltu *c = container_of(it, struct cltu, node);
        kept_set(&i->sle->isp, &c->expiry, forward_due(c, TICK_NEVER));
    }
    forward_keep(i);
}

uint32_t sle_provider_cltus_held(const struct sle_instance *i)
{
    assert(i->provides && i->service == SLE_FCLTU);
    return i->p.f.count;
}

static void expire_cltu(struct sle_instance *i, struct cltu *c, tick now)
{
    struct forward *f = &i->p.f;
    f->processed++;
    f->last_processed =
        (struct sle_last_processed){.any = true, .id = c->c.id, .status = SLE_CLTU_EXPIRED};
    COUNT_INSTANCE(i, cltus_expired, 1);
    drop_cltu(f, c);
    discard_queue(i);
    f->blocked = true;
    f->ready_told = f->ready = false;
    forward_keep(i);
    forward_notify(i, SLE_ASYNC_EXPIRED, 0, now);
    if (f->count == 0)
        forward_notify(i, SLE_ASYNC_BUFFER_EMPTY, 0, now);
}

bool sle_provider_cltu_next(struct sle_instance *i, struct sle_cltu_out *out, tick now)
{
    struct forward *f = &i->p.f;
    assert(i->provides && i->service == SLE_FCLTU);
    f->ready_told = f->ready = false;
    while (sle_provider_cltu_deadline(i) <= now) {
        struct cltu *c = first_cltu(f);
        assert(c != NULL && f->on_air == NULL);
        if (c->c.latest.known && kept_tick(&i->sle->isp, c->c.latest.at) < now) {
            expire_cltu(i, c, now);
            continue;
        }
        list_sub(&c->node);
        kept_set(&i->sle->isp, &c->expiry, TICK_NEVER);
        f->on_air = c;
        forward_keep(i);
        *out = (struct sle_cltu_out){c->c.id,     c->c.data,     c->c.earliest,
                                     c->c.latest, c->c.delay_us, ready_time(c)};
        return true;
    }
    forward_keep(i);
    return false;
}

/* This one is what notifications and reports are about now. */
static void set_processed(struct forward *f, const struct cltu *c, enum sle_cltu_status status)
{
    f->last_processed = (struct sle_last_processed){
        .any = true, .id = c->c.id, .start = c->start, .status = status};
}

void sle_provider_cltu_started(struct sle_instance *i, struct sle_time at, tick now)
{
    struct forward *f = &i->p.f;
    struct cltu *c = f->on_air;
    (void)now;
    assert(i->provides && i->service == SLE_FCLTU);
    if (c == NULL || c->start.known)
        return;
    f->processed++;
    c->start = (struct sle_when){true, at};
    set_processed(f, c, SLE_CLTU_STARTED);
}

void sle_provider_cltu_radiated(struct sle_instance *i, struct sle_time at, tick now)
{
    struct forward *f = &i->p.f;
    struct cltu *c = f->on_air;
    if (c == NULL)
        return;
    sle_provider_cltu_started(i, at, now);
    set_processed(f, c, SLE_CLTU_RADIATED); /* another one may have expired since it began */
    f->last_ok = (struct sle_last_ok){true, c->c.id, at};
    f->radiated++;
    f->not_before = tick_add(now, c->c.delay_us * TICK_US);
    f->on_air = NULL;
    COUNT_INSTANCE(i, cltus_radiated, 1);
    bool notify = c->c.notify;
    drop_cltu(f, c);
    forward_keep(i);
    if (notify)
        forward_notify(i, SLE_ASYNC_RADIATED, 0, now);
    if (f->count == 0)
        forward_notify(i, SLE_ASYNC_BUFFER_EMPTY, 0, now);
}

void forward_interrupt(struct sle_instance *i)
{
    struct forward *f = &i->p.f;
    struct cltu *c = f->on_air;
    if (c == NULL)
        return;
    f->processed += c->start.known ? 0 : 1;
    set_processed(f, c, c->start.known ? SLE_CLTU_INTERRUPTED : SLE_CLTU_NOT_STARTED);
    f->on_air = NULL;
    COUNT_INSTANCE(i, cltus_interrupted, 1);
    drop_cltu(f, c);
    forward_keep(i);
    assert(f->processed >= f->radiated && f->last_processed.any);
}

void sle_provider_uplink(struct sle_instance *i, enum sle_uplink status)
{
    assert(i->provides && i->service == SLE_FCLTU && status <= SLE_NOMINAL);
    i->p.f.uplink = status;
}

/* ---- events ---- */

static void answer_event(struct sle_link *l, uint16_t invoke_id, unsigned diag, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_EVENT_RETURN, .invoke_id = invoke_id, .diag = diag};
    p.u.event_return.next_invocation = l->instance->p.f.next_event;
    (void)link_send(l, &p, now);
}

void forward_take_event(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct forward *f = &l->instance->p.f;
    if (pdu->u.event.invocation != f->next_event) {
        answer_event(l, pdu->invoke_id, SLE_EVENT_OUT_OF_SEQUENCE, now);
        return;
    }
    if (f->event_count == EVENTS_MAX) {
        answer_event(l, pdu->invoke_id, SLE_OTHER_REASON, now);
        return;
    }
    f->next_event++;
    assert(l->state != SLE_ENDED && l->instance->provides);
    f->events[f->event_count++] = (struct thrown){pdu->u.event.invocation, pdu->invoke_id};
    struct sle_notice *n = link_notice(l, SLE_EVENT_THROWN);
    n->u.event = pdu->u.event;
    n->invoke_id = pdu->invoke_id;
}

/* The association ends: events without an answer were not accepted. */
void forward_forget_events(struct sle_instance *i)
{
    struct forward *f = &i->p.f;
    if (f->event_count > 0)
        f->next_event = f->events[0].invocation;
    f->event_count = 0;
}

static struct thrown take_thrown(struct forward *f, unsigned k)
{
    struct thrown t = f->events[k];
    assert(k < f->event_count);
    f->event_count--;
    memmove(&f->events[k], &f->events[k + 1], (f->event_count - k) * sizeof *f->events);
    return t;
}

/* A number is used up by an event that is accepted only: those thrown behind a refused one have
 * wrong numbers. */
void sle_provider_answer_event(struct sle_instance *i, uint16_t invoke_id, unsigned diag, tick now)
{
    struct forward *f = &i->p.f;
    assert(i->provides && i->service == SLE_FCLTU);
    unsigned k = 0;
    while (k < f->event_count && f->events[k].invoke_id != invoke_id)
        k++;
    if (k == f->event_count)
        return;
    assert(i->link != NULL); /* events end with the association */
    struct thrown t = take_thrown(f, k);
    if (diag != SLE_OK)
        f->next_event = t.invocation;
    answer_event(i->link, invoke_id, diag, now);
    while (diag != SLE_OK && k < f->event_count)
        answer_event(i->link, take_thrown(f, k).invoke_id, SLE_EVENT_OUT_OF_SEQUENCE, now);
}

void sle_provider_event_done(struct sle_instance *i, uint32_t invocation, enum sle_notification how,
                             tick now)
{
    assert(how >= SLE_ASYNC_ACTIONS_DONE && how < SLE_ASYNC_COUNT);
    forward_notify(i, how, invocation, now);
}
