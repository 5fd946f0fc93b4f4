/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that come in, and their answers. A transfer begins with START; its data are put into
 * one buffer as they come; behind END it is a notice, and its last acknowledgement waits for the
 * owner's word. What can go wrong: it is longer than this side takes, or than it said itself; an
 * extension that must be understood is not; memory: then it is refused, and each further segment of
 * it is, too.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <stdlib.h>

/* ---- answers ---- */

bool tcpcl_answers_full(const struct tcpcl_session *s)
{
    return s->answers.next - s->answers.first >= TCPCL_ANSWERS_MAX ||
           s->answers.bytes > s->terms.held_bytes;
}

static struct tcpcl_answer *answer_at(const struct tcpcl_session *s, uint64_t token)
{
    assert(token - s->answers.first < s->answers.next - s->answers.first);
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

/* There is room for one more answer. */
static bool reserve_answer(struct tcpcl_session *s)
{
    return s->answers.next - s->answers.first < s->answers.size || grow_answers(s);
}

static void add_answer(struct tcpcl_session *s, struct tcpcl_answer a)
{
    assert(s->answers.next - s->answers.first < s->answers.size);
    s->answers.next++;
    *answer_at(s, s->answers.next - 1) = a;
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
    a->refusal = (uint8_t)reason;
    s->answers.bundles--;
    s->answers.bytes -= a->length;
}

/* ---- a transfer ---- */

void tcpcl_import_drop(struct tcpcl_session *s)
{
    buf_drop(s->import.bundle);
    s->import.bundle = NULL;
    s->import.open = s->import.refused = s->import.critical = false;
    s->import.total = UINT64_MAX;
}

/* This segment and all that follow of the transfer are dropped. */
static void refuse_transfer(struct tcpcl_session *s, enum tcpcl_refusal reason)
{
    uint64_t id = s->import.id;
    s->in.skip = true;
    add_refusal(s, id, reason);
    tcpcl_import_drop(s);
    s->import.refused = true;
}

static void begin_transfer(struct tcpcl_session *s, tick now)
{
    if (s->import.open) { /* §5.2.2: no interleaving */
        tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_XFER_SEGMENT, now);
        tcpcl_end(s, TCPCL_END_PROTOCOL, now);
        return;
    }
    tcpcl_import_drop(s);
    s->import.id = s->in.id;
    if (s->state == TCPCL_IN_ENDING)
        refuse_transfer(s, TCPCL_REFUSE_SESSION_TERMINATING); /* §6.1 */
    else
        s->import.open = true;
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
    if (s->import.refused && s->import.id == s->in.id)
        add_refusal(s, s->in.id, TCPCL_REFUSE_UNKNOWN); /* §5.2.4: again */
    else
        tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_XFER_SEGMENT, now);
}

void tcpcl_segment_item(struct tcpcl_session *s, uint8_t flags, unsigned type, struct slice value)
{
    if (type == TCPCL_ITEM_TRANSFER_LENGTH) {
        if (s->in.has_total || value.len != 8)
            s->import.critical = true; /* §5.2.5.1: one, of 8 bytes */
        else
            s->import.total = tcpcl_get(value.data, 8);
        s->in.has_total = true;
    } else if ((flags & TCPCL_CRITICAL) != 0) {
        s->import.critical = true;
    } else {
        s->n->items_ignored++;
    }
}

/* The length of the segment's data is known: is it borne? */
void tcpcl_segment_data(struct tcpcl_session *s)
{
    uint64_t have = s->import.bundle == NULL ? 0 : s->import.bundle->len, left = s->in.left;
    if (s->in.skip || !s->import.open)
        return;
    bool too_long = left > s->terms.segment_mru || left > s->terms.transfer_mru ||
                    have > s->terms.transfer_mru - left ||
                    (s->import.total != UINT64_MAX && s->import.total > s->terms.transfer_mru);
    if (s->import.critical || s->in.items_bad)
        refuse_transfer(s, TCPCL_REFUSE_EXTENSION_FAILURE);
    else if (too_long || have + left > s->import.total)
        refuse_transfer(s, TCPCL_REFUSE_NOT_ACCEPTABLE);
}

/* Up to GROW_LEAST at once; more only as it comes, however much was announced. */
static uint64_t wanted_room(const struct tcpcl_session *s)
{
    const struct buf *b = s->import.bundle;
    uint64_t have = b == NULL ? 0 : b->len, most = have + s->in.left;
    if (s->import.total != UINT64_MAX)
        most = s->import.total;
    uint64_t room = 2 * have < GROW_LEAST ? GROW_LEAST : 2 * have;
    return most < room ? most : room;
}

bool tcpcl_segment_room(struct tcpcl_session *s)
{
    assert(s->import.open && !s->in.skip && s->in.left > 0);
    struct buf *b = s->import.bundle;
    if (b != NULL && buf_tailroom(b) > 0)
        return true;
    uint64_t room = wanted_room(s);
    assert(b == NULL || room > b->len);
    b = b == NULL ? buf_new(0, (size_t)room) : buf_resize(b, b->off + (size_t)room);
    if (b == NULL) {
        refuse_transfer(s, TCPCL_REFUSE_NO_RESOURCES);
        return false;
    }
    s->import.bundle = b;
    return true;
}

static bool deliver_bundle(struct tcpcl_session *s, struct tcpcl_notice *out)
{
    struct buf *b = s->import.bundle;
    if (b == NULL || (s->import.total != UINT64_MAX && s->import.total != b->len)) {
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
