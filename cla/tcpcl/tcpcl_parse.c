/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read: a contact header, then messages, one step at each call. Heads are parsed where they
 * lie in the scratch; a rest that is not whole waits there for more. Data go to their bundle. What
 * can go wrong is the peer's, and is answered as RFC 9174 says: by MSG_REJECT, by SESS_TERM, or by
 * the end of the connection.
 */
#include "cla/tcpcl/tcpcl_session_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INIT_FIXED 21u      /* of SESS_INIT, up to its Node ID */
#define DEBT_MAX (1u << 16) /* of turns, for what brought nothing */

static const uint8_t *unparsed(const struct tcpcl_session *s, size_t *len)
{
    *len = s->in.len - s->in.off;
    return s->in.scratch + s->in.off;
}

void tcpcl_take(struct tcpcl_session *s, size_t len)
{
    assert(len <= s->in.len - s->in.off);
    s->in.off += len;
    if (s->in.off == s->in.len)
        s->in.off = s->in.len = 0;
}

/* ---- reading ---- */

bool tcpcl_reads(const struct tcpcl_session *s)
{
    if (s->stream_over || s->state >= TCPCL_IN_CLOSING || s->state == TCPCL_IN_SECURING ||
        s->state == TCPCL_IN_ADMIT)
        return false;
    return !s->rests && !tcpcl_answers_full(s) && !tcpcl_stopped(s);
}

void tcpcl_turn(struct tcpcl_session *s, uint32_t messages)
{
    const uint32_t least = messages < TCPCL_WASTE ? 1 : messages / TCPCL_WASTE;
    const uint32_t most = messages > least ? messages - least : 0;
    const uint32_t pays = s->in.debt < most ? s->in.debt : most;
    s->in.turn = messages - pays;
    s->in.debt -= pays;
}

uint32_t tcpcl_turn_left(const struct tcpcl_session *s)
{
    return s->in.turn;
}

uint64_t tcpcl_dropped(const struct tcpcl_session *s)
{
    return s->in.dropped;
}

void tcpcl_rest(struct tcpcl_session *s, bool on)
{
    s->rests = on;
    s->deaf = s->deaf || on;
}

void tcpcl_waste(struct tcpcl_session *s)
{
    if (s->in.turn != UINT32_MAX && s->in.debt < DEBT_MAX)
        s->in.debt += TCPCL_WASTE - 1;
}

bool tcpcl_stopped(const struct tcpcl_session *s)
{
    return (s->in.turn == 0 || s->rests) && s->in.off < s->in.len && s->state < TCPCL_IN_CLOSING;
}

static void spend_turn(struct tcpcl_session *s)
{
    s->in.turn -= s->in.turn > 0 && s->in.turn != UINT32_MAX;
}

/* Makes room in the scratch buffer for a read of the wanted size, if the buffer may grow and there
 * is memory. */
static void make_space(struct tcpcl_session *s)
{
    if (s->in.off > 0 && s->in.len + s->in.size > s->in.cap) {
        memmove(s->in.scratch, s->in.scratch + s->in.off, s->in.len - s->in.off);
        s->in.len -= s->in.off;
        s->in.off = 0;
    }
    size_t cap = s->in.cap;
    while (s->in.len + s->in.size > cap && cap < SCRATCH_BYTES)
        cap *= 2;
    uint8_t *grown = cap == s->in.cap ? NULL : realloc(s->in.scratch, cap);
    if (grown == NULL)
        return;
    s->in.scratch = grown;
    s->in.cap = cap;
}

uint8_t *tcpcl_space(struct tcpcl_session *s, size_t *len)
{
    assert(tcpcl_reads(s));
    s->in.direct = s->in.step == STEP_DATA && !s->in.skip && s->in.off == s->in.len &&
                   s->in.left >= DIRECT_LEAST && tcpcl_segment_room(s);
    if (s->in.direct) {
        size_t room = buf_tailroom(s->import.bundle);
        *len = s->in.left < room ? (size_t)s->in.left : room;
        return buf_data(s->import.bundle) + s->import.bundle->len;
    }
    make_space(s);
    size_t room = s->in.cap - s->in.len;
    *len = s->in.step == STEP_CONTACT ? TCPCL_CONTACT_LEN - s->in.len : s->in.size;
    *len = *len < room ? *len : room;
    assert(*len >= 1); /* a head that is not whole is short */
    return s->in.scratch + s->in.len;
}

void tcpcl_fed(struct tcpcl_session *s, size_t len, tick now)
{
    assert(len >= 1);
    s->heard = now;
    s->n->rx_bytes += len;
    if (s->in.direct) {
        s->import.bundle->len += len;
        s->import.grown = now;
        s->in.left -= len;
        /* after a long one a head follows, then probably a long one again */
        s->in.size = READ_LEAST;
        s->in.direct = false;
        return;
    }
    s->in.len += len;
    assert(s->in.len <= s->in.cap);
    if (len >= s->in.size && s->in.size < SCRATCH_BYTES && s->state >= TCPCL_IN_UP)
        s->in.size *= 4;
}

/* ---- contact ---- */

static void take_contact(struct tcpcl_session *s, const uint8_t *p, tick now)
{
    bool active = s->setup.active;
    bool good = memcmp(p, "dtn!", 4) == 0;
    uint8_t version = p[4], flags = p[5];
    tcpcl_take(s, TCPCL_CONTACT_LEN);
    s->in.step = STEP_HEAD;
    if (!good) {
        tcpcl_end(s, TCPCL_END_MAGIC, now); /* §6.1: without SESS_TERM */
        return;
    }
    s->n->rx[0]++;
    s->out.contact_due = s->out.contact_due || !active;
    if (version != TCPCL_VERSION) {
        if (active)
            tcpcl_end(s, TCPCL_END_VERSION, now);
        else
            tcpcl_end_with(s, TCPCL_END_VERSION, TCPCL_TERM_VERSION_MISMATCH, now);
        return;
    }
    s->use_tls = s->setup.tls != TCPCL_TLS_OFF && (flags & TCPCL_CAN_TLS) != 0;
    if (s->setup.tls == TCPCL_TLS_REQUIRED && !s->use_tls)
        tcpcl_end_with(s, TCPCL_END_NO_TLS, TCPCL_TERM_CONTACT_FAILURE, now);
    else
        s->state = TCPCL_IN_SECURING;
}

/* ---- messages ---- */

void tcpcl_reject(struct tcpcl_session *s, enum tcpcl_rejection reason, uint8_t type, tick now)
{
    if (s->out.rejects_len == REJECTS_MAX) { /* the peer continues without end */
        tcpcl_end_with(s, TCPCL_END_PROTOCOL, TCPCL_TERM_UNKNOWN, now);
        return;
    }
    s->out.rejects[s->out.rejects_len][0] = (uint8_t)reason;
    s->out.rejects[s->out.rejects_len][1] = type;
    s->out.rejects_len++;
}

/* §5.1.2: its length is not known, so that nothing behind it can be read. */
static void reject_unknown(struct tcpcl_session *s, uint8_t type, tick now)
{
    tcpcl_reject(s, TCPCL_REJECT_TYPE_UNKNOWN, type, now);
    tcpcl_end(s, TCPCL_END_PROTOCOL, now);
}

void tcpcl_reject_and_end(struct tcpcl_session *s, uint8_t type, tick now)
{
    tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, type, now);
    tcpcl_end_with(s, TCPCL_END_PROTOCOL, TCPCL_TERM_UNKNOWN, now);
}

static void refuse_init(struct tcpcl_session *s, tick now)
{
    tcpcl_end_with(s, TCPCL_END_INIT, TCPCL_TERM_CONTACT_FAILURE, now);
}

static void end_items_too_long(struct tcpcl_session *s, tick now)
{
    if (s->in.type == TCPCL_XFER_SEGMENT)
        tcpcl_segment_long_items(s);
    tcpcl_end_with(s, TCPCL_END_ITEMS, TCPCL_TERM_RESOURCE_EXHAUSTION, now);
}

static void end_flood(struct tcpcl_session *s, tick now)
{
    tcpcl_end_with(s, TCPCL_END_FLOOD, TCPCL_TERM_RESOURCE_EXHAUSTION, now);
}

static void take_keepalive(struct tcpcl_session *s, tick now)
{
    const uint64_t most = (now - s->started) / TICK_S * TCPCL_KEEPALIVES_PER_S;
    if (++s->keepalives > most + TCPCL_KEEPALIVES_SPARE)
        end_flood(s, now);
}

static void take_reject(struct tcpcl_session *s, const uint8_t *p, tick now)
{
    s->n->rejected_rx[p[1] < TCPCL_REJECTION_COUNT ? p[1] : 0]++;
    if (!tcpcl_established(s)) /* what it did not take was needed */
        tcpcl_end(s, TCPCL_END_PROTOCOL, now);
    else if (++s->rejects > s->out.made + TCPCL_REJECTS_SPARE)
        end_flood(s, now);
}

/* 0: more is needed. Its items follow. */
static size_t parse_init(struct tcpcl_session *s, const uint8_t *p, size_t len, tick now)
{
    if (len < INIT_FIXED)
        return 0;
    size_t id_len = (size_t)tcpcl_get(p + 19, 2);
    if (id_len > TCPCL_NODE_ID_MAX) {
        refuse_init(s, now);
        return INIT_FIXED;
    }
    if (len < INIT_FIXED + id_len + 4)
        return 0;
    s->peer.keepalive_s = (uint16_t)tcpcl_get(p + 1, 2);
    s->peer.segment_mru = tcpcl_get(p + 3, 8);
    s->peer.transfer_mru = tcpcl_get(p + 11, 8);
    memcpy(s->peer.node_id, p + INIT_FIXED, id_len);
    s->peer.node_id[id_len] = '\0';
    s->in.items = tcpcl_get(p + INIT_FIXED + id_len, 4);
    s->in.step = STEP_ITEMS;
    if (strlen(s->peer.node_id) != id_len || s->peer.segment_mru == 0 || s->peer.transfer_mru == 0)
        refuse_init(s, now); /* §4.7: nothing could be sent */
    else if (s->in.items > TCPCL_ITEMS_MAX)
        end_items_too_long(s, now);
    return INIT_FIXED + id_len + 4;
}

static void take_term(struct tcpcl_session *s, const uint8_t *p, tick now)
{
    bool reply = (p[1] & TCPCL_REPLY) != 0;
    s->n->term_rx[p[2] < TCPCL_TERM_COUNT ? p[2] : TCPCL_TERM_UNKNOWN]++;
    bool said = s->out.term_sent || s->out.term_due;
    if (reply && !said) {
        tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_SESS_TERM, now);
        return;
    }
    s->out.term_heard = true;
    if (!said) { /* §6.1: the same data, as a reply */
        s->out.term_due = s->out.term_reply = true;
        s->out.term_reason = p[2];
    }
    if (s->state == TCPCL_IN_UP)
        tcpcl_begin_ending(s, TCPCL_END_PEER_TERM, now);
    else if (s->state < TCPCL_IN_UP)
        tcpcl_end(s, TCPCL_END_PEER_TERM, now);
}

static size_t head_len(uint8_t type, const uint8_t *p, size_t len)
{
    switch (type) {
    case TCPCL_XFER_SEGMENT:
        return len >= 2 && (p[1] & TCPCL_START) != 0 ? 14 : 18;
    case TCPCL_XFER_ACK:
        return 18;
    case TCPCL_XFER_REFUSE:
        return 10;
    case TCPCL_SESS_TERM:
    case TCPCL_MSG_REJECT:
        return 3;
    case TCPCL_SESS_INIT:
        return INIT_FIXED;
    default:
        return 1;
    }
}

static void begin_segment(struct tcpcl_session *s, const uint8_t *p, tick now)
{
    bool start = (p[1] & TCPCL_START) != 0;
    s->in.flags = p[1];
    s->in.id = tcpcl_get(p + 2, 8);
    s->in.items = start ? tcpcl_get(p + 10, 4) : 0;
    s->in.left = start ? 0 : tcpcl_get(p + 10, 8);
    s->in.skip = s->in.items_bad = false;
    s->in.step = start ? STEP_ITEMS : STEP_DATA;
    if (!start && s->in.left == 0)
        tcpcl_waste(s);
    tcpcl_segment_head(s, now);
    if (s->in.items > TCPCL_ITEMS_MAX && s->state < TCPCL_IN_CLOSING)
        end_items_too_long(s, now);
    else if (!start && s->state < TCPCL_IN_CLOSING)
        tcpcl_segment_data(s);
}

/* §5.1.2: a SESS_INIT in an established session is rejected, and the session continues. The Node ID
 * and the items after its fixed part are skipped. */
static void reject_repeat(struct tcpcl_session *s, const uint8_t *p, tick now)
{
    assert(tcpcl_established(s) && s->in.step == STEP_HEAD);
    tcpcl_waste(s);
    tcpcl_reject(s, TCPCL_REJECT_UNEXPECTED, TCPCL_SESS_INIT, now);
    s->in.left = tcpcl_get(p + INIT_FIXED - 2, 2);
    s->in.step = STEP_REPEAT;
}

/* Of an established session. */
static bool take_message(struct tcpcl_session *s, const uint8_t *p, struct tcpcl_notice *out,
                         tick now)
{
    switch (p[0]) {
    case TCPCL_XFER_SEGMENT:
        begin_segment(s, p, now);
        return false;
    case TCPCL_XFER_ACK:
        return tcpcl_acked(s, tcpcl_get(p + 2, 8), tcpcl_get(p + 10, 8), out, now);
    case TCPCL_XFER_REFUSE:
        return tcpcl_was_refused(s, tcpcl_get(p + 2, 8), p[1], out, now);
    default:
        reject_repeat(s, p, now);
        return false;
    }
}

static enum tcpcl_parsed parse_head(struct tcpcl_session *s, struct tcpcl_notice *out, tick now)
{
    size_t len;
    const uint8_t *p = unparsed(s, &len);
    if (len == 0)
        return PARSED_NOTHING;
    uint8_t type = p[0];
    size_t need = head_len(type, p, len);
    if (len < need)
        return PARSED_NOTHING;
    s->in.type = type;
    if (tcpcl_message_text(type) == NULL) {
        s->n->unknown_rx++; /* it ends the session */
        tcpcl_take(s, 1);
        reject_unknown(s, type, now);
        return PARSED_SOME;
    }
    bool established = tcpcl_established(s), notice = false;
    if (type == TCPCL_SESS_INIT && !established) {
        need = parse_init(s, p, len, now);
        if (need == 0)
            return PARSED_NOTHING;
    } else if (type == TCPCL_SESS_TERM) {
        take_term(s, p, now);
    } else if (type == TCPCL_MSG_REJECT) {
        take_reject(s, p, now);
    } else if (type == TCPCL_KEEPALIVE) {
        take_keepalive(s, now);
    } else if (!established) {
        tcpcl_reject_and_end(s, type, now);
    } else {
        notice = take_message(s, p, out, now);
    }
    s->n->rx[type]++;
    spend_turn(s);
    tcpcl_take(s, need);
    return notice ? PARSED_NOTICE : PARSED_SOME;
}

/* ---- extension items ---- */

static void take_item(struct tcpcl_session *s, const uint8_t *p, size_t value_len, tick now)
{
    unsigned type = (unsigned)tcpcl_get(p + 1, 2);
    if (s->in.type == TCPCL_XFER_SEGMENT)
        tcpcl_segment_item(s, p[0], type, p + TCPCL_ITEM_HEAD_LEN, value_len);
    else if ((p[0] & TCPCL_CRITICAL) != 0)
        refuse_init(s, now); /* §4.8: there are no types that are known */
    else
        s->n->items_ignored++;
}

static void end_items(struct tcpcl_session *s, tick now)
{
    if (s->in.type == TCPCL_XFER_SEGMENT) {
        s->in.step = STEP_LENGTH;
        return;
    }
    s->in.step = STEP_HEAD;
    s->in.items_bad = false;
    if (tcpcl_established(s)) /* of a SESS_INIT that was rejected */
        return;
    s->state = TCPCL_IN_ADMIT;
    s->peer.round_trip = now > s->asked ? now - s->asked : 0;
}

/* §4.6, §5.2.2: a list that says another length than it has is a failed reception; where it ends is
 * known all the same. */
static void spoil_items(struct tcpcl_session *s, tick now)
{
    s->in.items_bad = true;
    if (s->in.type == TCPCL_SESS_INIT)
        refuse_init(s, now);
}

/* Is the value of this item needed? Other values are dropped while they arrive, whatever their
 * length. */
static bool value_counts(const struct tcpcl_session *s, const uint8_t *p, size_t len)
{
    return s->in.type == TCPCL_XFER_SEGMENT && tcpcl_get(p + 1, 2) == TCPCL_ITEM_TRANSFER_LENGTH &&
           len == TCPCL_TRANSFER_LENGTH_LEN;
}

static enum tcpcl_parsed drop_items(struct tcpcl_session *s, uint64_t most, size_t len)
{
    size_t drop = most < len ? (size_t)most : len;
    s->in.items -= drop;
    s->in.value -= drop < s->in.value ? drop : s->in.value;
    tcpcl_take(s, drop);
    return drop > 0 ? PARSED_SOME : PARSED_NOTHING;
}

static enum tcpcl_parsed parse_items(struct tcpcl_session *s, tick now)
{
    size_t len;
    const uint8_t *p = unparsed(s, &len);
    if (s->in.items == 0) {
        end_items(s, now);
        return PARSED_SOME;
    }
    if (tcpcl_stopped(s))
        return PARSED_NOTHING;
    if (s->in.items_bad)
        return drop_items(s, s->in.items, len);
    if (s->in.value > 0)
        return drop_items(s, s->in.value, len);
    if (s->in.items >= TCPCL_ITEM_HEAD_LEN && len < TCPCL_ITEM_HEAD_LEN)
        return PARSED_NOTHING;
    size_t value =
        s->in.items >= TCPCL_ITEM_HEAD_LEN ? (size_t)tcpcl_get(p + 3, 2) : (size_t)s->in.items;
    if (TCPCL_ITEM_HEAD_LEN + value > s->in.items) {
        spoil_items(s, now);
        return PARSED_SOME;
    }
    const size_t need = TCPCL_ITEM_HEAD_LEN + (value_counts(s, p, value) ? value : 0);
    if (len < need)
        return PARSED_NOTHING;
    spend_turn(s);
    take_item(s, p, value, now);
    s->in.items -= need;
    s->in.value = TCPCL_ITEM_HEAD_LEN + value - need;
    tcpcl_take(s, need);
    return PARSED_SOME;
}

/* The Node ID of a SESS_INIT that was rejected, then the length of its items, which are dropped. */
static enum tcpcl_parsed parse_repeat(struct tcpcl_session *s, tick now)
{
    size_t len;
    const uint8_t *p = unparsed(s, &len);
    if (s->in.left > 0) {
        len = s->in.left < len ? (size_t)s->in.left : len;
        s->in.left -= len;
        tcpcl_take(s, len);
        return len > 0 ? PARSED_SOME : PARSED_NOTHING;
    }
    if (len < 4)
        return PARSED_NOTHING;
    assert(s->in.type == TCPCL_SESS_INIT && s->in.items == 0);
    s->in.items = tcpcl_get(p, 4);
    s->in.items_bad = true;
    s->in.step = STEP_ITEMS;
    tcpcl_take(s, 4);
    if (s->in.items > TCPCL_ITEMS_MAX)
        end_items_too_long(s, now);
    return PARSED_SOME;
}

/* ---- data ---- */

static enum tcpcl_parsed parse_length(struct tcpcl_session *s)
{
    size_t len;
    const uint8_t *p = unparsed(s, &len);
    if (len < 8)
        return PARSED_NOTHING;
    s->in.left = tcpcl_get(p, 8);
    tcpcl_take(s, 8);
    s->in.step = STEP_DATA;
    tcpcl_segment_data(s);
    return PARSED_SOME;
}

static enum tcpcl_parsed parse_data(struct tcpcl_session *s, struct tcpcl_notice *out)
{
    size_t len;
    const uint8_t *p = unparsed(s, &len);
    if (s->in.left == 0) {
        s->in.step = STEP_HEAD;
        return tcpcl_segment_ended(s, out) ? PARSED_NOTICE : PARSED_SOME;
    }
    if (len == 0)
        return PARSED_NOTHING;
    len = s->in.left < len ? (size_t)s->in.left : len;
    if (!s->in.skip && tcpcl_segment_room(s)) {
        size_t room = buf_tailroom(s->import.bundle);
        len = len < room ? len : room;
        memcpy(buf_append(s->import.bundle, len), p, len);
        s->import.grown = s->heard;
    }
    s->in.dropped += s->in.skip ? len : 0;
    s->in.left -= len;
    tcpcl_take(s, len);
    return PARSED_SOME;
}

enum tcpcl_parsed tcpcl_parse(struct tcpcl_session *s, struct tcpcl_notice *out, tick now)
{
    bool waits = s->state == TCPCL_IN_SECURING || s->state == TCPCL_IN_ADMIT;
    if (s->state >= TCPCL_IN_CLOSING || waits)
        return PARSED_NOTHING;
    switch (s->in.step) {
    case STEP_CONTACT:
        if (s->in.len < TCPCL_CONTACT_LEN)
            return PARSED_NOTHING;
        take_contact(s, s->in.scratch, now);
        return PARSED_SOME;
    case STEP_ITEMS:
        return parse_items(s, now);
    case STEP_REPEAT:
        return parse_repeat(s, now);
    case STEP_LENGTH:
        return parse_length(s);
    case STEP_DATA:
        return parse_data(s, out);
    case STEP_HEAD:
        break;
    }
    bool full = tcpcl_answers_full(s) && !s->stream_over;
    return full || tcpcl_stopped(s) ? PARSED_NOTHING : parse_head(s, out, now);
}
