/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's procedures: information query, cyclic report with Monitored Data's on-change
 * option, notification. The normal case: START names parameters that exist, the return is positive,
 * a report follows at once and then one each cycle, STOP ends it.
 *
 * What can go wrong: a list with unknown names, a cycle below the least one: negative returns.
 * START of what is active, STOP of what is not, UNBIND while the prime procedure is active:
 * PEER-ABORT "protocol error"; a procedure that the service does not have: "invalid procedure
 * name". A user that does not read: reports are left out, and its invocations are not read. At
 * four times the limit of queued octets the association ends.
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/delivery_private.h"
#include "csts/forward_private.h"

static bool is_report(const struct csts_oid *type)
{
    return csts_oid_is(type, CSTS_CYCLIC_REPORT) || csts_oid_is(type, CSTS_ON_CHANGE_CYCLIC_REPORT);
}

static struct procedure *find_procedure(struct csts_link *l, const struct csts_procedure *name)
{
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++)
        if (l->procedures[i].active && csts_procedure_same(&l->procedures[i].name, name))
            return &l->procedures[i];
    return NULL;
}

static void end_procedure(struct procedure *q)
{
    assoc_timer_set(q->link, &q->timer, TICK_NEVER);
    free(q->selected);
    q->selected = NULL;
    q->selected_len = 0;
    q->active = false;
}

void assoc_provider_leave(struct csts_link *l)
{
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++)
        if (l->procedures[i].active)
            end_procedure(&l->procedures[i]);
    if (l->service != NULL) {
        assoc_forward_leave(l->service);
        assoc_delivery_leave(l->service);
        l->service->link = NULL;
    }
    l->service = NULL;
}

bool assoc_provider_may_unbind(const struct csts_link *l)
{
    if ((l->service->forward != NULL && l->service->forward->active) ||
        (l->service->delivery != NULL && l->service->delivery->active))
        return false;
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++)
        if (l->procedures[i].active && l->procedures[i].name.role == CSTS_PRIME)
            return false;
    return true;
}

/* ---- returns ---- */

void assoc_answer(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id, tick now)
{
    struct csts_pdu p = {.kind = kind, .invoke_id = id, .positive = true};
    (void)assoc_send(l, &p, now);
}

static void answer_other(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id,
                         const char *text, tick now)
{
    struct csts_pdu p = {.kind = kind, .invoke_id = id};
    p.diagnostic.kind = CSTS_OTHER_REASON;
    p.diagnostic.text = slice_of(text, strlen(text));
    COUNT(l, returns_negative);
    (void)assoc_send(l, &p, now);
}

static void answer_refusal(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id,
                           const struct csts_refusal *r, enum csts_known which, tick now)
{
    struct csts_pdu p = {.kind = kind, .invoke_id = id};
    const size_t room = 512 + r->list.items.len + r->list.text.len + r->text.len;
    uint8_t *octets = malloc(room);
    if (octets == NULL) {
        answer_other(l, kind, id, "out of memory", now);
        return;
    }
    p.diagnostic.kind = CSTS_DIAGNOSTIC_EXTENSION;
    p.diagnostic.pdv.oid =
        csts_known_oid(which == CSTS_GET_DIAGNOSTIC ? which : CSTS_START_DIAGNOSTIC);
    p.diagnostic.pdv.data = slice_of(octets, csts_refusal_write(r, which, octets, room));
    assert(p.diagnostic.pdv.data.len > 0);
    COUNT(l, returns_negative);
    (void)assoc_send(l, &p, now);
    free(octets);
}

void assoc_refuse_start(struct csts_link *l, uint32_t id, const struct csts_refusal *r,
                        enum csts_known which, tick now)
{
    answer_refusal(l, CSTS_PDU_START_RETURN, id, r, which, now);
}

/* A list that selects nothing, or no memory for it. */
static void answer_unselected(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id,
                              const struct selection *s, enum csts_known which, tick now)
{
    if (s->refused)
        answer_refusal(l, kind, id,
                       &(struct csts_refusal){.kind = CSTS_REFUSED_LIST, .list = s->why}, which,
                       now);
    else
        answer_other(l, kind, id, "out of memory", now);
}

/* ---- values ---- */

/* The octets of a report of these entries, to be freed; NULL: memory is out. */
static uint8_t *write_report(const struct entries *of, const uint32_t *selected, uint32_t len,
                             size_t *written)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < len; i++)
        sum += of->all[selected[i]].len;
    uint8_t *parameters = malloc(sum + 1), *report = malloc(sum + 64);
    if (parameters == NULL || report == NULL) {
        free(parameters);
        free(report);
        return NULL;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < len; i++) {
        memcpy(parameters + at, of->all[selected[i]].octets, of->all[selected[i]].len);
        at += of->all[selected[i]].len;
    }
    const struct csts_report r = {.parameters = slice_of(parameters, sum)};
    *written = csts_report_write(&r, report, sum + 64);
    assert(*written > 0);
    free(parameters);
    return report;
}

static void take_get(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct selection s;
    struct csts_pdu answer = {
        .kind = CSTS_PDU_GET_RETURN, .invoke_id = p->invoke_id, .positive = true};
    COUNT(l, queries);
    if (!assoc_select_entries(&s, l->service, &l->service->parameters, &p->u.list)) {
        answer_unselected(l, CSTS_PDU_GET_RETURN, p->invoke_id, &s, CSTS_GET_DIAGNOSTIC, now);
        assoc_selection_fini(&s);
        return;
    }
    size_t n = 0;
    uint8_t *report = write_report(&l->service->parameters, s.found, s.len, &n);
    assoc_selection_fini(&s);
    if (report == NULL) {
        answer_other(l, CSTS_PDU_GET_RETURN, p->invoke_id, "out of memory", now);
        return;
    }
    answer.extension.used = true;
    answer.extension.pdv.oid = csts_known_oid(CSTS_GET_RESULT);
    answer.extension.pdv.data = slice_of(report, n);
    (void)assoc_send(l, &answer, now);
    free(report);
}

/* ---- reports ---- */

/* Those that have changed since the last report, at the front of `out`; returns how many. */
static uint32_t pick_changed(const struct procedure *q, const struct entries *of, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->selected_len; i++)
        if (of->all[q->selected[i]].changed > q->told)
            out[n++] = q->selected[i];
    return n;
}

static void send_report(struct procedure *q, const uint32_t *selected, uint32_t len, tick now)
{
    struct csts_link *l = q->link;
    struct csts_pdu p = {
        .kind = CSTS_PDU_TRANSFER_DATA, .invoke_id = l->next_id++, .procedure = q->name};
    size_t n = 0;
    uint8_t *report = write_report(&l->service->parameters, selected, len, &n);
    if (report == NULL) {
        COUNT(l, reports_left_out);
        return;
    }
    p.u.transfer.generated = assoc_time(l->csts, now);
    p.u.transfer.sequence = q->sequence++;
    p.u.transfer.data.extended = true;
    p.u.transfer.data.pdv.oid = csts_known_oid(CSTS_CYCLIC_DATA);
    p.u.transfer.data.pdv.data = slice_of(report, n);
    q->told = l->service->changes;
    COUNT(l, reports);
    (void)assoc_send(l, &p, now); /* without memory the link ends, and the procedure with it */
    free(report);
}

/* `first`: the report that follows START, with all values. */
static void report_now(struct procedure *q, bool first, tick now)
{
    struct csts_link *l = q->link;
    if (l->isp.queue_octets > l->csts->config.backlog_max) {
        COUNT(l, reports_left_out);
        return;
    }
    if (first || !q->on_change) {
        send_report(q, q->selected, q->selected_len, now);
        return;
    }
    uint32_t *changed = malloc((q->selected_len + 1) * sizeof *changed);
    const uint32_t n = changed == NULL ? 0 : pick_changed(q, &l->service->parameters, changed);
    if (changed == NULL)
        COUNT(l, reports_left_out);
    else if (n > 0)
        send_report(q, changed, n, now);
    free(changed);
}

void assoc_provider_report(struct procedure *q, tick now)
{
    assert(q->active && q->reports);
    /* Where several cycles have passed unserved one report is sent, and the beat is kept. */
    const tick late = now - q->due;
    q->due = tick_add(now, q->cycle - late % q->cycle);
    assoc_timer_set(q->link, &q->timer, q->due);
    report_now(q, false, now);
}

/* ---- START and STOP ---- */

static struct procedure *free_procedure(struct csts_link *l)
{
    for (unsigned i = 0; i < CSTS_PROCEDURES_MAX; i++)
        if (!l->procedures[i].active)
            return &l->procedures[i];
    return NULL;
}

/* A positive return; the procedure has the selection then. NULL: refused, and answered. */
static struct procedure *begin_procedure(struct csts_link *l, const struct csts_pdu *p,
                                         const struct csts_list *list, bool reports, tick now)
{
    struct selection s;
    struct procedure *q = free_procedure(l);
    struct csts_service *v = l->service;
    if (q == NULL) {
        answer_refusal(l, CSTS_PDU_START_RETURN, p->invoke_id,
                       &(struct csts_refusal){.kind = CSTS_REFUSED_UNABLE,
                                              .text = slice_of("too many procedures", 19)},
                       CSTS_CYCLIC_START_DIAGNOSTIC, now);
        return NULL;
    }
    if (!assoc_select_entries(&s, v, reports ? &v->parameters : &v->events, list)) {
        answer_unselected(
            l, CSTS_PDU_START_RETURN, p->invoke_id, &s,
            reports ? CSTS_CYCLIC_START_DIAGNOSTIC : CSTS_NOTIFICATION_START_DIAGNOSTIC, now);
        assoc_selection_fini(&s);
        return NULL;
    }
    q->active = true;
    q->name = p->procedure;
    q->reports = reports;
    q->on_change = false;
    q->sequence = 0;
    q->selected = s.found;
    q->selected_len = s.len;
    s.found = NULL;
    assoc_selection_fini(&s);
    return q;
}

static void finish_start(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    assoc_notice(l, CSTS_TOLD_STARTED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_START_RETURN, p->invoke_id, now);
}

static void start_report(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_cyclic_start start;
    bool on_change = false;
    const struct csts_extended *option = &start.extension;
    if (!p->extension.used || !csts_oid_is(&p->extension.pdv.oid, CSTS_CYCLIC_START) ||
        !csts_cyclic_start_read(p->extension.pdv.data, &start) ||
        (option->used && csts_oid_is(&option->pdv.oid, CSTS_ON_CHANGE_START) &&
         !csts_on_change_read(option->pdv.data, &on_change))) {
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
        return;
    }
    if (start.cycle < l->service->c.cycle_min) {
        answer_refusal(l, CSTS_PDU_START_RETURN, p->invoke_id,
                       &(struct csts_refusal){.kind = CSTS_REFUSED_RANGE,
                                              .text = slice_of("delivery cycle too short", 24)},
                       CSTS_CYCLIC_START_DIAGNOSTIC, now);
        return;
    }
    struct procedure *q = begin_procedure(l, p, &start.list, true, now);
    if (q == NULL)
        return;
    q->on_change = on_change;
    q->cycle = start.cycle * TICK_MS;
    q->due = tick_add(now, q->cycle);
    assoc_timer_set(q->link, &q->timer, q->due);
    finish_start(l, p, now);
    if (l->state == CSTS_BOUND)
        report_now(q, true, now);
}

static void start_events(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_list list;
    if (!p->extension.used || !csts_oid_is(&p->extension.pdv.oid, CSTS_NOTIFICATION_START) ||
        !csts_notification_start_read(p->extension.pdv.data, &list)) {
        assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
        return;
    }
    if (begin_procedure(l, p, &list, false, now) != NULL)
        finish_start(l, p, now);
}

static void take_start(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (find_procedure(l, &p->procedure) != NULL)
        assoc_refuse(l, now);
    else if (is_report(&p->procedure.type))
        start_report(l, p, now);
    else
        start_events(l, p, now);
}

static void take_stop(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct procedure *q = find_procedure(l, &p->procedure);
    if (q == NULL) {
        assoc_refuse(l, now);
        return;
    }
    end_procedure(q);
    assoc_notice(l, CSTS_TOLD_STOPPED, p)->pdu.positive = true;
    assoc_answer(l, CSTS_PDU_STOP_RETURN, p->invoke_id, now);
}

/* Does the service have this procedure, and this operation of it? */
static enum csts_abort judge_operation(const struct csts_pdu *p)
{
    const struct csts_procedure *q = &p->procedure;
    const bool reports = is_report(&q->type), events = csts_oid_is(&q->type, CSTS_NOTIFICATION);
    const bool query = csts_oid_is(&q->type, CSTS_INFORMATION_QUERY);
    if (q->role == CSTS_ASSOCIATION || (!reports && !events && !query))
        return CSTS_ABORT_INVALID_PROCEDURE;
    if (p->kind == CSTS_PDU_GET)
        return query ? (enum csts_abort)0 : CSTS_ABORT_PROTOCOL_ERROR;
    if (p->kind == CSTS_PDU_START || p->kind == CSTS_PDU_STOP)
        return query ? CSTS_ABORT_PROTOCOL_ERROR : (enum csts_abort)0;
    return CSTS_ABORT_PROTOCOL_ERROR;
}

void assoc_provider_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (csts_pdu_is_return(p->kind)) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    if (assoc_forward_takes(l, p)) {
        assoc_forward_take(l, p, now);
        return;
    }
    if (assoc_delivery_takes(l, p)) {
        assoc_delivery_take(l, p, now);
        return;
    }
    if (p->kind == CSTS_PDU_FORWARD_BUFFER || p->kind == CSTS_PDU_RETURN_BUFFER) {
        assoc_refuse(l, now);
        return;
    }
    const bool has_prime = l->service->forward != NULL || l->service->delivery != NULL;
    const bool other_prime = has_prime && p->procedure.role == CSTS_PRIME;
    const enum csts_abort why = other_prime ? CSTS_ABORT_INVALID_PROCEDURE : judge_operation(p);
    if (why != 0)
        assoc_abort(l, why, now);
    else if (p->kind == CSTS_PDU_GET)
        take_get(l, p, now);
    else if (p->kind == CSTS_PDU_START)
        take_start(l, p, now);
    else
        take_stop(l, p, now);
}

/* ---- events ---- */

static bool notifies(const struct procedure *q, uint32_t index)
{
    for (uint32_t i = 0; q->active && !q->reports && i < q->selected_len; i++)
        if (q->selected[i] == index)
            return true;
    return false;
}

size_t csts_event_raise(struct csts_service *v, int index, struct slice values, tick now)
{
    struct csts_link *l = v->link;
    size_t queued = 0;
    assert(index >= 0 && (uint32_t)index < v->events.len);
    for (unsigned i = 0; l != NULL && v->link == l && i < CSTS_PROCEDURES_MAX; i++) {
        if (!notifies(&l->procedures[i], (uint32_t)index))
            continue;
        if (l->isp.queue_octets > 4 * (size_t)l->csts->config.backlog_max) {
            assoc_abort(l, CSTS_ABORT_OPERATIONAL, now);
            break;
        }
        struct csts_pdu p = {
            .kind = CSTS_PDU_NOTIFY, .invoke_id = l->next_id++, .procedure = l->procedures[i].name};
        p.u.notify.at = assoc_time(l->csts, now);
        p.u.notify.event = v->events.all[index].name;
        p.u.notify.kind = values.len > 0 ? CSTS_EVENT_VALUES : CSTS_EVENT_EMPTY;
        p.u.notify.values = values;
        if (assoc_send(l, &p, now) == HELIO_OK) {
            COUNT(l, events);
            queued++;
        }
    }
    return queued;
}
