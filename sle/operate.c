/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's operations: START, STOP, SCHEDULE-STATUS-REPORT, GET-PARAMETER, and what goes on
 * without being asked: status reports, the end of the provision period. The normal case of START:
 * the times and what is asked for are permitted, the return goes out, frames follow. What is wrong
 * with an operation is a negative return; what is wrong with its place is PEER-ABORT (protocol
 * error).
 */
#include <assert.h>

#include "sle/engine_private.h"

static void send_answer(struct sle_link *l, enum sle_pdu_kind kind, uint16_t invoke_id,
                        unsigned diag, tick now)
{
    struct sle_pdu p = {.kind = kind, .invoke_id = invoke_id, .diag = diag};
    (void)link_send(l, &p, now);
}

/* ---- START and STOP ---- */

static bool in_period(const struct provider *p, const struct sle_when *w)
{
    return !w->known || !((p->c.begin.known && sle_time_compare(w->at, p->c.begin.at) < 0) ||
                          (p->c.end.known && sle_time_compare(w->at, p->c.end.at) > 0));
}

static unsigned judge_times(const struct sle_instance *i, const struct sle_start *s, tick now)
{
    struct sle_time at = sle_now(i->sle, now);
    if (i->mode == SLE_OFFLINE && (!s->start.known || !s->stop.known))
        return SLE_START_MISSING_TIME;
    if (s->start.known && s->stop.known && sle_time_compare(s->stop.at, s->start.at) <= 0)
        return SLE_OTHER_REASON;
    if (i->mode == SLE_OFFLINE) {
        if (sle_time_compare(s->start.at, at) > 0)
            return SLE_START_INVALID_START;
        return sle_time_compare(s->stop.at, at) > 0 ? SLE_START_INVALID_STOP : SLE_OK;
    }
    if (!in_period(&i->p, &s->start))
        return SLE_START_INVALID_START;
    if (i->mode == SLE_COMPLETE && s->start.known && !i->p.c.keeps_past &&
        sle_time_compare(s->start.at, at) < 0)
        return SLE_START_INVALID_START;
    return in_period(&i->p, &s->stop) ? SLE_OK : SLE_START_INVALID_STOP;
}

static bool permits_gvcid(const struct provider *p, struct sle_gvcid wanted)
{
    for (size_t k = 0; k < p->c.gvcid_count; k++)
        if (sle_gvcid_has(p->c.gvcids[k], wanted))
            return true;
    return false;
}

static unsigned judge_rocf(const struct provider *p, const struct sle_start *s)
{
    if ((p->c.permitted_words >> s->word & 1) == 0)
        return SLE_START_INVALID_CONTROL_WORD;
    if (s->word == SLE_CLCW && s->tc_vcid != SLE_TC_VC_NONE &&
        (p->c.only_no_tc_vc || (p->c.permitted_tc_vcids >> s->tc_vcid & 1) == 0))
        return SLE_START_INVALID_TC_VCID;
    return (p->c.permitted_updates >> s->update & 1) == 0 ? SLE_START_INVALID_UPDATE_MODE : SLE_OK;
}

static unsigned judge_start(const struct sle_instance *i, const struct sle_start *s, tick now)
{
    const struct provider *p = &i->p;
    if (i->service == SLE_FCLTU)
        return p->production == SLE_UP_HALTED ? SLE_START_OUT_OF_SERVICE : SLE_OK;
    unsigned diag = judge_times(i, s, now);
    if (diag != SLE_OK)
        return diag;
    if (p->production == SLE_HALTED && i->mode != SLE_OFFLINE)
        return SLE_START_OUT_OF_SERVICE;
    if (i->service == SLE_RAF)
        return (p->c.permitted_quality >> s->quality & 1) != 0 ? SLE_OK : SLE_START_UNABLE;
    if (!permits_gvcid(p, s->gvcid))
        return SLE_START_INVALID_GVCID;
    return i->service == SLE_ROCF ? judge_rocf(p, s) : SLE_OK;
}

static void begin_service(struct sle_instance *i)
{
    struct sle_link *l = i->link;
    struct provider *p = &i->p;
    assert(l != NULL && l->state == SLE_ACTIVE);
    p->has_wanted = true;
    if (i->service == SLE_FCLTU) {
        p->f.next_id = p->wanted.first_cltu;
        p->f.blocked = p->f.ready_told = p->f.ready = p->f.cleared = false;
        forward_keep(i);
        return;
    }
    assert(p->fill == NULL);
    p->first = true;
    p->missing = 0;
    p->ended = p->has_ocf = p->backlog = p->refused = p->room = false;
    kept_set(&i->sle->isp, instance_kept(i, KEPT_ROOM), TICK_NEVER);
    frame_template_init(&p->head, &l->dialect_out, slice_of(p->antenna, p->c.antenna.len),
                        p->c.antenna_global, link_credentials_len(l, SLE_PDU_BUFFER));
}

static void finish_start(struct sle_link *l, uint16_t invoke_id, unsigned diag, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_START_RETURN, .invoke_id = invoke_id, .diag = diag};
    struct sle_instance *i = l->instance;
    assert(l->state == SLE_READY || l->state == SLE_STARTING);
    l->state = diag == SLE_OK ? SLE_ACTIVE : SLE_READY;
    if (diag == SLE_OK)
        begin_service(i);
    p.u.start_return.radiation_start = sle_now(i->sle, now);
    p.u.start_return.radiation_stop = i->p.c.end;
    (void)link_send(l, &p, now);
}

static void take_start(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_instance *i = l->instance;
    assert(l->state == SLE_READY && i->link == l);
    unsigned diag = judge_start(i, &pdu->u.start, now);
    if (diag != SLE_OK) {
        finish_start(l, pdu->invoke_id, diag, now);
        return;
    }
    i->p.wanted = pdu->u.start;
    i->p.start_id = pdu->invoke_id;
    link_notice(l, SLE_STARTED_BY_USER)->u.start = pdu->u.start;
    if (i->p.c.confirm_start)
        l->state = SLE_STARTING;
    else
        finish_start(l, pdu->invoke_id, SLE_OK, now);
}

void sle_provider_answer_start(struct sle_instance *i, unsigned diag, tick now)
{
    if (i->link != NULL && i->link->state == SLE_STARTING)
        finish_start(i->link, i->p.start_id, diag, now);
}

/* All that was taken goes before the return. */
static void take_stop(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_instance *i = l->instance;
    assert(l->state == SLE_ACTIVE && i->link == l);
    if (i->service == SLE_FCLTU) {
        forward_clear(i);
    } else {
        buffer_pass(i, now);
        buffer_clear(i);
    }
    assert(i->p.fill == NULL);
    l->state = SLE_READY;
    link_notice(l, SLE_STOPPED_BY_USER);
    send_answer(l, SLE_PDU_STOP_RETURN, pdu->invoke_id, SLE_OK, now);
}

/* ---- reports ---- */

void provider_report(struct sle_instance *i, tick now)
{
    struct provider *p = &i->p;
    struct sle_pdu pdu = {.kind = SLE_PDU_STATUS};
    struct sle_status *s = &pdu.u.status;
    assert(i->link != NULL && link_bound(i->link));
    s->production = p->production;
    s->processed = i->service == SLE_FCLTU ? p->f.processed : p->processed;
    s->good = p->good;
    s->delivered = p->delivered;
    s->locks = p->locks;
    if (i->service == SLE_FCLTU) {
        s->last_processed = p->f.last_processed;
        s->last_ok = p->f.last_ok;
        s->uplink = p->f.uplink;
        s->received = p->f.received;
        s->radiated = p->f.radiated;
        s->buffer_available = forward_available(i);
    }
    COUNT_INSTANCE(i, reports, 1);
    (void)link_send(i->link, &pdu, now);
}

static unsigned judge_schedule(const struct sle_instance *i, const struct sle_schedule *s)
{
    if (i->mode == SLE_OFFLINE)
        return SLE_REPORT_NOT_IN_MODE;
    if (s->report == SLE_REPORT_STOP && i->p.report_s == 0)
        return SLE_REPORT_ALREADY_STOPPED;
    if (s->report == SLE_REPORT_PERIODIC &&
        (s->cycle_s < i->p.c.min_reporting_cycle_s || s->cycle_s > 600))
        return SLE_REPORT_INVALID_CYCLE;
    return SLE_OK;
}

/* 0: no more reports. */
static void set_cycle(struct sle_instance *i, uint32_t cycle_s, tick now)
{
    i->p.report_s = cycle_s;
    kept_set(&i->sle->isp, instance_kept(i, KEPT_REPORT),
             cycle_s > 0 ? tick_add(now, cycle_s * TICK_S) : TICK_NEVER);
}

static void take_schedule(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_instance *i = l->instance;
    const struct sle_schedule *s = &pdu->u.schedule;
    unsigned diag = judge_schedule(i, s);
    send_answer(l, SLE_PDU_SCHEDULE_RETURN, pdu->invoke_id, diag, now);
    if (diag != SLE_OK || l->state == SLE_ENDED)
        return;
    if (s->report == SLE_REPORT_STOP) {
        set_cycle(i, 0, now);
        return;
    }
    if (s->report == SLE_REPORT_PERIODIC)
        set_cycle(i, s->cycle_s, now);
    provider_report(i, now);
}

static void take_get(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_pdu p = {.kind = SLE_PDU_GET_RETURN, .invoke_id = pdu->invoke_id};
    if (!sle_parameter_exists(&l->dialect_out, pdu->u.parameter))
        p.diag = SLE_GET_UNKNOWN;
    else if (!value_of(l->instance, l->dialect_out.version, pdu->u.parameter, &p.u.value))
        p.diag = SLE_OTHER_REASON;
    (void)link_send(l, &p, now);
}

/* ---- */

/* Only START and THROW-EVENT may be unanswered when the next invocation comes. */
static bool is_duplicate(const struct sle_link *l, uint16_t invoke_id)
{
    const struct provider *p = &l->instance->p;
    if (l->state == SLE_STARTING && p->start_id == invoke_id)
        return true;
    for (unsigned k = 0; k < p->f.event_count; k++)
        if (p->f.events[k].invoke_id == invoke_id)
            return true;
    return false;
}

static bool in_place(const struct sle_link *l, enum sle_pdu_kind kind)
{
    if (kind == SLE_PDU_START)
        return l->state == SLE_READY;
    if (kind == SLE_PDU_STOP || kind == SLE_PDU_CLTU)
        return l->state == SLE_ACTIVE;
    return true;
}

static void refuse_duplicate(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    struct sle_pdu p = {.kind = (enum sle_pdu_kind)(pdu->kind + 1),
                        .invoke_id = pdu->invoke_id,
                        .diag = SLE_DUPLICATE_INVOKE_ID};
    const struct forward *f = &l->instance->p.f;
    if (pdu->kind == SLE_PDU_CLTU)
        p.u.cltu_return = (struct sle_cltu_return){f->next_id, forward_available(l->instance)};
    if (pdu->kind == SLE_PDU_EVENT)
        p.u.event_return.next_invocation = f->next_event;
    (void)link_send(l, &p, now);
}

void provider_take(struct sle_link *l, const struct sle_pdu *pdu, tick now)
{
    if (!in_place(l, pdu->kind)) {
        link_abort(l, SLE_END_ABORTED, SLE_ABORT_PROTOCOL_ERROR, now);
        return;
    }
    if (is_duplicate(l, pdu->invoke_id)) {
        refuse_duplicate(l, pdu, now);
        return;
    }
    switch (pdu->kind) {
    case SLE_PDU_START:
        take_start(l, pdu, now);
        break;
    case SLE_PDU_STOP:
        take_stop(l, pdu, now);
        break;
    case SLE_PDU_SCHEDULE:
        take_schedule(l, pdu, now);
        break;
    case SLE_PDU_GET:
        take_get(l, pdu, now);
        break;
    case SLE_PDU_CLTU:
        forward_take_cltu(l, pdu, now);
        break;
    case SLE_PDU_EVENT:
        forward_take_event(l, pdu, now);
        break;
    default:
        assert(false);
    }
}

int sle_provider_unbind(struct sle_instance *i, enum sle_unbind reason, tick now)
{
    return i->provides ? unbind_send(i, reason, now) : HELIO_ESTOPPED;
}

static void keep_period(struct sle_instance *i)
{
    const struct sle_when *end = &i->p.c.end;
    const bool bound = i->provides && i->link != NULL && end->known;
    kept_set(&i->sle->isp, instance_kept(i, KEPT_PERIOD),
             bound ? kept_tick(&i->sle->isp, end->at) : TICK_NEVER);
}

void provider_bound(struct sle_instance *i)
{
    struct provider *p = &i->p;
    assert(i->link != NULL && i->link->state == SLE_READY);
    assert(p->report_s == 0);
    p->has_wanted = false;
    keep_period(i);
    assert(p->f.event_count == 0);
    assert(p->queued == 0 && p->fill == NULL);
}

void provider_leave(struct sle_instance *i, tick now)
{
    buffer_clear(i);
    if (i->service == SLE_FCLTU && !i->p.c.continue_on_abort)
        forward_clear(i);
    set_cycle(i, 0, now);
    kept_set(&i->sle->isp, instance_kept(i, KEPT_PERIOD), TICK_NEVER);
    forward_forget_events(i);
    assert(i->provides && i->p.fill == NULL && !i->p.backlog);
}

/* ---- times ---- */

tick provider_due(const struct sle_instance *i, enum kept_kind kind)
{
    const struct provider *p = &i->p;
    switch (kind) {
    case KEPT_PERIOD:
        return i->link != NULL && p->c.end.known ? kept_tick(&i->sle->isp, p->c.end.at)
                                                 : TICK_NEVER;
    case KEPT_LATENCY:
        return buffer_due(i);
    case KEPT_CLTU:
        return i->service == SLE_FCLTU && !p->f.ready_told ? sle_provider_cltu_deadline(i)
                                                           : TICK_NEVER;
    case KEPT_REPORT: /* the agenda alone knows when */
        return p->report_s > 0 ? TICK_NEVER - 1 : TICK_NEVER;
    default:
        assert(kind == KEPT_ROOM);
        return TICK_NEVER;
    }
}

bool provider_serve(struct sle_instance *i, enum kept_kind kind, tick now)
{
    struct provider *p = &i->p;
    assert(i->provides && (i->link != NULL || kind == KEPT_CLTU));
    switch (kind) {
    case KEPT_PERIOD:
        link_abort(i->link, SLE_END_ABORTED, SLE_ABORT_END_OF_PERIOD, now);
        return true;
    case KEPT_LATENCY:
        return buffer_late(i, now);
    case KEPT_ROOM:
        buffer_room(i);
        return true;
    case KEPT_REPORT:
        set_cycle(i, p->report_s, now);
        provider_report(i, now);
        return true;
    default:
        assert(kind == KEPT_CLTU && sle_provider_cltu_deadline(i) <= now);
        p->f.ready_told = true;
        p->f.ready = i->link != NULL;
        return true;
    }
}

void provider_clock(struct sle_instance *i)
{
    keep_period(i);
    if (i->service == SLE_FCLTU)
        forward_clock(i);
}

bool provider_flags(struct sle_instance *i, struct sle_notice *out, tick now)
{
    struct provider *p = &i->p;
    enum sle_notice_kind kind;
    if (p->room) {
        kind = SLE_ROOM;
        p->room = false;
    } else if (p->f.cleared) {
        kind = SLE_CLTUS_CLEARED;
        p->f.cleared = false;
    } else if (i->service == SLE_FCLTU && forward_ready(i, now)) {
        kind = SLE_CLTU_READY;
    } else {
        return false;
    }
    memset(out, 0, sizeof *out);
    out->kind = kind;
    return true;
}

/* ---- production ---- */

void sle_provider_production(struct sle_instance *i, unsigned production, tick now)
{
    struct provider *p = &i->p;
    assert(i->provides && production <= (i->service == SLE_FCLTU ? SLE_UP_HALTED : SLE_HALTED));
    if (p->production == production)
        return;
    p->production = production;
    if (i->service != SLE_FCLTU) {
        struct sle_sync sync = {.kind = SLE_SYNC_PRODUCTION, .production = production};
        buffer_sync(i, &sync, now);
        return;
    }
    p->f.ready_told = p->f.ready = false;
    forward_keep(i);
    if (production == SLE_OPERATIONAL) {
        forward_notify(i, SLE_ASYNC_OPERATIONAL, 0, now);
    } else if (production != SLE_CONFIGURED) {
        if (p->f.count > 0) /* CLTUs were affected: a new START is needed */
            p->f.blocked = true;
        forward_interrupt(i);
        forward_clear(i);
        forward_notify(i, production == SLE_UP_HALTED ? SLE_ASYNC_HALTED : SLE_ASYNC_INTERRUPTED, 0,
                       now);
    }
}

void sle_provider_locks(struct sle_instance *i, const struct sle_locks *locks)
{
    assert(i->provides && i->service != SLE_FCLTU);
    i->p.locks = *locks;
}
