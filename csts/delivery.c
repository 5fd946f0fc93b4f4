/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered data delivery at the provider (921.1-B-2 §4.5). The normal case: START with a window,
 * the host gives data, each full return buffer is sent, the host says that the data have ended,
 * STOP. Elements are encoded when they are given, with room for their credentials.
 *
 * What can go wrong: START without the times that complete mode needs, or with times the wrong way
 * round, or while production is halted: a negative return; without its extension: PEER-ABORT
 * "encoding error". A slow user: see csts/delivery.h. A datum that is too long, or no memory for
 * it: the host is notified.
 */
#include "csts/delivery.h"

#include <assert.h>
#include <stdlib.h>

#include "csts/delivery_private.h"
#include "csts/pdu_private.h"

enum {
    ELEMENT_ROOM = 512, /* octets of an element beyond its data */
    ROOM_MIN = 4096     /* octets of a return buffer at first */
};

static struct csts_procedure prime_of(const struct delivery *d)
{
    return (struct csts_procedure){.type = d->c.type, .role = CSTS_PRIME};
}

/* ---- the return buffer ---- */

static bool is_slow(const struct csts_service *v)
{
    return v->link->isp.queue_octets > v->csts->config.backlog_max;
}

static void restart_timer(struct delivery *d, tick now)
{
    struct isp1 *isp = &d->service->csts->isp;
    kept_set(isp, &d->timer, d->elements == 0 ? TICK_NEVER : tick_add(now, d->c.latency));
}

static void empty_buffer(struct delivery *d)
{
    d->len = 0;
    d->elements = d->data = 0;
    restart_timer(d, 0);
}

/* The link may have ended after this: then the procedure is inactive. */
static void send_buffer(struct csts_service *v, tick now)
{
    struct delivery *d = v->delivery;
    struct csts_pdu p = {.kind = CSTS_PDU_RETURN_BUFFER, .u.buffer = slice_of(d->octets, d->len)};
    const uint32_t data = d->data;
    if (d->elements == 0)
        return;
    empty_buffer(d);
    if (assoc_send(v->link, &p, now) == HELIO_OK)
        d->counts.delivered += data;
    else
        d->counts.dropped += data;
}

/* HELIO_OK, or HELIO_ENOMEM: it is as before. */
static int grow_buffer(struct delivery *d, size_t more)
{
    size_t room = d->room < ROOM_MIN ? ROOM_MIN : d->room;
    while (room < d->len + more)
        room *= 2;
    if (room == d->room)
        return HELIO_OK;
    uint8_t *octets = realloc(d->octets, room);
    if (octets == NULL)
        return HELIO_ENOMEM;
    d->octets = octets;
    d->room = room;
    return HELIO_OK;
}

static size_t room_of(const struct csts_pdu *p)
{
    const bool data = p->kind == CSTS_PDU_TRANSFER_DATA;
    return ELEMENT_ROOM + (data ? p->u.transfer.data.opaque.len + p->u.transfer.data.pdv.data.len
                                : p->u.notify.values.len);
}

static int add_element(struct csts_service *v, struct csts_pdu *p, tick now)
{
    static const uint8_t blank[52];
    struct delivery *d = v->delivery;
    const size_t room = room_of(p);
    const int e = grow_buffer(d, room);
    if (e != HELIO_OK)
        return e;
    p->invoke_id = v->link->next_id++;
    p->procedure = prime_of(d);
    p->credentials = slice_of(blank, isp1_credentials_len(&v->link->isp, false));
    const size_t n = csts_element_write(p, CSTS_PDU_RETURN_BUFFER, d->octets + d->len, room);
    assert(n > 0);
    d->len += n;
    d->data += p->kind == CSTS_PDU_TRANSFER_DATA;
    if (d->elements++ == 0)
        restart_timer(d, now);
    return HELIO_OK;
}

struct csts_oid csts_delivery_event(const struct csts_oid *events, enum csts_known which)
{
    static const char *const arcs[] = {"1", "2", "3"};
    struct csts_oid oid = *events;
    assert(which >= CSTS_DELIVERY_DISCARDED && which <= CSTS_DELIVERY_END);
    if (events->len == 0 || !csts_oid_append(&oid, arcs[which - CSTS_DELIVERY_DISCARDED]))
        return csts_known_oid(which);
    return oid;
}

static struct csts_pdu event_pdu(const struct csts_service *v, enum csts_known id, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_NOTIFY};
    p.u.notify.at = assoc_time(v->csts, now);
    p.u.notify.event = (struct csts_name){.is_procedure = true,
                                          .procedure = prime_of(v->delivery),
                                          .id = csts_delivery_event(&v->delivery->c.events, id)};
    p.u.notify.kind = CSTS_EVENT_EMPTY;
    return p;
}

/* Without memory for the notification it is missing; the gap of the numbers shows it. */
static void discard_buffer(struct csts_service *v, tick now)
{
    struct delivery *d = v->delivery;
    struct csts_pdu p = event_pdu(v, CSTS_DELIVERY_DISCARDED, now);
    d->counts.discarded += d->data;
    empty_buffer(d);
    (void)add_element(v, &p, now);
}

/* In any case the return buffer has room for data after this. */
static void pass_buffer(struct csts_service *v, tick now)
{
    if (v->delivery->c.real_time && is_slow(v))
        discard_buffer(v, now);
    else
        send_buffer(v, now);
}

static bool is_full(const struct csts_service *v, size_t more)
{
    const struct delivery *d = v->delivery;
    return d->elements >= d->c.buffer_max ||
           d->len + more + ELEMENT_ROOM > v->csts->isp.config.tml.message_max;
}

/* False: the link has ended. */
static bool make_room(struct csts_service *v, const struct csts_pdu *p, tick now)
{
    if (v->delivery->elements > 0 && is_full(v, room_of(p)))
        pass_buffer(v, now);
    return v->delivery->active;
}

static void try_buffer(struct csts_service *v, tick now)
{
    if (!v->delivery->c.real_time || !is_slow(v))
        send_buffer(v, now);
}

/* HELIO_OK, HELIO_ESTOPPED, HELIO_ENOMEM. */
static int add_event(struct csts_service *v, struct csts_pdu *p, tick now)
{
    return v->delivery->active && make_room(v, p, now) ? add_element(v, p, now) : HELIO_ESTOPPED;
}

void assoc_delivery_expire(struct csts_service *v, tick now)
{
    struct delivery *d = v->delivery;
    assert(d->active && d->elements > 0);
    if (d->data == 0 && d->elements < d->c.buffer_max && d->c.real_time && is_slow(v))
        restart_timer(d, now); /* nothing to discard */
    else
        pass_buffer(v, now);
}

/* ---- the host ---- */

int csts_delivery_set(struct csts_service *v, const struct csts_delivery_config *config)
{
    struct csts_oid change = config->change;
    if (v->forward != NULL || v->delivery != NULL || v->link != NULL ||
        (unsigned)config->production > CSTS_HALTED ||
        (config->change.len == 0 && !csts_production_change(&config->resource, &change)))
        return HELIO_EINVAL;
    struct delivery *d = calloc(1, sizeof *d);
    if (d == NULL || kept_reserve(&v->csts->isp, 1) != HELIO_OK) {
        free(d);
        return HELIO_ENOMEM;
    }
    d->c = *config;
    d->c.change = change;
    d->c.type = config->type.len == 0 ? csts_known_oid(CSTS_BUFFERED_DATA_DELIVERY) : config->type;
    d->c.buffer_max = config->buffer_max == 0 ? 20 : config->buffer_max;
    d->c.latency = config->latency == 0 ? TICK_S : config->latency;
    d->production = config->production;
    d->service = v;
    kept_init(&d->timer, KEPT_RELEASE, KEPT_SENDS);
    v->delivery = d;
    return HELIO_OK;
}

void assoc_delivery_free(struct csts_service *v)
{
    struct delivery *d = v->delivery;
    if (d == NULL)
        return;
    empty_buffer(d);
    kept_release(&v->csts->isp, 1);
    free(d->octets);
    free(d);
    v->delivery = NULL;
}

const struct csts_window *csts_delivery_window(const struct csts_service *v)
{
    return v->delivery->active ? &v->delivery->window : NULL;
}

static bool is_wanted(const struct csts_window *w, struct sle_time generated)
{
    return !(w->earliest.known && sle_time_compare(generated, w->earliest.at) < 0) &&
           !(w->latest.known && sle_time_compare(generated, w->latest.at) > 0);
}

int csts_deliver(struct csts_service *v, struct sle_time generated, const struct csts_data *data,
                 tick now)
{
    struct delivery *d = v->delivery;
    struct csts_pdu p = {.kind = CSTS_PDU_TRANSFER_DATA};
    p.u.transfer = (struct csts_transfer){generated, d->sequence, *data};
    if (!d->active || d->ended)
        return HELIO_ESTOPPED;
    if (!d->c.real_time && is_slow(v))
        return HELIO_EAGAIN;
    d->counts.offered++;
    if (!is_wanted(&d->window, generated)) {
        d->counts.filtered++;
        return HELIO_OK;
    }
    int e = HELIO_EINVAL;
    if (room_of(&p) + ELEMENT_ROOM <= v->csts->isp.config.tml.message_max)
        e = make_room(v, &p, now) ? add_element(v, &p, now) : HELIO_ESTOPPED;
    if (e != HELIO_OK) {
        d->counts.refused++;
        return e;
    }
    d->sequence++;
    if (is_full(v, 0))
        try_buffer(v, now);
    return HELIO_OK;
}

int csts_delivery_end(struct csts_service *v, tick now)
{
    struct csts_pdu p = event_pdu(v, CSTS_DELIVERY_END, now);
    const int e = v->delivery->ended ? HELIO_ESTOPPED : add_event(v, &p, now);
    if (e != HELIO_OK)
        return e;
    v->delivery->ended = true;
    send_buffer(v, now);
    return HELIO_OK;
}

void csts_delivery_overflow(struct csts_service *v, tick now)
{
    struct csts_pdu p = event_pdu(v, CSTS_DELIVERY_OVERFLOW, now);
    if (add_event(v, &p, now) == HELIO_OK)
        try_buffer(v, now);
}

void csts_delivery_production(struct csts_service *v, enum csts_production production, tick now)
{
    struct delivery *d = v->delivery;
    uint8_t values[CSTS_PRODUCTION_OCTETS];
    struct csts_pdu p = event_pdu(v, CSTS_DELIVERY_END, now);
    assert((unsigned)production <= CSTS_HALTED);
    if (production == d->production)
        return;
    d->production = production;
    p.u.notify.event = csts_production_event(&d->c.resource, &d->c.change);
    p.u.notify.kind = CSTS_EVENT_VALUES;
    p.u.notify.values = csts_production_write(production, &d->c.change, values);
    if (add_event(v, &p, now) == HELIO_OK)
        try_buffer(v, now);
}

const struct csts_delivery_counts *csts_delivery_counts(const struct csts_service *v)
{
    return &v->delivery->counts;
}

void assoc_delivery_leave(struct csts_service *v)
{
    struct delivery *d = v->delivery;
    if (d == NULL)
        return;
    d->counts.dropped += d->data;
    empty_buffer(d);
    d->active = d->ended = false;
}

/* ---- PDUs ---- */

/* What is wrong with START; *kind has a text then, else NULL. */
static const char *judge_start(const struct delivery *d, const struct csts_window *w,
                               enum csts_refusal_kind *kind)
{
    const bool both = w->earliest.known && w->latest.known;
    *kind = CSTS_REFUSED_OUT_OF_SERVICE;
    if (d->production == CSTS_HALTED)
        return "production is halted";
    *kind = CSTS_REFUSED_MISSING_TIME;
    if (!d->c.real_time && !both)
        return "complete delivery has a start and a stop time";
    *kind = CSTS_REFUSED_INCONSISTENT_TIMES;
    if (both && sle_time_compare(w->earliest.at, w->latest.at) > 0)
        return "the stop time is before the start time";
    return NULL;
}

static void take_start(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct delivery *d = l->service->delivery;
    enum csts_refusal_kind kind;
    if (d->active) {
        assoc_refuse(l, now);
        return;
    }
    if (!p->extension.used || !csts_oid_is(&p->extension.pdv.oid, CSTS_DELIVERY_START) ||
        !csts_window_read(p->extension.pdv.data, &d->window)) {
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
        return;
    }
    const char *why = judge_start(d, &d->window, &kind);
    if (why != NULL) {
        const struct csts_refusal r = {.kind = kind, .text = slice_of(why, strlen(why))};
        assoc_refuse_start(l, p->invoke_id, &r, CSTS_DELIVERY_START_DIAGNOSTIC, now);
        return;
    }
    d->active = true;
    d->sequence = 0;
    assoc_notice(l, CSTS_TOLD_STARTED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_START_RETURN, p->invoke_id, now);
}

static void take_stop(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_service *v = l->service;
    if (!v->delivery->active) {
        assoc_refuse(l, now);
        return;
    }
    send_buffer(v, now);
    if (l->state == CSTS_ENDED)
        return;
    assoc_delivery_leave(v);
    assoc_notice(l, CSTS_TOLD_STOPPED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_STOP_RETURN, p->invoke_id, now);
}

bool assoc_delivery_takes(const struct csts_link *l, const struct csts_pdu *p)
{
    if (l->service->delivery == NULL)
        return false;
    const struct csts_procedure own = prime_of(l->service->delivery);
    return csts_procedure_same(&p->procedure, &own);
}

void assoc_delivery_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (p->kind == CSTS_PDU_START)
        take_start(l, p, now);
    else if (p->kind == CSTS_PDU_STOP)
        take_stop(l, p, now);
    else
        assoc_refuse(l, now);
}
