/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next PDU for a remote entity: first answers that belong to no transaction, then the
 * transactions in turn, one PDU each. A transaction leaves the list when it has nothing to send.
 * A host whose link may lose what it has queued confirms each PDU: a class 1 file is not sent
 * before.
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

/* Before the transaction may be freed. */
static void keep_pulled(struct remote *r, const struct pulled *p)
{
    assert(r->pulled_len < CFDP_UNCONFIRMED_MAX);
    r->pulled[(r->pulled_first + r->pulled_len++) % CFDP_UNCONFIRMED_MAX] = *p;
}

static size_t write_next(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    list_sub(&t->ready);
    const bool eof = (t->want & WANT_EOF) != 0;
    const size_t n = t->is_sender ? cfdp_sender_output(t, out, room, now)
                                  : cfdp_receiver_output(t, out, room, now);
    if (n > 0 && t->remote->row.confirms)
        keep_pulled(
            t->remote,
            &(struct pulled){.id = t->id, .sent = t->sent, .eof = eof && !(t->want & WANT_EOF)});
    cfdp_schedule(t);
    if (n > 0)
        cfdp_wake(t); /* at the end: the others have their turn */
    cfdp_release(t);
    return n;
}

static bool is_full(const struct remote *r)
{
    return r->row.confirms && r->pulled_len == CFDP_UNCONFIRMED_MAX;
}

size_t cfdp_output(struct cfdp *e, uint64_t remote, uint8_t *out, size_t room, tick now)
{
    struct remote *r = cfdp_find_remote(e, remote);
    size_t n = 0;
    if (r == NULL || r->down || is_full(r))
        return 0;
    if (r->strays_len > 0) {
        n = write_stray(e, r, out, room);
        if (r->row.confirms)
            keep_pulled(r, &(struct pulled){.sent = 0});
    }
    for (struct list *l; n == 0 && (l = list_first(&r->ready)) != NULL;)
        n = write_next(container_of(l, struct cfdp_transaction, ready), out, room, now);
    e->counts.pdus_out += n > 0;
    return n;
}

bool cfdp_has_output(const struct cfdp *e, uint64_t remote)
{
    const struct remote *r = cfdp_find_remote(e, remote);
    return r != NULL && !r->down && !is_full(r) && (r->strays_len > 0 || !list_empty(&r->ready));
}

/* Class 1: nobody asks for what is lost. */
static void confirm_pulled(struct cfdp_transaction *t, const struct pulled *p, bool taken, tick now)
{
    t->refused = t->refused || !taken;
    t->confirmed = p->sent > t->confirmed ? p->sent : t->confirmed;
    if (t->confirmed - t->noted >= PROGRESS_STEP)
        cfdp_note_progress(t);
    const bool closes = t->closure && t->condition == CFDP_NO_ERROR; /* Finished comes */
    if (!p->eof || closes || t->phase != CFDP_EOF_SENT || (t->want & WANT_EOF))
        return;
    t->incomplete = t->incomplete || t->refused;
    cfdp_sender_end(t, now);
}

void cfdp_confirm(struct cfdp *e, uint64_t remote, bool taken, tick now)
{
    struct remote *r = cfdp_find_remote(e, remote);
    if (r == NULL || r->pulled_len == 0)
        return;
    const struct pulled p = r->pulled[r->pulled_first];
    r->pulled_first = (r->pulled_first + 1) % CFDP_UNCONFIRMED_MAX;
    r->pulled_len--;
    struct cfdp_transaction *t = cfdp_find(e, p.id);
    if (t == NULL || !t->is_sender || !t->head.unacknowledged || t->phase == CFDP_ENDED)
        return;
    confirm_pulled(t, &p, taken, now);
    cfdp_release(t);
}
