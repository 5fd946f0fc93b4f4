/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From EOF to the end. Class 2: NAKs until all is here (4.6.4.2 to 4.6.4.4), the checksum, the
 * file's name, filestore requests (filestore.c), Finished until its ACK is here. Class 1: the check
 * timer (4.6.3.3) in the place of NAKs, and Finished only with closure. What can go wrong: octets
 * that do not come, a wrong checksum, a name that the host refuses.
 */
#include <assert.h>

#include "cfdp/engine_private.h"

bool cfdp_receiver_is_whole(const struct cfdp_transaction *t)
{
    return t->has_eof && t->has_metadata && ranges_has(&t->have, 0, t->size);
}

static bool has_file(const struct cfdp_transaction *t)
{
    return t->destination_name[0] != '\0';
}

/* ---- what is missing ---- */

void cfdp_nak_want(struct cfdp_transaction *t, uint64_t lo, uint64_t hi)
{
    if ((t->want & WANT_NAK) && t->nak_lo < lo)
        lo = t->nak_lo;
    if ((t->want & WANT_NAK) && t->nak_hi > hi)
        hi = t->nak_hi;
    t->nak_lo = lo;
    t->nak_hi = hi;
    t->want |= WANT_NAK;
    cfdp_wake(t);
}

/* How many segment requests one PDU holds. */
static size_t count_requests(const struct cfdp_transaction *t, size_t room)
{
    const size_t most = room < t->remote->row.pdu_max ? room : t->remote->row.pdu_max;
    const size_t each = 2u * (unsigned)cfdp_fss(&t->head);
    return (most - cfdp_head_len(&t->head) - 3 - each) / each;
}

/* Requests from `at` on; returns where the next PDU has to begin. */
static uint64_t write_requests(const struct cfdp_transaction *t, struct writer *w, uint64_t at,
                               size_t max)
{
    const int fss = cfdp_fss(&t->head);
    struct range gap;
    size_t n = 0;
    if (at == 0 && !t->has_metadata) {
        writer_number(w, 0, fss);
        writer_number(w, 0, fss);
        n++;
    }
    for (; ranges_gap(&t->have, at, t->nak_hi, &gap) == 1; at = gap.hi) {
        if (n++ == max)
            return at;
        writer_number(w, gap.lo, fss);
        writer_number(w, gap.hi, fss);
    }
    return t->nak_hi;
}

size_t cfdp_nak_write(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    uint8_t requests[4096];
    const size_t each = 2u * (unsigned)cfdp_fss(&t->head);
    size_t max = count_requests(t, room);
    max = max < sizeof requests / each ? max : sizeof requests / each;
    struct writer w = writer_of(requests, sizeof requests);
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_NAK};
    const uint64_t end = write_requests(t, &w, t->nak_lo, max);
    p.u.nak = (struct cfdp_nak){
        .lo = t->nak_lo, .hi = end, .requests = slice_of(requests, writer_len(&w))};
    t->nak_lo = end;
    if (end >= t->nak_hi) {
        t->want &= ~(unsigned)WANT_NAK;
        if (t->phase == CFDP_COMPLETING)
            t->at.nak = tick_add(now, t->remote->row.nak_time);
    }
    t->e->counts.naks_out++;
    return cfdp_pdu_write(&p, out, room);
}

static void begin_check(struct cfdp_transaction *t, tick now)
{
    t->phase = CFDP_CHECKING;
    t->at.nak = t->at.check = TICK_NEVER;
    t->want &= ~(unsigned)WANT_NAK;
    assert(cfdp_receiver_is_whole(t));
    cfdp_sum_begin(&t->sum, t->checksum);
    t->at.work = now;
    cfdp_schedule(t);
}

void cfdp_receiver_advance(struct cfdp_transaction *t, tick now)
{
    if (t->phase != CFDP_COMPLETING)
        return;
    if (cfdp_receiver_is_whole(t)) {
        begin_check(t, now);
    } else if (t->head.unacknowledged) {
        if (t->at.check == TICK_NEVER)
            t->at.check = tick_add(now, t->remote->row.check_time);
    } else if (t->at.nak == TICK_NEVER) {
        cfdp_nak_want(t, 0, t->size);
    }
    cfdp_schedule(t);
}

/* ---- time ---- */

static void expire_nak(struct cfdp_transaction *t, tick now)
{
    t->at.nak = TICK_NEVER;
    if (++t->naks >= t->remote->row.nak_limit) {
        if (!cfdp_fault_goes_on(t, CFDP_NAK_LIMIT, now))
            return;
        t->naks = 0;
    }
    cfdp_nak_want(t, 0, t->size);
}

/* Class 1: octets are still missing. */
static void expire_check(struct cfdp_transaction *t, tick now)
{
    t->at.check = tick_add(now, t->remote->row.check_time);
    if (++t->checks < t->remote->row.check_limit)
        return;
    t->checks = 0;
    if (cfdp_fault(t, CFDP_CHECK_LIMIT, now) == CFDP_HANDLE_IGNORE && t->has_metadata)
        cfdp_receiver_finish(t, CFDP_CHECK_LIMIT, true, now);
}

static void expire_finished(struct cfdp_transaction *t, tick now)
{
    t->at.ack = TICK_NEVER;
    if (++t->acks >= t->remote->row.ack_limit) {
        if (!cfdp_fault_goes_on(t, CFDP_ACK_LIMIT, now))
            return;
        t->acks = 0;
    }
    t->want |= WANT_FINISHED;
    cfdp_wake(t);
}

void cfdp_receiver_expire(struct cfdp_transaction *t, tick now)
{
    if (t->at.ack <= now) {
        expire_finished(t, now);
    } else if (t->at.nak <= now) {
        expire_nak(t, now);
    } else if (t->at.check <= now) {
        expire_check(t, now);
    } else if (t->at.alive <= now) {
        t->at.alive = tick_add(now, t->remote->row.keep_alive_time);
        t->want |= WANT_KEEP_ALIVE;
        cfdp_wake(t);
    } else if (t->at.idle <= now) {
        cfdp_set_idle(t, now);
        (void)cfdp_fault(t, CFDP_INACTIVITY, now);
    }
}

/* ---- the checksum ---- */

static void judge_sum(struct cfdp_transaction *t, tick now)
{
    const bool right = t->checksum == CFDP_CHECKSUM_NULL || t->sum.value == t->sum_wanted;
    if (right) {
        cfdp_receiver_finish(t, CFDP_NO_ERROR, true, now);
        return;
    }
    const enum cfdp_handler h = cfdp_fault(t, CFDP_CHECKSUM, now);
    if (h == CFDP_HANDLE_IGNORE)
        cfdp_receiver_finish(t, CFDP_CHECKSUM, true, now);
    else if (h == CFDP_HANDLE_SUSPEND && t->phase != CFDP_ENDED)
        begin_check(t, now); /* again, when it is resumed */
}

/* The partial file cannot be read. */
static void fail_read(struct cfdp_transaction *t, tick now)
{
    const enum cfdp_handler h = cfdp_fault(t, CFDP_FILESTORE, now);
    if (h == CFDP_HANDLE_IGNORE)
        cfdp_receiver_finish(t, CFDP_FILESTORE, false, now); /* it cannot go on */
    else if (h == CFDP_HANDLE_SUSPEND && t->phase != CFDP_ENDED)
        begin_check(t, now); /* again, when it is resumed */
}

/* The next part of the file is read for the checksum, and is brought to the medium. */
static bool check_part(struct cfdp_transaction *t)
{
    const struct cfdp_config *c = &t->e->config;
    const uint64_t begin = t->sum.len;
    assert(begin <= t->size && (t->file != NULL || t->size == 0));
    uint8_t part[16384];
    for (size_t done = 0; done < WORK_STEP && t->sum.len < t->size; done += sizeof part) {
        const uint64_t left = t->size - t->sum.len;
        const size_t n = left < sizeof part ? (size_t)left : sizeof part;
        if (t->sum.type != CFDP_CHECKSUM_NULL &&
            c->files->read(c->context, t->file, t->sum.len, part, n) != (int64_t)n)
            return false;
        cfdp_sum_add(&t->sum, part, n);
    }
    return t->sum.len == begin ||
           c->files->settle(c->context, t->file, begin, t->sum.len - begin) == 0;
}

void cfdp_receiver_work(struct cfdp_transaction *t, tick now)
{
    if (t->phase == CFDP_PERFORMING)
        cfdp_perform(t, now);
    if (t->phase != CFDP_CHECKING)
        return;
    if (!check_part(t))
        fail_read(t, now);
    else if (t->sum.len == t->size)
        judge_sum(t, now);
    else
        t->at.work = now;
}

/* ---- the end ---- */

/* The status of the file. */
static enum cfdp_file_status place_file(struct cfdp_transaction *t)
{
    const struct cfdp_config *c = &t->e->config;
    if (!has_file(t))
        return CFDP_FILE_UNREPORTED;
    if (!(t->remote->row.permissions & CFDP_MAY_PUT))
        return CFDP_FILE_REJECTED;
    if (t->file == NULL && c->files->open_partial(c->context, t->id, &t->file) != 0)
        return CFDP_FILE_REJECTED;
    return c->files->place(c->context, t->id, t->file, t->destination_name, t->size) == 0
               ? CFDP_FILE_RETAINED
               : CFDP_FILE_REJECTED;
}

void cfdp_tell_result(struct cfdp_transaction *t, tick now)
{
    assert(t->phase == CFDP_PERFORMING && !t->reported);
    t->phase = CFDP_FINISHING;
    t->acks = 0;
    cfdp_emit(t, CFDP_TOLD_FINISHED);
    t->reported = true;
    if (t->condition == CFDP_NO_ERROR)
        cfdp_operate(t, now);
    cfdp_note_phase(t);
    if (t->phase == CFDP_ENDED)
        return;
    if (!t->head.unacknowledged || t->closure)
        t->want |= WANT_FINISHED;
    if (t->head.unacknowledged)
        cfdp_end(t);
    cfdp_schedule(t);
    cfdp_wake(t);
}

void cfdp_receiver_finish(struct cfdp_transaction *t, enum cfdp_condition condition, bool keep,
                          tick now)
{
    if (t->phase >= CFDP_PERFORMING)
        return;
    assert(!t->is_sender && t->requests_done == 0 && t->responses_len == 0);
    t->condition = condition;
    t->incomplete = condition != CFDP_NO_ERROR;
    t->status = keep ? place_file(t) : CFDP_FILE_DISCARDED;
    if (t->status == CFDP_FILE_REJECTED) {
        t->condition = CFDP_FILESTORE;
        t->incomplete = true;
    }
    t->phase = CFDP_PERFORMING;
    t->at = (struct times){TICK_NEVER, TICK_NEVER, TICK_NEVER, TICK_NEVER, TICK_NEVER, TICK_NEVER};
    t->want &= WANT_ACKS;
    cfdp_perform(t, now);
}

void cfdp_receiver_cancel(struct cfdp_transaction *t, enum cfdp_condition condition, tick now)
{
    cfdp_receiver_finish(t, condition, false, now);
}

/* ---- PDUs to send ---- */

static size_t write_finished(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_FINISHED};
    p.u.finished = (struct cfdp_finished){
        .condition = (unsigned)t->condition,
        .incomplete = t->incomplete,
        .status = (unsigned)t->status,
        .responses = slice_of(t->responses, t->responses_len),
        .fault_at = t->fault_at_peer ? t->remote->row.id : t->e->config.id,
        .has_fault_at = t->condition != CFDP_NO_ERROR && t->condition != CFDP_CHECKSUM_TYPE};
    if (t->phase == CFDP_FINISHING)
        t->at.ack = tick_add(now, t->remote->row.ack_time);
    return cfdp_pdu_write(&p, out, room);
}

static size_t write_keep_alive(const struct cfdp_transaction *t, uint8_t *out, size_t room)
{
    struct cfdp_pdu p = {.head = t->head, .kind = CFDP_PDU_KEEP_ALIVE};
    p.u.progress = t->high;
    return cfdp_pdu_write(&p, out, room);
}

size_t cfdp_receiver_output(struct cfdp_transaction *t, uint8_t *out, size_t room, tick now)
{
    if (t->want & WANT_ACK_EOF) {
        t->want &= ~(unsigned)WANT_ACK_EOF;
        return cfdp_ack_write(t, CFDP_PDU_EOF, out, room);
    }
    if (t->paused != 0)
        return 0;
    if (t->want & WANT_FINISHED) {
        t->want &= ~(unsigned)WANT_FINISHED;
        return write_finished(t, out, room, now);
    }
    if (t->want & WANT_KEEP_ALIVE) {
        t->want &= ~(unsigned)WANT_KEEP_ALIVE;
        return write_keep_alive(t, out, room);
    }
    if (t->want & WANT_NAK)
        return cfdp_nak_write(t, out, room, now);
    return 0;
}
