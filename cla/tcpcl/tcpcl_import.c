/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that come in, and their answers. A transfer begins with START; its data are put into
 * one buffer as they come; behind END it is a notice, and its last acknowledgement waits for the
 * owner's word. What can go wrong: it is longer than this side takes, or than it said itself; an
 * extension that must be understood is not; memory; it does not grow: then it is refused, and each
 * further segment of it is, too.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <stdlib.h>

/* ---- answers ---- */

static uint64_t count_answers(const struct tcpcl_session *s)
{
    return s->answers.next - s->answers.first;
}

bool tcpcl_answers_full(const struct tcpcl_session *s)
{
    const bool waits = s->paused || tcpcl_unconfirmed_full(s);
    return count_answers(s) >= TCPCL_ANSWERS_MAX || (waits && !(s->paused && s->exports.count > 0));
}

void tcpcl_pause(struct tcpcl_session *s, bool on)
{
    s->paused = on;
}

static struct tcpcl_answer *answer_at(const struct tcpcl_session *s, uint64_t token)
{
    assert(token - s->answers.first < count_answers(s));
    return &s->answers.ring[token & (s->answers.size - 1)];
}

static bool grow_answers(struct tcpcl_session *s)
{
    size_t size = s->answers.size == 0 ? 64 : 2 * s->answers.size;
    struct tcpcl_answer *ring = calloc(size, sizeof *ring);
    if (ring == NULL)
        return false;
    for (uint64_t t = s->answers.first; t != s->answers.next; t++)
        ring[t & (size - 1)] = *answer_at(s, t);
    free(s->answers.ring);
    s->answers.ring = ring;
    s->answers.size = size;
    return true;
}

/* Reserves memory for one more answer. */
static bool reserve_answer(struct tcpcl_session *s)
{
    return count_answers(s) < s->answers.size || grow_answers(s);
}

static void add_answer(struct tcpcl_session *s, struct tcpcl_answer a)
{
    assert(count_answers(s) < s->answers.size);
    s->answers.next++;
    *answer_at(s, s->answers.next - 1) = a;
    s->n->answers_full += count_answers(s) == TCPCL_ANSWERS_MAX;
}

static void add_refusal(struct tcpcl_session *s, uint64_t id, enum tcpcl_refusal reason)
{
    add_answer(s, (struct tcpcl_answer){
                      .id = id, .refusal = (uint8_t)reason, .refuse = true, .ready = true});
}

void tcpcl_confirm(struct tcpcl_session *s, uint64_t token, bool ok, enum tcpcl_refusal reason)
{
    struct tcpcl_answer *a = answer_at(s, token);
    assert(!a->ready && s->answers.bundles > 0 && s->answers.bytes >= a->length);
    a->ready = true;
    a->refuse = !ok;
    if (!ok) {
        tcpcl_waste(s);
        s->in.dropped += a->length;
    }
    a->refusal = (uint8_t)reason;
    s->answers.bundles--;
    s->answers.bytes -= a->length;
}

uint64_t tcpcl_answers(const struct tcpcl_session *s, bool *unread)
{
    *unread = count_answers(s) > 0 && answer_at(s, s->answers.first)->ready;
    return count_answers(s);
}

/* ---- a transfer ---- */

uint64_t tcpcl_held(const struct tcpcl_session *s)
{
    return s->import.bundle == NULL ? 0 : s->import.bundle->len;
}

void tcpcl_import_drop(struct tcpcl_session *s)
{
    buf_drop(s->import.bundle);
    s->import.bundle = NULL;
    s->import.open = s->import.refused = s->import.critical = s->import.has_total = false;
    s->import.total = 0;
}

/* This segment and all that follow of the transfer are dropped. */
static void refuse_transfer(struct tcpcl_session *s, enum tcpcl_refusal reason)
{
    uint64_t id = s->import.id;
    s->in.skip = true;
    s->in.dropped += tcpcl_held(s);
    tcpcl_waste(s);
    add_refusal(s, id, reason);
    tcpcl_import_drop(s);
    s->import.refused = true;
}

/* §5.2.2: transfers must not be interleaved. The message is rejected, and the session terminates.
 * The open transfer may continue to its END; with an equal id the two could not be
 * distinguished. */
static void reject_start(struct tcpcl_session *s, tick now)
{
    assert(s->import.open && (s->in.flags & TCPCL_START) != 0);
    const bool same = s->import.id == s->in.id;
    tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_XFER_SEGMENT, now);
    tcpcl_terminate_for(s, TCPCL_END_PROTOCOL, TCPCL_TERM_UNKNOWN, now);
    s->in.skip = true;
    if (same)
        refuse_transfer(s, TCPCL_REFUSE_UNKNOWN);
    else
        tcpcl_waste(s);
}

static void begin_transfer(struct tcpcl_session *s, tick now)
{
    if (s->import.open) {
        reject_start(s, now);
        return;
    }
    tcpcl_import_drop(s);
    s->import.id = s->in.id;
    if (s->state == TCPCL_IN_ENDING)
        refuse_transfer(s, TCPCL_REFUSE_SESSION_TERMINATING); /* §6.1 */
    else
        s->import.open = true;
    s->import.grown = now;
}

void tcpcl_segment_head(struct tcpcl_session *s, tick now)
{
    if (!reserve_answer(s)) {
        tcpcl_end_with(s, TCPCL_END_MEMORY, TCPCL_TERM_RESOURCE_EXHAUSTION, now);
        return;
    }
    if ((s->in.flags & TCPCL_START) != 0) {
        begin_transfer(s, now);
        return;
    }
    if (s->import.open && s->import.id == s->in.id)
        return;
    s->in.skip = true;
    tcpcl_waste(s);
    if (s->import.refused && s->import.id == s->in.id)
        add_refusal(s, s->in.id, TCPCL_REFUSE_UNKNOWN); /* §5.2.4: again */
    else
        tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_XFER_SEGMENT, now);
}

void tcpcl_segment_item(struct tcpcl_session *s, uint8_t flags, unsigned type, const uint8_t *value,
                        size_t len)
{
    if (s->in.skip)
        return; /* they are of no transfer that is open */
    if (type == TCPCL_ITEM_TRANSFER_LENGTH) {
        if (s->import.has_total || len != TCPCL_TRANSFER_LENGTH_LEN)
            s->import.critical = true; /* §5.2.5.1: one, of 8 bytes */
        else
            s->import.total = tcpcl_get(value, 8);
        s->import.has_total = true;
    } else if ((flags & TCPCL_CRITICAL) != 0) {
        s->import.critical = true;
    } else {
        s->n->items_ignored++;
    }
}

void tcpcl_segment_long_items(struct tcpcl_session *s)
{
    if (s->import.open && !s->in.skip)
        refuse_transfer(s, TCPCL_REFUSE_EXTENSION_FAILURE);
}

/* The length of the segment's data is known: is it within the limits? */
void tcpcl_segment_data(struct tcpcl_session *s)
{
    uint64_t have = s->import.bundle == NULL ? 0 : s->import.bundle->len, left = s->in.left;
    if (s->in.skip || !s->import.open)
        return;
    bool too_long = left > s->terms.segment_mru || left > s->terms.transfer_mru ||
                    have > s->terms.transfer_mru - left ||
                    (s->import.has_total && s->import.total > s->terms.transfer_mru);
    if (s->import.critical || s->in.items_bad)
        refuse_transfer(s, TCPCL_REFUSE_EXTENSION_FAILURE);
    else if (too_long || (s->import.has_total && have + left > s->import.total))
        refuse_transfer(s, TCPCL_REFUSE_NOT_ACCEPTABLE);
}

bool tcpcl_segment_room(struct tcpcl_session *s)
{
    assert(s->import.open && !s->in.skip && s->in.left > 0);
    struct buf *b = s->import.bundle;
    if (b != NULL && buf_tailroom(b) > 0)
        return true;
    const uint64_t have = b == NULL ? 0 : b->len;
    b = buf_grow(b, s->import.has_total ? s->import.total : have + s->in.left);
    if (b == NULL) {
        refuse_transfer(s, TCPCL_REFUSE_NO_RESOURCES);
        return false;
    }
    s->import.bundle = b;
    return true;
}

static void shed_transfer(struct tcpcl_session *s, enum tcpcl_refusal reason, tick now)
{
    if (reserve_answer(s))
        refuse_transfer(s, reason);
    else
        tcpcl_end_with(s, TCPCL_END_MEMORY, TCPCL_TERM_RESOURCE_EXHAUSTION, now);
}

void tcpcl_shed(struct tcpcl_session *s, enum tcpcl_refusal reason, tick now)
{
    if (!s->import.open)
        return;
    s->n->transfers_shed++;
    shed_transfer(s, reason, now);
}

/* Not while this side does not listen. */
tick tcpcl_import_due(const struct tcpcl_session *s)
{
    bool listens = !s->deaf && !s->rests && (tcpcl_reads(s) || tcpcl_stopped(s));
    bool counts = s->import.open && s->terms.transfer_idle != 0 && listens;
    return counts ? tick_add(s->import.grown, s->terms.transfer_idle) : TICK_NEVER;
}

void tcpcl_import_expire(struct tcpcl_session *s, tick now)
{
    assert(s->import.open);
    s->n->transfers_idle++;
    shed_transfer(s, TCPCL_REFUSE_NO_RESOURCES, now);
}

static bool deliver_bundle(struct tcpcl_session *s, struct tcpcl_notice *out)
{
    struct buf *b = s->import.bundle;
    if (b == NULL || (s->import.has_total && s->import.total != b->len)) {
        refuse_transfer(s, TCPCL_REFUSE_NOT_ACCEPTABLE); /* §5.2.5.1 */
        s->import.refused = false;                       /* it has ended */
        return false;
    }
    add_answer(s, (struct tcpcl_answer){
                      .id = s->in.id, .length = b->len, .flags = s->in.flags, .ready = false});
    s->answers.bundles++;
    s->answers.bytes += b->len;
    s->import.bundle = NULL;
    *out = (struct tcpcl_notice){.kind = TCPCL_RECEIVED,
                                 .bundle = b->cap - b->len > b->len / 8 ? buf_fit(b) : b,
                                 .token = s->answers.next - 1};
    tcpcl_import_drop(s);
    return true;
}

bool tcpcl_segment_ended(struct tcpcl_session *s, struct tcpcl_notice *out)
{
    bool last = (s->in.flags & TCPCL_END) != 0;
    if (s->in.skip) {
        if (last && s->import.id == s->in.id)
            s->import.refused = false;
        return false;
    }
    assert(s->import.open && s->import.id == s->in.id);
    if (last)
        return deliver_bundle(s, out);
    add_answer(s,
               (struct tcpcl_answer){.id = s->in.id,
                                     .length = s->import.bundle == NULL ? 0 : s->import.bundle->len,
                                     .flags = s->in.flags,
                                     .ready = true});
    return false;
}
