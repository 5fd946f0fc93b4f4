/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next PDU for a remote entity: first answers that belong to no transaction, then the
 * transactions in turn, one PDU each. A transaction leaves the list when it has nothing to send.
 */
#include <assert.h>

#include "cfdp/engine_private.h"

size_t cfdp_ack_write(struct cfdp_transaction *t, unsigned of, uint8_t *out, size_t room)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_ACK};
    p.u.ack = (struct cfdp_ack){.of = of,
                                .condition = t->ack_condition,
                                .status = t->phase == CFDP_ENDED ? CFDP_STATUS_TERMINATED
                                                                 : CFDP_STATUS_ACTIVE};
    return cfdp_pdu_write(&p, out, room);
}

static size_t write_stray(const struct cfdp *e, struct remote *r, uint8_t *out, size_t room)
{
    const struct stray s = r->strays[r->strays_first];
    const uint64_t us = e->config.id, them = r->row.id;
    struct cfdp_pdu p = {.kind = s.kind};
    r->strays_first = (r->strays_first + 1) % STRAYS_MAX;
    r->strays_len--;
    p.head = (struct cfdp_head){.toward_sender = !s.past.we_sent,
                                .crc = r->row.crc,
                                .id_len = s.id_len,
                                .sequence_len = s.sequence_len,
                                .source = s.past.id.source,
                                .sequence = s.past.id.sequence,
                                .destination = s.past.we_sent ? them : us};
    if (s.kind == CFDP_PDU_ACK)
        p.u.ack = (struct cfdp_ack){.of = s.of, .condition = s.past.condition, .status = s.status};
    else
        p.u.finished = (struct cfdp_finished){.condition = s.past.condition,
                                              .incomplete = s.past.incomplete,
                                              .status = s.past.status,
                                              .fault_at = us,
                                              .has_fault_at = s.past.condition != CFDP_NO_ERROR};
    return cfdp_pdu_write(&p, out, room);
}

static size_t write_next(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    list_sub(&t->ready);
    const size_t n = t->is_sender ? cfdp_sender_output(t, out, room, now)
                                  : cfdp_receiver_output(t, out, room, now);
    cfdp_schedule(t);
    if (n > 0)
        cfdp_wake(t); /* at the end: the others have their turn */
    cfdp_release(t);
    return n;
}

size_t cfdp_output(struct cfdp *e, uint64_t remote, uint8_t *out, size_t room, tick now)
{
    struct remote *r = cfdp_find_remote(e, remote);
    size_t n = 0;
    if (r == NULL || r->down)
        return 0;
    if (r->strays_len > 0)
        n = write_stray(e, r, out, room);
    for (struct list *l; n == 0 && (l = list_first(&r->ready)) != NULL;)
        n = write_next(container_of(l, struct cfdp_transaction, ready), out, room, now);
    e->counts.pdus_out += n > 0;
    return n;
}

bool cfdp_has_output(const struct cfdp *e, uint64_t remote)
{
    const struct remote *r = cfdp_find_remote(e, remote);
    return r != NULL && !r->down && (r->strays_len > 0 || !list_empty(&r->ready));
}
