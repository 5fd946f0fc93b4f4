/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each PDU that arrives has a verdict, which is counted. The normal case: it is well-formed, from
 * the entity that its address says, and of a transaction that is under way. What can go wrong is in
 * CFDP_VERDICTS. PDUs of ended transactions are answered from what is remembered, so that a peer
 * whose ACK or Finished was lost comes to an end as well (4.7.2).
 */
#include "cfdp/engine_private.h"

const char *cfdp_verdict_text(enum cfdp_verdict verdict)
{
#define TEXT(name, text) text,
    static const char *const texts[CFDP_VERDICT_COUNT] = {CFDP_VERDICTS(TEXT)};
#undef TEXT
    return verdict < CFDP_VERDICT_COUNT ? texts[verdict] : "unknown";
}

/* Is it one that goes from the receiver to the sender? */
static bool is_toward_sender(const struct cfdp_pdu *p)
{
    switch (p->kind) {
    case CFDP_PDU_FINISHED:
    case CFDP_PDU_NAK:
    case CFDP_PDU_KEEP_ALIVE:
        return true;
    case CFDP_PDU_ACK:
        return p->u.ack.of == CFDP_PDU_EOF;
    case CFDP_PDU_EOF:
    case CFDP_PDU_METADATA:
    case CFDP_PDU_PROMPT:
    case CFDP_PDU_FILE_DATA:
        break;
    }
    return false;
}

/* ---- of no transaction ---- */

static struct stray stray_of(const struct cfdp_pdu *p, const struct past *past, unsigned of,
                             unsigned condition)
{
    struct stray s = {.kind = CFDP_PDU_ACK,
                      .of = of,
                      .status = past == NULL ? CFDP_STATUS_UNRECOGNIZED : CFDP_STATUS_TERMINATED,
                      .id_len = p->head.id_len,
                      .sequence_len = p->head.sequence_len};
    s.past.id = (struct cfdp_id){p->head.source, p->head.sequence};
    s.past.we_sent = p->head.toward_sender;
    s.past.condition = (uint8_t)condition;
    return s;
}

/* Of another file: the peer has lost its numbers, and begins with old ones. What is sent again or
 * arrives late is the same. */
static bool is_another(const struct cfdp_pdu *p, const struct past *past)
{
    if (past->we_sent)
        return false;
    if (p->kind == CFDP_PDU_METADATA)
        return past->has_about && past->about != cfdp_about(&p->u.metadata);
    return p->kind == CFDP_PDU_EOF && p->u.eof.condition == CFDP_NO_ERROR &&
           past->condition == CFDP_NO_ERROR &&
           (p->u.eof.size != past->size || p->u.eof.checksum != past->sum);
}

/* EOF again: its ACK was lost, or Finished was. */
static void answer_eof(struct remote *r, const struct cfdp_pdu *p, const struct past *past)
{
    struct stray s = stray_of(p, past, CFDP_PDU_EOF, p->u.eof.condition);
    cfdp_stray(r, &s);
    if (past == NULL || p->u.eof.condition != CFDP_NO_ERROR)
        return;
    s.kind = CFDP_PDU_FINISHED;
    s.past = *past;
    cfdp_stray(r, &s);
}

static enum cfdp_verdict take_stray(struct remote *r, const struct cfdp_pdu *p,
                                    const struct past *past)
{
    if (p->kind == CFDP_PDU_FINISHED && !p->head.unacknowledged) {
        const struct stray s = stray_of(p, past, CFDP_PDU_FINISHED, p->u.finished.condition);
        cfdp_stray(r, &s);
    } else if (p->kind == CFDP_PDU_EOF && !p->head.unacknowledged) {
        answer_eof(r, p, past);
    }
    return past == NULL ? CFDP_VERDICT_UNKNOWN : CFDP_VERDICT_LATE;
}

/* ---- a new transaction ---- */

static bool does_begin(const struct cfdp_pdu *p)
{
    return p->kind == CFDP_PDU_METADATA || p->kind == CFDP_PDU_FILE_DATA ||
           (p->kind == CFDP_PDU_EOF && p->u.eof.condition == CFDP_NO_ERROR);
}

static enum cfdp_verdict begin_receiver(struct cfdp *e, struct remote *r, const struct cfdp_pdu *p,
                                        tick now, struct cfdp_transaction **out)
{
    const struct cfdp_id id = {p->head.source, p->head.sequence};
    if (r->row.permissions == 0)
        return CFDP_VERDICT_FORBIDDEN;
    if (!cfdp_has_place(e, r, true))
        return CFDP_VERDICT_TRANSACTIONS;
    struct cfdp_transaction *t = cfdp_transaction_new(e, r, id, false, true);
    if (t == NULL)
        return CFDP_VERDICT_FAILED;
    t->head = p->head;
    t->head.toward_sender = true;
    t->head.has_metadata = t->head.boundaries = false;
    t->kept = true;
    *out = t;
    cfdp_emit(t, CFDP_TOLD_STARTED);
    cfdp_note_begun(t);
    cfdp_set_idle(t, now);
    if (!t->head.unacknowledged && r->row.keep_alive_time > 0)
        t->at.alive = tick_add(now, r->row.keep_alive_time);
    return t->phase == CFDP_ENDED ? CFDP_VERDICT_FAILED : CFDP_VERDICT_TAKEN;
}

static enum cfdp_verdict judge_address(const struct cfdp *e, uint64_t from,
                                       const struct cfdp_head *h)
{
    const uint64_t peer = h->toward_sender ? h->destination : h->source;
    const uint64_t us = h->toward_sender ? h->source : h->destination;
    if (peer != from)
        return CFDP_VERDICT_FOREIGN;
    return us == e->config.id ? CFDP_VERDICT_TAKEN : CFDP_VERDICT_NOT_OURS;
}

/* Class, and the length of sizes toward a receiver, are those of its first PDU. */
static bool is_like(const struct cfdp_transaction *t, const struct cfdp_head *h)
{
    return t->head.unacknowledged == h->unacknowledged &&
           (t->is_sender || t->head.large == h->large);
}

static enum cfdp_verdict take_pdu(struct cfdp *e, struct remote *r, const struct cfdp_pdu *p,
                                  tick now)
{
    const struct cfdp_id id = {p->head.source, p->head.sequence};
    struct cfdp_transaction *t = cfdp_find(e, id);
    enum cfdp_verdict v = CFDP_VERDICT_TAKEN;
    if (is_toward_sender(p) != p->head.toward_sender)
        return CFDP_VERDICT_DIRECTION;
    if (t == NULL) {
        const struct past *past = cfdp_past(r, id);
        if (past != NULL && is_another(p, past)) {
            cfdp_past_forget(r, id);
            past = NULL;
        }
        if (past != NULL || !does_begin(p))
            return take_stray(r, p, past);
        v = begin_receiver(e, r, p, now, &t);
        if (t == NULL)
            return v;
    }
    if (v == CFDP_VERDICT_TAKEN && t->remote != r)
        return CFDP_VERDICT_FOREIGN;
    if (v == CFDP_VERDICT_TAKEN && !is_like(t, &p->head))
        return CFDP_VERDICT_MODE;
    if (v == CFDP_VERDICT_TAKEN && t->phase == CFDP_ENDED)
        return take_stray(r, p, cfdp_past(r, id));
    if (v == CFDP_VERDICT_TAKEN && t->is_sender)
        cfdp_sender_input(t, p, now);
    else if (v == CFDP_VERDICT_TAKEN)
        v = cfdp_receiver_input(t, p, now);
    cfdp_schedule(t);
    cfdp_release(t);
    return v;
}

enum cfdp_verdict cfdp_input(struct cfdp *e, uint64_t from, struct slice pdu, tick now)
{
    struct cfdp_pdu p;
    enum cfdp_verdict v;
    struct remote *r = cfdp_find_remote(e, from);
    const enum cfdp_pdu_result result = cfdp_pdu_parse(pdu, &p);
    e->counts.pdus_in++;
    if (result != CFDP_PDU_OK) {
        e->counts.malformed[result]++;
        v = CFDP_VERDICT_MALFORMED;
    } else {
        v = r == NULL ? CFDP_VERDICT_FOREIGN : judge_address(e, from, &p.head);
        if (v == CFDP_VERDICT_TAKEN)
            v = take_pdu(e, r, &p, now);
    }
    e->counts.verdicts[v]++;
    return v;
}
