/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequence-controlled data processing at the provider (921.1-B-2 §4.8); the queue and notifications
 * are those of forward.c. The normal case: START with the first number, frames with the numbers
 * that follow and times, each with a return, processed in order within their times, STOP.
 *
 *   inactive ──START──► processing ──expired, halted, interrupted──► locked
 *                           ▲                                          │
 *                           └────────────── directive "reset" ─────────┘
 *
 * A reset is acknowledged at once. It is done, and returned, when no frame is being processed and,
 * if the procedure was locked, production is operational; until then frames are refused as locked.
 *
 * What can go wrong: a frame is refused, in this order: locked, number, times, octets, room; a
 * directive that is none of ours, or has no number: its acknowledgement is negative. STOP during a
 * reset: its return is negative, "action not completed".
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/forward_private.h"
#include "csts/pdu_private.h"

/* ---- time ---- */

static tick tick_of(const struct csts_service *v, const struct sle_when *w, tick unknown)
{
    return w->known ? kept_tick(&v->csts->isp, w->at) : unknown;
}

void assoc_sequence_keep(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    const struct unit *u = assoc_forward_first(f);
    tick due = TICK_NEVER;
    if (u != NULL && f->processing == NULL) {
        const tick earliest = tick_of(v, &u->window.earliest, 0);
        const tick latest = tick_of(v, &u->window.latest, TICK_NEVER);
        due = earliest > now ? earliest : tick_add(latest, 1);
    }
    kept_set(&v->csts->isp, &f->timer, due);
}

static void notify_event(struct csts_service *v, enum csts_known id, tick now)
{
    const struct csts_name event = {
        .is_procedure = true, .procedure = assoc_forward_prime(true), .id = csts_known_oid(id)};
    assoc_forward_notify(v, &event, slice_of(NULL, 0), now);
}

static void lock(struct csts_service *v, tick now)
{
    if (!v->forward->active) /* the user does not read its notifications: the association ended */
        return;
    v->forward->locked = true;
    assoc_forward_discard(v);
    notify_event(v, CSTS_SEQUENCE_LOCKED, now);
}

static void expire_first(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    f->told.any = true;
    f->told.last = assoc_forward_first(f)->id;
    f->told.status = CSTS_PROCESSING_EXPIRED;
    assoc_forward_discard_first(f, &f->counts.late);
    notify_event(v, CSTS_SEQUENCE_EXPIRED, now);
    lock(v, now);
}

bool assoc_sequence_due(struct csts_service *v, tick now)
{
    const struct unit *u = assoc_forward_first(v->forward);
    assert(u != NULL && !v->forward->locked);
    if (tick_of(v, &u->window.latest, TICK_NEVER) < now) {
        expire_first(v, now);
        return false;
    }
    return tick_of(v, &u->window.earliest, 0) <= now;
}

bool assoc_sequence_expire(struct csts_service *v, tick now)
{
    const struct unit *u = assoc_forward_first(v->forward);
    assert(u != NULL && v->link != NULL);
    if (tick_of(v, &u->window.latest, TICK_NEVER) < now) {
        expire_first(v, now);
        return true;
    }
    assoc_sequence_keep(v, now);
    assoc_notice(v->link, CSTS_TOLD_UNITS, NULL);
    return true;
}

/* ---- PROCESS-DATA ---- */

static unsigned judge_unit(const struct csts_service *v, const struct csts_process *d,
                           const struct csts_window *w, tick now)
{
    const struct forward *f = v->forward;
    const size_t len = d->data.opaque.len;
    if (f->locked || f->resetting)
        return CSTS_UNIT_LOCKED;
    if (d->id != f->next_id)
        return CSTS_UNIT_OUT_OF_SEQUENCE;
    if (w->earliest.known && w->latest.known && sle_time_compare(w->latest.at, w->earliest.at) <= 0)
        return CSTS_UNIT_INCONSISTENT_TIMES;
    if (tick_of(v, &w->latest, TICK_NEVER) <= now)
        return CSTS_UNIT_LATE;
    if (len < f->c.frame_min || len > f->c.frame_max)
        return CSTS_UNIT_DATA_ERROR;
    return f->held + len + CSTS_UNIT_COST > f->c.queue_max ? CSTS_UNIT_UNABLE_TO_STORE
                                                           : CSTS_UNIT_NO_DIAG;
}

static void answer_unit(struct csts_link *l, uint32_t invoke_id, unsigned diag, tick now)
{
    const bool positive = diag == CSTS_UNIT_NO_DIAG;
    uint8_t number[32], reason[8];
    struct csts_pdu a = {.kind = CSTS_PDU_PROCESS_DATA_RETURN,
                         .invoke_id = invoke_id,
                         .positive = positive,
                         .extension.used = true};
    a.extension.pdv.oid =
        csts_known_oid(positive ? CSTS_SEQUENCE_POSITIVE : CSTS_SEQUENCE_NEGATIVE);
    a.extension.pdv.data =
        slice_of(number, csts_unit_id_write(l->service->forward->next_id, number, sizeof number));
    if (!positive) {
        COUNT(l, returns_negative);
        a.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
        a.diagnostic.pdv.oid = csts_known_oid(CSTS_SEQUENCE_DIAGNOSTIC);
        a.diagnostic.pdv.data = slice_of(
            reason, csts_unit_diag_write((enum csts_unit_diag)diag, reason, sizeof reason));
    }
    (void)assoc_send(l, &a, now);
}

static void take_unit(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_service *v = l->service;
    struct forward *f = v->forward;
    const struct csts_process *d = &p->u.process;
    struct csts_window window;
    bool report;
    if (d->data.extended || !p->extension.used ||
        !csts_oid_is(&p->extension.pdv.oid, CSTS_PROCESS_DATA) ||
        !csts_sequence_ext_read(p->extension.pdv.data, &report, &window)) {
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
        return;
    }
    f->counts.received++;
    unsigned diag = judge_unit(v, d, &window, now);
    struct unit *u = diag == CSTS_UNIT_NO_DIAG
                         ? assoc_forward_queue(f, d->id, report, d->data.opaque, now)
                         : NULL;
    if (u == NULL && diag == CSTS_UNIT_NO_DIAG)
        diag = CSTS_UNIT_UNABLE_TO_STORE;
    if (u == NULL) {
        f->counts.refused++;
    } else {
        u->window = window;
        f->next_id++;
        assoc_sequence_keep(v, now);
    }
    answer_unit(l, p->invoke_id, diag, now);
    if (u != NULL && l->state == CSTS_BOUND)
        assoc_notice(l, CSTS_TOLD_UNITS, NULL);
}

/* ---- directives ---- */

static void refuse_directive(struct csts_link *l, const struct csts_pdu *p,
                             enum csts_directive_diag diag, tick now)
{
    uint8_t octets[8];
    struct csts_pdu a = {.kind = CSTS_PDU_DIRECTIVE_ACKNOWLEDGE, .invoke_id = p->invoke_id};
    a.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    a.diagnostic.pdv.oid = csts_known_oid(CSTS_DIRECTIVE_DIAGNOSTIC);
    a.diagnostic.pdv.data =
        slice_of(octets, csts_directive_diag_write(diag, slice_of(NULL, 0), octets, sizeof octets));
    COUNT(l, returns_negative);
    (void)assoc_send(l, &a, now);
}

static void refuse_second(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    static const char text[] = "a reset is not done yet";
    struct csts_pdu a = {.kind = CSTS_PDU_DIRECTIVE_ACKNOWLEDGE, .invoke_id = p->invoke_id};
    a.diagnostic.kind = CSTS_OTHER_REASON;
    a.diagnostic.text = slice_of(text, sizeof text - 1);
    COUNT(l, returns_negative);
    (void)assoc_send(l, &a, now);
}

/* The number is an INTEGER. */
static bool read_number(const struct csts_directive *d, uint32_t *number)
{
    struct ber b = ber_reader(d->pdv.data);
    if (d->target != CSTS_OF_THIS_PROCEDURE || d->kind != CSTS_QUALIFIER_VALUE)
        return false;
    ber_u32(&b, BER_INTEGER, number, 0, UINT32_MAX);
    return ber_done(&b);
}

/* Done, if it can be. */
static void finish_reset(struct csts_service *v, tick now)
{
    struct forward *f = v->forward;
    if (!f->resetting || f->processing != NULL || (f->locked && f->production != CSTS_OPERATIONAL))
        return;
    struct csts_pdu a = {
        .kind = CSTS_PDU_DIRECTIVE_RETURN, .invoke_id = f->reset_invoke, .positive = true};
    f->resetting = f->locked = false;
    f->next_id = f->reset_to;
    (void)assoc_send(v->link, &a, now);
}

static void take_directive(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct forward *f = l->service->forward;
    uint32_t number;
    if (f->resetting) {
        refuse_second(l, p, now);
        return;
    }
    if (!csts_oid_is(&p->u.directive.id, CSTS_SEQUENCE_RESET)) {
        refuse_directive(l, p, CSTS_DIRECTIVE_UNKNOWN, now);
        return;
    }
    if (!read_number(&p->u.directive, &number)) {
        refuse_directive(l, p, CSTS_DIRECTIVE_QUALIFIER, now);
        return;
    }
    struct csts_pdu a = {
        .kind = CSTS_PDU_DIRECTIVE_ACKNOWLEDGE, .invoke_id = p->invoke_id, .positive = true};
    f->resetting = true;
    f->reset_invoke = p->invoke_id;
    f->reset_to = number;
    assoc_forward_discard(l->service);
    if (assoc_send(l, &a, now) == HELIO_OK)
        finish_reset(l->service, now);
}

void assoc_sequence_stop(struct csts_link *l, tick now)
{
    uint8_t octets[8];
    struct forward *f = l->service->forward;
    if (!f->resetting)
        return;
    struct csts_pdu a = {.kind = CSTS_PDU_DIRECTIVE_RETURN, .invoke_id = f->reset_invoke};
    a.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    a.diagnostic.pdv.oid = csts_known_oid(CSTS_DIRECTIVE_FAILED);
    a.diagnostic.pdv.data =
        slice_of(octets, csts_directive_failed_write(slice_of(NULL, 0), octets, sizeof octets));
    f->resetting = false;
    COUNT(l, returns_negative);
    (void)assoc_send(l, &a, now);
}

/* ---- the host ---- */

void assoc_sequence_done(struct csts_service *v, tick now)
{
    finish_reset(v, now);
}

void assoc_sequence_production(struct csts_service *v, bool interrupted, tick now)
{
    struct forward *f = v->forward;
    const bool locks = f->production == CSTS_HALTED ||
                       (f->production == CSTS_INTERRUPTED && interrupted && f->ours);
    if (f->active && !f->locked && locks)
        lock(v, now);
    assoc_sequence_keep(v, now);
    finish_reset(v, now);
}

/* ---- PDUs ---- */

bool assoc_sequence_read_start(const struct csts_pdu *p, uint32_t *first)
{
    return p->extension.used && csts_oid_is(&p->extension.pdv.oid, CSTS_SEQUENCE_START) &&
           csts_unit_id_read(p->extension.pdv.data, first);
}

void assoc_sequence_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    const bool unit = p->kind == CSTS_PDU_PROCESS_DATA;
    if (!l->service->forward->active || (!unit && p->kind != CSTS_PDU_EXECUTE_DIRECTIVE))
        assoc_refuse(l, now);
    else if (unit)
        take_unit(l, p, now);
    else
        take_directive(l, p, now);
}
