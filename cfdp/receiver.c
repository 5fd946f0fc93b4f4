/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving entity (4.6.1.2, 4.6.3, 4.6.4): PDUs that arrive. Octets are written to the partial
 * file and entered in the journal; EOF says how many there are. What can go wrong: PDUs that
 * contradict each other, limits, the file store, and a sender that falls silent.
 */
#include <assert.h>
#include <stdlib.h>

#include "cfdp/engine_private.h"

/* ---- metadata ---- */

static bool has_good_options(const struct cfdp_transaction *t)
{
    struct slice rest = slice_of(t->options, t->options_len);
    struct cfdp_request request;
    struct cfdp_message message;
    struct cfdp_tlv tlv;
    while (cfdp_tlv_next(&rest, &tlv)) {
        if (tlv.type == CFDP_TLV_REQUEST && !cfdp_request_parse(tlv.value, &request))
            return false;
        if (tlv.type == CFDP_TLV_MESSAGE && cfdp_message_parse(tlv.value, &message) < 0)
            return false;
    }
    return rest.len == 0;
}

static enum cfdp_verdict copy_metadata(struct cfdp_transaction *t, const struct cfdp_metadata *m)
{
    if (m->options.len > CFDP_OPTIONS_MAX)
        return CFDP_VERDICT_TOO_LONG;
    uint8_t *options = malloc(m->options.len == 0 ? 1 : m->options.len);
    if (options == NULL)
        return CFDP_VERDICT_FAILED;
    if (m->options.len > 0)
        memcpy(options, m->options.data, m->options.len);
    free(t->options);
    t->options = options;
    t->options_len = m->options.len;
    const bool named = cfdp_copy_name(t->source_name, m->source_name) &&
                       cfdp_copy_name(t->destination_name, m->destination_name);
    if (named && has_good_options(t) && cfdp_take_options(t))
        return CFDP_VERDICT_TAKEN;
    t->source_name[0] = t->destination_name[0] = '\0';
    t->options_len = 0;
    return CFDP_VERDICT_BAD_NAME;
}

static enum cfdp_verdict take_metadata(struct cfdp_transaction *t, const struct cfdp_metadata *m,
                                       tick now)
{
    if (t->has_metadata)
        return CFDP_VERDICT_REPEATED;
    if (m->size > t->remote->row.file_max)
        return CFDP_VERDICT_TOO_LONG;
    const enum cfdp_verdict v = copy_metadata(t, m);
    if (v != CFDP_VERDICT_TAKEN)
        return v;
    t->has_metadata = true;
    t->about = cfdp_about(m);
    t->closure = m->closure;
    const bool known = cfdp_checksum_known(m->checksum);
    t->checksum = known ? m->checksum : CFDP_CHECKSUM_NULL; /* if the fault is ignored */
    if (!t->has_eof)
        t->size = m->size;
    cfdp_emit(t, CFDP_TOLD_METADATA);
    cfdp_note_metadata(t);
    if (t->phase == CFDP_ENDED)
        return CFDP_VERDICT_FAILED;
    t->naks = 0;
    if (t->destination_name[0] != '\0' && !(t->remote->row.permissions & CFDP_MAY_PUT)) {
        cfdp_receiver_finish(t, CFDP_FILESTORE, true, now); /* rejected */
        return CFDP_VERDICT_TAKEN;
    }
    if (!known)
        (void)cfdp_fault(t, CFDP_CHECKSUM_TYPE, now);
    cfdp_receiver_advance(t, now);
    return CFDP_VERDICT_TAKEN;
}

/* ---- file data ---- */

static enum cfdp_verdict judge_data(const struct cfdp_transaction *t, const struct cfdp_data *d)
{
    const struct cfdp_remote *row = &t->remote->row;
    const uint64_t end = d->offset + d->octets.len;
    if (!(row->permissions & CFDP_MAY_PUT))
        return CFDP_VERDICT_FORBIDDEN;
    if (d->octets.len == 0 || ranges_has(&t->have, d->offset, end))
        return CFDP_VERDICT_REPEATED;
    if (end > row->file_max)
        return CFDP_VERDICT_TOO_LONG;
    if ((t->has_eof && end > t->size) || (!t->head.large && end > UINT32_MAX))
        return CFDP_VERDICT_BAD_SIZE; /* our answers could not name its end */
    const uint64_t fresh = d->octets.len - ranges_bytes_in(&t->have, d->offset, end);
    const uint64_t used = t->remote->held + t->remote->logged + RANGE_LEN;
    if (fresh > row->space_max || used > row->space_max - fresh)
        return CFDP_VERDICT_SPACE;
    return CFDP_VERDICT_TAKEN;
}

/* The octets are not in the file: they are asked for again. */
static void lose_octets(struct cfdp_transaction *t, uint64_t lo, uint64_t hi)
{
    const uint64_t held = ranges_bytes_in(&t->have, lo, hi);
    if (ranges_sub(&t->have, lo, hi, SIZE_MAX) != 0) {
        cfdp_abandon(t, CFDP_FILESTORE); /* memory */
        return;
    }
    t->held -= held;
    t->remote->held -= held;
}

/* In `have`, which has its limit, in the file, then in the journal. */
static enum cfdp_verdict store_octets(struct cfdp_transaction *t, const struct cfdp_data *d)
{
    const struct cfdp_config *c = &t->e->config;
    const uint64_t end = d->offset + d->octets.len;
    const uint64_t fresh = d->octets.len - ranges_bytes_in(&t->have, d->offset, end);
    if (t->file == NULL && c->files->open_partial(c->context, t->id, &t->file) != 0)
        return CFDP_VERDICT_FAILED;
    const int rc = ranges_add(&t->have, d->offset, end, t->remote->row.gaps_max);
    if (rc < 0)
        return rc == HELIO_EAGAIN ? CFDP_VERDICT_GAPS : CFDP_VERDICT_FAILED;
    t->held += fresh;
    t->remote->held += fresh;
    if (c->files->write(c->context, t->file, d->offset, d->octets) != 0) {
        lose_octets(t, d->offset, end);
        return CFDP_VERDICT_FAILED;
    }
    t->e->counts.octets_in += fresh;
    cfdp_note_range(t, d->offset, end);
    return t->phase == CFDP_ENDED ? CFDP_VERDICT_FAILED : CFDP_VERDICT_TAKEN;
}

static enum cfdp_verdict take_data(struct cfdp_transaction *t, const struct cfdp_data *d, tick now)
{
    const enum cfdp_verdict judged = judge_data(t, d);
    if (judged == CFDP_VERDICT_BAD_SIZE)
        (void)cfdp_fault(t, CFDP_FILE_SIZE, now);
    if (judged != CFDP_VERDICT_TAKEN)
        return judged;
    const enum cfdp_verdict v = store_octets(t, d);
    if (v == CFDP_VERDICT_FAILED) {
        if (t->phase != CFDP_ENDED)
            (void)cfdp_fault(t, CFDP_FILESTORE, now);
        return v;
    }
    if (v != CFDP_VERDICT_TAKEN)
        return v;
    assert(t->file != NULL && ranges_has(&t->have, d->offset, d->offset + d->octets.len));
    t->naks = 0;
    if (t->at.nak != TICK_NEVER)
        t->at.nak = tick_add(now, t->remote->row.nak_time);
    if (d->offset > t->high && t->remote->row.immediate_nak && !t->head.unacknowledged)
        cfdp_nak_want(t, t->high, d->offset);
    if (d->offset + d->octets.len > t->high)
        t->high = d->offset + d->octets.len;
    /* NAK PDUs that are under way go on where they are. */
    if (t->phase == CFDP_COMPLETING && (!(t->want & WANT_NAK) || cfdp_receiver_is_whole(t)))
        cfdp_receiver_advance(t, now);
    return CFDP_VERDICT_TAKEN;
}

/* ---- EOF ---- */

static bool is_open(const struct cfdp_transaction *t)
{
    return t->phase == CFDP_RECEIVING || t->phase == CFDP_COMPLETING;
}

static void want_ack(struct cfdp_transaction *t, unsigned condition)
{
    if (t->head.unacknowledged)
        return;
    t->want |= WANT_ACK_EOF;
    t->ack_condition = condition;
    cfdp_wake(t);
}

static enum cfdp_verdict take_eof(struct cfdp_transaction *t, const struct cfdp_eof *f, tick now)
{
    if (f->condition != CFDP_NO_ERROR) {
        want_ack(t, f->condition);
        if (t->phase >= CFDP_PERFORMING)
            return CFDP_VERDICT_TAKEN; /* too late: the file has its name */
        assert(t->condition == CFDP_NO_ERROR);
        t->fault_at_peer = true;
        cfdp_receiver_finish(t, (enum cfdp_condition)f->condition, false, now);
        return CFDP_VERDICT_TAKEN;
    }
    if (!t->has_eof && f->size > t->remote->row.file_max)
        return CFDP_VERDICT_TOO_LONG;
    want_ack(t, CFDP_NO_ERROR);
    if (t->has_eof || !is_open(t)) /* or it was cancelled before its EOF */
        return CFDP_VERDICT_REPEATED;
    if (f->size < t->high) {
        t->has_eof = true;
        cfdp_emit(t, CFDP_TOLD_EOF_RECEIVED);
        (void)cfdp_fault(t, CFDP_FILE_SIZE, now);
        return CFDP_VERDICT_BAD_SIZE;
    }
    t->has_eof = true;
    t->size = f->size;
    t->sum_wanted = f->checksum;
    t->phase = CFDP_COMPLETING;
    cfdp_emit(t, CFDP_TOLD_EOF_RECEIVED);
    cfdp_note_eof(t);
    if (t->phase == CFDP_ENDED)
        return CFDP_VERDICT_FAILED;
    cfdp_receiver_advance(t, now);
    return CFDP_VERDICT_TAKEN;
}

/* ---- the others ---- */

static void take_ack_of_finished(struct cfdp_transaction *t)
{
    if (t->phase == CFDP_FINISHING)
        cfdp_end(t);
}

static void take_prompt(struct cfdp_transaction *t, bool keep_alive)
{
    if (keep_alive) {
        t->want |= WANT_KEEP_ALIVE;
        cfdp_wake(t);
    } else if (t->phase <= CFDP_COMPLETING) {
        cfdp_nak_want(t, 0, t->has_eof ? t->size : t->high);
    }
}

enum cfdp_verdict cfdp_receiver_input(struct cfdp_transaction *t, const struct cfdp_pdu *p,
                                      tick now)
{
    if (t->phase < CFDP_PERFORMING)
        cfdp_set_idle(t, now);
    switch (p->kind) {
    case CFDP_PDU_METADATA:
        return is_open(t) ? take_metadata(t, &p->u.metadata, now) : CFDP_VERDICT_REPEATED;
    case CFDP_PDU_FILE_DATA:
        return is_open(t) ? take_data(t, &p->u.data, now) : CFDP_VERDICT_REPEATED;
    case CFDP_PDU_EOF:
        return take_eof(t, &p->u.eof, now);
    case CFDP_PDU_ACK:
        take_ack_of_finished(t);
        return CFDP_VERDICT_TAKEN;
    case CFDP_PDU_PROMPT:
        if (t->head.unacknowledged)
            return CFDP_VERDICT_MODE; /* class 1 has neither NAK nor Keep Alive */
        take_prompt(t, p->u.prompt_keep_alive);
        return CFDP_VERDICT_TAKEN;
    case CFDP_PDU_NAK:
    case CFDP_PDU_FINISHED:
    case CFDP_PDU_KEEP_ALIVE:
        break;
    }
    return CFDP_VERDICT_DIRECTION; /* of one that we receive, toward us as sender */
}
