/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's side: invocations, and what comes back. Returns are awaited in the order in which
 * their invocations were sent, since the timeout is the same for all; they may come in another
 * order.
 *
 * What can go wrong: a return that is not awaited, or of another operation: PEER-ABORT "unsolicited
 * invoke id"; none in time: PEER-ABORT "response timeout". A report or notification that cannot be
 * decoded: PEER-ABORT "encoding error".
 */
#include <assert.h>
#include <stdlib.h>

#include "csts/delivery_private.h"

tick assoc_user_due(const struct csts_link *l)
{
    return l->awaited_count == 0 ? TICK_NEVER : l->awaited[0].due;
}

static void await_timer(struct csts_link *l)
{
    assoc_link_timer(l, KEPT_RETURN, assoc_user_due(l));
}

static struct csts_procedure procedure_of(enum csts_known type, uint32_t number)
{
    return (struct csts_procedure){.type = csts_known_oid(type),
                                   .role = number == 0 ? CSTS_PRIME : CSTS_SECONDARY,
                                   .number = number};
}

void assoc_await(struct csts_link *l, enum csts_pdu_kind answer, uint32_t id, tick now)
{
    assert(l->awaited_count < CSTS_AWAITED_MAX);
    l->awaited[l->awaited_count++] = (struct awaited){
        .kind = answer, .id = id, .due = tick_add(now, l->csts->config.return_timeout_s * TICK_S)};
    await_timer(l);
}

int assoc_invoke(struct csts_link *l, struct csts_pdu *p, enum csts_pdu_kind answer, tick now)
{
    if (!l->isp.initiator || l->state != CSTS_BOUND)
        return HELIO_ESTOPPED;
    if (l->awaited_count == CSTS_AWAITED_MAX)
        return HELIO_EAGAIN;
    p->invoke_id = l->next_id++ & INT32_MAX; /* returned as an int */
    const int e = assoc_send(l, p, now);
    if (e != HELIO_OK)
        return e;
    assoc_await(l, answer, p->invoke_id, now);
    return (int)p->invoke_id;
}

int csts_get(struct csts_link *l, const struct csts_list *list, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_GET,
                         .procedure = procedure_of(CSTS_INFORMATION_QUERY, 1)};
    p.u.list = *list;
    return assoc_invoke(l, &p, CSTS_PDU_GET_RETURN, now);
}

/* START whose extension is made by the caller in `octets`. */
static int start(struct csts_link *l, struct csts_procedure procedure, enum csts_known oid,
                 uint8_t *octets, size_t len, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_START, .procedure = procedure};
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(oid);
    p.extension.pdv.data = slice_of(octets, len);
    const int e = len == 0 ? HELIO_EINVAL : assoc_invoke(l, &p, CSTS_PDU_START_RETURN, now);
    free(octets);
    return e;
}

int csts_start_report(struct csts_link *l, uint32_t number, uint32_t cycle, bool on_change,
                      const struct csts_list *list, tick now)
{
    uint8_t option[32];
    struct csts_cyclic_start s = {.cycle = cycle, .list = *list};
    const size_t room = 512 + list->items.len + list->text.len;
    uint8_t *octets = cycle == 0 ? NULL : malloc(room);
    if (octets == NULL)
        return cycle == 0 ? HELIO_EINVAL : HELIO_ENOMEM;
    s.extension.used = true;
    s.extension.pdv.oid = csts_known_oid(CSTS_ON_CHANGE_START);
    s.extension.pdv.data = slice_of(option, csts_on_change_write(on_change, option, sizeof option));
    return start(l, procedure_of(CSTS_ON_CHANGE_CYCLIC_REPORT, number), CSTS_CYCLIC_START, octets,
                 csts_cyclic_start_write(&s, octets, room), now);
}

int csts_start_events(struct csts_link *l, uint32_t number, const struct csts_list *list, tick now)
{
    const size_t room = 512 + list->items.len + list->text.len;
    uint8_t *octets = number == 0 ? NULL : malloc(room);
    if (octets == NULL)
        return number == 0 ? HELIO_EINVAL : HELIO_ENOMEM;
    return start(l, procedure_of(CSTS_NOTIFICATION, number), CSTS_NOTIFICATION_START, octets,
                 csts_notification_start_write(list, octets, room), now);
}

int csts_stop_report(struct csts_link *l, uint32_t number, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_STOP,
                         .procedure = procedure_of(CSTS_ON_CHANGE_CYCLIC_REPORT, number)};
    return assoc_invoke(l, &p, CSTS_PDU_STOP_RETURN, now);
}

int csts_stop_events(struct csts_link *l, uint32_t number, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_STOP,
                         .procedure = procedure_of(CSTS_NOTIFICATION, number)};
    return number == 0 ? HELIO_EINVAL : assoc_invoke(l, &p, CSTS_PDU_STOP_RETURN, now);
}

/* ---- input ---- */

/* False: it is not awaited. */
static bool forget_awaited(struct csts_link *l, enum csts_pdu_kind kind, uint32_t id)
{
    for (unsigned i = 0; i < l->awaited_count; i++) {
        if (l->awaited[i].id != id || l->awaited[i].kind != kind)
            continue;
        memmove(&l->awaited[i], &l->awaited[i + 1],
                (l->awaited_count - i - 1) * sizeof l->awaited[0]);
        l->awaited_count--;
        await_timer(l);
        return true;
    }
    return false;
}

static void refuse_report(struct csts_link *l, tick now)
{
    COUNT(l, pdus_bad);
    assoc_abort(l, CSTS_ABORT_ENCODING_ERROR, now);
}

static void take_return(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_report report = {0};
    if (!forget_awaited(l, p->kind, p->invoke_id)) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    if (!p->positive)
        COUNT(l, returns_negative);
    if (p->kind == CSTS_PDU_START_RETURN && p->invoke_id == l->forward_id)
        l->forwards = p->positive;
    assoc_delivery_note_return(l, p);
    const bool values = p->kind == CSTS_PDU_GET_RETURN && p->positive;
    if (values && (!p->extension.used || !csts_oid_is(&p->extension.pdv.oid, CSTS_GET_RESULT) ||
                   !csts_report_read(p->extension.pdv.data, &report))) {
        refuse_report(l, now);
        return;
    }
    const enum csts_notice_kind kind = p->kind == CSTS_PDU_GET_RETURN     ? CSTS_TOLD_VALUES
                                       : p->kind == CSTS_PDU_START_RETURN ? CSTS_TOLD_STARTED
                                                                          : CSTS_TOLD_STOPPED;
    assoc_notice(l, kind, p)->report = report;
}

/* The return of PROCESS-DATA. */
static void take_answer(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    uint32_t next = 0;
    unsigned diag = CSTS_UNIT_NO_DIAG;
    if (!forget_awaited(l, p->kind, p->invoke_id)) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    const bool has_next =
        p->extension.used && (csts_oid_is(&p->extension.pdv.oid, CSTS_SEQUENCE_POSITIVE) ||
                              csts_oid_is(&p->extension.pdv.oid, CSTS_SEQUENCE_NEGATIVE));
    const bool has_diag = !p->positive && p->diagnostic.kind == CSTS_DIAGNOSTIC_EXTENSION &&
                          csts_oid_is(&p->diagnostic.pdv.oid, CSTS_SEQUENCE_DIAGNOSTIC);
    if ((has_next && !csts_unit_id_read(p->extension.pdv.data, &next)) ||
        (has_diag && !csts_unit_diag_read(p->diagnostic.pdv.data, &diag))) {
        refuse_report(l, now);
        return;
    }
    if (!p->positive)
        COUNT(l, returns_negative);
    struct csts_notice *n = assoc_notice(l, CSTS_TOLD_ANSWER, p);
    n->has_next = has_next;
    n->next_unit = next;
    n->unit_diag = diag;
}

/* Its acknowledgement or its return. After a negative acknowledgement no return is awaited. Some
 * providers send one (cstsapi-j): that is passed over, once. */
static void take_directive(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (l->refused && p->kind == CSTS_PDU_DIRECTIVE_RETURN && p->invoke_id == l->refused_id) {
        l->refused = false;
        return;
    }
    if (!forget_awaited(l, p->kind, p->invoke_id)) {
        assoc_abort(l, CSTS_ABORT_UNSOLICITED_INVOKE_ID, now);
        return;
    }
    if (!p->positive)
        COUNT(l, returns_negative);
    if (!p->positive && p->kind == CSTS_PDU_DIRECTIVE_ACKNOWLEDGE) {
        (void)forget_awaited(l, CSTS_PDU_DIRECTIVE_RETURN, p->invoke_id);
        l->refused = true;
        l->refused_id = p->invoke_id;
    }
    assoc_notice(l, CSTS_TOLD_DIRECTIVE, p);
}

static void take_report(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_report report = {0};
    const struct csts_data *d = &p->u.transfer.data;
    if (!d->extended || !csts_oid_is(&d->pdv.oid, CSTS_CYCLIC_DATA) ||
        !csts_report_read(d->pdv.data, &report)) {
        refuse_report(l, now);
        return;
    }
    COUNT(l, reports);
    assoc_notice(l, CSTS_TOLD_REPORT, p)->report = report;
}

static void take_notify(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    struct csts_processing processing = {0};
    const bool processed =
        p->extension.used && csts_oid_is(&p->extension.pdv.oid, CSTS_PROCESSING_NOTIFY);
    if (processed && !csts_processing_read(p->extension.pdv.data, &processing)) {
        refuse_report(l, now);
        return;
    }
    COUNT(l, events);
    assoc_notice(l, processed ? CSTS_TOLD_PROCESSED : CSTS_TOLD_EVENT, p)->processing = processing;
}

void assoc_user_take(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    switch (p->kind) {
    case CSTS_PDU_GET_RETURN:
    case CSTS_PDU_START_RETURN:
    case CSTS_PDU_STOP_RETURN:
        take_return(l, p, now);
        break;
    case CSTS_PDU_PROCESS_DATA_RETURN:
        take_answer(l, p, now);
        break;
    case CSTS_PDU_DIRECTIVE_ACKNOWLEDGE:
    case CSTS_PDU_DIRECTIVE_RETURN:
        take_directive(l, p, now);
        break;
    case CSTS_PDU_TRANSFER_DATA:
        take_report(l, p, now);
        break;
    case CSTS_PDU_NOTIFY:
        take_notify(l, p, now);
        break;
    case CSTS_PDU_RETURN_BUFFER:
        assoc_delivery_take_buffer(l, p, now);
        break;
    default:
        assoc_refuse(l, now);
    }
}
