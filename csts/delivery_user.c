/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered data delivery at the user: START, return buffers, STOP. Each element of a return buffer
 * becomes a notice of its own; the input behind the buffer waits for the last one.
 *
 * What can go wrong: a return buffer that was not asked for: PEER-ABORT "protocol error"; an
 * element of another procedure: "invalid procedure name"; one with wrong credentials is passed
 * over.
 */
#include "csts/delivery_private.h"
#include "csts/pdu_private.h"

int csts_start_delivery(struct csts_link *l, const struct csts_oid *type,
                        const struct csts_window *w, tick now)
{
    uint8_t octets[64];
    struct csts_pdu p = {.kind = CSTS_PDU_START, .procedure.role = CSTS_PRIME};
    if (l->delivers)
        return HELIO_EINVAL;
    p.procedure.type = type == NULL ? csts_known_oid(CSTS_BUFFERED_DATA_DELIVERY) : *type;
    p.extension.used = true;
    p.extension.pdv.oid = csts_known_oid(CSTS_DELIVERY_START);
    p.extension.pdv.data = slice_of(octets, csts_window_write(w, octets, sizeof octets));
    const int e = assoc_invoke(l, &p, CSTS_PDU_START_RETURN, now);
    if (e >= 0) {
        l->delivery = p.procedure;
        l->delivery_id = (uint32_t)e;
    }
    return e;
}

int csts_stop_delivery(struct csts_link *l, tick now)
{
    struct csts_pdu p = {.kind = CSTS_PDU_STOP, .procedure = l->delivery};
    if (!l->delivers)
        return HELIO_ESTOPPED;
    const int e = assoc_invoke(l, &p, CSTS_PDU_STOP_RETURN, now);
    if (e >= 0)
        l->delivery_id = (uint32_t)e;
    return e;
}

void assoc_delivery_note_return(struct csts_link *l, const struct csts_pdu *p)
{
    if (p->invoke_id != l->delivery_id || l->delivery_id == 0)
        return;
    if (p->kind == CSTS_PDU_START_RETURN)
        l->delivers = p->positive;
    else if (p->kind == CSTS_PDU_STOP_RETURN && p->positive)
        l->delivers = false;
}

void assoc_delivery_take_buffer(struct csts_link *l, const struct csts_pdu *p, tick now)
{
    if (!l->delivers) {
        assoc_refuse(l, now);
        return;
    }
    l->elements = p->u.buffer;
    l->admitted = slice_of(NULL, 0);
    assoc_note_pending(l);
}

void assoc_delivery_next(struct csts_link *l, tick now)
{
    struct csts_pdu p;
    if (csts_buffer_next(CSTS_PDU_RETURN_BUFFER, &l->elements, &p) != CSTS_PDU_OK)
        l->elements = slice_of(NULL, 0); /* they were checked when the PDU was read */
    else if (!assoc_admit_element(l, &p, &l->admitted, now))
        ;
    else if (!csts_procedure_same(&p.procedure, &l->delivery))
        assoc_abort(l, CSTS_ABORT_INVALID_PROCEDURE, now);
    else if (p.kind == CSTS_PDU_TRANSFER_DATA)
        assoc_notice(l, CSTS_TOLD_DATA, &p);
    else
        assoc_notice(l, CSTS_TOLD_EVENT, &p);
    assoc_note_pending(l);
}
