/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output. Messages are made when there is room for them, and each as a whole. Short messages that
 * others wait for precede the next segment (§3.4: a segment cannot be interrupted). Their own bytes
 * are in a ring; payloads are not copied. Nothing can go wrong.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <string.h>

/* ---- the ring of bytes, the ring of pieces ---- */

/* A contiguous place for this number of bytes; NULL: no room now. */
static uint8_t *find_room(struct tcpcl_session *s, size_t len)
{
    if (s->out.count == 0)
        s->out.head = s->out.tail = 0;
    bool wrapped = s->out.head < s->out.tail;
    size_t end = wrapped ? s->out.tail - 1 : CONTROL_BYTES;
    if (end - s->out.head >= len)
        return s->out.control + s->out.head;
    if (wrapped || s->out.tail <= len)
        return NULL;
    return s->out.control;
}

static void add_piece(struct tcpcl_session *s, const uint8_t *data, size_t len, struct buf *keep)
{
    assert(s->out.count < PIECES && len > 0);
    s->out.ring[(s->out.first + s->out.count) % PIECES] =
        (struct tcpcl_piece){.data = data, .len = len, .keep = keep};
    s->out.count++;
    s->out.planned += len;
}

/* Bytes after others of the same kind extend their piece. */
static void add_control(struct tcpcl_session *s, uint8_t *at, size_t len)
{
    struct tcpcl_piece *last =
        s->out.count == 0 ? NULL : &s->out.ring[(s->out.first + s->out.count - 1) % PIECES];
    s->out.head = (size_t)(at - s->out.control) + len;
    assert(s->out.head <= CONTROL_BYTES);
    if (last != NULL && last->keep == NULL && last->data + last->len == at) {
        last->len += len;
        s->out.planned += len;
    } else {
        add_piece(s, at, len, NULL);
    }
}

static void end_piece(struct tcpcl_session *s, const struct tcpcl_piece *p)
{
    if (p->keep == NULL)
        s->out.tail = (size_t)(p->data - s->out.control) + p->len;
    buf_drop(p->keep);
    s->out.first = (s->out.first + 1) % PIECES;
    s->out.count--;
}

void tcpcl_plan_drop(struct tcpcl_session *s)
{
    while (s->out.count > 0) {
        const struct tcpcl_piece *p = &s->out.ring[s->out.first];
        s->out.planned -= p->len;
        end_piece(s, p);
    }
    assert(s->out.planned == 0);
}

/* ---- messages ---- */

static void put_contact(struct tcpcl_session *s, struct writer *w)
{
    writer_bytes(w, "dtn!", 4);
    writer_byte(w, TCPCL_VERSION);
    writer_byte(w, (uint8_t)(s->setup.tls == TCPCL_TLS_OFF ? 0 : TCPCL_CAN_TLS));
    s->out.contact_due = false;
    s->n->tx[0]++;
}

static void put_init(struct tcpcl_session *s, struct writer *w)
{
    size_t id_len = strlen(s->terms.node_id);
    writer_byte(w, TCPCL_SESS_INIT);
    tcpcl_put(w, s->terms.keepalive_s, 2);
    tcpcl_put(w, s->terms.segment_mru, 8);
    tcpcl_put(w, s->terms.transfer_mru, 8);
    tcpcl_put(w, id_len, 2);
    writer_bytes(w, s->terms.node_id, id_len);
    tcpcl_put(w, 0, 4); /* no extension items */
    s->out.init_due = false;
    s->n->tx[TCPCL_SESS_INIT]++;
}

static void put_reject(struct tcpcl_session *s, struct writer *w)
{
    writer_byte(w, TCPCL_MSG_REJECT);
    writer_byte(w, s->out.rejects[0][0]);
    writer_byte(w, s->out.rejects[0][1]);
    s->n->tx[TCPCL_MSG_REJECT]++;
    s->n->rejected_tx[s->out.rejects[0][0]]++;
    s->out.rejects_len--;
    memmove(s->out.rejects[0], s->out.rejects[1], 2 * s->out.rejects_len);
}

static bool answer_ready(const struct tcpcl_session *s)
{
    return s->answers.first != s->answers.next &&
           s->answers.ring[s->answers.first & (s->answers.size - 1)].ready;
}

static void put_answer(struct tcpcl_session *s, struct writer *w)
{
    const struct tcpcl_answer *a = &s->answers.ring[s->answers.first & (s->answers.size - 1)];
    s->answers.first++;
    if (a->refuse) {
        writer_byte(w, TCPCL_XFER_REFUSE);
        writer_byte(w, a->refusal);
        tcpcl_put(w, a->id, 8);
        s->n->tx[TCPCL_XFER_REFUSE]++;
        s->n->refused_tx[a->refusal]++;
        return;
    }
    writer_byte(w, TCPCL_XFER_ACK);
    writer_byte(w, a->flags);
    tcpcl_put(w, a->id, 8);
    tcpcl_put(w, a->length, 8);
    s->n->tx[TCPCL_XFER_ACK]++;
}

static void put_term(struct tcpcl_session *s, struct writer *w)
{
    uint8_t reason = s->out.term_reason;
    writer_byte(w, TCPCL_SESS_TERM);
    writer_byte(w, s->out.term_reply ? TCPCL_REPLY : 0);
    writer_byte(w, reason);
    s->out.term_due = false;
    s->out.term_sent = true;
    s->n->tx[TCPCL_SESS_TERM]++;
    s->n->term_tx[reason < TCPCL_TERM_COUNT ? reason : TCPCL_TERM_UNKNOWN]++;
}

static void put_keepalive(struct tcpcl_session *s, struct writer *w)
{
    writer_byte(w, TCPCL_KEEPALIVE);
    s->out.alive_due = false;
    s->n->tx[TCPCL_KEEPALIVE]++;
}

/* ---- segments ---- */

/* The transfer with the next segment; NULL: none. */
static struct tcpcl_export *next_export(struct tcpcl_session *s)
{
    if (s->exports.now != NULL || s->state != TCPCL_IN_UP)
        return s->exports.now;
    struct list *l = list_first(&s->exports.waiting);
    if (l == NULL)
        return NULL;
    struct tcpcl_export *e = container_of(l, struct tcpcl_export, node);
    list_sub(l);
    list_add_tail(&s->exports.begun, l);
    e->id =
        s->exports.next_id++; /* §5.2.1: from 0, one after the other; 2^64 do not come to pass */
    hash_add(&s->exports.ids, &e->by_id, e->id);
    s->exports.now = e;
    return e;
}

static void put_segment(struct tcpcl_session *s, struct tcpcl_export *e, struct writer *w,
                        struct slice *data)
{
    uint64_t mtu =
        s->peer.segment_mru < s->terms.segment_max ? s->peer.segment_mru : s->terms.segment_max;
    mtu = s->out.pace != 0 && s->out.pace < mtu ? s->out.pace : mtu;
    uint64_t left = e->bundle->len - e->planned, len = left < mtu ? left : mtu;
    bool start = e->planned == 0, end = len == left;
    assert(len > 0);
    writer_byte(w, TCPCL_XFER_SEGMENT);
    writer_byte(w, (uint8_t)((start ? TCPCL_START : 0) | (end ? TCPCL_END : 0)));
    tcpcl_put(w, e->id, 8);
    if (start && end) {
        tcpcl_put(w, 0, 4); /* §5.2.5.1: one segment says its length itself */
    } else if (start) {
        tcpcl_put(w, TCPCL_ITEM_HEAD_LEN + 8, 4);
        writer_byte(w, 0); /* not critical: a peer that does not support it loses nothing */
        tcpcl_put(w, TCPCL_ITEM_TRANSFER_LENGTH, 2);
        tcpcl_put(w, 8, 2);
        tcpcl_put(w, e->bundle->len, 8);
    }
    tcpcl_put(w, len, 8);
    *data = slice_of(buf_data(e->bundle) + e->planned, (size_t)len);
    e->planned += len;
    e->several = !(start && end);
    s->flight.queued -= len;
    s->flight.sent += len;
    if (end)
        s->exports.now = NULL;
    s->n->tx[TCPCL_XFER_SEGMENT]++;
}

/* ---- the order of them ---- */

static uint64_t planned_max(const struct tcpcl_session *s)
{
    return s->out.pace != 0 && s->out.pace < PLANNED_BYTES ? s->out.pace : PLANNED_BYTES;
}

static bool segment_may_go(const struct tcpcl_session *s)
{
    return tcpcl_established(s) && s->out.planned < planned_max(s);
}

/* Makes the next message. False: none is due. *data: payload after the message's own bytes; *keep:
 * its buffer. */
static bool make_message(struct tcpcl_session *s, struct writer *w, struct slice *data,
                         struct buf **keep)
{
    struct tcpcl_export *e;
    if (s->out.contact_due)
        put_contact(s, w);
    else if (s->out.init_due)
        put_init(s, w);
    else if (s->out.rejects_len > 0)
        put_reject(s, w);
    else if (answer_ready(s))
        put_answer(s, w);
    else if (s->out.term_due)
        put_term(s, w);
    else if (segment_may_go(s) && (e = next_export(s)) != NULL) {
        *keep = e->bundle;
        put_segment(s, e, w, data);
    } else if (s->out.alive_due)
        put_keepalive(s, w);
    else
        return false;
    s->out.made++;
    return true;
}

static void plan_output(struct tcpcl_session *s)
{
    uint8_t *at;
    while (s->out.count + 2 <= PIECES && (at = find_room(s, CONTROL_LEAST)) != NULL) {
        struct writer w = writer_of(at, CONTROL_LEAST);
        struct slice data = {NULL, 0};
        struct buf *keep = NULL;
        if (!make_message(s, &w, &data, &keep))
            return;
        assert(!w.bad);
        add_control(s, at, writer_len(&w));
        if (keep != NULL)
            add_piece(s, data.data, data.len, buf_keep(keep));
    }
}

size_t tcpcl_output(struct tcpcl_session *s, struct slice *parts, size_t max, tick now)
{
    (void)now;
    if (s->stream_over)
        return 0;
    plan_output(s);
    size_t n = s->out.count < max ? s->out.count : max;
    for (size_t i = 0; i < n; i++) {
        const struct tcpcl_piece *p = &s->out.ring[(s->out.first + i) % PIECES];
        parts[i] = slice_of(p->data, p->len);
    }
    return n;
}

void tcpcl_wrote(struct tcpcl_session *s, size_t len, tick now)
{
    assert(len <= s->out.planned);
    s->spoke = len > 0 ? now : s->spoke;
    s->n->tx_bytes += len;
    s->out.planned -= len;
    uint64_t octets = 0; /* of bundles */
    while (len > 0) {
        struct tcpcl_piece *p = &s->out.ring[s->out.first];
        size_t part = len < p->len ? len : p->len;
        len -= part;
        octets += p->keep != NULL ? part : 0;
        if (part == p->len) {
            end_piece(s, p);
            continue;
        }
        p->data += part;
        p->len -= part;
        if (p->keep == NULL)
            s->out.tail = (size_t)(p->data - s->out.control);
    }
    tcpcl_flight_wrote(s, octets, now);
}

void tcpcl_pace(struct tcpcl_session *s, uint64_t octets)
{
    s->out.pace = octets;
}

bool tcpcl_plan_empty(const struct tcpcl_session *s)
{
    bool due = s->out.contact_due || s->out.init_due || s->out.rejects_len > 0 || s->out.term_due ||
               answer_ready(s) || s->out.alive_due;
    bool next = s->state == TCPCL_IN_UP && !list_empty(&s->exports.waiting);
    bool more = tcpcl_established(s) && (s->exports.now != NULL || next);
    return s->out.count == 0 && !due && !more;
}
