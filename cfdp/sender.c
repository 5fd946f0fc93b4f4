/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending entity (4.6.1.1, 4.6.2, 4.6.4): Metadata, the file from its first octet to its last,
 * EOF. Class 2: EOF until its ACK is here, what NAKs ask for, and the ACK of Finished. What can go
 * wrong: no answer (positive ACK limit, inactivity, check limit), a file that has become shorter,
 * a receiver that falls behind.
 */
#include <assert.h>
#include <stdlib.h>

#include "cfdp/engine_private.h"

static bool is_sent(const struct cfdp_transaction *t)
{
    return t->sent == t->size;
}

/* Everything was sent once. Is the checksum known? */
static bool is_summed(const struct cfdp_transaction *t)
{
    return t->sum.type == CFDP_CHECKSUM_NULL || t->sum.len == t->size;
}

void cfdp_sender_end(struct cfdp_transaction *t, tick now)
{
    if (t->phase == CFDP_ENDED)
        return;
    assert(t->is_sender && t->sent <= t->size);
    if (!t->reported)
        cfdp_emit(t, CFDP_TOLD_FINISHED);
    t->reported = true;
    if (t->has_origin)
        cfdp_answer_proxy(t, now);
    cfdp_end(t);
}

static void want_eof(struct cfdp_transaction *t)
{
    assert(t->is_sender && (is_sent(t) || t->condition != CFDP_NO_ERROR));
    t->phase = CFDP_EOF_SENT;
    t->want |= WANT_EOF;
    cfdp_wake(t);
}

/* The last octet was sent: EOF follows as soon as the checksum is known. */
static void advance_sender(struct cfdp_transaction *t, tick now)
{
    if (t->phase != CFDP_SENDING || !is_sent(t))
        return;
    if (is_summed(t))
        want_eof(t);
    else
        t->at.work = now;
    cfdp_schedule(t);
}

void cfdp_sender_begin(struct cfdp_transaction *t, tick now)
{
    if (t->phase == CFDP_ENDED)
        return;
    cfdp_sum_begin(&t->sum, t->checksum);
    t->want |= WANT_METADATA;
    if (t->phase == CFDP_AWAITING_FINISHED)
        cfdp_set_idle(t, now);
    if (t->condition != CFDP_NO_ERROR)
        want_eof(t);
    cfdp_wake(t);
    advance_sender(t, now);
}

void cfdp_sender_cancel(struct cfdp_transaction *t, enum cfdp_condition condition, tick now)
{
    (void)now;
    t->condition = condition;
    t->incomplete = true;
    ranges_clear(&t->again);
    t->want &= WANT_ACKS;
    t->at.idle = t->at.check = t->at.work = TICK_NEVER;
    t->acks = 0;
    want_eof(t);
    cfdp_schedule(t);
    cfdp_note_phase(t);
}

/* ---- PDUs that arrive ---- */

static void take_ack(struct cfdp_transaction *t, const struct cfdp_ack *a, tick now)
{
    if (a->of != CFDP_PDU_EOF || t->phase != CFDP_EOF_SENT || (t->want & WANT_EOF) ||
        a->condition != (unsigned)t->condition)
        return;
    t->at.ack = TICK_NEVER;
    t->acks = 0;
    if (t->condition != CFDP_NO_ERROR) {
        cfdp_sender_end(t, now);
        return;
    }
    t->phase = CFDP_AWAITING_FINISHED;
    cfdp_set_idle(t, now);
    cfdp_note_phase(t);
}

/* Octets that were sent once, as ranges; their number. `out` has room for all requests. */
static size_t read_requests(struct cfdp_transaction *t, const struct cfdp_pdu *p, struct range *out)
{
    struct slice rest = p->u.nak.requests;
    uint64_t lo, hi;
    size_t n = 0;
    while (cfdp_nak_next(&p->head, &rest, &lo, &hi))
        if (lo == 0 && hi == 0)
            t->want |= WANT_METADATA;
        else if (lo < hi && lo < t->sent)
            out[n++] = (struct range){lo, hi < t->sent ? hi : t->sent};
    return n;
}

/* All at once: one by one in falling order, each would move all that are there. */
static void take_requests(struct cfdp_transaction *t, const struct cfdp_pdu *p)
{
    const size_t each = 2u * (unsigned)cfdp_fss(&p->head);
    struct range *more = malloc((p->u.nak.requests.len / each + 1) * sizeof *more);
    if (more == NULL)
        return; /* it asks again, also for what is beyond the limit */
    const size_t n = read_requests(t, p, more);
    (void)ranges_add_all(&t->again, more, n, t->remote->row.gaps_max);
    free(more);
}

static void take_nak(struct cfdp_transaction *t, const struct cfdp_pdu *p, tick now)
{
    t->e->counts.naks_in++;
    if (t->condition != CFDP_NO_ERROR || t->head.unacknowledged)
        return;
    take_requests(t, p);
    if (t->phase == CFDP_AWAITING_FINISHED)
        cfdp_set_idle(t, now);
    cfdp_wake(t);
}

/* As many as there is room for, each whole. */
static void keep_responses(struct cfdp_transaction *t, struct slice all)
{
    struct slice rest = all;
    struct cfdp_tlv tlv;
    t->responses_len = 0;
    while (cfdp_tlv_next(&rest, &tlv) && all.len - rest.len <= CFDP_RESPONSES_MAX)
        t->responses_len = all.len - rest.len;
    if (t->responses_len > 0)
        memcpy(t->responses, all.data, t->responses_len);
}

static void take_finished(struct cfdp_transaction *t, const struct cfdp_finished *f, tick now)
{
    if (!t->head.unacknowledged) {
        t->want |= WANT_ACK_FINISHED;
        t->ack_condition = f->condition;
        cfdp_wake(t);
    }
    if (t->condition == CFDP_NO_ERROR)
        t->condition = (enum cfdp_condition)f->condition;
    t->incomplete = f->incomplete;
    t->status = (enum cfdp_file_status)f->status;
    keep_responses(t, f->responses);
    t->want &= ~(unsigned)WANT_EOF;
    cfdp_sender_end(t, now);
}

static void take_keep_alive(struct cfdp_transaction *t, uint64_t progress, tick now)
{
    const uint64_t limit = t->remote->row.keep_alive_limit;
    if (t->phase == CFDP_AWAITING_FINISHED)
        cfdp_set_idle(t, now);
    if (limit > 0 && progress < t->sent && t->sent - progress > limit &&
        t->condition == CFDP_NO_ERROR)
        (void)cfdp_fault(t, CFDP_KEEP_ALIVE_LIMIT, now);
}

void cfdp_sender_input(struct cfdp_transaction *t, const struct cfdp_pdu *p, tick now)
{
    if (p->kind == CFDP_PDU_ACK)
        take_ack(t, &p->u.ack, now);
    else if (p->kind == CFDP_PDU_NAK)
        take_nak(t, p, now);
    else if (p->kind == CFDP_PDU_FINISHED)
        take_finished(t, &p->u.finished, now);
    else if (p->kind == CFDP_PDU_KEEP_ALIVE)
        take_keep_alive(t, p->u.progress, now);
}

/* ---- time ---- */

static void expire_ack(struct cfdp_transaction *t, tick now)
{
    t->at.ack = TICK_NEVER;
    if (++t->acks >= t->remote->row.ack_limit) {
        if (!cfdp_fault_goes_on(t, CFDP_ACK_LIMIT, now))
            return;
        t->acks = 0;
    }
    t->want |= WANT_EOF;
    cfdp_wake(t);
}

/* Class 1 with closure: Finished is not here. */
static void expire_check(struct cfdp_transaction *t, tick now)
{
    t->at.check = tick_add(now, t->remote->row.check_time);
    if (++t->checks < t->remote->row.check_limit)
        return;
    t->checks = 0;
    if (cfdp_fault(t, CFDP_CHECK_LIMIT, now) == CFDP_HANDLE_IGNORE)
        cfdp_sender_end(t, now);
}

void cfdp_sender_expire(struct cfdp_transaction *t, tick now)
{
    if (t->at.ack <= now) {
        expire_ack(t, now);
    } else if (t->at.check <= now) {
        expire_check(t, now);
    } else if (t->at.idle <= now) {
        cfdp_set_idle(t, now);
        (void)cfdp_fault(t, CFDP_INACTIVITY, now);
    }
}

/* The file, as the caller's buffer has it. False: it is shorter than it was, or cannot be read. */
static bool read_file(struct cfdp_transaction *t, uint64_t offset, uint8_t *out, size_t len)
{
    const struct cfdp_config *c = &t->e->config;
    return t->file != NULL && c->files->read(c->context, t->file, offset, out, len) == (int64_t)len;
}

/* Ignored, it is cancelled all the same: there is nothing to send. Suspended, it is read again. */
static void fail_read(struct cfdp_transaction *t, tick now)
{
    const bool works = t->phase == CFDP_SENDING && is_sent(t);
    const enum cfdp_handler h = cfdp_fault(t, CFDP_FILE_SIZE, now);
    if (h == CFDP_HANDLE_IGNORE)
        cfdp_sender_cancel(t, CFDP_FILE_SIZE, now);
    else if (h == CFDP_HANDLE_SUSPEND && t->phase != CFDP_ENDED && works)
        t->at.work = now;
}

void cfdp_sender_work(struct cfdp_transaction *t, tick now)
{
    uint8_t part[16384];
    if (t->phase != CFDP_SENDING)
        return;
    for (size_t done = 0; done < WORK_STEP && t->sum.len < t->size; done += sizeof part) {
        const uint64_t left = t->size - t->sum.len;
        const size_t n = left < sizeof part ? (size_t)left : sizeof part;
        if (!read_file(t, t->sum.len, part, n)) {
            fail_read(t, now);
            return;
        }
        cfdp_sum_add(&t->sum, part, n);
    }
    advance_sender(t, now);
}

/* ---- PDUs to send ---- */

static size_t write_metadata(struct cfdp_transaction *t, uint8_t *out, size_t room)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_METADATA};
    p.u.metadata = (struct cfdp_metadata){
        .closure = t->closure,
        .checksum = t->checksum,
        .size = t->size,
        .source_name = slice_of(t->source_name, strlen(t->source_name)),
        .destination_name = slice_of(t->destination_name, strlen(t->destination_name)),
        .options = slice_of(t->options, t->options_len)};
    return cfdp_pdu_write(&p, out, room);
}

/* EOF was sent for the first time, or again. */
static void pass_eof(struct cfdp_transaction *t, tick now)
{
    if (t->phase == CFDP_ENDED)
        return;
    if (t->acks == 0 && t->condition == CFDP_NO_ERROR)
        cfdp_emit(t, CFDP_TOLD_EOF_SENT);
    if (!t->head.unacknowledged)
        t->at.ack = tick_add(now, t->remote->row.ack_time);
    else if (t->closure && t->condition == CFDP_NO_ERROR)
        t->at.check = tick_add(now, t->remote->row.check_time);
    else if (!t->remote->row.confirms)
        cfdp_sender_end(t, now);
    cfdp_schedule(t);
}

static size_t write_eof(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_EOF};
    const bool summed = t->sum.type != CFDP_CHECKSUM_NULL && t->sum.len == t->sent;
    p.u.eof = (struct cfdp_eof){.condition = (unsigned)t->condition,
                                .checksum = summed ? t->sum.value : 0,
                                .size = t->sent,
                                .fault_at = t->e->config.id,
                                .has_fault_at = t->condition != CFDP_NO_ERROR};
    const size_t n = cfdp_pdu_write(&p, out, room);
    pass_eof(t, now);
    return n;
}

static size_t write_prompt(const struct cfdp_transaction *t, bool keep_alive, uint8_t *out,
                           size_t room)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_PROMPT};
    p.u.prompt_keep_alive = keep_alive;
    return cfdp_pdu_write(&p, out, room);
}

/* [offset, offset + len) of the file, 0: it cannot be read, which is a fault. */
static size_t write_segment(struct cfdp_transaction *t, uint64_t offset, size_t len, uint8_t *out,
                            size_t room, tick now)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_FILE_DATA};
    /* The octets are read to where the PDU has them. */
    uint8_t *at = out + cfdp_head_len(&p.head) + (size_t)cfdp_fss(&p.head);
    assert(room >= len + CFDP_HEAD_MAX + 16);
    if (!read_file(t, offset, at, len)) {
        fail_read(t, now);
        return 0;
    }
    if (t->sum.len == offset && t->sum.type != CFDP_CHECKSUM_NULL)
        cfdp_sum_add(&t->sum, at, len);
    p.u.data = (struct cfdp_data){.offset = offset, .octets = slice_of(at, len)};
    return cfdp_pdu_write(&p, out, room);
}

static size_t least_len(uint64_t left, uint32_t max)
{
    return left < max ? (size_t)left : max;
}

static size_t send_again(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    const struct range r = t->again.at[0];
    assert(r.hi <= t->sent && !t->head.unacknowledged);
    const size_t len = least_len(r.hi - r.lo, t->remote->row.segment_max);
    const size_t n = write_segment(t, r.lo, len, out, room, now);
    if (n == 0)
        return 0;
    (void)ranges_sub(&t->again, r.lo, r.lo + len, SIZE_MAX); /* from the front: no new range */
    t->e->counts.octets_again += len;
    if (t->phase == CFDP_AWAITING_FINISHED)
        cfdp_set_idle(t, now);
    return n;
}

static size_t send_next(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    const size_t len = least_len(t->size - t->sent, t->remote->row.segment_max);
    const size_t n = write_segment(t, t->sent, len, out, room, now);
    if (n == 0)
        return 0;
    t->sent += len;
    assert(t->sent <= t->size && t->noted <= t->sent);
    t->e->counts.octets_out += len;
    if (t->sent - t->noted >= PROGRESS_STEP || is_sent(t))
        cfdp_note_progress(t);
    advance_sender(t, now);
    return n;
}

static bool take_want(struct cfdp_transaction *t, unsigned want)
{
    const bool wanted = (t->want & want) != 0;
    t->want &= ~want;
    return wanted;
}

size_t cfdp_sender_output(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    if (take_want(t, WANT_ACK_FINISHED))
        return cfdp_ack_write(t, CFDP_PDU_FINISHED, out, room);
    if (t->paused != 0)
        return 0;
    if (take_want(t, WANT_METADATA))
        return write_metadata(t, out, room);
    if (take_want(t, WANT_EOF))
        return write_eof(t, out, room, now);
    if (t->phase == CFDP_ENDED)
        return 0;
    if (take_want(t, WANT_PROMPT_NAK))
        return write_prompt(t, false, out, room);
    if (take_want(t, WANT_PROMPT_KEEP_ALIVE))
        return write_prompt(t, true, out, room);
    if (t->again.len > 0)
        return send_again(t, out, room, now);
    if (t->phase == CFDP_SENDING && !is_sent(t))
        return send_next(t, out, room, now);
    return 0;
}
