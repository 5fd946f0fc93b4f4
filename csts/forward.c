/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward Frame at the provider (921.1-B-2 §4.7, 922.3-B-1). The normal case: START, frames into
 * the queue, the host takes one after the other and says that it was radiated, the user is notified
 * if it has asked for that, STOP.
 *
 * What can go wrong: a frame of a wrong length, or no memory: discarded and counted (csts/forward.h
 * has when the user is notified); a forward buffer with more frames than the limit: PEER-ABORT 70;
 * frames while inactive: PEER-ABORT "protocol error"; octets that are no PROCESS-DATA: "encoding
 * error". The queue is full: see csts/forward.h. A user that does not read its notifications: at
 * four times the limit of queued octets, PEER-ABORT "operational requirement".
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/forward_private.h"

static_assert(CSTS_UNIT_COST >= sizeof(struct unit) + 32, "what a frame needs beyond its octets");

/* ---- the queue ---- */

struct unit *assoc_forward_first(const struct forward *f)
{
    struct list *node = list_first(&f->queue);
    return node == NULL ? NULL : container_of(node, struct unit, node);
}

static void take_off(struct forward *f, struct unit *u)
{
    list_sub(&u->node);
    assert(f->held >= cost_of(u) && f->units > 0);
    f->held -= cost_of(u);
    f->units--;
}

static void keep_time(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    const struct unit *u = assoc_forward_first(f);
    if (f->c.sequenced) {
        assoc_sequence_keep(v, now);
        return;
    }
    const bool ages = f->c.timely && f->c.latency > 0 && u != NULL;
    kept_set(&v->csts->isp, &f->timer, ages ? tick_add(u->arrived, f->c.latency) : TICK_NEVER);
}

/* Is there room for one more message? Only then is it read. */
static void look_at_room(struct csts_service *v)
{
    const struct forward *f = v->forward;
    const size_t most =
        v->csts->isp.config.tml.message_max + (size_t)f->c.units_max * CSTS_UNIT_COST;
    if (v->link != NULL)
        v->link->isp.waits =
            !f->c.timely && !f->c.sequenced && f->units > 0 && f->held + most > f->c.queue_max;
}

void assoc_forward_discard_first(struct forward *f, uint64_t *count)
{
    struct unit *u = assoc_forward_first(f);
    take_off(f, u);
    free(u);
    (*count)++;
}

void assoc_forward_discard(struct csts_service *v)
{
    struct forward *f = v->forward;
    while (f->units > 0)
        assoc_forward_discard_first(f, &f->counts.discarded);
    keep_time(v, 0);
    look_at_room(v);
}

struct unit *assoc_forward_queue(struct forward *f, uint32_t id, bool report, struct slice data,
                                 tick now)
{
    struct unit *u = malloc(sizeof *u + data.len);
    if (u == NULL)
        return NULL;
    *u = (struct unit){.arrived = now, .id = id, .report = report, .len = data.len};
    memcpy(u->octets, data.data, data.len);
    while (f->c.timely && f->units > 0 && f->held + cost_of(u) > f->c.queue_max)
        assoc_forward_discard_first(f, &f->counts.overrun);
    list_add_tail(&f->queue, &u->node);
    f->held += cost_of(u);
    f->units++;
    return u;
}

static void queue_unit(struct csts_service *v, uint32_t id, bool report, struct slice data,
                       tick now)
{
    struct forward *f = v->forward;
    f->counts.received++;
    if (data.len < f->c.frame_min || data.len > f->c.frame_max ||
        assoc_forward_queue(f, id, report, data, now) == NULL) {
        f->counts.refused++;
        f->lost = report;
        f->lost_id = id;
        return;
    }
    f->lost = false;
}

/* ---- notifications ---- */

struct csts_procedure assoc_forward_prime(bool sequenced)
{
    return (struct csts_procedure){
        .type =
            csts_known_oid(sequenced ? CSTS_SEQUENCE_CONTROLLED : CSTS_BUFFERED_DATA_PROCESSING),
        .role = CSTS_PRIME};
}

void assoc_forward_notify(struct csts_service *v, const struct csts_name *event,
                          struct slice values, tick now)
{
    uint8_t octets[128];
    struct csts_link *l = v->link;
    struct forward *f = v->forward;
    if (l == NULL || !f->active)
        return;
    if (l->isp.queue_octets > 4 * (size_t)v->csts->config.backlog_max) {
        assoc_abort(l, CSTS_ABORT_OPERATIONAL, now);
        return;
    }
    struct csts_pdu p = {.kind = CSTS_PDU_NOTIFY,
                         .invoke_id = l->next_id++,
                         .procedure = assoc_forward_prime(f->c.sequenced)};
    p.u.notify.at = assoc_time(l->csts, now);
    p.u.notify.event = *event;
    p.u.notify.kind = values.len > 0 ? CSTS_EVENT_VALUES : CSTS_EVENT_EMPTY;
    p.u.notify.values = values;
    f->told.change = values.len > 0;
    f->told.production = f->production;
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_PROCESSING_NOTIFY);
    p.extension.pdv.data = slice_of(octets, csts_processing_write(&f->told, octets, sizeof octets));
    assert(p.extension.pdv.data.len > 0);
    if (assoc_send(l, &p, now) == HELIO_OK)
        COUNT(l, events);
}

static void notify_completion(struct csts_service *v, tick now)
{
    const struct csts_name event = {.is_procedure = true,
                                    .procedure = assoc_forward_prime(v->forward->c.sequenced),
                                    .id = csts_known_oid(CSTS_PROCESSING_COMPLETED)};
    assoc_forward_notify(v, &event, slice_of(NULL, 0), now);
}

/* Notifies the user of the frame received last, though it was refused or discarded. */
static void notify_lost(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    if (!f->lost || f->units > 0 || (f->processing != NULL && f->ours))
        return;
    f->lost = false;
    f->told.any = true;
    f->told.last = f->lost_id;
    f->told.status = CSTS_PROCESSING_INTERRUPTED;
    f->told.started = assoc_time(v->csts, now);
    notify_completion(v, now);
}

static void notify_production(struct csts_service *v, tick now)
{
    uint8_t values[CSTS_PRODUCTION_OCTETS];
    const struct forward *f = v->forward;
    const struct csts_name event = csts_production_event(&f->c.resource, &f->c.change);
    assoc_forward_notify(v, &event, csts_production_write(f->production, &f->c.change, values),
                         now);
}

/* ---- the host ---- */

int csts_forward_set(struct csts_service *v, const struct csts_forward_config *config)
{
    struct csts_oid change = config->change;
    if (v->forward != NULL || v->delivery != NULL || v->link != NULL ||
        csts_oid_is(&v->c.id.type, CSTS_MONITORED_DATA) ||
        (unsigned)config->production > CSTS_HALTED || (config->sequenced && config->timely) ||
        (config->change.len == 0 && !csts_production_change(&config->resource, &change)))
        return HELIO_EINVAL;
    struct forward *f = calloc(1, sizeof *f);
    if (f == NULL || kept_reserve(&v->csts->isp, 1) != HELIO_OK) {
        free(f);
        return HELIO_ENOMEM;
    }
    f->c = *config;
    f->c.change = change;
    f->c.queue_max = config->queue_max == 0 ? 4 << 20 : config->queue_max;
    f->c.units_max = config->units_max == 0 ? 256 : config->units_max;
    f->c.frame_min = config->frame_min == 0 ? 1 : config->frame_min;
    f->c.frame_max = config->frame_max == 0 ? 65535 : config->frame_max;
    f->production = config->production;
    f->service = v;
    list_init(&f->queue);
    kept_init(&f->timer, KEPT_LATENCY, KEPT_SENDS);
    v->forward = f;
    return HELIO_OK;
}

void assoc_forward_free(struct csts_service *v)
{
    struct forward *f = v->forward;
    if (f == NULL)
        return;
    assoc_forward_discard(v);
    kept_release(&v->csts->isp, 1);
    free(f->processing);
    free(f);
    v->forward = NULL;
}

bool csts_forward_next(struct csts_service *v, struct csts_unit *out, tick now)
{
    struct forward *f = v->forward;
    struct unit *u = assoc_forward_first(f);
    if (u == NULL || f->processing != NULL || f->production != CSTS_OPERATIONAL ||
        (f->c.sequenced && !assoc_sequence_due(v, now)))
        return false;
    take_off(f, u);
    f->processing = u;
    keep_time(v, now);
    look_at_room(v);
    f->ours = true;
    f->told.any = true;
    f->told.last = u->id;
    f->told.status = CSTS_PROCESSING_STARTED;
    f->told.started = assoc_time(v->csts, now);
    *out = (struct csts_unit){u->id, u->report, slice_of(u->octets, u->len)};
    return true;
}

static void end_processing(struct forward *f, enum csts_processed status)
{
    free(f->processing);
    f->processing = NULL;
    if (f->ours)
        f->told.status = status;
    if (status == CSTS_PROCESSED)
        f->counts.processed++;
    else
        f->counts.interrupted++;
}

void csts_forward_done(struct csts_service *v, bool radiated, tick now)
{
    struct forward *f = v->forward;
    assert(f->processing != NULL);
    const bool report = f->processing->report && f->ours;
    const uint32_t id = f->processing->id;
    end_processing(f, radiated ? CSTS_PROCESSED : CSTS_PROCESSING_INTERRUPTED);
    if (f->c.sequenced)
        assoc_sequence_keep(v, now);
    if (radiated && f->ours) {
        f->told.any_ok = true;
        f->told.last_ok = id;
        f->told.stopped = assoc_time(v->csts, now);
    }
    if (report)
        notify_completion(v, now);
    notify_lost(v, now);
    if (f->c.sequenced)
        assoc_sequence_done(v, now);
}

void csts_forward_production(struct csts_service *v, enum csts_production production, tick now)
{
    struct forward *f = v->forward;
    assert((unsigned)production <= CSTS_HALTED);
    if (production == f->production)
        return;
    f->production = production;
    const bool processed = f->processing != NULL;
    const bool affected = processed || (f->units > 0 && !f->c.sequenced);
    if (f->processing != NULL)
        end_processing(f, CSTS_PROCESSING_INTERRUPTED);
    if (production == CSTS_HALTED)
        assoc_forward_discard(v);
    /* As cstsapi-j: an interruption that affects no frame is not notified, nor is its end. */
    if (production == CSTS_OPERATIONAL ? f->interruption
                                       : production != CSTS_INTERRUPTED || affected)
        notify_production(v, now);
    f->interruption =
        production != CSTS_OPERATIONAL && (production != CSTS_INTERRUPTED || affected);
    notify_lost(v, now);
    if (f->c.sequenced)
        assoc_sequence_production(v, processed, now);
}

const struct csts_forward_counts *csts_forward_counts(const struct csts_service *v)
{
    return &v->forward->counts;
}

size_t csts_forward_queued(const struct csts_service *v)
{
    return v->forward->units;
}

bool assoc_forward_expire(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    const struct unit *u;
    if (f->c.sequenced)
        return assoc_sequence_expire(v, now);
    while ((u = assoc_forward_first(f)) != NULL && tick_add(u->arrived, f->c.latency) <= now) {
        if (f->units == 1 && !f->lost) { /* else a later frame was refused */
            f->lost = u->report;
            f->lost_id = u->id;
        }
        assoc_forward_discard_first(f, &f->counts.late);
    }
    keep_time(v, now);
    look_at_room(v);
    notify_lost(v, now);
    return true;
}

void assoc_forward_leave(struct csts_service *v)
{
    struct forward *f = v->forward;
    if (f == NULL)
        return;
    f->active = f->ours = f->lost = false; /* the frame that is being processed is radiated */
    f->locked = f->resetting = false;
    assoc_forward_discard(v);
    f->told = (struct csts_processing){0};
    f->interruption = false;
}

/* ---- PDUs ---- */

static void refuse_start(struct csts_link *l, const struct csts_pdu *p, enum csts_refusal_kind kind,
                         const char *text, tick now)
{
    const struct csts_refusal r = {.kind = kind, .text = slice_of(text, strlen(text))};
    assoc_refuse_start(l, p->invoke_id, &r, CSTS_CYCLIC_START_DIAGNOSTIC, now);
}

static void take_start(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct forward *f = l->service->forward;
    if (f->active) {
        assoc_refuse(l, now);
        return;
    }
    if (f->c.sequenced && !assoc_sequence_read_start(p, &f->next_id)) {
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
        return;
    }
    if (f->production == CSTS_HALTED) {
        refuse_start(l, p, CSTS_REFUSED_OUT_OF_SERVICE, "production is halted", now);
        return;
    }
    if (f->c.sequenced && f->production == CSTS_INTERRUPTED) {
        refuse_start(l, p, CSTS_REFUSED_UNABLE, "production is interrupted", now);
        return;
    }
    f->active = true;
    assoc_notice(l, CSTS_TOLD_STARTED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_START_RETURN, p->invoke_id, now);
}

static void take_stop(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_service *v = l->service;
    if (!v->forward->active) {
        assoc_refuse(l, now);
        return;
    }
    assoc_sequence_stop(l, now);
    if (l->state == CSTS_ENDED)
        return;
    assoc_forward_leave(v);
    assoc_notice(l, CSTS_TOLD_STOPPED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_STOP_RETURN, p->invoke_id, now);
}

/* False: it is none. */
static bool read_unit(const struct csts_pdu *p, bool *report)
{
    return p->extension.used && csts_oid_is(&p->extension.pdv.oid, CSTS_PROCESS_DATA) &&
           csts_process_ext_read(p->extension.pdv.data, report) && !p->u.process.data.extended &&
           csts_oid_is(&p->procedure.type, CSTS_BUFFERED_DATA_PROCESSING) &&
           p->procedure.role == CSTS_PRIME;
}

/* All of it, or nothing: it is checked first. Returns how many, -1: it cannot be decoded. */
static int count_units(struct slice rest, uint32_t most)
{
    struct csts_pdu p;
    enum csts_pdu_verdict verdict;
    bool report;
    int n = 0;
    while ((verdict = csts_buffer_next(CSTS_PDU_FORWARD_BUFFER, &rest, &p)) == CSTS_PDU_OK) {
        if (!read_unit(&p, &report))
            return -1;
        if ((uint32_t)++n > most)
            return n;
    }
    return verdict == CSTS_PDU_BAD ? -1 : n;
}

static void queue_buffer(struct csts_link *l, struct slice rest, tick now)
{
    struct csts_pdu p;
    struct slice last = slice_of(NULL, 0);
    bool report = false;
    while (csts_buffer_next(CSTS_PDU_FORWARD_BUFFER, &rest, &p) == CSTS_PDU_OK)
        if (read_unit(&p, &report) && assoc_admit_element(l, &p, &last, now))
            queue_unit(l->service, p.u.process.id, report, p.u.process.data.opaque, now);
}

static void take_buffer(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    const struct forward *f = l->service->forward;
    const int n = count_units(p->u.buffer, f->c.units_max);
    if (n < 0)
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
    else if ((uint32_t)n > f->c.units_max)
        assoc_abort(l, CSTS_ABORT_FORWARD_BUFFER_TOO_LARGE, now);
    else
        queue_buffer(l, p->u.buffer, now);
}

static void take_unit(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    bool report;
    if (!read_unit(p, &report))
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
    else
        queue_unit(l->service, p->u.process.id, report, p->u.process.data.opaque, now);
}

static void take_data(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_service *v = l->service;
    if (!v->forward->active) {
        assoc_refuse(l, now);
        return;
    }
    if (p->kind == CSTS_PDU_FORWARD_BUFFER)
        take_buffer(l, p, now);
    else
        take_unit(l, p, now);
    if (l->state != CSTS_BOUND)
        return;
    keep_time(v, now);
    look_at_room(v);
    notify_lost(v, now);
    if (l->state == CSTS_BOUND)
        assoc_notice(l, CSTS_TOLD_UNITS, NULL);
}

bool assoc_forward_takes(const struct csts_link *l, const struct csts_pdu *p)
{
    if (l->service->forward == NULL)
        return false;
    if (p->kind == CSTS_PDU_FORWARD_BUFFER)
        return true;
    const struct csts_procedure own = assoc_forward_prime(l->service->forward->c.sequenced);
    return csts_procedure_same(&p->procedure, &own);
}

void assoc_forward_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (p->kind == CSTS_PDU_START)
        take_start(l, p, now);
    else if (p->kind == CSTS_PDU_STOP)
        take_stop(l, p, now);
    else if (l->service->forward->c.sequenced)
        assoc_sequence_take(l, p, now);
    else if (p->kind == CSTS_PDU_PROCESS_DATA || p->kind == CSTS_PDU_FORWARD_BUFFER)
        take_data(l, p, now);
    else
        assoc_refuse(l, now);
}
